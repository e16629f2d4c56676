"""Columns of a data frame that hold categories, as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import AnyArray, Array

#: The categories of each such column, by its place; their order is that of their numbers.
Categories = dict[int, list[Any]]


def find_categories(X: Any) -> Categories:
    """Return the categories of the columns of a data frame that are of that type, or text.

    Parameters
    ----------
    X : any
        Only a data frame, of pandas or polars, has such columns.

    Examples
    --------
    >>> import pandas as pd
    >>> find_categories(pd.DataFrame({"size": [1.0, 2.0], "shop": ["b", "a"]}))
    {1: ['a', 'b']}
    """
    if not hasattr(X, "columns"):
        return {}
    found = {}
    for place in range(X.shape[1]):
        values = _categorical_values(X, place)
        if values is not None:
            known = {value for value in values.tolist() if not _is_missing(value)}
            found[place] = sorted(known, key=lambda value: (str(type(value)), value))
    return found


def as_numbers(X: Any, categories: Categories) -> Array:
    """Return a table with numbers for categories: -1 for an unknown one, NaN for a missing one.

    Parameters
    ----------
    X : data frame or array-like of shape (n_samples, n_features)
        The table.
    categories : dict
        What `find_categories` returned for the training rows.
    """
    columns = []
    for place in range(X.shape[1]):
        values = _column(X, place)
        if place in categories:
            number = {value: code for code, value in enumerate(categories[place])}
            codes = [
                np.nan if _is_missing(value) else number.get(value, -1) for value in values.tolist()
            ]
            columns.append(np.array(codes, dtype=np.float64))
        else:
            columns.append(np.asarray(values, dtype=np.float64))
    return np.column_stack(columns)


def _column(X: Any, place: int) -> AnyArray:
    if not hasattr(X, "columns"):
        return np.asarray(X)[:, place]
    column = X.iloc[:, place] if hasattr(X, "iloc") else X[X.columns[place]]
    return np.asarray(column)


def _categorical_values(X: Any, place: int) -> AnyArray | None:
    """Return the values of a column of categories or text, None for other columns."""
    column = X.iloc[:, place] if hasattr(X, "iloc") else X[X.columns[place]]
    kind = str(getattr(column, "dtype", "")).lower()
    values = np.asarray(column)
    if kind.startswith(("categor", "enum")) or values.dtype.kind in "US":
        return values
    if values.dtype.kind == "O" and any(isinstance(value, str) for value in values.tolist()):
        return values
    return None


def _is_missing(value: Any) -> bool:
    # What pandas' own equals is not known.
    return value is None or type(value).__name__ == "NAType" or value != value
