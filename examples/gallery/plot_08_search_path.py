"""
The path of a search
====================

``KernelSearchCV`` goes from strong to weak regularisation and starts every model at the one before.
``plot_path`` shows the score along that path, and which kernels come and go.
"""

import kernelhood as kh

data = kh.datasets.make_multitask(6, 30, kind="regression", relatedness=0.6, random_state=0)
model = kh.MTONMKLRegressor(formulation="corrected", relation="functions")
search = kh.KernelSearchCV(model, {"beta": [2.0**k for k in range(-14, 5)]}, cv=3)
search.fit(data.X, data.y, task=data.task)
print(search.best_params_, f"score in cross-validation {search.best_score_:.3f}")

# %%
figure = search.plot_path().figure
