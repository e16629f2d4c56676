"""What a fitted model knows of each task, by rows that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control
from scipy.stats import t as student_t
from sklearn.base import is_classifier

from kernelhood._support import import_extra
from kernelhood._typing import Array, Indices
from kernelhood.estimators.one_hot import logistic_left_out, ridge_left_out, task_shares
from kernelhood.estimators.parts import nearest_tasks, places_of_tasks, sizes_by_task
from kernelhood.inspection.figures import draw_errors, draw_shares

HELPED, HURT, SAME = "helped", "hurt", "no difference"
#: Differences count if they would be chance in at most such a share of those that count.
_FALSE = 0.1
_NAMED, _LINES = 5, 40
_LEAST_SHARE = 1e-15
_LOG_LOSS, _RMSE = "log loss", "root mean squared error"


@dataclass(frozen=True, eq=False)
class TaskReport:
    """What a model knows of each task, one entry a task.

    Errors are those of training rows that are predicted without themselves, at the weights of the
    fit: root mean squared errors, or mean log losses of classes.

    Attributes
    ----------
    tasks : list
        The tasks.
    rows : ndarray of int, shape (n_tasks,)
        Training rows of each.
    error : ndarray of shape (n_tasks,)
        The error, with the rows of all tasks.
    alone : ndarray of shape (n_tasks,)
        The error with the other rows of the task only.
    gain, std : ndarray of shape (n_tasks,)
        How much larger the logarithm of the predicted density of a left-out target, or of the
        probability of its class, is on average by the other tasks; and its standard error.
    sharing : list of {"helped", "hurt", "no difference"}
        Whether the gain is more than chance. Of those that are named, at most a tenth is expected
        to be wrong (Benjamini and Hochberg).
    baselines : dict of str to ndarray of shape (n_tasks,)
        Errors of the mean of the task, or the shares of its classes, and of ridge or logistic
        regression with the task as a category, for the same rows.
    noise : ndarray of shape (n_tasks,), optional
        Standard deviation of the noise, shrunk from all tasks to each; in units of the targets, or
        of their power.
    nearest : list of list
        The tasks whose functions are most alike, the nearest first; empty if tasks have no
        functions of their own.
    uses : list of str
        The level and the term that move the predictions of the task most.
    parts : dict of str to ndarray of shape (n_tasks,)
        Mean squares of what is common, the group's, the task's own, and of the noise.
    metric : str
        What the errors are.
    total : dict of str to float
        The error over all rows: of the model, of each task alone, and of the baselines.

    Examples
    --------
    >>> import numpy as np, kernelhood as kh
    >>> x, task = np.linspace(0.0, 1.0, 60)[:, None], np.arange(60) % 3
    >>> report = kh.KernelhoodRegressor().fit(x, np.sin(6.0 * x[:, 0]), task=task).task_report()
    >>> list(report.columns())[:4]
    ['task', 'rows', 'error', 'error alone']
    """

    tasks: list[Any]
    rows: Indices
    error: Array
    alone: Array
    gain: Array
    std: Array
    sharing: list[str]
    baselines: dict[str, Array]
    noise: Array | None
    nearest: list[list[Any]]
    uses: list[str]
    parts: dict[str, Array]
    metric: str
    total: dict[str, float]

    def columns(self) -> dict[str, Any]:
        """Return the columns of the report by name, as a data frame takes them."""
        found: dict[str, Any] = {
            "task": list(self.tasks),
            "rows": self.rows,
            "error": self.error,
            "error alone": self.alone,
            "gain": self.gain,
            "standard error": self.std,
            "sharing": list(self.sharing),
            **self.baselines,
        }
        if self.noise is not None:
            found["noise"] = self.noise
        if any(self.nearest):
            found["nearest tasks"] = [", ".join(map(str, own)) for own in self.nearest]
        found["uses most"] = list(self.uses)
        return found

    def to_frame(self) -> Any:
        """Return the report as a data frame, a row for each task."""
        return import_extra("pandas", "pandas").DataFrame(self.columns())

    def summary(self) -> str:
        """Return in a sentence which tasks sharing has helped."""
        if len(self.tasks) < 2:
            return "There is one task, so nothing is shared."
        helped, hurt, same = (self.sharing.count(one) for one in (HELPED, HURT, SAME))
        tasks, names = "task" if helped == 1 else "tasks", ""
        if hurt:
            pairs = zip(self.tasks, self.sharing, strict=True)
            hurts = [str(name) for name, one in pairs if one == HURT]
            names = f" ({', '.join(hurts[:_NAMED])}{', ...' * (hurt > _NAMED)})"
        return (
            f"Sharing helped {helped} {tasks}, hurt {hurt}{names} and made no difference to {same}."
        )

    def scores(self) -> str:
        """Return the errors over all rows, beside those of simple models."""
        return _scores_line(self.metric, self.total)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the error of every task with the others against that without them.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        return draw_errors(self.error, self.alone, self.sharing, self.tasks, self.metric, ax=ax)

    def plot_shares(self, *, ax: Any = None) -> Any:
        """Draw how much of each task's variance is common, its own and noise.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        return draw_shares(self.parts, self.tasks, ax=ax)

    def __len__(self) -> int:
        return len(self.tasks)

    def __str__(self) -> str:
        columns = self.columns()
        cells = [list(columns)]
        for values in list(zip(*columns.values(), strict=True))[:_LINES]:
            cells.append([f"{one:.4g}" if isinstance(one, float) else str(one) for one in values])
        widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
        lines = [self.summary(), self.scores(), ""]
        lines += [
            "  ".join(one.ljust(width) for one, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        left = len(self.tasks) - _LINES
        return "\n".join([*lines, *([f"and {left} more tasks"] if left > 0 else [])])


def report_of(model: Any) -> TaskReport:
    """Return what a fitted model knows of each task.

    Parameters
    ----------
    model : KernelhoodRegressor or KernelhoodClassifier
        Fitted.
    """
    function = model._function
    task = function.groups[model.levels_.index("own")]
    groups, rows = model._events_left_out(), np.arange(len(task))
    with_all, alone = function.left_out(groups), _alone(model, task, groups)
    gained = model._log_scores(*with_all, rows) - model._log_scores(*alone, rows)
    gain, std, sharing = _compared(gained, task)
    losses = {
        "model": model._losses(*with_all, rows),
        "each task alone": model._losses(*alone, rows),
        **_baseline_losses(model, task, groups),
    }
    classes = is_classifier(model)
    count = np.bincount(task)
    means = {name: _root(np.bincount(task, one) / count, classes) for name, one in losses.items()}
    sizes = np.ones(len(count)) if classes else model._scores(by_task=False).sizes
    parts, uses = _parts(model, task, sizes)
    return TaskReport(
        tasks=list(model.tasks_),
        rows=count,
        error=means.pop("model"),
        alone=means.pop("each task alone"),
        gain=gain,
        std=std,
        sharing=sharing,
        baselines=means,
        noise=None if classes else sizes * model.noise_,
        nearest=_nearest(model, task),
        uses=uses,
        parts=parts,
        metric=_LOG_LOSS if classes else _RMSE,
        total={name: float(_root(one.mean(), classes)) for name, one in losses.items()},
    )


def _root(loss: Any, classes: bool) -> Any:
    """Return what is reported of a mean loss: its root if it is of squares."""
    return loss if classes else np.sqrt(loss)


def left_out_scores(model: Any) -> str:
    """Return the error over all left-out rows, beside those of simple models, as one line.

    Parameters
    ----------
    model : KernelhoodRegressor or KernelhoodClassifier
        Fitted.
    """
    task = model._function.groups[model.levels_.index("own")]
    groups, classes = model._events_left_out(), is_classifier(model)
    losses = {
        "model": model._losses(*model._function.left_out(groups), np.arange(len(task))),
        **_baseline_losses(model, task, groups),
    }
    total = {name: float(_root(one.mean(), classes)) for name, one in losses.items()}
    return _scores_line(_LOG_LOSS if classes else _RMSE, total)


def _scores_line(metric: str, total: dict[str, float]) -> str:
    each = ", ".join(f"{name} {value:.4g}" for name, value in total.items())
    return f"{metric} of left-out rows: {each}"


def _alone(model: Any, task: Indices, groups: Sequence[Indices]) -> tuple[Array, Array]:
    """Return the functions at left-out rows that only the rows of their task predict."""
    function, group = model._function, np.empty(len(task), dtype=np.intp)
    mean, variance = np.empty_like(function.a), np.empty_like(function.a)
    for number, rows in enumerate(groups):
        group[rows] = number
    for rows in model._rows_of("own"):
        order = np.argsort(group[rows], kind="stable")
        edges = np.flatnonzero(np.diff(group[rows][order])) + 1
        mean[rows], variance[rows] = function.alone(rows).left_out(np.split(order, edges))
    return mean, variance


def _baseline_losses(model: Any, task: Indices, groups: Sequence[Indices]) -> dict[str, Array]:
    """Return the losses of simple models for left-out rows."""
    E, truth, rows = model._function.E, model._truth, np.arange(len(task))
    if is_classifier(model):
        own = task_shares(np.eye(len(model.classes_))[truth], task, groups)[rows, truth]
        logits = logistic_left_out(E, task, np.sign(model._function.targets), groups)
        return {
            "task shares": -np.log(np.maximum(own, _LEAST_SHARE)),
            "one-hot logistic": model._losses(logits, np.zeros_like(logits), rows),
        }
    return {
        "task mean": (truth - task_shares(truth[:, None], task, groups)[:, 0]) ** 2,
        "one-hot ridge": (truth - ridge_left_out(E, task, truth, groups)) ** 2,
    }


def _compared(gained: Array, task: Indices) -> tuple[Array, Array, list[str]]:
    """Return the mean of every task, its standard error, and whether it is more than chance."""
    count = np.bincount(task)
    mean = np.bincount(task, gained) / count
    squares = np.bincount(task, (gained - mean[task]) ** 2)
    std = np.full(len(count), np.nan)
    several = count > 1
    std[several] = np.sqrt(squares[several] / (count[several] - 1.0) / count[several])
    chance, told = np.ones(len(count)), several & (std > 0.0)
    chance[told] = 2.0 * student_t.sf(np.abs(mean[told]) / std[told], count[told] - 1)
    named = false_discovery_control(chance) <= _FALSE
    sharing = [
        SAME if not one else HELPED if gain > 0.0 else HURT
        for one, gain in zip(named.tolist(), mean.tolist(), strict=True)
    ]
    return mean, std, sharing


def _parts(model: Any, task: Indices, sizes: Array) -> tuple[dict[str, Array], list[str]]:
    """Return the mean squares of the levels and of the noise, and the largest part, by task."""
    found = {name: np.zeros(len(sizes)) for name in model.levels_}
    largest, uses = np.zeros(len(sizes)), ["nothing"] * len(sizes)
    for level, term, squares in sizes_by_task(model._function, task):
        found[model.levels_[level]] += squares
        for place in np.flatnonzero(squares > largest).tolist():
            uses[place] = f"{model.levels_[level]}: {model.terms_[term]}"
        largest = np.maximum(largest, squares)
    return {**found, "noise": model._noise_variance * sizes**2}, uses


def _nearest(model: Any, task: Indices) -> list[list[Any]]:
    if not model.weights_[model.levels_.index("own")].any():
        return [[] for _ in model.tasks_]
    known = [name != "occasion" for name in model.levels_]
    places = places_of_tasks(model._function, task, known)
    found = nearest_tasks(model._function, places)
    return [[model.tasks_[other] for other in own] for own in found.tolist()]
