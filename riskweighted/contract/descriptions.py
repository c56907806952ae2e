"""The registered synthesizers in a sentence or two each, read from their source: importing one of
them imports PyMC.
"""

import ast
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

__all__ = ["CHAINS", "GROUP", "describe_synthesizers"]

GROUP = "riskweighted.synthesizers"  # the entry points under which packages register synthesizers
CHAINS = "riskweighted.chains"  # ... and those of several variables


def describe_synthesizers(group: str = GROUP) -> dict[str, str]:
    """The first paragraph of the docstring of every synthesizer that is registered under a group,
    by name, in the order of the names.
    """
    points = sorted(entry_points(group=group), key=lambda point: point.name)
    return {point.name: _first_paragraph(_docstring(point)) for point in points}


def _docstring(point: EntryPoint) -> str | None:
    """From the source of the class; one that does not stand there (made by a call, compiled,
    imported) is loaded.
    """
    try:
        spec = find_spec(point.module)
        tree = ast.parse(Path(spec.origin).read_bytes())  # type: ignore[union-attr, arg-type]
    except (ImportError, AttributeError, TypeError, ValueError, OSError, SyntaxError):
        tree = ast.Module([], [])
    texts = [
        ast.get_docstring(node)
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == point.attr
    ]
    return (texts[-1] if texts else None) or point.load().__doc__


def _first_paragraph(text: str | None) -> str:
    """On one line."""
    return " ".join((text or "").strip().partition("\n\n")[0].split())
