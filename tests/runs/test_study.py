import pandas as pd
import pytest

from riskweighted.common.errors import InputError
from riskweighted.common.settings import to_table
from riskweighted.runs.choice import study_text
from riskweighted.runs.study import demo_study, load_study, make_study
from riskweighted.sampling.sampling_settings import Sampling

pytestmark = pytest.mark.quick

GOOD = """
seed = 3
[data]
path = "data.csv"
[scenario]
known = ["group"]
synthetic = "income"
radius = 0.3
[synthesizer]
name = "normal-mixture"
formula = "income ~ group"
components = 2
[weights]
schemes = ["unweighted", "3-way"]
[release]
L = 5
"""


def load(tmp_path, text):
    (tmp_path / "study.toml").write_text(text)
    return load_study(tmp_path / "study.toml")


def test_reads_every_table(tmp_path):
    study = load(tmp_path, GOOD)
    assert study.data.path == tmp_path / "data.csv"  # relative to the study file
    assert study.scenario.radius == 0.3
    assert study.make_synthesizer().components == 2
    assert (study.weights.schemes, study.release.L, study.seed) == (("unweighted", "3-way"), 5, 3)


def test_lists_in_settings_reach_the_synthesizer_as_tuples(tmp_path):
    text = GOOD.replace('"normal-mixture"', '"hierarchical"').replace(
        "components = 2", 'groups = ["group"]'
    )
    assert load(tmp_path, text).make_synthesizer().groups == ("group",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("L = 5", "L = 0", "'release.L'.*got 0"),
        ("L = 5", "L = 2.5", "release.L"),
        ("L = 5", "L = 1_000_000_000", "'release.L': L must be at most 100,000"),
        ("L = 5", "L = 5\n[sampling]\nchains = 1_000_000_000", "chains must be at most 1000, got"),
        (
            "L = 5",
            "L = 5\n[evaluation]\nresamples = 1_000_000_000",
            "resamples must be at most 1000000, got",
        ),
        (
            'path = "data.csv"',
            'path = "a\\u0000b.csv"',
            "'data.path': path must be the name of a file or folder, and no name holds a NUL",
        ),
        (
            "L = 5",
            "L = 100000",
            f"at most the {Sampling().chains * Sampling().draws} posterior draws",
        ),
        ("L = 5", "Lots = 5", "unknown setting 'release.Lots'; valid here are 'L', 'format'"),
        ("radius = 0.3", "radius = -1", "radius must be a finite number >= 0, got -1"),
        ("radius = 0.3", "radius = true", "scenario.radius"),
        ("radius = 0.3", 'radius = "0.2"', "scenario.radius"),
        ("components = 2", "transform = {a = 1}", "must be a value or a list"),
        ("radius = 0.3", "radius = nan", "radius must be a finite number"),
        ('synthetic = "income"', "", "'scenario.synthetic' is missing"),
        ("[scenario]", "[scenery]", "'scenario' is missing|unknown setting 'scenery'"),
        (
            '"normal-mixture"',
            '"nope"',
            "unknown synthesizer 'nope'; installed are ('.*', )?'counts', 'hierarchical'",
        ),
        ("components = 2", "component = 2", "no setting 'component'; valid are"),
        ("components = 2", "components = 0", "components must be"),
        ("income ~ group", "income", "must read 'response ~ predictors'"),
        ("income ~ group", "income ~", "has no predictor"),
        ('["unweighted", "3-way"]', '["marginal", "marginal"]', "'marginal' more than once"),
        ('["unweighted", "3-way"]', "[]", "weights.schemes"),
        ("seed = 3", "seed = -1", "'seed'"),
        ('path = "data.csv"', "", "give either path or embedded"),
        ("[data]", "[data", "not valid TOML"),
    ],
)
def test_wrong_settings_are_one_line(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(InputError, match=message) as caught:
        load(tmp_path, GOOD.replace(old, new))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "beside",
    [
        "[scenario.codes]\nincome = -8",
        "[scenario.radius]\nincome = 0.2",
        'categorical = ["income"]',
    ],
)
def test_a_misspelt_variable_is_named_rather_than_what_stands_beside_it(tmp_path, beside):
    columns = [*(f"q{place}" for place in range(20)), "income", "group"]
    (tmp_path / "data.csv").write_text(f"{','.join(columns)}\n{','.join(['1'] * len(columns))}\n")
    text = GOOD.replace('synthetic = "income"\nradius = 0.3', f'synthetic = "incom"\n{beside}')
    with pytest.raises(
        InputError, match=r"^confidential data has no column 'incom'; it has 'income', 'q0'"
    ):
        load(tmp_path, text)
    (tmp_path / "data.csv").unlink()
    with pytest.raises(
        InputError, match="names 'income'; valid are the synthetic variables 'incom'"
    ):
        load(tmp_path, text)


def test_absent_file(tmp_path):
    with pytest.raises(InputError, match="no study file"):
        load_study(tmp_path / "nope.toml")


def test_the_demo_is_the_embedded_real_data():
    study = demo_study()
    data = study.read_data()
    assert len(data) == 9275
    study.scenario.check(data)
    assert study.release.L == 20
    assert study.weights.schemes == (
        "unweighted",
        "mix+(t=0.5)",
        "pairwise+",
        "marginal",
        "uniform(c=0.1)",
    )


EUROPE = (
    'delimiter = ";"\ndecimal = ","\nthousands = "."\nencoding = "cp1252"\nmissing = '
    '["k.A."]\nvariables = "meta/names.toml"'
)


def test_settings_of_files_are_absent_where_they_are_not_stated(tmp_path):
    plain = load(tmp_path, GOOD)
    assert to_table(plain)["data"] == {"path": str(tmp_path / "data.csv"), "embedded": None}
    assert plain.data.layout.is_plain
    assert plain.data.described is None


def test_a_study_takes_the_records_that_meet_a_condition(tmp_path):
    (tmp_path / "data.csv").write_text("group,age,income\n1,15,2\n1,16,3\n2,,4\n2,40,5\n")
    adults = load(
        tmp_path, GOOD.replace('path = "data.csv"', 'path = "data.csv"\nwhere = "age >= 16"')
    )
    data = adults.read_data()
    assert (data["income"].tolist(), data.index.tolist()) == ([3, 5], [0, 1])
    assert load(tmp_path, study_text(adults, tmp_path, "again")) == adults
    for wrong in ("age >= 99", "wage > 0", "age >=", "group == 'B'"):
        with pytest.raises(InputError, match=r"data\.where"):
            load(
                tmp_path, GOOD.replace('path = "data.csv"', f'path = "data.csv"\nwhere = "{wrong}"')
            ).read_data()
    pd.read_csv(tmp_path / "data.csv").to_parquet(tmp_path / "part.parquet")
    parts = GOOD.replace('path = "data.csv"', 'path = "*.parquet"\nwhere = "age >= 16"')
    assert load(tmp_path, parts).read_data()["income"].tolist() == [3, 5]


def test_settings_of_files_go_into_a_study_file_and_back(tmp_path):
    study = load(tmp_path, GOOD.replace('path = "data.csv"', f'path = "data.csv"\n{EUROPE}'))
    assert study.data.variables == tmp_path / "meta" / "names.toml"
    assert study.data.layout.stated == {
        "delimiter": ";",
        "decimal": ",",
        "thousands": ".",
        "encoding": "cp1252",
        "missing": ["k.A."],
    }
    text = study_text(study, tmp_path, "again")
    assert 'variables = "meta/names.toml"' in text
    assert load(tmp_path, text) == study
    assert hash(study.data) == hash(load(tmp_path, text).data)


@pytest.mark.parametrize(
    ("section", "settings", "named"),
    [
        ("weights", {"schemes": ["unwieghted"]}, "unwieghted"),
        ("weights", {"schemes": ["mix+(q=0.5)"]}, "mix"),
        ("weights", {"schemes": ["unweighted"], "target": "nope", "target_max": 1.0}, "nope"),
        ("weights", {"schemes": ["unweighted"], "foo": 1}, "weights.foo"),
        ("evaluation", {"regressions": ["y ~~ a"]}, "y ~~ a"),
        ("evaluation", {"foo": 1}, "evaluation.foo"),
        ("data", {"path": "gone.csv", "kinds": {"a": "lebels"}}, "data.kinds"),
        ("data", {"path": "gone.csv", "where": "a >"}, "data.where"),
        ("scenario", {"known": ["a"], "synthetic": "y", "radius_kind": "relativ"}, "relativ"),
        ("synthesizer", {"name": "transformatoin", "formula": "y ~ a"}, "transformatoin"),
        ("synthesizer", {"name": "transformation", "formula": "y ~ a", "foo": 1}, "foo"),
        ("synthesizer", {"name": "sequential", "products": [["a == 0"]]}, "products"),
        ("release", {"L": 0}, "release.L"),
        ("sampling", {"engine": "fast"}, "sampling.engine"),
        ("thresholds", {"foo": 1}, "foo"),
        ("guarantee", {"foo": 1}, "guarantee.foo"),
        ("treshold", {"foo": 1}, "treshold"),
    ],
)
def test_what_no_data_could_suit_is_refused_before_data_are_read(
    tmp_path, section, settings, named
):
    table = {
        "seed": 1,
        "data": {"path": "gone.csv"},
        "scenario": {"known": ["a"], "synthetic": "y"},
        "synthesizer": {"name": "transformation", "formula": "y ~ a"},
    }
    with pytest.raises(InputError) as caught:
        make_study(table | {section: settings}, tmp_path)
    assert named in str(caught.value)
    assert "gone.csv" not in str(caught.value)
