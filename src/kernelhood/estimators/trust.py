"""What a fitted model says of itself: left-out rows, the tasks one by one, and figures of both."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.estimators.additive import AdditiveFunction
from kernelhood.estimators.parts import columns_that_matter, effect_of, places_of_tasks
from kernelhood.estimators.reading import check_task, some_of
from kernelhood.estimators.task_report import TaskReport, left_out_scores, report_of
from kernelhood.estimators.training_rows import same_events
from kernelhood.inspection.figures import draw_effect, draw_reliability, draw_rows
from kernelhood.solvers.likelihoods import averaged

#: Curves of tasks that are drawn at most, and those that tell which columns matter.
_CURVES, _JUDGES = 40, 5
#: Coverages that are looked at.
COVERAGES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
#: Bins of probabilities, the fewest rows of one, and rows of a task that are drawn at most.
_BINS, _FEWEST, _ROWS = 10, 10, 200
#: With fewer tasks those that are left out tell little about new ones.
_TASKS = 5


class Trusted:
    """What regression and classification can tell of their training rows."""

    _function: AdditiveFunction
    _place: Indices
    _given: tuple[int, ...]
    levels_: list[str]
    terms_: list[str]
    tasks_: list[Any]
    weights_: Array

    def left_out(self, groups: Any = "rows") -> Any:
        """Return what is predicted for training rows without their group.

        No model is fitted again: the variances of the terms, and for classes the weights of the
        rows, are those of the fit.

        Parameters
        ----------
        groups : "rows", "tasks" or array-like of shape (n_samples,)
            What is left out at a time: each row, each task, or the rows with the same label.

        Returns
        -------
        residual, std : ndarray of the shape of y
            Of a regressor: the target minus its prediction, and the standard deviation that the
            model expects. Rows that were not part of the fit have NaN.
        probability : ndarray of shape (n_samples, n_classes)
            Of a classifier, instead: as `predict_proba` returns it.

        Examples
        --------
        >>> import numpy as np, kernelhood as kh
        >>> x, task = np.linspace(0.0, 1.0, 30)[:, None], np.arange(30) % 3
        >>> model = kh.KernelhoodRegressor().fit(x, x[:, 0] + task, task=task)
        >>> of_rows, of_tasks = model.left_out("rows")[0], model.left_out("tasks")[0]
        >>> bool(np.abs(of_rows).mean() < np.abs(of_tasks).mean())
        True
        """
        check_is_fitted(self)
        return self._left_out(*self._function.left_out(self._left_out_groups(groups)))

    def task_report(self) -> TaskReport:
        """Return errors of left-out rows for each task, with and without the other tasks.

        Errors with the rows of all tasks stand beside those with the rows of the task only, both
        at the weights of the fit, and beside those of simple models.

        Returns
        -------
        TaskReport
            ``print(report)`` shows it; ``report.to_frame()`` is a data frame, a row for each task.

        Examples
        --------
        >>> import numpy as np, kernelhood as kh
        >>> x, task = np.linspace(0.0, 1.0, 60)[:, None], np.arange(60) % 3
        >>> model = kh.KernelhoodRegressor().fit(x, np.sin(6.0 * x[:, 0]), task=task)
        >>> model.task_report().rows.tolist()
        [20, 20, 20]
        """
        check_is_fitted(self)
        return report_of(self)

    def plot_effect(self, column: str | int, *, ax: Any = None) -> Any:
        """Draw the effect of a column, common and by task, at an otherwise typical row.

        The band is two standard deviations wide to both sides of what all tasks have in common.

        Parameters
        ----------
        column : str or int
            Its name, or its number if columns have no names.
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        check_is_fitted(self)
        return _plot_effect(self, column, ax)

    def plot_task(self, task: Any, *, ax: Any = None) -> Any:
        """Draw the rows of a task beside what is predicted without them.

        Parameters
        ----------
        task : str or number
            One of `tasks_`.
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        check_is_fitted(self)
        return _plot_task(self, task, ax)

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
        return self.task_report().plot_shares(ax=ax)

    def plot_reliability(self, *, ax: Any = None) -> Any:
        """Draw expected against observed coverage, or class probabilities, of left-out rows.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
        """
        check_is_fitted(self)
        return _plot_reliability(self, ax)

    @property
    def _truth(self) -> AnyArray:
        """The targets of the training rows, or their classes by number."""
        raise NotImplementedError

    def _left_out(self, mean: Array, variance: Array) -> Any:
        """Return what `left_out` does, from means and variances of the functions."""
        raise NotImplementedError

    def _losses(self, mean: Array, variance: Array, rows: Indices) -> Array:
        """Return squared errors or log losses of training rows whose functions are given."""
        raise NotImplementedError

    def _log_scores(self, mean: Array, variance: Array, rows: Indices) -> Array:
        """Return the logarithms of what is predicted for the targets of training rows."""
        return -self._losses(mean, variance, rows)

    def _left_out_scores(self) -> str:
        return left_out_scores(self)

    def _left_out_groups(self, groups: Any) -> list[Indices]:
        """Return the training rows that are left out together."""
        n = len(self._function.E)
        if isinstance(groups, str):
            if groups == "rows":
                return list(np.arange(n)[:, None])
            if groups == "tasks":
                return self._rows_of("own")
            raise ValueError(
                f"groups={groups!r} is unknown; give 'rows', 'tasks' or a label for every row."
            )
        labels = check_task(groups, self._given[0], "groups")
        labels = np.tile(labels, int(np.prod(self._given[1:])))[self._place]
        return [np.flatnonzero(labels == one) for one in dict.fromkeys(labels.tolist())]

    def _rows_of(self, level: str) -> list[Indices]:
        """Return the training rows of every group of a level."""
        own = self._function.groups[self.levels_.index(level)]
        return [np.flatnonzero(own == one) for one in range(int(own.max()) + 1)]

    def _events_left_out(self) -> list[Indices]:
        """Return rows that are left out together, so that each is as new as a row to predict."""
        if "occasion" in self.levels_:
            return self._rows_of("occasion")  # new rows are of new occasions
        function = self._function
        own = function.groups[self.levels_.index("own")]
        event = same_events(function.E, function.targets, own)
        return np.split(np.argsort(event, kind="stable"), np.cumsum(np.bincount(event))[:-1])


def columns_of(model: Any) -> list[str]:
    """Return columns by how much predictions move with them.

    Parameters
    ----------
    model : KernelhoodRegressor or KernelhoodClassifier
        Fitted.
    """
    return columns_that_matter(model._function, _places(model, _JUDGES)[0])


def _plot_effect(model: Any, column: str | int, ax: Any) -> Any:
    """Draw what a column does in common and in the tasks."""
    known = [one.name for one in model.columns_ if one.features]
    named = [one for one in (str(column), f"column {column}") if one in known]
    if not named:
        raise ValueError(f"column={column!r} is not one the model uses: give {some_of(known)}.")
    column = named[0]
    places, n_tasks = _places(model, _CURVES)
    shared = np.full((len(model.levels_), 1), -1)
    shared[0] = 0
    effect = effect_of(model._function, column, np.hstack([shared, places]))
    target, what = _shown_target(model)
    middle, low, high = _curves(model, effect.mean[:, :, target], effect.variance[:, :, target])
    return draw_effect(
        effect.at,
        (middle[0], low[0], high[0]),
        middle[1:],
        kind=effect.kind,
        levels=effect.levels,
        labels=(column, what),
        n_tasks=n_tasks,
        ax=ax,
    )


def _plot_reliability(model: Any, ax: Any) -> Any:
    """Draw expected against observed coverage, or class probabilities, of left-out rows."""
    if is_classifier(model):
        p, share, error, off = class_reliability(model)
        name = f"left-out rows, calibration error {off:.3f}"
        return draw_reliability(
            p, {name: (share, error)}, ("probability", "share of the class"), ax=ax
        )
    found = interval_coverage(model)
    labels = ("coverage that the model expects", "share of the targets inside")
    return draw_reliability(COVERAGES, found, labels, ax=ax)


def interval_coverage(model: Any) -> dict[str, tuple[Array, Array]]:
    """Return how often left-out targets are inside the intervals that the model expects.

    Parameters
    ----------
    model : KernelhoodRegressor
        Fitted.
    """
    found = {}
    kinds = {"left-out rows": False}
    if len(model.tasks_) >= _TASKS:
        kinds["rows of left-out tasks"] = True
    for name, by_task in kinds.items():
        scores = model._scores(by_task=by_task)
        steps = np.abs(scores.values) / (1.0 if by_task else scores.sizes[scores.task])
        inside = steps[:, None] < norm.ppf(0.5 + 0.5 * COVERAGES)
        count = np.bincount(scores.task)
        means = np.column_stack([np.bincount(scores.task, one) / count for one in inside.T])
        mean = means.mean(axis=0)
        unit = means if len(count) >= _TASKS else inside
        found[name] = (mean, unit.std(axis=0) / np.sqrt(len(unit)))
    return found


def class_reliability(model: Any) -> tuple[Array, Array, Array, float]:
    """Return probabilities of left-out rows in bins, what came true, and the mean distance.

    Parameters
    ----------
    model : KernelhoodClassifier
        Fitted.

    Returns
    -------
    expected, share, error : ndarray of shape (n_bins,)
        Mean probability, share of rows of the class, and its standard error.
    off : float
        The expected calibration error: the mean distance of both over all rows.
    """
    function = model._function
    mean, variance = function.left_out(model._events_left_out())
    found = model._probabilities(expit(averaged(mean, variance)), function.groups)
    came_true = np.eye(len(model.classes_))[model._truth]
    if found.shape[1] == 2:
        found, came_true = found[:, 1:], came_true[:, 1:]
    elif model._is_paired:
        found, came_true = found[found > 0.0], came_true[found > 0.0]
    p, true = found.ravel(), came_true.ravel()
    order = np.argsort(p, kind="stable")
    bins = np.array_split(order, max(min(_BINS, len(order) // _FEWEST), 1))
    expected = np.array([p[rows].mean() for rows in bins])
    share = np.array([true[rows].mean() for rows in bins])
    count = np.array([len(rows) for rows in bins])
    off = float(np.abs(expected - share) @ count / count.sum())
    return expected, share, np.sqrt(share * (1.0 - share) / count), off


def _plot_task(model: Any, task: Hashable, ax: Any) -> Any:
    """Draw the rows of a task beside what is predicted without them."""
    if task not in model.tasks_:
        raise ValueError(f"task={task!r} was not in the fit: give {some_of(model.tasks_)}.")
    function, groups = model._function, model._events_left_out()
    rows = model._rows_of("own")[model.tasks_.index(task)]
    mean, variance = (one[rows] for one in function.left_out(groups))
    if is_classifier(model):
        return _plot_classes(
            model,
            task,
            rows,
            model._probabilities(expit(averaged(mean, variance)), function.groups[:, rows]),
            ax,
        )
    truth, expected = model._truth[rows], model._expected(mean, variance, rows)[0]
    scores = model._scores(by_task=False)
    steps = scores.quantiles([0.05, 0.95]) * scores.sizes[model.tasks_.index(task)]
    spread = np.sqrt(variance + (model._noise_variance_of_a_row * model._row_noise[rows])[:, None])
    ends = model._units.back(mean + spread * steps, None).T
    inside = int(np.sum((truth >= ends[0]) & (truth <= ends[1])))
    title = f"{task}: {inside} of {len(rows)} targets are inside"
    some = np.linspace(0, len(rows) - 1, min(_ROWS, len(rows))).astype(np.intp)
    return draw_rows(
        expected[some],
        (ends[0, some], ends[1, some]),
        truth[some],
        title=title,
        label="target",
        ax=ax,
    )


def _plot_classes(model: Any, task: Hashable, rows: Indices, found: Array, ax: Any) -> Any:
    """Draw the probability of the task's last class, and which rows are of it."""
    truth = model._truth[rows]
    last = int(np.flatnonzero(found.max(axis=0) > 0.0)[-1])
    right = int(np.sum(found.argmax(axis=1) == truth))
    some = np.linspace(0, len(rows) - 1, min(_ROWS, len(rows))).astype(np.intp)
    return draw_rows(
        found[some, last],
        None,
        (truth[some] == last).astype(np.float64),
        title=f"{task}: {right} of {len(rows)} rows are classified right",
        label=f"probability of {model.classes_[last]}",
        ax=ax,
    )


def _places(model: Any, most: int) -> tuple[Indices, int]:
    """Return the groups of some tasks, and how many there are."""
    task = model._function.groups[model.levels_.index("own")]
    known = [name != "occasion" for name in model.levels_]
    places = places_of_tasks(model._function, task, known)
    n_tasks = places.shape[1]
    some = np.linspace(0, n_tasks - 1, min(most, n_tasks)).astype(np.intp)
    return places[:, some], n_tasks


def _shown_target(model: Any) -> tuple[int, str]:
    """Return which function is drawn, and what it predicts."""
    if not is_classifier(model):
        return 0, "expected target"
    if model._is_paired:
        return 0, "probability of a task's second class"
    if len(model.classes_) == 2:
        return 0, f"probability of {model.classes_[1]}"
    most = int(np.bincount(model._truth).argmax())
    return most, f"probability of {model.classes_[most]}, not another"


def _curves(model: Any, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
    """Return middles and ends, two standard deviations away, as users see them."""
    half = 2.0 * np.sqrt(variance)
    if is_classifier(model):
        return expit(averaged(mean, variance)), expit(mean - half), expit(mean + half)
    back = model._units.back
    noise = model._noise_variance_of_a_row
    middle = back(mean.ravel(), variance.ravel() + noise).reshape(mean.shape)
    return middle, back(mean - half, None), back(mean + half, None)
