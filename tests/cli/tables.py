"""Tables for the tests of the commands."""

import numpy as np
import pandas as pd

from kernelhood.datasets import make_multitask


def plain_table(kind="regression", n_tasks=3, n_samples=16, seed=0):
    """A table of make_multitask: numbers only, the task, its group and the target."""
    data = make_multitask(
        n_tasks=n_tasks,
        n_samples=n_samples,
        kind=kind,
        structure="groups",
        random_state=seed,
        as_frame=True,
    )
    groups = data.task.map(data.task_groups)
    return data.X.assign(shop=data.task, region=groups, sold=data.y)


def hard_table(kind="classification", seed=0):
    """Every difficulty at once.

    String tasks in several scripts, a tiny task and one of a single class, a category, dates,
    missing values of all kinds, a constant column, a number of the row, quotes and separators.
    """
    rng = np.random.default_rng(seed)
    sizes = {'Köln, "Süd"': 14, "北京": 14, "Ørsted\nnord": 12, "tiny": 1, "one class": 6}
    task = np.repeat(list(sizes), list(sizes.values()))
    n = len(task)
    heat = rng.normal(20.0, 5.0, n)
    sky = rng.choice(["clear", "rain", "schön 🌧"], n)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    value = 0.3 * (heat - 20.0) + 2.0 * (sky == "rain") + rng.normal(0.0, 0.3, n)
    table = pd.DataFrame(
        {
            "id": [f"row {number}" for number in range(n)],
            "shop": task,
            "heat": [f"{one:.3f}" for one in heat],
            "sky": sky,
            "day": day.strftime("%Y-%m-%d"),
            "same": "always",
            "sold": np.where(value > 0.5, "viel", "wenig"),
        }
    )
    if kind == "regression":
        table["sold"] = [f"{one:.4f}" for one in value]
    else:
        table.loc[table["shop"] == "one class", "sold"] = "viel"
    table.loc[::7, "heat"] = ["", "NA", "nan", "null", "NaN", "N/A", "NULL"][: len(table[::7])]
    table.loc[3::9, "sky"] = ""
    table.loc[5::11, "day"] = "NA"
    table.loc[1, "sold"] = ""
    return table
