"""Each kind of leak, planted in each kind of file of a pack, is refused; clean packs pass."""

import base64
import io
import itertools
import json
import pickle
import re
import shutil
import tempfile
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest
from finished_run import confidential_data, copied_run, finished_run
from hypothesis import given, settings, strategies as st
from labels import read_label

from riskweighted.common.errors import InputError
from riskweighted.common.fingerprints import file_hash
from riskweighted.common.text import significant_digits
from riskweighted.data.io import read_table, write_table
from riskweighted.release.contents import Contents
from riskweighted.release.leak_check import check_datasets, check_made, check_pack, gather_secrets
from riskweighted.release.leak_text import make_text_secrets, problems_in_text
from riskweighted.release.pack import FORMATS, check_release, release_run
from riskweighted.release.released_datasets import leaving_datasets
from riskweighted.runs.finished import load_run

TEXTS = [
    "README.md", "codebook.md", "codebook.csv", "how_to_combine.md",
    "combine.py", "combine.R", "combine.sas", "combine.do",
    "report.html", "sign_off.md", "methods.md", "manifest.json", "data/pairwise/README.txt",
]  # fmt: skip
DATA = [f"data/pairwise/synthetic_pairwise_2.{name}" for name in FORMATS]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)


def make_report(run):
    picture = base64.b64encode(PNG).decode()
    return (
        f'<html><img src="data:image/png;base64,{picture}">'
        "<table><tr><td>0.5</td><td>1,024</td></tr></table></html>"
    )


@pytest.fixture(scope="module")
def run():
    return load_run(finished_run())


@pytest.fixture(scope="module")
def secrets(run):
    return gather_secrets(run, confidential_data(), ["pairwise"], make_report)


def leaving(run):
    """Its datasets as they leave."""
    return {scheme: leaving_datasets(run, confidential_data(), scheme) for scheme in ["pairwise"]}


def assert_found(run, secrets, change, what, place=1):
    """That a change of one dataset of the run is found in what the run makes."""
    planted, frames = run.with_tables(run.tables), list(run.synthetic["pairwise"])
    frames[place] = change(frames[place])
    planted.__dict__["synthetic"] = {**run.synthetic, "pairwise": frames}
    contents = Contents(planted, planted.synthetic, ("pairwise",), ("csv",), {}, None)
    with pytest.raises(InputError, match=what) as caught:
        check_datasets(contents, secrets)
    assert str(caught.value).startswith(
        f"nothing was released: 'data/pairwise/synthetic_pairwise_{place + 1}.csv' is or holds "
    )
    for value in confidential_data()["income"].head(20):
        assert str(value) not in str(caught.value)


@pytest.fixture(scope="module")
def clean(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean") / "pack"
    return release_run(
        run, folder, schemes=["pairwise"], formats=FORMATS, report=make_report
    ).folder


@pytest.fixture
def pack(clean, tmp_path):
    return shutil.copytree(clean, tmp_path / "pack")


def assert_refused(pack, secrets, name, what="nothing was released"):
    with pytest.raises(InputError, match=what) as caught:
        check_pack(pack, secrets)
    assert str(caught.value).startswith(f"nothing was released: '{name}' is or holds ")
    for value in confidential_data()["income"].head(20):
        assert str(value) not in str(caught.value)


@pytest.mark.slow
def test_the_clean_pack_passes_and_holds_every_kind_of_file(clean, secrets):
    found = check_pack(clean, secrets)
    assert len(found) == 3 * len(FORMATS)
    assert (found["equal to the confidential value"] == 0).all()
    assert {path.relative_to(clean).as_posix() for path in clean.rglob("*") if path.is_file()} >= {
        *TEXTS,
        *DATA,
    }


def planted_text(kind, secrets):
    income, alpha = confidential_data()["income"], secrets.run.weights["pairwise"]
    risk = secrets.run.records["pairwise"]
    return {
        "one value": f"the largest is {income.max()}",
        "one value, grouped": f"{income.max():,}",
        "one value, escaped": f"{income[7]}".replace(".", "&#46;"),
        "weights": alpha.head(30).to_csv(),
        "risks as JSON": json.dumps(
            [{"id": i, "group": "a", "risk": value} for i, value in risk.head(40).items()]
        ),
        "values in a table": confidential_data().head(25).to_html(),
        "posterior draws": " ".join(
            map(
                repr,
                load_run(finished_run()).posteriors["pairwise"]["sigma"].values[0, :8].tolist(),
            )
        ),
        "pickle": base64.b64encode(pickle.dumps(income.to_numpy())).decode(),
        "csv in base64": base64.b64encode(income.head(30).to_csv().encode()).decode(),
        "download": "data:text/csv;charset=utf-8," + income.head(30).to_csv().replace("\n", "%0A"),
        "file behind an address": "data:application/octet-stream;base64,"
        + base64.b64encode(b"x" * 60).decode(),
        "more after a picture": "data:image/png;base64,"
        + base64.b64encode(PNG + income.to_numpy().tobytes()).decode(),
    }[kind]


KINDS = [
    "one value", "one value, grouped", "one value, escaped", "weights", "risks as JSON",
    "values in a table", "posterior draws", "pickle", "csv in base64", "download",
    "file behind an address", "more after a picture",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_leak_in_a_text_is_found_whoever_made_the_text(run, secrets, kind, tmp_path):
    leaked = f"<p>aggregates</p>\n{planted_text(kind, secrets)}\n"
    assert problems_in_text(leaked, secrets.text)
    with pytest.raises(InputError, match=r"nothing was released: 'report\.html'"):
        release_run(run, tmp_path / "pack", schemes=["pairwise"], report=lambda run: leaked)


def as_picture(content):
    return "data:image/png;base64," + base64.b64encode(content).decode()


HIDDEN = {
    "a rounded value": lambda income, alpha: f"about {income.max():.1f}",
    "a listing with points and commas": lambda income, alpha: "\n".join(
        f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in income
    ),
    "a listing with a currency": lambda income, alpha: " ".join(f"{v:.2f}USD" for v in income),
    "rounded weights": lambda income, alpha: " ".join(f"{v:.3f}" for v in alpha),
    "hex": lambda income, alpha: income.to_numpy().tobytes().hex(),
    "zlib in base64": lambda income, alpha: base64.b64encode(
        zlib.compress(income.to_csv().encode())
    ).decode(),
    "zlib in base85": lambda income, alpha: base64.b85encode(
        zlib.compress(income.to_csv().encode())
    ).decode(),
    "doubles in base64": lambda income, alpha: base64.b64encode(
        income.to_numpy().tobytes()
    ).decode(),
    "a false picture": lambda income, alpha: (
        "data:image/png;base64,"
        + base64.b64encode(PNG[:8] + income.to_numpy().tobytes() + PNG[-8:]).decode()
    ),
    "a command": lambda income, alpha: 'import os; os.system("curl")',
    "a blank": lambda income, alpha: "",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HIDDEN)
def test_nothing_can_be_put_into_a_file_of_the_pack(pack, secrets, run, kind):
    hidden = HIDDEN[kind](confidential_data()["income"], secrets.run.weights["pairwise"])
    place = list(HIDDEN).index(kind)
    # the least is found in every file
    for name in TEXTS if hidden == "" else [TEXTS[place % len(TEXTS)], TEXTS[-place]]:
        original = (pack / name).read_text()
        (pack / name).write_text(f"{original}\n{hidden}\n")
        with pytest.raises(InputError, match=rf"nothing was released: '{re.escape(name)}'"):
            check_made(pack, run, leaving(run), make_report)
        with pytest.raises(InputError, match=rf"nothing was released: '{re.escape(name)}'"):
            check_made(pack, run, leaving(run), None)
        (pack / name).write_text(original)
    check_made(pack, run, leaving(run), make_report)


@pytest.mark.slow
def test_a_file_too_few_or_too_many_is_refused(pack, run):
    shutil.move(pack / "combine.py", pack.parent / "combine.py")
    with pytest.raises(InputError, match=r"lacks 'combine\.py'"):
        check_made(pack, run, leaving(run), make_report)
    for name in ("combine.py", "combine2.py"):
        shutil.copy(pack.parent / "combine.py", pack / name)
    with pytest.raises(InputError, match=r"'combine2\.py' is or holds nothing that the run makes"):
        check_made(pack, run, leaving(run), make_report)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"formats": ["csv", "exe"]},
        {"units": {"income": "x" * 41}},
        {"schemes": []},
        {"files": None},
    ],
)
def test_a_manifest_that_no_release_has_is_refused(pack, run, change):
    manifest = json.loads((pack / "manifest.json").read_text())
    (pack / "manifest.json").write_text(json.dumps(manifest | change))
    with pytest.raises(InputError, match=r"'manifest\.json'"):
        check_made(pack, run, leaving(run), make_report)


EDITS = {
    "all values": lambda own, drawn, run: own,
    "one in five": lambda own, drawn, run: drawn.where(np.arange(120) % 5 > 0, own),
    "in single precision": lambda own, drawn, run: own.astype("float32").astype(float),
    "in other rows": lambda own, drawn, run: own.sample(frac=1, random_state=1).reset_index(
        drop=True
    ),
    "twenty in other rows": lambda own, drawn, run: drawn.where(
        np.arange(120) >= 20, own.to_numpy()[::-1]
    ),
    "their order": lambda own, drawn, run: np.log(own) * 1e9,
    "weights": lambda own, drawn, run: run.weights["pairwise"],
    "risks": lambda own, drawn, run: run.records["confidential"] * 7 + 1,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", EDITS)
def test_a_run_whose_datasets_its_fit_does_not_draw_is_refused_whoever_s_model_it_is(
    tmp_path, run, kind, monkeypatch
):
    folder, data = copied_run(tmp_path), confidential_data()
    name = "synthetic/pairwise/synthetic_2.csv"
    table = read_table(folder / name)
    write_table(
        table.assign(income=np.asarray(EDITS[kind](data["income"], table["income"], run))),
        folder / name,
    )
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = file_hash(folder / name)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(
        InputError, match=r"'synthetic/pairwise/synthetic_2\.csv' of the run is not what its fits"
    ):
        release_run(folder, tmp_path / "pack", schemes=["pairwise"])
    monkeypatch.setattr("riskweighted.release.sensitive.is_strange", lambda synthesizer: True)
    with pytest.raises(
        InputError, match=r"'synthetic/pairwise/synthetic_2\.csv' of the run is not what its fits"
    ):
        gather_secrets(load_run(folder), data, ["pairwise"])


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("step", [1, 5, 119])
def test_a_leak_put_into_the_synthesized_column_of_a_file_is_found(pack, secrets, name, step):
    """All confidential values, one in five, and two."""
    table = read_table(pack / name)
    leaked = table["income"].where(np.arange(120) % step > 0, confidential_data()["income"])
    write_table(table.assign(income=leaked), pack / name, label=read_label(pack / name))
    assert_refused(pack, secrets, name, "not what the run makes")


BESIDE = [
    (lambda table, own: table.assign(extra=own["income"]), "other columns"),
    (lambda table, own: table.assign(size=own["income"]), "unaltered columns"),
    (
        lambda table, own: table.assign(size=table["size"].where(table.index != 7, 9)),
        "unaltered columns",
    ),
    (lambda table, own: table.assign(group=own["income"].map(str)), "unaltered columns"),
    (lambda table, own: pd.concat([table, own.head(1)]), "121 rows"),
    (lambda table, own: table.head(119), "119 rows"),
    (
        lambda table, own: table.rename(
            columns={"income": "v_" + str(own["income"][0]).replace(".", "_")}
        ),
        "other columns",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
def test_a_leak_beside_the_synthesized_column_is_found(pack, secrets, name):
    table = read_table(pack / name)
    label = read_label(pack / name)
    own = confidential_data().drop(columns="id")
    original = (pack / name).read_bytes()
    for act, _ in BESIDE:
        write_table(act(table, own), pack / name, label=label)
        assert_refused(pack, secrets, name, "not what the run makes")
    (pack / name).write_bytes(original + own["income"].to_numpy().tobytes())
    assert_refused(pack, secrets, name)
    if not name.endswith("csv"):
        write_table(table, pack / name, label=f"top {own['income'].max()}")
        assert_refused(pack, secrets, name, "not what the run makes")


@pytest.mark.slow
@pytest.mark.parametrize(("act", "what"), BESIDE)
def test_a_leak_beside_the_synthesized_column_of_what_the_run_makes_is_found(
    run, secrets, act, what
):
    own = confidential_data().drop(columns="id")
    assert_found(run, secrets, lambda table: act(table, own), what)


@pytest.mark.slow
def test_metadata_that_our_writer_does_not_make_is_found(pack, secrets):
    import pyarrow.parquet as pq

    name = "data/pairwise/synthetic_pairwise_1.parquet"
    arrow = pq.read_table(pack / name)
    hidden = {**arrow.schema.metadata, b"note": confidential_data()["income"].to_csv().encode()}
    pq.write_table(arrow.replace_schema_metadata(hidden), pack / name)
    assert_refused(pack, secrets, name, "not what the run makes")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "weights.csv",
        "data/pairwise/weights.csv",
        "data/pairwise/synthetic_marginal_1.csv",
        "posterior.nc",
        ".hidden",
        "report.html/x",
        "data/x.txt",
    ],
)
def test_a_file_that_the_run_does_not_make_is_refused(pack, secrets, name):
    if name.startswith("report"):
        (pack / "report.html").unlink()
    (pack / name).parent.mkdir(exist_ok=True)
    (pack / name).write_text("harmless")
    assert_refused(pack, secrets, name, "nothing that the run makes")


@pytest.mark.slow
def test_other_schemes_links_and_files_in_disguise_are_refused(pack, secrets, run):
    (pack / "data" / "unweighted").mkdir()
    extra = pack / "data" / "unweighted" / "synthetic_unweighted_1.csv"
    shutil.copy(run.folder / "synthetic" / "unweighted" / "synthetic_1.csv", extra)
    assert_refused(
        pack, secrets, "data/unweighted/synthetic_unweighted_1.csv", "nothing that the run makes"
    )
    shutil.rmtree(extra.parent)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("w.csv", "1")
    posterior = run.posterior_path("pairwise").read_bytes()
    disguises = itertools.cycle(
        [posterior, pickle.dumps([1.5]), archive.getvalue(), b"\x89HDF\r\n\x1a\n"]
    )
    for name in (*TEXTS, *DATA):
        original = (pack / name).read_bytes()
        (pack / name).write_bytes(next(disguises))
        assert_refused(pack, secrets, name)
        (pack / name).unlink()
        (pack / name).symlink_to(finished_run() / "README.txt")
        assert_refused(pack, secrets, name, "no file of its own")
        (pack / name).unlink()
        (pack / name).write_bytes(original)
    check_pack(pack, secrets)


@settings(max_examples=50)
@given(st.data())
def test_short_counts_are_found_in_order_alone_and_in_tables(data):
    counts = np.random.default_rng(data.draw(st.integers(0, 1000))).poisson(9, 200).astype(float)
    secrets = make_text_secrets({"count": counts}, {}, np.empty(0), np.empty(0))
    start, columns = data.draw(st.integers(0, 170)), data.draw(st.integers(0, 6))
    rows = [
        ", ".join(["17", *["3"] * columns, f"{int(count)}"][-columns - 1 :])
        for count in counts[start : start + 25]
    ]
    assert problems_in_text("a listing\n" + "\n".join(rows), secrets) == [
        "values of count in the order of the records"
    ]
    shuffled = np.random.default_rng(1).permutation(counts).astype(int)
    assert problems_in_text(" ".join(map(str, shuffled)), secrets) == []


def test_digits_are_counted_by_hand():
    assert [
        significant_digits(x) for x in (0.0, 100000.0, 98765.4321, 0.00123, 1e-20, 1 / 3, -17.168)
    ] == [0, 1, 9, 3, 1, 15, 5]


def test_aggregates_of_the_tables_and_common_numbers_are_no_leak():
    risks = np.array([1 / 3, 2 / 3, 0.123456, 0.234567, 0.345678, 0.456789, 0.567891, 0.678912])
    values = np.array([123456.0, 123457.0, 250000.0, 17.5, 17.5, 987654.321])
    secrets = make_text_secrets({"y": values}, {"risk": risks}, np.empty(0), published=risks[:4])
    assert (
        problems_in_text(
            " ".join(map(repr, risks[:4].tolist()))
            + " 0.345678 0.456789 250000 17.5 2026-11-21 v987654.3210",
            secrets,
        )
        == []
    )
    assert problems_in_text("987654.3210", secrets) == [
        "1 confidential values of the sensitive variable"
    ]
    assert problems_in_text("(-123,456.0)", secrets) == [
        "1 confidential values of the sensitive variable"
    ]


def test_values_that_fill_their_range_cannot_be_told_from_others():
    everywhere = np.arange(100_000.0, 110_000.0)  # one in 90 numbers of 6 digits
    assert len(make_text_secrets({"y": everywhere}, {}, np.empty(0), np.empty(0)).unmistakable) == 0


@pytest.mark.slow
def test_a_pack_of_a_scheme_that_is_not_released_is_refused(run, secrets, tmp_path):
    other = release_run(run, tmp_path / "pack", schemes=["unweighted"], report=make_report).folder
    assert_refused(
        other,
        secrets,
        "data/unweighted/synthetic_unweighted_1.csv",
        "a scheme that is not released",
    )


def swapped(table, other, own):
    return table.iloc[[1, 0, *range(2, len(table))]].reset_index(drop=True)


ONE_FILE = {
    "one altered cell": lambda table, other, own: table.assign(
        size=table["size"].where(table.index != 7, 9)
    ),
    "two rows swapped": swapped,
    "two synthesized cells swapped": lambda table, other, own: table.assign(
        income=swapped(table, other, own)["income"]
    ),
    "another dataset's column": lambda table, other, own: table.assign(income=other["income"]),
    "one confidential value": lambda table, other, own: table.assign(
        income=table["income"].where(table.index != 7, own["income"])
    ),
    "all confidential values": lambda table, other, own: table.assign(income=own["income"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("change", ONE_FILE)
def test_a_change_in_one_file_among_clean_ones_is_found(pack, secrets, change, ending):
    name = f"data/pairwise/synthetic_pairwise_3.{ending}"
    table, other = (
        read_table(pack / file) for file in (name, f"data/pairwise/synthetic_pairwise_1.{ending}")
    )
    write_table(
        ONE_FILE[change](table, other, confidential_data()),
        pack / name,
        label=read_label(pack / name),
    )
    assert_refused(pack, secrets, name, "not what the run makes")


def test_where_a_measure_is_not_installed_the_message_names_it(run, tmp_path, monkeypatch):
    # what is held against a pack lies in a folder of the run's owner
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    utility = run.tables["utility"]
    row = utility.iloc[:1].assign(key="a-stranger", measure="a stranger")
    with_it = run.with_tables(
        {**run.tables, "utility": pd.concat([utility, row], ignore_index=True)}
    )
    with pytest.raises(
        InputError, match=r"the run holds the measure 'a-stranger', which no installed"
    ) as caught:
        release_run(
            with_it, tmp_path / "none", schemes=["pairwise"], confidential=confidential_data()
        )
    assert "\n" not in str(caught.value)
    pack = release_run(
        run,
        tmp_path / "pack",
        schemes=["pairwise"],
        confidential=confidential_data(),
        report=make_report,
    )
    with pytest.raises(InputError, match=r"is or holds not what the run makes$"):
        check_release(
            pack.folder,
            run,
            confidential=confidential_data(),
            report=lambda one: make_report(one).replace("1,024", "-"),
        )
