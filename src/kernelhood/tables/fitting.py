"""From a table to a model: roles, fit, honest scores beside baselines, and a record of it all."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifierCV, RidgeCV

from kernelhood._typing import AnyArray, Array
from kernelhood.estimators import KernelhoodClassifier, KernelhoodRegressor
from kernelhood.estimators.intervals import checked_levels
from kernelhood.estimators.trust import columns_of
from kernelhood.kernels.columns import LeftOut, as_pandas
from kernelhood.search.splits import TaskShuffleSplit, TaskStratifiedKFold
from kernelhood.tables.model import TableModel
from kernelhood.tables.roles import (
    CLASSIFICATION,
    REGRESSION,
    Roles,
    Rows,
    TableEncoder,
    read_rows,
    rows_after,
)

_LEFT_OUT = "rows left out of the fit, a third at a time"
_HELD_OUT = "rows held out of the fit"
_NEW_TASKS = "rows of tasks held out of the fit"
_FOLDS = 3


def fit_table(
    table: Any,
    *,
    task: str,
    target: str,
    kind: str | None = None,
    groups: str | None = None,
    occasion: str | None = None,
    features: Any = None,
    drop: Any = (),
    categories: Any = (),
    dates: Any = (),
    max_classes: int | None = None,
    holdout: float | None = None,
    holdout_after: str | None = None,
    holdout_tasks: float | None = None,
    quantiles: Any = (),
    verbose: int = 0,
) -> TableModel:
    """Fit and judge a model of all tasks in a table.

    Parameters
    ----------
    table : DataFrame
        One row for each sample, in raw form.
    task, target : str
        Columns that name the task and hold what is to be predicted. Rows without one of them are
        left out.
    kind : {"classification", "regression"}, optional
        What the target is. By default numbers are regression, unless they are whole and take at
        most ten values; text is classification.
    groups : str, optional
        Column that groups tasks, the same in all rows of a task.
    occasion : str, optional
        Column that says which rows of different tasks may share a shock, such as the week.
    features, drop : sequence of str
        Columns to learn from, or not to; by default all but those above.
    categories, dates : sequence of str
        Features that are categories or dates, whatever they look like.
    max_classes : int, optional
        The most classes that the target may have. By default 100, 30 if they are whole numbers,
        none if they are numbers with fractions, and no more than half as many as rows, or ten.
    holdout : float, optional
        Share of each task's rows to hold out. The model is then fitted again to all.
    holdout_after : str, optional
        Hold out rows after this date instead. It is looked up in the one feature that is a
        date, or in the first of `dates`. "year=1980" names a column, of dates or numbers.
    holdout_tasks : float, optional
        Share of the tasks to hold out instead, as new tasks.
    quantiles : sequence of float
        Levels between 0 and 1, ascending, that `predict_frame` adds; for regression.
    verbose : int
        Print a line about every fit.

    Returns
    -------
    TableModel

    Examples
    --------
    >>> import kernelhood as kh
    >>> from kernelhood.tables import fit_table
    >>> data = kh.datasets.make_multitask(n_tasks=2, n_samples=20, as_frame=True, random_state=0)
    >>> table = data.X.assign(shop=data.task, sold=data.y)
    >>> model = fit_table(table, task="shop", target="sold", holdout=0.25)
    >>> [row["rows"] for row in model.record["scores"]]
    [5, 5, 10]
    """
    table = as_pandas(table)
    _check(kind, holdout, holdout_after, holdout_tasks)
    roles = Roles(
        task, target, kind, groups, occasion, features, drop, categories, dates, max_classes
    )
    rows = read_rows(table, roles)
    levels = _check_levels(rows.kind, quantiles)
    fit = _Fit(rows, verbose)
    held_out = None
    if holdout_tasks is not None:
        held_out = _held_out_tasks(rows, holdout_tasks)
    elif holdout is not None or holdout_after is not None:
        held_out = _held_out(rows, holdout, holdout_after, tuple(dates))
    new = holdout_tasks is not None
    scores = fit.scores_left_out() if held_out is None else fit.scores_of(~held_out, held_out, new)
    estimator = fit.on(np.ones(len(rows.y), dtype=bool))
    model = TableModel(estimator, task, target, rows.kind, groups, levels)
    model.record = {
        **_described(rows, estimator),
        "fingerprint": fingerprint(table),
        "summary": estimator.summary().splitlines(),
        "judged": _LEFT_OUT if held_out is None else _NEW_TASKS if new else _HELD_OUT,
        "scores": scores,
    }
    model.record["notes"] = [*rows.notes, *worth_a_look(model)]
    return model


def _check(kind: Any, holdout: Any, after: Any, tasks: Any) -> None:
    """Raise if arguments are wrong, before any work."""
    if kind not in (None, CLASSIFICATION, REGRESSION):
        raise ValueError(f"kind={kind!r} is unknown; give {CLASSIFICATION!r} or {REGRESSION!r}.")
    given = {"holdout": holdout, "holdout_after": after, "holdout_tasks": tasks}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"{' and '.join(named)} both say what to hold out; give one.")
    for name in ("holdout", "holdout_tasks"):
        if given[name] is not None and not 0.0 < given[name] < 1.0:
            raise ValueError(f"{name}={given[name]!r} must be a share between 0 and 1.")


def _check_levels(kind: str, quantiles: Any) -> tuple[float, ...]:
    """Return the levels, or raise if the target has none."""
    if len(quantiles) and kind == CLASSIFICATION:
        raise ValueError("quantiles are for regression; classification has probabilities.")
    return tuple(checked_levels(quantiles)) if len(quantiles) else ()


def _held_out(
    rows: Rows, share: float | None, after: str | None, dates: tuple[str, ...]
) -> AnyArray:
    """Return which rows are held out."""
    if after is not None and "=" in after:
        column, value = after.split("=", 1)
        return rows_after(rows.frame, value, column)
    if after is not None:
        named = list(dates) or rows.dates
        if not named or (len(named) > 1 and not dates):
            count = "no" if not named else "more than one"
            raise ValueError(
                f"holdout_after={after!r} needs a column of dates, and {count} feature is one: "
                "name it by dates."
            )
        return rows_after(rows.frame, after, named[0])
    assert share is not None
    splitter = TaskShuffleSplit(1, test_size=share, random_state=0)
    _, test = next(iter(splitter.split(rows.frame, rows.strata, task=rows.task)))
    return np.isin(np.arange(len(rows.y)), test)


def _held_out_tasks(rows: Rows, share: float) -> AnyArray:
    """Return which rows are of tasks that are held out."""
    names = np.unique(rows.task.astype(str))
    count = round(share * len(names))
    if not 0 < count < len(names):
        raise ValueError(
            f"holdout_tasks={share!r} of {len(names)} tasks leaves none to "
            f"{'judge' if count == 0 else 'learn from'}."
        )
    chosen = np.random.default_rng(0).choice(names, count, replace=False)
    return np.isin(rows.task.astype(str), chosen)


class _Fit:
    """Fits of the same model to some of the rows."""

    def __init__(self, rows: Rows, verbose: int) -> None:
        self.rows = rows
        make = KernelhoodClassifier if rows.kind == CLASSIFICATION else KernelhoodRegressor
        relation = "auto" if rows.groups is None else dict(rows.groups)
        self.estimator = make(relation=relation, unseen_task="shared", verbose=verbose)

    def on(self, train: AnyArray) -> Any:
        """Return the model of some rows."""
        rows = self.rows.take(train)
        occasion = {} if rows.occasion is None else {"occasion": rows.occasion}
        return clone(self.estimator).fit(rows.frame, rows.y, task=rows.task, **occasion)

    def scores_of(self, train: AnyArray, test: AnyArray, new: bool = False) -> list[dict[str, Any]]:
        """Return the scores on rows that were held out, of known tasks or also of new ones."""
        judged, found = self._predictions(train, test, new)
        return score_table(self.rows.kind, judged.y, judged.task, found) if len(judged.y) else []

    def scores_left_out(self) -> list[dict[str, Any]]:
        """Return the scores on rows that are left out of the fit in turn."""
        rows, n = self.rows, len(self.rows.y)
        folds = TaskStratifiedKFold(min(_FOLDS, n), shuffle=True, random_state=1)
        judged, parts = [], []
        for _, test in folds.split(rows.frame, rows.strata, task=rows.task):
            chosen = np.isin(np.arange(n), test)
            own, found = self._predictions(~chosen, chosen)
            if len(own.y):
                judged.append(own)
                parts.append(found)
        if not parts:
            return []
        y, task = (np.concatenate([getattr(one, key) for one in judged]) for key in ("y", "task"))
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return score_table(rows.kind, y, task, joined)

    def _predictions(
        self, train: AnyArray, test: AnyArray, new: bool = False
    ) -> tuple[Rows, dict[str, AnyArray]]:
        """Return rows of tasks that some rows train, or also new ones, and what is predicted."""
        learned, rows = self.rows.take(train), self.rows.take(test)
        known = set(learned.task.tolist())
        kept = np.array([new or name in known for name in rows.task.tolist()], dtype=bool)
        rows = rows.take(kept)
        if not len(rows.y):
            return rows, {}
        found = baseline_predictions(learned, rows)
        # Rows of one class leave nothing to learn but this class.
        own = found[TASK_MEAN]
        if self.rows.kind == REGRESSION or len(np.unique(learned.y)) > 1:
            model = self.on(train)
            with warnings.catch_warnings():  # rows held out are not those that a user asks about
                warnings.filterwarnings("ignore", "column .* leaves its training range")
                own = model.predict(rows.frame, task=rows.task)
        found["model"] = np.asarray(own)
        return rows, found


def _described(rows: Rows, estimator: Any) -> dict[str, Any]:
    """Return what the rows are and what a model makes of them, as plain numbers and text."""
    names, counts = np.unique(rows.task.astype(str), return_counts=True)
    one_class = []
    if rows.kind == CLASSIFICATION:
        alone = [name for name in names if len(set(rows.y[rows.task == name].tolist())) == 1]
        one_class = [str(name) for name in alone]
    return {
        "rows": len(rows.y),
        "tasks": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        "one_class": one_class,
        "groups": dict(rows.groups or {}),
        "columns": {one.name: one.describe() for one in estimator.columns_},
        "metric": METRIC[rows.kind],
    }


def fingerprint(table: Any) -> str:
    """Return a short hash of what a data frame holds.

    Parameters
    ----------
    table : DataFrame
        Any.
    """
    digest = hashlib.sha256()
    for name, column in table.items():
        digest.update(f"{name!r}: {column.tolist()!r}".encode("utf-8", "replace"))
    return digest.hexdigest()[:16]


# Scores of every task, beside baselines that a model should beat.

#: The score of each kind; larger accuracies and smaller errors are better.
METRIC = {"classification": "accuracy", "regression": "root mean squared error"}
TASK_MEAN, POOLED_RIDGE = "task mean", "pooled ridge"

_ALPHAS = 10.0 ** np.arange(-3, 5)
_DRAWS = 500
_MANY = 3000
_Z = 1.959964


def baseline_predictions(train: Rows, test: Rows) -> dict[str, AnyArray]:
    """Return what simple models predict.

    The mean of the task, or its most frequent class; and one ridge regression for all tasks, with
    the task as a category beside the features, its penalty chosen by cross-validation.

    Parameters
    ----------
    train, test : Rows
        Rows that train, and rows to predict.

    Returns
    -------
    dict of str to ndarray of shape (n_rows,)
    """
    y, task = train.y, train.task
    typical = _most_frequent if train.kind == CLASSIFICATION else np.mean
    means = {name: typical(y[task == name]) for name in set(task.tolist())}
    overall = typical(y)
    simple = np.array([means.get(name, overall) for name in test.task.tolist()])
    if len(np.unique(y)) < 2:
        return {TASK_MEAN: simple, POOLED_RIDGE: simple}
    ridge = (RidgeClassifierCV if train.kind == CLASSIFICATION else RidgeCV)(alphas=_ALPHAS)
    names, encoder = sorted(means), TableEncoder().fit(train.frame)
    ridge.fit(np.hstack([encoder.transform(train.frame), _one_hot(task, names)]), y)
    X = np.hstack([encoder.transform(test.frame), _one_hot(test.task, names)])
    return {TASK_MEAN: simple, POOLED_RIDGE: ridge.predict(X)}


def _most_frequent(labels: AnyArray) -> Any:
    values, counts = np.unique(labels, return_counts=True)
    return values[int(np.argmax(counts))]


def _one_hot(task: AnyArray, names: list[str]) -> Array:
    return np.array([[float(one == name) for name in names] for one in task.tolist()])


def score_table(
    kind: str, y: AnyArray, task: AnyArray, predictions: dict[str, AnyArray]
) -> list[dict[str, Any]]:
    """Return the scores of every task and of all rows.

    Parameters
    ----------
    kind : {"classification", "regression"}
        What the targets are.
    y, task : ndarray of shape (n_rows,)
        Targets and tasks of rows that did not train.
    predictions : dict of str to ndarray of shape (n_rows,)
        By method; "model" has an interval as well.

    Returns
    -------
    list of dict
        `task` (None for all rows), `rows`, the score of every method, and `low` and `high`, the
        95 % interval of the model's.
    """
    table = []
    for name in [*sorted(set(task.tolist())), None]:
        rows = task == name if name is not None else np.ones(len(y), dtype=bool)
        losses = {
            method: _losses(kind, y[rows], predicted[rows])
            for method, predicted in predictions.items()
        }
        low, high = _interval(kind, losses["model"])
        scores = {method: _score(kind, own) for method, own in losses.items()}
        table.append({"task": name, "rows": int(rows.sum()), **scores, "low": low, "high": high})
    return table


def is_worse(kind: str, one: float, other: float) -> bool:
    """Return whether a score is worse than another."""
    return one < other if kind == CLASSIFICATION else one > other


def _losses(kind: str, y: AnyArray, predicted: AnyArray) -> Array:
    if kind == CLASSIFICATION:
        return np.asarray(y == predicted, dtype=np.float64)
    return np.asarray((y - predicted) ** 2, dtype=np.float64)


def _score(kind: str, losses: Array) -> float:
    mean = float(np.mean(losses))
    return mean if kind == CLASSIFICATION else float(np.sqrt(mean))


def _interval(kind: str, losses: Array) -> tuple[float, float]:
    """Return where the score would lie with other rows: Wilson's interval, or the bootstrap's."""
    n = len(losses)
    if kind == CLASSIFICATION:
        share = float(np.mean(losses))
        middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
        return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))
    if n < 2:
        return float("nan"), float("nan")
    if n > _MANY:
        error = _Z * float(np.std(losses)) / np.sqrt(n)
        low, high = np.mean(losses) - error, np.mean(losses) + error
        return float(np.sqrt(max(low, 0.0))), float(np.sqrt(high))
    draws = np.random.default_rng(0).integers(n, size=(_DRAWS, n))
    means = np.sqrt(losses[draws].mean(axis=1))
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


FEW_ROWS = 10
_NAMED = 5


def worth_a_look(model: TableModel) -> list[str]:
    """Return a sentence for everything that is worth a look.

    Parameters
    ----------
    model : TableModel
        With a record.
    """
    return [
        *_small_tasks(model),
        *_one_class(model),
        *_bad_scores(model),
        *_gap(model.estimator),
        *_columns(model),
    ]


def _small_tasks(model: TableModel) -> list[str]:
    small = [name for name, count in model.record["tasks"].items() if count < FEW_ROWS]
    if not small:
        return []
    return [f"{_tasks(small)} fewer than {FEW_ROWS} rows: {listed(small)}."]


def _one_class(model: TableModel) -> list[str]:
    names = model.record["one_class"]
    return [f"{_tasks(names)} rows of one class only: {listed(names)}."] if names else []


def _bad_scores(model: TableModel) -> list[str]:
    found, scores = [], model.record["scores"]
    worse = [
        row["task"]
        for row in scores
        if row["task"] is not None and is_worse(model.kind, row["model"], row[TASK_MEAN])
    ]
    what = "most frequent class" if model.kind == CLASSIFICATION else "mean"
    if worse:
        found.append(f"predicted worse than by the {what} of the task: {listed(worse)}.")
    if scores and is_worse(model.kind, scores[-1]["model"], scores[-1][POOLED_RIDGE]):
        found.append("over all rows, one ridge regression for all tasks predicts better.")
    judged = {row["task"] for row in scores}
    unjudged = [name for name in model.record["tasks"] if name not in judged]
    if unjudged:
        found.append(f"{_tasks(unjudged)} no row that was held out: {listed(unjudged)}.")
    return found


def _gap(estimator: Any) -> list[str]:
    gap, tol = float(estimator.dual_gap_), float(estimator.tol)
    return [f"the duality gap is {gap:.1e}, above tol={tol:g}."] if gap > tol else []


def _columns(model: TableModel) -> list[str]:
    found = []
    columns = model.estimator.columns_
    left = [one.name for one in columns if isinstance(one, LeftOut)]
    if left:
        found.append(f"columns that are left out: {listed(left)}.")
    marked = [one.name for one in columns if not isinstance(one, LeftOut) and one.indicator]
    if marked:
        found.append(f"columns with missing values: {listed(marked)}.")
    if not columns_of(model.estimator):
        found.append("no task's predictions depend on any column.")
    return found


def _tasks(names: list[str]) -> str:
    return "1 task has" if len(names) == 1 else f"{len(names)} tasks have"


def listed(names: list[str]) -> str:
    """Return the first few names."""
    return ", ".join(names[:_NAMED]) + ", ..." * (len(names) > _NAMED)
