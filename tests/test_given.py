"""Every public function that is given a name, a table or nothing where an object is expected says
in one line what is valid.
"""

import inspect

import pandas as pd
import pytest
from handmade import given_fit

import riskweighted as rw
from riskweighted.common.errors import InputError

COUNTS = pd.DataFrame({"jobs": range(1, 61), "group": ["a", "b"] * 30})
SCENARIO = rw.Scenario(known="group", synthetic="jobs")
WRONG = ["a-name", None, {"a": 1}, 3]
GIVEN = {
    "confidential": COUNTS,
    "data": COUNTS,
    "synthetic": COUNTS,
    "frames": COUNTS,
    "scenario": SCENARIO,
    "target": "jobs",
}
GIVEN |= {"out": "absent", "records": [0], "packs": [], "known": ["group"]}
EXPECTED = [
    *((name, "synthesizer") for name in ("fit", "load_fit", "tune")),
    *(
        (name, "fit")
        for name in ("check_fit", "expected_identification_risk", "influence", "variance_ratios")
    ),
    *(
        (name, "scenario")
        for name in (
            "identification_risk",
            "closest_records",
            "correct_attribution",
            "replicated_uniques",
        )
    ),
    *((name, "scenario") for name in ("evaluate", "assess", "matching_risk", "marginal_weights")),
    *(
        (name, "synthetic")
        for name in (
            "assess",
            "evaluate",
            "closest_records",
            "correct_attribution",
            "replicated_uniques",
        )
    ),
    *((name, "synthetic") for name in ("matching_risk", "rank_measure")),
    *((name, "data") for name in ("derived", "find_structure", "check_synthesizer")),
    *(
        (name, "confidential")
        for name in ("fit", "evaluate", "assess", "identification_risk", "marginal_weights")
    ),
    *(
        (name, "path")
        for name in ("load_run", "load_study", "load_sweep", "load_reidentification_study")
    ),
    *(
        ("ecdf_distance", "confidential"),
        ("ecdf_distance", "synthetic"),
        ("release_run", "run"),
        ("to_markdown", "table"),
        ("to_latex", "table"),
    ),
    *(
        ("run_study", "study"),
        ("render_report", "run"),
        ("summary_table", "run"),
        ("sweep", "plan"),
    ),
    *(("run_reidentification_study", "study"), ("check_synthesizer", "make")),
]


def arguments_of(function, name):
    """What a function needs besides the argument of this name."""
    needed = [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.default is each.empty and each.name != name
    ]
    made = GIVEN | {
        "target_max": 0.1,
        "path": "absent",
        "synthesizer": rw.load_synthesizer("linear-regression")("jobs ~ group"),
        "alpha": None,
    }
    made |= {
        "make": made["synthesizer"],
        **({"target": "isolated-risk"} if function is rw.tune else {}),
    }
    return {each: given_fit(COUNTS) if each == "fit" else made[each] for each in needed}


@pytest.mark.quick
@pytest.mark.parametrize(("name", "argument"), EXPECTED)
def test_what_is_no_such_object_is_refused_in_one_line_that_names_it(name, argument):
    function = getattr(rw, name)
    others = arguments_of(function, argument)
    for value in WRONG:
        if isinstance(value, str) and argument in ("run", "path"):
            continue  # a folder, or a file
        with pytest.raises(InputError) as refused:
            function(**{**others, argument: value})
        assert "\n" not in str(refused.value)
        assert "got " in str(refused.value) or type(value).__name__ in str(refused.value)
