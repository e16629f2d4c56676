"""A new installation says once that it compiles, and compiles little."""

import os
import subprocess
import sys

import pytest

LINE = "kernelhood: compiling numerical code"
ONE = """
import numpy as np
from kernelhood.kernels.compiled import exponentials, room_for_powers
exponentials(np.zeros(2), *room_for_powers(2))
"""
FIT = """
import numpy as np
from numba.core import event
import kernelhood as kh

class Count(event.Listener):
    number = 0
    def on_start(self, event):
        self.number += 1
    def on_end(self, event):
        pass

count = Count()
event.register("numba:compile", count)
rng = np.random.default_rng(0)
X, task = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
kh.MTONMKLClassifier().fit(X, X[:, 0] + rng.normal(size=60) > 0.0, task=task)
print(count.number)
"""


def run(code, folder, **more):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **more}
    if "NUMBA_DISABLE_JIT" not in more:
        environment.pop("NUMBA_DISABLE_JIT", None)
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )


def lines(code, folder, **more):
    return run(code, folder, **more).stderr.count(LINE)


def test_a_folder_that_cannot_be_written_is_no_reason_to_be_silent(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    code = f"import numba\nnumba.config.CACHE_DIR = {str(blocked / 'cache')!r}\n"
    code += "from kernelhood._compiled import _first_time\nprint(_first_time(), _first_time())"
    assert run(code, tmp_path).stdout.split() == ["True", "True"]


def test_code_that_is_not_compiled_is_not_announced(tmp_path):
    assert lines(ONE, tmp_path, NUMBA_DISABLE_JIT="1") == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_first_fit_compiles_few_functions_and_says_so_once_an_installation(tmp_path):
    first = run(FIT, tmp_path)
    assert int(first.stdout) <= 24
    assert first.stderr.count(LINE) == 1
    assert lines(ONE, tmp_path) == 0


def test_the_estimators_of_the_first_line_compile_nothing(tmp_path):
    found = run(FIT.replace("MTONMKLClassifier", "KernelhoodClassifier"), tmp_path)
    assert int(found.stdout) == 0
    assert LINE not in found.stderr
