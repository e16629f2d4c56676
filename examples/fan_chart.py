"""Draw a forecast as a fan: quantiles of one zone's load, hour by hour.

Run ``python examples/fan_chart.py --out demo``. With the files of Load, where ``kernelhood data
list`` finds them, it learns three zones and draws five days of one of them that follow its training
hours; without them, or with ``--synthetic``, zones that are made up. It prints how often the
quantiles, and an interval of 90 %, held the load of those days.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kernelhood as kh

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
N_TRAIN = 400
N_HOURS = 120


class Zones(NamedTuple):
    """Hours of several zones in their order."""

    X: np.ndarray
    y: np.ndarray
    task: np.ndarray
    hour: np.ndarray


def made_up_zones(seed: int) -> Zones:
    """Return three zones whose days have two peaks, the evening's being hard to foresee."""
    rng = np.random.default_rng(seed)
    hour = np.tile(np.arange(2000), 3)
    task = np.repeat(["zone 1", "zone 2", "zone 3"], 2000)
    peak = np.repeat([1.0, 1.4, 0.7], 2000)
    day, weekday = hour % 24, hour // 24 % 7
    warmth = np.tile(np.convolve(rng.normal(size=2023), np.ones(24) / 24.0, "valid"), 3)
    morning, evening = np.exp(-((day - 8) ** 2) / 8.0), np.exp(-((day - 19) ** 2) / 12.0)
    y = peak * (morning + 1.5 * evening) + 0.8 * warmth - 0.4 * (weekday > 4)
    y = y + (0.08 + 0.3 * evening) * rng.normal(size=len(y))
    angle = 2.0 * np.pi * day / 24.0
    X = np.column_stack([2.0 * np.sin(angle), 2.0 * np.cos(angle), weekday > 4, 3.0 * warmth])
    return Zones(X, y, task, hour)


def real_zones() -> Zones:
    """Return three zones of Load, a day and a week back among their inputs."""
    data = kh.datasets.load_load(
        n_samples=None,
        zones=[1, 4, 13],
        lags=[24, 168],
        calendar=("weekday", "hour"),
        temperature=True,
    )
    hour = data.X[:, data.feature_names.index("hour")]
    angle = 2.0 * np.pi * (hour - hour.min()) / (np.ptp(hour) * 24.0 / 23.0)
    kept = [place for place, name in enumerate(data.feature_names) if name != "hour"]
    X = np.column_stack([data.X[:, kept], 2.0 * np.sin(angle), 2.0 * np.cos(angle)])
    return Zones(X, data.y, data.task, data.sample_id)


def split(zones: Zones, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training rows of all zones, and the last hours of the first, which follow them."""
    rng = np.random.default_rng(seed)
    own = np.flatnonzero(zones.task == zones.task[0])
    last = zones.hour[own[-N_HOURS]]
    train = [
        rng.choice(np.flatnonzero((zones.task == name) & (zones.hour < last)), N_TRAIN, False)
        for name in dict.fromkeys(zones.task.tolist())
    ]
    return np.concatenate(train), own[-N_HOURS:]


def draw(values: np.ndarray, y: np.ndarray, name: str) -> Any:
    """Return a figure of the fan and of what came."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(8, 3.2))
    hours = np.arange(len(y))
    pairs = [(0, 4, 0.25, "5 to 95 %"), (1, 3, 0.45, "25 to 75 %")]
    for low, high, alpha, label in pairs:
        band = values[:, low], values[:, high]
        ax.fill_between(hours, *band, color="tab:blue", alpha=alpha, lw=0, label=label)
    ax.plot(hours, values[:, 2], color="tab:blue", lw=1.2, label="median")
    ax.plot(hours, y, ".", color="black", ms=3, label="load")
    ax.set(xlabel="hours after the last one that trains", ylabel="load", title=name)
    ax.margins(x=0.0)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4, frameon=False)
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Learn the zones, draw one of them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the picture")
    parser.add_argument("--seed", type=int, default=0, help="of the hours that train")
    parser.add_argument("--synthetic", action="store_true", help="do not look for files")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    zones, what = made_up_zones(given.seed), "made-up zone"
    if not given.synthetic:
        try:
            zones, what = real_zones(), "Load"
        except FileNotFoundError:
            print("no files of Load: the zones are made up")
    train, ahead = split(zones, given.seed)
    model = kh.KernelhoodRegressor().fit(zones.X[train], zones.y[train], task=zones.task[train])
    X, y, task = zones.X[ahead], zones.y[ahead], zones.task[ahead]
    values = model.predict_quantiles(X, task=task, quantiles=LEVELS)
    for place, level in enumerate(LEVELS):
        print(f"{100 * level:4.0f} %  held {100 * np.mean(y <= values[:, place]):.0f} %")
    ends = model.predict_interval(X, task=task, coverage=0.9)
    held = np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))
    print(f"interval of 90 %  held {100 * held:.0f} %")
    path = given.out / "fan_chart.png"
    draw(values, y, f"{what}, {task[0]}").savefig(path, dpi=110, bbox_inches="tight")
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
