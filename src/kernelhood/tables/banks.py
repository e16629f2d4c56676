"""The kernels for the features of a table: a bank made for them, or the user's own from a file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import euclidean_distances

from kernelhood._typing import Array
from kernelhood.kernels import (
    Gaussian,
    Kernel,
    KernelBank,
    Linear,
    Normalized,
    Pairwise,
    Polynomial,
    default_bank,
)
from kernelhood.tables.encoder import TableEncoder, shown

BANKS = ("auto", "paper")

_SPREADS = (0.25, 0.5, 1.0, 2.0, 4.0)
_MOST_COLUMNS = 25
_ENOUGH = 500

_SETTINGS: dict[str, tuple[Callable[..., Kernel], dict[str, Any]]] = {
    "linear": (Linear, {}),
    "polynomial": (Polynomial, {"degree": int, "offset": float}),
    "gaussian": (Gaussian, {"spread": float}),
    "pairwise": (Pairwise, {"name": str, "parameters": dict}),
}


def make_bank(kernels: Any, encoder: TableEncoder, X: Array) -> KernelBank:
    """Return the kernels on encoded features.

    Parameters
    ----------
    kernels : {"auto", "paper"}, path-like, KernelBank or list of dict
        "auto": linear, and Gaussians around the median distance of the rows, on all features and
        on those of each column; "paper": the ten of `default_bank`; else a TOML file, see
        `read_bank`, or what is in one.
    encoder : TableEncoder
        Fitted; says which features come from which column.
    X : ndarray of shape (n_rows, n_features)
        Encoded rows.
    """
    if isinstance(kernels, KernelBank):
        return kernels
    if isinstance(kernels, list):
        return KernelBank([_kernel(one, encoder, "kernels") for one in kernels])
    if kernels == "paper":
        return default_bank()
    if kernels == "auto":
        return _bank_for(encoder, X)
    return KernelBank([_kernel(one, encoder, str(kernels)) for one in read_bank(kernels)])


def read_bank(path: str | PathLike[str]) -> list[dict[str, Any]]:
    """Return the kernels that a TOML file lists.

    Each ``[[kernel]]`` has a `type` ("linear", "polynomial", "gaussian" or "pairwise"), its
    parameters, and optionally `columns`, columns of the table, and `normalized`, true or false.

    Parameters
    ----------
    path : path-like
        The file.
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"kernels={path} is no TOML: {error}.") from error
    listed = content.get("kernel")
    if not isinstance(listed, list) or not listed or set(content) != {"kernel"}:
        raise ValueError(f"kernels={path} must hold tables [[kernel]], and nothing else.")
    for one in listed:
        _check(one, str(path))
    return listed


def _check(given: Any, where: str) -> None:
    kinds = ", ".join(map(repr, _SETTINGS))
    if not isinstance(given, dict) or given.get("type") not in _SETTINGS:
        raise ValueError(f"kernels={where}: every kernel needs a type among {kinds}, got {given}.")
    known = {"type", "columns", "normalized", *_SETTINGS[given["type"]][1]}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(
            f"kernels={where}: {unknown[0]!r} is no setting of a {given['type']} kernel; there "
            f"are {', '.join(sorted(known))}."
        )


def _kernel(given: dict[str, Any], encoder: TableEncoder, where: str) -> Kernel:
    """Return a kernel from its description, on the features of the columns that it names."""
    _check(given, where)
    make, types = _SETTINGS[given["type"]]
    columns = given.get("columns")
    features = None
    if columns is not None:
        names = [columns] if isinstance(columns, str) else list(columns)
        unknown = [name for name in names if name not in encoder.sources_]
        if unknown:
            used = shown(dict.fromkeys(encoder.sources_))
            raise ValueError(f"kernels={where}: {unknown[0]!r} is no feature; these are {used}.")
        features = tuple(k for k, source in enumerate(encoder.sources_) if source in names)
    try:
        settings = {name: types[name](given[name]) for name in types if name in given}
        kernel = make(**settings, columns=features)
    except (TypeError, ValueError) as error:
        raise ValueError(f"kernels={where}: {given} is no kernel: {error}") from error
    return Normalized(kernel) if given.get("normalized", False) else kernel


def _bank_for(encoder: TableEncoder, X: Array) -> KernelBank:
    """Return kernels on all features, and one on those of each column where there are not many."""
    some = X[:: -(-len(X) // _ENOUGH)]
    median = _median_distance(some)
    kernels: list[Kernel] = [Normalized(Linear()), Normalized(Polynomial())]
    kernels += [Gaussian(_rounded(factor * median)) for factor in _SPREADS]
    columns = list(dict.fromkeys(encoder.sources_))
    if 1 < len(columns) <= _MOST_COLUMNS:
        for column in columns:
            features = [k for k, source in enumerate(encoder.sources_) if source == column]
            spread = _median_distance(some[:, features])
            kernels.append(Gaussian(_rounded(spread), columns=tuple(features)))
    return KernelBank(kernels)


def _rounded(spread: float) -> float:
    """Return a spread with as many digits as anyone wants to read."""
    return float(f"{spread:.2g}")


def _median_distance(X: Array) -> float:
    """Return the median distance between rows that differ, 1 where none do."""
    apart = euclidean_distances(X)[np.triu_indices(len(X), 1)]
    apart = apart[apart > 1e-3]
    return float(np.median(apart)) if len(apart) else 1.0
