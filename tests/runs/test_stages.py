"""Every stage of a study is keyed by what it reads: each field of each settings class is changed,
and keys change where it is read.
"""

import dataclasses
import typing
from dataclasses import dataclass, replace

import pytest

from riskweighted.common.settings import read_by
from riskweighted.common.units import Units
from riskweighted.disclosure.policy import DisclosureSettings
from riskweighted.evaluation.measure_rows import CONFIDENTIAL
from riskweighted.guarantee.statement import Guarantee, Reference
from riskweighted.intruder.scenario import Scenario
from riskweighted.runs import stages as module
from riskweighted.runs.sections import WeightSettings
from riskweighted.runs.stages import STAGES, Stages, is_read, settings_of
from riskweighted.runs.study import Study, make_study
from riskweighted.sampling.sampling_settings import Sampling
from riskweighted.sweeps.cells import identify
from riskweighted.sweeps.settings_grid import GridPoint

SCHEMES = ("unweighted", "marginal", "uniform(c=0.5)", "reweighted", "lipschitz")
LABELS = (CONFIDENTIAL, *SCHEMES, "top-coding")
SETTINGS = {
    "data": {"path": "households.csv"},
    "scenario": {"known": ["group", "sex"], "synthetic": "income", "categorical": []},
    "synthesizer": {"name": "linear-regression", "formula": "income ~ group", "transform": "log"},
    "weights": {"schemes": list(SCHEMES)},
    "evaluation": {"survey": "w"},
    "top_coding": {"quantile": 0.9},
}
# Valid values of the fields whose default does not tell how another one looks.
OTHERS = {
    ("DataSettings", "path"): "others.csv",
    ("Guarantee", "public"): ("group",),
    ("DataSettings", "embedded"): "401ksubs",
    ("DataSettings", "missing"): ("k.A.",),
    ("DataSettings", "kinds"): {"income": "number"},
    ("Scenario", "known"): ("group",),
    ("Scenario", "synthetic"): ("wealth",),
    ("Scenario", "radius_kind"): "absolute",
    ("Scenario", "boundary"): "open",
    ("Scenario", "singletons"): "paper",
    ("Scenario", "categorical"): ("income",),
    ("Scenario", "codes"): {"income": (-8.0,)},
    ("SynthesizerSettings", "name"): "counts",
    ("SynthesizerSettings", "formula"): "income ~ 1",
    ("SynthesizerSettings", "settings"): {"transform": "asinh"},
    ("WeightSettings", "schemes"): ("unweighted", "pairwise"),
    ("WeightSettings", "radius"): 0.3,
    ("WeightSettings", "cluster"): "house",
    ("WeightSettings", "survey"): "w",
    ("WeightSettings", "target"): "expected-mean-risk",
    ("WeightSettings", "target_max"): 0.5,
    ("WeightSettings", "family"): "uniform",
    ("WeightSettings", "loss"): "overlap",
    ("WeightSettings", "constraints"): {"isolated-information": 0.5},
    ("WeightSettings", "risk_of"): "joint",
    ("Sampling", "cores"): 3,
    ("Sampling", "target_accept"): 0.9,
    ("Sampling", "engine"): "nuts",
    ("ReleaseSettings", "format"): "parquet",
    ("ReleaseSettings", "columns"): ("age",),
    ("ReleaseSettings", "precision"): 0.5,
    ("ReleaseSettings", "hidden"): {"age": "public"},
    ("ReleaseSettings", "disclosure"): DisclosureSettings(mean=0.01),
    ("ReleaseSettings", "derived"): {"age": "public"},
    ("EvaluatingSettings", "quantiles"): (0.1,),
    ("EvaluatingSettings", "regression"): "income ~ group",
    ("EvaluatingSettings", "coefficient"): "group",
    ("EvaluatingSettings", "regressions"): ("income ~ sex",),
    ("EvaluatingSettings", "analyses"): ("statistics:mean",),
    ("EvaluatingSettings", "survey"): "w2",
    ("EvaluatingSettings", "strata"): "region",
    ("EvaluatingSettings", "risk_draws"): 30,
    ("EvaluatingSettings", "cluster"): "house",
    ("EvaluatingSettings", "radius"): 0.3,
    ("Guarantee", "M"): 2.0,
    ("Guarantee", "neighbours"): "add-drop",
    ("Guarantee", "reference"): Reference("norm", {"scale": 2.0}),
}


def study(guarantee=False):
    """A study with every stage; under a guarantee its schemes are public ones."""
    made = make_study(SETTINGS)
    if guarantee:
        weights = replace(made.weights, schemes=("unweighted", "uniform(c=0.5)"))
        return replace(
            made,
            weights=weights,
            guarantee=Guarantee(epsilon=2.0, reference=Reference("t", {"df": 3.0})),
            baselines={},
        )
    return made


def labels_of(given):
    return (CONFIDENTIAL, *given.weights.schemes, *given.baselines)


def keys(given, labels):
    stages = Stages(given, "data", {"numpy": "1"}, True)
    return {
        (stage, label): stages.key(stage, label) for label in labels for stage in stages_of(label)
    }


def stages_of(label):
    """Neither the data nor a baseline has weights."""
    return [stage for stage in STAGES if stage != "weights" or label in SCHEMES]


def changed(value, kind, name):
    """Another valid value of a field."""
    if (kind, name) in OTHERS:
        return OTHERS[kind, name]
    if isinstance(value, bool):
        return not value
    if value is None or isinstance(value, str):
        return "another text"
    assert isinstance(value, (int, float)), (
        f"say in OTHERS how another value of {kind}.{name} looks"
    )
    return value + 1 if isinstance(value, int) else value + 0.01


def sections():
    """Name and class of every section of a study, guarantee too."""
    hints = typing.get_type_hints(Study)
    for section in dataclasses.fields(Study):
        if section.metadata.get("read_by") is None:
            yield (
                section.name,
                next(
                    one
                    for one in (hints[section.name], *typing.get_args(hints[section.name]))
                    if dataclasses.is_dataclass(one)
                ),
            )


def every_field():
    for section, kind in sections():
        for one in dataclasses.fields(kind):
            yield pytest.param(section, one, id=f"{section}.{one.name}")


def with_changed(given, section, name):
    """The study with another value of one field; what only a whole study refuses plays no part in
    keys, so nothing is checked again.
    """
    settings = getattr(given, section)
    other = object.__new__(type(settings))
    other.__dict__.update(settings.__dict__)
    other.__dict__[name] = changed(getattr(settings, name), type(settings).__name__, name)
    again = object.__new__(Study)
    again.__dict__.update(given.__dict__)
    again.__dict__[section] = other
    return again


def expected(given, section, one, label):
    """The stages of a label that have another key, from what each is declared to read and to come
    after.
    """
    kind = type(getattr(given, section))
    scenarios = {"weights": ("weighing",), "evaluation": ("world", "scores", "expected")}
    direct = {stage for stage in STAGES if is_read(stage, kind, one)}
    if one.name == "radius" and section in scenarios:
        direct = {scenarios[section][0]}
    if section == "release" and given.guarantee is None:
        direct -= {"fit"}
    if one.name == "cluster":
        direct |= {"disclosed"}  # records that belong together are judged together

    def reads(stage, of):
        if of == CONFIDENTIAL and stage in (
            "prepared",
            "fit",
            "drawn",
            "expected",
            "disclosed",
            "weights",
        ):
            return False
        if of in given.baselines and stage in ("fit", "weights"):
            return False
        return not (stage == "weights" and of == "unweighted") and not (
            stage == "prepared" and of in given.baselines and one.name != "synthetic"
        )

    def before(stage, of):
        if stage == "weights":
            uses = {"marginal": ["weighing"], "reweighted": ["weighing"]}.get(of, [])
            source = {"reweighted": "marginal", "lipschitz": "unweighted"}.get(of)
            return [(name, of) for name in uses] + ([("fit", source)] if source else [])
        if of == CONFIDENTIAL and stage in ("prepared", "fit", "drawn", "expected", "disclosed"):
            return []
        after = [
            (name, of)
            for name in STAGES[stage].after
            if not (name == "weights" and of in given.baselines)
        ]
        if stage == "evaluated" and of not in ("unweighted", CONFIDENTIAL):
            after += [("scores", "unweighted"), ("expected", "unweighted")]
        return after

    def hit(stage, of):
        if (
            stage == "prepared"
            and of in given.baselines
            and section == "scenario"
            and one.name in ("codes", "categorical")
        ):
            return True  # which a baseline leaves as they are
        return (stage in direct and reads(stage, of)) or any(
            hit(*other) for other in before(stage, of)
        )

    whole = (
        "" if label in given.baselines else "prepared",
        "checked",
        "patterns",
        "weighing",
        "world",
        "chosen",
        "tuned",
    )
    return {
        stage for stage in stages_of(label) if hit(stage, "unweighted" if stage in whole else label)
    }


@pytest.mark.parametrize(("section", "one"), list(every_field()))
@pytest.mark.parametrize("guarantee", [False, True])
def test_each_field_changes_the_keys_of_the_stages_that_read_it_and_no_others(
    section, one, guarantee
):
    given = study(guarantee)
    if getattr(given, section) is None:
        pytest.skip("the study has none")
    labels = labels_of(given)
    before, after = keys(given, labels), keys(with_changed(given, section, one.name), labels)
    for label in labels:
        moved = {stage for stage in stages_of(label) if before[stage, label] != after[stage, label]}
        assert moved == expected(given, section, one, label), label


OF_UNITS = {
    "id": "person",
    "role": "place",
    "first": "mother",
    "order": ("line",),
    "time": "year",
    "unit_level": ("rent",),
    "most_members": 9,
    "totals": {"rents": {"sum": "rent"}},
    "coarsen": {"most_members": 4},
    "rules": {"forbidden": ["first.rent < 0"]},
}


@pytest.mark.parametrize("one", [one.name for one in dataclasses.fields(Units)])
def test_each_field_of_the_units_changes_the_keys_of_what_is_made_of_them(one):
    given = make_study(
        SETTINGS
        | {
            "synthesizer": {"name": "sequential", "predictors": ["group"]},
            "units": {"id": "house"},
        }
    )
    other = object.__new__(Units)
    other.__dict__.update(given.units.__dict__ | {one: OF_UNITS[one]})
    changed = object.__new__(Study)
    changed.__dict__.update(given.__dict__ | {"units": other})
    before, after = (keys(each, labels_of(given)) for each in (given, changed))
    moved = {place for place in before if before[place] != after[place]}
    assert {stage for stage, label in moved if label == "marginal"} == set(stages_of("marginal"))
    assert ("fit", CONFIDENTIAL) not in moved
    assert ("weights", "unweighted") not in moved


@pytest.mark.parametrize("name", ["distribution", "parameters"])
def test_fields_of_classes_in_a_section_are_read_with_it(name):
    given = study(guarantee=True)
    others = {"parameters": {}} if name == "distribution" else {}
    reference = replace(
        given.guarantee.reference,
        **others | {name: {"df": 4.0} if name == "parameters" else "norm"},
    )
    other = replace(given, guarantee=replace(given.guarantee, reference=reference))
    assert Stages(given, "d").key("fit") != Stages(other, "d").key("fit")


def test_every_field_is_read_or_says_why_not():
    """A field that nothing reads and that gives no reason fails here."""
    assert [name for kind in classes() for name in unread(kind)] == []


def classes():
    """Every settings class that a study reaches, classes in classes too."""
    waiting, found = [Study], []
    while waiting:
        kind = waiting.pop()
        found.append(kind)
        for hint in typing.get_type_hints(kind).values():
            inner = [
                one
                for one in (hint, *typing.get_args(hint))
                if isinstance(one, type) and dataclasses.is_dataclass(one)
            ]
            waiting += [one for one in inner if one not in (*found, *waiting)]
    return found


def unread(kind):
    """The fields of a settings class that no stage reads and that give no reason."""
    inner = {Reference}  # read with the section that holds it
    for one in dataclasses.fields(kind):
        section = kind is Study and one.metadata.get("read_by") is None
        read = (
            any(is_read(stage, kind, one) for stage in STAGES)
            or section
            or kind in inner
            or kind.__name__ in ("Thresholds", "Limit")
        )
        if not read and not one.metadata.get("why"):
            yield f"{kind.__name__}.{one.name}"


def test_classes_reaches_what_a_study_is_made_of():
    assert {
        "Study",
        "Scenario",
        "WeightSettings",
        "Sampling",
        "Guarantee",
        "Reference",
        "ReleaseSettings",
        "EvaluatingSettings",
    } <= {kind.__name__ for kind in classes()}


def test_a_settings_class_that_no_stage_reads_is_found():
    @dataclass(frozen=True)
    class Forgotten:
        depth: int = 1
        shown: bool = dataclasses.field(default=True, metadata=read_by(why="it changes no result"))

    assert list(unread(Forgotten)) == ["Forgotten.depth"]


@dataclass(frozen=True)
class Floored(WeightSettings):
    """The weights' settings with one more."""

    floor: float = 0.0


@pytest.mark.parametrize(
    ("section", "kind", "readers"),
    [
        (
            "weights",
            WeightSettings,
            ("weights", "fit", "drawn", "expected", "evaluated", "checked"),
        ),
        ("scenario", Scenario, ("patterns", "world", "weighing", "weights", "evaluated")),
        ("sampling", Sampling, ("fit", "drawn", "evaluated")),
    ],
)
def test_a_new_setting_changes_every_key_that_it_may_change_without_being_named(
    section, kind, readers
):
    grown = dataclasses.make_dataclass(
        "Grown", [("added", float, 0.0)], bases=(kind,), frozen=True, kw_only=True
    )
    given, old = study(), getattr(study(), section)
    both = [replace(given, **{section: grown(**vars(old), added=value)}) for value in (0.0, 0.99)]
    found = [{stage: Stages(one, "d").key(stage, "marginal") for stage in STAGES} for one in both]
    assert {stage for stage in readers if found[0][stage] == found[1][stage]} == set()


def test_two_cells_of_a_sweep_with_different_floors_are_two():
    """The fault that was seen: a setting of the weights that no list named gave two identical
    cells.
    """
    given = study()
    cells = {}
    for floor in (0.0, 0.99):
        for label in ("unweighted", "marginal"):
            weights = Floored(**{**vars(given.weights), "schemes": (label,)}, floor=floor)
            cells[label, floor] = identify(
                GridPoint({}, 1, label, replace(given, weights=weights)),
                "data",
                {},
                whack_a_mole=True,
            )
    assert cells["marginal", 0.0].key != cells["marginal", 0.99].key
    assert cells["marginal", 0.0].fit != cells["marginal", 0.99].fit
    # whose weights are 1 whatever the settings
    assert cells["unweighted", 0.0].fit == cells["unweighted", 0.99].fit


def test_the_seed_data_and_versions_are_in_every_key_that_they_decide():
    given = study()
    first = Stages(given, "d", {"numpy": "1"})
    again = [
        Stages(replace(given, seed=9), "d", {"numpy": "1"}),
        Stages(given, "e", {"numpy": "1"}),
        Stages(given, "d", {"numpy": "2"}),
    ]
    seeded = {
        "fit",
        "drawn",
        "expected",
        "disclosed",
        "utility",
        "evaluated",
        "chosen",
        "paired",
        "scores",
        "tuned",
    }
    assert {stage for stage in STAGES if first.key(stage) != again[0].key(stage)} == seeded
    for other in again[1:]:
        assert all(first.key(stage) != other.key(stage) for stage in STAGES)


def test_equal_scenarios_make_one_world_for_weights_and_for_risk():
    given = study()
    stages = Stages(given, "d")
    apart = Stages(replace(given, weights=replace(given.weights, radius=0.1)), "d")
    assert (
        stages.key("weighing") == stages.key("world") == apart.key("world") != apart.key("weighing")
    )


def test_a_fit_that_is_kept_reads_what_its_stage_reads(monkeypatch):
    """Cores change no draw; another engine may."""
    given = study()
    assert settings_of(given, "fit") == {
        "sampling": {
            "draws": 250,
            "tune": 500,
            "chains": 4,
            "target_accept": None,
            "engine": "auto",
        }
    }
    assert settings_of(
        replace(given, sampling=replace(given.sampling, cores=2)), "fit"
    ) == settings_of(given, "fit")
    assert module.settings_of(study(guarantee=True), "fit").keys() == {
        "sampling",
        "release",
        "guarantee",
    }
