"""The same rows in processes and on a Dask cluster, although a worker is killed."""

import os
import signal

import pandas as pd
import pytest

from kernelhood.paper.jobs import COMPARED
from kernelhood.paper.run import run
from tests.paper.tiny import METHODS, make_tiny

distributed = pytest.importorskip("distributed")

SAME = list(COMPARED)
SMALL = {"datasets": {"tiny": make_tiny()}, "methods": METHODS, "runs": 2}


@pytest.fixture(scope="module")
def local():
    return run(**SMALL)


def test_rows_of_processes_equal_the_local_ones(local):
    pd.testing.assert_frame_equal(run(**SMALL, n_jobs=2)[SAME], local[SAME], check_exact=True)


def test_rows_of_a_cluster_equal_the_local_ones_although_a_worker_is_killed(local, cluster):
    address = cluster.scheduler_address
    assert address.startswith("tcp://127.0.0.1:")
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
    victims = [worker.pid for worker in cluster.workers.values()][:1]
    told = []

    def kill_one(row, old):
        if not told:
            os.kill(victims[0], getattr(signal, "SIGKILL", signal.SIGTERM))
        told.append(old)

    disturbed = run(**SMALL, scheduler=address, on_row=kill_one)
    assert told == [False] * len(local)
    pd.testing.assert_frame_equal(disturbed[SAME], local[SAME], check_exact=True)


def test_a_scheduler_that_does_not_answer_is_one_clear_error(monkeypatch):
    def refuse(address, **_):
        raise OSError(f"nobody at {address}")

    monkeypatch.setattr(distributed, "Client", refuse)
    with pytest.raises(
        ConnectionError, match="scheduler='tcp://127.0.0.1:9' does not answer; give"
    ):
        run(**SMALL, scheduler="tcp://127.0.0.1:9")
