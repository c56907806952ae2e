"""Six small studies and the numbers they give, to be compared before and after a change that should
move none of them.

``python -m tests.tools.frozen --out FOLDER`` writes a JSON file of each study; ``--against FOLDER``
computes them again, says what differs and ends with code 1 if anything does. A number is known by
its table, its row and its column, and is of one of two kinds:

- *given data*: weights, risks of the confidential data, measures of datasets that no model drew. It
  agrees to 1e-12, relative.
- *of a posterior*: what rests on draws. It agrees likewise; with ``--loose``, where seeds or
  engines have changed, within six standard deviations of what other seeds give, of which the
  reference holds the spread (``--seeds 4 --out FOLDER``).

``--names`` allows numbers that only one side has, such as those of a measure that went: they are
counted, and only numbers that both sides have must agree. ``--renamed OLD=NEW`` reads a measure's
key of the reference under its new name.
"""

import argparse
import json
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import riskweighted as rw
from riskweighted.runs.run import run_study
from riskweighted.runs.study import Study, make_study

Numbers = dict[str, float]
CLOSE = 1e-12  # relative, of what is given data
LOOSE = 6.0  # standard deviations over seeds
GIVEN, DRAWN = "given data", "of a posterior"
# what names a row
_ROW = (
    "label",
    "key",
    "variable",
    "variables",
    "parameter",
    "term",
    "release",
    "group",
    "check",
    "quantity",
    "where",
)


def households(n: int = 300) -> pd.DataFrame:
    """Region, age, whether somebody smokes and how much, health with missing values, survey weight,
    income with a code, children.
    """
    rng = np.random.default_rng(20)
    frame = pd.DataFrame(
        {"region": rng.choice(["north", "south", "west"], n), "age": rng.integers(18, 80, n)}
    )
    frame["band"] = np.where(
        frame["age"] < 40, "young", np.where(frame["age"] < 60, "middle", "old")
    )
    frame["w"] = rng.integers(1, 4, n).astype(float)
    frame["smoke"] = rng.choice(["yes", "no"], n, p=[0.4, 0.6])
    frame["cigarettes"] = np.where(frame["smoke"] == "yes", rng.choice([5, 10, 20], n), -8)
    frame["health"] = pd.Series(rng.choice(["bad", "fair", "good"], n)).mask(rng.random(n) < 0.1)
    rich = rng.random(n) < 0.2
    logs = (
        9.5
        + 0.2 * (frame["region"] == "north")
        + 0.01 * frame["age"]
        + 0.8 * rich
        + rng.normal(0, 0.4, n)
    )
    frame["income"] = np.exp(logs).round(-1)
    frame["wage"] = frame["income"].where(rng.random(n) < 0.8, -8)
    frame["children"] = rng.negative_binomial(2, 0.5, n)
    return frame


_COMMON: dict[str, Any] = {
    "data": {"path": "households.csv"},
    "scenario": {"known": ["region", "band"], "synthetic": "income"},
    "weights": {"schemes": ["unweighted", "pairwise"]},
    "sampling": {"draws": 60, "tune": 100, "chains": 2},
    "release": {"L": 2, "columns": ["smoke"]},
    "evaluation": {
        "resamples": 20,
        "risk_draws": 20,
        "regression": "income ~ region + age",
        "coefficient": "age",
        "regressions": [],
    },
    "seed": 5,
    "reproducible": True,
}
STUDIES: dict[str, dict[str, Any]] = {
    "mixture": {
        "synthesizer": {
            "name": "normal-mixture",
            "formula": "income ~ region + age",
            "components": 2,
        }
    },
    "counts": {
        "scenario": {
            "known": ["region", "band"],
            "synthetic": "children",
            "radius": 1.0,
            "radius_kind": "absolute",
        },
        "synthesizer": {
            "name": "negative-binomial",
            "formula": "children ~ region",
            "components": 2,
        },
        "evaluation": {
            "resamples": 20,
            "risk_draws": 20,
            "regressions": ["children ~ region + age"],
        },
    },
    "chain": {
        "scenario": {
            "known": ["region", "band"],
            "synthetic": ["smoke", "cigarettes", "health", "wage"],
            "codes": {"wage": [-8]},
        },
        "synthesizer": {
            "name": "sequential",
            "predictors": ["region", "age"],
            "variables": {
                "cigarettes": {"applies_if": "smoke == 'yes'", "else_value": -8},
                "wage": {"codes": [-8]},
            },
            "forbidden": ["health == 'bad' and wage > 200000"],
        },
        "release": {"L": 2},
        "evaluation": {
            "resamples": 20,
            "risk_draws": 20,
            "survey": "w",
            "regressions": ["wage ~ region + age"],
        },
    },
    "centred": {
        "synthesizer": {
            "name": "linear-regression",
            "formula": "income ~ region + age",
            "transform": "log",
            "support": [1, 1e7],
        },
        "weights": {"schemes": ["unweighted", "pairwise+"]},
    },
    "guarantee": {
        "scenario": {
            "known": ["region", "band"],
            "synthetic": "children",
            "radius": 1.0,
            "radius_kind": "absolute",
        },
        "synthesizer": {"name": "negative-binomial", "formula": "children ~ region"},
        "weights": {"schemes": ["unweighted", "uniform(c=0.5)"]},
        "evaluation": {"resamples": 20, "risk_draws": 20},
        "guarantee": {
            "epsilon": 40,
            "neighbours": "add-drop",
            "public": ["region"],
            "reference": {"distribution": "nbinom", "parameters": {"n": 1, "p": 0.3}},
        },
    },
}
ASSESSED = "assess"


def computed(name: str, seeds: int = 1) -> dict[str, Numbers]:
    """The numbers of a study by kind; of several seeds the first one's, and the spread of those of
    a posterior beside them.
    """
    if name == ASSESSED:
        return {GIVEN: dict(_of_assessment()), DRAWN: {}, "spread": {}}
    repeats = [_of_study(STUDIES[name], seed) for seed in range(seeds)]
    given, drawn = repeats[0]
    spread = {}
    if seeds > 1:
        every = pd.DataFrame([numbers for _, numbers in repeats])[list(drawn)]
        spread = {
            key: float(value) for key, value in every.std(ddof=1).items() if np.isfinite(value)
        }
    return {GIVEN: given, DRAWN: drawn, "spread": spread}


def _of_study(settings: Mapping[str, Any], repeat: int) -> tuple[Numbers, Numbers]:
    """What is given data and what is of a posterior, of one run."""
    data = households()
    study = make_study({**_COMMON, **settings, "seed": _COMMON["seed"] + repeat})
    with tempfile.TemporaryDirectory() as folder:
        run_study(study, Path(folder) / "run", confidential=data)
        tables = {
            file.stem: pd.read_csv(file)
            for file in sorted((Path(folder) / "run" / "tables").glob("*.csv"))
        }
        manifest = json.loads((Path(folder) / "run" / "manifest.json").read_text())
        weights = pd.read_csv(Path(folder) / "run" / "confidential" / "weights.csv").select_dtypes(
            "number"
        )
    given, drawn = dict(_of_datasets(study, data)), {}
    given |= {
        f"weights/{column}/{what}": float(value)
        for column in weights
        if column != "row"
        for what, value in _summed(weights[column])
    }
    given |= {f"guarantee/{key}": value for key, value in _leaves(manifest.get("guarantee", {}))}
    for table in set(tables) - {"summary"}:  # which says again what risk and utility say
        for key, value in _of_table(table, tables[table]):
            of_data = (
                table in ("risk", "utility")
                and "|label=confidential|" in key
                and not _by_chance(key)
            )
            (given if of_data else drawn)[key] = value
    return given, drawn


def _by_chance(key: str) -> bool:
    """Whether a number of the confidential data is of resamples, which another seed draws anew."""
    return key.endswith(("/lower", "/upper"))


def _summed(values: pd.Series) -> Iterator[tuple[str, float]]:
    """A few summaries of one number a record, and the sum weighted by the record's place, which
    tells an exchange of two.
    """
    array = values.to_numpy(dtype=float)
    yield from (
        ("mean", array.mean()),
        ("least", array.min()),
        ("largest", array.max()),
        ("sd", array.std()),
    )
    yield "by place", float(array @ np.arange(1, len(array) + 1))


def _of_datasets(study: Study, data: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Measures of datasets that no model drew: values given to other records, numbers with
    noise.
    """
    scenario = study.evaluating_scenario()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {
            "moved": [_moved(data, scenario, seed) for seed in (1, 2, 3)],
            "noisy": [_noisy(data, scenario, seed) for seed in (1, 2)],
        }
        evaluated = rw.evaluate(
            data,
            made,
            scenario,
            settings=study.evaluation.measures,
            baseline="moved",
            random_seed=3,
        )
    for name, table in (("risk", evaluated.risk), ("utility", evaluated.utility)):
        yield from ((f"fixed {key}", value) for key, value in _of_table(name, table))
    for label in evaluated.records:
        yield from (
            (f"fixed records/{label}/{what}", float(value))
            for what, value in _summed(evaluated.records[label])
        )


def _moved(data: pd.DataFrame, scenario: rw.Scenario, seed: int) -> pd.DataFrame:
    order = np.random.default_rng(seed).permutation(len(data))
    return data.assign(**{name: data[name].array[order] for name in scenario.synthetic})


def _noisy(data: pd.DataFrame, scenario: rw.Scenario, seed: int) -> pd.DataFrame:
    """Amounts with 10 % noise, codes as they are, and a tenth of the other values moved."""
    rng = np.random.default_rng(seed)
    moved, some = _moved(data, scenario, seed + 50), rng.random(len(data)) < 0.1
    frame = data.copy()
    for name in scenario.synthetic:
        if scenario.is_numeric(data[name]):
            amounts = scenario.statuses(data[name]).is_amount
            frame[name] = (
                data[name] * np.where(amounts, 1 + 0.1 * rng.normal(size=len(data)), 1)
            ).round(1)
        else:
            frame[name] = data[name].where(~some, moved[name])
    return frame


def _of_assessment() -> Iterator[tuple[str, float]]:
    """An assessment of three tools beside the yardsticks: noise, values moved, and another number
    of rows, which pair with none.
    """
    data = households()
    scenario = rw.Scenario(
        known=["region", "band"], synthetic=["wage", "health"], codes={"wage": [-8]}
    )
    tools = {
        "noise": [_noisy(data, scenario, seed) for seed in (1, 2)],
        "moved": [_moved(data, scenario, seed) for seed in (1, 2, 3)],
        "other rows": [_moved(data, scenario, 9).iloc[:200].reset_index(drop=True)],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assessed = rw.assess(
            data,
            tools,
            scenario,
            holdout=households(400).iloc[300:].reset_index(drop=True),
            columns=["smoke"],
            regressions=["wage ~ region + age"],
            random_seed=1,
        )
    for name, table in (("risk", assessed.measures), ("utility", assessed.utility)):
        yield from _of_table(name, table)
    for at, row in enumerate(assessed.contributions.to_dict("records")):
        yield from (
            (f"contributions/{at}/{column}", value)
            for column, value in row.items()
            if isinstance(value, float)
        )
    for column in assessed.riskiest.select_dtypes("number"):
        yield from (
            (f"riskiest/{column}/{what}", float(value))
            for what, value in _summed(assessed.riskiest[column])
        )


def _of_table(name: str, table: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Every number of a table by the table, what names its row, and its column; rows that are named
    alike in their order.
    """
    names = [column for column in _ROW if column in table]
    numbers = [column for column in table.select_dtypes("number") if column not in names]
    seen: dict[str, int] = {}
    for row in table.to_dict("records"):
        named = "|".join(
            f"{column}={row[column]}"
            for column in names
            if isinstance(row[column], str) or row[column] == row[column]
        )
        seen[named] = seen.get(named, -1) + 1
        again = f"#{seen[named]}" if seen[named] else ""
        yield from ((f"{name}|{named}|{again}/{column}", float(row[column])) for column in numbers)


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of nested mappings and lists, by where they stand."""
    if isinstance(tree, list):
        tree = dict(enumerate(tree))
    for key, value in tree.items() if isinstance(tree, Mapping) else ():
        yield from _leaves(value, f"{path}/{key}")
    if isinstance(tree, int | float) and not isinstance(tree, bool):
        yield path, float(tree)


def differences(
    now: Mapping[str, Numbers],
    reference: Mapping[str, Numbers],
    *,
    loose: bool = False,
    names: bool = False,
    renamed: Mapping[str, str] = {},
) -> list[str]:
    """What differs, a line each: numbers that do not agree, then those that one side lacks, unless
    `names` may differ.
    """
    found: list[str] = []
    for kind in (GIVEN, DRAWN):
        then = {_renamed(key, renamed): value for key, value in reference[kind].items()}
        spread = {_renamed(key, renamed): value for key, value in reference["spread"].items()}
        for key in (key for key in then if key in now[kind]):
            apart = loose and kind == DRAWN
            if not _agree(
                now[kind][key], then[key], LOOSE * spread.get(key, math.inf) if apart else 0.0
            ):
                found.append(f"{kind}: {key}: {then[key]!r} was, {now[kind][key]!r} is")
        if not names:
            found += [f"{kind}: {key} is gone" for key in then if key not in now[kind]]
            found += [f"{kind}: {key} is new" for key in now[kind] if key not in then]
    return found


def _renamed(key: str, renamed: Mapping[str, str]) -> str:
    for old, new in renamed.items():
        key = key.replace(f"|key={old}|", f"|key={new}|")
    return key


def _agree(one: float, other: float, reach: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other or abs(one - other) <= max(CLOSE * max(abs(one), abs(other)), reach)


def main(
    arguments: list[str] | None = None, compute: Callable[[str, int], dict[str, Numbers]] = computed
) -> int:
    """Write the numbers, or compare them; 1 if anything differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.frozen", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--out", type=Path, help="folder to write")
    parser.add_argument("--against", type=Path, help="folder to compare with")
    parser.add_argument(
        "--seeds", type=int, default=1, help="with --out: seeds whose spread is kept"
    )
    parser.add_argument(
        "--loose", action="store_true", help="what is of a posterior may differ as other seeds do"
    )
    parser.add_argument(
        "--names", action="store_true", help="numbers may come and go; those that stay must agree"
    )
    parser.add_argument(
        "--renamed",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="a measure's key and its new one; repeatable",
    )
    parser.add_argument(
        "--only", action="append", choices=[*STUDIES, ASSESSED], help="this study; repeatable"
    )
    options = parser.parse_args(arguments)
    if (options.out is None) == (options.against is None):
        parser.error("give either --out or --against")
    found = 0
    for name in options.only or [*STUDIES, ASSESSED]:
        numbers = compute(name, options.seeds)
        print(
            f"{name}: {len(numbers[GIVEN])} numbers given data, {len(numbers[DRAWN])} of a "
            "posterior",
            flush=True,
        )
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / f"{name}.json").write_text(
                json.dumps(numbers, indent=0), encoding="utf-8"
            )
            continue
        reference = json.loads((options.against / f"{name}.json").read_text(encoding="utf-8"))
        renamed = dict(text.split("=", 1) for text in options.renamed)
        lines = differences(
            numbers, reference, loose=options.loose, names=options.names, renamed=renamed
        )
        found += len(lines)
        print("".join(f"  {line}\n" for line in lines), end="", flush=True)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
