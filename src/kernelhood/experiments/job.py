"""One row of the comparison: choose the parameters of one method on one split, fit, test once."""

from __future__ import annotations

import hashlib
import json
import platform
import time
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kernelhood.experiments.data import Samples, fingerprint, has_groups, kind_of, load
from kernelhood.experiments.methods import (
    ALIGNED,
    Candidates,
    Found,
    Memory,
    candidates,
    fit_found,
    make_estimator,
    search,
)
from kernelhood.experiments.protocol import (
    CLASSIFICATION,
    METRICS,
    Split,
    run_seed,
    split_rows,
)
from kernelhood.experiments.task_scores import task_scores

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

#: Of so many runs the rows hold what figures of kernels need; that of all would be megabytes.
PICTURED = 5

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
    def candidates(self) -> list[Candidates]:
        """Return the kinds of models that the method chooses among."""
        kind, grouped = kind_of(self.dataset, self.samples), has_groups(self.dataset, self.samples)
        return candidates(self.method, self.grid, kind, grouped=grouped)

    @property
    def settings(self) -> str:
        """Return a hash of all that can change the row beside data set, method and run."""
        content = {
            "version": version("kernelhood"),
            "seed": self.seed,
            "metric": self.metric,
            "train_fraction": self.train_fraction,
            "models": [[one.method, one.choices, one.grid] for one in self.candidates],
            "data": None if self.samples is None else fingerprint(self.samples),
        }
        return hashlib.sha256(dumps(content).encode()).hexdigest()[:16]

    @property
    def split(self) -> Hashable:
        """Return what tells its split, and how models are judged there, from others."""
        mine = None if self.samples is None else id(self.samples)
        return self.dataset, mine, self.run, self.seed, self.metric, self.train_fraction

    @property
    def key(self) -> tuple[str, str, int, str]:
        """Return what names the row in a store."""
        return self.dataset, self.method, self.run, self.settings


def do_jobs(jobs: Sequence[Job]) -> list[Row]:
    """Return the rows of jobs on one split, which share what they find out.

    Parameters
    ----------
    jobs : sequence of Job
        Methods that have models in common, one after the other.
    """
    memory = Memory()
    return [do_job(job, memory) for job in jobs]


def do_job(job: Job, memory: Memory | None = None) -> Row:
    """Return the row of a job; where it fails, the row has an error and no score.

    One thread computes, so that sums have the same order, and rows the same bits, everywhere.

    Parameters
    ----------
    job : Job
        What to do.
    memory : Memory, optional
        What is known already.
    """
    start = time.perf_counter()
    row = empty_row(job)
    try:
        with threadpool_limits(limits=1), warnings.catch_warnings():
            # The gap is in the row.
            warnings.simplefilter("ignore", ConvergenceWarning)
            row.update(_measure(job, Memory() if memory is None else memory))
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


def _measure(job: Job, memory: Memory) -> Row:
    """Return what the job adds to its row."""
    seed = run_seed(job.seed, job.dataset, job.run)
    samples = job.samples or load(job.dataset, job.data_home, seed)
    classes = samples.y if kind_of(job.dataset, job.samples) == CLASSIFICATION else None
    share = job.train_fraction
    split = split_rows(samples.task, samples.sample_id, classes, train_fraction=share, seed=seed)
    one, best = _choose(job, samples, split, memory)
    model, seconds = _fit(job, samples, split, one, best, memory)
    rows = samples.X[split.test], samples.y[split.test], samples.task[split.test]
    scores = task_scores(METRICS[job.metric], model, *rows)
    several = one.choices if len(job.candidates) > 1 else {}
    chosen = {**several, **best.parameters}
    return {
        "score": float(np.mean(list(scores.values()))),
        "task_scores": dumps({str(name): score for name, score in scores.items()}),
        "validation_score": best.score,
        "parameters": dumps({name: _finite(value) for name, value in chosen.items()}),
        "fit_seconds": seconds,
        **(_solution(job, model) if hasattr(model, "dual_gap_") else {}),
    }


def _estimator(job: Job, samples: Samples, one: Candidates) -> Any:
    """Return the estimator of some models."""
    kind = kind_of(job.dataset, job.samples)
    told = {"probability": True} if METRICS[job.metric].needs_probability else {}
    return make_estimator(one.method, kind, samples.task_groups, **one.settings, **told)


def _choose(job: Job, samples: Samples, split: Split, memory: Memory) -> tuple[Candidates, Found]:
    """Return the best model on the validation part, the first of equal ones."""
    data, parts = (samples.X, samples.y, samples.task), (split.train, split.validation)
    metric, chosen = METRICS[job.metric], None
    for one in job.candidates:
        estimator = _estimator(job, samples, one)
        find = partial(search, estimator, one.grid, data, parts, metric)
        found = memory.recall(job.split, repr(one), find)
        if chosen is None or metric.better(found.score, chosen[1].score):
            chosen = one, found
    assert chosen is not None
    return chosen


def _fit(
    job: Job,
    samples: Samples,
    split: Split,
    one: Candidates,
    best: Found,
    memory: Memory,
) -> tuple[Any, float]:
    """Return the chosen model, fitted to the training part, and the seconds that it took."""

    def fitted() -> tuple[Any, float]:
        estimator = _estimator(job, samples, one)
        start, rows = time.perf_counter(), split.train
        X, y, task = samples.X[rows], samples.y[rows], samples.task[rows]
        return fit_found(estimator, best, X, y, task), time.perf_counter() - start

    key = "fitted", one.method, repr(one.settings), repr(best.parameters)
    return memory.recall(job.split, key, fitted)


def _solution(job: Job, model: Any) -> Row:
    """Return how well the model is solved and, of the first runs, what the figures need."""
    known = {"gap": float(model.dual_gap_), "n_iter": int(model.n_iter_)}
    return {**known, **_pictures(job.method, model)} if job.run < PICTURED else known


def _pictures(method: str, model: Any) -> Row:
    """Return weights, alignment and the gap after every SVM, as JSON."""
    weights = {
        "tasks": [str(name) for name in model.tasks_],
        "kernels": list(model.weights_table().columns),
        "values": _short(model.weights_),
    }
    return {
        "weights": dumps(weights),
        "alignment": dumps(_short(model.alignment())) if method in ALIGNED else None,
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
