"""
Reading a fitted model
======================

Eight tasks each tell two handwritten digits apart. The bank holds one Gaussian on the whole image
and one on each quarter of it, so the learned weights say *where* two digits differ.
"""

import numpy as np

import kernelhood as kh

data = kh.datasets.load_digits_tasks()
pixels = np.arange(64).reshape(8, 8)
quarters = {
    "top left": pixels[:4, :4],
    "top right": pixels[:4, 4:],
    "bottom left": pixels[4:, :4],
    "bottom right": pixels[4:, 4:],
}
parts = [kh.Gaussian(1.0, columns=part.ravel().tolist()) for part in quarters.values()]
bank = kh.KernelBank([kh.Gaussian(2.0), *parts])

train = data.sample_id % 5 == 0  # a fifth of the images, the same in all tasks
model = kh.MTONMKLClassifier(kernels=bank, formulation="corrected", beta=2.0**-8)
model.fit(data.X[train], data.y[train], task=data.task[train])
print(f"accuracy {model.score(data.X[~train], data.y[~train], task=data.task[~train]):.3f}")
print(f"certified: no more than {model.dual_gap_:.1e} of the objective from the optimum")

# %%
# ``plot_weights`` draws the weights of every task. The function of the same name in
# ``kernelhood.inspection`` takes arrays, so that the quarters can have names.
from kernelhood.inspection.figures import plot_weights

figure = plot_weights(model.weights_, model.tasks_, ["whole image", *quarters]).figure
