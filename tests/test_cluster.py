"""Searches and fits of independent tasks on a Dask cluster, also when a worker is killed."""

import io
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.parallel import on_cluster, shown

distributed = pytest.importorskip("distributed")


def samples():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(90, 3)), np.repeat(["a", "b", "c"], 30)
    return X, np.sin(X[:, 0]) + 0.3 * (task == "a") * X[:, 1], task


def searched(n_jobs=None):
    X, y, task = samples()
    model = kh.MTONMKLRegressor(formulation="corrected")
    grid = {"C": [0.1, 1.0, 10.0], "beta": [0.01, 0.1]}
    search = kh.KernelSearchCV(model, grid, cv=4, n_jobs=n_jobs).fit(X, y, task=task)
    return search.cv_results_["mean_test_score"], search.best_estimator_.weights_


def fitted_apart(n_jobs=None):
    rng = np.random.default_rng(1)
    X, task = rng.normal(size=(480, 3)), np.repeat(np.arange(12), 40)
    y = np.sin(X[:, 0]) + 0.1 * task * X[:, 1]
    model = kh.MTONMKLRegressor(relation="independent", n_jobs=n_jobs).fit(X, y, task=task)
    return model.weights_, model.predict(X, task=task)


class Killer(threading.Thread):
    """Kills the first worker of which the scheduler says that it is at work."""

    def __init__(self, scheduler):
        super().__init__(daemon=True)
        self.scheduler, self.over = scheduler, threading.Event()
        self.pid, self.under_way = None, 0

    def run(self):
        while not self.over.is_set():
            for worker in list(self.scheduler.workers.values()):
                self.pid, self.under_way = worker.pid, len(worker.processing)
                if self.under_way:
                    os.kill(self.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
                    return
            time.sleep(0.001)


@pytest.mark.parametrize("work", [searched, fitted_apart])
def test_work_survives_the_death_of_a_worker_that_is_at_it(cluster, work):
    local, killer = work(), Killer(cluster.scheduler)
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
    killer.start()
    with on_cluster(cluster.scheduler_address):
        spread = work(n_jobs=-1)
    killer.over.set()
    killer.join()
    assert killer.under_way > 0
    assert killer.pid not in [worker.pid for worker in cluster.workers.values()]
    for mine, theirs in zip(local, spread, strict=True):
        np.testing.assert_array_equal(mine, theirs)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def slow_work():
    for number in range(3):
        time.sleep(0.02)
        yield number


@pytest.mark.parametrize("installed", [True, False])
def test_a_bar_is_shown_on_a_terminal_and_lines_elsewhere(monkeypatch, installed):
    if not installed:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr("kernelhood.parallel._PATIENCE", 0.0)
    for stream, bar in ((io.StringIO(), False), (Terminal(), installed)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(shown(slow_work(), 3, verbose=1, unit=" rows", scale=10)) == [0, 1, 2]
        text = stream.getvalue()
        assert ("\r" in text) == bar
        assert ("10 of 30 rows after 0 s\n" in text) == (not bar)


def test_quick_work_and_silent_work_show_nothing(monkeypatch):
    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr("kernelhood.parallel._PATIENCE", 60.0)
        assert list(shown(slow_work(), 3, verbose=1)) == [0, 1, 2]
        monkeypatch.setattr("kernelhood.parallel._PATIENCE", 0.0)
        assert list(shown(slow_work(), 3, verbose=0)) == [0, 1, 2]
        assert stream.getvalue().strip() == ""
