"""
Tasks on a map
==============

Twelve stations stand along a river, and neighbours are alike. ``TaskGraph`` takes pairs of
neighbours; a station without data is predicted by its neighbours.
"""

import numpy as np
from matplotlib.figure import Figure

import kernelhood as kh

rng = np.random.default_rng(0)
stations = [f"km {10 * k}" for k in range(12)]
edges = list(zip(stations, stations[1:]))
task = np.repeat(stations, 15)
x = rng.uniform(-2.0, 2.0, size=(len(task), 1))
phase = np.repeat(np.linspace(0.0, 2.5, 12), 15)
y = np.sin(2.0 * x[:, 0] + phase) + rng.normal(0.0, 0.3, size=len(task))

dark = task == "km 60"
model = kh.MTONMKLRegressor(
    kernels=[kh.Gaussian(1.0)], formulation="corrected", beta=0.05, relation=kh.TaskGraph(edges)
)
model.fit(x[~dark], y[~dark], task=task[~dark])
guess = model.predict(x[dark], task=task[dark])
print(f"explained at km 60: {1.0 - np.mean((guess - y[dark]) ** 2) / np.var(y[dark]):.0%}")

# %%
figure = Figure(figsize=(6.5, 3.4), layout="constrained")
ax = figure.subplots()
grid = np.linspace(-2.0, 2.0, 100)[:, None]
for name, style in (("km 50", "--"), ("km 60", "-"), ("km 70", ":")):
    ax.plot(
        grid, model.predict(grid, task=np.repeat(name, 100)), style, label=name, color="#12508f"
    )
ax.plot(x[dark], y[dark], "o", mfc="white", color="#b03a56", label="km 60, never seen")
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
