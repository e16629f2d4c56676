"""One row of the comparison: choose the parameters of one method on one split, fit, test once."""

from __future__ import annotations

import copy
import hashlib
import json
import platform
import sqlite3
import time
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kernelhood._support import whole_file
from kernelhood.paper import protocol
from kernelhood.paper.choice import Found, Memory, fit_found, search, task_scores
from kernelhood.paper.methods import (
    ALIGNED,
    UNTUNED,
    Candidates,
    candidates,
    make_estimator,
    with_relations,
)
from kernelhood.relations import TaskRelation
from kernelhood.solvers.neighborhood import identity_projection

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
    stratify : bool
        Whether classes are split in the same proportions.
    """

    dataset: str
    method: str
    run: int
    seed: int
    metric: str
    train_fraction: float
    grid: str
    data_home: str | None = None
    samples: protocol.Samples | None = None
    stratify: bool = True

    @property
    def candidates(self) -> list[Candidates]:
        """Return the kinds of models that the method chooses among."""
        kind, grouped = (
            protocol.kind_of(self.dataset, self.samples),
            protocol.has_groups(self.dataset, self.samples),
        )
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
            "data": None if self.samples is None else protocol.fingerprint(self.samples),
            **({} if self.stratify else {"stratify": False}),
        }
        return hashlib.sha256(dumps(content).encode()).hexdigest()[:16]

    @property
    def split(self) -> Hashable:
        """Return what tells its split, and how models are judged there, from others."""
        mine = None if self.samples is None else id(self.samples)
        drawn = self.train_fraction, self.stratify
        return self.dataset, mine, self.run, self.seed, self.metric, *drawn

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
    """Return the row of a job; if it fails, the row has an error and no score.

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
        "seed": protocol.run_seed(job.seed, job.dataset, job.run),
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
    seed = protocol.run_seed(job.seed, job.dataset, job.run)
    samples = job.samples or protocol.load(job.dataset, job.data_home, seed)
    classified = protocol.kind_of(job.dataset, job.samples) == protocol.CLASSIFICATION
    classes = samples.y if classified and job.stratify else None
    share = job.train_fraction
    split = protocol.split_rows(
        samples.task, samples.sample_id, classes, train_fraction=share, seed=seed
    )
    one, best = _choose(job, samples, split, memory)
    model, seconds = _fit(job, samples, split, one, best, memory)
    rows = samples.X[split.test], samples.y[split.test], samples.task[split.test]
    scores = task_scores(protocol.METRICS[job.metric], model, *rows)
    several = one.choices if len(job.candidates) > 1 else {}
    chosen = {**several, **best.parameters}
    return {
        "score": float(np.mean(list(scores.values()))),
        "task_scores": dumps({str(name): score for name, score in scores.items()}),
        "validation_score": best.score,
        "parameters": dumps(_written(chosen)),
        "fit_seconds": seconds,
        **(_solution(job, model) if hasattr(model, "dual_gap_") else {}),
    }


def _estimator(job: Job, samples: protocol.Samples, one: Candidates) -> Any:
    """Return the estimator of some models."""
    kind = protocol.kind_of(job.dataset, job.samples)
    return make_estimator(one.method, kind, samples.task_groups, **one.settings)


def _choose(
    job: Job, samples: protocol.Samples, split: protocol.Split, memory: Memory
) -> tuple[Candidates, Found]:
    """Return the best model on the validation part, the first of equal ones."""
    data, parts = (samples.X, samples.y, samples.task), (split.train, split.validation)
    metric, chosen = protocol.METRICS[job.metric], None
    for one in job.candidates:
        estimator = _estimator(job, samples, one)
        grid = one.grid
        if "relation" in estimator.get_params():
            grid = with_relations(grid, estimator.relation)
        find = partial(search, estimator, grid, data, parts, metric)
        found = memory.recall(job.split, repr(one), find)
        if chosen is None or metric.better(found.score, chosen[1].score):
            chosen = one, found
    assert chosen is not None
    return chosen


def _fit(
    job: Job,
    samples: protocol.Samples,
    split: protocol.Split,
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
    pictured = job.run < PICTURED and job.method != UNTUNED
    return {**known, **_pictures(job.method, model)} if pictured else known


def _pictures(method: str, model: Any) -> Row:
    """Return weights, alignment and the gap after every SVM, as JSON."""
    weights = {
        "tasks": [str(name) for name in model.tasks_],
        "kernels": list(model.weights_table().columns),
        "values": _short(model.weights_),
    }
    return {
        "weights": dumps(weights),
        "alignment": dumps(_short(_alignment(model))) if method in ALIGNED else None,
        "trace": dumps([_short(trace[:, 1]) for trace in model.trace_]),
    }


def _alignment(model: Any) -> Any:
    """Return how kernels and neighborhoods align.

    No prediction of `corrected` depends on eta, so that a search cannot choose it: its
    neighborhoods are those of eta = 4 beta, the smallest that the paper allows.
    """
    if getattr(model, "formulation", None) != "corrected":
        return model.alignment()
    shown, parts = copy.copy(model), zip(model.gram_, model.traces_, strict=True)
    gammas = np.array([identity_projection(G, d) for G, d in parts])
    shown.neighborhood_weights_ = model.weights_ - 0.25 * gammas
    return shown.alignment()


def _short(values: Any) -> Any:
    """Return an array as lists, to the six digits that a picture can show."""
    return np.vectorize(lambda value: float(f"{value:.6g}"), otypes=[float])(values).tolist()


def _written(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON has them: of a relation, what it costs to be different."""
    found = {}
    for name, value in parameters.items():
        if isinstance(value, TaskRelation):
            name, value = "specific_cost", getattr(value, "specific_cost", None)
        found[name] = _finite(value)
    return found


def _finite(value: Any) -> Any:
    """Return the value, or its name if JSON has no number for it."""
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _versions() -> Mapping[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


_SECONDS_TO_WAIT = 60.0
_FORMAT = 1
_CREATE = """
CREATE TABLE IF NOT EXISTS runs (
    dataset TEXT NOT NULL,
    method TEXT NOT NULL,
    run INTEGER NOT NULL,
    settings TEXT NOT NULL,
    failed INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (dataset, method, run, settings)
)
"""
# What is done stays as it is: of two processes that do the same run, the first one's row is kept.
_WRITE = """
INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET failed = excluded.failed, content = excluded.content
WHERE runs.failed
"""
_READ = "SELECT content FROM runs WHERE dataset = ? AND method = ? AND run = ? AND settings = ?"


class StoreError(OSError):
    """The store cannot be read or written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         Store(folder)
    ...     except StoreError as error:
    ...         print(str(error).replace(folder, "..."))
    cannot use the store ...: unable to open database file. Is the folder writable, ...
    """


class Store:
    """Rows by data set, method, run and settings.

    Several processes may use one file at a time; a process that is killed leaves only whole rows.

    Parameters
    ----------
    path : path-like or None
        The file, made if it is missing; None keeps rows in memory.

    Examples
    --------
    >>> with Store(None) as store:
    ...     store.rows([])
    []
    """

    def __init__(self, path: str | PathLike[str] | None) -> None:
        self.path = ":memory:" if path is None else str(path)
        try:
            if path is not None:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            with self._explained():
                self._connection = sqlite3.connect(
                    self.path, timeout=_SECONDS_TO_WAIT, isolation_level=None
                )
        except FileExistsError as error:
            raise StoreError(f"cannot use the store {self.path}: {error}.") from error
        try:
            with self._transaction() as connection:
                connection.execute(_CREATE)
                # Written each time, so that a store that cannot be written is found out now.
                connection.execute(f"PRAGMA user_version = {_FORMAT}")
        except StoreError:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def write(self, row: Row) -> None:
        """Write a row; a failed one takes only the place of a failed one.

        Parameters
        ----------
        row : dict
            With at least dataset, method, run, settings and error.
        """
        key = (row["dataset"], row["method"], row["run"], row["settings"])
        with self._transaction() as connection:
            connection.execute(_WRITE, (*key, row["error"] is not None, json.dumps(row)))

    def rows(self, jobs: Iterable[Job]) -> list[Row]:
        """Return the rows that are there of these jobs, failed ones too, in the order of the jobs.

        Parameters
        ----------
        jobs : iterable of Job
            What is asked for.
        """
        with self._explained():
            found = [self._connection.execute(_READ, job.key).fetchone() for job in jobs]
        return [json.loads(content) for (content,) in filter(None, found)]

    def missing(self, jobs: Iterable[Job]) -> list[Job]:
        """Return the jobs that are not done, or that failed."""
        jobs = list(jobs)
        done = {
            (row["dataset"], row["method"], row["run"], row["settings"])
            for row in self.rows(jobs)
            if row["error"] is None
        }
        return [job for job in jobs if job.key not in done]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn an error of SQLite into one that says which file, and what may be the matter."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"cannot use the store {self.path}: {error}. Is the folder writable, the disk not "
                "full, and the file a store of kernelhood?"
            ) from error


def write_file(path: Path, content: str | bytes) -> Path:
    """Write a file beside its place, then move it there; return its path.

    Parameters
    ----------
    path : Path
        The place; its folder is made if it is missing.
    content : str or bytes
        Text is written as UTF-8.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
    return path
