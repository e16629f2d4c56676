"""Load by low rank: what landmarks cost in accuracy, and the full history against boosting.

    python benchmarks/load_history.py [--ranks 500 2000] [--hours 400]
    python benchmarks/load_history.py --full 5000 [--full-rank 300]

The first form fits 20 zones at some hours exactly and with landmarks. The second splits the whole
history by time: models are fitted to hours of its first half, drawn at random, and tested on hours
of the second. Settings of both models, ours and gradient boosting with the zone as a category, are
chosen on the last fifth of the first half, never on test hours: ours by fits to 1,000 hours,
boosting's by fits to as many hours as are asked for. Needs KERNELHOOD_DATA.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
from _measure import print_table
from sklearn.ensemble import HistGradientBoostingRegressor

import kernelhood as kh
from kernelhood.datasets import load_load

#: The year is left out: no value of the test period occurs in training.
CALENDAR = ("month", "weekday", "holiday", "hour")
N_LAGS, TUNING_HOURS, TEST_STEP = 8, 1000, 47
BETAS = (0.003, 0.01, 0.03)
BOOSTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"max_iter": 300, "learning_rate": 0.05},
    {"max_iter": 300},
    {"max_iter": 1000, "learning_rate": 0.05},
    {"max_iter": 300, "max_leaf_nodes": 8},
)


class Rows(NamedTuple):
    """Points, targets and zones."""

    X: Any
    y: Any
    zone: Any


def banks() -> dict[str, Any]:
    """Return banks for lags and a calendar whose numbers are categories.

    In the second one the lags, the weekday and the month mean something else at every hour, and the
    lags in every month and on every weekday.
    """
    month, weekday, hour = (N_LAGS + CALENDAR.index(one) for one in ("month", "weekday", "hour"))
    given = {"columns": {"lags": range(N_LAGS)}, "categorical": [month, weekday, hour]}
    pairs = [(hour, "lags"), (hour, weekday), (hour, month), (month, "lags"), (weekday, "lags")]
    return {
        "wide": kh.AutoBank(**given, spreads=(1.0, 2.0, 4.0), column_spreads=(2.0,)),
        "by hour": kh.AutoBank(**given, spreads=(2.0,), single_columns=False, interactions=pairs),
    }


def few_kernels() -> Any:
    """Return a bank for which thousands of landmarks fit into memory."""
    return kh.AutoBank(
        categorical=banks()["wide"].categorical, single_columns=False, spreads=(1.0, 2.0)
    )


def fit_ours(rows: Rows, bank: Any, beta: float, **settings: Any) -> Any:
    model = kh.MTONMKLRegressor(
        kernels=bank,
        loss="squared",
        beta=beta,
        relation="mixed",
        formulation="corrected",
        **settings,
    )
    return model.fit(rows.X, rows.y, task=rows.zone)


def with_zone(rows: Rows) -> Any:
    return np.column_stack([rows.X, [int(name.split()[1]) for name in rows.zone]])


def fit_theirs(rows: Rows, **settings: Any) -> Any:
    model = HistGradientBoostingRegressor(
        categorical_features=[rows.X.shape[1]], random_state=0, **settings
    )
    return model.fit(with_zone(rows), rows.y)


def error(predicted: Any, rows: Rows) -> float:
    """Return 1000 times the mean squared error, in variances of a zone."""
    return 1e3 * float(np.mean((predicted - rows.y) ** 2))


def drawn(hours: Any, count: int) -> Any:
    """Return some hours, at random: equal distances would leave out hours of the day."""
    return np.random.default_rng(0).permutation(hours)[:count]


def chosen(at: Any, hours: Any, count: int, rank: int) -> tuple[tuple[str, float], dict[str, Any]]:
    """Return the settings of both models that are best on the last fifth of the hours."""
    cut = 4 * len(hours) // 5
    train, late = at(drawn(hours[:cut], TUNING_HOURS)), at(drawn(hours[cut:], TUNING_HOURS))
    found = {}
    for name, bank in banks().items():
        for beta in BETAS:
            model = fit_ours(train, bank, beta, operator=kh.Landmarks(rank))
            found[name, beta] = error(model.predict(late.X, task=late.zone), late)
            print(f"validation: {name}, beta={beta:g}: {found[name, beta]:.2f}", flush=True)
    many = at(drawn(hours[:cut], count))
    theirs = [error(fit_theirs(many, **own).predict(with_zone(late)), late) for own in BOOSTINGS]
    print(f"validation: boosting {BOOSTINGS}: {np.round(theirs, 2)}", flush=True)
    return min(found, key=lambda key: found[key]), BOOSTINGS[int(np.argmin(theirs))]


def print_full(at: Any, order: Any, count: int, rank: int) -> None:
    past, future = np.split(order, [len(order) // 2])
    (name, beta), boosting = chosen(at, past, count, rank)
    train, test = at(drawn(past, count)), at(future[::TEST_STEP])
    rows = []
    begin = time.process_time()
    model = fit_ours(train, banks()[name], beta, operator=kh.Landmarks(rank))
    seconds = time.process_time() - begin
    miss = error(model.predict(test.X, task=test.zone), test)
    what = f"low rank {rank}, bank {name}, beta={beta:g}"
    rows.append([len(train.y), what, seconds, miss, f"{model.dual_gap_:.1e}"])
    begin = time.process_time()
    boosted = fit_theirs(train, **boosting)
    seconds = time.process_time() - begin
    miss = error(boosted.predict(with_zone(test)), test)
    rows.append([len(train.y), f"gradient boosting {boosting or ''}", seconds, miss, ""])
    head = ["N", "model", "CPU", "1000 x MSE", "gap"]
    print_table("Load, fitted to the first half, tested on the second", head, rows)


def print_ranks(at: Any, order: Any, count: int, ranks: list[int], beta: float) -> None:
    past, future = np.split(order, [len(order) // 2])
    train, test = at(drawn(past, count)), at(future[::TEST_STEP])
    rows = []
    kinds: list[Any] = [kh.Dense(cache_size=1e5), *map(kh.Landmarks, ranks)]
    for own in kinds:
        begin = time.process_time()
        model = fit_ours(train, few_kernels(), beta, operator=own)
        seconds = time.process_time() - begin
        miss = error(model.predict(test.X, task=test.zone), test)
        name = f"low rank {own.count}" if isinstance(own, kh.Landmarks) else "exact"
        rows.append([len(train.y), name, seconds, miss, f"{model.dual_gap_:.1e}"])
        print(rows[-1], flush=True)
    print_table("Load, exact and approximated", ["N", "model", "CPU", "1000 x MSE", "gap"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=400)
    parser.add_argument("--ranks", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--beta", type=float, default=0.01)
    parser.add_argument("--full", type=int, help="training hours of the full history")
    parser.add_argument("--full-rank", type=int, default=300)
    given = parser.parse_args()
    data = load_load(n_samples=None, lags=N_LAGS, calendar=CALENDAR)
    order = np.unique(data.sample_id)

    def at(hours: Any) -> Rows:
        where = np.isin(data.sample_id, hours)
        return Rows(data.X[where], data.y[where], data.task[where])

    if given.full:
        print_full(at, order, given.full, given.full_rank)
    else:
        print_ranks(at, order, given.hours, given.ranks, given.beta)


if __name__ == "__main__":
    main()
