"""A data home for each test, and the real one where there is one."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def real_home():
    """Return the folder of the real files; skip where there is none."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    for home in (os.environ.get("KERNELHOOD_DATA"), beside):
        if home and Path(home).is_dir():
            return Path(home)
    pytest.skip("the real data files are not here: set KERNELHOOD_DATA to check them too")


@pytest.fixture
def folder(tmp_path):
    """Return a function that makes the folder of a data set in an empty data home."""

    def make(name):
        path = tmp_path / name
        path.mkdir()
        return path

    return make
