"""Side by side, the files that take longest begin first, so that no core waits for one of them at
the end.
"""

import pytest

LONGEST = (  # a quarter of a minute and more of one core where all caches are empty
    "statistical/test_calibration.py",
    "docs/test_code_blocks.py",
    "models/test_contract.py",
    "runs/test_disclosure_stage.py",
    "tuning/test_several.py",
    "tuning/test_tune.py",
    "guarantee/test_sequence_guarantee.py",
    "sweeps/test_scheduling.py",
    "runs/test_guarantee_checks.py",
    "runs/test_several_page.py",
    "models/test_transformation.py",
    "harness/test_bad_inputs.py",
    "harness/test_kills.py",
    "docs/test_examples.py",
    "test_types.py",
    "risk/test_ball_masses.py",
    "reports/test_report.py",
    "reports/test_answer.py",
    "sampling/test_compilation.py",
    "commands/test_manners.py",
    "conformance/test_checking.py",
    "release/test_released_datasets.py",
    "release/test_leak_check.py",
    "reports/test_browser.py",
    "conformance/test_own_synthesizer.py",
    "experiments/test_claims.py",
    "suggest/test_suggestion.py",
    "sweeps/test_sweep.py",
    "reidentification/test_brute_force.py",
    "reidentification/test_linkage.py",
    "commands/test_init.py",
    "commands/test_main.py",
    "guarantee/test_guarantee.py",
    "guarantee/test_ledger.py",
    "plots/test_figures.py",
    "runs/test_run.py",
    "runs/test_several.py",
    "release/test_several.py",
    "reports/test_chain.py",
    "release/test_pack.py",
    "commands/test_writing.py",
)


def pytest_configure(config):
    config.option.loadscopereorder = False  # of xdist, which begins with the files of most tests


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    rank = {config.rootpath / "tests" / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
