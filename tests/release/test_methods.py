"""The methods of a release name its model, weights, scenario, verdicts and sources, as they are in
the run, and tell nothing that the releasable report does not.
"""

import copy
import re
from dataclasses import replace

import pytest
from finished_run import accepting, finished_chain, finished_run

from riskweighted.common.errors import InputError
from riskweighted.common.text import escape_markdown
from riskweighted.evaluation.measure_rows import Statistic, by_label
from riskweighted.evaluation.verdicts import overall
from riskweighted.measures import disclosure_measures, expected_measures
from riskweighted.release.contents import Contents, write_pack
from riskweighted.release.methods import WEIGHTS, methods_facts, weight_words
from riskweighted.release.pack import check_release, release_run
from riskweighted.reports.output_rules import outside
from riskweighted.runs.finished import load_run
from riskweighted.weights.families import FAMILIES


def page_of(run, folder, *schemes):
    """What a pack of some schemes says of methods."""
    given = accepting(run, *schemes)["accept_fail"]
    datasets = {scheme: run.synthetic[scheme] for scheme in schemes}
    write_pack(Contents(run, datasets, schemes, ("csv",), {}, None, given), folder)
    return plainly((folder / "methods.md").read_text(encoding="utf-8"))


def plainly(page):
    """As a reader sees it."""
    return " ".join(re.sub(r"\\(.)", r"\1", page).split())


def with_settings(run, **sections):
    """A finished run whose study has other settings."""
    manifest = copy.deepcopy(run.manifest)
    for name, given in sections.items():
        settings = manifest["settings"]
        settings[name] = {**(settings.get(name) or {}), **given}
    return replace(run, manifest=manifest)


@pytest.fixture
def run():
    return load_run(finished_run())


def test_the_page_says_what_was_done_and_found_for_the_scheme_that_leaves(run, tmp_path):
    page = page_of(run, tmp_path, "pairwise")
    for told in (
        "120 records",
        "3 synthetic datasets",
        "linear-regression (Normal linear regression), formula income ~ group, fitted to "
        "the logarithm of income.",
        WEIGHTS["pairwise"],
        "by chains of NUTS (Hoffman and Gelman 2014) (1,600 draws; converged: yes",
        "to know group of a record",
        "half-width 0.2 times",
        f"pairwise: {overall(run.verdicts, 'pairwise')} ",
        "arXiv 1908.07639",
        "Reiter, J. P. (2003)",
        "a few records of a test",
        f"riskweighted {run.manifest['versions']['riskweighted']}",
    ):
        assert told in page
    for other in ("unweighted:", "Holm", "Toth", "Vehtari", "arXiv 2205.05003", "seed", "found"):
        assert other not in page
    view = outside(run.manifest["input"]["records"])
    for measure in (expected_measures.MEAN, disclosure_measures.MEAN):
        statistic = Statistic(measure.key)
        value = by_label(run.tables["risk"], statistic)["pairwise"]
        assert view.row(statistic, [value])[0] in page
    assert (
        f"{by_label(run.tables['risk'], Statistic(expected_measures.MEAN.key))['pairwise']:.4f}"
        not in (page)
    )


def test_of_several_variables_each_has_its_model(tmp_path):
    page = page_of(load_run(finished_chain()), tmp_path, "unweighted", "pairwise")
    for told in (
        "for each weighting scheme",
        "one after the other by sequential, given region, age and those before",
        "marital by the model that the chain has for values of its kind;",
        "income by linear-regression (Normal linear regression), of the logarithm of income;",
        "cigs by counts",
        WEIGHTS["unweighted"],
        WEIGHTS["pairwise"],
        "Vehtari, A.",
        "each variable's weights are made of its own ball",
    ):
        assert told in page


def test_weights_say_how_they_were_changed_and_what_multiplies_them(run, tmp_path):
    changed = with_settings(run, weights={"scale": 0.9, "shift": 0.05, "survey": "size"})
    page = page_of(changed, tmp_path, "pairwise")
    assert "clip(0.9 alpha + 0.05, 0, 1)" in page
    assert "The survey weights size," in page
    assert "Savitsky, T. D. and Toth, D. (2016)" in page


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "the logarithm of income"),
        (
            {"transform": "shifted-log", "transform_constant": 2500},
            "the logarithm of income + 2,500",
        ),
        ({"transform": "asinh"}, "arcsinh(income)"),
        (
            {"transform": "signed-log", "transform_constant": 10},
            "the logarithm of 1 + abs(income / 10), with the sign of income",
        ),
        ({"transform": "identity"}, ""),
        ({"name": "counts"}, ""),
    ],
)
def test_a_transform_is_told_in_words(run, settings, told):
    changed = with_settings(run, synthesizer=settings)
    assert methods_facts(changed, ["pairwise"])["models"][0]["of"] == told


def test_what_is_proved_stands_there_with_its_source(run, tmp_path):
    public = {"support": [0, 20000], "location": 6.5, "scale": 0.5}
    asked = with_settings(
        run,
        synthesizer=public,
        weights={"schemes": ["unweighted"]},
        guarantee={"epsilon": 4.0},
        release={"precision": 0.01},
    )
    page = page_of(asked, tmp_path, "unweighted")
    assert f"epsilon = {asked.study.statement().epsilon():.4g}" in page
    assert "arXiv 2205.05003" in page


def test_names_that_are_markup_stay_text(run, tmp_path):
    named = with_settings(run, release={"derived": {"size": "so <b>we</b> *say* | {{ it }}"}})
    page_of(named, tmp_path, "pairwise")
    page = (tmp_path / "methods.md").read_text(encoding="utf-8")
    assert escape_markdown("so <b>we</b> *say* | {{ it }}") in page


def test_every_scheme_has_words_and_says_where_it_is_centred():
    assert {*FAMILIES, "unweighted", "marginal", "pairwise"} == {*WEIGHTS}
    told = [weight_words(name) for name in ("3-way", "4-way", "pairwise", "marginal")]
    assert len(set(told)) == 3
    assert weight_words("column:mine") not in WEIGHTS.values()
    assert weight_words("mix+(t=0.5)").startswith(weight_words("mix(t=0.5)"))
    assert "centred" in weight_words("mix+(t=0.5)")
    assert "centred" not in weight_words("mix(t=0.5)")


@pytest.mark.slow
def test_the_page_is_checked_as_other_files_are(run, tmp_path):
    pack = release_run(
        finished_run(), tmp_path / "pack", schemes=["pairwise"], **accepting(run, "pairwise")
    ).folder
    page = pack / "methods.md"
    page.write_text(page.read_text(encoding="utf-8") + "\nlater\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"methods\.md"):
        check_release(pack, finished_run())
