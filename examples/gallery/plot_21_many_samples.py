"""
Many samples with low rank
==========================

Kernel matrices grow with the square of the samples. With ``operator=Landmarks(...)`` every kernel
is approximated by its values at a few landmarks, and time and memory are linear in the samples;
beyond 20,000 samples this is the default. The certificate holds for the problem with the
approximate kernels, and ``approximation_`` tells how much of each kernel the landmarks keep.
"""

import numpy as np
from matplotlib.figure import Figure

import kernelhood as kh

rng = np.random.default_rng(0)
task = np.repeat(np.arange(20), 100)
X = rng.normal(size=(len(task), 4))
y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] * np.cos(task) + 0.2 * rng.normal(size=len(task))
test = np.tile(np.arange(100) >= 50, 20)

spreads = [0.5, 1.5, 4.0]
counts = [5, 10, 20, 40, 80]
scores, kept = [], []
for count in counts:
    model = kh.MTONMKLRegressor(
        kernels=[kh.Gaussian(spread) for spread in spreads],
        relation="mixed",
        formulation="corrected",
        beta=0.03,
        operator=kh.Landmarks(count),
    )
    model.fit(X[~test], y[~test], task=task[~test])
    scores.append(model.score(X[test], y[test], task=task[test]))
    kept.append(model.approximation_)
print(f"{np.sum(~test)} training rows; gap with {counts[-1]} landmarks: {model.dual_gap_:.0e}")

# %%
# Wide kernels are kept almost whole by a few landmarks, narrow ones are not: a Gaussian that is
# narrower than the distance between neighbours has no low rank. Predictions need less than that.
figure = Figure(figsize=(8.4, 3.2), layout="constrained")
left, right = figure.subplots(1, 2)
left.plot(counts, scores, "o-", color="#12508f")
left.set(xscale="log", xlabel="landmarks", ylabel="explained variance, held-out rows")
for line, spread, colour in zip(np.array(kept).T, spreads, ("#b03a56", "#e3a92f", "#12508f")):
    right.plot(counts, line, "o-", color=colour, label=f"spread {spread:g}")
right.set(xscale="log", xlabel="landmarks", ylabel="share of the kernel kept", ylim=(0, 1.03))
right.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
for ax in (left, right):
    ax.set_xticks(counts, counts)
    ax.minorticks_off()
