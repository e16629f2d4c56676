"""The data sets of the comparison, by name or a user's own, and scores of models on them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import type_of_target

from kernelhood import datasets
from kernelhood._typing import AnyArray
from kernelhood.calibration.true_classes import true_probabilities
from kernelhood.datasets._files import REGISTRY, get_data_home
from kernelhood.experiments.protocol import CLASSIFICATION, REGRESSION, Metric


@dataclass(frozen=True)
class Samples:
    """One data set, every row belonging to one task.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Inputs.
    y, task, sample_id : ndarray of shape (n_samples,)
        Targets, tasks, and which rows are the same object.
    kind : {"classification", "regression"}
        What the targets are.
    task_groups : mapping of task to group, optional
        What is known of the tasks beforehand.
    """

    X: Any
    y: AnyArray
    task: AnyArray
    sample_id: AnyArray
    kind: str
    task_groups: Mapping[Any, Any] | None = None


KINDS = f"{CLASSIFICATION!r} or {REGRESSION!r}"

#: Those of `LOADERS` whose tasks have groups.
_GROUPED = frozenset({"landmine", "letter"})

#: Name to loader and kind; a loader takes the data home and a seed.
LOADERS: dict[str, tuple[Callable[[Any, int], Any], str]] = {
    "digits": (lambda home, seed: datasets.load_digits_tasks(), CLASSIFICATION),
    "landmine": (
        lambda home, seed: datasets.load_landmine(home, random_state=seed),
        CLASSIFICATION,
    ),
    "letter": (lambda home, seed: datasets.load_letter(home, random_state=seed), CLASSIFICATION),
    "spam": (lambda home, seed: datasets.load_spam(home, random_state=seed), CLASSIFICATION),
    "sarcos": (lambda home, seed: datasets.load_sarcos(home, random_state=seed), REGRESSION),
    "load": (lambda home, seed: datasets.load_load(home, random_state=seed), REGRESSION),
}


def check_datasets(asked: Any) -> dict[str, Samples | None]:
    """Return the data sets asked for: name to samples, None for those that are loaded by name.

    Parameters
    ----------
    asked : str, iterable of str, or mapping of str to Bunch
        Names, or a user's data sets with X, y, task and, where tasks share objects, sample_id, or
        have groups, task_groups; kind says whether they are for classification or regression, where
        y leaves it open.
    """
    if isinstance(asked, Mapping):
        found: dict[str, Samples | None] = {
            str(name): _as_samples(str(name), bunch) for name, bunch in asked.items()
        }
    else:
        names: Iterable[Any] = [asked] if isinstance(asked, str) else asked
        found = dict.fromkeys(names)
    if not found:
        raise ValueError("datasets is empty; give at least one.")
    for name, samples in found.items():
        if samples is None and name not in LOADERS:
            raise ValueError(
                f"datasets={name!r} is unknown; give names among {', '.join(LOADERS)}."
            )
    return found


def check_files(names: Iterable[str], data_home: str | PathLike[str] | None) -> None:
    """Raise where the files of a data set are not there, before any work is done.

    Parameters
    ----------
    names : iterable of str
        Names of data sets.
    data_home : path-like or None
        Folder of the data.
    """
    for name in names:
        if name not in REGISTRY:
            continue
        folder = get_data_home(data_home) / REGISTRY[name].folder
        for file in REGISTRY[name].files:
            if not any((folder / one).is_file() for one in file.names):
                raise FileNotFoundError(
                    f"{name} needs {folder / file.name}, which is not there: "
                    f"`kernelhood data fetch {name}` gets it, --data-home names another folder."
                )


def kind_of(name: str, samples: Samples | None) -> str:
    """Return whether a data set is for classification or regression."""
    return LOADERS[name][1] if samples is None else samples.kind


def has_groups(name: str, samples: Samples | None) -> bool:
    """Return whether the tasks of a data set have groups that are known beforehand."""
    return name in _GROUPED if samples is None else samples.task_groups is not None


@lru_cache(maxsize=1)
def load(name: str, data_home: str | PathLike[str] | None, seed: int) -> Samples:
    """Return a data set by name; the last one is kept, for the next method of the same run."""
    return _as_samples(name, LOADERS[name][0](data_home, seed))


def fingerprint(samples: Samples) -> str:
    """Return a short hash of a data set's contents."""
    digest = hashlib.sha256()
    X = samples.X
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for part in (*parts, samples.y, samples.sample_id):
        digest.update(np.ascontiguousarray(part).tobytes())
    digest.update(repr(samples.task.tolist()).encode())
    return digest.hexdigest()[:16]


def _as_samples(name: str, bunch: Any) -> Samples:
    """Return the parts of a Bunch, checked."""
    try:
        X, y, task = bunch["X"], np.asarray(bunch["y"]), bunch["task"]
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"data set {name!r} must be a mapping with X, y and task.") from error
    X = sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)
    if task is None or y.ndim != 1 or not X.shape[0] == len(y) == len(task):
        raise ValueError(
            f"data set {name!r} must have one row for each sample of a task: X, y and task of one "
            f"length, y with one dimension; got X {X.shape}, y {y.shape}."
        )
    ids = bunch.get("sample_id")
    ids = np.arange(len(y)) if ids is None else np.asarray(ids)
    kind = _kind(name, bunch.get("kind"), y)
    return Samples(X, y, np.asarray(task), ids, kind, bunch.get("task_groups"))


def _kind(name: str, asked: str | None, y: AnyArray) -> str:
    if asked not in (None, CLASSIFICATION, REGRESSION):
        raise ValueError(f"data set {name!r} has kind={asked!r}; give {KINDS}.")
    return asked or (REGRESSION if type_of_target(y) == "continuous" else CLASSIFICATION)


def task_scores(
    metric: Metric, model: Any, X: Any, y: AnyArray, task: AnyArray
) -> dict[Any, float]:
    """Return the score of every task on its own rows.

    Parameters
    ----------
    metric : Metric
        The score.
    model : estimator
        Fitted.
    X, y, task
        Rows of all tasks.
    """
    if metric.needs_probability:
        values = true_probabilities(model, X, y, task)
    else:
        output = model.decision_function if metric.needs_decision else model.predict
        values = np.asarray(output(X, task=task))
    scores = {}
    for name in dict.fromkeys(task.tolist()):
        rows = task == name
        scores[name] = float(metric.score(y[rows], values[rows]))
    return scores
