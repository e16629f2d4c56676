"""Run a comparison, killed at random moments and started again, and say how far each got.

Called by test_run_killed.py as ``python -m tests.experiments.killed_runs FOLDER N_KILLS``. The
process that computes is a fork of this one, so that a start takes no time.
"""

import os
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path

from kernelhood.experiments import run
from tests.experiments.tiny import METHODS, make_tiny

RUNS = 15


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
    with sqlite3.connect(store) as connection:
        found = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    connection.close()
    return found


def main(folder, n_kills):
    undisturbed, disturbed = folder / "undisturbed.sqlite", folder / "disturbed.sqlite"
    # Once for the compilation, once for the time.
    run({"tiny": make_tiny()}, METHODS, runs=1)
    began = time.perf_counter()
    compute(undisturbed)
    duration = time.perf_counter() - began
    rng = random.Random(0)
    for _ in range(n_kills):
        child = start(disturbed)
        time.sleep(rng.uniform(0.0, duration / 6))
        os.kill(child, signal.SIGKILL)
        print(os.WTERMSIG(os.waitpid(child, 0)[1]), count(disturbed) if disturbed.exists() else 0)
    os.waitpid(start(disturbed), 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
