"""What every command has besides its own: how much it says, its examples and the exit codes in its
help.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand

from riskweighted.commands import terminal
from riskweighted.common.errors import InputError

__all__ = ["EXAMPLES", "EXIT_CODES", "HELP_NAMES", "epilog", "register"]

EXAMPLES = {
    "init": (
        "riskweighted init households.csv",
        "riskweighted init households.csv --synthetic income --out study.toml",
    ),
    "check": ("riskweighted check study.toml", "riskweighted check study.toml --json"),
    "run": (
        "riskweighted run study.toml",
        "riskweighted run study.toml --out elsewhere --strict --quiet",
    ),
    "demo": ("riskweighted demo --out demo",),
    "advise": ("riskweighted advise results/study", "riskweighted advise results/study --apply"),
    "tune": (
        "riskweighted tune study.toml \\\n  --target isolated-risk --target-max 0.03 --out tuned",
    ),
    "sweep": ("riskweighted sweep sweep.toml --workers 2",),
    "weights": (
        "riskweighted weights households.csv --known region,age_band \\\n  --synthetic income "
        "--scheme pairwise --out weights.csv",
    ),
    "assess": (
        "riskweighted assess households.csv synthetic.csv \\\n  --known region,age_band "
        "--synthetic income",
        "riskweighted assess households.csv --tool ours=a.csv,b.csv \\\n"
        "  --tool theirs=c.csv --known region --synthetic income --out both",
    ),
    "folds": ("riskweighted folds households.csv --synthetic income \\\n  --K 5 --out folds",),
    "reidentify": ("riskweighted reidentify attack.toml",),
    "report": (
        "riskweighted report results/study",
        "riskweighted report results/study --internal --figures figures",
    ),
    "summary": (
        "riskweighted summary results/study",
        "riskweighted summary results/study --format latex --measured-in income=dollars",
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
    1: "internal error (please report), or one cell of a sweep failed",
    2: "wrong input; no result was written",
    3: "done, but a fit did not converge (--strict: or the model misfits)",
    130: "interrupted; the same command continues a run or a sweep",
}
_PANEL = "How much it says"
# what an option takes, by its name where its type does not say it
_VALUES = {
    "known": "A,B",
    "synthesized": "A,B",
    "columns": "A,B",
    "categorical": "A,B",
    "scheme": "SCHEME",
    "match": "own|joint|A,B;C",
    "boundary": "closed|open",
    "singletons": "protect|paper|error",
    "family": "FAMILY",
    "target": "TARGET",
    "loss": "MEASURE",
    "risk": "MEASURE",
    "utility": "MEASURE",
}
_OF_TYPE = {"int": "N", "float": "NUMBER", "Path": "PATH", "str": "TEXT"}
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
        help="Print one JSON object and nothing else; after an error its message and exit code.",
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
        with terminal.set_verbosity(quiet=quiet, verbose=verbose, json=json):
            command(**options)

    called.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *shared])  # type: ignore[attr-defined]
    called.__annotations__ = {**command.__annotations__, **_SHARED}
    app.command(name, cls=_Command, epilog=epilog(EXAMPLES[name]), rich_help_panel=panel)(called)


class _Command(TyperCommand):
    """A command whose help shows what each option takes, not its type in Python."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for param in self.params:
            if isinstance(param, TyperArgument):  # its name says what it is
                param.display_type_rich = lambda ctx: ""  # type: ignore[method-assign]
            elif param.metavar is None:
                param.metavar = _value(param)

    def get_help_option(self, ctx: Any) -> Any:
        """The option of the help, which takes nothing either."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.metavar = ""
        return option


def _value(option: Any) -> str | None:
    """What an option takes, in words: nothing of a switch, None where its choices are shown."""
    if option.is_flag:
        return ""
    if option.name in _VALUES:
        return _VALUES[option.name]
    shown = option.type_descriptor
    return None if shown.is_choice else _OF_TYPE.get(option.bare_type(), "TEXT")


def epilog(examples: tuple[str, ...]) -> str:
    """What stands below the options: examples, then the exit codes."""
    lines = [
        "Example" if len(examples) == 1 else "Examples",
        *(f"  {line}" for example in examples for line in example.splitlines()),
    ]
    lines += ["", "Exit codes", *(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())]
    return "\n".join(lines)
