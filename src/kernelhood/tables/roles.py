"""From the raw rows of a table to numbers that kernels take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import AnyArray, Array
from kernelhood.kernels.columns import (
    Column,
    DateColumn,
    LeftOut,
    NumberColumn,
    days,
    from_plain,
    labels,
    learn_column,
    numbers,
    refuse,
    table_numbers,
    to_plain,
)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn numbers, dates, categories and missing values of a data frame into features.

    What a column is follows from its training rows: a number if all of its values are, a date
    if all look like 2024-05-17 or 2024-05-17 08:30, else a category. Numbers are standardised;
    a date is how late it is, and where it lies in the year, the week and the day; a category has a
    feature for each of its 30 most frequent levels. Missing numbers and dates are replaced by the
    median, and a further feature marks them if the training rows lack some. Columns that hold
    one value, or another one in every row, are left out.

    Parameters
    ----------
    categories : sequence of str
        Columns that are categories, also if they hold numbers.
    dates : sequence of str
        Columns that are dates.

    Attributes
    ----------
    columns_ : list
        How each column is treated; every one has `name`, `features` and `describe()`.
    sources_ : list of str
        The column that each feature comes from.
    feature_names_in_ : ndarray of str
        The columns seen in `fit`; `transform` looks for them by name and ignores others.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelhood.tables import TableEncoder
    >>> rows = pd.DataFrame({"size": [1.0, None, 3.0, 3.0], "kind": ["a", "b", "a", "b"]})
    >>> encoder = TableEncoder().fit(rows)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size missing', 'kind=a', 'kind=b']
    >>> encoder.transform(rows).shape
    (4, 4)
    """

    def __init__(self, *, categories: Any = (), dates: Any = ()) -> None:
        self.categories = categories
        self.dates = dates

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how each column is treated.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_columns)
            Training rows.
        y : None
            Not looked at.

        Returns
        -------
        self
        """
        names = [str(name) for name in X.columns]
        asked = {
            **dict.fromkeys(self.categories, "category"),
            **dict.fromkeys(self.dates, "date"),
        }
        unknown = [name for name in asked if name not in names]
        if unknown:
            raise ValueError(f"there is no column {unknown[0]!r}; there are {shown(names)}.")
        self._keep(
            [
                learn_column(name, column, asked.get(name), read)
                for name, (_, column), read in zip(names, X.items(), table_numbers(X), strict=True)
            ]
        )
        return self

    def _keep(self, columns: list[Column]) -> None:
        self.columns_ = columns
        self.feature_names_in_ = np.array([one.name for one in columns], dtype=object)
        self.n_features_in_ = len(columns)
        self.sources_ = [one.name for one in columns for _ in one.features]

    def __getstate__(self) -> dict[str, Any]:
        # One text for all columns: there may be thousands, each of them no more than a few numbers.
        columns = json.dumps(to_plain(self.columns_)) if hasattr(self, "columns_") else None
        given = {"categories": list(self.categories), "dates": list(self.dates)}
        return {**given, "columns": columns}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.categories, self.dates = tuple(state["categories"]), tuple(state["dates"])
        if state["columns"] is not None:
            self._keep(from_plain(json.loads(state["columns"])))

    def transform(self, X: Any) -> Array:
        """Return the features.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_columns)
            Raw rows with the columns of `fit`, in any order.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        used = [one for one in self.columns_ if not isinstance(one, LeftOut)]
        lacking = [one.name for one in used if one.name not in X.columns]
        if lacking:
            raise ValueError(f"column {lacking[0]!r} is missing; the table has {shown(X.columns)}.")
        numeric = [one.name for one in used if isinstance(one, NumberColumn)]
        read = dict(zip(numeric, table_numbers(X[numeric]), strict=True))
        parts = [
            one.encode(X[one.name], read[one.name])
            if isinstance(one, NumberColumn)
            else one.encode(X[one.name])
            for one in used
        ]
        return np.hstack([np.empty((len(X), 0)), *parts])

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the features.

        Parameters
        ----------
        input_features : None
            Not looked at.

        Returns
        -------
        ndarray of str, shape (n_features,)
        """
        check_is_fitted(self)
        return np.array([name for one in self.columns_ for name in one.features], dtype=object)

    def describe(self) -> dict[str, str]:
        """Return how each column is treated, in words.

        Returns
        -------
        dict of str to str
        """
        check_is_fitted(self)
        return {one.name: one.describe() for one in self.columns_}


def shown(names: Any, most: int = 8) -> str:
    """Return names for an error, the first few of many."""
    listed = [repr(str(name)) for name in names]
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def as_bunch(table: Any, **roles: Any) -> dict[str, Any]:
    """Return a table as `kernelhood.paper.run` takes data sets.

    Columns are encoded as in `fit_table`, from all rows: this looks at no target. Targets of
    regression are divided by their standard deviation, and so are their errors then.

    Parameters
    ----------
    table : DataFrame
        One row for each sample.
    **roles : object
        `task`, `target` and the other arguments of `fit_table` that name columns.

    Returns
    -------
    dict
        With X, y, task, kind and, if there are groups, task_groups.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"shop": ["a", "b"] * 4, "sold": range(8), "day": [1.5, 2, 3, 4] * 2})
    >>> bunch = as_bunch(table, task="shop", target="sold", kind="regression")
    >>> bunch["X"].shape, bunch["kind"]
    ((8, 1), 'regression')
    """
    rows = read_rows(table, Roles(**roles))
    encoder = TableEncoder(categories=roles.get("categories", ()), dates=roles.get("dates", ()))
    y = rows.y
    if rows.kind == REGRESSION:
        y = (y - np.mean(y)) / (float(np.std(y)) or 1.0)
    found = {
        "X": encoder.fit_transform(rows.frame),
        "y": y,
        "task": rows.task.astype(str),
        "kind": rows.kind,
    }
    return found if rows.groups is None else {**found, "task_groups": rows.groups}


CLASSIFICATION, REGRESSION = "classification", "regression"

#: Whole numbers with at most so many different values are classes unless the user says otherwise.
MOST_NUMBERED_CLASSES = 10
#: The most classes that are taken unless the user asks for more. Codes in common use, such as
#: digits and letters, have at most 26 values, and a number with more than 30 is mostly a quantity;
#: names of classes leave less doubt.
_MOST_NUMBERS, _MOST_NAMES = 30, 100


@dataclass(frozen=True)
class Roles:
    """Which columns are the task, the target, the groups and the features.

    Attributes
    ----------
    task, target : str
        Columns that name the task and hold what is to be predicted.
    kind : {"classification", "regression"}, optional
        What the target is; by default what its values look like.
    groups : str, optional
        Column that groups tasks.
    occasion : str, optional
        Column of what rows of different tasks may share by chance.
    features : sequence of str, optional
        Columns to learn from; by default all others.
    drop : sequence of str
        Columns not to learn from.
    categories, dates : sequence of str
        Features that are categories or dates, whatever they look like.
    max_classes : int, optional
        The most classes that the target may have; by default what its values look like.
    """

    task: str
    target: str
    kind: str | None = None
    groups: str | None = None
    occasion: str | None = None
    features: Sequence[str] | None = None
    drop: Sequence[str] = ()
    categories: Sequence[str] = ()
    dates: Sequence[str] = ()
    max_classes: int | None = None

    def feature_columns(self, columns: Sequence[str]) -> list[str]:
        """Return the features among the columns of a table, or raise if one is not there."""
        special = [(role, getattr(self, role)) for role in ("task", "target", "groups", "occasion")]
        named = [(role, name) for role, name in special if name is not None]
        asked = [("features", name) for name in self.features or ()]
        asked += [("drop", name) for name in self.drop]
        for role, name in [*named, *asked]:
            if name not in columns:
                raise ValueError(f"{role}={name!r} is not a column; there are {shown(columns)}.")
        roles = {name: role for role, name in named}
        if self.task == self.target:
            raise ValueError(f"task and target are both {self.task!r}; give two columns.")
        for role, name in asked:
            if role == "features" and roles.get(name) in ("task", "target", "occasion"):
                raise ValueError(f"features={name!r} is the {roles[name]}: it is not a feature.")
        wanted = columns if self.features is None else list(self.features)
        left = {*roles, *self.drop} - ({self.groups} & set(self.features or ()))
        found = [name for name in wanted if name not in left]
        if not found:
            raise ValueError("there is no column to learn from beside the task and the target.")
        for role, given in (("categories", self.categories), ("dates", self.dates)):
            for name in given:
                if name not in found:
                    raise ValueError(f"{role}={name!r} is not a feature; these are {shown(found)}.")
        return found


@dataclass(frozen=True)
class Rows:
    """The rows of a table that have a task and a target.

    Attributes
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The features, raw.
    y, task : ndarray of shape (n_rows,)
        Targets, and tasks as text.
    kind : {"classification", "regression"}
        What the targets are.
    groups : dict of str to str, optional
        The group of each task.
    occasion : ndarray of shape (n_rows,), optional
        Occasions, as text.
    notes : list of str
        What was left out.
    dates : list of str
        The features that are dates.
    """

    frame: Any
    y: AnyArray
    task: AnyArray
    kind: str
    groups: dict[str, str] | None = None
    occasion: AnyArray | None = None
    notes: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)

    @property
    def strata(self) -> AnyArray | None:
        """What splits should keep in proportion beside tasks: classes, if there are any."""
        return self.y if self.kind == CLASSIFICATION else None

    def take(self, kept: AnyArray) -> Rows:
        """Return some of the rows.

        Parameters
        ----------
        kept : ndarray of bool, shape (n_rows,)
            Which.
        """
        frame = self.frame.loc[kept].reset_index(drop=True)
        occasion = None if self.occasion is None else self.occasion[kept]
        return replace(self, frame=frame, y=self.y[kept], task=self.task[kept], occasion=occasion)


def read_rows(table: Any, roles: Roles) -> Rows:
    """Return the rows that can be learned from, or raise if there are none.

    Parameters
    ----------
    table : DataFrame
        The table.
    roles : Roles
        Which column is what.
    """
    columns = [str(name) for name in table.columns]
    features = roles.feature_columns(columns)
    task, target = labels(table[roles.task]), labels(table[roles.target])
    usable = np.array([t is not None and y is not None for t, y in zip(task, target, strict=True)])
    notes = []
    if not usable.all():
        count = int(np.count_nonzero(~usable))
        notes.append(f"{count} of {len(table)} rows lack the task or the target and are left out.")
    if not usable.any():
        raise ValueError(
            f"no row has both a task ({roles.task!r}) and a target ({roles.target!r})."
        )
    if np.count_nonzero(usable) < 2:
        raise ValueError("there is 1 row to learn from; at least 2 rows are needed.")
    kept = table.loc[usable]
    kind = roles.kind or kind_of_target(kept[roles.target])
    if kind == CLASSIFICATION:
        y = _classes(kept[roles.target], target[usable], roles)
    else:
        y = _numbers(kept[roles.target], roles.target)
    known = task[usable]
    groups = None if roles.groups is None else _groups(kept[roles.groups], known, roles.groups)
    occasion = None if roles.occasion is None else _occasions(kept[roles.occasion], roles.occasion)
    frame, dates = _features(kept[features].reset_index(drop=True), roles)
    return Rows(frame, y, known, kind, groups, occasion, notes, dates)


def _features(frame: Any, roles: Roles) -> tuple[Any, list[str]]:
    """Return the features as what the user calls them, and which of them are dates."""
    for name in roles.dates:
        wanted = "a date such as 2024-05-17 or 2024-05-17 08:30"
        refuse(name, frame[name], days(frame[name])[1], wanted)
    own = {
        name: type(frame[name])(labels(frame[name]), dtype="category") for name in roles.categories
    }
    frame = frame.assign(**own)
    learned = [learn_column(str(name), column) for name, column in frame.items()]
    if all(isinstance(one, LeftOut) for one in learned):
        reasons = [f"{one.name!r} is {one.describe()}" for one in learned[:3]]
        raise ValueError(f"there is no column to learn from: {'; '.join(reasons)}.")
    return frame, [one.name for one in learned if isinstance(one, DateColumn)]


def _occasions(column: Any, name: str) -> AnyArray:
    found = labels(column)
    if any(one is None for one in found.tolist()):
        raise ValueError(f"occasion={name!r} lacks a value in some rows: fill it, or drop them.")
    return found


def kind_of_target(column: Any) -> str:
    """Return what a target looks like: numbers with fractions or many values are regression.

    Parameters
    ----------
    column : Series
        The targets.
    """
    values, wrong = numbers(column)
    known = values[~np.isnan(values)]
    if wrong.any() or not len(known) or str(column.dtype) in ("bool", "boolean"):
        return CLASSIFICATION
    whole = bool(np.all(known == np.rint(known)))
    few = len(np.unique(known)) <= MOST_NUMBERED_CLASSES
    return CLASSIFICATION if whole and few else REGRESSION


def _classes(column: Any, named: AnyArray, roles: Roles) -> AnyArray:
    """Return the classes, or raise if they are one, or more than their values call for."""
    count = len(set(named.tolist()))
    if count < 2:
        raise ValueError(
            f"target={roles.target!r} holds only the class {named[0]!r}: there is nothing to tell "
            "apart."
        )
    values, wrong = numbers(column)
    is_number = not wrong.any() and not np.isnan(values).any()
    most = roles.max_classes
    if most is None:
        most = _most_classes(values if is_number else None, len(named))
    if count > most:
        what, other = "values", ""
        if is_number:
            what, other = "numbers", " use kind='regression' (--kind regression), or"
        raise ValueError(
            f"target={roles.target!r} holds {count} different {what} in {len(named)} rows, too "
            f"many for kind='classification':{other} say that they are classes by "
            f"max_classes={count} (--max-classes {count})."
        )
    return np.array(named.tolist())


def _most_classes(values: Array | None, n_rows: int) -> int:
    """Return the most classes that targets may be without a word; values are those of numbers."""
    if values is not None and np.any(values != np.rint(values)):
        return 0
    # A class needs a row to learn from and another one to judge by.
    enough = max(MOST_NUMBERED_CLASSES, n_rows // 2)
    return min(_MOST_NAMES if values is None else _MOST_NUMBERS, enough)


def _numbers(column: Any, name: str) -> Array:
    """Return the targets of a regression, or raise if one is not a number."""
    values, wrong = numbers(column)
    bad = wrong | np.isnan(values)
    if bad.any():
        first = str(column.iloc[int(np.argmax(bad))])[:40]
        raise ValueError(f"target={name!r} holds {first!r}: regression needs finite numbers.")
    return values


def _groups(column: Any, task: AnyArray, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for one, group in zip(task.tolist(), labels(column).tolist(), strict=True):
        if group is None:
            continue
        if found.setdefault(one, group) != group:
            raise ValueError(
                f"groups={name!r} must be the same in all rows of a task: task {one!r} has "
                f"{found[one]!r} and {group!r}."
            )
    lacking = sorted({one for one in task.tolist() if one not in found})
    if lacking:
        raise ValueError(f"groups={name!r} names no group for task {lacking[0]!r}.")
    return found


def rows_after(table: Any, when: str, column: str) -> AnyArray:
    """Return which rows of a table come after a date, or have a larger number.

    Parameters
    ----------
    table : DataFrame
        The features.
    when : str
        The date, or the number.
    column : str
        The column that holds dates or numbers.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
    """
    if column not in table.columns:
        raise ValueError(
            f"holdout_after names {column!r}, which is not a feature; "
            f"there are {shown(table.columns)}."
        )
    number = _number_or_nan(when)
    moment = days(type(table[column])([when], dtype=object))[0][0]
    if np.isnan(number) and np.isnan(moment):
        raise ValueError(
            f"holdout_after={when!r} is not a date such as 2024-05-17 or 2024-05-17 08:30."
        )
    read, what = (days, "date") if np.isnan(number) else (numbers, "number")
    values, wrong = read(table[column])
    if wrong.any():
        row = int(np.argmax(wrong))
        value = str(table[column].iloc[row])[:40]
        raise ValueError(f"column {column!r} holds {value!r}, no {what}.")
    if not np.isnan(number):
        return _some_of(values > number, when, column)
    # A day alone stands for all of it.
    last = moment + 1.0 if len(when.strip()) == len("2024-05-17") else moment
    return _some_of(values >= last if last > moment else values > moment, when, column)


def _number_or_nan(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _some_of(after: AnyArray, when: str, column: str) -> AnyArray:
    """Return which rows come after, or raise if that is none or all."""
    if after.all() or not after.any():
        side = "no" if not after.any() else "every"
        raise ValueError(f"holdout_after={when!r}: {side} row of {column!r} comes after it.")
    return np.asarray(after)
