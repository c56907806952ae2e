"""The simulation study and the fair comparison: published numbers as printed, z-scores and
interpolation by hand.
"""

import hashlib
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shared_data import FOLDER

from riskweighted import Sampling, Scenario, load_synthesizer, marginal_weights, pairwise_weights
from riskweighted.common.errors import InputError

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


def load(path: Path):
    spec = importlib.util.spec_from_file_location(f"experiment_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


replicate = load(EXPERIMENTS / "simulation" / "replicate.py")
fair = load(EXPERIMENTS / "fair_comparison.py")
from experiments.pages import part_of, table_of, write_part  # noqa: E402

OUR_COPY = EXPERIMENTS / "simulation_data" / "nb_mixture_n1000.csv"


def test_our_copy_is_the_data_that_was_given():
    data = pd.read_csv(OUR_COPY)
    assert list(data) == ["outcome"]
    assert len(data) == 1000
    # of the mean of 1000 bootstrap means
    monte_carlo = data["outcome"].std() / np.sqrt(1000 * 1000)
    assert abs(data["outcome"].mean() - 100.70) < 3 * monte_carlo  # Table 6, row D
    original = FOLDER / OUR_COPY.name
    if original.is_file():
        assert (
            hashlib.sha256(original.read_bytes()).digest()
            == hashlib.sha256(OUR_COPY.read_bytes()).digest()
        )


def test_published_numbers_are_complete():
    table = replicate.load_published()
    assert table.groupby("table").size().to_dict() == {5: 5 * 2, 6: 11 * 8}
    assert not table.duplicated(["table", "scheme", "radius", "L", "measure", "statistic"]).any()
    assert set(table["unit"].round(6)) == {0.0001, 0.01}


@pytest.mark.quick
def test_published_lengths_are_those_of_the_published_intervals():
    place = ["scheme", "L", "measure"]
    wide = (
        replicate.load_published()
        .query("table == 6")
        .fillna({"L": 0})
        .pivot(index=place, columns="statistic", values="published")
    )
    assert len(wide) == 22
    # each is rounded by itself
    assert ((wide["upper"] - wide["lower"] - wide["length"]).abs() <= 0.0151).all()
    assert wide["value"].between(wide["lower"], wide["upper"]).all()


def test_published_numbers_stand_in_the_paper():
    papers = sorted((FOLDER.parent / "seeds").glob("003_*"))
    if not papers:
        pytest.skip(
            "the paper's text is not there: it lies in ../shared/seeds beside the checkout and "
            "is not published with it"
        )
    text = papers[0].read_text(encoding="utf-8")
    table = pd.read_csv(EXPERIMENTS / "simulation" / "published.csv", dtype=str).fillna("")
    six = table[table["table"] == "6"]
    letters = {"confidential": "D", "unweighted": "S", "marginal": "M"}
    for (scheme, size), rows in six.groupby(["scheme", "L"]):
        numbers = rows.set_index(["measure", "statistic"])["published"]
        halves = []
        for measure in ("mean", "median"):
            value, lower, upper, length = (
                numbers[measure, statistic] for statistic in ("value", "lower", "upper", "length")
            )
            halves.append(f"{value} [{lower}, {upper}] {length}")
        name = letters[scheme] + (rf" \(L={size}[^)]*\)" if size else "")
        assert re.search(rf"^{name} {re.escape(' '.join(halves))}$", text, re.MULTILINE), (
            scheme,
            size,
        )
    for (scheme, radius), rows in table[table["table"] == "5"].groupby(["scheme", "radius"]):
        numbers = rows.set_index("measure")["published"]
        name = "Synthesizer" if scheme == "unweighted" else rf"r={float(radius):.0%}\S*"
        pattern = rf"^{name} {numbers['U_m']} {numbers['U_a']}$".replace("%", r".?%")
        assert re.search(pattern, text, re.MULTILINE), (scheme, radius)


def numbers_of(values, **place):
    base = {
        "table": 5,
        "scheme": "marginal",
        "radius": 0.3,
        "L": 20.0,
        "measure": "U_m",
        "statistic": "value",
    } | place
    return pd.DataFrame(
        [{**base, "repetition": k, "value": value} for k, value in enumerate(values, start=1)]
    )


def published(value, unit=1e-9, **place):
    return (
        numbers_of([value], **place)
        .drop(columns=["repetition", "value"])
        .assign(published=value, unit=unit)
    )


@pytest.mark.quick
def test_z_score_by_hand():
    ours = numbers_of([1.0, 2.0, 3.0])  # mean 2, sd 1
    row = replicate.compare(ours, published(4.0)).loc[0]
    assert (row["mean"], row["sd"], row["repetitions"], round(row["z"], 6), row["flagged"]) == (
        2,
        1,
        3,
        2,
        False,
    )
    # of three repetitions the limit is that of t with two degrees of freedom, and of a new draw
    assert replicate.limit(3) == pytest.approx(stats.t.isf(stats.norm.sf(3), 2) * np.sqrt(4 / 3))
    assert not replicate.compare(ours, published(-20.0)).loc[0, "flagged"]
    assert replicate.compare(ours, published(-21.0)).loc[0, "flagged"]
    many = numbers_of(np.tile([1.0, 2.0, 3.0], 8))
    assert replicate.compare(many, published(-1.0)).loc[0, "flagged"]
    # Rounding to whole numbers adds a variance of 1/12.
    assert replicate.compare(ours, published(4.0, unit=1.0)).loc[0, "z"] == pytest.approx(
        2 / np.sqrt(1 + 1 / 12)
    )


def test_scheme_without_published_number_has_no_z_and_an_unmatched_number_stays_visible():
    ours = pd.concat([numbers_of([1.0, 2.0]), numbers_of([5.0, 7.0], scheme="pairwise")])
    table = replicate.compare(
        ours, pd.concat([published(1.0), published(9.0, radius=0.1)])
    ).set_index(["scheme", "radius"])
    assert np.isnan(table.loc[("pairwise", 0.3), "z"])
    assert not table.loc[("pairwise", 0.3), "flagged"]
    assert np.isnan(table.loc[("marginal", 0.1), "mean"])
    assert "6.0000 (1.4142)" in replicate.to_markdown(table.reset_index())


@pytest.mark.quick
def test_our_values_by_hand():
    common = {"repetition": 1, "lower": 1.0, "upper": 4.0}
    mean, distance = (
        {"measure": name, "key": key, "parameter": np.nan}
        for name, key in (("mean", "mean"), ("U_m", "ecdf-maximum"))
    )
    rows = [
        {"scheme": "unweighted", "radius": 0.2, "L": 20, **mean, "value": 2.0, **common},
        # Table 6 is of r = 20 %
        {"scheme": "unweighted", "radius": 0.3, "L": 20, **mean, "value": 9.0, **common},
        {"scheme": "unweighted", "radius": 0.2, "L": 20, **distance, "value": 0.5, **common},
        # the same number again
        {"scheme": "unweighted", "radius": 0.3, "L": 20, **distance, "value": 0.5, **common},
        {"scheme": "marginal", "radius": 0.3, "L": 20, **distance, "value": 0.7, **common},
        # Table 5 is of L = 20
        {"scheme": "marginal", "radius": 0.2, "L": 5, **distance, "value": 0.8, **common},
    ]
    table = replicate.our_values(pd.DataFrame(rows))
    five = table[table["table"] == 5].set_index("scheme")["value"]
    assert five.to_dict() == {"unweighted": 0.5, "marginal": 0.7}
    six = table[table["table"] == 6].set_index("statistic")["value"]
    assert six.to_dict() == {"value": 2.0, "lower": 1.0, "upper": 4.0, "length": 3.0}
    assert table.loc[table["scheme"] == "unweighted", "radius"].isna().all()


@pytest.mark.parametrize(
    ("level", "expected"),
    [(0.5, 5.0), (1.0, 10.0), (2.0, 30.0), (1.5, 20.0), (0.0, 0.0), (2.1, np.nan), (-0.1, np.nan)],
)
def test_value_at_by_hand(level, expected):
    np.testing.assert_equal(
        fair.value_at(np.array([0.0, 1.0, 2.0]), np.array([0.0, 10.0, 30.0]), level), expected
    )


def test_value_at_takes_the_last_meeting_of_a_curve_that_turns():
    assert fair.value_at(np.array([0.0, 2.0, 0.0]), np.array([0.0, 1.0, 2.0]), 1.0) == 1.5


def curves(points):
    """points: (scheme, scale, repetition, mean weight, U_m)."""
    rows = []
    for scheme, scale, repetition, weight, distance in points:
        place = {"scheme": scheme, "scale": scale, "repetition": repetition, "converged": True}
        rows += [
            {**place, "measure": fair.MEAN_WEIGHT, "value": weight},
            {**place, "measure": "U_m", "value": distance},
        ]
    return pd.DataFrame(rows)


@pytest.mark.quick
def test_schemes_at_equal_weight_by_hand():
    table = curves(
        [
            *[
                ("a", 1, 1, 0.2, 8.0),
                ("a", 2, 1, 0.4, 4.0),
                ("a", 1, 2, 0.2, 10.0),
                ("a", 2, 2, 0.4, 6.0),
            ],
            *[
                ("b", 1, 1, 0.3, 1.0),
                ("b", 2, 1, 0.6, 0.0),
                ("b", 1, 2, 0.5, 1.0),
                ("b", 2, 2, 0.6, 0.0),
            ],
        ]
    )
    found = fair.at_equal(table, fair.MEAN_WEIGHT, [0.3], ["U_m", "scale"]).set_index("scheme")
    assert found.loc["a", "U_m"] == pytest.approx(7.0)  # 6 and 8
    assert found.loc["a", "U_m sd"] == pytest.approx(np.sqrt(2))
    assert found.loc["a", "scale"] == pytest.approx(1.5)
    assert np.isnan(found.loc["b", "U_m"])  # repetition 2 never comes down to 0.3


def test_an_unknown_measure_is_refused_with_the_valid_ones():
    with pytest.raises(InputError, match="no measure 'mean wait'; valid are 'mean weight', 'U_m'"):
        fair.interpolate_curve(curves([("a", 1, 1, 0.2, 8.0)]), "mean wait", [0.1])


def small_data():
    return pd.DataFrame({"outcome": np.random.default_rng(5).negative_binomial(5, 0.05, 80)})


@pytest.mark.parametrize(
    ("scheme", "weights"), [("marginal", marginal_weights), ("pairwise", pairwise_weights)]
)
def test_scaled_weights(scheme, weights):
    data, scenario = small_data(), Scenario(synthetic="outcome")
    alpha = weights(data, scenario)
    found = fair.scaled_weights(scheme, data, scenario, [2.0, 0.5])
    assert list(found) == [0.5, 2.0]
    np.testing.assert_allclose(found[0.5], 0.5 * alpha)
    np.testing.assert_allclose(found[2.0], np.minimum(1, 2 * alpha))
    assert (fair.scaled_weights("uniform", data, scenario, [0.25])[0.25] == 0.25).all()


@pytest.mark.parametrize("scales", [[], [1.0, 1.0], [0.0, 1.0]])
def test_bad_scales_are_refused(scales):
    with pytest.raises(InputError, match="scales must be different numbers above 0"):
        fair.scaled_weights("uniform", small_data(), Scenario(synthetic="outcome"), scales)


@pytest.mark.long
@pytest.mark.slow
# that is where the curves end
@pytest.mark.filterwarnings("ignore::riskweighted.common.errors.FlatWeightsWarning")
def test_curves_end_at_the_unweighted_synthesizer():
    data, scenario = small_data(), Scenario(synthetic="outcome")
    synthesizer = load_synthesizer("negative-binomial")("outcome ~ 1")
    short = Sampling(draws=60, tune=100, chains=2, cores=1)
    table = fair.risk_utility_curves(
        data,
        scenario,
        synthesizer,
        schemes=["uniform", "marginal"],
        scales=[0.5, 1e6],
        repetitions=2,
        L=3,
        sampling=short,
        resamples=20,
    )
    wide = table.pivot(index=["scheme", "scale", "repetition"], columns="measure", values="value")
    assert len(wide) == 8
    assert wide.notna().all().all()
    last = wide.xs(1e6, level="scale")
    pd.testing.assert_frame_equal(last.loc["uniform"], last.loc["marginal"])
    assert (last["whack-a-mole records"] == 0).all()
    assert (last[fair.MEAN_WEIGHT] == 1).all()
    assert (wide.xs(0.5, level="scale").loc["uniform", fair.MEAN_WEIGHT] == 0.5).all()
    alpha = {"half": pd.Series(0.5, data.index)}
    counts = fair.whacked_records(
        data, scenario, synthesizer, alpha, L=20, sampling=short, increases=[1e-9, 0.999]
    )
    assert list(counts["label"]) == ["unweighted again", "half"]
    assert (counts["rise >= 1e-09"] + counts["fall >= 1e-09"] <= len(data)).all()
    assert (counts["rise >= 0.999"] == 0).all()


@pytest.mark.long
@pytest.mark.slow
def test_one_repetition_of_both_sweeps(tmp_path, monkeypatch):
    for name in replicate.SWEEPS:
        text = (EXPERIMENTS / "simulation" / f"{name}.toml").read_text(encoding="utf-8")
        text = (
            text.replace("[30, 20, 10, 5, 1]", "[20, 1]")
            .replace("[0.30, 0.25, 0.15]", "[0.30]")
            .replace('"../', f'"{EXPERIMENTS}/')
        )
        (tmp_path / f"{name}.toml").write_text(
            text + "\n[study.sampling]\ndraws = 60\ntune = 100\nchains = 2\n", encoding="utf-8"
        )
    monkeypatch.setattr(replicate, "HERE", tmp_path)
    results = replicate.run_sweeps(tmp_path / "out", 1, workers=1)
    # read, not made again
    pd.testing.assert_frame_equal(
        replicate.run_sweeps(tmp_path / "out", 1, workers=1), results, check_dtype=False
    )
    with pytest.raises(
        InputError, match="was made with other inputs: they differ in 'repetitions'"
    ):
        replicate.run_sweeps(tmp_path / "out", 2, workers=1)
    monkeypatch.undo()
    table = replicate.compare(replicate.our_values(results), replicate.load_published())
    found = table[table["mean"].notna() & table["published"].notna()]
    # Table 5: the Synthesizer and r = 30, 20 %; Table 6: D, and S and M at L = 20 and 1.
    assert found.groupby("table").size().to_dict() == {5: 3 * 2, 6: 5 * 8}
    close = found[(found["measure"] == "mean") & (found["statistic"] == "value")]
    # one short chain each: the same number, not the same digits
    assert ((close["mean"] - close["published"]).abs() < 6).all()
    shown = part_of(EXPERIMENTS / "simulation" / "RESULTS.md", "tables")
    assert _agree(shown, replicate.to_markdown(table)) > 60


_NUMBER = re.compile(r"(-?[\d.]+) \((\d[\d.]*|nan)\)")


def _agree(shown: str, again: str) -> int:
    """How many numbers of the page a small rerun has, each within six of the page's sd."""
    numbers = 0
    for heading in ("Table 5", "Table 6"):
        rows = {row.pop(""): row for row in table_of(shown, heading)}
        for row in table_of(again, heading):
            printed = rows[row.pop("")]
            for name, cell in row.items():
                made = _NUMBER.search(cell)
                if made is None:
                    continue
                mean, sd = map(float, _NUMBER.search(printed[name]).groups())
                assert abs(float(made[1]) - mean) <= 6 * max(
                    sd, 10.0 ** -len(made[1].split(".")[1])
                )
                numbers += 1
    return numbers


def test_a_part_of_a_page_is_replaced_and_read(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n\n<!-- made: one -->\n\nold\n\n<!-- end of one -->\n\nkept\n")
    write_part(page, "one", "Table 5: x\n\n| | a |\n|---|---|\n| row | 1.0 (0.1) |\n")
    assert page.read_text().endswith("<!-- end of one -->\n\nkept\n")
    assert table_of(part_of(page, "one"), "Table 5") == [{"": "row", "a": "1.0 (0.1)"}]
    with pytest.raises(ValueError, match="no part 'two'"):
        write_part(page, "two", "")
    same = "Table 5\n\n| | a |\n|---|---|\n| row | {} |\n\nTable 6\n\n| | b |\n|---|---|\n"
    assert _agree(same.format("2 / 1.0 (0.1), +1"), same.format("1.5 (nan)")) == 1
    with pytest.raises(AssertionError):
        _agree(same.format("1.0 (0.1)"), same.format("1.7 (nan)"))
