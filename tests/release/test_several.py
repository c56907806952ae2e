"""A pack of several synthesized variables: what it says, and that a leak in any of them is
found.
"""

import shutil

import numpy as np
import pandas as pd
import pytest
from finished_run import chain_data, finished_chain
from labels import read_label

from riskweighted.common.errors import InputError
from riskweighted.data.io import read_table, write_table
from riskweighted.release.codebook import codebook
from riskweighted.release.contents import Contents
from riskweighted.release.leak_check import check_datasets, check_made, check_pack, gather_secrets
from riskweighted.release.leak_text import problems_in_text
from riskweighted.release.pack import FORMATS, check_release, release_run
from riskweighted.runs.finished import load_run

pytestmark = [pytest.mark.long, pytest.mark.slow]  # the run of a chain alone takes half a minute
VARIABLES = ("marital", "income", "smoke", "cigs")
FILES = [f"data/pairwise/synthetic_pairwise_2.{name}" for name in FORMATS]


@pytest.fixture(scope="module", autouse=True)
def tables_as_they_are():
    """That a run's tables are made again is tried on one that is small (`test_again`): of a chain
    it takes as long as its fits.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "riskweighted.release.pack.refuse_what_is_not_made",
            lambda run, confidential, reporter: None,
        )
        yield


@pytest.fixture(scope="module")
def run():
    return load_run(finished_chain())


@pytest.fixture(scope="module")
def data(run):
    return read_table(run.folder.parent / "data.csv")


@pytest.fixture(scope="module")
def secrets(run, data):
    return gather_secrets(run, data, ["pairwise"])


def found_in(run, secrets, change):
    """What is said of a change of one dataset of the run."""
    planted, frames = run.with_tables(run.tables), list(run.synthetic["pairwise"])
    frames[1] = change(frames[1])
    planted.__dict__["synthetic"] = {**run.synthetic, "pairwise": frames}
    with pytest.raises(InputError, match="nothing was released") as caught:
        check_datasets(
            Contents(planted, planted.synthetic, ("pairwise",), ("csv",), {}, None), secrets
        )
    assert str(caught.value).startswith(f"nothing was released: '{FILES[0]}' is or holds ")
    assert not any(
        str(value) in str(caught.value)
        for value in chain_data()["income"].dropna().unique()
        if value > 0
    )
    return str(caught.value)


@pytest.fixture(scope="module")
def clean(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean") / "pack"
    return release_run(run, folder, schemes=["pairwise"], formats=FORMATS).folder


@pytest.fixture
def pack(clean, tmp_path):
    return shutil.copytree(clean, tmp_path / "pack")


def plant(pack, name, **columns):
    table, label = read_table(pack / name), read_label(pack / name)
    write_table(table.assign(**columns), pack / name, label=label)


def assert_refused(pack, secrets, name, what):
    with pytest.raises(InputError, match=what) as caught:
        check_pack(pack, secrets)
    assert str(caught.value).startswith(f"nothing was released: '{name}' is or holds ")
    assert not any(
        str(value) in str(caught.value)
        for value in chain_data()["income"].dropna().unique()
        if value > 0
    )


def test_the_clean_pack_passes_with_a_row_for_each_variable_of_each_file(clean, run, secrets):
    found = check_pack(clean, secrets)
    assert len(found) == len(VARIABLES) * 3 * len(FORMATS)
    assert (found["equal to the confidential value"] <= found["at most"]).all()
    assert set(found.groupby("file")["variable"].apply(tuple)) == {VARIABLES}
    pd.testing.assert_frame_equal(check_release(clean, run), found)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("variable", VARIABLES)
def test_a_copied_column_is_found_in_every_variable_and_format(pack, secrets, data, name, variable):
    plant(pack, name, **{variable: data[variable]})
    assert_refused(pack, secrets, name, "not what the run makes")


def test_weights_in_place_of_levels_are_no_levels(run, secrets):
    weights = run.weights["pairwise: smoke"].to_numpy()
    assert "missing or no levels" in found_in(
        run, secrets, lambda table: table.assign(smoke=weights)
    )


def test_a_value_may_be_missing_only_where_the_data_have_such(run, secrets):
    assert "missing or no levels" in found_in(
        run, secrets, lambda table: table.assign(smoke=table["smoke"].where(table.index != 7))
    )


@pytest.mark.parametrize("row", [0, 17, 299])
def test_one_planted_record_is_found_since_the_file_is_not_what_the_run_makes(
    pack, run, data, secrets, row
):
    table = read_table(pack / FILES[0])
    table.loc[row, list(VARIABLES)] = data.loc[row, list(VARIABLES)]
    write_table(table, pack / FILES[0])
    with pytest.raises(InputError, match="not what the run makes"):
        check_made(pack, run, secrets.leaving, None)


def test_rows_put_in_or_left_out_and_another_order_of_columns_are_refused(pack, run, secrets, data):
    table = read_table(pack / FILES[0])
    for act, what in (
        (lambda table: pd.concat([table, data[table.columns].head(1)]), "301 rows"),
        (lambda table: table.head(299), "299 rows"),
        (lambda table: table[table.columns[::-1]], "other columns"),
    ):
        assert what in found_in(run, secrets, act)
        write_table(act(table), pack / FILES[0])
        assert_refused(pack, secrets, FILES[0], "not what the run makes")


def test_no_text_may_list_a_variable_with_or_without_its_codes(secrets, data):
    income = data["income"].dropna()
    for listed in (income, income[income > 0]):
        assert any(
            "income" in found
            for found in problems_in_text(
                "\n".join(f"{value:g}x" for value in listed).replace("x", ""), secrets.text
            )
        )


def test_the_pages_say_what_is_synthetic_and_what_differs(clean):
    book = pd.read_csv(clean / "codebook.csv").set_index("variable")
    assert book["status"].to_dict() == {
        "region": "unaltered",
        **dict.fromkeys(VARIABLES, "synthesized"),
    }
    assert "special codes, no amounts: -8" in book.loc["income", "values"]
    assert "differs by dataset" in book.loc["income", "missing"]
    assert book.loc["smoke", ["values", "missing"]].tolist() == ["NO; YES", "0"]
    for page in ("README.md", "how_to_combine.md", "sign_off.md", "data/pairwise/README.txt"):
        assert "marital, income, smoke, cigs" in (clean / page).read_text(), page
    assert "No code is given here" in (clean / "how_to_combine.md").read_text()


def test_a_codebook_of_codes_by_hand():
    first = pd.DataFrame({"y": [1.0, 2.0, 3.0, -8.0, np.nan]})
    second = pd.DataFrame({"y": [1.0, 2.0, 3.0, -8.0, 4.0]})
    book = codebook([first, second], ["y"], None, {"y": (-8.0, -9.0)}).set_index("variable")
    assert (
        book.loc["y", "values"]
        == "90 % of the synthetic amounts lie between 1 and 3.7; special codes, no amounts: -8"
    )
    assert book.loc["y", "missing"] == "0 to 1, differs by dataset"
    assert codebook([first, first], ["y"]).loc[0, "missing"] == 1


def test_other_data_than_the_run_s_are_refused(run, data):
    with pytest.raises(InputError):
        gather_secrets(run, data.assign(income=data["income"] * 2), ["pairwise"])
