import zipfile

import numpy as np
import pandas as pd
import pytest

from experiments.ce.facts import ce_facts
from experiments.ce.population import simulate_ce
from experiments.ce.public_use_file import load_ce_pumd
from riskweighted.common.errors import InputError, RiskWeightedWarning, UnscoredWarning
from riskweighted.data.io import write_table
from riskweighted.runs.plan import plan_study
from riskweighted.runs.study import make_study

CODES = {
    "SEX_REF": ["1", "2"],
    "EDUC_REF": ["00", "10", "11", "12", "13", "14", "15", "16"],
    "REGION": ["1", "2", "3", "4"],
    "BLS_URBN": ["1", "2"],
    "MARITAL1": ["1", "2", "3", "4", "5"],
    "POPSIZE": ["1", "2", "3", "4", "5"],
    "SMSASTAT": ["1", "2"],
    "EARNCOMP": ["1", "2", "3", "4", "5", "6", "7", "8"],
}


def fmli(n=200, seed=0):
    """Random values in the layout of an FMLI csv: text codes, flag columns, and columns that we do
    not need.
    """
    rng = np.random.default_rng(seed)
    file = pd.DataFrame({"NEWID": [f"03{i:06d}" for i in range(n)], "DIRACC": "1"})
    for name, codes in CODES.items():
        file[name] = rng.choice(codes, n)
        file[f"{name[:7]}_"] = "D"
    file["AGE_REF"] = rng.integers(16, 88, n).astype(str)
    file["FAM_SIZE"] = rng.integers(1, 15, n).astype(str)
    file["FINCBTXM"] = np.round(rng.lognormal(10.8, 0.9, n), 1).astype(str)
    file.loc[0, "FINCBTXM"] = "-4200"
    file["FINCBTX1"] = "."
    return file[sorted(file, key=lambda name: (name != "NEWID", name))]


def written(path, file):
    file.to_csv(path, index=False)
    return path


@pytest.fixture
def csv(tmp_path):
    return written(tmp_path / "fmli171x.csv", fmli())


def test_hand_made_records(tmp_path):
    columns = [
        "SEX_REF",
        "AGE_REF",
        "EDUC_REF",
        "REGION",
        "BLS_URBN",
        "MARITAL1",
        "POPSIZE",
        "SMSASTAT",
        "FAM_SIZE",
        "EARNCOMP",
        "FINCBTXM",
    ]
    rows = [
        ["1", "24", "00", "1", "1", "1", "2", "1", "1", "1", "-4200.5"],
        ["2", "25", "10", "2", "2", "2", "3", "2", "11", "4", "0"],
        [" 1", "65", "17", "4", "1", "5", "5", "1", "13", "5", "1234567"],
        ["2", "64", "16", "3", "1", "3", "4", "1", "2", "8", "50000"],
    ]
    data = load_ce_pumd(written(tmp_path / "fmli172.csv", pd.DataFrame(rows, columns=columns)))
    assert data.to_numpy().tolist() == [
        [
            "male",
            "under 25",
            "never attended",
            "Northeast",
            "urban",
            "married",
            "POPSIZE 1-2",
            "metropolitan",
            1,
            "earner",
            -4200.5,
        ],
        [
            "female",
            "25-34",
            "grades 1-8",
            "Midwest",
            "rural",
            "widowed",
            "POPSIZE 3",
            "not metropolitan",
            11,
            "earner",
            0.0,
        ],
        [
            "male",
            "65 and over",
            "graduate degree",
            "West",
            "urban",
            "never married",
            "POPSIZE 4-5",
            "metropolitan",
            11,
            "not earner",
            1234567,
        ],
        [
            "female",
            "50-64",
            "graduate degree",
            "South",
            "urban",
            "divorced",
            "POPSIZE 4-5",
            "metropolitan",
            2,
            "not earner",
            50000.0,
        ],
    ]


def test_columns_and_dtypes_are_those_of_the_simulator(csv):
    data, simulated = load_ce_pumd(csv), simulate_ce(50)
    assert list(data) == list(simulated)
    assert data.dtypes.equals(simulated.dtypes)
    own_labels = {"urban_type", "cbsa"}
    for name in set(data) - own_labels - {"income"}:
        assert set(data[name]) <= set(simulate_ce()[name])
    assert ce_facts(data).set_index("fact")["achieved"]["records"] == 200


@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.SparseLevelWarning")
def test_one_study_serves_the_file_and_the_simulator(tmp_path, csv):
    write_table(simulate_ce(), tmp_path / "ce-like.parquet")
    predictors = " + ".join(f"C({name})" for name in list(simulate_ce(1))[:-1])
    settings = {
        "data": {"path": str(tmp_path / "ce-like.parquet")},
        "scenario": {"known": ["gender", "age_band", "region"], "synthetic": "income"},
        "synthesizer": {
            "name": "normal-mixture",
            "formula": f"income ~ {predictors}",
            "transform": "asinh",
            "transform_constant": 1000,
        },
        "evaluation": {
            "regression": "income ~ C(region) + C(urban) + C(earner)",
            "coefficient": "C(earner)[T.not earner]",
        },
    }
    study = make_study(settings)
    with pytest.warns(UnscoredWarning, match="13 of 6208 records have 'income' of zero"):
        assert plan_study(study, estimated=False).records == 6208
    with pytest.warns(RiskWeightedWarning, match="hold a single record"):
        assert plan_study(study, load_ce_pumd(csv), estimated=False).records == 200


def test_zip_and_folder_take_the_quarter_of_the_paper(tmp_path, csv):
    expected = load_ce_pumd(csv)
    older = written(tmp_path / "older.csv", fmli(seed=1))
    with zipfile.ZipFile(tmp_path / "intrvw17.zip", "w") as archive:
        archive.write(older, "intrvw17/fmli171.csv")
        archive.write(csv, "intrvw17/fmli171x.csv")
        for other in ("fmli172.csv", "fmli181.csv", "memi171x.csv"):
            archive.write(older, f"intrvw17/{other}")
    pd.testing.assert_frame_equal(load_ce_pumd(tmp_path / "intrvw17.zip"), expected)
    with zipfile.ZipFile(tmp_path / "intrvw17.zip") as archive:
        archive.extractall(tmp_path / "folder")
    pd.testing.assert_frame_equal(load_ce_pumd(tmp_path / "folder"), expected)
    (tmp_path / "folder" / "intrvw17" / "fmli171x.csv").unlink()
    pd.testing.assert_frame_equal(load_ce_pumd(tmp_path / "folder"), load_ce_pumd(older))


def test_lower_case_names_and_a_byte_order_mark(tmp_path, csv):
    fmli().rename(columns=str.lower).to_csv(
        tmp_path / "lower.csv", index=False, encoding="utf-8-sig"
    )
    pd.testing.assert_frame_equal(load_ce_pumd(tmp_path / "lower.csv"), load_ce_pumd(csv))


def test_incomplete_records_are_left_out_and_counted(tmp_path):
    file = fmli()
    expected = load_ce_pumd(
        written(tmp_path / "whole.csv", file.drop(index=[3, 5, 8]).reset_index(drop=True))
    )
    file.loc[[3, 5], "REGION"] = ["", "."]
    file.loc[[5, 8], "FINCBTXM"] = "."
    with pytest.warns(
        RiskWeightedWarning,
        match=r"^3 of 200 records of 'x.csv' are left out; missing: 'REGION' \(2\), 'FINCBTXM' "
        r"\(2\)$",
    ):
        data = load_ce_pumd(written(tmp_path / "x.csv", file))
    pd.testing.assert_frame_equal(data, expected)
    with pytest.raises(InputError, match=r"no complete record; missing: 'POPSIZE' \(200\)"):
        load_ce_pumd(written(tmp_path / "none.csv", fmli().assign(POPSIZE=".")))


@pytest.mark.parametrize(
    ("column", "value", "valid"),
    [
        ("SEX_REF", "7654321", "valid are '1', '2'"),
        ("EDUC_REF", "7654321", "'16', '17'"),
        ("REGION", "7654321.5", "'4'"),
        ("AGE_REF", "7654321", "whole years from 10 to 120"),
        ("AGE_REF", "33.7654321", "whole years"),
        ("FAM_SIZE", "0", "whole numbers from 1 to 40"),
        ("FINCBTXM", "$7654321", "numbers"),
        ("FINCBTXM", "inf", "numbers"),
    ],
)
def test_values_that_are_no_codes(tmp_path, column, value, valid):
    file = fmli()
    file.loc[7, column] = value
    with pytest.raises(
        InputError, match=f"column '{column}' in 1 of 200 records holds something that is not valid"
    ) as caught:
        load_ce_pumd(written(tmp_path / "x.csv", file))
    assert valid in str(caught.value)
    assert "7654321" not in str(caught.value)


def test_missing_columns_are_named(tmp_path):
    with pytest.raises(InputError, match=r"'x.csv' has no column 'EARNCOMP', 'FINCBTXM'"):
        load_ce_pumd(written(tmp_path / "x.csv", fmli().drop(columns=["FINCBTXM", "EARNCOMP"])))


def zipped(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "NEWID\n1\n")
    return path


def test_wrong_files(tmp_path, csv):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text(csv.read_text().splitlines()[0])
    (tmp_path / "ragged.csv").write_text(csv.read_text() + ",".join(["7654321"] * 50) + "\n")
    (tmp_path / "shifted.csv").write_text(
        "\n".join(
            [
                line + ",7654321" if i else line
                for i, line in enumerate(csv.read_text().splitlines())
            ]
        )
    )
    (tmp_path / "broken.zip").write_bytes(b"PK 7654321")
    zipped(tmp_path / "other.zip", "a/fmli162.csv", "a/fmli172.csv", "a/memi171x.csv")
    zipped(tmp_path / "twice.zip", "a/fmli171x.csv", "b/FMLI171X.csv")
    for name, message in [
        ("nope.csv", "there is no file"),
        ("nope.zip", "there is no file"),
        ("fmli171.sas7bdat", "give an FMLI file"),
        (
            "empty",
            r"'empty' holds no FMLI file of 2017 quarter 1 \('fmli171x.csv', 'fmli171.csv'\); it "
            r"has \(none\)",
        ),
        ("empty.csv", "cannot be read as csv"),
        ("header.csv", "has no records"),
        ("ragged.csv", "cannot be read as csv"),
        ("shifted.csv", "cannot be read as csv"),
        ("broken.zip", "is no zip file"),
        ("other.zip", "it has 'a/fmli162.csv', 'a/fmli172.csv'$"),
        ("twice.zip", "several files of 2017 quarter 1: 'a/fmli171x.csv', 'b/FMLI171X.csv'"),
    ]:
        with pytest.raises(InputError, match=message) as caught:
            load_ce_pumd(tmp_path / name)
        assert "7654321" not in str(caught.value)
        assert "\n" not in str(caught.value)
