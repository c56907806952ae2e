"""The site: `make docs` builds it from this repository alone, without a network. Its source is the whole repository, so that a link
between two pages is the same here and there, wherever they lie.
"""

import riskweighted

project, author, copyright = "riskweighted", "The riskweighted developers", "The riskweighted developers, Apache-2.0"
version = release = riskweighted.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "models/README.md",
    "experiments/README.md",
    "experiments/*/RESULTS.md",
    "benchmarks/README.md",
    "benchmarks/peers_results/peers.md",
    "SECURITY.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
]
exclude_patterns = [".*", "site", "results", "build", "dist", "tests", "riskweighted"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # the docstrings say it in words, with shapes and units
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
default_role = "code"

html_theme = "furo"
html_title = "riskweighted"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
