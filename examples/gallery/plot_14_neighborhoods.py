"""
Neighborhoods of kernels
========================

MT-ONMKL learns for every task a kernel and a second one near it, which defines a neighborhood. The
map shows how well the kernel of one task agrees with the neighborhood of another: Figure 1 of the
paper.
"""

import kernelhood as kh

data = kh.datasets.load_digits_tasks()
train = data.sample_id % 5 == 0
model = kh.MTONMKLClassifier(beta=1.0, eta=4.0)
model.fit(data.X[train], data.y[train], task=data.task[train])
print(f"smallest alignment {model.alignment().min():.4f}")

# %%
# The colours span the values that occur.
figure = model.plot_alignment().figure
