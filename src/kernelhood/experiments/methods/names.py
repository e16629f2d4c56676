"""The names of the methods that can be compared, and what they stand for."""

from __future__ import annotations

from typing import Any

from kernelhood.estimators import BASELINES, METHODS
from kernelhood.formulations import FORMULATIONS

#: Methods that need groups of tasks.
GROUPED = ("mt-onmkl-groups",)

#: The method of the paper.
PROPOSED = "mt-onmkl"

#: The best model that validation finds among all variants of MT-ONMKL and more.
BEST = "mt-onmkl-best"

#: What one would use instead of this library.
RIVALS = ("boosting", "one-hot-svm")

#: Methods that have models in common.
SHARING = "mt-onmkl"

#: Methods that tell probabilities.
PROBABILISTIC = "mt-onmkl"

#: What the parts of a method's name after "mt-onmkl" stand for.
VARIANTS: dict[str, dict[str, Any]] = {
    "": {"formulation": next(iter(FORMULATIONS))},
    **{name: {"formulation": name} for name in list(FORMULATIONS)[1:]},
    "functions": {"sharing": "functions"},
    "mixed": {"relation": "mixed"},
    "groups": {"relation": "groups"},
    "inputs": {"relation": "inputs"},
}

#: Methods with a neighborhood matrix, whose alignment the paper's Figure 1 shows.
ALIGNED = (
    "rpkl",
    "onjkl",
    "kta",
    "mt-onmkl",
    *(f"mt-onmkl-{name}" for name in list(FORMULATIONS)[1:]),
)

LABELS = {
    "itl": "ITL",
    "avmtmkl": "AVMTMKL",
    "mt-mkl": "MT-MKL",
    "rpkl": "RPKL",
    "onjkl": "ONJKL",
    "kta": "KTA",
    "mt-onmkl": "MT-ONMKL",
    "mt-onmkl-corrected": "MT-ONMKL corrected",
    "mt-onmkl-printed": "MT-ONMKL printed",
    "mt-onmkl-functions": "MT-ONMKL functions",
    "mt-onmkl-mixed": "MT-ONMKL mixed",
    "mt-onmkl-groups": "MT-ONMKL groups",
    "mt-onmkl-inputs": "MT-ONMKL inputs",
    "mt-onmkl-best": "MT-ONMKL best",
    "pooled": "Pooled SVM",
    "boosting": "Gradient boosting",
    "one-hot-svm": "One-hot SVM",
}


def offered_methods() -> tuple[str, ...]:
    """Return the names of all methods, MT-ONMKL in each of its variants.

    Examples
    --------
    >>> [name for name in offered_methods() if name.startswith("mt-onmkl")][3:]
    ['mt-onmkl-functions', 'mt-onmkl-mixed', 'mt-onmkl-groups', 'mt-onmkl-inputs', 'mt-onmkl-best']
    """
    variants = [f"mt-onmkl-{name}" for name in VARIANTS if name]
    return (*METHODS, *variants, BEST, *BASELINES, *RIVALS)


def check_methods(methods: Any) -> tuple[str, ...]:
    """Return the methods asked for, all but the rivals for None, or raise for an unknown one."""
    if methods is None:
        return tuple(name for name in offered_methods() if name not in RIVALS)
    names = [methods] if isinstance(methods, str) else list(methods)
    if not names:
        raise ValueError("methods is empty; give at least one.")
    for name in names:
        if name not in offered_methods():
            offered = ", ".join(offered_methods())
            raise ValueError(f"methods={name!r} is unknown; give names among {offered}.")
    return tuple(dict.fromkeys(names))


def split_name(method: str) -> tuple[str, dict[str, Any]]:
    """Return the name in the registry of estimators, and the settings that make the variant."""
    if not method.startswith("mt-onmkl"):
        return method, {}
    return "mt-onmkl", VARIANTS[method.removeprefix("mt-onmkl").lstrip("-")]


def label(method: str) -> str:
    """Return the name of a method as papers print it."""
    return LABELS.get(method, method)
