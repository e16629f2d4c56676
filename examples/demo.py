"""Show in under a minute where learned kernels pay, and where they do not.

Run ``python examples/demo.py --out demo`` (or ``make demo``). The data come with scikit-learn, so
nothing is downloaded.

*Cameras.* Six cameras tell 3 and 5 from 8 and 9, with 30 training images each. Half of every
picture is useless, another half for each camera: there are parts of other images in it, which is
our doing. The models are not told which half. The bank holds one kernel for each quarter.

*Diabetes.* Scikit-learn's data as they are, split into eight tasks by age and sex. The tasks are
nearly one linear problem, and a ridge regression with the task as a category is hard to beat.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, SVR

import kernelhood as kh
from kernelhood.inspection.figures import plot_weights
from kernelhood.paper.report import write_report

PIXELS = np.arange(64).reshape(8, 8)
QUARTERS = {
    "top left": PIXELS[:4, :4].ravel().tolist(),
    "top right": PIXELS[:4, 4:].ravel().tolist(),
    "bottom left": PIXELS[4:, :4].ravel().tolist(),
    "bottom right": PIXELS[4:, 4:].ravel().tolist(),
}
# The quarters that each camera sees.
SEEN = {
    "bottom": (2, 3),
    "top": (0, 1),
    "right": (1, 3),
    "left": (0, 2),
    "top right, bottom left": (1, 2),
    "top left, bottom right": (0, 3),
}
GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1, 1.0]}
LINEAR = {"C": [0.01, 0.1, 1.0, 10.0]}
BETAS = {"beta": [4.0**k for k in range(-5, 2)]}
OURS = "kernelhood"


class Tasks(NamedTuple):
    """Rows of several tasks, and which of them train."""

    X: Any
    y: Any
    task: Any
    train: Any


def cameras(seed: int) -> Tasks:
    """Return images of four digits, of which every camera sees another half."""
    X, digit = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.flatnonzero(np.isin(digit, [3, 5, 8, 9])))
    X, digit = X[order] / 16.0, digit[order]
    number = np.arange(len(X)) % len(SEEN)
    train = np.arange(len(X)) < 30 * len(SEEN)
    parts = list(QUARTERS.values())
    for camera, seen in enumerate(SEEN.values()):
        rows = np.flatnonzero(number == camera)
        for quarter in set(range(4)) - set(seen):
            X[np.ix_(rows, parts[quarter])] = X[np.ix_(rng.permutation(rows), parts[quarter])]
    names = np.array(list(SEEN))[number]
    return Tasks(X, np.isin(digit, [3, 5]).astype(int), names, train)


def diabetes(seed: int) -> Tasks:
    """Return scikit-learn's diabetes data, split into tasks by age and sex."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    age = np.array(["to 37", "to 47", "to 56", "above"])[np.digitize(X[:, 0], [38, 48, 57])]
    sex = np.where(X[:, 1] > 1.5, "2", "1")
    task = np.char.add(np.char.add(sex, ", "), age)
    order = np.random.default_rng(seed).permutation(len(X))
    train = np.zeros(len(X), dtype=bool)
    for name in np.unique(task):
        rows = order[task[order] == name]
        train[rows[: len(rows) // 3]] = True
    columns = StandardScaler().fit_transform(np.delete(X, 1, axis=1))
    return Tasks(columns, scale(y), task, train)


def alternatives(classes: bool) -> dict[str, Callable[[], Any]]:
    """Return what one would try otherwise."""
    if classes:
        return {
            "SVM, grid search": lambda: GridSearchCV(SVC(), GRID, cv=3),
            "logistic": lambda: GridSearchCV(LogisticRegression(max_iter=2000), LINEAR, cv=3),
            "forest": lambda: RandomForestClassifier(100, random_state=0),
        }
    return {
        "SVM, grid search": lambda: GridSearchCV(SVR(), GRID, cv=3),
        "ridge": lambda: RidgeCV(np.logspace(-2, 3, 12)),
        "forest": lambda: RandomForestRegressor(100, random_state=0),
    }


def guesses(data: Tasks, classes: bool) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name of every model, its predictions at the test rows, and the model."""
    X, y, task, train = data
    names = np.unique(task)
    with_task = np.hstack([X, task[:, None] == names])
    for name, make in alternatives(classes).items():
        model = make().fit(with_task[train], y[train])
        yield f"{name}, task as category", model.predict(with_task[~train]), model
        apart = np.empty(np.sum(~train), dtype=y.dtype)
        for one in names:
            here = task == one
            model = make().fit(X[train & here], y[train & here])
            apart[here[~train]] = model.predict(X[~train & here])
        yield f"{name}, each task", apart, model
    if classes:
        bank = [kh.Gaussian(2.0), *(kh.Gaussian(1.0, columns=part) for part in QUARTERS.values())]
        model, choice = kh.MTONMKLClassifier(kernels=bank, formulation="corrected"), BETAS
    else:
        bank = [kh.Linear(), kh.Gaussian(3.0)]
        model = kh.MTONMKLRegressor(kernels=bank, formulation="corrected", relation="mixed")
        costs = [kh.relations.Mixed(specific_cost=cost) for cost in (1.0, 4.0)]
        choice = {**BETAS, "relation": costs}
    search = kh.KernelSearchCV(model, choice, cv=4)
    search.fit(X[train], y[train], task=task[train])
    yield OURS, search.predict(X[~train], task=task[~train]), search.best_estimator_


def compare(make: Callable[[int], Tasks], classes: bool, runs: int) -> tuple[Any, Any]:
    """Return a frame with the scores of all models and runs, and our model of the first run."""
    rows, ours = [], None
    for run in range(runs):
        data = make(run)
        truth, task = data.y[~data.train], data.task[~data.train]
        for name, guess, model in guesses(data, classes):
            ours = model if name == OURS and ours is None else ours
            right = (guess == truth) if classes else (guess - truth) ** 2
            by_task = {str(one): float(np.mean(right[task == one])) for one in np.unique(task)}
            metric = "accuracy" if classes else "mse"
            score = float(np.mean(list(by_task.values())))
            rows.append((make.__name__, name, run, metric, score, pd.Series(by_task).to_json()))
    columns = ["dataset", "method", "run", "metric", "score", "task_scores"]
    return pd.DataFrame(rows, columns=columns), ours


def draw(results: list[Any], model: Any) -> Figure:
    """Return the picture of the comparison and of what was learned."""
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(1.1, 1.0))
    titles = (
        "Cameras: accuracy",
        "Diabetes: mean squared error",
    )
    for ax, frame, title in zip(top.subplots(1, 2), results, titles, strict=True):
        found = frame.groupby("method", sort=False)["score"].agg(["mean", "sem"])
        found = found.sort_values("mean", ascending=frame["metric"].iloc[0] == "mse")
        for place, (name, line) in enumerate(found.iterrows()):
            colour = "#12508f" if name == OURS else "#6b7480"
            look = {"fmt": "o", "ms": 7, "lw": 2, "capsize": 3, "color": colour}
            ax.errorbar(line["mean"], place, xerr=2.0 * line["sem"], **look)
        ax.set_yticks(range(len(found)), found.index)
        ax.set_ylim(len(found) - 0.5, -0.5)
        ax.set_title(title, loc="left", fontsize=11)
        ax.grid(axis="x", alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    ax = bottom.subplots()
    plot_weights(model.weights_, model.tasks_, ["whole image", *QUARTERS], ax=ax)
    ax.set_ylabel("the camera sees", fontsize=9)
    ax.set_title("Cameras: kernel weights of the first split", loc="left", fontsize=11)
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, draw, write; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the files")
    parser.add_argument("--runs", type=int, default=4, help="random splits of each data set")
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    results, models = [], []
    for make, classes in ((cameras, True), (diabetes, False)):
        frame, model = compare(make, classes, given.runs)
        results.append(frame)
        models.append(model)
        print(f"{make.__name__}: {'accuracy' if classes else 'mean squared error'}")
        found = frame.groupby("method")["score"].agg(["mean", "sem"])
        for name, line in found.sort_values("mean", ascending=not classes).iterrows():
            print(f"  {name:<36} {line['mean']:.3f} +- {line['sem']:.3f}")
    written = write_report(results[0], given.out, command="python examples/demo.py")
    picture = given.out / "demo.png"
    draw(results, models[0]).savefig(picture, dpi=110)
    print(f"wrote {picture}\nwrote {written[0]}\n{time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
