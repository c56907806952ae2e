"""Every wrong input in one process; `python -m tests.harness.bad_inputs --processes` starts the
real command for each.
"""

import pytest
from bad_inputs import (
    SUMMARY,
    Answer,
    Case,
    catalogue,
    edit,
    faults,
    in_this_process,
    nothing,
    secrets,
)
from finished_run import finished_run

CASES = list(catalogue())
# of every command's cases one in four is tried at once
OTHERS = [pytest.mark.long, pytest.mark.slow]
TRIED = [
    case if number % 4 == 0 else pytest.param(case, marks=OTHERS)
    for command in dict.fromkeys(case.arguments for case in CASES)
    for number, case in enumerate(case for case in CASES if case.arguments == command)
]


def test_the_catalogue_is_as_large_as_it_says():
    assert len(CASES) == len(TRIED) >= 150
    assert len({case.name for case in CASES}) == len(CASES)
    assert {case.arguments[0] for case in CASES} >= {
        "run",
        "sweep",
        "weights",
        "assess",
        "reidentify",
        "release",
        "report",
        "summary",
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # they are part of what is looked at: see `faults`
@pytest.mark.parametrize("case", TRIED, ids=lambda case: case.name)
def test_wrong_inputs_are_one_line_and_show_nothing(case, tmp_path):
    assert faults(case, tmp_path, finished_run(), in_this_process) == []


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Answer(0, "", "error: x\n"), "exit code 0"),
        (Answer(1, "", "error: x\n"), "exit code 1"),
        (Answer(2, "", "error: x\nand more\n"), "not one line"),
        (Answer(2, "", 'Traceback (most recent call last):\n  File "x"\n'), "a traceback"),
        (Answer(2, "x", "error: x\n"), "something on the output"),
        (Answer(2, "", "error: quagga07\n"), "confidential values shown"),
    ],
)
def test_a_fault_is_seen(tmp_path, answer, fault):
    found = faults(Case("", SUMMARY, nothing), tmp_path, None, lambda arguments, folder: answer)
    assert fault in " ".join(found)


def test_something_left_behind_is_seen(tmp_path):
    def give(arguments, folder):
        (folder / "new").write_text("x")
        return Answer(2, "", "error: x\n")

    assert faults(Case("", SUMMARY, edit("study.toml", "seed", "sed")), tmp_path, None, give) == [
        "left behind: ['new']"
    ]
    assert len(secrets(tmp_path)) == 62
