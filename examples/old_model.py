"""Pass on what an earlier model learned to a new task of ten samples, without the earlier data.

Run ``python examples/old_model.py``. Six old tasks of 60 samples have functions of their own, but
all of them depend on the same two of twelve columns. A model with one Gaussian on every column
learns which two these are. Then a seventh task arrives with ten samples, too few to tell. With
``neighborhood=old_model`` its kernel stays near those of the old tasks; eta says how near.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import kernelhood as kh

N_COLUMNS = 12
N_OLD_TASKS, N_OLD, N_NEW, N_TEST = 6, 60, 10, 400
BANK = kh.KernelBank([kh.Gaussian(1.0, columns=[column]) for column in range(N_COLUMNS)])
CS = [1.0, 10.0]


def draw_task(
    rng: np.random.Generator, columns: Sequence[int], n_samples: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of a new function of the columns, with variance one and some noise."""
    X = rng.normal(size=(n_samples, N_COLUMNS))
    waves = [np.sin(rng.uniform(0.8, 1.6) * X[:, c] + rng.uniform(0.0, 6.3)) for c in columns]
    values = sum((wave - wave.mean()) / wave.std() for wave in waves) / np.sqrt(len(columns))
    return X, values + 0.2 * rng.normal(size=n_samples)


def fit_old_model(rng: np.random.Generator, columns: Sequence[int]) -> kh.MTONMKLRegressor:
    """Return a model of the old tasks; their samples are not needed again."""
    parts = [draw_task(rng, columns, N_OLD) for _ in range(N_OLD_TASKS)]
    X, y = np.vstack([one for one, _ in parts]), np.concatenate([one for _, one in parts])
    task = np.repeat([f"old {number}" for number in range(N_OLD_TASKS)], N_OLD)
    return kh.MTONMKLRegressor(kernels=BANK, formulation="corrected", beta=0.01).fit(
        X, y, task=task
    )


def contestants(old_model: kh.MTONMKLRegressor) -> dict[str, tuple[object, dict[str, list[float]]]]:
    """Return the estimators to compare, with the parameters to choose from."""
    near = kh.MTONMKLRegressor(kernels=BANK, neighborhood=old_model)
    alone = kh.MTONMKLRegressor(kernels=BANK)
    return {
        "averaged kernel": (kh.AVMTMKLRegressor(kernels=BANK), {"C": CS}),
        "on its own": (alone, {"C": CS, "beta": [1e-3, 0.03, 1.0]}),
        "near the old model": (near, {"C": CS, "eta": [0.01, 0.3, 10.0]}),
    }


def scores_of(seed: int) -> dict[str, float]:
    """Return R^2 on test samples of a new task, parameters chosen on its ten samples alone."""
    rng = np.random.default_rng(seed)
    columns = rng.choice(N_COLUMNS, 2, replace=False)
    old_model = fit_old_model(rng, columns)
    X, y = draw_task(rng, columns, N_NEW + N_TEST)
    scores = {}
    for name, (estimator, grid) in contestants(old_model).items():
        search = kh.KernelSearchCV(estimator, grid, cv=5).fit(X[:N_NEW], y[:N_NEW])
        scores[name] = search.score(X[N_NEW:], y[N_NEW:])
    return scores


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the models on new tasks; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20, help="new tasks to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the first of them")
    given = parser.parse_args(arguments)
    found = [scores_of(given.seed + number) for number in range(given.repetitions)]
    print(f"R^2 on a new task of {N_NEW} samples, mean over {len(found)} tasks")
    table = {name: np.array([scores[name] for scores in found]) for name in found[0]}
    for name, values in table.items():
        print(f"{name:>20}  {values.mean():.2f} +- {_standard_error(values):.2f}")
    gain = table["near the old model"] - table["on its own"]
    print(f"gain over its own: {gain.mean():.2f} +- {_standard_error(gain):.2f}")
    return 0


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


if __name__ == "__main__":
    raise SystemExit(main())
