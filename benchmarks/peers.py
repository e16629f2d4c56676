"""Other libraries for multiple kernel learning, against one scikit-learn SVC in the same run.

They are heavy (MKLpy brings torch) and old, so they are an extra of their own,
`pip install -e '.[peers]'`, and one that does not import or run is skipped with a word.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from _measure import median_times, print_table
from _problems import bank_stack, classification
from sklearn.svm import SVC

Fit = Callable[[], object]


def mklpy(name: str, Ks: np.ndarray, y: np.ndarray, **options: float) -> Fit:
    """Return the fit of one of MKLpy's algorithms with its own defaults."""
    import torch
    from MKLpy import algorithms

    torch.set_num_threads(1)
    # With arrays some of its algorithms convert again and again, and PWMK fails.
    stack, labels = [torch.tensor(K) for K in Ks], torch.tensor(y)
    return lambda: getattr(algorithms, name)(**options).fit(stack, labels)


def himalaya(Ks: np.ndarray, y: np.ndarray) -> Fit:
    """Return the fit of himalaya's kernel ridge regression by its hyper-gradient solver."""
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    options = {"kernels": "precomputed", "solver": "hyper_gradient"}
    quiet = {"progress_bar": False}
    return lambda: MultipleKernelRidgeCV(**options, solver_params=quiet).fit(Ks, y)


# Name, what makes the fit, repeats: GRAM takes a thousand eigenproblems, one repeat will do.
PEERS: list[tuple[str, Callable[[np.ndarray, np.ndarray], Fit], int]] = [
    ("MKLpy EasyMKL", lambda Ks, y: mklpy("EasyMKL", Ks, y, lam=0.1), 7),
    ("MKLpy PWMK", lambda Ks, y: mklpy("PWMK", Ks, y), 7),
    ("MKLpy GRAM", lambda Ks, y: mklpy("GRAM", Ks, y), 1),
    ("himalaya hyper-gradient", himalaya, 3),
]


def peer_fits(n: int = 400) -> None:
    """Print what each peer costs on ten kernels, their matrices given."""
    X, y = classification("make", n)
    Ks = bank_stack(X)
    K, one = Ks.mean(axis=0), SVC(kernel="precomputed")
    rows = []
    for name, make, repeats in PEERS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit = make(Ks, y)
                ours, theirs = median_times(fit, lambda: one.fit(K, y), repeats=repeats)
        except Exception as error:  # Whatever breaks in a peer must not end the run.
            print(f"\n{name} skipped: {type(error).__name__}: {error}")
            continue
        rows.append([name, ours / theirs])
    print_table(f"Peers / one SVC at C = 1, n = {n}", ["peer", "ratio"], rows)
