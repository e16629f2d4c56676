"""What the paper did, and what it printed: the split, the scores, and its Table 1.

One part of the rows trains, the rest is halved to validate and to test; every task is scored by
itself. The figures of the paper (arXiv 1707.03426) stand beside ours.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics import (
    accuracy_score,
    mean_pinball_loss,
    mean_squared_error,
    r2_score,
    roc_auc_score,
)
from sklearn.utils.multiclass import type_of_target

from kernelhood import datasets
from kernelhood._support import import_extra
from kernelhood._typing import AnyArray, Indices
from kernelhood.datasets._files import REGISTRY, get_data_home
from kernelhood.estimators.formulations import FORMULATIONS

CLASSIFICATION, REGRESSION = "classification", "regression"


class Split(NamedTuple):
    """Rows of the three parts, each ascending.

    Attributes
    ----------
    train, validation, test : ndarray of int
        No object is in two parts, whatever its tasks.
    """

    train: Indices
    validation: Indices
    test: Indices


def run_seed(seed: int, dataset: str, run: int) -> int:
    """Return the seed of one run: the same for all methods, another for every data set and run.

    Examples
    --------
    >>> run_seed(0, "digits", 0) == run_seed(0, "digits", 1)
    False
    """
    entropy = [seed, zlib.crc32(dataset.encode()), run]
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


def split_rows(
    task: AnyArray,
    sample_id: AnyArray,
    y: AnyArray | None,
    *,
    train_fraction: float,
    seed: int,
) -> Split:
    """Split the rows of all tasks at once.

    Objects are drawn, not rows: what any task trains on is in no task's validation or test part.
    Objects of the same tasks and classes are drawn in the same proportions, so that every task,
    and every class in it, is split alike.

    Parameters
    ----------
    task, sample_id : ndarray of shape (n_samples,)
        The task of each row, and the object that it is.
    y : ndarray of shape (n_samples,) or None
        Classes that are split alike; None for regression, or to split without a look at them.
    train_fraction : float
        Part that trains; the rest is halved.
    seed : int
        Of the draw.

    Examples
    --------
    >>> import numpy as np
    >>> task, one = np.repeat(["a", "b"], 10), np.arange(20)
    >>> [len(part) for part in split_rows(task, one, None, train_fraction=0.2, seed=0)]
    [4, 8, 8]
    """
    rng = np.random.default_rng(seed)
    _, first, number = np.unique(sample_id, return_index=True, return_inverse=True)
    part = np.empty(len(first), dtype=np.intp)
    for members in _strata(task, number.ravel(), y):
        part[rng.permutation(members)] = _parts(len(members), train_fraction, rng)
    mine = part[number.ravel()]
    train, validation, test = (np.flatnonzero(mine == p) for p in range(3))
    return Split(train, validation, test)


def _strata(task: AnyArray, number: Indices, y: AnyArray | None) -> list[Indices]:
    """Group objects by the tasks, and classes in them, that they occur in."""
    labels = task.tolist() if y is None else list(zip(task.tolist(), y.tolist(), strict=True))
    places: dict[object, int] = {}
    codes = [places.setdefault(value, len(places)) for value in labels]
    occurrences: list[list[int]] = [[] for _ in range(int(number.max()) + 1)]
    for thing, code in zip(number.tolist(), codes, strict=True):
        occurrences[thing].append(code)
    strata: dict[tuple[int, ...], list[int]] = {}
    for thing, found in enumerate(occurrences):
        strata.setdefault(tuple(sorted(found)), []).append(thing)
    return [np.array(members, dtype=np.intp) for members in strata.values()]


def _parts(size: int, train_fraction: float, rng: np.random.Generator) -> Indices:
    """Return the part of each of `size` objects; each part gets one if there are three."""
    low = min(1, size)
    n_train = min(max(round(train_fraction * size), low), max(size - 2, low))
    rest = size - n_train
    # An odd one out falls to either half, so that neither is larger over many small strata.
    n_validation = (rest + int(rng.integers(2))) // 2
    return np.repeat(np.arange(3), [n_train, n_validation, rest - n_validation])


@dataclass(frozen=True)
class Metric:
    """How predictions are judged.

    Attributes
    ----------
    name : str
        Name in the rows.
    kind : str
        The kind of data it is for.
    greater_is_better : bool
        Whether larger scores are better.
    scoring : str
        scikit-learn's scorer that orders models in the same way; larger is better.
    score : callable
        ``score(y, predicted)``.
    percent : bool
        Whether to show it in percent.
    needs_decision : bool
        Whether it judges decision values rather than predictions.
    needs_probability : bool
        Whether it judges the probabilities that were told for the true classes.
    """

    name: str
    kind: str
    greater_is_better: bool
    scoring: str
    score: Callable[[AnyArray, AnyArray], float]
    percent: bool = False
    needs_decision: bool = False
    needs_probability: bool = False

    def better(self, score: float, other: float) -> bool:
        """Return whether a score is better than another."""
        return score > other if self.greater_is_better else score < other

    def from_scorer(self, value: float) -> float:
        """Return what scikit-learn's scorer gives as this score."""
        if self.greater_is_better:
            return value
        # The pinball loss of the median is half the absolute error.
        others = {"r2": 1.0 - value, "neg_mean_absolute_error": -0.5 * value}
        return others.get(self.scoring, -value)


def _normalised_error(y: AnyArray, predicted: AnyArray) -> float:
    """Return the mean squared error divided by the variance of y."""
    return 1.0 - float(r2_score(y, predicted))


def _log_loss(y: AnyArray, told: AnyArray) -> float:
    """Return the mean of minus the logarithm of the true classes' probabilities."""
    return -float(np.mean(np.log(np.maximum(told, np.finfo(np.float64).eps))))


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", CLASSIFICATION, True, "accuracy", accuracy_score, percent=True),
        Metric("auc", CLASSIFICATION, True, "roc_auc", roc_auc_score, True, True),
        Metric(
            "log_loss", CLASSIFICATION, False, "neg_log_loss", _log_loss, needs_probability=True
        ),
        Metric("mse", REGRESSION, False, "neg_mean_squared_error", mean_squared_error),
        Metric("nmse", REGRESSION, False, "r2", _normalised_error),
        Metric("pinball", REGRESSION, False, "neg_mean_absolute_error", mean_pinball_loss),
    )
}
_DEFAULTS = {CLASSIFICATION: "accuracy", REGRESSION: "mse"}


def choose_metrics(asked: str | Iterable[str] | None, kinds: Iterable[str]) -> Mapping[str, str]:
    """Return the metric of each kind of data.

    Parameters
    ----------
    asked : str, iterable of str or None
        At most one metric for classification and one for regression; accuracy and the mean
        squared error by default.
    kinds : iterable of str
        The kinds that occur.

    Examples
    --------
    >>> choose_metrics("nmse", ["classification", "regression"])
    {'classification': 'accuracy', 'regression': 'nmse'}
    """
    chosen = dict(_DEFAULTS)
    present = set(kinds)
    names = [asked] if isinstance(asked, str) else list(asked or ())
    for name in names:
        if name not in METRICS:
            raise ValueError(f"metric={name!r} is unknown; give one of {', '.join(METRICS)}.")
        kind = METRICS[name].kind
        if [METRICS[other].kind for other in names].count(kind) > 1:
            raise ValueError(f"metric={names!r} names two for {kind}; give one.")
        if kind not in present:
            raise ValueError(f"metric={name!r} is for {kind}, and no data set here is.")
        chosen[kind] = name
    return chosen


_PRINTED_DATASETS = ("landmine", "letter", "spam", "sarcos", "load")

#: Accuracy in percent (Landmine, Letter, Spam) and mean squared error (SARCOS, Load).
TABLE_1 = {
    "itl": (60.01, 87.75, 94.66, 25.44, 8.14),
    "avmtmkl": (59.86, 89.74, 95.78, 25.13, 8.34),
    "mt-mkl": (59.11, 89.94, 95.78, 24.39, 7.32),
    "rpkl": (60.81, 90.63, 94.59, 15.14, 8.42),
    "onjkl": (60.36, 89.28, 95.92, 17.87, 7.56),
    "kta": (61.29, 90.16, 96.01, 29.53, 11.75),
    "mt-onmkl": (62.61, 91.91, 97.62, 13.20, 7.87),
}

_PRINTED_METRICS = ("accuracy", "accuracy", "accuracy", "mse", "mse")


def published_score(dataset: str, method: str, metric: str) -> float | None:
    """Return the paper's figure in the unit of `metric`, or None if it printed none.

    Parameters
    ----------
    dataset, method, metric : str
        Names as in the rows of `run`; every formulation of MT-ONMKL stands for the paper's one,
        shared functions for none.

    Examples
    --------
    >>> published_score("sarcos", "mt-onmkl", "mse")
    13.2
    """
    formulation = method.removeprefix("mt-onmkl-") in FORMULATIONS
    line = TABLE_1.get("mt-onmkl" if formulation else method)
    if line is None or dataset not in _PRINTED_DATASETS:
        return None
    place = _PRINTED_DATASETS.index(dataset)
    if _PRINTED_METRICS[place] != metric:
        return None
    return line[place] / 100.0 if metric == "accuracy" else line[place]


def published_results() -> Any:
    """Return Table 1 as a frame of rows like those of `run`, one for each cell.

    Examples
    --------
    >>> published_results().shape  # 5 data sets, 7 methods
    (35, 5)
    """
    pd = import_extra("pandas", "bench")
    rows = [
        {
            "dataset": dataset,
            "method": method,
            "run": 0,
            "metric": metric,
            "score": published_score(dataset, method, metric),
        }
        for dataset, metric in zip(_PRINTED_DATASETS, _PRINTED_METRICS, strict=True)
        for method in TABLE_1
    ]
    return pd.DataFrame(rows)


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
        Names, or a user's data sets with X, y, task and, if tasks share objects, sample_id, or
        have groups, task_groups; kind says whether they are for classification or regression, if
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
    """Raise if the files of a data set are not there, before any work is done.

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
