"""Workers on this machine."""

import urllib.error
import urllib.request

import pytest

from riskweighted.common import cluster
from riskweighted.common.cluster import greet, own_workers, workers_of
from riskweighted.common.errors import InputError


@pytest.mark.slow
def test_a_stranger_on_this_machine_does_not_reach_our_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER_WITHIN", 2.0)
    with own_workers(1, tmp_path) as client:
        assert client.submit(len, [1, 2]).result() == 2
        address = client.cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        for tried in (address, address.replace("tls", "tcp")):
            # as versions of distributed put it
            with pytest.raises((OSError, TypeError, AssertionError)):
                greet(tried)
        port = client.scheduler_info()["services"]["dashboard"]
        for page in ("json/identity.json", "info/main/workers.html", "status", "metrics"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}")


@pytest.mark.slow
def test_workers_are_known_whatever_the_client_hears_meanwhile(tmp_path, monkeypatch):
    with own_workers(1, tmp_path) as client:
        whole = client.scheduler_info
        answers = iter([whole() | {"workers": {}}])
        monkeypatch.setattr(
            client, "scheduler_info", lambda **asked: next(answers, None) or whole(**asked)
        )
        (worker,) = workers_of(client).values()
        assert worker["nthreads"] == 1
        monkeypatch.setattr(client, "scheduler_info", lambda **asked: {"workers": {}})
        with pytest.raises(InputError, match="the scheduler has no workers"):
            workers_of(client)
