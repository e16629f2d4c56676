"""Shared functions help tasks that are alike and do little harm to those that are not."""

import numpy as np

import kernelhood as kh
from kernelhood.relations import SharedFunctions


def related(relatedness, *, n_outliers=0, seed=0):
    data = kh.datasets.make_multitask(
        8,
        60,
        kind="regression",
        relatedness=relatedness,
        n_outliers=n_outliers,
        noise=0.1,
        random_state=seed,
    )
    split = kh.TaskShuffleSplit(1, test_size=0.7, random_state=seed)
    train, test = next(split.split(data.X, data.y, task=data.task))
    return data.X, data.y, data.task, train, test


def scores_of(data, **settings):
    """Return each task's R^2 on the test part, hyper-parameters chosen on the training part."""
    X, y, task, train, test = data
    grid = {"beta": [2.0**k for k in range(-14, 1, 3)]}
    if settings["relation"] == "functions":
        grid["relation"] = [SharedFunctions(cost) for cost in (1.0, 2.0, 8.0, np.inf)]
    search = kh.KernelSearchCV(kh.MTONMKLRegressor(kernels="paper", **settings), grid, cv=3)
    search.fit(X[train], y[train], task=task[train])
    model, names = search.best_estimator_, np.unique(task)
    scores = {}
    for name in names:
        rows = test[task[test] == name]
        scores[name] = model.score(X[rows], y[rows], task=task[rows])
    return scores


def means(scores):
    return np.mean(list(scores.values()))


def test_related_tasks_gain():
    data = related(1.0)
    assert (
        means(scores_of(data, relation="functions"))
        > means(scores_of(data, relation="independent")) + 0.05
    )


def test_unrelated_tasks_lose_no_more_than_noise():
    data = related(0.0)
    alone, together = scores_of(data, relation="independent"), scores_of(data, relation="functions")
    differences = np.array([together[name] - alone[name] for name in alone])
    assert differences.mean() > -2.0 * differences.std() / np.sqrt(len(differences)) - 0.02


def test_one_outlier_does_not_spoil_the_rest():
    data = related(1.0, n_outliers=1)
    alone, together = scores_of(data, relation="independent"), scores_of(data, relation="functions")
    *others, outlier = sorted(alone)
    gains = np.array([together[name] - alone[name] for name in others])
    assert gains.mean() > 0.02
    assert together[outlier] > alone[outlier] - 0.1
