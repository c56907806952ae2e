"""Side by side, the files that take longest begin first, so that no core waits for one of them at the end."""

import pytest

LONGEST = (  # seconds of one core, about, where all caches are empty
    "statistical/test_calibration.py",  # 400
    "docs/test_code_blocks.py",  # 100
    "models/test_contract.py",  # 70
    "guarantee/test_guarantee.py",  # 60
    "sweeps/test_scheduling.py",
    "runs/test_guaranteed.py",
    "harness/test_kills.py",
    "harness/test_bad_inputs.py",
    "sweeps/test_sweep.py",
    "test_types.py",
    "reports/test_browser.py",
    "conformance/test_own_synthesizer.py",  # 40
    "experiments/test_claims.py",
    "sampling/test_fitting.py",
    "runs/test_several_page.py",
    "commands/test_writing.py",
    "commands/test_manners.py",  # 20
)


def pytest_configure(config):
    config.option.loadscopereorder = False  # of xdist, which begins with the files of most tests


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    rank = {config.rootpath / "tests" / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
