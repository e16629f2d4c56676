"""
Many tiny tasks
===============

Sixty tasks with six training rows each: too few for a model of their own, too different for one
model. ``relation="mixed"`` has one common function and deviations of one variance, like a
mixed-effects model, so its number of weights does not grow with the tasks.
"""

import numpy as np
from matplotlib.figure import Figure

import kernelhood as kh

data = kh.datasets.make_multitask(60, 30, kind="regression", relatedness=0.7, random_state=0)
split = kh.TaskShuffleSplit(1, test_size=0.8, random_state=0)
train, test = next(split.split(data.X, data.y, task=data.task))

models = {
    "every task alone": kh.MTONMKLRegressor(formulation="corrected", beta=0.1),
    "one model of all": kh.PooledRegressor(C=1.0),
    "mixed": kh.MTONMKLRegressor(formulation="corrected", beta=0.1, relation="mixed"),
}
scores = {}
for name, model in models.items():
    model.fit(data.X[train], data.y[train], task=data.task[train])
    scores[name] = model.score_by_task(data.X[test], data.y[test], task=data.task[test])

# %%
# A dot is a task, a bar the median.
figure = Figure(figsize=(7, 2.6), layout="constrained")
ax = figure.subplots()
for place, by_task in enumerate(scores.values()):
    values = np.clip(list(by_task.values()), -1.0, 1.0)
    jitter = place + 0.25 * np.sin(7.0 * np.arange(len(values)))
    ax.plot(values, jitter, ".", color="#12508f", alpha=0.5)
    ax.plot(np.full(2, np.median(values)), [place - 0.35, place + 0.35], color="#b03a56", lw=3)
ax.set_yticks(range(len(scores)), scores)
ax.set_xlabel("share of the variance explained, task by task (-1 and below at the left edge)")
