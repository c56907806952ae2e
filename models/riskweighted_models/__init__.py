"""The synthesizers that come with riskweighted, one file each; models/README.md is their catalogue.

Each is loaded when first used, so that finding one of them does not wait for PyMC.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
