"""The evidence as the price of the weights, against prices that are chosen by cross-validation.

    python benchmarks/evidence.py [REGIME ...] [--runs 3] [--without-sklearn]

Regression with the squared loss, on the tables of `_regimes.py`: `evidence` as it comes and with
the small bank, `corrected` and `normalized` with bank and `beta`, and `C`, chosen by
cross-validation in three parts, and scikit-learn's GaussianProcessRegressor with the kernels of
`evidence` and the same relation between tasks, whose weights its own optimiser finds. Errors are
shares of the squared error that task means leave; times are those of one thread of a processor.
"inside" is how many test targets lie where 90 % of them should by the standard deviations of
`evidence`, "above" by how much scikit-learn's minus log likelihood is above ours, both with a free
intercept. Sets other than the synthetic and the bundled ones are read from the data home,
KERNELHOOD_DATA; without it they are left out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _measure import print_table
from _regimes import REGIMES, Split, error, split
from scipy.special import ndtri
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel
from threadpoolctl import threadpool_limits

import kernelhood as kh
from kernelhood.paper.protocol import REGRESSION

NAMES = [name for name, (kind, _) in REGIMES.items() if kind == REGRESSION]
BANKS, BETAS = ["auto", "small"], [4.0**k for k in range(-7, 1)]
GRIDS: dict[str, dict[str, Any]] = {
    "corrected": {"kernels": BANKS, "beta": BETAS},
    "normalized": {"kernels": BANKS, "C": [0.25, 1.0, 4.0, 16.0], "beta": [1e-4, 1e-3, 1e-2]},
}
_INTERCEPT = 1e4
_LEAST = 1e-6


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a function returns, and the seconds of processor that it took."""
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = work()
    return found, time.process_time() - begun


def by_evidence(part: Split, kernels: str) -> Any:
    """Return the model that needs no search."""
    settings = {"loss": "squared", "formulation": "evidence", "relation": "mixed"}
    model = kh.MTONMKLRegressor(kernels=kernels, **settings)
    return model.fit(part.X[part.train], part.y[part.train], task=part.task[part.train])


def by_search(part: Split, formulation: str) -> Any:
    """Return the best model of a grid."""
    model = kh.MTONMKLRegressor(loss="squared", formulation=formulation, relation="mixed")
    search = kh.KernelSearchCV(model, GRIDS[formulation], cv=3)
    return search.fit(part.X[part.train], part.y[part.train], task=part.task[part.train])


def inside(model: Any, part: Split) -> float:
    """Return how many test targets are within the middle 90 % of their distributions."""
    X, task = part.X[part.test], part.task[part.test]
    mean, std = model.predict(X, task=task, return_std=True)
    return float(np.mean(np.abs(part.y[part.test] - mean) <= ndtri(0.95) * std))


class Related(Kernel):
    """Kernels of a bank between rows of a table, common to all tasks and within them.

    Parameters
    ----------
    bank : KernelBank
        The kernels.
    X, task : ndarray
        The rows, which are told by their numbers.
    logs : ndarray of shape (2 * n_kernels + 1,)
        Logarithms of the weights, and of the noise.
    """

    def __init__(self, bank: Any, X: Any, task: Any, logs: Any) -> None:
        self.bank, self.X, self.task, self.logs = bank, X, task, logs

    @property
    def hyperparameter_logs(self) -> Hyperparameter:
        """What is optimised."""
        bounds = np.tile([[_LEAST, 1e4]], (len(self.logs), 1))
        return Hyperparameter("logs", "numeric", bounds, len(self.logs))

    @property
    def theta(self) -> Any:
        """The logarithms."""
        return self.logs

    @theta.setter
    def theta(self, logs: Any) -> None:
        self.logs = logs

    def stack(self, one: Any, other: Any) -> Any:
        """Return the matrices of all weights between rows."""
        Ks = self.bank(self.X[one], self.X[other])
        return np.concatenate([Ks, Ks * (self.task[one][:, None] == self.task[other])])

    def __call__(self, one: Any, other: Any = None, eval_gradient: bool = False) -> Any:
        """Return the covariance between rows, and its slope in the logarithms."""
        rows = one[:, 0].astype(int)
        weights = np.exp(self.logs)
        if other is not None:
            Ks = self.stack(rows, other[:, 0].astype(int))
            return np.tensordot(weights[:-1], Ks, 1) + _INTERCEPT
        if "kept" not in vars(self):
            self.kept = self.stack(rows, rows)
        noise = weights[-1] * np.eye(len(rows))
        K = np.tensordot(weights[:-1], self.kept, 1) + noise + _INTERCEPT
        if not eval_gradient:
            return K
        slope = weights[:-1, None, None] * self.kept
        return K, np.moveaxis(np.concatenate([slope, noise[None]]), 0, -1)

    def clone_with_theta(self, theta: Any) -> Related:
        """Return the kernel with other logarithms, and the matrices that are there."""
        other = Related(self.bank, self.X, self.task, np.array(theta))
        if "kept" in vars(self):
            other.kept = self.kept
        return other

    def diag(self, one: Any) -> Any:
        """Return the variances at rows."""
        return np.array([self(row[None])[0, 0] for row in one])

    def is_stationary(self) -> bool:
        """Return that numbers of rows say nothing by their distance."""
        return False


def by_scikit_learn(part: Split, model: Any) -> Any:
    """Return scikit-learn's process with the bank that a model was fitted with."""
    bank = model._bank
    logs = np.full(2 * len(bank) + 1, np.log(1.0 / (2 * len(bank))))
    logs[-1] = 0.0
    kernel = Related(bank, part.X, part.task, logs)
    y = (part.y[part.train] - model.target_centre_[0]) / model.target_scale_[0]
    process = GaussianProcessRegressor(kernel, alpha=0.0)
    return process.fit(part.train[:, None].astype(float), y)


def scikit_error(process: Any, model: Any, part: Split) -> float:
    """Return the error of scikit-learn's process, as that of a model is computed."""
    predicted = np.concatenate(
        [process.predict(some[:, None].astype(float)) for some in np.array_split(part.test, 20)]
    )
    predicted = model.target_centre_[0] + model.target_scale_[0] * predicted
    test = part.test
    scored = model._scored(predicted, part.X[test], part.y[test], part.task[test], None)
    return 1.0 - float(model._total_score(scored))


def above(process: Any, model: Any, n: int) -> float:
    """Return by how much scikit-learn's minus log likelihood of the contrasts is above ours."""
    free = 0.5 * np.log(2.0 * np.pi * _INTERCEPT) + 0.5 * np.log(n)
    return -float(process.log_marginal_likelihood_value_ + free) - float(model.objective_)


def row(part: Split, with_sklearn: bool) -> list[float]:
    """Return errors, seconds, the share inside and the difference of likelihoods."""
    ours, seconds = timed(lambda: by_evidence(part, "auto"))
    small, less = timed(lambda: by_evidence(part, "small"))
    errors, taken = [error(ours, part), error(small, part)], [seconds, less]
    for formulation in GRIDS:
        found, seconds = timed(lambda f=formulation: by_search(part, f))
        errors.append(error(found, part))
        taken.append(seconds)
    higher = np.nan
    if with_sklearn:
        process, seconds = timed(lambda: by_scikit_learn(part, ours))
        errors.append(scikit_error(process, ours, part))
        taken.append(seconds)
        higher = above(process, ours, len(part.train))
    return [*errors, *taken, inside(ours, part), inside(small, part), higher]


def main() -> None:
    """Print a row for each table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("regimes", nargs="*", default=NAMES, metavar="REGIME")
    parser.add_argument("--runs", type=int, default=3, help="splits of each table")
    parser.add_argument("--without-sklearn", action="store_true", help="leave out its process")
    given = parser.parse_args()
    methods = ["evidence", "small", *GRIDS, *([] if given.without_sklearn else ["scikit-learn"])]
    rows = []
    by_evidence(split("tiny", 0), "small")  # what is compiled is not timed
    for name in given.regimes:
        try:
            parts = [split(name, seed) for seed in range(given.runs)]
        except (FileNotFoundError, OSError) as missing:
            print(f"{name}: left out, {missing}")
            continue
        with threadpool_limits(limits=1):
            means = np.mean([row(part, not given.without_sklearn) for part in parts], axis=0)
        errors, seconds = means[: len(methods)], means[len(methods) : -3]
        cells = [f"{one:.3f}" for one in errors] + [f"{one:.1f}" for one in seconds]
        rows.append([name, *cells, *(f"{one:.2f}" for one in means[-3:])])
        print(" ".join(rows[-1]), flush=True)
    seconds_of = [f"{name}, s" for name in methods]
    print_table("Errors", ["", *methods, *seconds_of, "inside", "small, inside", "above"], rows)


if __name__ == "__main__":
    main()
