"""What simple models predict for left-out rows: the task's mean, and a linear model of all tasks.

The linear model has a feature for every task beside those of the columns. Both leave out the same
rows as the model that they are compared with, and nothing is fitted again for that: with weights w,
a penalty alpha and M = (X'WX + alpha)^-1, rows g that are left out differ from their prediction by
``(1 - X_g M X_g' W_g)^-1`` times their residuals. For classes that holds for the last step of
Newton's method.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import randomized_svd

from kernelhood._typing import Array, Indices

#: Penalties, of which the best for left-out rows is taken.
_ALPHAS = (1e3, 1e2, 1e1, 1e0, 1e-1, 1e-2)
#: A table with more features is reduced to so many principal components.
_MOST_FEATURES = 200
_LEAST_CURVATURE, _NO_PENALTY = 1e-6, 1e-8


def task_shares(Y: Array, task: Indices, groups: Sequence[Indices]) -> Array:
    """Return the mean of each row's task without the rows of its group.

    Parameters
    ----------
    Y : ndarray of shape (n, n_columns)
        Targets, or indicators of classes.
    task : ndarray of int, shape (n,)
        The task of every row, from 0.
    groups : sequence of ndarray of int
        All rows; those of one group are left out together.

    Returns
    -------
    ndarray of shape (n, n_columns)
        With one row's weight the mean of the other rows of all tasks is part of it.
    """
    group = np.empty(len(Y), dtype=np.intp)
    for number, rows in enumerate(groups):
        group[rows] = number
    pair = np.unique(np.column_stack([task, group]), axis=0, return_inverse=True)[1].ravel()

    def sums(labels: Indices) -> tuple[Array, Array]:
        columns = [np.bincount(labels, column)[labels] for column in Y.T]
        count = np.bincount(labels).astype(np.float64)
        return np.column_stack(columns), count[labels][:, None]

    (total, count), (own, few), (out, some) = sums(task), sums(pair), sums(group)
    overall = (Y.sum(axis=0) - out) / np.maximum(len(Y) - some, 1)
    return np.asarray((total - own + overall) / (count - few + 1.0))


def ridge_left_out(E: Array, task: Indices, y: Array, groups: Sequence[Indices]) -> Array:
    """Return what ridge regression with one-hot tasks predicts for left-out rows.

    Parameters
    ----------
    E : ndarray of shape (n, n_features)
        Features.
    task : ndarray of int, shape (n,)
        The task of every row, from 0.
    y : ndarray of shape (n,)
        Targets.
    groups : sequence of ndarray of int
        All rows; those of one group are left out together.
    """
    X, ones = _features(E), np.ones(len(y))
    found = [y - _residuals(X, task, y, ones, alpha, groups) for alpha in _ALPHAS]
    return found[int(np.argmin([np.mean((y - one) ** 2) for one in found]))]


def logistic_left_out(E: Array, task: Indices, labels: Array, groups: Sequence[Indices]) -> Array:
    """Return the logits that logistic regression with one-hot tasks has for left-out rows.

    Parameters
    ----------
    E, task, groups
        As `ridge_left_out` takes them.
    labels : ndarray of shape (n, n_classes)
        -1 or 1; each column is a classification of its own.
    """
    X, columns = _features(E), []
    for own in labels.T:
        found = [_logits(X, task, own, alpha, groups) for alpha in _ALPHAS]
        losses = [np.mean(np.logaddexp(0.0, -own * one)) for one in found]
        columns.append(found[int(np.argmin(losses))])
    return np.column_stack(columns)


def _logits(X: Array, task: Indices, own: Array, alpha: float, groups: Sequence[Indices]) -> Array:
    if np.ptp(own) == 0.0:  # one class
        return np.asarray(own * np.log(len(own) + 1.0))
    tasks = sparse.csr_array((np.ones(len(task)), (np.arange(len(task)), task)))
    whole = sparse.hstack([X[:, 1:], tasks], format="csr")
    model = LogisticRegression(C=1.0 / alpha, max_iter=200, tol=1e-3)
    with warnings.catch_warnings():  # a baseline may be rough
        warnings.simplefilter("ignore", ConvergenceWarning)
        logit = model.fit(whole, own).decision_function(whole)
    share = expit(logit)
    weight = np.maximum(share * (1.0 - share), _LEAST_CURVATURE)
    z = logit + (0.5 * (own + 1.0) - share) / weight
    return np.asarray(z - _residuals(X, task, z, weight, alpha, groups))


def _features(E: Array) -> Array:
    """Return standardised features, the principal ones of many, and a constant."""
    spread = E.std(axis=0)
    X = (E - E.mean(axis=0))[:, spread > 0.0] / spread[spread > 0.0]
    if X.shape[1] > _MOST_FEATURES:
        U, sizes, _ = randomized_svd(X, _MOST_FEATURES, random_state=0)
        X = U * sizes
    return np.column_stack([np.ones(len(E)), X])


def _residuals(
    X: Array, task: Indices, y: Array, weight: Array, alpha: float, groups: Sequence[Indices]
) -> Array:
    """Return the targets minus what the ridge of all other rows predicts."""
    count = np.bincount(task, weight) + alpha
    inside = np.zeros((len(count), X.shape[1]))
    np.add.at(inside, task, weight[:, None] * X)
    penalty = np.full(X.shape[1], alpha)
    penalty[0] = _NO_PENALTY
    S = X.T @ (weight[:, None] * X) + np.diag(penalty) - inside.T @ (inside / count[:, None])
    rest = X - (inside / count[:, None])[task]
    solved = cho_solve(cho_factor(S), rest.T).T
    level = np.bincount(task, weight * y) / count
    fitted = rest @ (solved.T @ (weight * y)) + level[task]
    residual = y - fitted
    hat = (np.einsum("ij,ij->i", rest, solved) + 1.0 / count[task]) * weight
    found = residual / (1.0 - hat)
    for rows in groups:
        if len(rows) > 1:
            M = rest[rows] @ solved[rows].T + (task[rows, None] == task[rows]) / count[task[rows]]
            found[rows] = np.linalg.solve(np.eye(len(rows)) - M * weight[rows], residual[rows])
    return np.asarray(found)
