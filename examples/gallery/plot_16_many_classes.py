"""
More than two classes in a task
===============================

Two writers, four digits each, not the same ones: tasks may have any number of classes, and
different ones. Pairs of classes are learned one against one.
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix

import kernelhood as kh

X, digit = load_digits(return_X_y=True)
X = X / 16.0
tasks = {"curved": [0, 3, 6, 8], "straight": [1, 4, 7, 9]}
rows = {name: np.flatnonzero(np.isin(digit, digits))[:240] for name, digits in tasks.items()}
index = np.concatenate(list(rows.values()))
task = np.repeat(list(rows), [len(one) for one in rows.values()])
train = np.arange(len(index)) % 3 == 0

model = kh.MTONMKLClassifier().fit(X[index[train]], digit[index[train]], task=task[train])
guess = model.predict(X[index[~train]], task=task[~train])
truth = digit[index[~train]]
print(f"accuracy {np.mean(guess == truth):.3f}")

# %%
figure = Figure(figsize=(7.5, 3.6), layout="constrained")
for ax, (name, digits) in zip(figure.subplots(1, 2), tasks.items()):
    here = task[~train] == name
    counts = confusion_matrix(truth[here], guess[here], labels=digits)
    ax.imshow(counts, cmap="YlGnBu")
    for (row, column), count in np.ndenumerate(counts):
        ax.text(column, row, count, ha="center", va="center", color="w" if count > 25 else "k")
    ax.set_xticks(range(4), digits)
    ax.set_yticks(range(4), digits)
    ax.set(title=name, xlabel="predicted", ylabel="true")
