"""The house in numbers, read from the imports alone: rooms, floors, arrows, circles, arrows that
run upward.

``python -m tests.tools.imports [ROOT] [--json]`` from the root of the repository. A *room* is what
lies one level below ``riskweighted``, a folder or a module that lies flat, and the package of the
models. An *arrow* is a pair of rooms of which one imports the other. A *floor* is a step of the
longest way down the arrows; rooms on one circle share a floor. A *circle* is a set of rooms (or of
modules) that reach each other.

Sources are parsed, never run. Every ``import`` statement counts, also inside a function and under
``TYPE_CHECKING``, which is reported apart; names loaded by text (``__init__.pyi``, entry points)
are not seen. ``__init__`` and ``__main__`` of ``riskweighted`` are its door, not a room; since any
name can be had through the door, modules that use it from inside are listed.
"""

import argparse
import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

FRAMEWORK, MODELS = "riskweighted", "riskweighted_models"
PLACES = {FRAMEWORK: FRAMEWORK, MODELS: f"models/{MODELS}"}  # import package: its folder
DOOR = (FRAMEWORK, f"{FRAMEWORK}.__main__")
LONG_FUNCTION, LONG_MODULE = 40, 300  # lines

Graph = Mapping[str, Iterable[str]]


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name, room (None: the door), lines, lengths of its long
    functions, and what it imports.
    """

    name: str
    room: str | None
    lines: int
    long_functions: dict[str, int]
    imports: frozenset[str]
    for_types: frozenset[str]  # those of `imports` that stand under TYPE_CHECKING only


@dataclass(frozen=True)
class Room:
    """Totals of one room; `floor` counts from the bottom, from 1."""

    name: str
    floor: int
    modules: int
    lines: int
    long_functions: int
    long_modules: int


@dataclass(frozen=True)
class House:
    """Everything that is printed. Arrows are (from, to); circles are sorted names."""

    rooms: tuple[Room, ...]
    floors: int
    arrows: tuple[tuple[str, str], ...]
    arrows_for_types: tuple[tuple[str, str], ...]
    circles: tuple[tuple[str, ...], ...]
    module_circles: tuple[tuple[str, ...], ...]
    upward: tuple[tuple[str, str], ...]
    sideways: tuple[tuple[str, str], ...]
    without_layer: tuple[str, ...]
    flat: tuple[str, ...]
    through_door: tuple[str, ...]
    long_functions: dict[str, int]
    long_modules: dict[str, int]


def module_files(root: Path) -> dict[str, Path]:
    """Dotted name of every module: its file."""
    files = {}
    for package, folder in PLACES.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = (package, *path.relative_to(root / folder).with_suffix("").parts)
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


def room_of(name: str) -> str | None:
    """The room of a module; None for the door."""
    if name in DOOR:
        return None
    package, *rest = name.split(".")
    return package if package != FRAMEWORK else rest[0]


def read_module(name: str, path: Path, known: Iterable[str]) -> Module:
    """Parse one file; imports that name nothing among the `known` modules are left out."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source, filename=path.name)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for_types = {
        statement
        for block in ast.walk(tree)
        if _is_type_checking(block)
        for line in block.body
        for statement in ast.walk(line)
    }
    seen: dict[bool, set[str]] = {False: set(), True: set()}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found = (_nearest(target, known) for target in _targets(node, package))
            seen[node in for_types] |= {target for target in found if target and target != name}
    long = {f"{name}:{place}": lines for place, lines in _functions(tree) if lines > LONG_FUNCTION}
    return Module(
        name,
        room_of(name),
        len(source.splitlines()),
        long,
        frozenset(seen[False] | seen[True]),
        frozenset(seen[True] - seen[False]),
    )


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in (
        "TYPE_CHECKING",
        "typing.TYPE_CHECKING",
    )


def _targets(node: ast.Import | ast.ImportFrom, package: str) -> list[str]:
    """What a statement imports, as absolute dotted names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    start = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
    base = ".".join([*start, *([node.module] if node.module else [])])
    return [f"{base}.{alias.name}" for alias in node.names]


def _nearest(target: str, known: Iterable[str]) -> str | None:
    """The module that a dotted name is, or is defined in; None where it is not ours."""
    while target and target not in known:
        target = target.rpartition(".")[0]
    return target or None


def _functions(tree: ast.AST, above: str = "") -> Iterator[tuple[str, int]]:
    """Qualified name and lines of every function's body, without decorators, signature and
    docstring.
    """
    for node in ast.iter_child_nodes(tree):
        place = above
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            place = f"{above}.{node.name}".lstrip(".")
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            yield place, (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
        yield from _functions(node, place)


def circles(graph: Graph) -> list[tuple[str, ...]]:
    """Sets of more than one node that reach each other, sorted."""
    reach = {node: _reachable(graph, node) for node in graph}
    together = {
        tuple(sorted(other for other in reach[node] if node in reach[other])) for node in graph
    }
    return sorted(group for group in together if len(group) > 1)


def _reachable(graph: Graph, start: str) -> set[str]:
    """Nodes that one or more arrows lead to; `start` among them if it lies on a circle."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += graph[node]
    return found


def floors(graph: Graph) -> dict[str, int]:
    """The floor of every node: 1 where it leads nowhere, else one above the highest that it leads
    to. A circle shares one floor.
    """
    group = {node: circle for circle in circles(graph) for node in circle}
    found: dict[str, int] = {}

    def floor(node: str) -> int:
        if node not in found:
            together = group.get(node, (node,))
            below = {target for member in together for target in graph[member]} - set(together)
            height = 1 + max((floor(target) for target in below), default=0)
            found.update(dict.fromkeys(together, height))
        return found[node]

    return {node: floor(node) for node in graph}


def declared_layers(root: Path) -> list[list[str]]:
    """Rooms of each layer of import-linter's ``layers`` contracts in pyproject.toml, highest first;
    empty where there is none.
    """
    path = root / "pyproject.toml"
    settings = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    contracts = settings.get("tool", {}).get("importlinter", {}).get("contracts", [])
    layers = [
        layer
        for contract in contracts
        if contract["type"] == "layers"
        for layer in contract["layers"]
    ]
    return [
        [
            room
            for name in layer.replace(":", "|").split("|")
            if (room := room_of(name.strip(" ()")))
        ]
        for layer in layers
    ]


def survey(root: Path) -> House:
    """Measure the tree at `root`."""
    files = module_files(root)
    modules = {name: read_module(name, path, files.keys()) for name, path in files.items()}
    arrows = _arrows(modules, types=True)
    for_types = arrows - _arrows(modules, types=False)
    rooms = sorted({module.room for module in modules.values() if module.room})
    graph = {room: {target for start, target in arrows if start == room} for room in rooms}
    height = floors(graph)
    layer = {room: number for number, names in enumerate(declared_layers(root)) for room in names}
    placed = sorted(arrow for arrow in arrows if layer.keys() >= set(arrow))
    return House(
        rooms=tuple(
            _room(room, height[room], modules.values())
            for room in sorted(rooms, key=lambda room: (-height[room], room))
        ),
        floors=max(height.values(), default=0),
        arrows=tuple(sorted(arrows)),
        arrows_for_types=tuple(sorted(for_types)),
        circles=tuple(circles(graph)),
        module_circles=tuple(circles({name: module.imports for name, module in modules.items()})),
        upward=tuple((start, target) for start, target in placed if layer[target] < layer[start]),
        sideways=tuple(
            (start, target) for start, target in placed if layer[target] == layer[start]
        ),
        without_layer=tuple(room for room in rooms if room not in layer),
        flat=tuple(
            name
            for name, path in files.items()
            if path.parent == root / FRAMEWORK and name not in DOOR
        ),
        through_door=tuple(name for name, module in modules.items() if FRAMEWORK in module.imports),
        long_functions={
            place: lines
            for module in modules.values()
            for place, lines in module.long_functions.items()
        },
        long_modules={
            module.name: module.lines for module in modules.values() if module.lines > LONG_MODULE
        },
    )


def _arrows(modules: Mapping[str, Module], *, types: bool) -> set[tuple[str, str]]:
    """Distinct pairs of rooms of which the first imports the second, with or without what only type
    checkers see.
    """
    pairs = set()
    for module in modules.values():
        for target in module.imports - (frozenset() if types else module.for_types):
            pairs.add((module.room, modules[target].room))
    return {(start, target) for start, target in pairs if start and target and start != target}


def _room(name: str, floor: int, modules: Iterable[Module]) -> Room:
    own = [module for module in modules if module.room == name]
    functions = sum(len(module.long_functions) for module in own)
    return Room(
        name,
        floor,
        len(own),
        sum(module.lines for module in own),
        functions,
        sum(module.lines > LONG_MODULE for module in own),
    )


def budgets(architecture: str) -> dict[tuple[str, ...], int]:
    """Lines that rooms may have together, from the table "Budgets" of ARCHITECTURE.md."""
    _, _, table = architecture.partition("## Budgets")
    rows = re.findall(r"^\| (`[^|]*`) \| ([\d,]+) \|", table.partition("\n## ")[0], re.MULTILINE)
    return {
        tuple(re.findall(r"`(\w+)/?`", rooms)): int(lines.replace(",", "")) for rooms, lines in rows
    }


def as_text(house: House) -> str:
    """The house as lines of text."""
    lines = [
        f"rooms {len(house.rooms)}, floors {house.floors}, arrows {len(house.arrows)} "
        f"({len(house.arrows_for_types)} of them for type checkers only), "
        f"circles {len(house.circles)} between rooms and {len(house.module_circles)} between "
        f"modules, {len(house.upward)} arrows upward, {len(house.sideways)} between siblings",
        "",
        f"{'room':<22}{'floor':>6}{'modules':>9}{'lines':>8}"
        f"{'functions > ' + str(LONG_FUNCTION):>16}{'modules > ' + str(LONG_MODULE):>15}",
    ]
    for room in house.rooms:
        lines.append(
            f"{room.name:<22}{room.floor:>6}{room.modules:>9}{room.lines:>8}"
            f"{room.long_functions:>16}{room.long_modules:>15}"
        )
    lines.append("")
    lines += [f"circle of rooms: {', '.join(circle)}" for circle in house.circles]
    lines += [f"circle of modules: {', '.join(circle)}" for circle in house.module_circles]
    lines += [f"upward: {start} -> {target}" for start, target in house.upward]
    lines += [f"between siblings: {start} -> {target}" for start, target in house.sideways]
    lines += [f"in no layer: {room}" for room in house.without_layer]
    lines += [f"lies flat: {name}" for name in house.flat]
    lines += [f"imports through the door: {name}" for name in house.through_door]
    lines += [
        f"{size} lines: {name}"
        for name, size in {**house.long_functions, **house.long_modules}.items()
    ]
    return "\n".join(lines).rstrip()


def main(arguments: list[str] | None = None) -> None:
    """Print the house."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.imports", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "root", nargs="?", type=Path, default=Path(), help="root of a repository (default: here)"
    )
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    options = parser.parse_args(arguments)
    house = survey(options.root)
    if not house.rooms:
        sys.exit(
            f"{options.root} holds no folder {FRAMEWORK!r} with modules: give the root of the "
            "repository"
        )
    print(json.dumps(asdict(house), indent=2) if options.json else as_text(house))


if __name__ == "__main__":
    main()
