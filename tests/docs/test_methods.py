"""Every "METHODS 2.4" of the repository names a section of the methods, and every formula of theirs
can be drawn.
"""

import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("sphinx", reason="needs the extra 'docs' (sphinx)")
latex2mathml = pytest.importorskip("docutils.utils.math.latex2mathml")
ROOT = Path(__file__).parents[2]
CONF = runpy.run_path(str(ROOT / "docs" / "conf.py"))
PAGES = sorted((ROOT / "docs" / "methods").glob("*.md"))
ROOMS = ("riskweighted", "models", "tests", "experiments", "benchmarks", "docs")
TEXTS = (".py", ".md", ".toml", ".j2", ".ipynb")


def sections() -> dict[str, str]:
    """The page of each numbered section."""
    return {
        number: page.name
        for page in PAGES
        for number in re.findall(r"^#+ (\d+(?:\.\d+)?)", page.read_text(encoding="utf-8"), re.M)
    }


def references(text: str) -> list[str]:
    """The numbers of sections that a text names, over the ends of lines, comments and strings."""
    text = re.sub(r"\"\s*\n\s*f?\"|\n\s*#\s?", " ", text)
    return [
        number
        for reference in CONF["REFERENCE"].finditer(text)
        for number in CONF["NUMBER"].findall(reference[0])
    ]


@pytest.mark.quick
def test_every_section_that_is_named_exists():
    files = [
        path
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.suffix in TEXTS and "_results" not in str(path)
    ] + list(ROOT.glob("*.md"))
    named = {
        (path.relative_to(ROOT).as_posix(), number)
        for path in files
        if path != Path(__file__)
        for number in references(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 150
    assert {(path, number) for path, number in named if number not in sections()} == set()


@pytest.mark.quick
def test_the_methods_name_only_sections_that_exist():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        numbers = {
            number
            for reference in CONF["WITHIN"].finditer(text)
            for number in CONF["NUMBER"].findall(reference[0])
        }
        assert numbers <= set(sections()), page.name


@pytest.mark.quick
def test_references_are_found_over_lines_and_in_lists():
    assert references("(METHODS\nsections 2, 13.1 and 15; section 7)") == ["2", "13.1", "15"]
    assert references('"METHODS "\n    "section 5.13"') == ["5.13"]
    assert references("METHODS 5.1.2") == []


@pytest.mark.quick
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_formula_can_be_drawn(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    parts = text.split("$$")
    blocks, prose = parts[1::2], "\n".join(parts[::2])
    assert prose.count("$") % 2 == 0
    for formula in blocks:
        assert "<math" in latex2mathml.tex2mathml(formula, as_block=True)
    for formula in prose.split("$")[1::2]:
        assert "\n\n" not in formula
        assert "<math" in latex2mathml.tex2mathml(formula)


@pytest.mark.quick
def test_the_first_use_of_a_term_is_linked_unless_the_page_links_it():
    nodes = pytest.importorskip("docutils.nodes")
    tree = pytest.importorskip("docutils.utils").new_document("page")
    tree += nodes.title("", "An intruder")
    tree += nodes.paragraph(
        "", "", nodes.literal("", "intruder"), nodes.Text(" as an Intruder does")
    )
    tree += nodes.paragraph("", "An intruder knows the radius of a pack.")
    tree += nodes.reference("", "how close", refuri="glossary#radius")
    app = SimpleNamespace(builder=SimpleNamespace(get_relative_uri=lambda _, page: page[5:]))
    CONF["link_terms"](app, tree, "docs/release")
    links = [(each.astext(), each["refuri"]) for each in tree.findall(nodes.reference)]
    assert links == [
        ("Intruder", "glossary#intruder"),
        ("pack", "glossary#pack"),
        ("how close", "glossary#radius"),
    ]
    assert tree.astext().count("ntruder") == 4


@pytest.mark.quick
def test_nothing_is_linked_within_a_link_and_a_term_over_the_end_of_a_line_is():
    nodes = pytest.importorskip("docutils.nodes")
    tree = pytest.importorskip("docutils.utils").new_document("page")
    outer = nodes.reference("", "", nodes.inline("", "A released pack"), refuri="analyst")
    lines = [nodes.Text("of an isolated"), nodes.Text("\n"), nodes.Text("record")]
    tree += nodes.paragraph("", "", outer, *lines)
    app = SimpleNamespace(builder=SimpleNamespace(get_relative_uri=lambda _, page: page[5:]))
    CONF["join_lines"](app, tree)
    CONF["link_terms"](app, tree, "docs/release")
    links = [(each.astext(), each["refuri"]) for each in tree.findall(nodes.reference)]
    assert links == [
        ("A released pack", "analyst"),
        ("isolated\nrecord", "glossary#isolated-records"),
    ]
