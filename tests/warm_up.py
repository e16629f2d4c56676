"""Compile what most tests use, in one process: `make test` runs it beside the linters.

Otherwise both test processes would compile the same functions at the same time.
"""

import warnings

import numpy as np

import kernelhood as kh


def main() -> None:
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
    y = X[:, 0] + rng.normal(size=60)
    labels = np.where(y > 0.0, 1, -1)
    together = {"relation": "mixed", "formulation": "corrected"}
    for settings in (
        {},
        together,
        {**together, "operator": kh.Dense(cache_size=0.0)},
        {**together, "operator": kh.Landmarks(20)},
        {"operator": kh.Landmarks(10)},
        {"kernels": "paper", "formulation": "printed"},
    ):
        kh.MTONMKLClassifier(**settings).fit(X, labels, task=task).predict(X, task=task)
        kh.MTONMKLRegressor(**settings).fit(X, y, task=task).predict(X, task=task)
    for estimator in (kh.MTONMKLRegressor(loss="squared", **together), kh.KTARegressor()):
        estimator.fit(X, y, task=task)
    for estimator in (kh.ITLClassifier(), kh.MTMKLClassifier(), kh.RPKLClassifier()):
        estimator.fit(X, labels, task=task)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
