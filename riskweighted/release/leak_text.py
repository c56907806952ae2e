"""Confidential numbers in text: what a reader of a page, a script or a listing could copy out of
it.

Found are

- a sensitive value that is unmistakable: it occurs once in its column, has at least 6 significant
  digits, and at most one number in 1,000 of that many digits is a sensitive value;
- 5 or more different weights, per-record risks or posterior draws of at least 6 digits that no
  table of aggregates holds;
- 20 values of one of these columns, small counts too, in the order of the records, alone or as a
  column of a table;
- a setting that is marked as found in the data, with its number: ``[500, "found"]``;
- an embedded file (a ``data:`` address or base64) that is neither a picture nor a font.

Not found are single values that are rounded, coded, written with a decimal comma or within a word,
short numbers out of order, and what a picture shows.
"""

import base64
import binascii
import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["CONTAINERS", "TextSecrets", "make_text_secrets", "problems_in_text"]

_DIGITS = 6
_RAREST = 1e-3
_FEW = 5  # aggregates, such as a share or a maximum, can equal the risk of a record
_RUN = 20
_MOST_COLUMNS = 10  # of a table whose cells stand between two values of one column
_NUMBER = re.compile(r"(?<![\w.+/])[-+\u2212]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")
_FOUND = re.compile(r"\[[^\[\]]*\d[^\[\]]*,\s*[\"']found[\"']\s*\]")
_GROUPS = re.compile("(?<=\\d)[,'_\u00a0\u2009\u202f](?=\\d{3}(?!\\d))")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{60,}\s*)+={0,2}")
_ADDRESS = re.compile(r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w.=+-]+)*),([^\"'\s)<>]*)")
_PICTURES = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF8",
    b"wOFF",
    b"wOF2",
    b"\x00\x01\x00\x00",
    b"OTTO",
)
CONTAINERS = (
    b"\x89HDF\r\n\x1a\n",
    b"CDF\x01",
    b"CDF\x02",
    b"CDF\x05",
    b"\x80\x02",
    b"\x80\x03",
    b"\x80\x04",
    b"\x80\x05",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
    b"PAR1",
    b"ARROW1",
    b"\x93NUMPY",
    b"SQLite",
    b"$FL",
    b"<stata_dta>",
    b"HEADER RECORD",
)  # netCDF, pickle, archives and tables: what could hold records


@dataclass(frozen=True)
class TextSecrets:
    """What no text may hold.

    ``columns``: sensitive values, weights and risks by name, in the order of the records (n,);
    ``unmistakable``: sensitive values that one number gives away, sorted; ``listed``: weights,
    risks and posterior draws that no published table holds, sorted.
    """

    columns: Mapping[str, np.ndarray] = field(repr=False)
    unmistakable: np.ndarray = field(repr=False)
    listed: np.ndarray = field(repr=False)

    @cached_property
    def runs(self) -> "Mapping[str, _Runs]":
        """The columns, as runs of their values are looked for."""
        return {name: _runs_of(column) for name, column in self.columns.items()}


class _Runs(NamedTuple):
    """Every 20 successive values of a column: hashes of their codes, sorted; ``levels`` (k,): the
    different values, sorted.
    """

    levels: np.ndarray
    hashes: np.ndarray
    length: int


def make_text_secrets(
    sensitive: Mapping[str, np.ndarray],
    per_record: Mapping[str, np.ndarray],
    draws: np.ndarray,
    published: np.ndarray,
) -> TextSecrets:
    """What to look for: sensitive values and weights and risks by name, all posterior draws, and
    numbers that may be shown.
    """
    columns = {name: _rounded(column) for name, column in {**sensitive, **per_record}.items()}
    unmistakable = np.concatenate([_unmistakable(columns[name]) for name in sensitive])
    listed = np.unique(
        np.abs(np.concatenate([*(columns[name] for name in per_record), _rounded(draws.ravel())]))
    )
    listed = listed[~np.isin(listed, np.abs(_rounded(published)))]
    return TextSecrets(columns, np.unique(unmistakable), listed[_digits(listed) >= _DIGITS])


def _rounded(numbers: np.ndarray) -> np.ndarray:
    """To the 15 digits that a text and a table surely share."""
    different, places = np.unique(numbers, return_inverse=True)
    return np.array([float(f"{number:.14e}") for number in different.tolist()], dtype=float)[places]


def _digits(numbers: np.ndarray) -> np.ndarray:
    """How many significant digits each number of at most 15 has, (m,): `significant_digits` of many
    at once.
    """
    text = pc.replace_substring_regex(
        pc.cast(pa.array(numbers, pa.float64()), pa.string()), "e.*|[^0-9]", ""
    )
    return np.asarray(pc.utf8_length(pc.utf8_trim(text, "0")).to_numpy())


def _unmistakable(column: np.ndarray) -> np.ndarray:
    """Absolute values that occur once, have many digits, and are rare among the numbers of as many
    digits.
    """
    values, counts = np.unique(np.abs(column), return_counts=True)
    once = values[counts == 1]
    digits = _digits(once)
    rare = [
        length
        for length, count in Counter(digits.tolist()).items()
        if count <= _RAREST * 9 * 10 ** (length - 1)
    ]
    return np.asarray(once[(digits >= _DIGITS) & np.isin(digits, rare)])


def problems_in_text(text: str, secrets: TextSecrets) -> list[str]:
    """What a text must not hold, one line each; no value is quoted."""
    problems: dict[str, None] = {}
    for part in _readings(text, problems):
        if _FOUND.search(part):
            problems["a setting that was found in the data"] = None
        numbers = _rounded(
            np.array([float(token.replace("\u2212", "-")) for token in _NUMBER.findall(part)])
        )
        if len(numbers) == 0:
            continue
        values = np.unique(np.abs(numbers))
        hits = int(np.isin(values, secrets.unmistakable).sum())
        if hits:
            problems[f"{hits} confidential values of the sensitive variable"] = None
        listed = int(np.isin(values, secrets.listed).sum())
        if listed >= _FEW:
            problems[f"{listed} weights, risks of records or posterior draws"] = None
        for name, runs in secrets.runs.items():
            if _holds_run(numbers, runs):
                problems[f"values of {name} in the order of the records"] = None
    return list(problems)


def _readings(text: str, problems: dict[str, None], depth: int = 3) -> Iterator[str]:
    """The text as it stands, without grouping of digits, unescaped, and the texts that are embedded
    in it.
    """
    plain = html.unescape(text)
    yield from dict.fromkeys([text, plain, _GROUPS.sub("", plain)])
    for kind, coding, content in _ADDRESS.findall(plain):
        if "base64" in coding:
            if not _is_picture(_decoded(content)):
                problems["an embedded file that is neither a picture nor a font"] = None
        elif depth:
            yield from _readings(unquote(content), problems, depth - 1)
        if kind and not kind.startswith(("image/", "font/", "application/font", "text/")):
            problems["an embedded file that is neither a picture nor a font"] = None
    for block in _BASE64.findall(plain):
        content = _decoded(block)
        if content.startswith(CONTAINERS):
            problems["an embedded file that is neither a picture nor a font"] = None
        elif depth and content and _is_text(content):
            yield from _readings(content.decode(), problems, depth - 1)


def _decoded(block: str) -> bytes:
    letters = re.sub(r"\s|=", "", block).replace("-", "+").replace("_", "/")
    whole = letters[:-1] if len(letters) % 4 == 1 else letters  # one letter alone says nothing
    try:
        return base64.b64decode(whole + "=" * (-len(whole) % 4))
    except (binascii.Error, ValueError):
        return b""


def _is_text(content: bytes) -> bool:
    try:
        return content.decode().replace("\n", "").replace("\r", "").replace("\t", "").isprintable()
    except UnicodeDecodeError:
        return False


def _is_picture(content: bytes) -> bool:
    """Whether it begins as a picture or a font does; a PNG must also end there."""
    return content.startswith(_PICTURES) and (
        not content.startswith(_PICTURES[0]) or content.endswith(b"IEND\xaeB`\x82")
    )


def _runs_of(column: np.ndarray) -> _Runs:
    length, levels = min(_RUN, len(column)), np.unique(column)
    return _Runs(levels, np.sort(_hashes(_codes(column, levels), length, 1)), length)


def _holds_run(numbers: np.ndarray, runs: _Runs) -> bool:
    """Whether 20 successive values of a column (5 different ones at least) stand among the numbers
    in their order.
    """
    codes = _codes(numbers, runs.levels)
    return any(_at_stride(codes, runs, stride) for stride in range(1, _MOST_COLUMNS + 1))


def _at_stride(codes: np.ndarray, runs: _Runs, stride: int) -> bool:
    """The same of numbers that stand `stride` apart, by their codes."""
    hashes = _hashes(codes, runs.length, stride)
    if not len(hashes):
        return False
    places = np.searchsorted(runs.hashes, hashes).clip(max=len(runs.hashes) - 1)
    starts = np.flatnonzero(runs.hashes[places] == hashes)
    windows = np.sort(codes[starts[:, None] + stride * np.arange(runs.length)], axis=1)
    different = (np.diff(windows, axis=1) != 0).sum(axis=1) + 1
    return bool((different >= _FEW).any())


def _codes(numbers: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """1 + the place of each number among the levels; 0 where it is none of them."""
    places = np.searchsorted(levels, numbers).clip(max=len(levels) - 1)
    return np.where(levels[places] == numbers, places + 1, 0).astype(np.uint64)


def _hashes(codes: np.ndarray, length: int, stride: int) -> np.ndarray:
    """A hash of every `length` codes that stand `stride` apart, modulo 2^64."""
    count = len(codes) - (length - 1) * stride
    if count <= 0:
        return np.empty(0, dtype=np.uint64)
    mixed = (codes + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(31)
    total = np.zeros(count, dtype=np.uint64)
    for number in range(length):
        total = total * np.uint64(0x100000001B3) + mixed[number * stride : number * stride + count]
    return total
