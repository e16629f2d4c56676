"""Optimal values of the methods' problems from a conic solver; no code of the library."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from tests.references import optimum, square_root


class Dual:
    """The dual vector of one task: its gain, its constraints and ``1/2 v'K^m v``."""

    def __init__(self, Ks, y, C, epsilon=None):
        n = len(y)
        if epsilon is None:
            alpha = cp.Variable(n)
            self.v = cp.multiply(y, alpha)
            self.constraints = [alpha >= 0.0, alpha <= C, cp.sum(self.v) == 0.0]
            self.gain = cp.sum(alpha)
        else:
            self.v = cp.Variable(n)
            self.constraints = [cp.abs(self.v) <= C, cp.sum(self.v) == 0.0]
            self.gain = y @ self.v - epsilon * cp.norm1(self.v)
        self.curvatures = [0.5 * cp.sum_squares(square_root(K).T @ self.v) for K in Ks]


def maximum(duals, price):
    """Return the largest total gain minus a price."""
    gain = sum(dual.gain for dual in duals)
    constraints = [one for dual in duals for one in dual.constraints]
    return optimum(cp.Problem(cp.Maximize(gain - price), constraints))


def independent(dual, p):
    """Return the optimum of |theta|_p <= 1 through the dual norm."""
    bounds = cp.Variable(len(dual.curvatures))
    dual.constraints += [q <= bounds[m] for m, q in enumerate(dual.curvatures)]
    norm = np.inf if p == 1.0 else 1.0 if np.isinf(p) else p / (p - 1.0)
    return maximum([dual], cp.pnorm(bounds, norm))


def shared(duals, budget):
    """Return the optimum of MT-MKL."""
    n_kernels = len(duals[0].curvatures)
    together = [sum(dual.curvatures[m] for dual in duals) for m in range(n_kernels)]
    own = sum(cp.maximum(*dual.curvatures) for dual in duals)
    return maximum(duals, budget * cp.maximum(*together) + (1.0 - budget) * own)


def near_one_kernel(dual, rho):
    """Return the optimum of RPKL, a dual of degree four."""
    quartic = cp.square(cp.sum_squares(dual.v)) / (16.0 * rho)
    return maximum([dual], dual.curvatures[0] + quartic)


def near_a_combination(dual, rho):
    """Return the optimum of ONJKL."""
    quartic = cp.square(cp.sum_squares(dual.v)) / (8.0 * rho)
    return maximum([dual], cp.maximum(*dual.curvatures) + quartic)


def aligned(Ks, y, C, eta, epsilon=None):
    """Return the optimum of KTA from its primal form, a function for every kernel."""
    theta, intercept = cp.Variable(len(Ks), nonneg=True), cp.Variable()
    functions = [cp.Variable(len(y)) for _ in Ks]
    norms = cp.Variable(len(Ks))
    cones = [cp.quad_over_lin(w, 2.0 * theta[m]) <= norms[m] for m, w in enumerate(functions)]
    values = sum(square_root(K) @ w for K, w in zip(Ks, functions, strict=True)) + intercept
    if epsilon is None:
        loss = cp.pos(1.0 - cp.multiply(y, values))
    else:
        loss = cp.pos(cp.abs(y - values) - epsilon)
    distance = Ks.reshape(len(Ks), -1).T @ theta - np.outer(y, y).ravel()
    cost = cp.sum(norms) + C * cp.sum(loss) + 0.5 * eta * cp.sum_squares(distance)
    return optimum(cp.Problem(cp.Minimize(cost), cones))


def centred_alignment(Ks, y):
    """Return the weights of alignf, from matrices that are centred one by one."""
    n = len(y)
    H = np.eye(n) - 1.0 / n
    centred = np.array([H @ K @ H for K in Ks]).reshape(len(Ks), -1)
    v = cp.Variable(len(Ks), nonneg=True)
    target = np.outer(y, y).ravel()
    root = square_root(centred @ centred.T)
    optimum(cp.Problem(cp.Minimize(cp.sum_squares(root.T @ v) - 2.0 * (centred @ target) @ v)))
    return v.value / np.linalg.norm(v.value)


def near_matrices(tasks, C, *, eta=None, rho=None, epsilon=None):
    """Return the optimum with given neighborhoods, priced by eta or within rho, and its weights.

    Tasks are tuples (Ks, y, Khat, weight); a sample of weight 2 counts as two.
    """
    cost, differences, cones, weights = 0.0, [], [], []
    for Ks, y, Khat, weight in tasks:
        theta, intercept = cp.Variable(len(Ks), nonneg=True), cp.Variable()
        functions, norms = [cp.Variable(len(y)) for _ in Ks], cp.Variable(len(Ks))
        cones += [cp.quad_over_lin(w, 2.0 * theta[m]) <= norms[m] for m, w in enumerate(functions)]
        values = sum(square_root(K) @ w for K, w in zip(Ks, functions, strict=True)) + intercept
        if epsilon is None:
            loss = cp.pos(1.0 - cp.multiply(y, values))
        else:
            loss = cp.pos(cp.abs(y - values) - epsilon)
        root = np.sqrt(np.outer(weight, weight))
        # The distance is that in the span of the kernels and the matrix, which has few dimensions.
        span = np.linalg.qr((np.concatenate([Ks, Khat[None]]) * root).reshape(len(Ks) + 1, -1).T)[1]
        differences.append(span[:, :-1] @ theta - span[:, -1])
        cost += cp.sum(norms) + C * (weight @ loss)
        weights.append(theta)
    if eta is not None:
        cost += 0.5 * eta * cp.sum_squares(cp.hstack(differences))
    else:
        cones.append(cp.norm(cp.hstack(differences)) <= np.sqrt(rho))
    value = optimum(cp.Problem(cp.Minimize(cost), cones))
    return value, np.array([theta.value for theta in weights])
