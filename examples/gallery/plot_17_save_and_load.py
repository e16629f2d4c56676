"""
Saving a model and using it again
=================================

A fitted model holds the training rows that it needs, and nothing else. `kernelhood.save` writes it,
or a search or pipeline around it, to a file that can be handed to others: loading it runs no code.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kernelhood as kh

data = kh.datasets.make_multitask(4, 50, kind="regression", relatedness=0.7, random_state=2)
model = kh.MTONMKLRegressor(formulation="corrected", beta=0.05, relation="mixed")
model.fit(data.X, data.y, task=data.task)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.skops"
    kh.save(model, path)
    print(f"{path.stat().st_size / 1024:.0f} kB")
    again = kh.load(path)

before = model.predict(data.X, task=data.task)
after = again.predict(data.X, task=data.task)
assert np.array_equal(before, after)

# %%
figure = Figure(figsize=(4.2, 3.6), layout="constrained")
ax = figure.subplots()
ax.plot(before, after, ".", color="#12508f")
ax.set(xlabel="prediction before saving", ylabel="prediction after loading")
