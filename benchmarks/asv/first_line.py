"""Seconds and megabytes of what most people do, for a history by airspeed velocity.

    asv run v0.1.0..main
    asv publish
    asv preview

`asv run --python=same --quick` runs them once with what is installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import kernelhood as kh


def made(kind: str, n_tasks: int = 15, n_samples: int = 30):
    """Return tasks of the library's own maker, the same in every run."""
    return kh.datasets.make_multitask(
        n_tasks=n_tasks, n_samples=n_samples, kind=kind, random_state=0
    )


class Kernelhood:
    """The estimators without a search."""

    params = ["regression", "classification"]
    param_names = ["kind"]
    timeout = 300

    def setup(self, kind):
        self.data = made(kind)
        self.make = {
            "regression": kh.KernelhoodRegressor,
            "classification": kh.KernelhoodClassifier,
        }[kind]
        self.model = self.fitted()  # compiles

    def fitted(self):
        return self.make().fit(self.data.X, self.data.y, task=self.data.task)

    def time_fit(self, kind):
        self.fitted()

    def time_predict(self, kind):
        self.model.predict(self.data.X, task=self.data.task)

    def peakmem_fit(self, kind):
        self.fitted()

    def track_file_size(self, kind):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.skops"
            kh.save(self.model, path)
            return path.stat().st_size

    track_file_size.unit = "bytes"


class Paper:
    """MT-ONMKL, at a fixed point and in a search."""

    timeout = 600

    def setup(self):
        self.data = made("classification", n_tasks=8)
        self.grid = {"C": np.logspace(-1, 2, 4)}
        self.model().fit(self.data.X, self.data.y, task=self.data.task)

    def model(self):
        return kh.MTONMKLClassifier(kernels="small")

    def time_fit(self):
        self.model().fit(self.data.X, self.data.y, task=self.data.task)

    def time_search(self):
        search = kh.KernelSearchCV(self.model(), self.grid, cv=3)
        search.fit(self.data.X, self.data.y, task=self.data.task)


def timeraw_import():
    """Return what a new process runs to import the library."""
    return "import kernelhood; kernelhood.KernelhoodRegressor"


def track_modules():
    """Return how many modules the import brings along."""
    source = "import sys, kernelhood; print(len(sys.modules))"
    return int(subprocess.run([sys.executable, "-c", source], capture_output=True).stdout)
