"""
Groups of tasks
===============

Eighteen tasks belong to three groups that are known: branches of a region, patients of a clinic.
``TaskGroups`` lets the model use that, and ``plot_task_map`` shows the result.
"""

import kernelhood as kh

data = kh.datasets.make_multitask(
    18, 40, kind="regression", structure="groups", structure_share=0.6, n_groups=3, random_state=0
)
split = kh.TaskShuffleSplit(1, test_size=0.7, random_state=0)
train, test = next(split.split(data.X, data.y, task=data.task))

for relation in ("independent", "mixed", kh.TaskGroups(data.task_groups)):
    model = kh.MTONMKLRegressor(formulation="corrected", beta=0.1, relation=relation)
    model.fit(data.X[train], data.y[train], task=data.task[train])
    score = model.score(data.X[test], data.y[test], task=data.task[test])
    print(
        f"{type(relation).__name__ if not isinstance(relation, str) else relation:>12}: {score:.2f}"
    )

# %%
# Tasks of a group are more alike than others; the tree above the map joins them first.
figure = model.plot_task_map().figure
