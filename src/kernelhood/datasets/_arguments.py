"""Check the arguments of the loaders before any file is read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_count(name: str, value: Any, *, low: int = 1, high: int | None = None) -> int:
    """Return `value` as an int between `low` and `high`, or raise naming the argument."""
    wanted = f"an integer >= {low}" if high is None else f"an integer from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} is not {wanted}.")
    count = int(value)
    if count < low or (high is not None and count > high):
        raise ValueError(f"{name}={value!r} is out of range; give {wanted}.")
    return count


def check_number(name: str, value: Any, *, low: float, high: float = float("inf")) -> float:
    """Return `value` as a float between `low` and `high`, or raise naming the argument."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} is not a number from {low} to {high}.")
    # The comparison is written so that nan fails it.
    if not low <= float(value) <= high or float(value) == float("inf"):
        raise ValueError(f"{name}={value!r} is out of range; give a number from {low} to {high}.")
    return float(value)


def check_flags(**flags: Any) -> None:
    """Raise for the first argument, given by name, that is neither True nor False."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name}={value!r} is neither True nor False.")


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return `value` if it is among `choices`, or raise naming the argument."""
    if not isinstance(value, str) or value not in choices:
        options = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r} is unknown; give one of {options}.")
    return value


def check_distinct(name: str, values: Any, *, low: int = 1) -> list[Any]:
    """Return `values` as a list of at least `low` items without repeats, or raise."""
    items = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise TypeError(f"{name}={values!r} is not a sequence.")
    items = list(items)
    if len(items) < low:
        raise ValueError(f"{name} is empty; give at least one value.")
    if any(item in items[:place] for place, item in enumerate(items)):
        raise ValueError(f"{name}={values!r} holds a value twice; give each once.")
    return items


def check_pairs(pairs: Any, classes: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs such as ``"c/e"`` split into their two classes.

    Parameters
    ----------
    pairs : sequence of str
        The tasks, each two different classes joined by a slash.
    classes : sequence of str
        What may stand on either side.

    Returns
    -------
    pairs : list of (str, str)
        The two classes of each task.

    Examples
    --------
    >>> check_pairs(["c/e", "g/y"], "abcdefghijklmnopqrstuvwxyz")
    [('c', 'e'), ('g', 'y')]
    """
    known = set(classes)
    split = []
    for pair in check_distinct("pairs", pairs):
        parts = pair.split("/") if isinstance(pair, str) else []
        if len(parts) != 2 or parts[0] == parts[1] or not known.issuperset(parts):
            raise ValueError(
                f"pairs holds {pair!r}; give two different classes from {classes[0]!r} to "
                f"{classes[-1]!r} joined by a slash, such as '{classes[1]}/{classes[2]}'."
            )
        split.append((parts[0], parts[1]))
    return split
