"""Risk-weighted Bayesian data synthesis (Hu, Savitsky & Williams, arXiv 1908.07639).

The public names stand in ``__init__.pyi``. Each is loaded when first used, so that weights and risk
measures do not wait for PyMC.
"""

import logging
from importlib.metadata import version

import lazy_loader

# PyTensor warns at import that it found no C++ compiler. We compile with numba and need none.
logging.getLogger("pytensor.configdefaults").setLevel(logging.ERROR)

__version__ = version("riskweighted")
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *__all__]


def __getattr__(name: str) -> object:
    """A public name from its home; where that needs a package which is not installed, one line says
    which.
    """
    from riskweighted.common.replaced import REPLACED

    if name in REPLACED["name"]:
        raise AttributeError(f"riskweighted.{name} is offered no more: {REPLACED['name'][name]}")
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        from riskweighted.common.extras import missing_extra

        raise missing_extra(error, name) or error from None
