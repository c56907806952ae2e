"""The site: `make docs` builds it from this repository alone, without a network. Its source is the
whole repository, so that a link between two pages is the same here and there, wherever they lie.
"""

import functools
import inspect
import re
from pathlib import Path
from types import UnionType

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

import riskweighted
from riskweighted.common.text import plain
from riskweighted.evaluation.measure_rows import Statistic
from riskweighted.measures.measure import Measure
from riskweighted.measures.registry import measures
from riskweighted.reports.glossary import FIXED, direction_of
from riskweighted.reports.wording import capital

project = "riskweighted"
author = "The riskweighted developers"
copyright = "The riskweighted developers, Apache-2.0"
version = release = riskweighted.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/methods/*.md",
    "docs/names/*.md",  # a page for each public name, made below
    "models/README.md",
    "experiments/README.md",
    "experiments/*/RESULTS.md",
    "experiments/claims/RADII.md",
    "experiments/ce/README.md",
    "benchmarks/README.md",
    "SECURITY.md",
]
exclude_patterns = [".*", "site", "results", "build", "dist", "tests", "riskweighted"]
myst_enable_extensions = ["dollarmath", "tasklist"]
myst_dmath_allow_space = False  # "$ 5" is an amount
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
html_static_path = ["site.css", "site.js"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"  # which browsers draw themselves: no script, font or network


API, GLOSSARY, METHODS = "docs/api", "docs/glossary", "docs/methods/"
TERMS = re.compile(r"```\{terms\}\n.*?```", re.DOTALL)
NAMES = re.compile(r"```\{names\}\n(.*?)```", re.DOTALL)
PAGE = """# {name}

```{{eval-rst}}
.. auto{kind}:: riskweighted.{name}
```

The examples assume `np`, `pd` and `rw`; [the API](../api.md) describes their data.
"""
# "METHODS section 2.4", "METHODS 3.4, 15", and within the methods "sections 2 and 3"
LIST = r"\d+(?:\.\d+)?(?!\.?\d)(?:(?:,|,? and)\s+\d+(?:\.\d+)?(?!\.?\d))*"
REFERENCE = re.compile(rf"METHODS\s+(?:sections?\s+)?{LIST}")
WITHIN = re.compile(rf"(?:METHODS\s+)?\bsections?\s+{LIST}")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
# Terms of the glossary by their anchor, as pages write them. Words that have other meanings, such
# as code, mode, chain and score, are linked by hand.
LINKED = {
    "attribution": r"attribution",
    "ball": r"balls?",
    "centred-weights": r"centred weights",
    "decoys": r"decoys",
    "disclosure-d": r"disclosure \(D\)",
    "fold": r"folds?",
    "guarantee": r"guarantees?",
    "heap": r"heaps?",
    "identification-risk-ir": r"identification risks?",
    "intruder": r"intruders?",
    "isolated-records": r"isolated records?",
    "kappa": r"kappa",
    "known-pattern": r"known patterns?",
    "pack": r"packs?",
    "policy": r"policy|policies",
    "radius": r"radius|radii",
    "scenario": r"scenarios?",
    "scheme": r"schemes?",
    "spike": r"spikes?",
    "status": r"status|statuses",
    "synthesized": r"synthesized",
    "top-coding": r"top-coding",
    "u-m": r"U_m",
    "verdict": r"verdicts?",
    "weight-alpha": r"(?<!survey )weights?",
    "whack-a-mole": r"whack-a-mole",
}


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_names)
    app.connect("source-read", list_names)
    app.connect("source-read", list_terms)
    app.connect("doctree-read", join_lines)
    app.connect("doctree-read", name_sections)
    app.connect("doctree-resolved", link_sections)
    app.connect("doctree-resolved", link_terms)
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))


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


class Symbol(str):
    """A symbol that fills a number's place in a template, whatever its format."""

    def __format__(self, _: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return str(self)


def list_terms(app: Sphinx, page: str, source: list[str]) -> None:
    """Turn the block of terms into a table of the report's definitions."""
    if page == GLOSSARY:
        source[0] = TERMS.sub(lambda block: definitions(), source[0])


def definitions() -> str:
    """A row for each number of a report, sorted by name: symbol, definition, which way is worse."""
    texts = [(title, "", *rest) for title, *rest in FIXED.values()]
    for key, measure in measures().items():
        statistic = Statistic(key, None, Symbol("t"), Symbol("x"))
        filled = statistic.define(
            "scheme",
            "unweighted",
            formula="the regression",
            among="among all records",
            risk="E[IR]" if measure.mechanism else "IR",
        )
        texts.append(
            (
                title_of(measure),
                "" if measure.symbol in title_of(measure).split() else measure.symbol,
                f"{filled}.",
                measure.boundary,
                direction_of(statistic),
            )
        )
    rows = [
        f"| {title}{f' ({symbol})' if symbol else ''} | {text} {boundary} | {direction} |"
        for title, symbol, text, boundary, direction in (
            [re.sub(r"([|*\[\]])", r"\\\1", plain(each)) for each in entry]
            for entry in sorted(texts, key=lambda entry: entry[0].lower())
        )
    ]
    return "\n".join(["| number | definition | worse |", "|---|---|---|", *rows])


def title_of(measure: Measure) -> str:
    """What a measure is called, whatever its term: by its label where that names none."""
    words = measure.words or measure.label
    if "{term" in words and "{" not in measure.label:
        words = measure.label
    title = words.format(parameter=Symbol("t"), term=Symbol("x"))
    return title if words.startswith("{") else capital(title)


def write_math(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML: braces as high as a line, a thin space after a function's name."""
    formula = tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block))
    formula = formula.replace('display="block"', 'display="block" tabindex="0"')  # it may scroll
    formula = re.sub(r"<mo>([{}])</mo>", r'<mo stretchy="false">\1</mo>', formula)
    space = r'\1<mspace width="0.17em"/>'
    translator.body.append(re.sub(r"(&ApplyFunction;</mo>)(?=\s*<m[^o])", space, formula))
    raise nodes.SkipNode


def number_of(section: nodes.section) -> str | None:
    """The number that the title of a section of the methods begins with."""
    number = NUMBER.match(section[0].astext())
    return number and number[0]


def name_sections(app: Sphinx, tree: nodes.document) -> None:
    """Give each numbered section of the methods an anchor that its title does not change:
    `section-2-4`.
    """
    if app.env.docname.startswith(METHODS):
        for section in tree.findall(nodes.section):
            if number := number_of(section):
                section["ids"].insert(0, f"section-{number.replace('.', '-')}")


def link_sections(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Make every "METHODS section 2.4" of a page or a docstring a link to that section."""
    pages = pages_of_sections(app)
    pattern = WITHIN if page.startswith(METHODS) else REFERENCE
    for text in prose(tree):
        linked: list[nodes.Node] = []
        end = 0
        for reference in pattern.finditer(text):
            start = reference.start()
            for number in NUMBER.finditer(text, start, reference.end()):
                target = app.builder.get_relative_uri(page, pages[number[0]])
                anchor = f"{target}#section-{number[0].replace('.', '-')}"
                first = start if start == reference.start() else number.start()
                linked += [
                    nodes.Text(text[end:first]),
                    nodes.reference("", text[first : number.end()], internal=True, refuri=anchor),
                ]
                end = start = number.end()
        if linked:
            text.parent.replace(text, [*linked, nodes.Text(text[end:])])


def join_lines(app: Sphinx, tree: nodes.document) -> None:
    """Join the lines of a paragraph, which are read as texts of their own, so that what is broken
    over a line is linked too.
    """
    for text in list(tree.findall(nodes.Text)):
        parent, at = text.parent, text.parent.index(text)
        if at and isinstance(parent[at - 1], nodes.Text):
            parent[at - 1 : at + 1] = [nodes.Text(parent[at - 1] + text)]


def prose(tree: nodes.document) -> list[nodes.Text]:
    """The texts of a page that are in no code, formula, title or link, however deep."""
    others = nodes.literal | nodes.literal_block | nodes.reference | nodes.title
    others |= nodes.math | nodes.math_block
    return [text for text in tree.findall(nodes.Text) if not is_within(text, others)]


def is_within(node: nodes.Node, kinds: UnionType) -> bool:
    return node.parent is not None and (
        isinstance(node.parent, kinds) or is_within(node.parent, kinds)
    )


def link_terms(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Link the first use of each term on a page to the glossary, unless the page links it."""
    if page.startswith("docs/names/") or page in (API, GLOSSARY):
        return
    glossary = app.builder.get_relative_uri(page, GLOSSARY)
    known = {reference.get("refuri") for reference in tree.findall(nodes.reference)}
    texts = prose(tree)
    for anchor, term in LINKED.items():
        target = f"{glossary}#{anchor}"
        pattern = re.compile(rf"(?<![\w-])(?:{term})(?![\w-])".replace(" ", r"\s"), re.IGNORECASE)
        uses = ((place, use) for place, text in enumerate(texts) if (use := pattern.search(text)))
        place, use = next(uses, (0, None))
        if use is None or target in known:
            continue
        text = texts[place]
        before, after = nodes.Text(text[: use.start()]), nodes.Text(text[use.end() :])
        link = nodes.reference("", use[0], internal=True, refuri=target, classes=["term"])
        text.parent.replace(text, [before, link, after])
        texts[place : place + 1] = [before, after]


@functools.cache
def pages_of_sections(app: Sphinx) -> dict[str, str]:
    """The page of the methods on which each numbered section is."""
    return {
        number: page
        for page in app.env.found_docs
        if page.startswith(METHODS)
        for section in app.env.get_doctree(page).findall(nodes.section)
        if (number := number_of(section))
    }
