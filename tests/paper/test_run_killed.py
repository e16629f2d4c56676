import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from kernelhood.paper.jobs import COMPARED, Store
from kernelhood.paper.run import as_frame, plan
from tests.paper.killed_runs import METHODS, RUNS, make_tiny

ROOT = Path(__file__).parents[2]


def read(path):
    with Store(path) as store:
        return as_frame(store.rows(plan({"tiny": make_tiny()}, METHODS, runs=RUNS)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_again_and_again_the_rows_are_those_of_an_undisturbed_run(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.paper.killed_runs", str(tmp_path), "3"],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    kills = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert [number for number, _ in kills] == [signal.SIGKILL] * 3
    assert any(0 < rows < RUNS * len(METHODS) for _, rows in kills)
    undisturbed, disturbed = (
        read(tmp_path / "undisturbed.sqlite"),
        read(tmp_path / "disturbed.sqlite"),
    )
    assert len(disturbed) == RUNS * len(METHODS)
    same = list(COMPARED)
    pd.testing.assert_frame_equal(disturbed[same], undisturbed[same], check_exact=True)
