import os
import signal
import sys
import threading
from concurrent.futures.process import BrokenProcessPool

import pytest

from kernelhood.parallel import WorkerDied, map_in_threads, run_as_completed


def square(x):
    return x * x


def deadly(item):
    """Kill the worker that meets number 0 first, and every one that meets number 1."""
    number, flag = item
    if number == 1 or not os.path.exists(flag):
        open(flag, "w").close()
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    return number


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_every_result_has_its_number(n_jobs):
    assert sorted(run_as_completed(square, [3, 4, 5], n_jobs=n_jobs)) == [(0, 9), (1, 16), (2, 25)]


def test_what_a_dead_worker_had_is_done_again_unless_it_kills_all_of_them(tmp_path):
    items = [(number, str(tmp_path / f"flag {number}")) for number in range(2)]
    found = dict(run_as_completed(deadly, items, n_jobs=2))
    assert isinstance(found.pop(1), WorkerDied)
    assert found == {0: 0}


def test_what_is_left_after_a_death_is_handed_out_again(monkeypatch):
    rounds = []

    def one_and_a_death(function, items, n_jobs):
        rounds.append(list(items))
        number, item = next(iter(items.items()))
        yield number, function(item)
        if len(items) > 1:
            raise BrokenProcessPool

    monkeypatch.setattr("kernelhood.parallel._spread", one_and_a_death)
    assert list(run_as_completed(square, [3, 4, 5], n_jobs=2)) == [(0, 9), (1, 16), (2, 25)]
    assert rounds == [[0, 1, 2], [1, 2], [2]]


def test_no_dask_is_one_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'kernelhood\[dask\]'"):
        list(run_as_completed(square, [1], scheduler="tcp://127.0.0.1:9"))


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_results_keep_their_order(n_jobs):
    assert map_in_threads(lambda x: x * x, range(20), n_jobs) == [x * x for x in range(20)]


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_one_job_stays_in_this_thread(n_jobs):
    here = threading.get_ident()
    assert set(map_in_threads(lambda _: threading.get_ident(), range(4), n_jobs)) == {here}


def test_two_jobs_run_at_the_same_time():
    meeting = threading.Barrier(2, timeout=30)
    assert sorted(map_in_threads(lambda _: meeting.wait(), range(2), 2)) == [0, 1]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_errors_come_through(n_jobs):
    def fail(item):
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 0"):
        map_in_threads(fail, [0], n_jobs)
