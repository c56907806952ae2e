"""Our schemes and models against what others do: `python -m benchmarks.peers --out FOLDER [--quick]
[--resume]`.

The same data, scenario and measures for all: risk and utility of L = 20 synthetic datasets by each
installed model of ours under each weighting scheme, and by top-coding, log-normal noise,
normal-scores regression (what synthpop calls normrank), CART with leaf donors (synthpop's default;
needs `pip install 'riskweighted[peers]'`) and a Gaussian copula; and by SDV's synthesizers of the
whole table where SDV is installed, whose rows pair with none. FOLDER gets the tidy table
(peers.csv), the tables in print (peers.md), the risk-utility map of those whose rows pair
(peers.png) and that of any data (any.svg, any.png). An interrupted comparison goes on with
--resume.
"""

import argparse
import dataclasses
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.peers_cases import Case, cases
from benchmarks.peers_map import plot_any, plot_peers
from benchmarks.peers_measures import COLUMNS, measured, printed
from benchmarks.peers_methods import PEERS, PLUG_IN
from benchmarks.peers_sdv import SDV, sdv_frames
from riskweighted import (
    InputError,
    compile_model,
    load_synthesizer,
    marginal_weights,
    pairwise_weights,
    synthesizer_names,
)
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.frames import with_columns
from riskweighted.common.seeds import seed_for
from riskweighted.design.precision import find_precision, round_to
from riskweighted.sampling.sampling_settings import Sampling

SEED = 12
DATASETS = 20
_SCHEMES: dict[str, Callable[..., pd.Series] | None] = {
    "unweighted": None,
    "marginal": marginal_weights,
    "pairwise": pairwise_weights,
}
_NOTE = """# Ours and what others do

`python -m benchmarks.peers --out FOLDER`: {datasets} synthetic datasets each, the same scenario and
measures for all. Parameters: "drawn" from the posterior, "plug-in" where a method uses estimates as
they are (its intervals and distances flatter it), "none" where it estimates nothing. Group means
off: mean distance of the means by known pattern (50 records or more) in standard deviations.
Copied: records whose synthetic value equals their own exactly. Correlation: Pearson, as recorded,
with {numeric}. Models of ours in these tables: {models}.

"""


def main() -> None:
    """Run the comparison and write it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--quick", action="store_true", help="1,500 records of each data set, L = 5, short chains"
    )
    parser.add_argument("--data", default="", help="only data sets whose name holds this text")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep the rows of FOLDER/peers.csv, and make those it lacks",
    )
    parser.add_argument(
        "--models", default=None, help="only these models, separated by commas; none: --models ''"
    )
    arguments = parser.parse_args()
    if find_spec("sklearn") is None:
        parser.error("CART needs scikit-learn: pip install 'riskweighted[peers]'")
    chosen = [case for case in cases(quick=arguments.quick) if arguments.data in case.name]
    if not chosen:
        parser.error(f"no data set is called {arguments.data!r}")
    wanted = None if arguments.models is None else arguments.models.split(",")
    table = arguments.out / "peers.csv"
    arguments.out.mkdir(parents=True, exist_ok=True)
    if not arguments.resume:
        table.unlink(missing_ok=True)
    compare(chosen, table, quick=arguments.quick, wanted=wanted)
    write(read(table, chosen), chosen, arguments.out, 5 if arguments.quick else DATASETS)


def read(table: Path, chosen: list[Case]) -> pd.DataFrame:
    """The tidy table, ours before the others."""
    if not table.exists():
        return pd.DataFrame(columns=list(COLUMNS))
    found = pd.read_csv(
        table,
        keep_default_na=False,
        na_values={"confidential": "", "value": ""},
        dtype={"parameter": str},
    )
    found = found.drop_duplicates([*COLUMNS[:6]], keep="last")
    order = [
        list(dict.fromkeys(found["data"])),
        list(dict.fromkeys([*chosen[0].models, *PEERS, *SDV, *found["method"]])),
    ]
    places = [
        found[column].map(names.index)
        for column, names in zip(("data", "method"), order, strict=True)
    ]
    return found.iloc[np.lexsort(places[::-1])].reset_index(drop=True)


def compare(
    chosen: list[Case], table: Path, *, quick: bool, wanted: list[str] | None = None
) -> None:
    """Add to the tidy table, in the columns of `benchmarks.peers_measures.COLUMNS`, whatever it
    lacks, method by method.
    """
    for case in chosen:
        there = read(table, chosen)
        ended = (there["data"] == case.name) & ~(
            (there["parameters"] == PLUG_IN) & (there["weights"] != "")
        )
        done = set(there.loc[ended, ["method", "weights"]].itertuples(index=False, name=None))
        for (method, weights, parameters), frames in _every(case, done, quick=quick, wanted=wanted):
            started = time.perf_counter()
            rows = [
                (case.name, method, weights, parameters, *row)
                for row in measured(case, frames, pairs=method not in SDV)
            ]
            pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(
                table, mode="a", header=not table.exists(), index=False, float_format="%.6g"
            )
            _say(
                f"{case.name}: {method} {weights} measured in {time.perf_counter() - started:.1f} s"
            )


def _every(
    case: Case, done: set[tuple[str, str]], *, quick: bool, wanted: list[str] | None
) -> Iterator[tuple[tuple[str, str, str], list[pd.DataFrame]]]:
    """Label and datasets of every method that is not done."""
    count = 5 if quick else DATASETS
    for name, settings in case.models.items():
        if wanted is None or name in wanted:
            yield from _ours(case, name, dict(settings), count, done, quick=quick)
    for name, (_, parameters) in (PEERS | SDV).items():
        if (name, "") in done:
            continue
        started = time.perf_counter()
        frames = (
            sdv_frames(case, name, count, SEED) if name in SDV else peer_frames(case, name, count)
        )
        _say(f"{case.name}: {name} made in {time.perf_counter() - started:.1f} s")
        yield (name, "", parameters), frames


def peer_frames(case: Case, name: str, count: int) -> list[pd.DataFrame]:
    """Datasets of a peer, rounded as ours are."""
    method, _ = PEERS[name]
    precision = find_precision(case.frame[case.target])
    made = []
    for number in range(count):
        rng = np.random.default_rng(seed_for(SEED, f"{case.name}/{name}", str(number)))
        made.append(
            with_columns(
                case.frame,
                {case.target: round_to(method(case.formula, case.frame, rng), precision)},
            )
        )
    return made


def _ours(
    case: Case,
    name: str,
    settings: dict[str, object],
    count: int,
    done: set[tuple[str, str]],
    *,
    quick: bool,
) -> Iterator[tuple[tuple[str, str, str], list[pd.DataFrame]]]:
    """Datasets of a model of ours under every scheme; what it refuses, and what did not converge,
    is said.
    """
    if name not in synthesizer_names():
        _say(f"{case.name}: {name} is not installed")
        return
    left = [scheme for scheme in _SCHEMES if (name, scheme) not in done]
    if not left:
        return
    kind = load_synthesizer(name)
    if "support" in [field.name for field in dataclasses.fields(kind)]:  # type: ignore[arg-type]
        settings["support"] = case.support
    try:
        started = time.perf_counter()
        model = compile_model(kind(case.formula, **settings), case.frame)
        _say(f"{case.name}: {name} compiled in {time.perf_counter() - started:.0f} s")
    except InputError as error:
        _say(f"{case.name}: {name} refuses the data: {error}")
        return
    blueprint = model.models[0].blueprint
    # sampled in the coordinates of its mode
    fused = blueprint is not None and blueprint.density is not None
    sampling = (
        Sampling(draws=300, tune=300)
        if quick
        else Sampling()
        if fused
        else Sampling(target_accept=0.9)
    )
    for scheme in left:
        weigh = _SCHEMES[scheme]
        alpha = None if weigh is None else weigh(case.frame, case.scenario)
        started = time.perf_counter()
        fitted = model.sample(alpha, random_seed=SEED, sampling=sampling)
        passed = "" if fitted.converged else ", NOT CONVERGED"
        _say(
            f"{case.name}: {name} {scheme} sampled in {time.perf_counter() - started:.0f} s{passed}"
        )
        label = (name, scheme, "drawn" if fitted.converged else "drawn, not converged")
        seed = seed_for(SEED, "synthesize", f"{case.name}/{name}/{scheme}")
        if fused and alpha is None:  # as the peers do it
            yield (
                (name, scheme, PLUG_IN),
                fitted.synthesize(count, random_seed=seed, parameters="mode"),
            )
        yield label, fitted.synthesize(count, random_seed=seed)


def write(table: pd.DataFrame, chosen: list[Case], out: Path, count: int) -> None:
    """The tables in print and the map."""
    numeric = ", ".join(f"{case.numeric} ({case.name})" for case in chosen)
    models = ", ".join(dict.fromkeys(table.loc[table["weights"] != "", "method"])) or "none"
    text = _NOTE.format(datasets=count, numeric=numeric, models=models) + printed(table)
    (out / "peers.md").write_text(text, encoding="utf-8")
    plot_peers(table, out / "peers.png")
    if "two-way total variation" in set(table["measure"]):
        for kind in ("svg", "png"):
            plot_any(table, out / f"any.{kind}")
    print(text)


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # convergence stands in the table
        main()
