"""Load by zone and hour: the full history, split by time, beside boosting.

    python benchmarks/load_history.py [--hours 1000] [--tuned]

Models are fitted to hours of the first half of the history, drawn at random, in 20 zones, and
tested on hours of the second half. Ours knows the hour as the occasion: zones share what no column
explains. LightGBM has the zone as a category and 500 trees; with --tuned, gradient boosting whose
settings are chosen on the last fifth of the first half is compared, too. Errors are 1,000 times the
mean squared error, in variances of a zone. Needs KERNELHOOD_DATA, and LightGBM if it is to be
compared.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from _measure import print_table
from sklearn.ensemble import HistGradientBoostingRegressor

import kernelhood as kh
from kernelhood.datasets import load_load

#: The year is left out: no value of the test period occurs in training.
CALENDAR = ("month", "weekday", "holiday", "hour")
N_LAGS, TEST_STEP = 8, 47
BOOSTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"max_iter": 300, "learning_rate": 0.05},
    {"max_iter": 300},
    {"max_iter": 1000, "learning_rate": 0.05},
    {"max_iter": 300, "max_leaf_nodes": 8},
)


class Rows(NamedTuple):
    """Points, targets, zones and hours."""

    X: pd.DataFrame
    y: Any
    zone: Any
    hour: Any


def with_zone(rows: Rows) -> Any:
    return np.column_stack([rows.X, [int(name.split()[1]) for name in rows.zone]])


def error(predicted: Any, rows: Rows) -> float:
    """Return 1000 times the mean squared error, in variances of a zone."""
    return 1e3 * float(np.mean((predicted - rows.y) ** 2))


def drawn(hours: Any, count: int) -> Any:
    """Return some hours, at random: equal distances would leave out hours of the day."""
    return np.sort(np.random.default_rng(0).permutation(hours)[:count])


def boosting(settings: dict[str, Any], train: Rows) -> Any:
    own = HistGradientBoostingRegressor(
        categorical_features=[train.X.shape[1]], random_state=0, **settings
    )
    return own.fit(with_zone(train), train.y)


def tuned(at: Callable[[Any], Rows], past: Any, count: int) -> dict[str, Any]:
    """Return the settings of boosting that are best on the last fifth of the hours."""
    cut = 4 * len(past) // 5
    train, late = at(drawn(past[:cut], count)), at(drawn(past[cut:], 1000))
    errors = [error(boosting(one, train).predict(with_zone(late)), late) for one in BOOSTINGS]
    return BOOSTINGS[int(np.argmin(errors))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=int, default=1000)
    parser.add_argument("--tuned", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    data = load_load(n_samples=None, lags=N_LAGS, calendar=CALENDAR)
    frame = pd.DataFrame(data.X, columns=[str(name) for name in data.feature_names])

    def at(hours: Any) -> Rows:
        where = np.isin(data.sample_id, hours)
        rows = frame[where].reset_index(drop=True)
        return Rows(rows, data.y[where], data.task[where], data.sample_id[where])

    past, future = np.array_split(np.unique(data.sample_id), 2)
    train, test = at(drawn(past, given.hours)), at(future[::TEST_STEP])
    table = []

    def tried(name: str, fit: Callable[[], Any], predict: Callable[[Any], Any]) -> None:
        begin = time.process_time()
        model = fit()
        seconds = time.process_time() - begin
        table.append([len(train.y), name, seconds, error(predict(model), test)])
        print(table[-1], flush=True)

    def ours(**settings: Any) -> Any:
        model = kh.KernelhoodRegressor(**settings)
        return model.fit(train.X, train.y, task=train.zone, occasion=train.hour)

    tried("kernelhood", ours, lambda model: model.predict(test.X, task=test.zone))
    if find_spec("lightgbm"):
        import lightgbm

        machine = lightgbm.LGBMRegressor(n_estimators=500, n_jobs=1, verbose=-1)
        zone = [train.X.shape[1]]
        tried(
            "LightGBM",
            lambda: machine.fit(with_zone(train), train.y, categorical_feature=zone),
            lambda model: model.predict(with_zone(test)),
        )
    if given.tuned:
        settings = tuned(at, past, given.hours)
        tried(
            f"gradient boosting {settings or ''}",
            lambda: boosting(settings, train),
            lambda model: model.predict(with_zone(test)),
        )
    print_table("Load, split by time", ["N", "model", "CPU", "1000 x MSE"], table)


if __name__ == "__main__":
    main()
