"""The paper's matrices, built densely on tiny data: V, A, b, d and Sigma of its propositions.

Rows of V are the entries of all tasks' matrices, its columns the shared kernels followed by every
task's own ones. A = V'V is singular, so its inverse is read as the pseudo-inverse.
"""

import cvxpy as cp
import numpy as np
import pytest

import kernelhood as kh
from tests.references import make_samples, optimum, svm

SIZES = (6, 8)
BANK = kh.KernelBank([kh.Normalized(kh.Linear()), kh.Gaussian(0.7), kh.Gaussian(2.0)])


def fit(kind, formulation, eta, beta, C=2.0):
    samples = make_samples(kind, sizes=SIZES)
    made = {"classification": kh.MTONMKLClassifier, "regression": kh.MTONMKLRegressor}[kind]
    model = made(kernels=BANK, C=C, eta=eta, beta=beta, formulation=formulation, tol=1e-10)
    return samples, model.fit(samples.X, samples.y, task=samples.task)


def dense(samples, names):
    """Return the stacks of kernel matrices, V, d and the projection onto V's span."""
    stacks = [BANK(samples.X[samples.task == name]) for name in names]
    shared = np.vstack([Ks.reshape(len(BANK), -1).T for Ks in stacks])
    n_rows, n_kernels = shared.shape
    V = np.zeros((n_rows, n_kernels * (1 + len(stacks))))
    V[:, :n_kernels] = shared
    start = 0
    for t, Ks in enumerate(stacks):
        rows = slice(start, start + Ks.shape[1] ** 2)
        V[rows, n_kernels * (t + 1) : n_kernels * (t + 2)] = Ks.reshape(n_kernels, -1).T
        start = rows.stop
    identity = np.concatenate([np.eye(Ks.shape[1]).ravel() for Ks in stacks])
    return stacks, V, V.T @ identity, V @ np.linalg.pinv(V, rcond=1e-10)


def entries(samples, model, kernel):
    """Return the entries of all tasks' matrices of a fitted kernel, as V orders them."""
    parts = []
    for name in model.tasks_:
        X = samples.X[samples.task == name]
        parts.append(kernel(X, X, name).ravel())
    return np.concatenate(parts)


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize(("eta", "beta"), [(16.0, 1.0), (7.0, 1.0), (50.0, 0.5)])
def test_the_minimiser_of_printed_is_a_fixed_point_of_the_printed_iteration(kind, eta, beta):
    samples, model = fit(kind, "printed", eta, beta)
    stacks, V, d, P = dense(samples, model.tasks_)
    theta = np.concatenate([model.shared_weights_, model.specific_weights_.ravel()])
    curvatures = []
    for name, Ks, weights in zip(model.tasks_, stacks, model.weights_, strict=True):
        y = samples.y[samples.task == name]
        epsilon = None if kind == "classification" else 0.1
        v = svm(np.tensordot(weights, Ks, axes=1), y, C=2.0, epsilon=epsilon).v
        curvatures.append(0.5 * np.einsum("i,mij,j->m", v, Ks, v))
    q = np.concatenate([np.sum(curvatures, axis=0), *curvatures])

    # Neighborhood step: vhat minimises vhat' Sigma vhat - 2 a'vhat.
    Sigma = (eta - 4.0 * beta) * np.eye(len(V)) + 0.5 * beta * P
    gamma = np.linalg.pinv(V.T @ V, rcond=1e-12) @ d
    a = 0.5 * (eta * V @ theta - beta * V @ gamma)
    vhat = np.linalg.solve(Sigma, a)
    np.testing.assert_allclose(entries(samples, model, model.neighborhood_kernel), vhat, atol=1e-6)

    # Weight step: theta minimises theta'A theta - theta'(b + q) over theta >= 0.
    b = 2.0 * V.T @ vhat
    step = cp.Variable(V.shape[1], nonneg=True)
    optimum(cp.Problem(cp.Minimize(cp.sum_squares(V @ step) - (b + q) @ step)), accuracy=1e-10)
    np.testing.assert_allclose(V @ step.value, V @ theta, atol=1e-4)
    slope = 2.0 * V.T @ (V @ theta) - b - q
    assert slope.min() >= -1e-4
    assert abs(slope @ theta) <= 1e-4


NEIGHBORHOODS = [
    ("corrected", 16.0, 1.0, 2.0),
    ("corrected", 3.0, 1.0, 2.0),
    ("normalized", 16.0, 1.0, 4.0),
    ("normalized", 5.0, 1.0, 4.0),
]


@pytest.mark.parametrize(("formulation", "eta", "beta", "c_factor"), NEIGHBORHOODS)
def test_the_closed_form_minimises_the_dense_neighborhood_problem(formulation, eta, beta, c_factor):
    """Minimise eta/2 |K - Khat|^2 + beta/2 Omega(Khat) over all matrices, not only the span.

    With b = 2V'vhat the part of the bound that depends on Khat is
    Omega = d'A+b + b'A+b / 2 - c_factor |vhat|^2, where 2 is one half of 4 and the paper prints 4.
    """
    samples, model = fit("classification", formulation, eta, beta)
    _, V, d, P = dense(samples, model.tasks_)
    kernel = entries(samples, model, model.task_kernel)
    projected_identity = V @ np.linalg.pinv(V.T @ V, rcond=1e-12) @ d
    hessian = eta * np.eye(len(V)) + beta * (2.0 * P - c_factor * np.eye(len(V)))
    assert np.linalg.eigvalsh(hessian).min() > 0.0
    vhat = np.linalg.solve(hessian, eta * kernel - beta * projected_identity)
    np.testing.assert_allclose(entries(samples, model, model.neighborhood_kernel), vhat, atol=1e-8)
