"""Folds of any tool: what is written, what is refused, and that a tool which saw the fold's values
is found.
"""

import errno
import json
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import riskweighted as rw
from riskweighted.commands.main import app
from riskweighted.disclosure import folds
from riskweighted.disclosure.attacks import best_scores
from riskweighted.disclosure.decoys import slope_on_decoys
from riskweighted.disclosure.fold_files import write_manifest

SCENARIO = rw.Scenario(known="region", synthetic="income")
L = 10


def households(n: int = 1_000) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    region = rng.integers(0, 5, n)
    income = np.exp(10 + 0.2 * region + 0.5 * rng.normal(size=n)).round()
    return pd.DataFrame(
        {
            "region": region,
            "home": np.arange(n) // 2,
            "income": income,
            "smokes": rng.choice(["yes", "no", "at times"], n),
        }
    )


def regression(train: pd.DataFrame, rows: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Conjugate log-normal means by region, a draw of mean and scale for each dataset."""
    made = np.empty((L, len(rows)))
    for copy in range(L):
        for region, income in train.groupby("region")["income"]:
            logs, there = np.log(income), (rows["region"] == region).to_numpy()
            scale = np.sqrt(((logs - logs.mean()) ** 2).sum() / rng.chisquare(len(logs) - 1))
            made[copy, there] = np.exp(
                logs.mean()
                + scale * (rng.normal() / np.sqrt(len(logs)) + rng.normal(size=there.sum()))
            )
    return made.round()


def donors(train: pd.DataFrame, rows: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """A value of one of five neighbours in the order of the rows, the row's own among them where it
    was trained on.
    """
    made = np.empty((L, len(rows)))
    place = np.searchsorted(train.index.to_numpy(), np.arange(len(rows)))
    first = np.clip(place - 2, 0, len(train) - 5)
    for copy in range(L):
        made[copy] = train["income"].to_numpy()[first + rng.integers(0, 5, len(rows))]
    return made


def run(tool, folder: Path, data: pd.DataFrame, *, cheats: bool = False) -> None:
    """The tool on every fold; one that cheats is run on all the data."""
    rng, folds = np.random.default_rng(7), pd.read_csv(folder / "assignment.csv")["fold"].to_numpy()
    for number in range(1, folds.max() + 1):
        rows = pd.read_csv(folder / str(number) / "rows.csv")
        train = pd.read_csv(folder / str(number) / "train.csv").set_axis(
            np.flatnonzero(folds != number)
        )
        for copy, values in enumerate(tool(data if cheats else train, rows, rng), start=1):
            rows.assign(income=values).to_csv(
                folder / str(number) / f"synthetic_{copy}.csv", index=False
            )


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return households()


@pytest.fixture
def folder(tmp_path, data) -> Path:
    rw.write_folds(data, "income", tmp_path / "folds", random_seed=1)
    return tmp_path / "folds"


def test_a_fold_holds_no_value_of_its_own_and_only_its_owner_reads_it(folder, data):
    assert all(
        stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
        for path in [folder, *folder.rglob("*")]
    )
    assignment, decoys = pd.read_csv(folder / "assignment.csv"), pd.read_csv(folder / "decoys.csv")
    for number in range(1, 6):
        out = assignment["fold"].to_numpy() == number
        train, rows = (
            pd.read_csv(folder / str(number) / name) for name in ("train.csv", "rows.csv")
        )
        assert len(train) == (~out).sum()
        assert list(rows) == ["region", "home", "smokes"]
        assert not set(decoys.loc[decoys["fold"] == number, "values_of_row"] - 1) & set(
            np.flatnonzero(out)
        )
        changed = (train["income"].to_numpy() != data["income"].to_numpy()[~out]).sum()
        assert 0 < changed <= (decoys["fold"] == number).sum() == 48


KILLED = """
import os, signal, sys
import pandas as pd, riskweighted as rw
from riskweighted.disclosure import folds
folds.write_guide = lambda *told: os.kill(os.getpid(), signal.SIGKILL)
rw.write_folds(pd.read_csv(sys.argv[1]), "income", sys.argv[2], random_seed=1)
"""


def test_folds_are_written_whole_or_not_at_all(tmp_path, data, monkeypatch):
    """Neither a full disk nor a kill leaves some folds under their name, and the same call goes
    on.
    """
    data.to_csv(tmp_path / "data.csv", index=False)
    out = tmp_path / "folds"
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "data.csv", out], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    assert stat.S_IMODE((tmp_path / "folds.partial").stat().st_mode) == 0o700

    def full_disk(*told):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(folds, "write_guide", full_disk)
        with pytest.raises(OSError, match="No space"):
            rw.write_folds(data, "income", out, random_seed=1)
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
    rw.write_folds(data, "income", out, random_seed=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "folds"]
    assert (out / "folds.json").is_file()
    with pytest.raises(rw.InputError, match="exists"):
        rw.write_folds(data, "income", out, random_seed=1)


def test_the_folder_says_what_to_do(folder):
    told = (folder / "README.txt").read_text()
    for words in (
        "For each k from 1 to 5",
        "k/train.csv",
        "k/synthetic_1.csv",
        "--synthetic income --folds folds",
        "confidential",
    ):
        assert words in told


def test_rows_of_one_unit_stand_in_one_fold(tmp_path, data):
    rw.write_folds(data, ["income", "smokes"], tmp_path / "folds", K=3, unit="home", random_seed=1)
    folds = pd.read_csv(tmp_path / "folds" / "assignment.csv")["fold"]
    assert folds.groupby(data["home"]).nunique().max() == 1
    assert sorted(folds.unique()) == [1, 2, 3]


def attributed(tool, folder: Path, data: pd.DataFrame) -> pd.DataFrame:
    run(tool, folder, data)
    pack = [data.assign(income=values) for values in tool(data, data, np.random.default_rng(8))]
    return rw.attribution(data, pack, SCENARIO, folds=rw.read_folds(folder, data), random_seed=2)


@pytest.mark.quick
def test_a_regression_says_nothing_of_a_person_and_donors_do(folder, data):
    smooth = attributed(regression, folder, data).set_index(["release", "group"])
    assert abs(smooth.loc[("shuffled", "all"), "D"]) < 0.05
    assert smooth["named"].max() == 0
    table = attributed(donors, folder, data)
    told = table.set_index(["release", "group"]).loc[("aligned", "all")]
    assert told["D"] > 0.15
    assert told["own_value_with"] > 0.8 > 0.1 > told["own_value_out"]
    assert table.attrs["verdict"] == "refuse"
    assert table.attrs["persons"] > 20


CANNOT = (
    "the decoys cannot be seen in the folds .*hardly follows the data, or datasets lie in the "
    "wrong fold, or they were made with the"
)


def constant(train: pd.DataFrame, rows: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """It does not follow the data at all."""
    return np.exp(rng.normal(10, 0.5, (L, len(rows)))).round()


@pytest.mark.parametrize(
    ("tool", "cheats"), [(regression, True), (donors, True), (constant, False)]
)
def test_where_no_decoys_are_seen_nothing_is_judged(tool, cheats, folder, data):
    run(tool, folder, data, cheats=cheats)
    pack = [data.assign(income=values) for values in tool(data, data, np.random.default_rng(8))]
    table = rw.attribution(data, pack, SCENARIO, folds=rw.read_folds(folder, data), random_seed=2)
    assert table.attrs["verdict"] == "not judged"
    assert re.search(CANNOT, table.attrs["reasons"][0])
    assert table[["D", "out", "named"]].isna().all(axis=None)
    assert np.isnan(table.attrs["persons"])


@pytest.mark.parametrize("tool", [regression, donors])
def test_datasets_in_the_folds_of_others_are_refused(tool, folder, data):
    run(tool, folder, data)
    upward = pd.read_csv(folder / "decoys.csv").merge(
        data["income"].rename("value"), left_on="values_of_row", right_index=True
    )
    high = upward.groupby("fold")["value"].mean().sort_values().index
    for one, other in ((high[0], high[-1]), (high[1], high[-2])):
        for copy in range(1, L + 1):
            paths = [folder / str(fold) / f"synthetic_{copy}.csv" for fold in (one, other)]
            texts = [path.read_text() for path in paths]
            for path, text in zip(paths, reversed(texts), strict=True):
                path.write_text(text)
    pack = [data.assign(income=values) for values in tool(data, data, np.random.default_rng(8))]
    with pytest.raises(rw.InputError, match="datasets lie in the wrong fold"):
        rw.attribution(data, pack, SCENARIO, folds=rw.read_folds(folder, data), random_seed=2)


def test_exchanged_or_capped_values_show_decoys_by_their_slope_alone():
    """All their datasets have one mean score, so that what is left of an error is in the last bits
    of sums.
    """
    trained = 0.5 + np.array([0.03, -0.02, 0.03, -0.03, 0.02])
    found = [
        slope_on_decoys(trained, np.full((5, 20), score))
        for score in np.random.default_rng(3).random(100)
    ]
    assert max(abs(slope) for slope, _ in found) < 1e-9
    assert {z for _, z in found} == {0.0}
    slope, z = slope_on_decoys(trained, np.repeat(trained[:, None], 20, axis=1))
    assert (round(slope, 6), z) == (1.0, np.inf)


def change(path: Path, text: str, other: str) -> None:
    path.write_text(path.read_text().replace(text, other, 1))


@pytest.fixture
def folder_of_packs(tmp_path, data) -> Path:
    """Five packs of the regression and a few records, of the whole and of each fold."""
    folder, some, rng = tmp_path / "packs", data.iloc[:200], np.random.default_rng(7)
    rw.write_folds(some, "income", folder, K=2, packs=5, random_seed=1)
    assert pd.read_csv(folder / "0" / "train.csv").equals(some.reset_index(drop=True))
    for number in range(3):
        rows, train = (
            pd.read_csv(folder / str(number) / name) for name in ("rows.csv", "train.csv")
        )
        for pack in range(1, 6):
            (folder / str(number) / f"pack_{pack}").mkdir()
            for copy, values in enumerate(regression(train, rows, rng)[:3], start=1):
                rows.assign(income=values).to_csv(
                    folder / str(number) / f"pack_{pack}" / f"synthetic_{copy}.csv", index=False
                )
    return folder


def test_several_packs_are_read_and_the_first_of_the_whole_is_what_may_leave(folder_of_packs, data):
    data = data.iloc[:200]
    folds = rw.read_folds(folder_of_packs, data)
    assert [
        len(folds.whole),
        len(folds.made),
        {len(pack) for packs in (folds.whole, *folds.made) for pack in packs},
    ] == [5, 5, {3}]
    released = pd.read_csv(folder_of_packs / "1" / "pack_4" / "synthetic_3.csv")
    assert folds.made[3][0][2]["income"].tolist() == released["income"].tolist()
    table = rw.attribution(data, list(folds.whole[0]), SCENARIO, folds=folds, random_seed=1)
    assert table.attrs["packs"] == 5
    assert table.loc[0, "se"] < 0.05
    with pytest.raises(rw.InputError, match="pack_1"):
        rw.attribution(data, list(folds.whole[1]), SCENARIO, folds=folds, random_seed=1)
    for words in (
        "0 to 2",
        "k/pack_1/synthetic_1.csv",
        "5 packs",
        "0/pack_1",
        "packs/0/pack_1/synthetic_*.csv",
        "confidential",
    ):
        assert words in (folder_of_packs / "README.txt").read_text()


def test_packs_of_another_number_of_datasets_or_none_are_refused(folder_of_packs, data):
    (folder_of_packs / "2" / "pack_5" / "synthetic_3.csv").unlink()
    with pytest.raises(rw.InputError, match="each must hold L"):
        rw.read_folds(folder_of_packs, data.iloc[:200])
    for copy in (1, 2):
        (folder_of_packs / "2" / "pack_5" / f"synthetic_{copy}.csv").unlink()
    with pytest.raises(rw.InputError, match=r"pack_5.*holds no synthetic_1\.csv"):
        rw.read_folds(folder_of_packs, data.iloc[:200])


@pytest.mark.parametrize("packs", [0, 1.5])
def test_no_number_of_packs_is_refused(packs, tmp_path, data):
    with pytest.raises(rw.InputError, match="packs"):
        rw.write_folds(data, "income", tmp_path / "none", packs=packs)
    assert not (tmp_path / "none").exists()


def test_folds_of_one_release_that_were_written_before_packs_are_read(folder, data):
    run(regression, folder, data)
    about = json.loads((folder / "folds.json").read_text())
    write_manifest(folder, {name: about[name] for name in ("K", "synthesized", "data")})
    folds = rw.read_folds(folder, data)
    assert (len(folds.made), len(folds.whole), len(folds.packs)) == (1, 0, 5)


def drop_dataset(folder: Path) -> None:
    (folder / "2" / "synthetic_10.csv").unlink()


def drop_rows(folder: Path) -> None:
    path = folder / "3" / "synthetic_1.csv"
    pd.read_csv(path).iloc[1:].to_csv(path, index=False)


def other_rows(folder: Path) -> None:
    path = folder / "3" / "synthetic_1.csv"
    pd.read_csv(path).iloc[::-1].to_csv(path, index=False)


def other_training(folder: Path) -> None:
    path = folder / "1" / "train.csv"
    pd.read_csv(path).iloc[1:].to_csv(path, index=False)


def other_folds(folder: Path) -> None:
    path = folder / "assignment.csv"
    pd.read_csv(path).assign(fold=lambda table: table["fold"] % 5 + 1).to_csv(path, index=False)


def other_decoys(folder: Path) -> None:
    path = folder / "decoys.csv"
    pd.read_csv(path).iloc[1:].to_csv(path, index=False)


def fewer_folds(folder: Path) -> None:
    change(folder / "folds.json", '"K": 5', '"K": 4')


def leaking_training(folder: Path) -> None:
    """By somebody who writes the manifest anew."""
    path = folder / "2" / "train.csv"
    pd.concat([pd.read_csv(path), households().iloc[:50]]).to_csv(path, index=False)
    about = json.loads((folder / "folds.json").read_text())
    write_manifest(folder, {name: about[name] for name in ("K", "synthesized", "data")})


def with_text(folder: Path) -> None:
    path = folder / "2" / "synthetic_3.csv"
    pd.read_csv(path).assign(
        income=lambda table: table["income"].astype(object).where(table.index != 5, "n/k")
    ).to_csv(path, index=False)


def with_infinity(folder: Path) -> None:
    path = folder / "2" / "synthetic_3.csv"
    pd.read_csv(path).assign(
        income=lambda table: table["income"].where(table.index != 5, np.inf)
    ).to_csv(path, index=False)


def no_guide(folder: Path) -> None:
    (folder / "README.txt").unlink()


def nothing_made(folder: Path) -> None:
    for path in (folder / "4").glob("synthetic_*.csv"):
        path.unlink()


SPOILT = [
    (drop_dataset, "each must hold L"),
    (drop_rows, "a row for each"),
    (other_rows, "is not what rows.csv says"),
    (other_training, "is not what riskweighted folds wrote"),
    (other_folds, "assignment.csv' is not what riskweighted folds wrote"),
    (other_decoys, "decoys.csv' is not what riskweighted folds wrote"),
    (fewer_folds, "folds.json' is not what riskweighted folds wrote"),
    (
        leaking_training,
        "2/train.csv' does not hold the rows of the other folds, with their decoys, and no others",
    ),
    (with_text, "2/synthetic_3.csv': 'income' holds text where the data hold numbers"),
    (with_infinity, "2/synthetic_3.csv': 'income' holds infinite numbers"),
    (no_guide, "README.txt' is not what riskweighted folds wrote"),
    (nothing_made, "holds no synthetic_1.csv"),
]


@pytest.mark.parametrize(
    ("spoil", "message"), SPOILT, ids=lambda value: getattr(value, "__name__", "")
)
def test_folds_that_do_not_belong_are_refused(spoil, message, folder, data):
    run(regression, folder, data)
    spoil(folder)
    with pytest.raises(rw.InputError, match=message) as caught:
        rw.read_folds(folder, data)
    assert "\n" not in str(caught.value)


def test_folds_of_other_data_or_of_another_number_of_datasets_are_refused(folder, data):
    run(regression, folder, data)
    with pytest.raises(rw.InputError, match="folds of other data"):
        rw.read_folds(folder, data.assign(income=data["income"] + 1))
    folds = rw.read_folds(folder, data)
    with pytest.raises(rw.InputError, match="both must have L"):
        rw.attribution(data, [data] * 3, SCENARIO, folds=folds)


def test_without_fit_and_folds_nothing_is_judged(data):
    table = rw.attribution(data, [data] * 2, SCENARIO, random_seed=1)
    assert table["D"].isna().all()
    assert table.loc[table["release"] == "aligned", "with"].iloc[0] == 1
    assert table.attrs["verdict"] == "not judged"


@pytest.mark.filterwarnings("ignore::riskweighted.SingletonWarning")
def test_one_pattern_a_row_is_attacked_by_its_own_copies_alone(data):
    rng = np.random.default_rng(1)
    noisy = [
        data.assign(income=data["income"] * np.exp(rng.normal(0, 0.2, len(data)))) for _ in range(L)
    ]
    table = rw.attribution(data, noisy, SCENARIO, released="home", random_seed=1)
    assert table.loc[table["release"] == "aligned", "with"].iloc[0] > 0.9


def assess(*options: object) -> str:
    """What the command says, or refuses."""
    done = CliRunner().invoke(
        app,
        ["assess", *map(str, options), "--known", "region", "--synthetic", "income", "--json"],
    )
    if done.exception is None:
        return done.stdout
    assert isinstance(done.exception, rw.InputError)
    return str(done.exception)


@pytest.fixture
def files(tmp_path, data) -> list[Path]:
    """A release of donors, and the data."""
    data.to_csv(tmp_path / "data.csv", index=False)
    made = donors(data, data, np.random.default_rng(3))
    paths = [tmp_path / f"s{copy}.csv" for copy in range(1, L + 1)]
    for path, values in zip(paths, made, strict=True):
        data.assign(income=values).to_csv(path, index=False)
    return [tmp_path / "data.csv", *paths]


@pytest.mark.filterwarnings("ignore:rows of")
def test_the_command_judges_by_folds_and_says_that_it_cannot_without(files, folder, data, tmp_path):
    run(donors, folder, data)
    first = json.loads(assess(*files, "--folds", folder, "--out", tmp_path / "judged"))[
        "disclosure_rows"
    ][0]
    assert "disclosure beyond inference" in (tmp_path / "judged" / "map.svg").read_text()
    assert (first["label"], first["verdict"]) == ("synthetic", "refuse")
    listed = pd.read_csv(tmp_path / "judged" / "confidential" / "standing_out.csv")
    assert len(listed) > 0
    assert (listed["files"] > listed["without"]).all()
    expected = rw.attribution(
        data,
        [pd.read_csv(path) for path in files[1:]],
        SCENARIO,
        folds=rw.read_folds(folder, data),
        random_seed=1,
    )
    assert first["D"] == pytest.approx(expected["D"].iloc[0], abs=1e-6)
    first = json.loads(assess(*files))["disclosure_rows"][0]
    assert (first["verdict"], first["D"]) == ("not judged", None)
    apart = json.loads(assess(*files, "--unpaired", "synthetic"))["disclosure_rows"][0]
    assert apart["verdict"] == "not judged"


@pytest.mark.filterwarnings("ignore:rows of")
def test_the_seed_is_recorded_and_hardly_matters(files, folder, data):
    run(regression, folder, data)
    told = [
        json.loads(assess(*files, "--folds", folder, "--seed", seed))["disclosure_rows"][0]
        for seed in (1, 2)
    ]
    assert [first["seed"] for first in told] == [1, 2]
    assert told[0]["D"] == pytest.approx(told[1]["D"], abs=0.015)


def test_what_halves_say_is_a_mean_over_them():
    rng = np.random.default_rng(1)
    named, halves = rng.random((3, 200)) < 0.3, rng.random((9, 200)) < 0.5
    expected = np.mean([best_scores(named, half) for half in halves], axis=0)
    assert best_scores(named, halves) == pytest.approx(expected)
    assert set(best_scores(named, halves[0])) <= {0.0, 1.0}
    weights = rng.random(200)
    assert best_scores(named, halves, weights) == pytest.approx(
        np.mean([best_scores(named, half, weights) for half in halves], axis=0)
    )


@pytest.mark.filterwarnings("ignore:rows of")
def test_the_command_refuses_folds_of_other_datasets_and_gives_the_rest_where_no_decoys_are_seen(
    files, folder, data
):
    run(donors, folder, data, cheats=True)
    told = json.loads(assess(*files, "--folds", folder))
    assert (told["disclosure_rows"][0]["verdict"], told["disclosure_rows"][0]["D"]) == (
        "not judged",
        None,
    )
    assert "the decoys cannot be seen in the folds" in told["disclosure_rows"][0]["why"]
    assert told["measures"]
    assert "both must have L" in assess(*files[:-1], "--folds", folder)
    assert "names no tool" in assess(
        files[0], "--tool", f"a={files[1]}", "--tool", f"b={files[2]}", "--folds", folder
    )
