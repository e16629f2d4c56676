"""From a table to a model: roles, encoding, choice, honest scores, and a record of it all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from kernelhood._typing import AnyArray, Array
from kernelhood.columns import DateColumn, as_pandas
from kernelhood.estimators import MTONMKLClassifier
from kernelhood.kernels import KernelBank
from kernelhood.model_selection import TaskShuffleSplit
from kernelhood.tables.banks import BANKS, make_bank, read_bank
from kernelhood.tables.choice import SEARCHES, choose, described_choice, judging_folds
from kernelhood.tables.encoder import TableEncoder
from kernelhood.tables.model import TableModel
from kernelhood.tables.notes import worth_a_look
from kernelhood.tables.roles import CLASSIFICATION, REGRESSION, Roles, Rows, read_rows, rows_after
from kernelhood.tables.scores import METRIC, TASK_MEAN, baseline_predictions, score_table
from kernelhood.tables.usage import column_usage
from kernelhood.uncertainty.quantiles import checked_levels

_LEFT_OUT = "rows left out of the fit, in turn, at the chosen parameters"
_HELD_OUT = "rows held out before the choice"


def fit_table(
    table: Any,
    *,
    task: str,
    target: str,
    kind: str | None = None,
    groups: str | None = None,
    features: Any = None,
    drop: Any = (),
    categories: Any = (),
    dates: Any = (),
    max_classes: int | None = None,
    kernels: Any = "auto",
    holdout: float | None = None,
    holdout_after: str | None = None,
    search: str = "fast",
    quantiles: Any = (),
    probability: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> TableModel:
    """Choose, fit and judge a model of all tasks in a table.

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
    features, drop : sequence of str
        Columns to learn from, or not to; by default all but task, target and groups.
    categories, dates : sequence of str
        Features that are categories or dates, whatever they look like.
    max_classes : int, optional
        The most classes that the target may have. By default 100, 30 if they are whole numbers,
        none if they are numbers with fractions, and no more than half as many as rows, or ten.
    kernels : {"auto", "small", "paper"}, path-like, KernelBank or list of dict
        The base kernels; see `make_bank`.
    holdout : float, optional
        Share of each task's rows that only judge. The chosen model is then fitted again to all.
    holdout_after : str, optional
        Rows after this date only judge, instead. It is looked up in the one feature that is a
        date, or in the first of `dates`.
    search : {"quick", "fast", "full"}
        How many models to choose from; "quick" chooses only how strongly to regularise.
    quantiles : sequence of float
        Levels between 0 and 1, ascending, that `predict_frame` adds; for regression.
    probability : bool
        Whether `predict_frame` adds the probability of each class; for classification.
    n_jobs : int, optional
        Processes of the search.
    verbose : int
        Show a progress bar.

    Returns
    -------
    TableModel

    Examples
    --------
    >>> import kernelhood as kh
    >>> from kernelhood.tables import fit_table
    >>> data = kh.datasets.make_multitask(n_tasks=2, n_samples=20, as_frame=True, random_state=0)
    >>> table = data.X.assign(shop=data.task, sold=data.y)
    >>> model = fit_table(table, task="shop", target="sold", search="quick", holdout=0.25)
    >>> [row["rows"] for row in model.record["scores"]]
    [5, 5, 10]
    """
    table = as_pandas(table)
    _check(kind, kernels, holdout, holdout_after, search)
    roles = Roles(task, target, kind, groups, features, drop, categories, dates, max_classes)
    rows = read_rows(table, roles)
    settings = _Settings(kernels, search, n_jobs, verbose, tuple(categories), tuple(dates))
    levels = _check_extras(rows.kind, quantiles, probability)
    whole = _Encoded(rows, settings)
    held_out = _held_out(whole, holdout, holdout_after)
    trained = whole if held_out is None else _Encoded(rows.take(~held_out), settings)
    found = trained.choose()
    if held_out is None:
        estimator, scores = found.best_estimator_, trained.scores_left_out(found.best_estimator_)
    else:
        estimator = whole.refit(found.best_estimator_)
        scores = trained.scores_of(found.best_estimator_, rows.take(held_out))
    if probability:
        estimator = whole.refit(estimator.set_params(probability=True))
    if levels:  # A saved model has left the rows behind that levels are fitted to.
        estimator.predict_quantiles(whole.X[:1], task=rows.task[:1], quantiles=levels)
    model = TableModel(whole.encoder, estimator, task, target, rows.kind, groups, levels)
    model.record = {
        **whole.described(estimator),
        "fingerprint": fingerprint(table),
        "choice": described_choice(found),
        "judged": _LEFT_OUT if held_out is None else _HELD_OUT,
        "scores": scores,
    }
    model.record["notes"] = [*rows.notes, *worth_a_look(model)]
    return model


def _check(kind: Any, kernels: Any, holdout: Any, after: Any, search: str) -> None:
    """Raise where arguments are wrong, before any work."""
    if kind not in (None, CLASSIFICATION, REGRESSION):
        raise ValueError(f"kind={kind!r} is unknown; give {CLASSIFICATION!r} or {REGRESSION!r}.")
    if search not in SEARCHES:
        raise ValueError(f"search={search!r} is unknown; give one of {', '.join(SEARCHES)}.")
    if holdout is not None and after is not None:
        raise ValueError("holdout and holdout_after both say what to hold out; give one.")
    if holdout is not None and not 0.0 < holdout < 1.0:
        raise ValueError(f"holdout={holdout!r} must be a share between 0 and 1.")
    if isinstance(kernels, str) and kernels not in BANKS:
        read_bank(kernels)


def _check_extras(kind: str, quantiles: Any, probability: bool) -> tuple[float, ...]:
    """Return the levels, or raise if what predictions should have does not suit the target."""
    if probability and kind == REGRESSION:
        raise ValueError("probability is for classification; regression has quantiles.")
    if probability and "probability" not in MTONMKLClassifier().get_params():
        raise ValueError("probability is not there: the estimators of this version have none.")
    if len(quantiles) and kind == CLASSIFICATION:
        raise ValueError("quantiles are for regression; classification has probability.")
    return tuple(checked_levels(quantiles)) if len(quantiles) else ()


def _held_out(whole: _Encoded, share: float | None, after: str | None) -> AnyArray | None:
    """Return which rows only judge; None where none are asked for."""
    rows, dates = whole.rows, whole.settings.dates
    if after is not None:
        found = [one.name for one in whole.encoder.columns_ if isinstance(one, DateColumn)]
        named = list(dates) or found
        if not named or (len(named) > 1 and not dates):
            count = "no" if not named else "more than one"
            raise ValueError(
                f"holdout_after={after!r} needs a column of dates, and {count} feature is one: "
                "name it by dates."
            )
        return rows_after(rows.frame, after, named[0])
    if share is None:
        return None
    splitter = TaskShuffleSplit(1, test_size=share, random_state=0)
    _, test = next(iter(splitter.split(rows.frame, rows.strata, task=rows.task)))
    return np.isin(np.arange(len(rows.y)), test)


@dataclass(frozen=True)
class _Settings:
    """What does not depend on the rows."""

    kernels: Any
    search: str
    n_jobs: int | None
    verbose: int
    categories: tuple[str, ...]
    dates: tuple[str, ...]


class _Encoded:
    """Rows as numbers, with all that was learned from them and from no other rows."""

    def __init__(self, rows: Rows, settings: _Settings) -> None:
        self.rows, self.settings = rows, settings
        encoder = TableEncoder(categories=settings.categories, dates=settings.dates)
        self.encoder = encoder.fit(rows.frame)
        self.X: Array = self.encoder.transform(rows.frame)
        self.y = rows.y
        self.bank = make_bank(settings.kernels, self.encoder)

    def choose(self) -> Any:
        """Return the search on these rows."""
        rows, settings = self.rows, self.settings
        return choose(
            rows.kind,
            self.X,
            self.y,
            rows.task,
            kernels=self.bank,
            groups=rows.groups,
            search=settings.search,
            n_jobs=settings.n_jobs,
            verbose=settings.verbose,
        )

    def refit(self, chosen: Any) -> Any:
        """Return a chosen estimator fitted to all of these rows."""
        estimator = clone(chosen)
        if isinstance(self.bank, KernelBank):  # its kernels are on features, which may differ
            estimator.set_params(kernels=self.bank)
        return estimator.fit(self.X, self.y, task=self.rows.task)

    def described(self, estimator: Any) -> dict[str, Any]:
        """Return what the rows are and what a model makes of them, as plain numbers and text."""
        names, counts = np.unique(self.rows.task.astype(str), return_counts=True)
        return {
            "rows": len(self.y),
            "tasks": dict(zip(names.tolist(), counts.tolist(), strict=True)),
            "groups": dict(self.rows.groups or {}),
            "columns": self.encoder.describe(),
            "metric": METRIC[self.rows.kind],
            "usage": {
                "columns": list(dict.fromkeys(self.encoder.sources_)),
                "tasks": column_usage(estimator, self.X, self.rows.task, self.encoder.sources_),
            },
        }

    def scores_of(self, estimator: Any, test: Rows) -> list[dict[str, Any]]:
        """Return the scores on rows that were held out."""
        known = set(self.rows.task.tolist())
        test = test.take(np.array([name in known for name in test.task.tolist()], dtype=bool))
        if not len(test.y):
            return []
        X = self.encoder.transform(test.frame)
        found = self._predictions(estimator, (self.X, self.y, self.rows.task), (X, test.task))
        return score_table(self.rows.kind, test.y, test.task, found)

    def scores_left_out(self, chosen: Any) -> list[dict[str, Any]]:
        """Return the scores on rows that are left out of the fit in turn."""
        parts, places = [], []
        y, task = self.y, self.rows.task
        for train, test in judging_folds(len(y)).split(self.X, self.rows.strata, task=task):
            known = set(task[train].tolist())
            test = test[np.array([name in known for name in task[test].tolist()], dtype=bool)]
            if not len(test):
                continue
            fitted = None
            if self.rows.kind == REGRESSION or len(np.unique(y[train])) > 1:
                fitted = clone(chosen).fit(self.X[train], y[train], task=task[train])
            places.append(test)
            learned = (self.X[train], y[train], task[train])
            parts.append(self._predictions(fitted, learned, (self.X[test], task[test])))
        if not places:
            return []
        rows = np.concatenate(places)
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return score_table(self.rows.kind, self.rows.y[rows], task[rows], joined)

    def _predictions(
        self, estimator: Any, train: tuple[Array, AnyArray, AnyArray], test: tuple[Array, AnyArray]
    ) -> dict[str, AnyArray]:
        """Return what the model and the baselines predict."""
        found = baseline_predictions(self.rows.kind, train, test)
        # Rows of one class leave nothing to learn but this class.
        own = found[TASK_MEAN] if estimator is None else estimator.predict(test[0], task=test[1])
        found["model"] = np.asarray(own)
        return found


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
