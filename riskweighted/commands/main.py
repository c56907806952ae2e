"""The command line. Every error is one line on stderr with exit code 2, under --json one object on
stdout as well.
"""

import atexit
import errno
import gc
import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from riskweighted import __version__
from riskweighted.commands.accountant import accountant
from riskweighted.commands.advise import advise
from riskweighted.commands.assess import assess
from riskweighted.commands.check import check
from riskweighted.commands.folds import folds
from riskweighted.commands.init import init
from riskweighted.commands.registering import EXAMPLES, HELP_NAMES, register
from riskweighted.commands.reidentify import reidentify
from riskweighted.commands.release import release
from riskweighted.commands.report import report
from riskweighted.commands.run import demo, run
from riskweighted.commands.summary import summary
from riskweighted.commands.sweep import sweep
from riskweighted.commands.synthesizers import synthesizers
from riskweighted.commands.terminal import output, print_json, print_stderr, set_verbosity
from riskweighted.commands.tune import tune
from riskweighted.commands.weights import weights
from riskweighted.common.errors import InputError, RiskWeightedWarning
from riskweighted.common.extras import missing_extra
from riskweighted.common.interrupts import interrupts_kept

_FIRST = """First steps
  riskweighted init households.csv            a study file to edit
  riskweighted check study.toml               what a run would do and take
  riskweighted run study.toml                 fit, synthesize, evaluate
  riskweighted report results/study           a page for the review board

COMMAND -h shows examples and exit codes."""
PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Start here": (init, check, run, demo, advise),
    "Weights": (tune, sweep, weights, accountant),
    "Risk and utility": (assess, folds, reidentify, summary, report),
    "Release": (release,),
    "What is installed": (synthesizers,),
}

_KEPT = (
    "fits and cells that a run or a sweep had finished are kept beside the output folder "
    "(.partial, confidential)"
)

# Code comes from where Python is installed, never from the folder of data in which somebody stands:
# processes that we start do not import from there, and a .numba_config.yaml there does not say
# where compiled functions are.
_OWN_CODE = {"PYTHONSAFEPATH": "1", "NUMBA_CACHE_DIR": ""}


@contextmanager
def _own_code() -> Iterator[None]:
    """`_OWN_CODE` in the environment while a command runs; whoever calls `main` within a program of
    theirs has their own back.
    """
    absent = {name: value for name, value in _OWN_CODE.items() if name not in os.environ}
    os.environ.update(absent)
    try:
        yield
    finally:
        for name in absent:
            os.environ.pop(name, None)


app = typer.Typer(
    no_args_is_help=True,
    context_settings=HELP_NAMES,
    pretty_exceptions_enable=False,
    help="Risk-weighted Bayesian synthesis of microdata: weights, synthetic datasets, disclosure "
    "risk and utility.",
    epilog=_FIRST,
)
for panel, commands in PANELS.items():
    for command in commands:
        register(app, command, panel)


@app.callback(invoke_without_command=True)
def _version(
    show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if show:
        output.print(__version__)
        raise typer.Exit


def _show_warning(seen: set[str]) -> Callable[..., None]:
    def show(
        message: Warning | str, category: type[Warning], *args: object, **kwargs: object
    ) -> None:
        if issubclass(category, RiskWeightedWarning) and str(message) not in seen:
            seen.add(str(message))
            print_stderr(f"warning: {message}")

    return show


def main() -> None:
    """Entry point: turns errors into one line and an exit code (2 wrong input, 1 a fault of ours,
    130 interrupted).
    """
    warnings.showwarning = _show_warning(set())
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a name of other letters than the stream has, as a pipe on Windows
        sys.stdout.reconfigure(errors="backslashreplace")
    # a process that ends need not look through all that it loaded, which took half a second
    atexit.register(gc.freeze)
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if arguments == ["--version"]:  # typer would load pydantic to read it
        output.print(__version__)
        return
    try:
        with _own_code(), interrupts_kept():
            code = app(arguments, standalone_mode=False) or 0
        if code == 130:  # typer's own answer to Ctrl-C
            raise KeyboardInterrupt
        sys.exit(code)
    except (KeyboardInterrupt, typer.Abort):
        kept = "nothing was kept, and the same command starts again"
        if _keeps(arguments):
            kept = f"{_KEPT}, and the same command goes on from there"
        told, code = f"interrupted; {kept}", 130
    except Exception as error:
        told, code = _told(error, arguments)
        if debug and code == 1:
            raise
    if told:  # empty where the help was shown instead
        print_stderr(told if code == 130 else f"error: {told}")
    if told and "--json" in arguments:
        with set_verbosity(json=True):
            print_json(
                next((name for name in arguments if name in EXAMPLES), "riskweighted"),
                error=told,
                exit_code=code,
            )
    sys.exit(code)


def _keeps(arguments: list[str]) -> bool:
    """Whether the command keeps what it has finished until it comes to its end."""
    return next((argument for argument in arguments if argument in EXAMPLES), "") in (
        "run",
        "demo",
        "sweep",
    )


def _told(error: Exception, arguments: list[str]) -> tuple[str, int]:
    """What is said of an error, on one line, and the exit code."""
    if isinstance(error, (InputError, TyperException)):
        return " ".join(
            (error.format_message() if isinstance(error, TyperException) else str(error)).split()
        ), 2
    if isinstance(error, OSError):
        name = f" {str(error.filename)!r}" if error.filename else ""
        kept = (
            f"; {_KEPT}: make room, and the same command goes on from there"
            if _keeps(arguments)
            else "; nothing was kept: make room"
        )
        full = kept if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        return f"cannot read or write{name}: {error.strerror or type(error).__name__}{full}", 2
    absent = (
        missing_extra(error, "this command") if isinstance(error, ModuleNotFoundError) else None
    )
    if absent:
        return str(absent), 2
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return (
        f"{type(error).__name__} in {where}; its text is withheld since it may quote data "
        "(--debug shows it)",
        1,
    )
