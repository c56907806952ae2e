"""``riskweighted accountant``."""

from pathlib import Path
from typing import Annotated

import typer

from riskweighted.commands.terminal import print_info, print_json, print_table


def accountant(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of finished runs, all of them released."),
    ],
    delta: Annotated[float, typer.Option(help="At which epsilon(delta) is stated.")] = 1e-6,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            "--scheme",
            help="Only these schemes are released; repeatable. Default: all schemes of every run.",
        ),
    ] = None,
) -> None:
    """Add up what is proved of the datasets of several runs about the same persons, and apart what
    is only measured.
    """
    from riskweighted.risk.accountant import EMPIRICAL, PROVED, accountant as add_up
    from riskweighted.runs.guarantee_checks import releases_of
    from riskweighted.weights.scheme_names import parse_scheme

    schemes = None if scheme is None else [parse_scheme(text).text for text in scheme]
    table = add_up(releases_of(runs, schemes), delta)
    proved, measured = (
        table[table["kind"] == kind].drop(columns="kind").set_index("release")
        for kind in (PROVED, EMPIRICAL)
    )
    print_json(
        "accountant", delta=delta, proved=proved.reset_index(), measured=measured.reset_index()
    )
    if len(proved):
        print_table(proved, "What is proved")
        print_info("Of the same persons. Tables, figures and tuning are outside epsilon.")
    if len(measured):
        shown = measured[["datasets", "epsilon"]].rename(columns={"epsilon": "2 L Delta"})
        print_table(shown, "Measured, no guarantee: fits that are not censored")
        print_info(
            "Delta is the largest influence over some posterior draws at fixed weights (METHODS "
            "section 9.1): it bounds nothing."
        )
        print_info("Nothing is proved of these releases, nor of all of them together.")
