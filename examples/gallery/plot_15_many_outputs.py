"""
Several targets, some of them missing
=====================================

A two-dimensional ``y`` has one task in each column. NaN is a target that was not observed; here
one of three physiological measures of scikit-learn's linnerud data is missing in half of the rows.
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_linnerud
from sklearn.preprocessing import scale

import kernelhood as kh

data = load_linnerud()
X, Y = scale(data.data), scale(data.target)
observed = Y.copy()
observed[::2, 1] = np.nan  # waist
model = kh.MTONMKLRegressor(
    kernels=[kh.Linear(), kh.Gaussian(2.0)], formulation="corrected", beta=0.02, relation="mixed"
)
model.fit(X, observed)
predicted = model.predict(X)
print(predicted.shape)

# %%
# Hollow dots are the targets that the model did not see.
figure = Figure(figsize=(9, 3.2), layout="constrained")
for ax, name, guess, true, seen in zip(
    figure.subplots(1, 3, sharey=True), data.target_names, predicted.T, Y.T, observed.T
):
    ax.axline((0, 0), slope=1, color="0.6", lw=1)
    known = np.isfinite(seen)
    ax.plot(guess[known], true[known], "o", color="#12508f")
    ax.plot(guess[~known], true[~known], "o", mfc="white", color="#b03a56")
    ax.set(title=name, xlabel="predicted", ylabel="standardised value")
