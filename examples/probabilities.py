"""Tell probabilities, and draw how far they can be believed.

Run ``python examples/probabilities.py --out demo``. Twenty synthetic clinics of 8 to 60 patients
each have the same disease at different rates; the true probability of every patient is known. Three
models see the same patients: MT-ONMKL with ``probability=True``,
scikit-learn's calibrated SVM on the patients of all clinics, and one of these for each clinic, all
with the same C. Prints log loss, expected
calibration error and the mean distance from the true probabilities on new patients, and draws a
reliability diagram.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

import kernelhood as kh

SIZES = np.repeat([8, 12, 20, 40, 60], 4)
C = 3.0


def draw(sizes: np.ndarray, shifts: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """Return patients, whether they are ill, their clinics and the true probabilities."""
    rng = np.random.default_rng(seed)
    clinic = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(clinic), 3))
    p = expit(2.0 * np.sin(2.0 * X[:, 0]) + 1.5 * X[:, 1] + shifts[clinic])
    ill = (rng.random(len(clinic)) < p).astype(int)
    return X, ill, clinic, p


def calibrated_svm(X: np.ndarray, y: np.ndarray) -> Any:
    """Return what scikit-learn's machine tells, a sigmoid for each of five folds or fewer."""
    folds = int(min(5, np.bincount(y, minlength=2).min()))
    if folds < 2:
        rate = (y.sum() + 1.0) / (len(y) + 2.0)
        return lambda at: np.full(len(at), rate)
    model = CalibratedClassifierCV(SVC(C=C), cv=folds).fit(X, y)
    return lambda at: model.predict_proba(at)[:, 1]


def expected_error(y: np.ndarray, p: np.ndarray, n_bins: int = 15) -> float:
    """Return the mean distance of probability and frequency in bins of equally many rows."""
    bins = np.array_split(np.argsort(p, kind="stable"), n_bins)
    return float(sum(len(b) * abs(p[b].mean() - y[b].mean()) for b in bins) / len(p))


def draw_diagram(told: dict[str, np.ndarray], y: np.ndarray, path: Path) -> None:
    """Draw frequency against probability, and how often each probability is told."""
    import matplotlib.pyplot as plt
    from sklearn.calibration import CalibrationDisplay

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.0), layout="constrained")
    for name, p in told.items():
        CalibrationDisplay.from_predictions(y, p, n_bins=10, name=name, ax=left, ms=4)
        right.hist(p, bins=np.linspace(0.0, 1.0, 21), histtype="step", lw=1.5, label=name)
    left.set(xlabel="probability told", ylabel="share of ill patients")
    left.legend(loc="upper left", fontsize=8)
    right.set(xlabel="probability told", ylabel="new patients")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the models; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the picture")
    parser.add_argument("--seed", type=int, default=0, help="of the patients")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", UserWarning)

    shifts = 2.0 * np.random.default_rng(given.seed).normal(size=len(SIZES))
    X, y, clinic, _ = draw(SIZES, shifts, given.seed + 1)
    new, ill, where, truth = draw(np.full(len(SIZES), 200), shifts, given.seed + 2)

    model = kh.MTONMKLClassifier(C=C, relation="mixed", specific_cost=4.0, probability=True)
    model.fit(X, y, task=clinic)
    pooled = calibrated_svm(X, y)
    own = np.empty(len(new))
    for number in range(len(SIZES)):
        alone = calibrated_svm(X[clinic == number], y[clinic == number])
        own[where == number] = alone(new[where == number])
    told = {
        "MT-ONMKL": model.predict_proba(new, task=where)[:, 1],
        "pooled SVM": pooled(new),
        "SVM per clinic": own,
    }
    print(f"{'':>16}  log loss  calibration error  distance from the truth")
    for name, p in {**told, "the truth": truth}.items():
        loss = -np.mean(np.log(np.where(ill == 1, p, 1.0 - p)))
        error, apart = expected_error(ill, p), np.mean(np.abs(p - truth))
        print(f"{name:>16}  {loss:8.3f}  {error:17.3f}  {apart:23.3f}")
    found = model.calibration_.sigmoid
    print(f"slope {found.slope:.2f}, spread of the clinics' shifts {found.spread:.2f}")
    path = given.out / "probabilities.png"
    draw_diagram(told, ill, path)
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
