"""From the raw rows of a table to numbers that kernels take."""

from __future__ import annotations

import json
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernelhood._typing import AnyArray, Array
from kernelhood.columns import (
    Column,
    LeftOut,
    NumberColumn,
    from_plain,
    learn_column,
    table_numbers,
    to_plain,
)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn numbers, dates, categories and missing values of a data frame into features.

    What a column is follows from its training rows: a number where all of its values are, a date
    where all look like 2024-05-17 or 2024-05-17 08:30, else a category. Numbers are standardised;
    a date is how late it is, and where it lies in the year, the week and the day; a category has a
    feature for each of its 30 most frequent levels. Missing numbers and dates are replaced by the
    median, and a further feature marks them where the training rows lack some. Columns that hold
    one value, or another one in every row, are left out.

    Parameters
    ----------
    categories : sequence of str
        Columns that are categories, also where they hold numbers.
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
