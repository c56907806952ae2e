"""Side by side, the files that take longest begin first, so that no core waits for one of them at the end."""

import pytest

LONGEST = (  # seconds of one core, about, where all caches are empty
    "statistical/test_calibration.py",  # 400
    "docs/test_code_blocks.py",  # 240
    "models/test_contract.py",  # 70
    "guarantee/test_sequence_guarantee.py",
    "sweeps/test_scheduling.py",
    "runs/test_guaranteed.py",
    "runs/test_several_page.py",
    "models/test_transformation.py",  # 50
    "harness/test_bad_inputs.py",
    "harness/test_kills.py",
    "docs/test_examples.py",
    "test_types.py",
    "sweeps/test_sweep.py",
    "sampling/test_fitting.py",  # 40
    "commands/test_manners.py",
    "reports/test_browser.py",
    "conformance/test_own_synthesizer.py",
    "experiments/test_claims.py",
    "commands/test_init.py",
    "release/test_leak_check.py",
    "runs/test_run.py",
    "runs/test_several.py",
    "commands/test_main.py",  # 30
    "guarantee/test_guarantee.py",
    "release/test_pack.py",
    "commands/test_writing.py",
)


def pytest_configure(config):
    config.option.loadscopereorder = False  # of xdist, which begins with the files of most tests


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    rank = {config.rootpath / "tests" / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
