"""The kernels for the features of a table: banks by name, or the user's own from a file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from kernelhood.kernels import (
    Directions,
    Gaussian,
    Kernel,
    KernelBank,
    Linear,
    Normalized,
    Pairwise,
    Polynomial,
)
from kernelhood.tables.encoder import TableEncoder, shown

BANKS = ("auto", "small", "paper")

_SETTINGS: dict[str, tuple[Callable[..., Kernel], dict[str, Any]]] = {
    "linear": (Linear, {}),
    "polynomial": (Polynomial, {"degree": int, "offset": float}),
    "gaussian": (Gaussian, {"spread": float}),
    "pairwise": (Pairwise, {"name": str, "parameters": dict}),
}


def make_bank(kernels: Any, encoder: TableEncoder) -> Any:
    """Return the kernels on encoded features, as `choose` takes them.

    Parameters
    ----------
    kernels : {"auto", "small", "paper"}, path-like, KernelBank or list of dict
        "auto" leaves the choice between "small", on all features, and a bank with kernels on
        single features as well; "paper" is `default_bank`; else a TOML file, see `read_bank`, or
        what is in one.
    encoder : TableEncoder
        Fitted; says which features come from which column.
    """
    if isinstance(kernels, KernelBank):
        return kernels
    if isinstance(kernels, list):
        return KernelBank([_kernel(one, encoder, "kernels") for one in kernels])
    if kernels in BANKS:
        return None if kernels == "auto" else kernels
    return KernelBank([_kernel(one, encoder, str(kernels)) for one in read_bank(kernels)])


def read_bank(path: str | PathLike[str]) -> list[dict[str, Any]]:
    """Return the kernels that a TOML file lists.

    Each ``[[kernel]]`` has a `type` ("linear", "polynomial", "gaussian" or "pairwise"), its
    parameters, and optionally `columns`, columns of the table, and `normalized` and `directions`,
    true or false.

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
    known = {"type", "columns", "normalized", "directions", *_SETTINGS[given["type"]][1]}
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
    kernel = Normalized(kernel) if given.get("normalized", False) else kernel
    return Directions(kernel) if given.get("directions", False) else kernel
