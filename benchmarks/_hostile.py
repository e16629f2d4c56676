"""Random problems and models for `certificates.py`, and what a fitted model is truly worth.

Problems are ordinary, or have one to three troubles that solvers dislike. The value of a model is
computed from its public attributes alone, and is an upper bound of the optimum whatever they are.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

import kernelhood as kh

Random = np.random.Generator

#: The name of each method, its pair of estimators, and what sets it apart.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "ITL": ("ITL", {}),
    "AVMTMKL": ("AVMTMKL", {}),
    "MT-MKL": ("MTMKL", {}),
    "RPKL": ("RPKL", {}),
    "ONJKL": ("ONJKL", {}),
    "KTA": ("KTA", {}),
    "Pooled": ("Pooled", {}),
    "corrected": ("MTONMKL", {"formulation": "corrected"}),
    "printed": ("MTONMKL", {"formulation": "printed"}),
    "normalized": ("MTONMKL", {"formulation": "normalized"}),
    "corrected-functions": ("MTONMKL", {"formulation": "corrected", "relation": "functions"}),
    "normalized-functions": ("MTONMKL", {"formulation": "normalized", "relation": "functions"}),
    "corrected-mixed": ("MTONMKL", {"formulation": "corrected", "relation": "mixed"}),
    "normalized-mixed": ("MTONMKL", {"formulation": "normalized", "relation": "mixed"}),
    "neighborhood": ("MTONMKL", {"formulation": "corrected", "neighborhood": kh.Gaussian(2.0)}),
}

#: Their gaps are relative to the objective of a task, which only one task's fit shows.
ONE_TASK = ("KTA", "printed", "neighborhood")

#: Methods that price the distance of a kernel from a matrix that is given.
DISTANCES = ("KTA", "neighborhood")

#: Weights that are not learned, and problems whose samples are solved all together.
FIXED_WEIGHTS = ("AVMTMKL", "Pooled", "RPKL")
SHARED = ("corrected-functions", "corrected-mixed")
JOINT = ("Pooled", *SHARED)

ROUNDING = float(np.finfo(np.float64).eps)

#: What can be wrong with a problem, by the kind of targets: 0 for any.
TROUBLES = {
    "duplicate kernels": 0,
    "near-duplicate kernels": 0,
    "scaled kernels": 0,
    "zero kernel": 0,
    "offset": 0,
    "constant column": 0,
    "equal rows": 0,
    "unscaled columns": 0,
    "scaled targets": "regression",
    "targets in the tube": "regression",
    "imbalanced": "classification",
    "lone sample": "classification",
}


@dataclass(frozen=True)
class Problem:
    """Data, kernels and all else that a model needs to know of them.

    Attributes
    ----------
    kind : {"classification", "regression"}
        The loss.
    X, y, task : ndarray
        As `fit` takes them; classes are -1 and 1.
    bank : list of Kernel
        The kernels.
    scale : float
        Of the targets.
    troubles : tuple of str
        Names from `TROUBLES`.
    """

    kind: str
    X: np.ndarray
    y: np.ndarray
    task: np.ndarray
    bank: list[kh.Kernel]
    scale: float = 1.0
    troubles: tuple[str, ...] = ()


def log_uniform(rng: Random, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def draw_problem(rng: Random, hostile: bool, one_task: bool) -> Problem:
    """Return a problem, with one to three troubles where it is hostile."""
    kind = str(rng.choice(["classification", "regression"]))
    n, n_features = int(10.0 * 30.0 ** rng.uniform() ** 1.3), int(rng.integers(1, 9))
    n_tasks = 1 if one_task else int(rng.integers(1, min(6, n // 4) + 1))
    task = np.sort(
        np.concatenate([np.tile(np.arange(n_tasks), 4), rng.integers(0, n_tasks, n)])[:n]
    )
    fitting = [name for name, only in TROUBLES.items() if only in (0, kind)]
    count = int(rng.integers(1, 4)) if hostile else 0
    troubles = tuple(str(name) for name in rng.choice(fitting, size=count, replace=False))
    X = rng.normal(size=(n, n_features))
    if "equal rows" in troubles:
        X = X[rng.integers(0, max(2, n // 5), size=n)]
    own = rng.normal(size=(n_tasks, n_features))[task]
    y = np.sin(2.0 * X @ rng.normal(size=n_features)) + np.sum(own * X, axis=1)
    y += rng.choice([0.1, 0.5]) * rng.normal(size=n)
    X = _spoil_inputs(rng, X, troubles)
    problem = Problem(kind, X, y, task, _draw_bank(rng), 1.0, troubles)
    return _spoil_kernels(rng, _spoil_targets(rng, problem))


def _draw_bank(rng: Random) -> list[kh.Kernel]:
    """Return the default bank, or a small one of kernels that are normalised or not."""
    if rng.uniform() < 0.5:
        return list(kh.default_bank())
    spreads = 2.0 ** rng.uniform(-1.0, 4.0, size=rng.integers(1, 5))
    bank: list[kh.Kernel] = [kh.Gaussian(float(spread)) for spread in spreads]
    others = [kh.Linear(), kh.Polynomial(2), kh.Polynomial(3, 0.5)][: rng.integers(0, 4)]
    normalized = rng.uniform() < 0.5
    return bank + [kh.Normalized(one) if normalized else one for one in others]


def _spoil_inputs(rng: Random, X: np.ndarray, troubles: tuple[str, ...]) -> np.ndarray:
    if "unscaled columns" in troubles:
        X = X * 10.0 ** rng.uniform(-3.0, 3.0, size=X.shape[1])
    if "offset" in troubles:
        X = X + log_uniform(rng, 1e3, 1e7) * rng.choice([-1.0, 1.0], size=X.shape[1])
    if "constant column" in troubles:
        X = np.column_stack([X, np.full(len(X), log_uniform(rng, 1e-2, 1e4))])
    return X


def _spoil_targets(rng: Random, problem: Problem) -> Problem:
    """Turn the signal into targets of the problem's kind."""
    y, task, scale = problem.y, problem.task, 1.0
    if problem.kind == "classification":
        return replace(problem, y=_classes(rng, y, task, problem.troubles))
    if "scaled targets" in problem.troubles:
        scale = log_uniform(rng, 1e-6, 1e6)
    if "targets in the tube" in problem.troubles:
        y = 1e-3 * y / np.abs(y).max()
    return replace(problem, y=scale * y, scale=scale)


def _classes(
    rng: Random, signal: np.ndarray, task: np.ndarray, troubles: tuple[str, ...]
) -> np.ndarray:
    """Return -1 and 1, both in every task, and twice unless that is the trouble."""
    y = np.empty(len(signal))
    lone = int(rng.integers(0, task[-1] + 1)) if "lone sample" in troubles else -1
    share = rng.uniform(0.02, 0.1) if "imbalanced" in troubles else rng.uniform(0.3, 0.7)
    for name in range(task[-1] + 1):
        rows = np.flatnonzero(task == name)
        rank = np.argsort(np.argsort(signal[rows]))
        least = 1 if "imbalanced" in troubles else 2
        count = int(np.clip(round(share * len(rows)), least, len(rows) - least))
        count = 1 if name == lone else count
        y[rows] = np.where(rank < count, 1, -1)
    return y * rng.choice([-1, 1])


def _spoil_kernels(rng: Random, problem: Problem) -> Problem:
    X, bank, troubles = problem.X, list(problem.bank), problem.troubles
    if "duplicate kernels" in troubles:
        bank += [bank[place] for place in rng.integers(0, len(bank), size=rng.integers(1, 4))]
    if "near-duplicate kernels" in troubles:
        spreads = [one.spread for one in bank if isinstance(one, kh.Gaussian)]
        bank += [kh.Gaussian(spread * (1.0 + 1e-7)) for spread in spreads[:3]]
    if "zero kernel" in troubles:
        X = np.column_stack([X, np.zeros(len(X))])
        bank.insert(int(rng.integers(0, len(bank) + 1)), kh.Linear(columns=[X.shape[1] - 1]))
    if "scaled kernels" in troubles:
        scales = 10.0 ** rng.uniform(-6.0, 6.0, size=len(bank))
        Ks = kh.KernelBank(bank)(X)
        bank = [kh.Precomputed(s * (K + K.T) / 2.0) for s, K in zip(scales, Ks, strict=True)]
        X = np.arange(len(X), dtype=np.float64)[:, None]
    return replace(problem, X=X, bank=bank)


def draw_model(rng: Random, method: str, problem: Problem) -> Any:
    """Return an estimator with random hyper-parameters in the method's domain."""
    name, settings = METHODS[method]
    settings = dict(settings, kernels=problem.bank, C=2.0 ** rng.uniform(-8.0, 10.0))
    if problem.kind == "regression":
        inside = "targets in the tube" in problem.troubles
        narrow = rng.choice([0.0, log_uniform(rng, 1e-3, 0.5)], p=[0.1, 0.9])
        settings["epsilon"] = float(problem.scale * (0.1 if inside else narrow))
    beta, excess = 2.0 ** rng.uniform(-12.0, 6.0), 10.0 ** rng.uniform(-4.0, 3.0)
    if name == "MTONMKL":
        least = {"printed": 7.0, "normalized": 2.0}.get(settings["formulation"], 0.0)
        eta = least * beta * (1.0 + excess) if least else 2.0 ** rng.uniform(-4.0, 10.0)
        settings |= {"beta": beta, "eta": eta}
        if method == "neighborhood":
            settings["eta"] = log_uniform(rng, 1e-6, 1e4)
        if "relation" in settings:
            cost = float(rng.choice([1.0, log_uniform(rng, 1.0, 30.0), np.inf]))
            functions = settings["relation"] == "functions"
            kind = kh.relations.SharedFunctions if functions else kh.relations.Mixed
            settings["relation"] = kind(specific_cost=cost)
            settings["intercept"] = str(rng.choice(["task", "common"]))
    elif name == "KTA":
        settings["eta"] = log_uniform(rng, 1e-6, 1e2)
    elif name == "ITL":
        settings["p"] = float(rng.choice([1.0, 1.5, 2.0, 4.0]))
    elif name == "MTMKL":
        settings["sharing_budget"] = float(rng.choice([0.0, 1.0, rng.uniform()], p=[0.1, 0.1, 0.8]))
    elif name in ("ONJKL", "RPKL"):
        settings["rho"] = log_uniform(rng, 1e-3, 1e4)
    if name == "RPKL":
        own = problem.bank[int(rng.integers(len(problem.bank)))]
        gaussian = rng.uniform() < 0.5 and "scaled kernels" not in problem.troubles
        settings |= {"kernels": None if gaussian else [own]}
        settings["spread_level"] = int(rng.integers(1, 4))
    ending = "Classifier" if problem.kind == "classification" else "Regressor"
    return getattr(kh, name + ending)(**settings)


@cache
def warm_up() -> None:
    """Compile, once in a process, what can be compiled before the clock starts."""
    rng = np.random.default_rng(0)
    for method in METHODS:
        problem = draw_problem(rng, False, method in ONE_TASK)
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            draw_model(rng, method, problem).fit(problem.X, problem.y, task=problem.task)


@dataclass(frozen=True)
class Value:
    """The objective of a point for each part of a problem, and what rounding may do to it."""

    total: np.ndarray
    svm: np.ndarray
    slack: np.ndarray


def svm_value(
    K: np.ndarray, v: np.ndarray, y: np.ndarray, groups: np.ndarray, model: Any
) -> tuple[float, float]:
    """Return the SVM's primal value at the function of v with the best intercepts, and its slack.

    The loss is piecewise linear in an intercept, so that the best one is at one of its corners.
    """
    f, size = K @ v, np.abs(K) @ np.abs(v)
    loss, epsilon = 0.0, getattr(model, "epsilon", None)
    for group in np.unique(groups):
        rest, own = (y - f)[groups == group], y[groups == group]
        if epsilon is None:
            losses = np.maximum(0.0, own * (rest - rest[:, None]))
        else:
            corners = np.concatenate([rest - epsilon, rest + epsilon])
            losses = np.maximum(0.0, np.abs(rest - corners[:, None]) - epsilon)
        loss += float(losses.sum(axis=1).min())
    slack = len(y) * ROUNDING * (np.abs(v) @ size + model.C * np.sum(size + np.abs(y)))
    return 0.5 * float(v @ f) + model.C * loss, float(slack)


def feasible_weights(method: str, model: Any, n_kernels: int) -> np.ndarray:
    """Return a model's weights, a row for each task, moved into the method's set by rounding."""

    def of_sum(weights: np.ndarray, total: float) -> np.ndarray:
        sums = weights.sum(axis=-1, keepdims=True)
        equal = np.full_like(weights, 1.0 / n_kernels)
        return total * np.where(sums > 0.0, weights / np.where(sums > 0.0, sums, 1.0), equal)

    theta = np.maximum(model.weights_, 0.0)
    if method == "ITL":
        norms = np.linalg.norm(theta, ord=model.p, axis=1, keepdims=True)
        return theta / np.maximum(norms, 1.0)
    if method == "MT-MKL":
        shared, budget = np.maximum(model.shared_weights_, 0.0), model.sharing_budget
        return of_sum(shared, budget) + of_sum(np.maximum(theta - shared, 0.0), 1.0 - budget)
    if method == "ONJKL":
        return of_sum(theta, 1.0)
    return np.full((len(theta), n_kernels), 1.0 / n_kernels) if method in FIXED_WEIGHTS else theta


def wanted_matrix(method: str, model: Any, problem: Problem) -> np.ndarray:
    """Return the matrix that the kernel of a single task is to be near to."""
    if method == "KTA":
        return np.outer(problem.y, problem.y)
    return np.asarray(model.neighborhood(problem.X))


def distance_constant(method: str, model: Any, problem: Problem) -> float:
    """Return the part of a priced distance that no weights change."""
    if method not in DISTANCES:
        return 0.0
    return 0.5 * model.eta * float(np.sum(wanted_matrix(method, model, problem) ** 2))


def penalty(method: str, model: Any, theta: np.ndarray, Ks: np.ndarray, problem: Problem) -> float:
    """Return what the weights of a task cost; distances without their constant."""
    linear, quadratic = np.zeros(len(theta)), 0.0
    if method == "corrected":
        linear = model.beta * np.einsum("mii->m", Ks)
    elif method == "printed":
        rest = 2.0 * model.eta - 7.0 * model.beta
        linear = 2.0 * model.beta / rest * np.einsum("mii->m", Ks)
        quadratic = 2.0 * (model.eta - 7.0 * model.beta) / rest
    elif method in DISTANCES:
        near = np.tensordot(Ks, wanted_matrix(method, model, problem), 2)
        linear, quadratic = -model.eta * near, model.eta
    K = np.tensordot(theta, Ks, 1)
    return float(linear @ theta + 0.5 * quadratic * np.sum(K * K))


def shared_functions(model: Any, problem: Problem, Ks: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the kernel between the samples of all tasks, and what its weights cost."""
    mu, own = np.maximum(model.shared_weights_, 0.0), np.maximum(model.specific_weights_, 0.0)
    if len(own) == 1:
        mu = mu + own[0]  # the same kernel, at a price that is no less
    price = model.relation.specific_cost
    if np.isinf(price) or len(own) == 1:
        own = np.zeros_like(own)
    K, cost = np.tensordot(mu, Ks, 1), float(mu @ np.einsum("mii->m", Ks))
    for number, weights in enumerate(own):
        rows = np.flatnonzero(problem.task == number)
        block = np.tensordot(weights, Ks[:, rows[:, None], rows], 1)
        K[rows[:, None], rows] += block
        cost += float(np.trace(block)) * (price if block.any() else 0.0)
    return K, model.beta * cost


def value_of(method: str, model: Any, problem: Problem, stacks: list[np.ndarray]) -> Value:
    """Return the objective of a fitted model, an upper bound of the optimum."""
    all_v, found = np.zeros(len(problem.y)), []
    for support, coefficients in zip(model.support_, model.dual_coef_, strict=True):
        all_v[support] = coefficients
    weights = feasible_weights(method, model, len(stacks[0]))
    for number, (rows, Ks) in enumerate(zip(parts_of(method, problem), stacks, strict=True)):
        v, y, groups = all_v[rows], problem.y[rows], np.zeros(len(rows))
        if method in SHARED:
            K, cost = shared_functions(model, problem, Ks)
            groups = problem.task if model.intercept == "task" else groups
        else:
            K = np.tensordot(weights[number], Ks, 1)
            cost = penalty(method, model, weights[number], Ks, problem)
        tau = 0.0
        if method in ("ONJKL", "RPKL"):
            rho = model.rho * (2.0 if method == "RPKL" else 1.0)
            tau = best_noise(K, v, y, groups, model, rho)
            cost, K = 0.5 * rho * tau**2, K + tau * np.eye(len(rows))
        svm, slack = svm_value(K, v, y, groups, model)
        if method in DISTANCES:
            constant = distance_constant(method, model, problem)
            slack += 8.0 * ROUNDING * (constant + len(y) * abs(cost))
        found.append((svm + cost, svm, slack))
    total, svm, slack = np.array(found).T
    if method == "MT-MKL":
        total, svm, slack = (
            total.sum(keepdims=True),
            svm.sum(keepdims=True),
            slack.sum(keepdims=True),
        )
    return Value(total, svm, slack)


def best_noise(
    K: np.ndarray, v: np.ndarray, y: np.ndarray, groups: np.ndarray, model: Any, rho: float
) -> float:
    """Return the weight of the identity beside K, of price rho/2 weight^2, that is best for v."""

    def value(tau: float) -> float:
        noisy = K + tau * np.eye(len(K))
        return svm_value(noisy, v, y, groups, model)[0] + 0.5 * rho * tau**2

    tau = float(v @ v) / (2.0 * rho)
    near = minimize_scalar(value, bounds=(0.9 * tau, 1.1 * tau), method="bounded").x
    return float(min([tau, near], key=value))


def parts_of(method: str, problem: Problem) -> list[np.ndarray]:
    """Return the rows of each problem that is solved on its own, or whose kernels are apart."""
    if method in JOINT:
        return [np.arange(len(problem.y))]
    return [np.flatnonzero(problem.task == name) for name in np.unique(problem.task)]


def stacks_of(method: str, model: Any, problem: Problem) -> list[np.ndarray]:
    """Return the kernel matrices of every part."""
    parts = parts_of(method, problem)
    banks = [model.kernels] * len(parts)
    if model.kernels is None:
        banks = [[kh.Gaussian(float(np.sqrt(0.5 * s)) if s > 0.0 else 1.0)] for s in model.sigmas_]
    pairs = zip(banks, parts, strict=True)
    return [kh.KernelBank(bank)(problem.X[rows]) for bank, rows in pairs]
