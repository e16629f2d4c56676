"""What is not used is not imported."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import kernelhood as kh

HEAVY = ("numba", "numpy", "scipy", "sklearn", "pandas", "joblib", "matplotlib")


def imported_by(code):
    """The heavy packages that some code has imported."""
    code += f"\nimport sys\nprint(*(one for one in {HEAVY!r} if one in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_the_package_itself_imports_nothing_heavy():
    assert imported_by("import kernelhood") == []


def test_estimators_do_without_the_extras():
    code = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("matplotlib", "pandas", "polars", "pyarrow", "skops", "tqdm"):
            raise ModuleNotFoundError(f"{name} is not installed", name=name)

sys.meta_path.insert(0, Missing())
import numpy as np
import kernelhood as kh

assert all(hasattr(kh, name) for name in kh.__all__)
X, task = np.random.default_rng(0).normal(size=(30, 2)), np.repeat(["a", "b", "c"], 10)
model = kh.KernelhoodRegressor().fit(X, X[:, 0], task=task)
model.predict_interval(X, task=task)
print(model.summary(), model.task_report())
kh.KernelhoodClassifier().fit(X, X[:, 0] > 0, task=task).predict_proba(X, task=task)
kh.KernelSearchCV(kh.ITLRegressor(kernels="paper"), {"C": [1.0]}, cv=2).fit(X, X[:, 0], task=task)
try:
    model.plot_effect("column 0")
except ImportError as error:
    assert "kernelhood[plot]" in str(error)
else:
    raise AssertionError
"""
    assert "matplotlib" not in imported_by(code)


def test_numba_is_imported_to_compile_and_not_before():
    code = """
import numpy as np
import kernelhood as kh

X, task = np.random.default_rng(0).normal(size=(30, 2)), np.repeat(["a", "b", "c"], 10)
kh.KernelhoodRegressor().fit(X, X[:, 0], task=task).predict(X, task=task)
"""
    assert "numba" not in imported_by(code)
    assert "numba" in imported_by(f"{code}kh.PooledRegressor().fit(X, X[:, 0], task=task)")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_command_imports_nothing_to_say_what_it_does(option):
    code = f"""
from kernelhood.cli import main
try:
    main(["{option}"])
except SystemExit:
    pass
"""
    assert imported_by(code) == []


def test_every_public_name_is_there_and_listed():
    assert [name for name in kh.__all__ if not hasattr(kh, name)] == []
    assert set(kh.__all__) <= set(dir(kh))
    assert "__version__" in dir(kh)


def test_type_checkers_read_the_same_names():
    text = Path(kh.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert set(re.findall(r"import \w+ as (\w+)", text)) == set(kh.__all__)


def test_a_name_is_that_of_its_module():
    from kernelhood.estimators import MTONMKLRegressor

    assert kh.MTONMKLRegressor is MTONMKLRegressor
    assert kh.kernels.KernelBank is kh.KernelBank


@pytest.mark.parametrize("name", ["Nothing", "_nothing"])
def test_what_is_not_there_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=name):
        getattr(kh, name)
