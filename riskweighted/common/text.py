"""Labels as text: on one line, and escaped for a shell, Markdown, LaTeX and spreadsheets."""

import re
import shlex
import unicodedata
from collections.abc import Iterator, Sequence

__all__ = [
    "as_argument",
    "escape_latex",
    "escape_markdown",
    "for_spreadsheet",
    "pieces",
    "plain",
    "reads_as_number",
    "significant_digits",
]

# the last four: full-width = + - @
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def plain(text: str) -> str:
    """Text on one line, without the control characters that steer a terminal or turn the direction
    of what follows.
    """
    turns = {
        chr(code)
        for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    }
    kept = (
        " " if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter
        for letter in text
        if letter not in turns
    )
    return re.sub(" +", " ", "".join(kept)).strip()


def as_argument(text: str) -> str:
    """Text as one argument of a command that is to be typed: in double quotes, which the shells of
    all systems take, where it needs any.
    """
    quoted = shlex.quote(text)
    return f'"{text}"' if quoted != text and not set(text) & set('"$`!') else quoted


def for_spreadsheet(text: str) -> str:
    """Text that a spreadsheet opens as text in one cell: on one line, an apostrophe before what
    would be a formula and is no number.
    """
    line = re.sub("[\t\r\n]+", " ", text)
    return f"'{line}" if line.lstrip().startswith(_FORMULA) and not reads_as_number(line) else line


def reads_as_number(text: str) -> bool:
    """Whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no HTML, no cell boundary, no formula."""
    return re.sub(r"([\\`*_{}\[\]<>|&~^$#!@])", r"\\\1", plain(text))


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_\allowbreak{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
}


_LONGEST_WORD = 20


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is; words longer than 20 letters may break."""
    pieces = []
    for word in re.split("( )", plain(text)):
        parts = [
            word[start : start + _LONGEST_WORD] for start in range(0, len(word), _LONGEST_WORD)
        ]
        pieces.append(
            r"\allowbreak{}".join(
                "".join(_LATEX.get(letter, letter) for letter in part) for part in parts
            )
        )
    return re.sub("-(?=-)", "-{}", "".join(pieces))  # two hyphens, not a dash


def significant_digits(value: float) -> int:
    """Digits of a number to 15 digits, without zeros at its ends."""
    digits = re.sub(r"[eE].*|\D", "", f"{value:.14e}")
    return len(digits.strip("0"))


def pieces(widths: Sequence[int], available: int) -> Iterator[list[int]]:
    """Places of columns of these widths that stand side by side in the width there is, at least one
    at a time.
    """
    piece: list[int] = []
    for column, width in enumerate(widths):
        if piece and sum(widths[number] for number in piece) + width > available:
            yield piece
            piece = []
        piece.append(column)
    if piece:
        yield piece
