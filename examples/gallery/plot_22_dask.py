"""
A search on a Dask cluster
==========================

The splits and paths of a search are independent, so they can run anywhere. Inside
``on_cluster`` whatever has ``n_jobs`` works on the cluster. Here the cluster lives in this process,
on the loopback address; on your own, give the address that ``dask scheduler`` prints.
"""

from dask.distributed import LocalCluster
from matplotlib.figure import Figure

import kernelhood as kh

data = kh.datasets.make_multitask(6, 40, kind="regression", relatedness=0.7, random_state=0)
model = kh.MTONMKLRegressor(
    kernels=[kh.Linear(), kh.Gaussian(1.0), kh.Gaussian(4.0)],
    formulation="corrected",
)
relations = [kh.relations.Mixed(), kh.relations.Mixed(specific_cost=4.0)]
grid = {"beta": [0.003, 0.01, 0.03, 0.1, 0.3], "relation": relations}

with LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
) as cluster:
    search = kh.KernelSearchCV(model, grid, cv=3, n_jobs=-1)
    with kh.parallel.on_cluster(cluster.scheduler_address):
        search.fit(data.X, data.y, task=data.task)

# %%
# The scores are those that one process finds.
here = kh.KernelSearchCV(model, grid, cv=3).fit(data.X, data.y, task=data.task)
there, alone = (one.cv_results_["mean_test_score"] for one in (search, here))
print(f"largest difference of a score: {abs(there - alone).max():.0e}")

# %%
figure = Figure(figsize=(6.5, 3.2), layout="constrained")
ax = figure.subplots()
for relation, marker, colour in zip(relations, "os", ("#12508f", "#e3a92f")):
    own = [one["relation"] == relation for one in search.cv_results_["params"]]
    ax.plot(grid["beta"], there[own], marker=marker, color=colour, label=str(relation))
ax.set(xscale="log", xlabel="beta", ylabel="mean cross-validated score")
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
