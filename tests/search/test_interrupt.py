import os
import signal
import subprocess
import sys
import time

import pytest

SEARCH = """
import pathlib
import signal
import sys

import numpy as np
import kernelhood as kh


def scored(model, X, y):
    pathlib.Path(sys.argv[1]).touch()  # in a worker: it is at work
    return np.mean(model.predict(X) == y)


if __name__ == "__main__":
    # What is started in the background inherits that the signal is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    data = kh.datasets.make_multitask(6, 40, random_state=0)
    search = kh.KernelSearchCV(
        kh.MTONMKLClassifier(kernels="paper"),
        {"beta": list(2.0 ** np.linspace(-20, 0, 5000))},
        scoring=scored,
        n_jobs=2,
    )
    print("started", flush=True)
    try:
        search.fit(data.X, data.y, task=data.task)
    except KeyboardInterrupt:
        left = [name for name in vars(search) if name.startswith("best_")]
        print("interrupted", left, flush=True)
        raise
"""


def processes_of(group):
    """Return whether any process of the group is alive."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal to a process group")
def test_an_interrupt_ends_the_search_and_its_processes(tmp_path):
    script, at_work = tmp_path / "search.py", tmp_path / "at_work"
    script.write_text(SEARCH)
    running = subprocess.Popen(
        [sys.executable, str(script), str(at_work)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert running.stdout.readline().strip() == "started"
        deadline = time.monotonic() + 120.0
        while not at_work.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert at_work.exists()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
        assert out.strip() == "interrupted []"
        assert running.returncode != 0
        assert err.count("Warning") <= 1
        deadline = time.monotonic() + 20.0
        while processes_of(running.pid) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not processes_of(running.pid)
    finally:
        if processes_of(running.pid):
            os.killpg(running.pid, signal.SIGKILL)
