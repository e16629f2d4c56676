"""
Predicting a task that was never seen
=====================================

A new branch opens, and there is not one row of it. Its group is known, though, and a relation
places it by that; without the group, what all tasks share is the best guess.
"""

import numpy as np
from matplotlib.figure import Figure

import kernelhood as kh

data = kh.datasets.make_multitask(
    18, 40, kind="regression", structure="groups", structure_share=0.7, n_groups=3, random_state=1
)
new = np.isin(data.task, data.task_names[-3:])
model = kh.MTONMKLRegressor(
    formulation="corrected", beta=0.1, relation=kh.TaskGroups(data.task_groups)
)
model.fit(data.X[~new], data.y[~new], task=data.task[~new])

by_group = model.predict(data.X[new], task=data.task[new])
by_all = model.shared_function(data.X[new])

# %%
# The nearer to the line, the better.
figure = Figure(figsize=(8, 3.6), layout="constrained")
for ax, guess, name in zip(
    figure.subplots(1, 2, sharey=True), (by_all, by_group), ("what all share", "the group")
):
    explained = 1.0 - np.mean((data.y[new] - guess) ** 2) / np.var(data.y[new])
    ax.axline((0, 0), slope=1, color="0.6", lw=1)
    ax.plot(guess, data.y[new], ".", color="#12508f")
    ax.set(title=f"by {name}: {explained:.0%} explained", xlabel="predicted", ylabel="observed")
