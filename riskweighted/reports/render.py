"""Sections into one HTML page: style, script and pictures inlined, every text escaped, nothing
loaded from anywhere.
"""

import base64
import datetime
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from riskweighted.common.atomic import make_folder, write_file
from riskweighted.common.checks import check_given, check_text
from riskweighted.common.native import as_pandas
from riskweighted.common.text import plain
from riskweighted.reports.about import about_section, main_section
from riskweighted.reports.answer import find_answer
from riskweighted.reports.convergence_section import convergence_section
from riskweighted.reports.fit_section import fit_check_section
from riskweighted.reports.glossary import Glossary
from riskweighted.reports.page_blocks import Answer, DataTable, Figure, Group, Section, Term
from riskweighted.reports.risk_section import disclosure_sections, map_section, risk_section
from riskweighted.reports.several import has_several, several_section
from riskweighted.reports.source import gather
from riskweighted.reports.svg import dark_style
from riskweighted.reports.unit_section import has_units, units_section
from riskweighted.reports.utility_section import utility_section
from riskweighted.runs.finished import FinishedRun

__all__ = ["Report", "make_page", "make_report", "render_report"]

FIGURE_FORMATS = ("svg", "pdf", "png")
_DOTS_PER_INCH = 300


@dataclass(frozen=True)
class Report:
    """A page, and the parts it is made of."""

    page: str
    sections: tuple[Section, ...]

    @property
    def figures(self) -> list[Figure]:
        """Every figure that is drawn, in order."""
        return [
            block
            for block in _blocks(self.sections)
            if isinstance(block, Figure) and block.drawing is not None
        ]

    def save_figures(self, folder: str | Path, *, private: bool = False) -> list[Path]:
        """Write each figure as SVG, PDF and PNG of 300 dots per inch, under its key; those of that
        name are replaced.

        `private`: for the owner only, as figures of the internal report must be.
        """
        out = Path(folder)
        made = dict[Path, bytes]()
        for figure in self.figures:
            for ending in FIGURE_FORMATS:
                path, content = out / f"{figure.key}.{ending}", io.BytesIO()
                dates = (
                    {"CreationDate": None}
                    if ending == "pdf"
                    else {"Date": None}
                    if ending == "svg"
                    else {}
                )
                with mpl.rc_context({"svg.hashsalt": figure.key}):
                    figure.drawing.savefig(  # type: ignore[union-attr]
                        content, format=ending, dpi=_DOTS_PER_INCH, metadata=dates
                    )
                made[path] = content.getvalue()
        make_folder(out, private=private)
        for path, drawn in made.items():  # once all are drawn
            write_file(path, drawn, private=private)
        return list(made)


def render_report(
    run: FinishedRun,
    *,
    internal: bool = False,
    confidential: pd.DataFrame | str | Path | None = None,
    minimum_count: int = 10,
    agency: str = "",
) -> str:
    """Return the report of a run as a self-contained HTML page.

    Parameters
    ----------
    run : FinishedRun
    internal : bool
        Everything, with row identifiers of the riskiest records and the convergence card. Without
        it the page holds aggregates only: `riskweighted.reports.output_rules` says how each number
        is coarsened, and so does the page.
    confidential : DataFrame, str or Path, optional
        The data that the run was made from; without it, embedded data or the file beside the run
        folder.
    minimum_count : int
        m: what the releasable page shows of records holds at least so many, 3 or more.
    agency : str
        Who publishes, as the page states it at its top.

    Returns
    -------
    str
        The same run and version give the same text.

    Raises
    ------
    InputError
        If the confidential data is not that of the run, or `minimum_count` is not valid.

    Examples
    --------
    >>> from riskweighted.runs.examples import folder
    >>> rw.render_report(rw.load_run(folder / "run"))[:15]
    '<!DOCTYPE html>'
    """
    check_given(run, "run", "manifest", "FinishedRun", "load_run(FOLDER)")
    return make_report(
        run,
        internal=internal,
        confidential=confidential,
        minimum_count=minimum_count,
        agency=agency,
    ).page


def make_report(
    run: FinishedRun,
    *,
    internal: bool = False,
    confidential: pd.DataFrame | str | Path | None = None,
    minimum_count: int = 10,
    agency: str = "",
) -> Report:
    """The same with its figures, which can be saved."""
    check_text(agency or "none", "agency")
    confidential = as_pandas(confidential)
    source = gather(run, internal, confidential, minimum_count)
    answer = find_answer(source)
    sections = [
        *disclosure_sections(source),
        fit_check_section(source),
        convergence_section(source),
        main_section(source),
        risk_section(source),
        utility_section(source),
        *([several_section(source)] if has_several(source) else []),
        *([units_section(source)] if has_units(source) else []),
        map_section(source),
        about_section(source),
    ]
    page = make_page(
        f"Risk and utility of synthetic {', '.join(source.variables)}",
        "Internal report: holds row identifiers and risks of records."
        if internal
        else f"Releasable report: aggregates of at least {minimum_count} records.",
        answer,
        sections,
        source.glossary,
        internal=internal,
        facts=_facts(run, agency),
    )
    return Report(page, tuple(sections))


def _facts(run: FinishedRun, agency: str) -> list[tuple[str, str]]:
    """What the top of a page says of a run: who, which file, when, by which version."""
    data = run.manifest["settings"]["data"]
    file = data.get("embedded") or Path(str(data.get("path") or "")).name or "a table in memory"
    ended = datetime.datetime.fromtimestamp(
        (run.folder / "manifest.json").stat().st_mtime, tz=datetime.UTC
    )
    facts = {
        "Agency": agency,
        "File": f"{file}, {run.total:,} records",
        "Run of": f"{ended:%Y-%m-%d}",
        "Version": f"riskweighted {run.manifest['versions']['riskweighted']}",
    }
    return [(name, plain(said)) for name, said in facts.items() if said]


def make_page(
    title: str,
    kind: str,
    answer: Answer,
    sections: Sequence[Section],
    glossary: Glossary,
    *,
    internal: bool,
    facts: Sequence[tuple[str, str]] = (),
) -> str:
    """A page of its parts; `kind`: who may read it, in a sentence; `internal`: it is marked as
    confidential; `facts` stand at its top, and with them lines to sign at its end in print.
    """
    style, script = _asset("report.css") + dark_style(), _asset("report.js")
    if internal:
        style += _asset("confidential.css")
    environment = Environment(
        loader=PackageLoader("riskweighted.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        internal=internal,
        title=plain(title),
        kind=kind,
        facts=facts,
        answer=answer,
        sections=sections,
        terms=[term for term in glossary.terms if term.key in _used(answer, sections)],
        printed=_used(answer, sections, printed=True),
        introduction=plain(glossary.introduction),
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _blocks(sections: Sequence[Section]) -> list[DataTable | Figure]:
    """Every table and figure, those of groups too."""
    return [
        part
        for section in sections
        for block in section.blocks
        for part in (block.blocks if isinstance(block, Group) else (block,))
    ]


def _used(answer: Answer, sections: Sequence[Section], *, printed: bool = False) -> frozenset[str]:
    """Keys of the terms that the page explains; `printed`: without those of the tables of figures,
    which print does not show.
    """
    used: list[Term | None] = [row.term for row in answer.figures]
    for block in _blocks(sections):
        tables = (
            (block,)
            if isinstance(block, DataTable)
            else ()
            if printed and block.axes is not None
            else block.tables
        )
        used += [] if isinstance(block, DataTable) else block.terms
        for table in tables:
            used += [*table.row_terms, *(column.term for column in table.columns)]
    return frozenset(term.key for term in used if term is not None)


def _asset(name: str) -> str:
    return (files("riskweighted.reports") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What the content security policy allows by name."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
