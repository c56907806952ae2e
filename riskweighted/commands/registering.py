"""What every command has besides its own: how much it says, its examples and the exit codes in its
help.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from riskweighted.commands import terminal
from riskweighted.common.errors import InputError

__all__ = ["EXAMPLES", "EXIT_CODES", "HELP_NAMES", "epilog", "register"]

EXAMPLES = {
    "init": (
        "riskweighted init households.csv",
        "riskweighted init households.csv --synthesize income --out study.toml",
    ),
    "check": ("riskweighted check study.toml", "riskweighted check study.toml --json"),
    "run": (
        "riskweighted run study.toml",
        "riskweighted run study.toml --out elsewhere --strict --quiet",
    ),
    "demo": ("riskweighted demo --out demo",),
    "advise": ("riskweighted advise results/study", "riskweighted advise results/study --apply"),
    "tune": (
        "riskweighted tune study.toml \\\n  --target isolated-risk --at-most 0.03 --out tuned",
    ),
    "sweep": ("riskweighted sweep sweep.toml --workers 2",),
    "weights": (
        "riskweighted weights households.csv --known region,age_band \\\n  --synthesized income "
        "--scheme pairwise --out weights.csv",
    ),
    "assess": (
        "riskweighted assess households.csv synthetic.csv \\\n  --known region,age_band "
        "--synthesized income",
        "riskweighted assess households.csv --synthetic ours=a.csv,b.csv \\\n"
        "  --synthetic theirs=c.csv --known region --synthesized income --out both",
    ),
    "folds": ("riskweighted folds households.csv --synthesized income \\\n  --K 5 --out folds",),
    "reidentify": ("riskweighted reidentify attack.toml",),
    "report": (
        "riskweighted report results/study",
        "riskweighted report results/study --internal --figures figures",
    ),
    "summary": (
        "riskweighted summary results/study",
        "riskweighted summary results/study --format latex --unit income=dollars",
    ),
    "release": (
        "riskweighted release results/study --scheme pairwise --format csv,dta \\\n  --out pack",
        "riskweighted release results/study --check pack",
    ),
    "accountant": ("riskweighted accountant results-2025 results-2026",),
    "synthesizers": ("riskweighted synthesizers",),
}


HELP_NAMES = {"help_option_names": ["-h", "--help"]}
EXIT_CODES = {
    0: "done",
    1: "a fault of ours, or a cell of a sweep failed",
    2: "wrong input; no result was written",
    3: "the result is there; a fit did not converge (--strict: or misfits)",
    130: "interrupted; a run or a sweep goes on where it stopped",
}
_PANEL = "How much it says"
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Only errors, warnings and where the results are.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="A line as each step begins, goes on and ends.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="One JSON object on stdout, and nothing else there; of an error its message and exit "
        "code.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
_SHARED = {"quiet": Quiet, "verbose": Verbose, "json": Json}


def register(app: typer.Typer, command: Callable[..., None], panel: str) -> None:
    """Add a command to the application, with the options and the help that all have."""
    name = command.__name__
    signature = inspect.signature(command)
    shared = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for option, kind in _SHARED.items()
    ]

    @wraps(command)
    def called(
        *, quiet: bool = False, verbose: bool = False, json: bool = False, **options: Any
    ) -> None:
        if quiet and verbose:
            raise InputError("--quiet and --verbose were both given: choose one")
        with terminal.in_manner(quiet=quiet, verbose=verbose, json=json):
            command(**options)

    called.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *shared])  # type: ignore[attr-defined]
    called.__annotations__ = {**command.__annotations__, **_SHARED}
    app.command(name, epilog=epilog(EXAMPLES[name]), rich_help_panel=panel)(called)


def epilog(examples: tuple[str, ...]) -> str:
    """What stands below the options: examples, then the exit codes."""
    lines = [
        "Example" if len(examples) == 1 else "Examples",
        *(f"  {line}" for example in examples for line in example.splitlines()),
    ]
    lines += ["", "Exit codes", *(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())]
    return "\n".join(lines)
