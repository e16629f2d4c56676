"""Where the paper's iteration, taken literally, settles, and where it does not.

    python benchmarks/literal_iteration.py [--seed 0]

Three small tasks of classification and three of regression, y = sin(2 x1) + slope x2 + noise, and
on each 20 settings: C from 0.1 to 1000, eta from 8 to 1024 times beta. A cell says how the
iteration ended, after how many rounds, and how far its last weights are from the minimiser that
`formulation="printed"` finds: the largest relative distance of a task's kernel in Frobenius norm,
in the worse of the last two rounds.
"""

from __future__ import annotations

import argparse

import numpy as np
from _measure import print_table

import kernelhood as kh
from kernelhood.paper import literal_iteration

_CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
_RATIOS = (8.0, 16.0, 64.0, 1024.0)
_EPSILON, _ROUNDS, _SIZES = 0.1, 500, (14, 22, 9)


def distance(grams: list[np.ndarray], found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest relative distance of a task's kernel from the one that is wanted."""
    return max(
        np.sqrt(max((a - b) @ G @ (a - b), 0.0) / max(b @ G @ b, 1e-300))
        for G, a, b in zip(grams, found, wanted, strict=True)
    )


def make_tasks(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs, targets and tasks, of unequal sizes."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(len(_SIZES)), _SIZES)
    X = rng.normal(size=(len(task), 3))
    y = np.sin(2.0 * X[:, 0]) + (task - 1.0) * X[:, 1] + 0.3 * rng.normal(size=len(task))
    if kind == "classification":
        middle = np.array([np.median(y[task == t]) for t in range(len(_SIZES))])
        y = np.where(y > middle[task], 1, -1)
    return X, y, task


def table(kind: str, seed: int) -> tuple[list[list[str]], list[str]]:
    """Return a line for each C, and how every iteration ended."""
    X, y, task = make_tasks(kind, seed)
    bank, names = kh.default_bank(), range(len(_SIZES))
    stacks, targets = [bank(X[task == t]) for t in names], [y[task == t] for t in names]
    grams = [np.einsum("mij,lij->ml", Ks, Ks) for Ks in stacks]
    classifies = kind == "classification"
    made = kh.MTONMKLClassifier if classifies else kh.MTONMKLRegressor
    told = {} if classifies else {"epsilon": _EPSILON}
    lines, endings = [], []
    for C in _CS:
        line = [f"{C:g}"]
        for ratio in _RATIOS:
            found = literal_iteration(
                stacks, targets, C=C, eta=ratio, beta=1.0, max_iter=_ROUNDS, **told
            )
            settings = {"C": C, "eta": ratio, "beta": 1.0, "formulation": "printed", **told}
            model = made(kernels=bank, tol=1e-8, **settings).fit(X, y, task=task)
            wanted = [model.weights_[model.tasks_.index(name)] for name in names]
            away = [distance(grams, one, wanted) for one in found.weights[-2:]]
            endings.append(found.ending)
            line.append(f"{found.ending}, {len(found.weights) - 1} rounds, {max(away):.0e}")
        lines.append(line)
    return lines, endings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    endings = []
    for kind in ("classification", "regression"):
        lines, own = table(kind, given.seed)
        endings += own
        print_table(kind, ["C", *(f"eta = {ratio:g} beta" for ratio in _RATIOS)], lines)
    counts = {ending: endings.count(ending) for ending in dict.fromkeys(endings)}
    print(f"\n{len(endings)} settings: " + ", ".join(f"{n} {name}" for name, n in counts.items()))


if __name__ == "__main__":
    main()
