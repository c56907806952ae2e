"""The nine kinds of columns, and what each may be."""

from dataclasses import dataclass, replace

__all__ = [
    "CONSTANT",
    "DESIGN",
    "FEW",
    "KINDS",
    "LEVELS",
    "NUMBER",
    "PLAYING",
    "RECORD_ID",
    "TEXT",
    "TIME",
    "UNIT_ID",
    "WEIGHT",
    "ColumnKind",
]

RECORD_ID, UNIT_ID, LEVELS, NUMBER, TIME = "record id", "unit id", "levels", "number", "time"
WEIGHT, DESIGN, TEXT, CONSTANT = "weight", "design", "text", "constant"
KINDS = (RECORD_ID, UNIT_ID, LEVELS, NUMBER, TIME, WEIGHT, DESIGN, TEXT, CONSTANT)
PLAYING = (LEVELS, NUMBER, TIME)  # the kinds that are synthesized, known or predict
FEW = 20  # levels of a time that is known, or predicts as levels


@dataclass(frozen=True)
class ColumnKind:
    """What a column is: one of the nine kinds, and why; no value of the data.

    ``question``: where the evidence is split, what to ask, with both answers, the first of which is
    in force. ``within``: the unit ids within whose values it does not vary. ``stated``: whether
    somebody says the kind. ``counts``: whether its levels are few whole numbers of which nothing
    tells that they are codes, such as numbers of children.
    """

    name: str
    kind: str
    reason: str
    question: str = ""
    within: tuple[str, ...] = ()
    stated: bool = False
    counts: bool = False

    def asking(self, question: str, other: str) -> "ColumnKind":
        """The same with a question whose other answer is the kind `other`."""
        return replace(
            self,
            question=f"{question} In force: {self.kind}. "
            f'For the other: "{self.name}" = "{other}" in [data.kinds]',
        )
