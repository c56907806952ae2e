"""Files as people have them, each small, through ``init`` and ``check``: what every column is, what
is used, what is said.
"""

import tomllib
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadr
import pyreadstat
import pytest
from typer.testing import CliRunner

from riskweighted.commands.main import app
from riskweighted.common.errors import InputError
from riskweighted.common.frames import require_columns
from riskweighted.common.native import as_pandas
from riskweighted.data.csv_layout import guess_layout
from riskweighted.data.foreign import takes_name
from riskweighted.data.io import MISSING, read_table, write_table
from riskweighted.data.metadata import read_metadata
from riskweighted.data.odd_lines import odd_lines
from riskweighted.release.analysis_code import PublishedAnalysis, combining_code
from riskweighted.runs.models import build_chain
from riskweighted.runs.study import load_study
from riskweighted.sequence.prepare import prepare_sequence
from riskweighted.suggest.columns import look_at

pytestmark = pytest.mark.versions

N = 300
rng = np.random.default_rng(45)
SEX, REGION = rng.choice(["f", "m"], N), rng.choice(["north", "south", "west"], N)
INCOME = np.round(
    np.exp(rng.normal(9.5 + 0.3 * (SEX == "m") + 0.3 * (REGION == "west"), 0.4))
).astype(int)
PEOPLE = pd.DataFrame({"sex": SEX, "region": REGION, "income": INCOME})
CODED = pd.DataFrame(
    {"sex": 1.0 + (SEX == "m"), "region": 1.0 + pd.factorize(REGION)[0], "income": INCOME}
)
GAP = np.arange(N) % 20 == 7
DAYS = pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), unit="D")
LABELS = {"sex": {1.0: "female", 2.0: "male"}}


def looked_at(path, *asked):
    """What `init` finds of every column, the study that it writes, which `check` takes, and what it
    warns of.
    """
    study = path.with_name("study.toml")
    done = CliRunner().invoke(app, ["init", str(path), "--out", str(study), "--force", *asked])
    assert done.exit_code == 0, done.exception
    checked = CliRunner().invoke(app, ["check", str(study)])
    assert checked.exit_code == 0, checked.exception
    text = study.read_text()
    return tomllib.loads(text), text, done.stdout, done.stderr


def uses(path):
    """Type and kind of every column as `init` reads it."""
    stated = read_metadata(path) if path.suffix in (".sav", ".dta", ".xpt") else None
    return {column.name: (column.type, column.kind) for column in look_at(read_table(path), stated)}


def write_rds(path, table):
    pyreadr.write_rds(str(path), table)


def write_rdata(path, table):
    pyreadr.write_rdata(str(path), table, df_name="people")


def test_whole_numbers_of_r_and_parquet_with_gaps_are_numbers(tmp_path):
    gaps = PEOPLE.assign(
        income=PEOPLE["income"].astype("Int32").mask(np.arange(N) == 3),
        kids=pd.array(rng.integers(0, 4, N), "Int32"),
    )
    gaps = gaps.assign(
        kids=gaps["kids"].mask(GAP),
        moved=pd.array(rng.random(N) < 0.5, "boolean"),
        day=DAYS,
        level=pd.Categorical(REGION),
    ).assign(moved=lambda table: table["moved"].mask(GAP))
    for name, write in {
        "a.rds": write_rds,
        "a.RData": write_rdata,
        "a.parquet": lambda path, table: table.to_parquet(path),
    }.items():
        write(tmp_path / name, gaps)
        found = uses(tmp_path / name)
        assert found["income"] == ("whole number", "number")
        assert found["kids"] == ("whole number", "levels")
        assert found["moved"] == ("truth value", "levels")
        assert found["day"][1] == "time"
        assert found["level"] == ("text", "levels")
        assert read_table(tmp_path / name)["income"].isna().sum() == 1
    for name in ("a.rds", "a.parquet"):
        study, *_ = looked_at(tmp_path / name)
        assert study["scenario"]["synthetic"] == "income"
        assert {"sex", "region"} <= set(study["scenario"]["known"])


STATA = ("td", "tc", "tw", "tm", "tq", "th", "ty")
SHOWN = {
    ".sav": (
        *(
            "DATE11",
            "ADATE10",
            "EDATE10",
            "SDATE10",
            "JDATE7",
            "MOYR8",
            "QYR6",
            "WKYR10",
            "DATETIME20",
            "YMDHMS19",
        ),
        *("TIME8", "DTIME11", "MTIME5"),
    ),
    ".xpt": (
        *(
            "DATE9",
            "MMDDYY10",
            "YYMMDD10",
            "MONYY7",
            "YYMM7",
            "YYQ6",
            "YEAR4",
            "E8601DA10",
            "WORDDATE",
            "DATETIME20",
            "DTMONYY7",
        ),
        *("E8601DT", "TIME8", "HHMM5", "TOD8", "HOUR5", "MMSS5"),
    ),
}


@pytest.mark.slow  # of recent pyreadstat and pandas: older ones read and write fewer of them
@pytest.mark.parametrize("ending", [".dta", ".sav", ".xpt"])
def test_dates_and_times_of_every_format_are_read_and_left_out_by_name(tmp_path, ending):
    path = tmp_path / f"dates{ending}"
    if ending == ".dta":
        dates = CODED.assign(**dict.fromkeys(STATA, DAYS))
        dates.loc[3, ["td", "tm"]] = pd.NaT
        dates.to_stata(
            path,
            write_index=False,
            version=118,
            convert_dates={name: name for name in STATA},
            value_labels=LABELS,
        )
        names = list(STATA)
    else:
        names = [f"d{number}" for number in range(len(SHOWN[ending]))]
        seconds = 86_400 if ending == ".sav" else 1
        table = CODED.assign(**dict.fromkeys(names, 150_000.0 * seconds + np.arange(N) * 3601.0))
        write = pyreadstat.write_sav if ending == ".sav" else pyreadstat.write_xport
        labelled = (
            {"variable_value_labels": LABELS}
            if ending == ".sav"
            else {"column_labels": {"sex": "Sex"}}
        )
        write(table, path, variable_format=dict(zip(names, SHOWN[ending], strict=True)), **labelled)
    study, text, *_ = looked_at(path)
    assert study["scenario"]["synthetic"] == "income"
    assert study["data"]["variables"] == path.name
    for name in names:
        assert f"not used: {name}: dates" in text


@pytest.mark.parametrize("shown", ["%-td", "%-tc", "%-tq", "%-d", "%tb", "%tdD_m_Y"])
def test_dates_of_stata_are_dates_however_they_are_shown(tmp_path, shown):
    dates = np.where(GAP, np.nan, 160.0 + np.arange(N) % 50)
    pyreadstat.write_dta(
        CODED.assign(at=dates),
        tmp_path / "a.dta",
        variable_format={"at": shown},
        variable_value_labels=LABELS,
    )
    at = read_table(tmp_path / "a.dta")["at"]
    assert at.isna().tolist() == GAP.tolist()
    assert at[0] == {
        "%-tc": pd.Timestamp("1960-01-01 00:00:00.160"),
        "%-tq": pd.Timestamp("2000-01-01"),
        "%tb": pd.Timedelta("160D"),
    }.get(shown, pd.Timestamp("1960-06-09"))
    assert "not used: at: dates" in looked_at(tmp_path / "a.dta")[1]


@pytest.mark.slow  # of recent pyreadstat and pandas: older ones read and write fewer of them
def test_moments_of_stata_with_leap_seconds_are_read(tmp_path):
    table = CODED.assign(at=1.4e12 + 86_400_000.0 * np.arange(N))
    pyreadstat.write_dta(
        table, tmp_path / "a.dta", variable_format={"at": "%tC"}, variable_value_labels=LABELS
    )
    assert read_table(tmp_path / "a.dta")["at"][0] == pd.Timestamp("1960-01-01") + pd.Timedelta(
        1.4e12, "ms"
    )
    assert "not used: at: dates" in looked_at(tmp_path / "a.dta")[1]


CODES = {
    "fips": [f"{code:02d}" for code in rng.integers(1, 12, N)],
    "nace": rng.choice(["01.1", "01.2", "47.9"], N),
    "isco": rng.choice(["1", "2", "Z"], N),
    "zip": [f"0{code}" for code in rng.integers(1000, 1050, N)],
    "isco4": rng.choice([str(2100 + code) for code in range(50)], N),
}


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".sav"])
def test_codes_as_text_are_levels_and_can_be_synthesized(tmp_path, ending):
    table = PEOPLE.assign(
        **CODES,
        euros=[f"{value:,}" for value in INCOME],
        serial=[f"{value:06d}" for value in rng.permutation(N)],
    )
    path = tmp_path / f"codes{ending}"
    write_table(table, path)
    # which a csv has as numbers
    names = [name for name in CODES if ending != ".csv" or name != "isco4"]
    found = uses(path)
    assert {found[name] for name in names} == {("text", "levels")}
    assert (found["euros"][1], found["serial"][1]) == ("text", "record id")
    study, text, *_ = looked_at(path, "--synthetic", "fips")
    assert (study["scenario"]["categorical"], "turn them into numbers" in text) == (["fips"], False)
    assert set(read_table(path)["fips"]) == set(CODES["fips"])


@pytest.mark.parametrize("file", ["declared.sav", "found.csv", "blank.csv"])
def test_missing_is_a_level_of_what_is_known_and_predicts(tmp_path, file):
    sex = CODED["sex"].astype(int).mask(GAP)
    region = CODED["region"].astype(int).mask(np.arange(N) % 12 == 5)
    codes = {"declared.sav": (9, 9), "found.csv": (-9, 99), "blank.csv": (np.nan, np.nan)}[file]
    table = CODED.assign(sex=sex.fillna(codes[0]), region=region.fillna(codes[1]))
    if file.endswith(".sav"):
        pyreadstat.write_sav(
            table,
            tmp_path / file,
            missing_ranges={"sex": [9], "region": [9]},
            variable_value_labels=LABELS,
        )
    else:
        table.to_csv(tmp_path / file, index=False)
    study, text, *_ = looked_at(tmp_path / file)
    assert set(study["scenario"]["known"]) == {"sex", "region"}
    assert "no column of" not in text
    used = study["synthesizer"]
    assert all(
        name in str(used.get("formula", used.get("predictors"))) for name in ("sex", "region")
    )


def test_a_code_of_a_number_that_predicts_in_a_chain_is_no_amount(tmp_path):
    hours = np.round(INCOME / 1000) + rng.integers(1, 40, N)
    table = PEOPLE.assign(
        income=np.where(GAP, -9, INCOME),
        hours=np.where(np.arange(N) % 9 == 0, 999, hours).astype(int),
    )
    table.to_csv(tmp_path / "a.csv", index=False)
    study, *_ = looked_at(tmp_path / "a.csv", "--synthetic", "hours", "--synthetic", "income")
    assert study["synthesizer"]["variables"]["hours"]["codes"] == [999, "found"]
    chain = build_chain(
        "sequential",
        ["hours", "income"],
        {key: value for key, value in study["synthesizer"].items() if key != "name"},
    )
    recipe = prepare_sequence(chain, table).recipes["hours"]
    assert recipe.indicated == (999.0,)
    assert recipe.mean == pytest.approx(hours[np.arange(N) % 9 != 0].mean())


def test_sorted_amounts_are_amounts_and_serial_numbers_are_not(tmp_path):
    incomes = np.sort(np.round(np.exp(np.random.default_rng(1).normal(9.5, 0.9, 1000))).astype(int))
    steady = np.cumsum(rng.integers(1, 9, 1000))
    table = pd.DataFrame(
        {
            "sex": rng.choice([1, 2], 1000),
            "income": incomes,
            "rent": steady,
            "x": incomes[::-1].cumsum(),
            "order": steady,
        }
    )
    assert 900 < table["income"].nunique() < 1000
    table = table.assign(
        serial=np.arange(1000) + 7,
        pid=rng.permutation(10_000)[:1000],
        text=[f"P{number}" for number in range(1000)],
    )
    found = {column.name: column.kind for column in look_at(table)}
    amounts, keys = ("income", "rent"), ("order", "serial", "text")
    assert {found[name] for name in amounts} == {"number"}
    assert {found[name] for name in keys} == {"record id"}
    table[["sex", "income"]].to_csv(tmp_path / "a.csv", index=False)
    study, *_ = looked_at(tmp_path / "a.csv", "--synthetic", "income")
    assert study["scenario"]["known"] == ["sex"]


def test_numbers_that_are_taken_for_ids_are_amounts_where_somebody_says_so(tmp_path):
    sparse = rng.choice(np.arange(1000, 90_000), N, replace=False)
    table = PEOPLE.assign(
        x=np.sort(sparse),
        row=sparse,
        wage=rng.permutation(N) + 1,
        pin=rng.choice(10**8, N, replace=False) + 10**8,
    )
    table.to_csv(tmp_path / "a.csv", index=False)
    found = uses(tmp_path / "a.csv")
    assert {found[name][1] for name in ("x", "row", "wage", "pin")} == {"record id"}
    for name in ("x", "row"):
        assert (
            looked_at(tmp_path / "a.csv", "--synthetic", name, "--kind", f"{name}=number")[0][
                "scenario"
            ]["synthetic"]
            == name
        )
    refused = CliRunner().invoke(
        app,
        [
            "init",
            str(tmp_path / "a.csv"),
            "--out",
            str(tmp_path / "b.toml"),
            "--synthetic",
            "wage",
        ],
    )
    assert "'wage' cannot be synthesized: record id" in str(refused.exception)


def test_tick_boxes_have_two_levels(tmp_path):
    ticked = {"a": "X", "b": "1", "c": "-7", "d": "yes"}
    boxes = {name: np.where(rng.random(N) < 0.3, mark, "") for name, mark in ticked.items()}
    others = {
        "all": "X",
        "none": np.where(GAP, "0", ""),
        "one": np.where(np.arange(N) == 3, "X", ""),
    }
    PEOPLE.assign(**boxes, **others).to_csv(tmp_path / "a.csv", index=False)
    found = {name: use for name, (_, use) in uses(tmp_path / "a.csv").items()}
    assert {found[name] for name in ticked} == {"levels"}
    assert {found[name] for name in others} == {"constant"}
    study, *_ = looked_at(
        tmp_path / "a.csv", *(word for name in "abc" for word in ("--synthetic", name))
    )
    assert study["scenario"]["synthetic"] == ["a", "b", "c"]


NAMES = {  # by name the formats that take it
    "Größe": {".sav", ".dta"},
    "q1.a": {".sav"},
    "x" * 40: {".sav"},
    "é" * 33: set(),
    "x" * 32: {".sav", ".dta", ".xpt"},
    "_x": {".dta", ".xpt"},
    "long": {".sav", ".xpt"},
    "in": {".sav", ".xpt"},
    "str12": {".sav", ".xpt"},
    "_all": {".xpt"},
    "_N_": {".dta"},
    "by": {".dta", ".xpt"},
    "BY": {".dta", ".xpt"},
    "x.": set(),
    "x$y": {".sav"},
    "a b": set(),
    "1st": set(),
}


@pytest.mark.slow  # of recent pyreadstat and pandas: older ones read and write fewer of them
@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt"])
def test_every_format_has_its_own_names_and_keeps_them(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    for name, formats in NAMES.items():
        assert takes_name(name, ending) == (ending in formats), name
        table = pd.DataFrame({name: [1, 2]})
        if ending in formats:
            write_table(table, path)
            assert list(read_table(path)) == [name]
        else:
            with pytest.raises(InputError, match="cannot name a column"):
                write_table(table, path)


def test_names_that_a_format_cannot_hold_are_said_before_the_run_and_stand_in_no_code(tmp_path):
    table = PEOPLE.rename(columns={"income": "long"}).assign(**{"in": rng.choice([1, 2, 3], N)})
    table.to_csv(tmp_path / "a.csv", index=False)
    looked_at(tmp_path / "a.csv", "--synthetic", "long")
    study = tmp_path / "study.toml"
    study.write_text(study.read_text().replace("columns = []", 'columns = ["in"]'))
    (line,) = (
        line
        for line in CliRunner().invoke(app, ["check", str(study)]).stderr.splitlines()
        if "cannot hold" in line
    )
    assert "'long'" in line
    assert "'in'" in line
    assert ".sav" not in line
    analysis = PublishedAnalysis("mean of long", "long", (), 0, 0.95, (1.0, 0.0, 2.0), 1.0)
    codes, missing = combining_code(analysis, table, {"csv": ["a.csv"]})
    assert ("Stata" in missing, "Python" in codes) == (True, True)


def test_decimals_and_objects_are_numbers_and_a_named_index_is_a_column(tmp_path):
    cents = PEOPLE.assign(income=[Decimal(int(value)) / 100 for value in INCOME])
    cents.set_index(["region", "sex"]).to_parquet(tmp_path / "a.parquet")
    read = read_table(tmp_path / "a.parquet")
    assert list(read) == ["region", "sex", "income"]
    assert read["income"].tolist() == (INCOME / 100).tolist()
    assert set(read_metadata(tmp_path / "a.parquet")) == set(read)
    assert uses(tmp_path / "a.parquet")["income"] == ("number", "number")
    objects = PEOPLE.assign(
        income=pd.Series([*map(float, INCOME[:-1]), None], dtype=object),
        kids=pd.Series([1, 2, 3] * 100, dtype=object),
    )
    made = as_pandas(objects)
    assert (str(made["income"].dtype), str(made["kids"].dtype), objects["income"].dtype) == (
        "float64",
        "int64",
        object,
    )
    assert as_pandas(PEOPLE) is PEOPLE
    with pytest.raises(
        InputError,
        match=r"no column 'sex'; it has 'region', 'income'; of its index reset_index\(\) makes "
        r"columns",
    ):
        require_columns(PEOPLE.set_index("sex"), ["sex"], "the data")
    double = PEOPLE.set_axis(pd.MultiIndex.from_product([["a"], PEOPLE.columns]), axis=1)
    double.to_parquet(tmp_path / "b.parquet")
    for refused in (lambda: as_pandas(double), lambda: read_table(tmp_path / "b.parquet")):
        with pytest.raises(InputError, match="column names of 2 levels"):
            refused()


@pytest.mark.parametrize("mark", [",", ";"])
def test_blank_cells_and_quoted_thousands_are_read(tmp_path, mark):
    cells = [
        "  " if gap else f'"{value:,}"' if mark == "," else f"{value / 4:.2f}".replace(".", ",")
        for gap, value in zip(GAP, INCOME, strict=True)
    ]
    lines = [mark.join(row) for row in zip(SEX, REGION, cells, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join([mark.join(PEOPLE), *lines]))
    study, *_ = looked_at(tmp_path / "a.csv")
    assert study["scenario"]["synthetic"] == "income"
    read = load_study(tmp_path / "study.toml").read_data()["income"]
    assert read.isna().tolist() == GAP.tolist()
    assert (read[~GAP] == INCOME[~GAP] / (1 if mark == "," else 4)).all()


LINES = PEOPLE[:120].to_csv(index=False).splitlines()
ODD = {
    "a total": ([*LINES, "Total,,123456"], "line 122 of the file seems to hold a total"),
    "sums in German": (
        [*LINES, "Summe,,123456", "", "Quelle: Amt"],
        "lines 122, 124 of the file seem to hold a total",
    ),
    "notes": (
        [*LINES, ",,", "Source: office of statistics,,", "* preliminary"],
        "lines 123, 124 of the file seem to hold",
    ),
    "empty": ([*LINES[:50], ",,", *LINES[50:]], "line 51 of the file seems to be empty"),
    "names again": (
        [*LINES[:50], LINES[0], *LINES[50:]],
        "line 51 of the file seems to repeat the column names",
    ),
    "units": ([LINES[0], ",,EUR", *LINES[1:]], "line 2 of the file seems to hold units"),
    "all": ([*LINES, "all,all,123456"], "line 122 of the file seems to hold a total"),
    "a count": ([*LINES, "n,120,"], "line 122 of the file seems to hold a total"),
    "units of every column": (
        [LINES[0], "[text],[text],[EUR]", *LINES[1:]],
        "line 2 of the file seems to hold units",
    ),
    "a first number that is missing": ([LINES[0], "f,west,ask", *LINES[1:]], None),
    "units above decimal commas": (
        ["sex;income", ";EUR", *(f"m;1.23{n},5" for n in range(9))],
        "line 2 of the file seems to hold units",
    ),
    "nothing": (LINES, None),
    "a level that is called so": (
        [LINES[0], *(line.replace("f,", "Total,") for line in LINES[1:])],
        None,
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_lines_that_are_no_records_are_named(tmp_path, monkeypatch, name):
    lines, said = ODD[name]
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("\n".join(lines) + "\n")
    told = odd_lines(Path("a.csv"), guess_layout(Path("a.csv")), MISSING)
    assert (list(told) == []) if said is None else any(said in line for line in told)


def test_init_warns_of_lines_that_are_no_records_without_a_cell_of_them(tmp_path):
    (tmp_path / "a.csv").write_text("\n".join(ODD["a total"][0]) + "\n")
    *_, said, warned = looked_at(tmp_path / "a.csv")
    assert f"warning: {ODD['a total'][1]}" in warned
    assert "123456" not in said + warned


@pytest.mark.parametrize("title", ["Table 1: incomes", "Table 1: incomes,,"])
def test_a_title_above_the_names_is_refused_by_one_line(tmp_path, title):
    (tmp_path / "a.csv").write_text("\n".join([title, *LINES]) + "\n")
    with pytest.raises(InputError, match="take a title out"):
        read_table(tmp_path / "a.csv")
