"""A data set so small that a run of it takes a moment, and results made of it."""

import numpy as np
import pytest

from kernelhood.experiments import run
from tests.experiments.tiny import METHODS, make_tiny

pytest.importorskip("pandas")


@pytest.fixture(scope="session")
def tiny():
    return make_tiny()


@pytest.fixture(scope="session")
def results(tiny):
    """Three methods, two data sets of either kind, two runs."""
    return run({"tiny": tiny, "curves": make_tiny("regression")}, METHODS, runs=2)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
