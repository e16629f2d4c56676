"""Forty small fits, recorded and compared: does a change of the code change a number?

    python tests/golden.py record FILE
    python tests/golden.py compare FILE

A record is of one machine. What is compared is objective, gap, weights, neighborhoods and
predictions, to a relative 1e-10.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

import kernelhood as kh

BANK = [kh.Linear(), kh.Gaussian(1.0), kh.Gaussian(3.0), kh.Polynomial(2)]
RNG = np.random.default_rng(0)
TASK = np.repeat(["a", "b", "c", "d"], [30, 20, 15, 10])
X = RNG.normal(size=(75, 3))
SLOPE = dict(zip("abcd", RNG.normal(size=4), strict=True))
Y = np.sin(2 * X[:, 0]) + np.array([SLOPE[t] for t in TASK]) * X[:, 1] + 0.1 * RNG.normal(size=75)
LABEL = np.where(Y > 0.0, "yes", "no")
THREE = np.digitize(Y, [-0.5, 0.5])
WIDE = np.column_stack([Y, Y**2])
NEW = np.where(np.arange(75) % 7 == 0, "e", TASK)
GROUPS = kh.TaskGroups({"a": 0, "b": 0, "c": 1, "d": 1})

PEERS = ("ITL", "AVMTMKL", "MTMKL", "RPKL", "ONJKL", "KTA", "Pooled")


def mt(kind: str, y: Any = None, **settings: Any) -> Any:
    """Return MT-ONMKL and its targets; `kernels` are those of the bank unless others are named."""
    settings = {"kernels": BANK, "C": 3.0, **settings}
    model = getattr(kh, f"MTONMKL{kind}")(**settings)
    return model, (Y if kind == "Regressor" else LABEL) if y is None else y


def cases() -> dict[str, Any]:
    """Return models and targets by name."""
    found: dict[str, Any] = {}
    for name in PEERS:
        for kind, y in (("Classifier", LABEL), ("Regressor", Y)):
            settings = {} if name == "RPKL" else {"kernels": BANK}
            found[f"{name} {kind}"] = getattr(kh, name + kind)(C=3.0, **settings), y
    found["ITL p"] = kh.ITLRegressor(kernels=BANK, p=1.5), Y
    found["KTA centered"] = kh.KTAClassifier(kernels=BANK, centered=True), LABEL
    for formulation in ("normalized", "corrected", "printed"):
        beta = {"normalized": 0.01, "corrected": 0.1, "printed": 0.5}[formulation]
        own = {"formulation": formulation, "beta": beta}
        for kind in ("Classifier", "Regressor"):
            for relation in ("independent", "functions", "mixed"):
                found[f"{formulation} {kind} {relation}"] = mt(kind, relation=relation, **own)
    squared = {"loss": "squared", "formulation": "corrected", "beta": 0.05}
    found["squared mixed"] = mt("Regressor", relation="mixed", **squared)
    found["squared alone"] = mt("Regressor", relation="independent", **squared)
    found.update(more_cases())
    return found


def more_cases() -> dict[str, Any]:
    """Return the less usual ones."""
    priced = {"formulation": "corrected", "beta": 0.1}
    found = {
        "groups": mt("Regressor", relation=GROUPS, **priced),
        "inputs": mt("Classifier", relation="inputs", **priced),
        "several": mt("Regressor", relation=["mixed", GROUPS], **priced),
        "auto": mt("Regressor", kernels="auto"),
        "auto, classes": mt("Classifier", kernels="auto"),
        "small": mt("Regressor", kernels="small", **priced),
        "three": mt("Classifier", y=THREE, relation="independent", **priced),
        "three, mixed": mt("Classifier", y=THREE, relation="mixed", **priced),
        "wide": mt("Regressor", y=WIDE, **priced),
        "neighborhood": mt("Regressor", neighborhood=kh.Gaussian(2.0), eta=0.5),
        "radius": mt("Classifier", neighborhood="rbf", radius=2500.0),
        "balanced": mt("Classifier", class_weight="balanced", **priced),
        "common": mt("Regressor", relation="mixed", intercept="common", **priced),
        "standardized": mt("Regressor", standardize_targets=True, **priced),
    }
    for name, settings in changing().items():
        found[name] = mt("Regressor", **{**priced, **settings})
    return found


def changing() -> dict[str, dict[str, Any]]:
    """Return the cases whose parameters have changed their names since the first record."""
    functions = kh.relations.SharedFunctions(specific_cost=3.0)
    return {
        "functions, cost": {"relation": functions},
        "mixed, cost": {"relation": kh.relations.Mixed(specific_cost=2.0)},
        "quantile": {"loss": kh.losses.Quantile(0.8), "relation": "mixed"},
        "on demand": {"relation": "mixed", "operator": kh.Dense(cache_size=0.01)},
        "single": {"relation": "mixed", "operator": kh.Dense(dtype="float32"), "tol": 1e-2},
        "low rank": {"relation": "mixed", "operator": kh.Landmarks(12)},
        "low rank alone": {"operator": kh.Landmarks(12)},
        "own landmarks": {"relation": "functions", "operator": kh.Landmarks(points=X[:9])},
    }


def numbers_of(model: Any, y: Any) -> dict[str, Any]:
    """Return what is recorded of a fitted model."""
    task = None if np.ndim(y) == 2 else TASK
    found = {
        name: np.asarray(getattr(model, name))
        for name in ("objective_", "dual_gap_", "weights_", "shared_weights_", "n_iter_")
    }
    if hasattr(model, "neighborhood_weights_"):
        found["neighborhood_weights_"] = model.neighborhood_weights_
        found["alignment"] = model.alignment()
    answer = getattr(model, "decision_function", model.predict)
    found["predicted"] = np.asarray(answer(X, task=task))
    found["score"] = np.asarray(model.score(X, y, task=task))
    relation = getattr(model, "relation_", None)
    if relation is not None and relation.common and task is not None:
        found["newcomers"] = np.asarray(answer(X, task=NEW))
        found["similar"] = model.task_similarity()
        found["common"] = model.shared_function(X)
        if model.get_params()["kernels"] is BANK:
            model.adapt(X[:9] + 0.1, y[:9], task="e")
            found["adapted"] = np.asarray(answer(X, task=NEW))
    return found


def searches() -> dict[str, Any]:
    """Return searches and their targets."""
    grid = {"C": [0.5, 2.0], "beta": [0.01, 0.1]}
    both = {**grid, "formulation": ["normalized", "corrected"]}
    alone = {"kernels": BANK, "relation": "independent"}
    return {
        "search": (kh.MTONMKLClassifier(**alone), both, LABEL),
        "search, mixed": (kh.MTONMKLRegressor(kernels=BANK, relation="mixed"), both, Y),
        "search, auto": (kh.MTONMKLRegressor(kernels="small", formulation="corrected"), grid, Y),
        "search, ITL": (kh.ITLRegressor(kernels=BANK), {"C": [0.5, 2.0], "p": [1.0, 2.0]}, Y),
        "search, KTA": (kh.KTAClassifier(kernels=BANK), {"C": [1.0], "eta": [1.0, 64.0]}, LABEL),
    }


def found() -> dict[str, Any]:
    """Return all numbers by case and name."""
    numbers: dict[str, Any] = {}
    for name, (model, y) in cases().items():
        model.fit(X, y, task=None if np.ndim(y) == 2 else TASK)
        numbers.update({f"{name}: {what}": v for what, v in numbers_of(model, y).items()})
    for name, (model, grid, y) in searches().items():
        search = kh.KernelSearchCV(model, grid, cv=3).fit(X, y, task=TASK)
        scores = search.cv_results_["mean_test_score"]
        best = search.best_estimator_
        parts = {"scores": scores, "gaps": search.cv_results_["max_gap"], "best": best.weights_}
        numbers.update({f"{name}: {what}": v for what, v in parts.items()})
    return numbers


def differences(old: Any, new: dict[str, Any]) -> list[str]:
    """Return what is not the same as it was."""
    listed = [f"{name}: only in one" for name in sorted(set(old) ^ set(new))]
    for name in sorted(set(old) & set(new)):
        one, other = old[name], np.asarray(new[name])
        if one.shape != other.shape:
            listed.append(f"{name}: {one.shape}, {other.shape}")
            continue
        size = np.nanmax(np.abs(np.where(np.isfinite(one), one, 0.0)), initial=1e-300)
        if not np.allclose(one, other, rtol=1e-10, atol=1e-10 * size, equal_nan=True):
            listed.append(f"{name}: by {np.nanmax(np.abs(one - other)) / size:.1e}")
    return listed


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "record":
        np.savez(sys.argv[2], **found())
    else:
        wrong = differences(np.load(sys.argv[2]), found())
        print(*wrong, f"{len(wrong)} differences", sep="\n")
        sys.exit(bool(wrong))
