"""A data set so small that a run of it takes a moment, and results made of it."""

import pytest

from kernelhood.experiments import run, write_report
from tests.experiments.tiny import METHODS, make_tiny

pytest.importorskip("pandas")


@pytest.fixture(scope="session")
def tiny():
    return make_tiny()


@pytest.fixture(scope="session")
def results(tiny):
    """Three methods, two data sets of either kind, two runs."""
    return run({"tiny": tiny, "curves": make_tiny("regression")}, METHODS, runs=2)


@pytest.fixture(scope="session")
def written(results, tmp_path_factory):
    """Write the report once; return its folder and the files."""
    pytest.importorskip("matplotlib")
    out = tmp_path_factory.mktemp("reports") / "new" / "report"
    return out, write_report(results, out, command="kernelhood bench <tiny> --out report")
