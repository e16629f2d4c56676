"""The first fit on a new installation says that it compiles; later ones are silent."""

import os
import subprocess
import sys

CODE = """
import numpy as np
from kernelhood.losses.box import best_gap, dual_gain
from kernelhood.losses import Hinge
loss = Hinge().box(np.array([1.0, -1.0]), np.ones(2))
dual_gain(np.zeros(2), loss), best_gap(np.zeros(2), np.zeros(2), loss)
"""


def heard(folder):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True
    )
    return done.stderr


def test_one_line_says_that_code_is_compiled_and_none_when_it_is_kept(tmp_path):
    assert heard(tmp_path).count("kernelhood: compiling numerical code") == 1
    assert "compiling" not in heard(tmp_path)
