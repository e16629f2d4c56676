"""Data and plain reference computations that share no code with the library."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import cvxpy as cp
import numpy as np
from sklearn.svm import SVC, SVR

_CLOSE = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 400}
#: Solvers and their settings, in the order in which they are tried.
ATTEMPTS = [
    (cp.CLARABEL, {}),
    (cp.CLARABEL, {"equilibrate_enable": False}),
    (cp.CLARABEL, _CLOSE),
    (cp.CLARABEL, {"equilibrate_enable": False, **_CLOSE}),
    (cp.SCS, {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 200_000}),
]


def optimum(problem, accuracy=1e-7):
    """Solve a conic problem and return its optimal value, of an accuracy that is verified here.

    What solvers say of their solutions does not count: another one is tried until the error that
    the optimality conditions leave is small enough, relative to the value or to one.
    """
    errors = []
    for solver, settings in ATTEMPTS:
        data, chain, inverse = problem.get_problem_data(solver, solver_opts=dict(settings))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a solution that a solver calls inaccurate
            found = chain.solve_via_data(problem, data, solver_opts=dict(settings))
            errors.append(_error(data, found))
            if errors[-1] <= accuracy:
                problem.unpack_results(found, chain, inverse)
                return float(problem.value)
    raise AssertionError(f"no solver reached an accuracy of {accuracy}: {errors}")


def _error(data, found):
    """Return the relative error of the value of min 1/2 x'Px + c'x, Ax + s = b, s in a cone.

    The gap, and to first order what residuals of the primal and the dual could change.
    """
    if isinstance(found, dict):
        x, s, z = found["x"], found["s"], found["y"]
    else:
        x, s, z = (np.array(part) for part in (found.x, found.s, found.z))
    Px = data["P"] @ x if data.get("P") is not None else np.zeros_like(x)
    primal, dual = 0.5 * x @ Px + data["c"] @ x, -0.5 * x @ Px - data["b"] @ z
    infeasible = np.abs(data["A"] @ x + s - data["b"]) @ np.abs(z)
    not_stationary = np.abs(Px + data["A"].T @ z + data["c"]) @ np.abs(x)
    error = abs(primal - dual) + infeasible + not_stationary
    return error / max(1.0, abs(primal))


class Samples(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    task: np.ndarray


def make_samples(kind="classification", sizes=(14, 22, 9), n_features=3, seed=0):
    """Return tasks of unequal sizes, shuffled, whose targets differ from task to task."""
    rng = np.random.default_rng(seed)
    task = np.repeat([f"task {t}" for t in range(len(sizes))], sizes)
    number = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(task), n_features))
    value = np.sin(2.0 * X[:, 0]) + (number - 1.0) * X[:, 1] + 0.3 * rng.normal(size=len(task))
    if kind == "classification":
        for t in range(len(sizes)):
            value[number == t] -= np.median(value[number == t])
        value = np.where(value > 0.0, 1, -1)
    order = rng.permutation(len(task))
    return Samples(X[order], value[order], task[order])


def square_root(K):
    """Return L with LL' = K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def conic_optimum(Ks, y, *, C, a, f, epsilon=None, weight=None, group=None, cost_factor=1.0):
    """Return the optimal value of problem (P), from its primal conic form.

    The SVM with kernel sum_m theta_m K^m has a function w_m for every kernel, whose squared norm
    is divided by 2 theta_m. epsilon = None stands for the hinge loss. Samples of the same group
    have the same intercept; `cost_factor` multiplies the price of each kernel's trace.
    """
    n = len(y)
    weight = np.ones(n) if weight is None else weight
    group = np.zeros(n, dtype=int) if group is None else group
    theta, intercepts = cp.Variable(len(Ks), nonneg=True), cp.Variable(group.max() + 1)
    functions = [cp.Variable(n) for _ in Ks]
    values = sum(square_root(K) @ w for K, w in zip(Ks, functions, strict=True))
    values = values + np.eye(group.max() + 1)[group] @ intercepts
    if epsilon is None:
        loss = cp.pos(1.0 - cp.multiply(y, values))
    else:
        loss = cp.pos(cp.abs(y - values) - epsilon)
    norms = cp.Variable(len(Ks))
    cones = [cp.quad_over_lin(w, 2.0 * theta[m]) <= norms[m] for m, w in enumerate(functions)]
    flat = (Ks * np.sqrt(np.outer(weight, weight))).reshape(len(Ks), -1)
    traces = np.einsum("mii,i->m", Ks, weight) * cost_factor
    cost = cp.sum(norms) + C * (weight @ loss) + a * (traces @ theta)
    if f > 0.0:
        cost += 0.5 * f * cp.sum_squares(square_root(flat @ flat.T).T @ theta)
    return optimum(cp.Problem(cp.Minimize(cost), cones))


class FixedKernelSVM(NamedTuple):
    v: np.ndarray
    value: float


def svm(K, y, *, C, epsilon=None, tol=1e-9):
    """Solve an SVM (SVR where epsilon is given) with a fixed kernel by LIBSVM."""
    if epsilon is None:
        model = SVC(C=C, kernel="precomputed", tol=tol).fit(K, y)
        v = np.zeros(len(y))
        v[model.support_] = model.dual_coef_[0]
        return FixedKernelSVM(v, float(np.abs(v).sum() - 0.5 * v @ K @ v))
    model = SVR(C=C, epsilon=epsilon, kernel="precomputed", tol=tol).fit(K, y)
    v = np.zeros(len(y))
    v[model.support_] = model.dual_coef_[0]
    return FixedKernelSVM(v, float(y @ v - epsilon * np.abs(v).sum() - 0.5 * v @ K @ v))
