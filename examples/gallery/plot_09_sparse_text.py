"""
Sparse text
===========

Is a review good or bad? Tasks are shops, which share most words of praise and have some of their
own. The matrix of words stays sparse throughout.
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import kernelhood as kh

rng = np.random.default_rng(0)
common = {1: "great lovely perfect excellent happy", 0: "awful broken refund angry useless"}
special = {
    "books": {1: "gripping witty", 0: "boring typos"},
    "tools": {1: "sturdy sharp", 0: "rusty blunt"},
    "shoes": {1: "comfy soft", 0: "tight blisters"},
}
filler = "the a it was very and this order arrived shop day with for again colour".split()
reviews, y, task = [], [], []
for shop, own in special.items():
    for _ in range(120):
        label = int(rng.integers(2))
        told = rng.choice(common[label].split() + 2 * own[label].split(), size=2)
        wrong = rng.choice(common[1 - label].split(), size=1)
        reviews.append(" ".join([*rng.choice(filler, size=8), *told, *wrong]))
        y.append(label)
        task.append(shop)
y, task = np.array(y), np.array(task)

X = TfidfVectorizer().fit_transform(reviews)
train = rng.random(len(y)) < 0.2
bank = [kh.Normalized(kh.Linear()), kh.Normalized(kh.Polynomial(degree=2, offset=1.0))]
for relation in ("independent", "functions"):
    model = kh.MTONMKLClassifier(
        kernels=bank, formulation="corrected", beta=0.02, relation=relation
    ).fit(X[train], y[train], task=task[train])
    accuracy = model.score(X[~train], y[~train], task=task[~train])
    print(f"{type(X).__name__}, relation {relation}: accuracy {accuracy:.3f}")

# %%
figure = model.plot_sharing().figure
