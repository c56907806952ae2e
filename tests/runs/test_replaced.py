"""What earlier versions offered and this one does not: one line says what to write in its place,
whoever names it and wherever.
"""

import copy
import json
import re
from functools import partial

import pytest
from finished_run import SETTINGS, copied_run
from typer.testing import CliRunner

import riskweighted as rw
from riskweighted.commands.main import app
from riskweighted.common.errors import InputError
from riskweighted.common.replaced import REPLACED
from riskweighted.common.settings import as_toml
from riskweighted.runs.examples import data, scenario
from riskweighted.runs.study import make_study
from riskweighted.sweeps.settings_grid import Sweep, expand_grid
from riskweighted.weights.scheme_names import stem_of

pytestmark = pytest.mark.quick

GONE = {  # by what a study says: what its place is to be taken by
    ("weights", "schemes", "lipschitz+"): "bounded+(b=0.1)",
    ("weights", "schemes", "lipschitz-target+(D=2)"): "'lipschitz-target' without the plus",
    ("weights", "schemes", "reweighted+(of=pairwise)"): "power+(g=0.25)",
    ("weights", "schemes", "delete(q=0.05)"): "write 'drop-riskiest'",
    ("weights", "schemes", "delete+(q=0.05)"): "write 'drop-riskiest+'",
    ("weights", "schemes", "others"): "write 'others-in-ball'",
    ("weights", "schemes", "others+"): "write 'others-in-ball+'",
    ("weights", "schemes", "4-way+"): "'3-way+', or '4-way' without the plus",
    ("sampling", "engine", "importance"): "write 'auto', or leave engine out",
    ("sampling", "engine", "direct"): "write 'auto', or leave engine out",
}


def old(section, setting, value):
    """The settings of a study that says so."""
    said = ["unweighted", "marginal", value] if setting == "schemes" else value
    return {**SETTINGS, section: {**SETTINGS[section], setting: said}}


def line_of(error):
    text = str(error.value)
    assert "\n" not in text
    return text


def test_every_name_that_is_replaced_is_tried():
    named = {value.partition("(")[0] for _, _, value in GONE}
    # below, of a fit in test_drawing, and in test_measures
    elsewhere = {"name", "argument", "measure", "setting"}
    assert named >= {name for what, of in REPLACED.items() if what not in elsewhere for name in of}
    for name in REPLACED["name"]:
        with pytest.raises(
            AttributeError, match=rf"riskweighted\.{name} is offered no more: write "
        ):
            getattr(rw, name)


@pytest.mark.parametrize(("name", "instead"), REPLACED["setting"].items(), ids=str)
def test_a_setting_that_has_another_name_says_which(name, instead):
    study = copy.deepcopy(SETTINGS)
    study["synthesizer"] = {"name": "sequential", "predictors": [], "variables": {"income": {}}}
    place, setting = name.rsplit(".", 1)
    table = study
    for step in (*place.split("."), *(["income"] if place.endswith("variables") else [])):
        table = table.setdefault(step, {})
    table[setting] = "anything"
    with pytest.raises(InputError) as caught:
        make_study(study)
    assert line_of(caught).endswith(f"is offered no more: {instead}")


@pytest.mark.parametrize(("told", "instead"), GONE.items(), ids=str)
def test_a_study_file_and_a_sweep_say_what_to_write(told, instead, tmp_path):
    (tmp_path / "study.toml").write_text(as_toml(old(*told)))
    done = CliRunner().invoke(app, ["check", str(tmp_path / "study.toml")])
    assert done.exit_code != 0
    assert instead in str(done.exception)
    section, setting, value = told
    with pytest.raises(InputError) as caught:
        expand_grid(Sweep(make_study(SETTINGS, tmp_path), {f"{section}.{setting}": [value]}))
    assert instead in line_of(caught)


@pytest.mark.parametrize(("told", "instead"), GONE.items(), ids=str)
def test_a_call_says_what_to_write(told, instead):
    _, setting, value = told
    called = (
        rw.Sampling
        if setting == "engine"
        else partial(rw.centred_weights, confidential=data, scenario=scenario)
    )
    with pytest.raises(InputError) as caught:
        called(**{"engine" if setting == "engine" else "scheme": value})
    assert instead in line_of(caught)


@pytest.mark.parametrize(("told", "instead"), list(GONE.items())[1:5:3], ids=str)
def test_a_finished_run_says_what_to_write(told, instead, tmp_path):
    run, (section, setting, value) = copied_run(tmp_path), told
    text = (run / "manifest.json").read_text()
    if setting == "schemes":  # as if it had been run in the place of another one
        text = re.sub(r"(?<=/)pairwise|pairwise(?=_\d)", stem_of(value), text)
        text = text.replace("pairwise", value)
        for path in sorted(run.rglob("*pairwise*"), key=lambda path: -len(path.parts)):
            path.rename(path.with_name(path.name.replace("pairwise", stem_of(value))))
    manifest = json.loads(text)
    if setting == "engine":
        manifest["settings"][section][setting] = value
    (run / "manifest.json").write_text(json.dumps(manifest))
    for arguments in (("summary",), ("report",), ("release", "--out", str(tmp_path / "pack"))):
        done = CliRunner().invoke(app, [*arguments, str(run)])
        assert done.exit_code != 0
        assert instead in str(done.exception)


def test_a_family_that_is_replaced_is_not_searched():
    with pytest.raises(InputError, match="offered no more: write 'bounded"):
        rw.tune(None, data, scenario, target="lipschitz", target_max=1, family="lipschitz-target+")


def test_centred_weights_are_of_own_balls():
    two = rw.Scenario(known="region", synthetic=["income", "smokes"])
    both = {
        **SETTINGS,
        "scenario": {"known": ["region"], "synthetic": ["income", "smokes"]},
        "synthesizer": {"name": "sequential"},
    }
    for match in ("joint", [["income", "smokes"]]):
        with pytest.raises(
            InputError,
            match=r"boxes of several variables are offered no more: write "
            r"risk_of = 'each-variable', or 'mix\(t=0.5\)'",
        ):
            rw.match_weights(data, two, "mix+(t=0.5)", match)
        with pytest.raises(InputError, match="write risk_of = 'each-variable'"):
            make_study(
                both | {"weights": {"schemes": ["unweighted", "mix+(t=0.5)"], "risk_of": match}}
            )
    alone = rw.match_weights(data, two, "mix+(t=0.5)", [["income"], ["smokes"]])
    assert alone.equals(rw.match_weights(data, two, "mix(t=0.5)"))
