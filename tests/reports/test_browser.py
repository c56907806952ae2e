"""Every page in a real browser: short, nothing is loaded, everything works by keyboard, nothing is
cut, axe finds no fault.
"""

import dataclasses
import re
import shutil

import pandas as pd
import pytest
from assessed import assessed_page
from finished_run import confidential_data, finished_chain, finished_run

from riskweighted.reports.render import render_report
from riskweighted.runs.finished import load_run

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium in PATH: apt-get install chromium"),
]
playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs the extra 'test' (playwright)"
)

NASTY = (
    "<script>window.pwned=1</script>",
    '"><script>window.pwned++</script>',  # a scheme's name holds no blank and no sign of equality
    "\u202e\u05d4\u05db\u05e0\u05e1\u05d4'\"&amp;\N{GRINNING FACE}",
    "w" * 300,
)
KINDS = ("releasable", "internal", "nasty")
ALL = (*KINDS, "chain", "assessed")
TALLEST = 8000  # of a page 1440 wide, in pixels
A4, LETTER = (210, 297), (216, 279)  # millimetres
MARGINS = (14, 18 + 16)  # both sides, top and bottom: @page of report.css
PIXELS = 96 / 25.4  # of CSS in a millimetre


class NastyStudy:
    """A study whose sensitive and known variables have the names given; its other parts are those
    of a real one.
    """

    def __init__(self, study, target, known):
        self._study, self._target, self._known = study, target, known

    def __getattr__(self, name):
        return getattr(self._study, name)

    @property
    def target(self):
        return self._target

    @property
    def variables(self):
        return (self._target,)

    @property
    def scenario(self):
        return dataclasses.replace(
            self._study.scenario, synthetic=(self._target,), known=(self._known,)
        )

    def evaluating_scenario(self):
        return self.scenario


def nasty_run(run):
    """The run with a scheme, variables, a measure, an identifier and a setting that try to be more
    than text.
    """
    script, image, turned, long = NASTY
    names = {
        "income": script,
        "pairwise": image,
        "0.9 quantile": turned,
        f"coefficient {run.study.evaluation.coefficient}": long,
    }
    columns = {
        f"{m} of income{end}": f"{names.get(m, m)} of {script}{end}"
        for m in run.tables["utility"]["measure"]
        for end in ("", ": overlap")
    }
    tables = {
        name: table.replace(names).rename(columns=columns) for name, table in run.tables.items()
    }
    settings = {**run.manifest["settings"], "note": long, script: turned}
    settings["weights"] = {**settings["weights"], "schemes": ["unweighted", image]}
    renamed = dataclasses.replace(
        run, manifest={**run.manifest, "settings": settings}, tables=tables
    )
    records = run.expected.rename(columns=names)
    parts = {
        "study": NastyStudy(run.study, script, long),
        "expected": records.rename(index={records["unweighted"].idxmax(): turned}),
        "weights": run.weights.rename(columns=names).set_axis(
            records.rename(index={records["unweighted"].idxmax(): turned}).index
        ),
        "posteriors": {names.get(scheme, scheme): fit for scheme, fit in run.posteriors.items()},
        "synthetic": {
            names.get(scheme, scheme): [f.rename(columns=names) for f in sets]
            for scheme, sets in run.synthetic.items()
        },
    }
    renamed.__dict__.update(parts)  # cached properties
    return renamed, confidential_data().rename(columns=names)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Address of each kind of page."""
    folder, run = tmp_path_factory.mktemp("pages"), load_run(finished_run())
    nasty, data = nasty_run(run)
    texts = {
        "releasable": render_report(run),
        "internal": render_report(run, internal=True),
        "nasty": render_report(nasty, internal=True, confidential=data),
        "chain": render_report(load_run(finished_chain()), internal=True),
        "assessed": assessed_page(folder),
    }
    for kind, text in texts.items():
        (folder / f"{kind}.html").write_text(text, encoding="utf-8")
    return {kind: (folder / f"{kind}.html").as_uri() for kind in ALL}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser, pages):
    """Opens a report; afterwards, nothing but the file was asked for and the console stayed
    empty.
    """
    contexts, asked, said = [], [], []

    def go(kind, width=1440, height=900, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **options))
        page = contexts[-1].new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append("dialog"))
        page.goto(pages[kind])
        return page

    yield go
    for context in contexts:
        context.close()
    assert said == []
    assert {url for url in asked if not url.startswith(("data:image/png", "blob:"))} <= set(
        pages.values()
    )


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")


def press(page, selector, key="Enter"):
    page.locator(selector).first.focus()
    page.keyboard.press(key)


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_is_drawn_and_every_text_is_text(opened, kind):
    page = opened(kind)
    unfold(page)
    sizes = page.evaluate(
        "[...document.querySelectorAll('.picture svg')].map(i => i.getBoundingClientRect().width)"
        ".filter(width => width > 0)"  # of two for wide and narrow pages one is shown
    )
    assert len(sizes) >= 6
    assert min(sizes) > 300
    named = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(set(named)) == len(named)  # those of the figures too
    assert page.evaluate("window.pwned") is None
    assert page.locator("main script, main img[onerror], [style*=x]").count() == 0
    if kind == "nasty":
        text = page.locator("body").text_content()
        assert all(
            name in text for name in (NASTY[0], NASTY[1], NASTY[2].removeprefix("\u202e"), NASTY[3])
        )
        assert "\u202e" not in text


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_verdicts_reason_and_next_command_stand_on_the_first_screen_and_no_answer_scrolls(
    opened, kind, width, height
):
    page = opened(kind, width, height)
    if kind != "nasty":  # names of 300 letters
        for part in (".verdicts", ".next"):
            box = page.locator(part).bounding_box()
            assert box["y"] + box["height"] <= height
    wide = page.evaluate(
        "[...document.querySelectorAll('.answer .scroll')].map(e => e.scrollWidth - e.clientWidth)"
    )
    assert len(wide) == 2
    if kind != "nasty" or width == 390:
        assert max(wide) <= 0
    figures = page.locator(".figures").inner_text()
    for variable in {
        "chain": ("marital", "income", "smoke", "cigs"),
        "assessed": ("income", "cigs"),
    }.get(kind, ()):
        assert variable in figures


@pytest.mark.parametrize("kind", ["releasable", "internal", "chain", "assessed"])
def test_a_page_is_short(opened, kind):
    assert opened(kind).evaluate("document.documentElement.scrollHeight") <= TALLEST


@pytest.mark.parametrize(("width", "abreast"), [(1440, True), (390, False)])
def test_small_figures_stand_side_by_side_where_there_is_room(opened, width, abreast):
    tops = opened("releasable", width).evaluate(
        "['density', 'ecdf'].map(k => document.getElementById(k).getBoundingClientRect().top)"
    )
    assert (abs(tops[0] - tops[1]) < 1) == abreast


def test_figures_are_dark_on_a_dark_page_and_light_in_print(opened):
    """What is ink and what is paper: the spine of an axis and its ground."""
    colours = (
        "[...document.querySelectorAll('#violins svg [id$=patch_1] path, #violins svg "
        "[id$=patch_3] path')].map(e => {"
    )
    colours += "const s = getComputedStyle(e); return [s.fill, s.stroke]; })"
    page = opened("releasable", color_scheme="dark")
    (paper, _), (_, ink) = page.evaluate(colours)
    assert (paper, ink) == ("rgb(29, 33, 38)", "rgb(236, 239, 241)")
    page.emulate_media(media="print")
    (paper, _), (_, ink) = page.evaluate(colours)
    assert (paper, ink) == ("rgb(255, 255, 255)", "rgb(0, 0, 0)")


def test_sorting_by_keyboard(opened):
    page = opened("internal")
    unfold(page)
    head = "#riskiest thead th:nth-child(3)"
    cells = (
        "[...document.querySelectorAll('#riskiest tbody tr')].map(r => "
        "Number(r.cells[2].textContent))"
    )
    before = page.evaluate(cells)
    press(page, f"{head} .sort")
    assert page.evaluate(cells) == sorted(before) != before
    assert page.locator(head).get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert page.evaluate(cells) == sorted(before, reverse=True)
    assert page.locator("#riskiest [aria-sort]").count() == 1
    assert "descending" in page.locator("#status").text_content()


def test_numbers_are_sorted_by_what_they_say(opened):
    page = opened("internal")
    shown = ["12,345", "<0.001", "n/a", "0.067 ± <0.001", "-3", "0.001", "9"]
    unfold(page)
    page.evaluate(
        "shown => [...document.querySelectorAll('#riskiest tbody tr')].forEach((row, i) => "
        "{ row.cells[2].querySelector('bdi').textContent = shown[i % shown.length]; })",
        shown,
    )
    press(page, "#riskiest thead th:nth-child(3) .sort")
    cells = page.evaluate(
        "[...document.querySelectorAll('#riskiest tbody tr')].map(r => r.cells[2].textContent)"
    )
    assert list(dict.fromkeys(cells)) == [
        "-3",
        "<0.001",
        "0.001",
        "0.067 ± <0.001",
        "9",
        "12,345",
        "n/a",
    ]


def test_figure_and_table_take_turns_by_keyboard(opened):
    page = opened("releasable")
    figure, table = page.locator("#violins figure"), page.locator("#violins table")
    assert (figure.is_visible(), table.is_visible()) == (True, False)
    press(page, "#violins .toggle")
    assert (figure.is_visible(), table.is_visible()) == (False, True)
    assert page.locator("#violins .toggle").text_content() == "Show figure"
    page.keyboard.press("Space")
    assert (figure.is_visible(), table.is_visible()) == (True, False)


@pytest.mark.parametrize(("kind", "key"), [("releasable", "main"), ("nasty", "settings")])
def test_csv_holds_the_table(opened, kind, key):
    page = opened(kind)
    unfold(page)
    with page.expect_download() as download:
        press(page, f"#{key} .download")
    assert download.value.suggested_filename == f"{key}.csv"
    read = pd.read_csv(download.value.path(), dtype=str, keep_default_na=False)
    rows = page.evaluate(
        f"[...document.querySelectorAll('#{key} tbody tr')].map(r => [...r.cells].map(c => "
        "c.querySelector('bdi').textContent))"
    )
    plain = [
        [cell.replace(",", "") if re.fullmatch(r"-?[\d,]+(\.\d+)?", cell) else cell for cell in row]
        for row in rows
    ]
    assert read.to_numpy().tolist() == plain
    assert key != "main" or plain != rows  # thousands are apart for people alone


def test_definitions_show_on_focus_and_go_with_escape(opened):
    page = opened("releasable", 390, 800)
    bubble = page.locator("#bubble")
    page.locator("#main .tip[aria-label='Definition: Mean risk in these datasets']").first.focus()
    assert bubble.is_visible()
    for text in ("Boundary:", "Interval:", "Direction: Higher is riskier."):
        assert text in bubble.text_content()
    box = bubble.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.keyboard.press("Escape")
    assert bubble.is_hidden()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("width", [390, 1440])
def test_no_horizontal_scroll(opened, kind, width):
    page = opened(kind, width)
    for tables in (False, True):
        if tables:
            unfold(page)
            page.evaluate("document.querySelectorAll('.toggle').forEach(b => b.click())")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        beyond = page.evaluate(
            "[...document.querySelectorAll('main h2, main h3, main p, main dd, figure, img, "
            ".scroll')]"
            ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).length"
        )
        assert beyond == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("paper", [A4, LETTER], ids=["A4", "Letter"])
def test_no_figure_is_cut_in_print(opened, kind, paper):
    width, height = (
        (length - margin) * PIXELS
        for length, margin in zip(paper, (2 * MARGINS[0], MARGINS[1]), strict=True)
    )
    page = opened(kind, int(width), int(height), color_scheme="dark")
    page.emulate_media(media="print")
    folded = page.locator("details:not([open])").count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0 < folded  # what is folded is printed
    blocks = page.evaluate(
        "[...document.querySelectorAll('.figure-block')].map(e => "
        "[e.getBoundingClientRect().height, "
        "getComputedStyle(e).breakInside, e.getBoundingClientRect().right, "
        "e.querySelector('svg')?.getBoundingClientRect().right ?? 0])"
    )
    assert len(blocks) >= 9
    for block_height, rule, right, image_right in blocks:
        assert block_height < 0.9 * height
        assert rule == "avoid"
        assert max(right, image_right) <= width + 1
    assert page.locator(".tip:visible, .toggle:visible, nav:visible").count() == 0
    assert set(
        page.evaluate(
            "[...document.querySelectorAll('.answer > p')].map(e => getComputedStyle(e).breakAfter)"
        )
    ) == {"auto"}
    assert page.locator(".only-printed").first.is_visible()  # says what is left out
    banner = page.locator(".banner")
    assert banner.count() == (0 if kind == "releasable" else 1)
    if kind != "releasable":
        # repeated on every page
        assert banner.evaluate("e => getComputedStyle(e).display") == "table-header-group"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == folded


@pytest.mark.parametrize(
    ("kind", "scheme"),
    [
        (kind, scheme)
        for kind in ALL
        for scheme in ("light", "dark")
        if (kind, scheme) != ("nasty", "dark")
    ],
)
def test_axe_finds_nothing(opened, kind, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="needs the extra 'test' (axe-playwright-python)",
    )
    page = opened(kind, color_scheme=scheme)
    for _ in range(2):
        violations = axe.Axe().run(page).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"][:200]) for v in violations] == []
        unfold(page)
        page.evaluate(
            "document.querySelectorAll('#violins .toggle, #ecdf .toggle').forEach(b => b.click())"
        )
    page.set_viewport_size({"width": 390, "height": 844})
    assert [v["id"] for v in axe.Axe().run(page).response["violations"]] == []
