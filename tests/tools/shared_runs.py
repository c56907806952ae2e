"""The folder in which the processes of a session find what one of them has made
(``finished_run``).
"""

import os
import shutil
import tempfile

SHARED = "RISKWEIGHTED_TESTS_SHARED"


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.shared_before = os.environ.get(SHARED)
        os.environ[SHARED] = tempfile.mkdtemp()


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(SHARED))
        if config.shared_before is not None:
            os.environ[SHARED] = config.shared_before
