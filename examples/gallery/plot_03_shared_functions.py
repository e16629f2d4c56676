"""
What tasks share
================

Eight tasks have most of their function in common, but for the last one, which has nothing to do
with the others. With ``relation="functions"`` every task has a common part and one of its own, and
the model finds out how large each is.
"""

import kernelhood as kh

data = kh.datasets.make_multitask(
    8, 60, kind="regression", relatedness=0.8, n_outliers=1, random_state=0
)
split = kh.TaskShuffleSplit(1, test_size=0.7, random_state=0)
train, test = next(split.split(data.X, data.y, task=data.task))

for relation in ("independent", "functions"):
    model = kh.MTONMKLRegressor(formulation="corrected", beta=0.02, relation=relation)
    model.fit(data.X[train], data.y[train], task=data.task[train])
    print(f"{relation:>11}: {model.score(data.X[test], data.y[test], task=data.task[test]):.2f}")

# %%
# Plain colours are common to all tasks, hatched ones the task's own.
figure = model.plot_sharing().figure
