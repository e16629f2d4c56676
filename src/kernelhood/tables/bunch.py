"""A table as a data set of the comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood.tables.encoder import TableEncoder
from kernelhood.tables.roles import REGRESSION, Roles, read_rows


def as_bunch(table: Any, **roles: Any) -> dict[str, Any]:
    """Return a table as `kernelhood.experiments.run` takes data sets.

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
        With X, y, task, kind and, where there are groups, task_groups.

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
