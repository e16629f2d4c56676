"""The constructor of an estimator, from its annotated parameters, and its docstring.

Every parameter is declared once, with its default, as an attribute of a class. Every parameter and
attribute is described once, by the class or the method that declares it; an estimator's own
docstring has its summary and examples.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields
from typing import Any, TypeVar, dataclass_transform

Estimator = TypeVar("Estimator", bound=type[Any])

_HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"\n(?=\S)")
#: Parameters that are described last.
_LAST = ("tol", "max_iter", "class_weight", "task_column", "n_jobs", "verbose")


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: Estimator) -> Estimator:
    """Give a class the constructor of its annotated parameters, and the docstring of its parts.

    Attributes are in the order of the parts, base first; notes and examples are those of the
    nearest class that has any.
    """
    dataclass(kw_only=True, eq=False, repr=False)(cls)
    parts = [_sections(vars(part).get("__doc__")) for part in cls.parts() if _is_ours(part)]
    order = sorted((one.name for one in fields(cls) if one.init), key=_LAST.__contains__)
    parameters = _entries(parts, "Parameters")
    attributes = _entries(parts[::-1], "Attributes")
    found = {
        "Parameters": sorted(parameters, key=lambda entry: order.index(_first_name(entry))),
        "Attributes": attributes,
    }
    text = parts[0]["summary"]
    for name, entries in found.items():
        text += _section(name, "\n".join(entries))
    for name in ("Notes", "Examples"):
        text += _section(name, next((part[name] for part in parts if name in part), ""))
    cls.__doc__ = text
    return cls


def _is_ours(part: type[Any]) -> bool:
    return part.__module__.startswith("kernelhood.")


def _sections(doc: str | None) -> dict[str, str]:
    """Return the summary and the sections of a docstring by name."""
    pieces = _HEADING.split(inspect.cleandoc(doc or ""))
    names = ["summary", *pieces[1::2]]
    return {name: text.strip("\n") for name, text in zip(names, pieces[::2], strict=True)}


def _entries(parts: list[dict[str, str]], section: str) -> list[str]:
    return [entry for part in parts for entry in _ENTRY.split(part.get(section, "")) if entry]


def _first_name(entry: str) -> str:
    return re.split(r"[ ,:]", entry, maxsplit=1)[0]


def _section(name: str, body: str) -> str:
    return f"\n\n{name}\n{'-' * len(name)}\n{body}" if body else ""
