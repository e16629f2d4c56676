"""One docstring per estimator, put together from those of its parts.

Every parameter and attribute is described once, by the class that declares it; an estimator's own
docstring has its summary and examples.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, TypeVar

Estimator = TypeVar("Estimator", bound=type[Any])

_HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"\n(?=\S)")


def documented(cls: Estimator) -> Estimator:
    """Gather the sections of a class and of its parts, its method among them, into its docstring.

    Parameters come in the order of the constructor, attributes in that of the parts, base first;
    notes and examples are those of the nearest class that has any.
    """
    parts = [_sections(vars(part).get("__doc__")) for part in cls.parts() if _is_ours(part)]
    order = list(inspect.signature(cls.__init__).parameters)
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
