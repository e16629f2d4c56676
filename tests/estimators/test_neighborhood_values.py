"""What may be given as a neighborhood, what is refused, and what an inspection tells."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import GridSearchCV

import kernelhood as kh
from kernelhood.estimators.given_neighborhood import checked_matrix
from kernelhood.inspection.model import monte_carlo_complexity
from tests.references import make_samples

BANK = kh.KernelBank([kh.Linear(), kh.Gaussian(1.0), kh.Gaussian(3.0)])
X, Y, TASK = make_samples("regression")
NAMES = list(np.unique(TASK))


def model(**options):
    options.setdefault("neighborhood", kh.Gaussian(2.0))
    options.setdefault("tol", 1e-7)
    return kh.MTONMKLRegressor(kernels=BANK, C=5.0, **options)


def rows(name):
    return np.flatnonzero(name == TASK)


def matrices(kernel):
    return {name: kernel(X[rows(name)]) for name in NAMES}


def same(one, other):
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-6)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-2, atol=1e-3)


MIXTURE = (kh.KernelBank([kh.Gaussian(2.0), kh.Linear()]), [2.0, -0.5])


def mixed(X):
    return 2.0 * kh.Gaussian(2.0)(X) - 0.5 * kh.Linear()(X)


@pytest.mark.parametrize(
    ("given", "kernel"),
    [
        (kh.Gaussian(2.0), kh.Gaussian(2.0)),
        (kh.KernelBank([kh.Gaussian(2.0)]), kh.Gaussian(2.0)),
        ("laplacian", laplacian_kernel),
        (laplacian_kernel, laplacian_kernel),
        (MIXTURE, mixed),
        (([kh.Gaussian(2.0), "linear"], [2.0, -0.5]), mixed),
    ],
    ids=["kernel", "bank of one", "name", "function", "combination", "list and weights"],
)
@pytest.mark.parametrize("form", [{"eta": 0.5}, {"radius": 2000.0}])
def test_every_way_to_give_a_kernel_is_its_matrices(given, kernel, form):
    one = model(neighborhood=given, **form).fit(X, Y, task=TASK)
    other = model(neighborhood=matrices(kernel), **form).fit(X, Y, task=TASK)
    same(one, other)
    Z = X[:4]
    expected = kernel(np.vstack([Z, X[4:9]]))[:4, 4:]
    np.testing.assert_allclose(one.neighborhood_kernel(Z, X[4:9], NAMES[0]), expected, atol=1e-12)
    np.testing.assert_allclose(one.alignment(), other.alignment(), atol=1e-3)


def test_sparse_points():
    dense = model().fit(X, Y, task=TASK)
    thin = model().fit(sparse.csr_matrix(X), Y, task=TASK)
    assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-5)


def test_beta_and_formulation_play_no_part():
    first = model(eta=1.0).fit(X, Y, task=TASK)
    for options in ({"beta": 1e6}, {"formulation": "printed"}, {"formulation": "corrected"}):
        same(first, model(eta=1.0, **options).fit(X, Y, task=TASK))
    constrained = model(radius=50.0).fit(X, Y, task=TASK)
    same(constrained, model(radius=50.0, eta=1e-6).fit(X, Y, task=TASK))


def test_columns_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = model(neighborhood=kh.Gaussian(2.0, columns=["b"])).fit(frame, Y, task=TASK)
    same(named, model(neighborhood=kh.Gaussian(2.0, columns=[1])).fit(X, Y, task=TASK))


def test_tasks_as_columns_of_targets():
    wide = np.column_stack([Y, -Y])
    wide[0, 1] = np.nan
    kernel = kh.Gaussian(2.0)
    given = {0: kernel(X), 1: kernel(X[1:])}
    one = kh.MTONMKLRegressor(kernels=BANK, neighborhood=given, eta=1.0, tol=1e-7).fit(X, wide)
    same(
        one, kh.MTONMKLRegressor(kernels=BANK, neighborhood=kernel, eta=1.0, tol=1e-7).fit(X, wide)
    )


# An earlier model.


@pytest.mark.parametrize("method", [kh.MTONMKLRegressor, kh.ITLRegressor, kh.MTMKLRegressor])
def test_an_old_model_stands_for_its_kernels(method):
    old = method(kernels=BANK, C=5.0).fit(X, Y, task=TASK)
    names = np.where(NAMES[1] == TASK, NAMES[1], "new")
    new = model(neighborhood=old, eta=0.5).fit(X, Y, task=names)
    own, fresh = rows(NAMES[1]), np.flatnonzero(names == "new")
    given = {
        NAMES[1]: old.task_kernel(X[own], X[own], NAMES[1]),
        "new": np.mean([old.task_kernel(X[fresh], X[fresh], one) for one in NAMES], axis=0),
    }
    same(new, model(neighborhood=given, eta=0.5).fit(X, Y, task=names))
    learned = new.neighborhood_kernel(X[:3], X[3:5], NAMES[1])
    np.testing.assert_allclose(learned, old.task_kernel(X[:3], X[3:5], NAMES[1]))


def test_an_old_model_whose_tasks_have_their_own_banks():
    old = kh.RPKLRegressor(C=5.0).fit(X, Y, task=TASK)
    new = model(neighborhood=old, eta=0.5).fit(X, Y)
    expected = np.mean([old.task_kernel(X, X, one) for one in NAMES], axis=0)
    same(new, model(neighborhood={0: expected}, eta=0.5).fit(X, Y))


def test_another_bank_than_that_of_the_old_model():
    old = kh.MTONMKLRegressor(kernels="paper").fit(X, Y, task=TASK)
    new = model(neighborhood=old, eta=1.0).fit(X, Y, task=TASK)
    assert new.weights_.shape == (3, 3)
    assert new.dual_gap_ <= 1e-3


def test_an_old_model_needs_no_data_of_its_own():
    old = kh.MTONMKLRegressor(kernels=BANK).fit(X, Y, task=TASK)
    old.support_vectors_ = [one[:0] for one in old.support_vectors_]
    assert model(neighborhood=old).fit(X, Y, task=TASK).dual_gap_ <= 1e-3


# Errors.


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3.0, "neighborhood must be a kernel, .*got float"),
        (np.eye(4), "neighborhood must be .*got ndarray"),
        ("no such kernel", "neighborhood: unknown kernel name 'no such kernel'"),
        (BANK, r"neighborhood holds 3 kernels .* pair \(kernels, weights\)"),
        ((BANK, [1.0, 2.0]), "neighborhood must have one finite weight for each of its 3 kernels"),
        ((BANK, [1.0, 2.0, np.nan]), "neighborhood must have one finite weight"),
        (
            kh.MTONMKLRegressor(kernels="paper"),
            "neighborhood must be a fitted model, got a MTONMKLRegressor",
        ),
        ({NAMES[0]: np.eye(14)}, "neighborhood has no matrix for the tasks 'task 1', 'task 2'"),
    ],
)
def test_wrong_neighborhoods_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        model(neighborhood=given).fit(X, Y, task=TASK)


def spoiled(change):
    given = matrices(kh.Gaussian(2.0))
    given[NAMES[1]] = change(given[NAMES[1]])
    return given


def with_entry(value):
    def change(K):
        K = K.copy()
        K[0, 3] = value
        return K

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda K: K[1:],
            r"neighborhood of task 'task 1' must have shape \(22, 22\).*got \(21, 22\)",
        ),
        (lambda K: K[1:, 1:], r"must have shape \(22, 22\)"),
        (with_entry(5.0), "neighborhood of task 'task 1' must be symmetric"),
        (with_entry(np.nan), "neighborhood of task 'task 1' must be finite"),
        (
            lambda K: np.full(K.shape, "a"),
            "neighborhood of task 'task 1' must be a matrix of numbers",
        ),
    ],
)
def test_wrong_matrices_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        model(neighborhood=spoiled(change)).fit(X, Y, task=TASK)


def test_functions_that_are_no_kernels_are_refused():
    with pytest.raises(ValueError, match="neighborhood of task 'task 0' must be symmetric"):
        model(neighborhood=lambda X, Z: X[:, :1] - Z[:, 1]).fit(X, Y, task=TASK)
    with pytest.raises(ValueError, match="returned shape"):
        model(neighborhood=lambda X, Z: np.eye(2)).fit(X, Y, task=TASK)


def test_models_of_other_features_are_refused():
    pd = pytest.importorskip("pandas")
    old = kh.MTONMKLRegressor(kernels=BANK).fit(X[:, :2], Y, task=TASK)
    with pytest.raises(ValueError, match="neighborhood is a model of 2 features, but X has 3"):
        model(neighborhood=old).fit(X, Y, task=TASK)
    old = kh.MTONMKLRegressor(kernels=BANK).fit(pd.DataFrame(X, columns=[*"abc"]), Y, task=TASK)
    with pytest.raises(ValueError, match="same names and order"):
        model(neighborhood=old).fit(pd.DataFrame(X, columns=[*"acb"]), Y, task=TASK)


def test_tasks_that_are_coupled_are_refused():
    with pytest.raises(ValueError, match="neighborhood needs tasks that are independent"):
        model(relation="functions").fit(X, Y, task=TASK)


def test_a_radius_without_a_neighborhood_is_refused():
    with pytest.raises(ValueError, match="radius .* give neighborhood"):
        model(neighborhood=None, radius=1.0).fit(X, Y, task=TASK)
    with pytest.raises(ValueError, match="radius"):
        model(radius=-1.0).fit(X, Y, task=TASK)


def test_a_radius_out_of_reach_names_the_smallest():
    with pytest.raises(ValueError, match="radius=0.01 is out of reach") as error:
        model(radius=0.01).fit(X, Y, task=TASK)
    smallest = float(str(error.value).rsplit(" ", 1)[1].rstrip("."))
    assert model(radius=smallest).fit(X, Y, task=TASK).dual_gap_ <= 1e-3
    with pytest.raises(ValueError, match="out of reach"):
        model(radius=0.999 * smallest).fit(X, Y, task=TASK)


# Inspection, cloning and searching.


def test_the_neighborhood_of_a_matrix_is_its_projection():
    rng = np.random.default_rng(0)
    given = {name: (lambda A: A + A.T)(rng.normal(size=(len(rows(name)),) * 2)) for name in NAMES}
    found = model(neighborhood=given, eta=0.1).fit(X, Y, task=TASK)
    for number, name in enumerate(NAMES):
        Ks = BANK(X[rows(name)])
        flat = Ks.reshape(len(Ks), -1).T
        expected = np.linalg.lstsq(flat, given[name].ravel(), rcond=None)[0]
        np.testing.assert_allclose(found.neighborhood_weights_[number], expected, rtol=1e-6)
        K = np.tensordot(found.weights_[number], Ks, 1)
        cosine = np.sum(K * given[name]) / np.linalg.norm(K) / np.linalg.norm(given[name])
        assert found.alignment()[number, number] == pytest.approx(cosine)
        own, new = X[rows(name)], X[:2] + 0.01
        around = found.neighborhood_kernel(new, own, name)
        assert around == pytest.approx(np.tensordot(expected, BANK(new, own), 1))
        np.testing.assert_array_equal(found.neighborhood_kernel(own, own, name), given[name])
        some = found.neighborhood_kernel(np.vstack([own[2:4], new]), own[:3], name)
        np.testing.assert_array_equal(some[:2], given[name][2:4, :3])
        assert some[2:] == pytest.approx(np.tensordot(expected, BANK(new, own[:3]), 1))


def test_the_bound_knows_of_the_part_that_no_kernel_carries():
    given = matrices(kh.Gaussian(2.0))
    inside = model(neighborhood=(BANK, [0.1, 0.5, 0.4])).fit(X, Y, task=TASK)
    stacks = [BANK(X[rows(name)]) for name in NAMES]
    estimate = monte_carlo_complexity(
        stacks, inside.neighborhood_weights_, rho=3.0, random_state=0, n_draws=300
    )
    assert estimate <= inside.rademacher_bound(3.0)
    outside = model(neighborhood={name: K + np.eye(len(K)) for name, K in given.items()})
    outside.fit(X, Y, task=TASK)
    left = sum(
        np.sum((np.tensordot(kappa, Ks, 1) - K - np.eye(len(K))) ** 2)
        for kappa, Ks, K in zip(outside.neighborhood_weights_, stacks, given.values(), strict=True)
    )
    assert outside.rademacher_bound(left * 1.001) > 0.0
    with pytest.raises(ValueError, match="rho is too small"):
        outside.rademacher_bound(left * 0.999)


def test_a_clone_keeps_a_fitted_model():
    old = kh.MTONMKLRegressor(kernels=BANK).fit(X, Y, task=TASK)
    new = model(neighborhood=old, radius=100.0)
    copied = clone(new)
    assert copied.neighborhood is old
    assert copied is not new
    assert copied.get_params(deep=False) == new.get_params(deep=False)
    assert new.neighborhood is old
    same(copied.fit(X, Y, task=TASK), new.fit(X, Y, task=TASK))
    assert not hasattr(clone(new), "weights_")
    assert new.get_params()["neighborhood__C"] == 1.0
    assert clone(kh.MTONMKLClassifier(kernels="paper")).neighborhood is None


def by_hand(settings, splits, **options):
    """Return mean scores of plain fits, without any path or cache."""
    scores = []
    for one in settings:
        each = []
        for train, test in splits:
            found = model(**options).set_params(**one).fit(X[train], Y[train], task=TASK[train])
            each.append(found.score(X[test], Y[test], task=TASK[test]))
        scores.append(np.mean(each))
    return np.array(scores)


@pytest.mark.parametrize(
    ("grid", "n_models"),
    [
        ({"C": [0.5, 5.0], "eta": [0.01, 1.0, 100.0], "beta": [1.0, 1e3]}, 6),
        ({"C": [0.5, 5.0], "radius": [30.0, 300.0], "eta": [1.0, 2.0]}, 4),
        ({"neighborhood": [kh.Gaussian(10.0), "laplacian"], "eta": [0.1, 10.0]}, 4),
        ({"neighborhood": [kh.Gaussian(2.0), kh.Gaussian(0.5), None], "beta": [1e-3, 1.0]}, 4),
    ],
    ids=["eta", "radius", "neighborhoods", "with and without"],
)
def test_a_search_scores_what_plain_fits_score(grid, n_models):
    splits = list(kh.TaskShuffleSplit(2, test_size=0.4, random_state=0).split(X, Y, task=TASK))
    search = kh.KernelSearchCV(model(tol=1e-8), grid, cv=splits).fit(X, Y, task=TASK)
    assert search.n_models_ == n_models
    points = search.cv_results_["params"]
    expected = by_hand(points, splits, tol=1e-8)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, atol=2e-3)
    assert np.ptp(expected) > 0.02


def test_a_search_with_an_old_model():
    old = kh.MTONMKLRegressor(kernels=BANK).fit(X, Y, task=TASK)
    search = kh.KernelSearchCV(model(neighborhood=old), {"eta": [0.1, 10.0]}, cv=2)
    search.fit(X, Y, task=TASK)
    assert search.best_estimator_.neighborhood is old
    plain = GridSearchCV(model(neighborhood=old, task_column=0), {"eta": [0.1, 10.0]}, cv=2)
    numbers = np.searchsorted(NAMES, TASK).astype(float)
    assert np.all(
        np.isfinite(plain.fit(np.column_stack([numbers, X]), Y).cv_results_["mean_test_score"])
    )


def test_a_search_refuses_matrices_of_all_rows():
    search = kh.KernelSearchCV(
        model(neighborhood=matrices(kh.Gaussian(2.0))), {"eta": [0.1, 10.0]}, cv=2
    )
    with pytest.raises(ValueError, match="neighborhood holds matrices .* Precomputed"):
        search.fit(X, Y, task=TASK)


def test_a_search_takes_matrices_as_a_kernel_of_row_numbers():
    numbered = np.column_stack([X, np.arange(len(Y))])
    K = kh.Gaussian(2.0)(X)
    bank = kh.KernelBank([kh.Gaussian(1.0, columns=[0, 1, 2]), kh.Linear(columns=[0, 1, 2])])
    given = [kh.Precomputed(K, columns=[3]), kh.Gaussian(2.0, columns=[0, 1, 2])]
    scores = []
    for one in given:
        plain = kh.MTONMKLRegressor(kernels=bank, neighborhood=one, tol=1e-10)
        search = kh.KernelSearchCV(plain, {"eta": [0.1, 10.0]}, cv=2)
        scores.append(search.fit(numbered, Y, task=TASK).cv_results_["mean_test_score"])
    # A gap fixes functions, and so scores, to about its root, here 1e-5.
    np.testing.assert_allclose(*scores, atol=1e-4)


def test_a_search_for_each_task_refuses_one_radius_for_all():
    search = kh.KernelSearchCV(model(radius=100.0), {"C": [1.0, 2.0]}, cv=2, per_task=True)
    with pytest.raises(ValueError, match="per_task=True needs independent tasks"):
        search.fit(X, Y, task=TASK)


def test_a_matrix_is_symmetric_where_it_differs_by_rounding_of_its_largest_entry():
    """Entries that cancel to nearly zero keep the rounding of those that they are made of."""
    matrix = np.array([[1e6, 1e-4], [0.0, 2e6]])
    np.testing.assert_array_equal(checked_matrix(matrix, "one"), matrix)
    with pytest.raises(ValueError, match="neighborhood of task 'one' must be symmetric"):
        checked_matrix(np.array([[1e6, 1e-1], [0.0, 2e6]]), "one")
