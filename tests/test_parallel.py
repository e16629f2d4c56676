import threading

import pytest

from kernelhood.parallel import map_in_threads


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
