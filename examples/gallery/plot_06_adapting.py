"""
A new task with a few labels
============================

``adapt`` learns a task that was not there in ``fit``, on top of what the old tasks share. The
picture compares it with a support vector machine on the new labels alone.
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.svm import SVR

import kernelhood as kh

data = kh.datasets.make_multitask(13, 80, kind="regression", relatedness=0.8, random_state=3)
new = data.task == data.task_names[-1]
model = kh.MTONMKLRegressor(formulation="corrected", beta=0.05, relation="mixed")
model.fit(data.X[~new], data.y[~new], task=data.task[~new])

rows, test = np.flatnonzero(new)[:40], np.flatnonzero(new)[40:]
counts = [2, 4, 8, 16, 32]
errors = {"adapt": [], "SVR on the new labels": []}
for count in counts:
    few = rows[:count]
    model.adapt(data.X[few], data.y[few], task=data.task[few])
    alone = SVR(C=10.0).fit(data.X[few], data.y[few])
    guesses = model.predict(data.X[test], task=data.task[test]), alone.predict(data.X[test])
    for name, guess in zip(errors, guesses):
        errors[name].append(np.mean((data.y[test] - guess) ** 2) / np.var(data.y[test]))

# %%
figure = Figure(figsize=(6.5, 3.6), layout="constrained")
ax = figure.subplots()
for (name, values), colour, marker in zip(errors.items(), ("#12508f", "#b03a56"), "os"):
    ax.plot(counts, values, marker=marker, color=colour, label=name)
ax.set_xscale("log", base=2)
ax.set(xlabel="labels of the new task", ylabel="share of the variance left")
ax.set_xticks(counts, counts)
ax.minorticks_off()
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
