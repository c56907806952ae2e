"""Our schemes and models against what others do: `python -m benchmarks.peers --out FOLDER [--quick]`.

The same data, scenario and measures for all: risk and utility of L = 20 synthetic datasets by each installed model of ours under each
weighting scheme, and by top-coding, log-normal noise, normal-scores regression (what synthpop calls normrank), CART with leaf donors
(synthpop's default; needs `pip install 'riskweighted[peers]'`) and a Gaussian copula. FOLDER gets the tidy table (peers.csv), the
tables in print (peers.md) and the risk-utility map (peers.png).
"""

import argparse
import dataclasses
import sys
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.peers_cases import Case, cases
from benchmarks.peers_map import plot_peers
from benchmarks.peers_measures import COLUMNS, measured, printed
from benchmarks.peers_methods import PEERS, PLUG_IN
from riskweighted import InputError, compile_model, load_synthesizer, marginal_weights, pairwise_weights, synthesizer_names
from riskweighted.common.errors import RiskWeightedWarning
from riskweighted.common.seeds import seed_for
from riskweighted.synthesis.precision import find_precision, round_to
from riskweighted.synthesis.sampling import Sampling

SEED = 12
DATASETS = 20
_NOTE = """# Ours and what others do

`python -m benchmarks.peers --out FOLDER`: {datasets} synthetic datasets each, the same scenario and measures for all. Parameters: "drawn"
from the posterior, "plug-in" where a method uses estimates as they are (its intervals and distances flatter it), "none" where it
estimates nothing. Group means off: mean distance of the means by known pattern (50 records or more) in standard deviations. Copied: records
whose synthetic value equals their own exactly. Correlation: Pearson, as recorded, with
{numeric}. Models of ours in these tables: {models}.

"""


def main() -> None:
    """Run the comparison and write it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--quick", action="store_true", help="1,500 records of each data set, L = 5, short chains")
    parser.add_argument("--data", default="", help="only data sets whose name holds this text")
    parser.add_argument("--models", default=None, help="only these models, separated by commas; none: --models ''")
    arguments = parser.parse_args()
    if find_spec("sklearn") is None:
        parser.error("CART needs scikit-learn: pip install 'riskweighted[peers]'")
    chosen = [case for case in cases(quick=arguments.quick) if arguments.data in case.name]
    if not chosen:
        parser.error(f"no data set is called {arguments.data!r}")
    wanted = None if arguments.models is None else arguments.models.split(",")
    write(compare(chosen, quick=arguments.quick, wanted=wanted), chosen, arguments.out, 5 if arguments.quick else DATASETS)


def compare(chosen: list[Case], *, quick: bool, wanted: list[str] | None = None) -> pd.DataFrame:
    """The tidy table, in the columns of `benchmarks.peers_measures.COLUMNS`."""
    rows = []
    for case in chosen:
        for (method, weights, parameters), frames in _every(case, quick=quick, wanted=wanted):
            started = time.perf_counter()
            rows += [(case.name, method, weights, parameters, *row) for row in measured(case, frames)]
            _say(f"{case.name}: {method} {weights} measured in {time.perf_counter() - started:.1f} s")
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _every(case: Case, *, quick: bool, wanted: list[str] | None) -> Iterator[tuple[tuple[str, str, str], list[pd.DataFrame]]]:
    """Label and datasets of every method."""
    count = 5 if quick else DATASETS
    for name, settings in case.models.items():
        if wanted is None or name in wanted:
            yield from _ours(case, name, dict(settings), count, quick=quick)
    for name, (_, parameters) in PEERS.items():
        started = time.perf_counter()
        frames = peer_frames(case, name, count)
        _say(f"{case.name}: {name} made in {time.perf_counter() - started:.1f} s")
        yield (name, "", parameters), frames


def peer_frames(case: Case, name: str, count: int) -> list[pd.DataFrame]:
    """Datasets of a peer, rounded as ours are."""
    method, _ = PEERS[name]
    precision = find_precision(case.frame[case.target])
    made = []
    for number in range(count):
        rng = np.random.default_rng(seed_for(SEED, f"{case.name}/{name}", str(number)))
        made.append(case.frame.assign(**{case.target: round_to(method(case.formula, case.frame, rng), precision)}))
    return made


def _ours(
    case: Case, name: str, settings: dict[str, object], count: int, *, quick: bool
) -> Iterator[tuple[tuple[str, str, str], list[pd.DataFrame]]]:
    """Datasets of a model of ours under every scheme; what it refuses, and what did not converge, is said."""
    if name not in synthesizer_names():
        _say(f"{case.name}: {name} is not installed")
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
    schemes = {"unweighted": None, "marginal": marginal_weights(case.frame, case.scenario)}
    schemes["pairwise"] = pairwise_weights(case.frame, case.scenario)
    fused = model.blueprint is not None and model.blueprint.density is not None  # sampled in the coordinates of its mode
    sampling = Sampling(draws=300, tune=300) if quick else Sampling() if fused else Sampling(target_accept=0.9)
    for scheme, alpha in schemes.items():
        started = time.perf_counter()
        fitted = model.sample(alpha, random_seed=SEED, sampling=sampling)
        passed = "" if fitted.converged else ", NOT CONVERGED"
        _say(f"{case.name}: {name} {scheme} sampled in {time.perf_counter() - started:.0f} s{passed}")
        label = (name, scheme, "drawn" if fitted.converged else "drawn, not converged")
        seed = seed_for(SEED, "synthesize", f"{case.name}/{name}/{scheme}")
        yield label, fitted.synthesize(count, random_seed=seed)
        if fused and alpha is None:  # as the peers do it
            yield (name, scheme, PLUG_IN), fitted.synthesize(count, random_seed=seed, parameters="mode")


def write(table: pd.DataFrame, chosen: list[Case], out: Path, count: int) -> None:
    """The three files."""
    out.mkdir(parents=True, exist_ok=True)
    table.to_csv(out / "peers.csv", index=False, float_format="%.6g")
    numeric = ", ".join(f"{case.numeric} ({case.name})" for case in chosen)
    models = ", ".join(dict.fromkeys(table.loc[table["weights"] != "", "method"])) or "none"
    text = _NOTE.format(datasets=count, numeric=numeric, models=models) + printed(table)
    (out / "peers.md").write_text(text, encoding="utf-8")
    plot_peers(table, out / "peers.png")
    print(text)


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWeightedWarning)  # convergence stands in the table
        main()
