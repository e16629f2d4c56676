"""One row of the comparison: choose the parameters of one method on one split, fit, test once."""

from __future__ import annotations

import hashlib
import json
import platform
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kernelhood.experiments.data import Samples, fingerprint, kind_of, load, task_scores
from kernelhood.experiments.methods import (
    ALIGNED,
    make_estimator,
    make_grid,
    search,
    variant_settings,
)
from kernelhood.experiments.protocol import (
    CLASSIFICATION,
    METRICS,
    run_seed,
    split_rows,
)

Row = dict[str, Any]

#: Columns that differ from one execution to the next; all others follow from the seed.
TIMED = ("seconds", "fit_seconds")
COLUMNS = (
    "dataset",
    "method",
    "run",
    "seed",
    "metric",
    "score",
    "task_scores",
    "validation_score",
    "parameters",
    "gap",
    "n_iter",
    "seconds",
    "fit_seconds",
    "train_fraction",
    "grid",
    "settings",
    "versions",
    "error",
    "weights",
    "alignment",
    "trace",
)
#: Columns that are the same, bit for bit, however often and wherever a run is done.
COMPARED = tuple(name for name in COLUMNS if name not in TIMED)

_PACKAGES = ("kernelhood", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Job:
    """What determines a row.

    Attributes
    ----------
    dataset, method : str
        Names.
    run : int
        Number of the random split.
    seed : int
        Of the whole comparison.
    metric : str
        Name of the score.
    train_fraction : float
        Part that trains.
    grid : str
        Name of the grid.
    data_home : str or None
        Where files are.
    samples : Samples or None
        A user's data; None to load them by name.
    """

    dataset: str
    method: str
    run: int
    seed: int
    metric: str
    train_fraction: float
    grid: str
    data_home: str | None = None
    samples: Samples | None = None

    @property
    def settings(self) -> str:
        """Return a hash of all that can change the row beside data set, method and run."""
        content = {
            "version": version("kernelhood"),
            "seed": self.seed,
            "metric": self.metric,
            "train_fraction": self.train_fraction,
            "model": variant_settings(self.method),
            "grid": make_grid(self.method, self.grid),
            "data": None if self.samples is None else fingerprint(self.samples),
        }
        return hashlib.sha256(dumps(content).encode()).hexdigest()[:16]

    @property
    def key(self) -> tuple[str, str, int, str]:
        """Return what names the row in a store."""
        return self.dataset, self.method, self.run, self.settings


def do_job(job: Job) -> Row:
    """Return the row of a job; where it fails, the row has an error and no score.

    One thread computes, so that sums have the same order, and rows the same bits, everywhere.
    """
    start = time.perf_counter()
    row = empty_row(job)
    try:
        with threadpool_limits(limits=1), warnings.catch_warnings():
            # The gap is in the row.
            warnings.simplefilter("ignore", ConvergenceWarning)
            row.update(_measure(job))
    except Exception as error:  # whatever it is, the other runs go on
        row["error"] = f"{type(error).__name__}: {error}"
    row["seconds"] = time.perf_counter() - start
    return row


def empty_row(job: Job, error: str | None = None) -> Row:
    """Return the row of a job of which nothing is known yet, or only that it failed."""
    known = {
        "dataset": job.dataset,
        "method": job.method,
        "run": job.run,
        "seed": run_seed(job.seed, job.dataset, job.run),
        "metric": job.metric,
        "train_fraction": job.train_fraction,
        "grid": job.grid,
        "settings": job.settings,
        "versions": dumps(_versions()),
        "error": error,
    }
    return {name: known.get(name) for name in COLUMNS}


def dumps(value: Any) -> str:
    """Return JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _measure(job: Job) -> Row:
    """Return what the job adds to its row."""
    seed = run_seed(job.seed, job.dataset, job.run)
    samples = job.samples or load(job.dataset, job.data_home, seed)
    kind, metric = kind_of(job.dataset, job.samples), METRICS[job.metric]
    X, y, task = samples.X, samples.y, samples.task
    split = split_rows(
        task,
        samples.sample_id,
        y if kind == CLASSIFICATION else None,
        train_fraction=job.train_fraction,
        seed=seed,
    )
    estimator = make_estimator(job.method, kind, samples.task_groups)
    if metric.needs_probability:
        estimator.set_params(probability=True)
    grid = make_grid(job.method, job.grid)
    best, validation_score = search(
        estimator, grid, (X, y, task), (split.train, split.validation), metric
    )
    start = time.perf_counter()
    model = estimator.set_params(**best).fit(X[split.train], y[split.train], task=task[split.train])
    fit_seconds = time.perf_counter() - start
    scores = task_scores(metric, model, X[split.test], y[split.test], task[split.test])
    return {
        "score": float(np.mean(list(scores.values()))),
        "task_scores": dumps({str(name): score for name, score in scores.items()}),
        "validation_score": validation_score,
        "parameters": dumps({name: _finite(value) for name, value in best.items()}),
        "gap": float(model.dual_gap_),
        "n_iter": int(model.n_iter_),
        "fit_seconds": fit_seconds,
        **_pictures(job.method, model),
    }


def _pictures(method: str, model: Any) -> Row:
    """Return what the figures need: weights, alignment and the gap after every SVM, as JSON."""
    weights = {
        "tasks": [str(name) for name in model.tasks_],
        "kernels": list(model.weights_table().columns),
        "values": _short(model.weights_),
    }
    aligned = method.startswith(ALIGNED)
    return {
        "weights": dumps(weights),
        "alignment": dumps(_short(model.alignment())) if aligned else None,
        "trace": dumps([_short(trace[:, 1]) for trace in model.trace_]),
    }


def _short(values: Any) -> Any:
    """Return an array as lists, to the six digits that a picture can show."""
    return np.vectorize(lambda value: float(f"{value:.6g}"), otypes=[float])(values).tolist()


def _finite(value: Any) -> Any:
    """Return the value, or its name where JSON has no number for it."""
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _versions() -> Mapping[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}
