"""The paper's iteration, taken literally, against the problem that its fixed points solve."""

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.paper import literal_iteration
from tests.references import make_samples

NARROW = kh.KernelBank([kh.Linear(), kh.Gaussian(0.7), kh.Gaussian(2.0)])
KINDS = {"classification": kh.MTONMKLClassifier, "regression": kh.MTONMKLRegressor}


def pose(kind, bank):
    """Return samples, kernel matrices and targets by task, and epsilon if there is one."""
    samples = make_samples(kind)
    rows = [samples.task == name for name in sorted(set(samples.task.tolist()))]
    told = {"epsilon": 0.1} if kind == "regression" else {}
    return samples, [bank(samples.X[own]) for own in rows], [samples.y[own] for own in rows], told


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eta", [16.0, 64.0])
def test_where_it_settles_it_ends_at_the_minimiser(kind, eta):
    samples, stacks, targets, told = pose(kind, NARROW)
    settings = {"C": 1.0, "eta": eta, "beta": 1.0, **told}
    found = literal_iteration(stacks, targets, **settings)
    assert found.ending == "settled"
    model = KINDS[kind](kernels=NARROW, formulation="printed", tol=1e-9, **settings)
    model.fit(samples.X, samples.y, task=samples.task)
    for t, Ks in enumerate(stacks):
        name = f"task {t}"
        X = samples.X[samples.task == name]
        for weights, wanted in (
            (found.weights[-1][t], model.task_kernel(X, X, name)),
            (found.neighborhoods[t], model.neighborhood_kernel(X, X, name)),
        ):
            away = np.linalg.norm(np.tensordot(weights, Ks, axes=1) - wanted)
            assert away <= 1e-3 * np.linalg.norm(wanted)


@pytest.mark.parametrize(("kind", "C"), [("classification", 100.0), ("regression", 10.0)])
def test_at_a_large_cost_it_cycles_and_the_solver_does_not(kind, C):
    samples, stacks, targets, told = pose(kind, kh.default_bank())
    settings = {"C": C, "eta": 1024.0, "beta": 1.0, **told}
    found = literal_iteration(stacks, targets, max_iter=100, **settings)
    assert found.ending == "cycle"
    last, before = found.weights[-1], found.weights[-2]
    assert np.linalg.norm(last - before) > 0.1 * np.linalg.norm(last)
    np.testing.assert_allclose(last, found.weights[-3], atol=1e-2 * np.abs(last).max())
    model = KINDS[kind](kernels="paper", formulation="printed", tol=1e-6, **settings)
    assert model.fit(samples.X, samples.y, task=samples.task).dual_gap_ <= 1e-6


def test_at_the_edge_that_print_allows_the_weights_grow_without_end():
    _, stacks, targets, _ = pose("classification", NARROW)
    found = literal_iteration(stacks, targets, C=1.0, eta=4.0, beta=1.0)
    assert found.ending == "grows"
    sizes = np.linalg.norm(found.weights, axis=(1, 2))
    assert sizes[-1] == pytest.approx(4.0 * sizes[-2], rel=1e-3)


def test_rounds_are_limited():
    _, stacks, targets, _ = pose("classification", NARROW)
    found = literal_iteration(stacks, targets, C=1.0, eta=16.0, beta=1.0, max_iter=2)
    assert found.ending == "open"
    assert found.weights.shape == (3, 3, 3)
