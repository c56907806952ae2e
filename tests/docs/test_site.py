"""The site builds strictly and offline, loads nothing from outside, and has every public name and
every page; the README keeps its size.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

import riskweighted

pytest.importorskip("sphinx", reason="needs the extra 'docs' (sphinx)")
CHROMIUM = shutil.which("chromium")
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MADE = {"genindex.html", "py-modindex.html", "search.html"}  # by Sphinx, of no page
# nobody listens there
NOWHERE = dict.fromkeys(
    ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"
)
LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "srcset",
    "video": "src",
    "audio": "src",
    "link": "href",
}


class Loaded(HTMLParser):
    """What a page loads, what it links to, and the names that it defines."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loaded, self.links, self.names = set(), set(), set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag in LOADS and given.get(LOADS[tag]):
            self.loaded.add(given[LOADS[tag]])
        if tag == "a" and given.get("href"):
            self.links.add(given["href"].partition("#")[0])
        if tag == "dt" and given.get("id"):
            self.names.add(given["id"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [
        "-m",
        "sphinx",
        "-b",
        "html",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        "docs",
        "-d",
        str(folder / "doctrees"),
        ".",
        str(folder / "site"),
    ]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | NOWHERE,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site):
    """The pages of the site by their path, without those that Sphinx makes of no page of ours."""
    found = {page.relative_to(site).as_posix(): Loaded(page) for page in site.rglob("*.html")}
    return {path: page for path, page in found.items() if path not in MADE}


@pytest.mark.long
def test_nothing_is_loaded_from_outside(site, pages):
    assert len(pages) > 25
    outside = {
        (path, target)
        for path, page in pages.items()
        for target in page.loaded
        if re.match(r"(\w+:)?//", target)
    }
    assert not outside
    for sheet in site.rglob("*.css"):
        assert not re.findall(
            r"(?:url\(|@import)\s*[\"']?(?:\w+:)?//", sheet.read_text(encoding="utf-8")
        ), sheet


@pytest.mark.long
def test_every_public_name_has_a_page_to_which_the_reference_leads_and_no_other(pages):
    of_names = {path: page for path, page in pages.items() if path.startswith("docs/names/")}
    public = {f"riskweighted.{name}" for name in riskweighted.__all__ if name != "__version__"}
    first = [
        next(name for name in sorted(page.names, key=len) if name in public)
        for page in of_names.values()
    ]
    assert sorted(first) == sorted(public)
    assert {
        f"docs/{link}" for link in pages["docs/api.html"].links if link.startswith("names/")
    } == set(of_names)
    assert len({path.lower() for path in pages}) == len(pages), (
        "some systems keep names that differ in case only in one file"
    )


@pytest.mark.long
def test_every_section_of_the_methods_has_its_anchor_and_every_formula_is_drawn(site):
    pages = {page: page.read_text(encoding="utf-8") for page in (site / "docs/methods").iterdir()}
    for source in (ROOT / "docs" / "methods").glob("*.md"):
        page = pages[site / "docs" / "methods" / f"{source.stem}.html"]
        for number in re.findall(r"^#+ (\d+(?:\.\d+)?)", source.read_text(encoding="utf-8"), re.M):
            assert f'id="section-{number.replace(".", "-")}"' in page, number
    assert not any(
        "$" in re.sub(r"<pre>.*?</pre>", "", page, flags=re.S) for page in pages.values()
    )
    anchors = {
        (name, anchor)
        for name in ("docs/choosing.html", "docs/names/evaluate.html", "docs/methods/risk.html")
        for anchor in re.findall(r'#(section-[\d-]+)"', (site / name).read_text(encoding="utf-8"))
    }
    assert len(anchors) > 10
    assert all(any(f'id="{anchor}"' in page for page in pages.values()) for _, anchor in anchors)


@pytest.mark.long
def test_the_first_use_of_a_term_leads_to_the_glossary(site):
    terms = runpy.run_path(str(ROOT / "docs" / "conf.py"))["LINKED"]
    glossary = (site / "docs" / "glossary.html").read_text(encoding="utf-8")
    assert all(f'id="{anchor}"' in glossary for anchor in terms)
    for name, prefix in (("docs/release.html", ""), ("docs/methods/weights.html", "../")):
        page = (site / name).read_text(encoding="utf-8").partition('<article role="main"')[2]
        linked = re.findall(rf'class="term[^"]*" href="{prefix}glossary.html#([\w-]+)"', page)
        assert len(linked) == len(set(linked)) > 3
    assert 'class="term' not in glossary


@pytest.mark.long
def test_every_page_is_in_the_navigation(site, pages):
    start = site / "docs"
    reached = {
        os.path.relpath(start / link, site)
        for link in pages["docs/index.html"].links
        if "://" not in link
    }
    assert set(pages) - {"docs/index.html"} <= reached
    sources = {
        path.relative_to(ROOT).with_suffix(".html").as_posix()
        for place in ("docs", "docs/methods")
        for path in (ROOT / place).glob("*.md")
    }
    assert sources <= set(pages)


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium in PATH: apt-get install chromium")
def test_a_browser_asks_for_no_other_address_finds_what_is_sought_and_axe_nothing(site):
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs the extra 'test' (playwright)"
    )
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs the extra 'test' (axe)"
    )
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM)
        page = browser.new_page(viewport={"width": 390, "height": 844})
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        for name in (
            "docs/index.html",
            "docs/tutorial.html",
            "docs/api.html",
            "docs/methods/centred.html",
            "docs/own-synthesizer.html",
            "models/README.html",
            "search.html?q=whack",
        ):
            page.goto(f"{site.as_uri()}/{name}")
            assert page.evaluate("document.documentElement.scrollWidth") == 390, (
                f"{name} is wider than the screen"
            )
            found = axe.Axe().run(page).response["violations"] if "search" not in name else []
            assert [(v["id"], v["nodes"][0]["html"][:200]) for v in found] == [], name
        page.wait_for_selector("ul.search li")  # the search works from a disk
        browser.close()
    assert asked
    assert all(url.startswith(("file:", "data:")) for url in asked)


def test_the_readme_is_short_and_its_links_lead_somewhere():
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    assert len(prose.split()) <= 900
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert "://" in target or (ROOT / target).exists(), target


def test_what_an_index_shows_of_the_readme_leads_nowhere_that_is_not_there():
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"][
        "hooks"
    ]["fancy-pypi-readme"]["substitutions"]
    text = README
    for rule in rules:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert targets
    assert all(target.startswith("https://") for target in targets)


@pytest.mark.quick
def test_no_two_public_names_have_pages_that_differ_in_case_only():
    names = [name for name in riskweighted.__all__ if name != "__version__"]
    conf = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    pages = [conf["page_of"](name).lower() for name in names]
    assert len(set(pages)) == len(names) > len({name.lower() for name in names}), (
        "such names there are"
    )
