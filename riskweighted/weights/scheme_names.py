"""Schemes as text: ``marginal``, ``uniform(c=0.1)``, ``mix+(t=0.5)``, ``reweighted(of=pairwise)``.

Apart, so that a reader of tables waits for no kernel.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from riskweighted.common.errors import InputError
from riskweighted.common.replaced import refuse_replaced

__all__ = [
    "BY_RISK",
    "DEPENDS",
    "FILE",
    "GROUP",
    "OWN",
    "PUBLIC",
    "UNWEIGHTED",
    "SchemeName",
    "is_centred",
    "is_given",
    "package_schemes",
    "parse_scheme",
    "scheme_text",
    "split_schemes",
    "stem_of",
]

UNWEIGHTED = "unweighted"  # alpha = 1: the synthesizer that whack-a-mole is measured against

BY_RISK = "reweighted(by=risk)"  # further settings stand in the same brackets
_REWEIGHTED = "reweighted"
GROUP = "riskweighted.schemes"  # the entry points under which packages register schemes
PUBLIC, OWN, FILE = "public", "own", "file"
DEPENDS = (PUBLIC, OWN, FILE)  # of no value, of the record's own value, of others' values
_COLUMN = "column:"  # before the name of a column of the data that holds weights
_IN_NO_FILE = re.compile(r"[^\w.-]+")

_FORM = re.compile(r"([^\s()=,]+)(?:\((.*)\))?", re.DOTALL)
_TUPLES = re.compile(r"([1-9]\d{0,999})-way\+")
_CENTRED_TUPLES = 3  # the largest whose weights are centred
_VALID = "valid is a name, or a name with its settings as in 'uniform(c=0.1)'"


class SchemeName(NamedTuple):
    """A scheme's name, the numbers of its settings, and the scheme ``of`` whose fit it is made,
    where the text says so.
    """

    name: str
    settings: Mapping[str, float]
    of: str | None = None

    @property
    def text(self) -> str:
        """The same scheme always gives the same text."""
        return scheme_text(self.name, self.settings, self.of)

    @property
    def centred(self) -> bool:
        """Whether its weights are centred, which the plus behind its name says (METHODS section
        15).
        """
        return self.column is None and self.name.endswith("+")

    @property
    def column(self) -> str | None:
        """The column of the data that holds the weights, where they are one's own."""
        return self.name.removeprefix(_COLUMN) if self.name.startswith(_COLUMN) else None

    @property
    def plain(self) -> "SchemeName":
        """The scheme of the same weights, uncentred."""
        return self._replace(name=self.name[:-1]) if self.centred else self


def scheme_text(
    name: str, settings: Mapping[str, float] | None = None, of: str | None = None
) -> str:
    """A scheme as it stands in study files and labels: "uniform(c=0.1)"."""
    given = [
        *(["by=risk"] if name == BY_RISK else []),
        *([f"of={of}"] if of else []),
        *(f"{key}={value:.12g}" for key, value in sorted((settings or {}).items())),
    ]
    name = _REWEIGHTED if name == BY_RISK else name
    return f"{name}({', '.join(given)})" if given else name


def parse_scheme(text: str) -> SchemeName:
    """The scheme that a text names; whether there is such a scheme, with such settings, is for who
    makes its weights.

    One that earlier versions had is refused by what to write in its place, wherever it is read.
    """
    if text.startswith(_COLUMN) and text[len(_COLUMN) :].strip():
        return SchemeName(_COLUMN + text[len(_COLUMN) :].strip(), {})
    match = _FORM.fullmatch(text)
    if match is None:
        raise InputError(f"weighting scheme {text!r} cannot be read; {_VALID}")
    _refuse_gone(match[1])
    settings: dict[str, float] = {}
    name, of = match[1], None
    for piece in _pieces(match[2] or ""):
        key, _, value = (part.strip() for part in piece.partition("="))
        if (
            not key.isidentifier()
            or not value
            or key in settings
            or (key == "of" and of is not None)
        ):
            raise InputError(
                f"weighting scheme {text!r}: its setting {piece.strip()!r} cannot be read; {_VALID}"
            )
        if key == "by":
            if (name, value) != (_REWEIGHTED, "risk"):
                raise InputError(
                    f"weighting scheme {text!r}: 'by' is that of 'reweighted(by=risk)', once"
                )
            name = BY_RISK
            continue
        if key == "of":
            of = parse_scheme(value).text
            continue
        try:
            settings[key] = float(value)
        except ValueError:
            raise InputError(
                f"weighting scheme {text!r}: {key} must be a number, got {value!r}"
            ) from None
    return SchemeName(name, settings, of)


def _refuse_gone(name: str) -> None:
    refuse_replaced("scheme", name)
    tuples = _TUPLES.fullmatch(name)
    if tuples is not None and int(tuples[1]) > _CENTRED_TUPLES:
        raise InputError(
            f"scheme {name!r} is offered no more: write '{_CENTRED_TUPLES}-way+', or "
            f"{name[:-1]!r} without the plus"
        )


@lru_cache(maxsize=1)
def package_schemes() -> Mapping[str, EntryPoint]:
    """What packages register, by name, but those that have a name of ours."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    if found:
        from riskweighted.weights.families import FAMILIES  # loads a kernel

        for name in (UNWEIGHTED, "marginal", "pairwise", *FAMILIES):
            found.pop(name, None)
    return found


def is_given(named: SchemeName) -> bool:
    """Whether the weights are one's own: of a column, or of a scheme that a package adds."""
    return named.column is not None or named.plain.name in package_schemes()


def stem_of(scheme: str) -> str:
    """A scheme as the name of a file or folder, which no system refuses and no shell needs quoted:
    "mix-plus-t-0.5" of "mix+(t=0.5)".
    """
    return _IN_NO_FILE.sub("-", scheme.replace("+", "-plus")).strip("-") or "-"


def is_centred(scheme: str) -> bool:
    """Whether a scheme's weights are centred: ``marginal+``, ``mix+(t=0.5)``."""
    return parse_scheme(scheme).centred


def split_schemes(text: str) -> list[str]:
    """The schemes of a list such as "pairwise,lipschitz(c=1, g=0.2)", each as its text."""
    return [parse_scheme(piece.strip()).text for piece in _pieces(text) if piece.strip()]


def _pieces(inner: str) -> Iterator[str]:
    """What stands between the commas that no inner parentheses hold."""
    depth, start = 0, 0
    for position, letter in enumerate(inner):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            yield inner[start:position]
            start = position + 1
    if inner.strip():
        yield inner[start:]
