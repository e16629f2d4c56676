"""A data set so small that a run of it takes a moment, and results made of it."""

import pytest

from kernelhood.paper.report import write_report
from kernelhood.paper.run import run
from tests.paper.tiny import METHODS, make_tiny

pytest.importorskip("pandas")

FURTHER = ["weights", "alignment", "trace"]


@pytest.fixture(scope="session")
def tiny():
    return make_tiny()


@pytest.fixture(scope="session")
def results(tiny):
    """Three methods, two data sets of either kind, two runs."""
    return run({"tiny": tiny, "curves": make_tiny("regression")}, METHODS, runs=2)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the figures out, which take longest."""
    monkeypatch.setattr("kernelhood.paper.report._draw", lambda results: [])


@pytest.fixture(scope="session")
def written(results, tmp_path_factory):
    """Write the report once, with all kinds of figures for "tiny"; return folder and files."""
    pytest.importorskip("matplotlib")
    results = results.astype(dict.fromkeys(FURTHER, object))
    results.loc[results["dataset"] == "curves", FURTHER] = None
    out = tmp_path_factory.mktemp("reports") / "new" / "report"
    return out, write_report(results, out, command="kernelhood bench <tiny> --out report")
