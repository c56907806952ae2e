"""How often the house asks whether there are several variables, how long it is, and where a name
stands.

``python -m tests.tools.house [ROOT] [--walk NAME ...] [--json]`` from the root of the repository. A
*branch* is a place outside ``riskweighted/sequence`` that asks whether a user declared one variable
or several: ``of_several`` and its like (`ASKED`), a call of ``is_chain``, an ``isinstance`` of a
class of chains or of its parts. What asks by counting (``len(run.variables) > 1``) is told apart: a
page may say "was" or "were". A *walk* is the files in which a name stands as a name, or as a word
of a text that is no docstring: what has to be opened by somebody who changes that setting, key or
parameter. Sources are parsed, never run, so older trees are measured as well.
"""

import argparse
import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.tools.imports import FRAMEWORK, MODELS, PLACES, module_files

DECLARES = f"{FRAMEWORK}.sequence"  # the one room that may ask
ASKED = {
    "of_several",
    "has_several",
    "is_several",
    "_of_several",
    "_has_several",
    "_is_several",
    "_check_several",
}
# besides classes with "Chain" in their name
PARTS = {"BlockFit", "PreparedSequence", "PreparedModel", "SequenceFit"}
COUNTED = {"variables", "blocks", "links", "synthetic", "synthesized", "targets"}


@dataclass(frozen=True)
class House:
    """Lines by package; branches and what asks by counting, as ``file:line what``; files of each
    walk by name.
    """

    lines: dict[str, int]
    branches: tuple[str, ...]
    counted: tuple[str, ...]
    walks: dict[str, tuple[str, ...]]


def survey(root: Path, names: tuple[str, ...] = ()) -> House:
    """Measure the tree at `root`, with a walk for each name."""
    lines, branches, counted = dict.fromkeys(PLACES, 0), [], []
    walks: dict[str, list[str]] = {name: [] for name in names}
    for module, path in module_files(root).items():
        source, place = path.read_text(encoding="utf-8"), path.relative_to(root).as_posix()
        lines[module.partition(".")[0]] += source.count("\n")
        tree = ast.parse(source, filename=path.name)
        if not f"{module}.".startswith(f"{DECLARES}."):
            branches += [f"{place}:{line} {what}" for line, what in sorted(_branches(tree))]
            counted += [f"{place}:{line} {what}" for line, what in sorted(_counted(tree))]
        words = set(_words(tree)) if names else set()
        for name in names:
            if name in words:
                walks[name].append(place)
    return House(
        lines,
        tuple(branches),
        tuple(counted),
        {name: tuple(files) for name, files in walks.items()},
    )


def _branches(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and words of everything that asks by a name."""
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.Name, ast.Attribute))
            and isinstance(node.ctx, ast.Load)
            and _last(node) in ASKED
        ):
            yield node.lineno, _last(node)
        elif isinstance(node, ast.Call) and _last(node.func) == "is_chain":
            yield node.lineno, "is_chain"
        elif (
            isinstance(node, ast.Call) and _last(node.func) == "isinstance" and len(node.args) == 2
        ):
            kinds = [
                _last(part)
                for part in ast.walk(node.args[1])
                if isinstance(part, (ast.Name, ast.Attribute))
            ]
            if any("Chain" in kind or kind in PARTS for kind in kinds):
                yield node.lineno, f"isinstance {' '.join(kinds)}"


def _counted(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and words of comparisons of how many variables there are with 1 or 2."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Call)
            and _last(node.left.func) == "len"
        ):
            of, beside = node.left.args[0], node.comparators[0]
            if _last(of) in COUNTED and isinstance(beside, ast.Constant) and beside.value in (1, 2):
                yield node.lineno, ast.unparse(node)


def _last(node: ast.AST) -> str:
    """The last part of a dotted name; "" of anything else."""
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id
        if isinstance(node, ast.Name)
        else ""
    )


def _words(tree: ast.AST) -> Iterator[str]:
    """Names of a module, and of its texts but docstrings the words, with hyphens and dots in them
    and without.
    """
    # docstrings among them
    told = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in told:
            yield from re.findall(r"[\w-]+", node.value)
            yield from re.findall(r"\w+", node.value)
        for value in (
            getattr(node, field, None) for field in ("id", "attr", "arg", "name", "module")
        ):
            if isinstance(value, str):
                yield from value.split(".")


def as_text(house: House) -> str:
    """The house as lines of text."""
    files = Counter(branch.partition(":")[0] for branch in house.branches)
    lines = [
        f"lines: {FRAMEWORK} {house.lines[FRAMEWORK]:,}, models {house.lines[MODELS]:,}",
        f"branches on several variables outside {DECLARES}: {len(house.branches)} in "
        f"{len(files)} files, "
        f"and {len(house.counted)} that count variables",
        *(f"  {branch}" for branch in (*house.branches, *house.counted)),
    ]
    for name, walk in house.walks.items():
        lines += [f"{name!r} stands in {len(walk)} files", *(f"  {place}" for place in walk)]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Print the house."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.house", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "root", nargs="?", type=Path, default=Path(), help="root of a repository (default: here)"
    )
    parser.add_argument(
        "--walk",
        action="append",
        default=[],
        metavar="NAME",
        help="files in which this name stands; again for another",
    )
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    options = parser.parse_args(arguments)
    if not module_files(options.root):
        sys.exit(
            f"{options.root} holds no folder {FRAMEWORK!r} with modules: give the root of the "
            "repository"
        )
    house = survey(options.root, tuple(options.walk))
    print(json.dumps(asdict(house), indent=2) if options.json else as_text(house))


if __name__ == "__main__":
    main()
