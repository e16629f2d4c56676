"""
Which columns matter to which task
==================================

One Gaussian for each column: kernel learning is then a selection of columns, task by task. Every
task depends on two columns out of eight, and each on another pair.
"""

import numpy as np

import kernelhood as kh

rng = np.random.default_rng(0)
pairs = {"north": (0, 1), "east": (2, 3), "south": (4, 5), "west": (6, 7)}
X = rng.uniform(-2.0, 2.0, size=(480, 8))
task = np.repeat(list(pairs), 120)
y = np.array([np.sin(2.0 * x[pairs[t][0]]) + x[pairs[t][1]] ** 2 for x, t in zip(X, task)])
y += rng.normal(0.0, 0.2, size=len(y))

bank = [kh.Gaussian(1.0, columns=[column]) for column in range(8)]
model = kh.MTONMKLRegressor(kernels=bank, formulation="corrected", beta=1.0, C=10.0)
model.fit(X, y, task=task)

# %%
# Nearly all of the weight is on the two columns that each task depends on.
from kernelhood.inspection.figures import plot_weights

names = [f"column {column}" for column in range(8)]
figure = plot_weights(model.weights_, model.tasks_, names).figure
