"""Sections into one HTML page: style, script and pictures inlined, every text escaped, nothing loaded from anywhere."""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from riskweighted.common.text import plain
from riskweighted.reports.about import about_section, main_section
from riskweighted.reports.convergence import convergence_section
from riskweighted.reports.fit_check import fit_check_section
from riskweighted.reports.risk import map_section, risk_section
from riskweighted.reports.several import has_several, several_section
from riskweighted.reports.source import gather
from riskweighted.reports.utility import utility_section
from riskweighted.runs.finished import FinishedRun

__all__ = ["render_report"]


def render_report(
    run: FinishedRun,
    *,
    internal: bool = False,
    confidential: pd.DataFrame | str | Path | None = None,
    minimum_count: int = 10,
) -> str:
    """The report of a run as a self-contained HTML page.

    Parameters
    ----------
    run : FinishedRun
    internal : bool
        Everything, with row identifiers of the riskiest records and the convergence card. Without it the page holds
        aggregates only: `riskweighted.reports.disclosure` says how each number is coarsened, and so does the page.
    confidential : DataFrame, str or Path, optional
        The data that the run was made from; without it, embedded data or the file beside the run folder.
    minimum_count : int
        m: what the releasable page shows of records holds at least so many, 3 or more.

    Returns
    -------
    str
        The same run and version give the same text.

    Raises
    ------
    InputError
        If the confidential data is not that of the run, or `minimum_count` is not valid.
    """
    source = gather(run, internal, confidential, minimum_count)
    sections = [
        about_section(source),
        main_section(source),
        risk_section(source),
        utility_section(source),
        *([several_section(source)] if has_several(source) else []),
        map_section(source),
        *([fit_check_section(source)] if internal else []),
        convergence_section(source),
    ]
    style, script = _asset("report.css"), _asset("report.js")
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
        title=plain(f"Risk and utility of synthetic {', '.join(source.variables)}"),
        sections=sections,
        terms=source.glossary.terms,
        minimum_count=minimum_count,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _asset(name: str) -> str:
    return (files("riskweighted.reports") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What the content security policy allows by name."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
