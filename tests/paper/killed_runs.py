"""Run a comparison, killed at random moments and started again, and say how far each got.

Called by test_run_killed.py as ``python -m tests.paper.killed_runs FOLDER N_KILLS``. The
process that computes is a fork of this one, so that a start takes no time.
"""

import os
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path

from kernelhood.paper.run import run
from tests.paper.tiny import make_tiny

METHODS = ("mt-onmkl-corrected", "mt-onmkl-printed")
RUNS = 6


def compute(store):
    return run({"tiny": make_tiny()}, METHODS, runs=RUNS, store=store)


def start(store):
    """Return the process that computes."""
    child = os.fork()
    if child == 0:
        compute(store)
        os._exit(0)
    return child


def count(store):
    """Return the number of rows, 0 where there is no table yet."""
    if not store.exists():
        return 0
    connection = sqlite3.connect(store)
    try:
        return connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def main(folder, n_kills):
    undisturbed, disturbed = folder / "undisturbed.sqlite", folder / "disturbed.sqlite"
    # Once for the compilation, once for the time.
    run({"tiny": make_tiny()}, METHODS, runs=1)
    began = time.perf_counter()
    compute(undisturbed)
    duration = time.perf_counter() - began
    rng = random.Random(0)
    for number in range(n_kills):
        before, child = count(disturbed), start(disturbed)
        # Every other time it gets on, however busy the machine is.
        while number % 2 and count(disturbed) == before:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, duration / RUNS))
        os.kill(child, signal.SIGKILL)
        print(os.WTERMSIG(os.waitpid(child, 0)[1]), count(disturbed))
    os.waitpid(start(disturbed), 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
