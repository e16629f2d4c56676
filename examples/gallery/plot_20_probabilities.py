"""
Probabilities you can believe
=============================

Twenty clinics of 8 to 60 patients treat the same disease, at different rates. Tiny clinics cannot
calibrate a model of their own. ``KernelhoodClassifier`` learns all of them at once, and what a
clinic has for itself is shrunk towards what they have in common.
"""

import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit
from sklearn.metrics import log_loss

import kernelhood as kh

rng = np.random.default_rng(1)
rate = 2.0 * rng.normal(size=20)  # log-odds of the disease in each clinic


def patients(sizes):
    clinic = np.repeat(np.arange(20), sizes)
    X = rng.normal(size=(len(clinic), 3))
    p = expit(2.0 * np.sin(2.0 * X[:, 0]) + 1.5 * X[:, 1] + rate[clinic])
    return X, (rng.random(len(clinic)) < p).astype(int), clinic


X, ill, clinic = patients(np.repeat([8, 12, 20, 40, 60], 4))
new, sick, where = patients(np.full(20, 100))

# %%
# The alternative that comes to mind first: no tasks, one calibrated model for all patients.
by_clinic = kh.KernelhoodClassifier().fit(X, ill, task=clinic)
pooled = kh.KernelhoodClassifier().fit(X, ill)
told = {
    "one model for all": pooled.predict_proba(new)[:, 1],
    "tasks that share": by_clinic.predict_proba(new, task=where)[:, 1],
}
for name, p in told.items():
    print(f"{name}: log loss {log_loss(sick, p):.3f}")

# %%
# Left, a reliability diagram: of the patients who are told 30 %, 30 % should be ill; both models
# are close to that. Right, the same clinic by clinic: the model of all patients does not know that
# clinics differ.
figure = Figure(figsize=(8.4, 3.6), layout="constrained")
left, right = figure.subplots(1, 2)
for ax in (left, right):
    ax.plot([0, 1], [0, 1], color="#c4c8cc", zorder=0)
    ax.set_aspect("equal")
looks = [("#e3a92f", "s"), ("#12508f", "o")]
for (name, p), (colour, marker) in zip(told.items(), looks):
    bins = np.array_split(np.argsort(p), 10)
    points = np.array([(p[rows].mean(), sick[rows].mean()) for rows in bins]).T
    left.plot(*points, marker=marker, ms=5, color=colour, label=name)
    means = [(p[where == k].mean(), sick[where == k].mean()) for k in range(20)]
    right.plot(*np.array(means).T, marker, ms=5, mfc="none", color=colour)
left.set(xlabel="probability told", ylabel="share of ill patients", title="tenths of the patients")
right.set(xlabel="mean probability told", title="clinics")
figure.legend(loc="outside lower center", ncols=2, frameon=False)
