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

HELPED, HURT, SAME = "helped", "hurt", "no difference"
#: Differences count if they would be chance in at most such a share of those that count.
_FALSE = 0.1
_NAMED, _LINES = 5, 40
_LEAST_SHARE = 1e-15


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
    difference, std : ndarray of shape (n_tasks,)
        How much smaller the error is by the other tasks, and the standard error of that.
    sharing : list of {"helped", "hurt", "no difference"}
        Whether the difference is more than chance. Of those that are named, at most a tenth is
        expected to be wrong (Benjamini and Hochberg).
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
    difference: Array
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
            "difference": self.difference,
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
        """Return the report as a data frame, a row a task."""
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
        each = ", ".join(f"{name} {value:.4g}" for name, value in self.total.items())
        return f"{self.metric} of left-out rows: {each}."

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
        from kernelhood.inspection.drawings import draw_errors

        return draw_errors(self.error, self.alone, self.sharing, self.tasks, self.metric, ax=ax)

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


def task_report(model: Any) -> TaskReport:
    """Return what a fitted model knows of each task.

    Parameters
    ----------
    model : KernelhoodRegressor or KernelhoodClassifier
        Fitted.
    """
    function = model._function
    task = function.groups[model.levels_.index("own")]
    groups = model._events_left_out()
    losses = {
        "model": model._losses(*function.left_out(groups), np.arange(len(task))),
        "each task alone": _losses_alone(model, task, groups),
        **_baseline_losses(model, task, groups),
    }
    classes = is_classifier(model)
    count = np.bincount(task)
    means = {name: np.bincount(task, one) / count for name, one in losses.items()}
    total = {name: float(one.mean()) for name, one in losses.items()}
    if not classes:
        means = {name: np.sqrt(one) for name, one in means.items()}
        total = {name: float(np.sqrt(one)) for name, one in total.items()}
    difference, std, sharing = _compared(losses["each task alone"] - losses["model"], task)
    error, alone = means.pop("model"), means.pop("each task alone")
    if not classes:  # of the roots
        both = np.maximum(error + alone, 1e-300)
        difference, std = difference / both, std / both
    sizes = np.ones(len(count)) if classes else model._scores(by_task=False).sizes
    parts, uses = _parts(model, task, sizes)
    return TaskReport(
        tasks=list(model.tasks_),
        rows=count,
        error=error,
        alone=alone,
        difference=difference,
        std=std,
        sharing=sharing,
        baselines=means,
        noise=None if classes else sizes * model.noise_,
        nearest=_nearest(model, task),
        uses=uses,
        parts=parts,
        metric="log loss" if classes else "root mean squared error",
        total=total,
    )


def _losses_alone(model: Any, task: Indices, groups: Sequence[Indices]) -> Array:
    """Return the losses of left-out rows that only the rows of their task predict."""
    group, found = np.empty(len(task), dtype=np.intp), np.empty(len(task))
    for number, rows in enumerate(groups):
        group[rows] = number
    for rows in model._rows_of("own"):
        order = np.argsort(group[rows], kind="stable")
        edges = np.flatnonzero(np.diff(group[rows][order])) + 1
        mean, variance = model._function.alone(rows).left_out(np.split(order, edges))
        found[rows] = model._losses(mean, variance, rows)
    return found


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
