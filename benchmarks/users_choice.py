"""The estimators that need no parameter against what one would use instead.

    python benchmarks/users_choice.py [SET ...] [--splits 10] [--only NAME ...] [--csv FILE]

On every split a fifth of the rows of each task trains, and all others test. Compared are
KernelhoodClassifier and KernelhoodRegressor ("ours"), and MTONMKLClassifier and MTONMKLRegressor as
they come; one SVM a task and one SVM with one-hot tasks, tuned over 25 pairs of C and gamma in 5
folds of at most 3,000 rows; ridge or logistic regression with one-hot tasks, tuned; gradient
boosting with the task as a category, tuned over 12 settings in 3 folds; a random forest of 300
trees with one-hot tasks.
Scores are the accuracy averaged over tasks, and in regression 1 - error / spread, where the spread
is that of the targets around the means of their tasks' training rows. Times are seconds of
processor time, in one process and one thread, after everything has been compiled.

`--only "ours, occasions"` tells KernelhoodRegressor which rows of several tasks are of one hour or
one object; no object is on both sides of a split.

Sets other than digits and those that are made are read from the data home, KERNELHOOD_DATA. With
--csv every score is added to a file, and what it holds already is not computed again.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from _measure import print_table
from _rivals import MORE, RIVALS
from _tables import MADE, NAMES, Table, table
from threadpoolctl import threadpool_limits

from kernelhood.paper.protocol import CLASSIFICATION

FIELDS = ("set", "split", "method", "score", "seconds")
Results = dict[tuple[str, int, str], tuple[float, float]]


def score(data: Table, predicted: np.ndarray) -> float:
    """Return the accuracy averaged over tasks, or the share of the error of task means saved."""
    names = np.unique(data.task_test)
    if data.kind == CLASSIFICATION:
        right = predicted == data.y_test
        return float(np.mean([right[data.task_test == name].mean() for name in names]))
    error = spread = 0.0
    for name in names:
        rows = data.task_test == name
        error += float(np.sum((data.y_test - predicted)[rows] ** 2))
        spread += float(np.sum((data.y_test[rows] - data.y[data.task == name].mean()) ** 2))
    return 1.0 - error / spread


def measured(data: Table, method: str) -> tuple[float, float]:
    """Return the test score of a method, and the seconds that its fit took."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.process_time()
        predict = {**RIVALS, **MORE}[method](data)
        seconds = time.process_time() - begun
        return score(data, predict(data.X_test, data.task_test)), seconds


def read(file: Path | None) -> Results:
    """Return what a file of results holds."""
    if file is None or not file.exists():
        return {}
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {
        (row["set"], int(row["split"]), row["method"]): (float(row["score"]), float(row["seconds"]))
        for row in rows
    }


def write(file: Path | None, *row: object) -> None:
    """Add a line to a file of results."""
    if file is None:
        return
    new = not file.exists()
    with file.open("a", newline="") as lines:
        writer = csv.writer(lines)
        if new:
            writer.writerow(FIELDS)
        writer.writerow(row)


def compared(name: str, methods: list[str], splits: int, found: Results) -> list[list[str]]:
    """Return the rows of a set: every method's score, place and time."""
    scores = {m: np.array([found[name, run, m][0] for run in range(splits)]) for m in methods}
    seconds = {m: np.mean([found[name, run, m][1] for run in range(splits)]) for m in methods}
    best = max(methods, key=lambda method: scores[method].mean())
    rows = []
    for method in methods:
        behind = scores[best] - scores[method]
        errors = [values.std(ddof=1) / np.sqrt(splits) if splits > 1 else np.nan
                  for values in (scores[method], behind)]  # fmt: skip
        verdict = "best" if method == best else f"-{behind.mean():.4f} +- {errors[1]:.4f}"
        if method != best and behind.mean() <= errors[1]:
            verdict += ", within one"
        ratio = seconds[method] / seconds["pooled SVM"] if "pooled SVM" in seconds else np.nan
        shown = f"{scores[method].mean():.4f} +- {errors[0]:.4f}"
        rows.append([name, method, shown, verdict, f"{seconds[method]:.2f}", f"{ratio:.2f}"])
    return rows


def in_short(names: list[str], methods: list[str], splits: int, found: Results) -> list[list[str]]:
    """Return a row for each set: mean scores, how far ours is behind the best, and its time."""
    rows = []
    for name in names:
        table_rows = {row[1]: row for row in compared(name, methods, splits, found)}
        scores = [table_rows[method][2].split()[0] for method in methods]
        ours = table_rows[methods[0]]
        rows.append([name, *scores, ours[3], ours[5]])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=NAMES, metavar="SET", help=", ".join(NAMES))
    parser.add_argument("--splits", type=int, default=10, help="splits of each set")
    parser.add_argument("--only", nargs="+", default=list(RIVALS), choices=[*RIVALS, *MORE])
    parser.add_argument("--most", type=int, help="largest number of training rows")
    parser.add_argument("--csv", type=Path, help="file of all scores, read first")
    given = parser.parse_args()
    unknown = [name for name in given.sets if name not in NAMES]
    if unknown:
        parser.error(f"unknown set {unknown[0]!r}; there are {', '.join(NAMES)}")
    found = read(given.csv)
    for kind in ("related", "grouped"):  # what is compiled is not timed
        measured(table(kind, 0, 120), "ours")
    head = ["set", "method", "score", "behind the best", "seconds", "pooled SVMs"]
    for name in given.sets:
        for run in range(given.splits):
            data = None
            for method in given.only:
                if (name, run, method) in found:
                    continue
                data = data or table(name, run, given.most)
                found[name, run, method] = measured(data, method)
                write(given.csv, name, run, method, *found[name, run, method])
        kind = "made" if name in MADE else "read"
        title = f"{name} ({kind}), {given.splits} splits"
        print_table(title, head, compared(name, given.only, given.splits, found))
    title = f"All sets: {given.only[0]} behind the best of the row, and its time in pooled SVMs"
    head = ["set", *given.only, "behind", "time"]
    print_table(title, head, in_short(given.sets, given.only, given.splits, found))


if __name__ == "__main__":
    main()
