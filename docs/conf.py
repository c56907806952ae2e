"""The site: `make docs` builds it from this repository alone, without a network. Its source is the
whole repository, so that a link between two pages is the same here and there, wherever they lie.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

import riskweighted

project = "riskweighted"
author = "The riskweighted developers"
copyright = "The riskweighted developers, Apache-2.0"
version = release = riskweighted.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/names/*.md",  # a page for each public name, made below
    "models/README.md",
    "experiments/README.md",
    "experiments/*/RESULTS.md",
    "benchmarks/README.md",
    "benchmarks/peers_results/peers.md",
    "benchmarks/together_results/together.md",
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
# an attribute that two classes have, such as `weights`, leads to one of them
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = "riskweighted"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False


API, METHODS = "docs/api", "docs/METHODS"
NAMES = re.compile(r"```\{names\}\n(.*?)```", re.DOTALL)
PAGE = """# {name}

```{{eval-rst}}
.. auto{kind}:: riskweighted.{name}
```

Examples take `np`, `pd` and `rw` for granted; [the API](../api.md) says what they are about.
"""
SECTION = re.compile(r"(METHODS sections? (\d+(?:\.\d+)?))")


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_names)
    app.connect("source-read", list_names)
    app.connect("doctree-resolved", link_sections)


def page_of(name: str) -> str:
    """The page of a public name; of a class whose name differs from another one in case only, which
    some systems keep in one file, a longer one.
    """
    alike = [other for other in riskweighted.__all__ if other.lower() == name.lower()]
    return f"{name}-class" if len(alike) > 1 and not name.islower() else name


def write_names(app: Sphinx) -> None:
    """Write the page of each public name, where it differs from what is there, and remove those of
    former names.
    """
    folder = Path(app.srcdir) / "docs" / "names"
    folder.mkdir(exist_ok=True)
    names = set(riskweighted.__all__) - {"__version__"}
    pages = set(map(page_of, names))
    for path in folder.glob("*.md"):
        if path.stem not in pages:
            path.unlink()
    for name in names:
        kind = "class" if inspect.isclass(getattr(riskweighted, name)) else "function"
        page, path = PAGE.format(name=name, kind=kind), folder / f"{page_of(name)}.md"
        if not path.is_file() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")


def list_names(app: Sphinx, page: str, source: list[str]) -> None:
    """Turn each block of names into a table: the name, which leads to its page, and the first
    sentence of its docstring.
    """
    if page == API:
        source[0] = NAMES.sub(lambda block: as_table(block[1].split()), source[0])


def as_table(names: list[str]) -> str:
    first = {
        name: (inspect.getdoc(getattr(riskweighted, name)) or "").split("\n")[0].replace("|", "\\|")
        for name in names
    }
    rows = [
        f"| [`{name}`](names/{page_of(name)}.md) | {sentence} |" for name, sentence in first.items()
    ]
    pages = ["```{toctree}", ":hidden:", *(f"names/{page_of(name)}" for name in names), "```"]
    return "\n".join(["| name | what it is or does |", "|---|---|", *rows, "", *pages])


def link_sections(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Make every "METHODS section 2.4" of a page or a docstring a link to that section."""
    anchors = {
        section[0].astext().split(" ")[0].rstrip("."): section["ids"][0]
        for section in sections(app)
    }
    place = app.builder.get_relative_uri(page, METHODS)
    for text in list(tree.findall(nodes.Text)):
        if isinstance(
            text.parent, nodes.literal | nodes.literal_block | nodes.reference | nodes.title
        ) or not SECTION.search(text):
            continue
        parts = SECTION.split(text)  # before, phrase, number, before, ...
        found: list[nodes.Node] = [nodes.Text(parts[0])]
        for phrase, number, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            found += [
                nodes.reference("", phrase, internal=True, refuri=f"{place}#{anchors[number]}"),
                nodes.Text(after),
            ]
        text.parent.replace(text, found)


def sections(app: Sphinx) -> Iterator[nodes.section]:
    return app.env.get_doctree(METHODS).findall(nodes.section)
