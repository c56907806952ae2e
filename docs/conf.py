"""The site: `make docs` builds it from this repository alone, without a network. Its source is the whole repository, so that a link
between two pages is the same here and there, wherever they lie.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

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
myst_enable_extensions = ["tasklist"]
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


METHODS = "docs/METHODS"
SECTION = re.compile(r"(METHODS sections? (\d+(?:\.\d+)?))")


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", link_sections)


def link_sections(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Make every "METHODS section 2.4" of a page or a docstring a link to that section."""
    anchors = {section[0].astext().split(" ")[0].rstrip("."): section["ids"][0] for section in sections(app)}
    place = app.builder.get_relative_uri(page, METHODS)
    for text in list(tree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.reference | nodes.title) or not SECTION.search(text):
            continue
        parts = SECTION.split(text)  # before, phrase, number, before, ...
        found: list[nodes.Node] = [nodes.Text(parts[0])]
        for phrase, number, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            found += [nodes.reference("", phrase, internal=True, refuri=f"{place}#{anchors[number]}"), nodes.Text(after)]
        text.parent.replace(text, found)


def sections(app: Sphinx) -> Iterator[nodes.section]:
    return app.env.get_doctree(METHODS).findall(nodes.section)
