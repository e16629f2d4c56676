"""
Quantiles and intervals of a load
=================================

Three zones draw power hour by hour, and the evening's peak is hard to foresee. A point forecast is
not enough: ``predict_quantiles`` of ``KernelhoodRegressor`` gives a fan that never crosses, and
``predict_interval`` an interval that holds the load about as often as asked.

The zones are made up, so that the example runs everywhere; ``examples/fan_chart.py`` draws the same
picture for the data set Load if its files are present.
"""

import numpy as np
from matplotlib.figure import Figure

import kernelhood as kh

rng = np.random.default_rng(0)
hour = np.tile(np.arange(1000), 3)
task = np.repeat(["zone 1", "zone 2", "zone 3"], 1000)
day, weekend = hour % 24, hour // 24 % 7 > 4
warmth = np.tile(np.convolve(rng.normal(size=1023), np.ones(24) / 24.0, "valid"), 3)
evening = np.exp(-((day - 19) ** 2) / 12.0)
peak = np.repeat([1.0, 1.4, 0.7], 1000)
load = peak * (np.exp(-((day - 8) ** 2) / 8.0) + 1.5 * evening) + 0.8 * warmth - 0.4 * weekend
load = load + (0.08 + 0.3 * evening) * rng.normal(size=len(load))
angle = 2.0 * np.pi * day / 24.0
X = np.column_stack([2.0 * np.sin(angle), 2.0 * np.cos(angle), weekend, 3.0 * warmth])

# %%
# Some of the hours up to 900 train; the forecast is for the four days after them.
past, ahead = hour < 900, (hour >= 900) & (hour < 996) & (task == "zone 1")
train = np.concatenate(
    [rng.choice(np.flatnonzero(past & (task == name)), 200, False) for name in np.unique(task)]
)
model = kh.KernelhoodRegressor().fit(X[train], load[train], task=task[train])
levels = [0.05, 0.25, 0.5, 0.75, 0.95]
fan = model.predict_quantiles(X[ahead], task=task[ahead], quantiles=levels)
ends = model.predict_interval(X[ahead], task=task[ahead], coverage=0.9)
y = load[ahead]
print(f"between the outer quantiles: {np.mean((fan[:, 0] <= y) & (y <= fan[:, -1])):.0%}")
print(f"in the 90 % interval: {np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])):.0%}")

# %%
# The quantiles in blue, the interval in red.
figure = Figure(figsize=(8, 3.4), layout="constrained")
ax = figure.subplots()
hours = np.arange(len(y))
ax.fill_between(hours, fan[:, 0], fan[:, 4], color="#86c5e8", lw=0, label="5 to 95 %")
ax.fill_between(hours, fan[:, 1], fan[:, 3], color="#4d8ec0", lw=0, label="25 to 75 %")
ax.plot(hours, fan[:, 2], color="#12508f", label="median")
ax.plot(hours, ends, color="#b03a56", lw=0.9, ls="--", label=["90 % interval", None])
ax.plot(hours, y, ".", color="#20262e", ms=4, label="load")
ax.set(xlabel="hours after the training data", ylabel="load of zone 1")
ax.margins(x=0.0)
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
