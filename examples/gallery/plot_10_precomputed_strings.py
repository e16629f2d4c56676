"""
Precomputed kernels of strings
==============================

Kernels need no table of numbers. Here strings of four letters are compared by the words of length
1 to 4 that they have in common. A precomputed matrix is a kernel on row numbers, so that splits
and searches work as usual.
"""

from collections import Counter

import numpy as np

import kernelhood as kh

rng = np.random.default_rng(0)
motifs = {"liver": "GATTA", "brain": "CCGCG", "heart": "TTAGC"}
strings, y, task = [], [], []
for tissue, motif in motifs.items():
    for number in range(80):
        letters = "".join(rng.choice(list("ACGT"), size=40))
        if number % 2:
            place = int(rng.integers(35))
            letters = letters[:place] + motif + letters[place + 5 :]
        strings.append(letters)
        y.append(number % 2)
        task.append(tissue)
y, task = np.array(y), np.array(task)


def words_in_common(length):
    """Return the matrix of how many words of a length two strings share."""
    counts = [Counter(s[k : k + length] for k in range(len(s) - length + 1)) for s in strings]
    words = sorted(set().union(*counts))
    table = np.array([[min(count[word], 1) for word in words] for count in counts], dtype=float)
    return table @ table.T


# %%
# The weights tell how long the words are that matter.
bank = [kh.Normalized(kh.Precomputed(words_in_common(length))) for length in (1, 2, 3, 4, 5)]
rows = np.arange(len(y))[:, None]
train = np.arange(len(y)) % 3 > 0
model = kh.MTONMKLClassifier(kernels=bank, formulation="corrected", beta=2.0**-8)
model.fit(rows[train], y[train], task=task[train])
print(f"accuracy {model.score(rows[~train], y[~train], task=task[~train]):.2f}")

from kernelhood.inspection.figures import plot_weights

names = [f"words of {length}" for length in (1, 2, 3, 4, 5)]
figure = plot_weights(model.weights_, model.tasks_, names).figure
