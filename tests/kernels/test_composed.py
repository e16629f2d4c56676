"""Kernels made of kernels, given and in banks that are fitted to data."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import kernelhood as kh

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.integers(0, 3, 40), RNG.normal(size=(40, 3))])
BY_CLASS = kh.Interaction([kh.Equality(columns=[0]), kh.Linear(columns=[1, 2])])


def test_it_is_the_product_of_the_matrices():
    other = X[:7]
    expected = kh.Equality(columns=[0])(X, other) * kh.Linear(columns=[1, 2])(X, other)
    np.testing.assert_allclose(BY_CLASS(X, other), expected)
    np.testing.assert_allclose(BY_CLASS.diagonal(X), np.diag(BY_CLASS(X)))
    assert np.linalg.eigvalsh(BY_CLASS(X)).min() > -1e-10


def test_a_bank_evaluates_it_beside_others():
    bank = kh.KernelBank([kh.Gaussian(1.0), BY_CLASS, kh.Normalized(BY_CLASS)])
    stack = bank(X)
    np.testing.assert_allclose(stack[1], BY_CLASS(X))
    norms = np.sqrt(BY_CLASS.diagonal(X))
    np.testing.assert_allclose(stack[2], BY_CLASS(X) / np.outer(norms, norms))
    assert bank.names[1] == "equality[0] x linear[1,2]"
    weights = np.array([0.5, 2.0, 0.0])
    expected = np.tensordot(weights, bank(X, X[:9]), 1)
    np.testing.assert_allclose(bank.combine(X, X[:9], weights), expected)


@pytest.mark.parametrize(
    ("kernels", "more", "message"),
    [
        ([kh.Linear()], {}, "two or more, got 1"),
        ([kh.Linear(), kh.Constant()], {"columns": [1]}, "are those of its kernels"),
        ([kh.Linear(), 3], {}, "a kernel must be"),
    ],
)
def test_what_cannot_be_multiplied_is_refused(kernels, more, message):
    with pytest.raises((ValueError, TypeError), match=message):
        kh.Interaction(kernels, **more)


def frame():
    table = pd.DataFrame(X[:, 1:], columns=["load", "wind", "rain"])
    table["hour"] = np.array(["dawn", "noon", "dusk"])[X[:, 0].astype(int)]
    return table


def test_names_of_columns_are_those_of_the_data_frame():
    by_name = kh.Interaction([kh.Gaussian(2.0, columns=["wind"]), kh.Linear(columns=["load"])])
    y, task = X[:, 1] * X[:, 2], np.repeat(["a", "b"], 20)
    numbers = frame()[["load", "wind", "rain"]]
    model = kh.ITLRegressor(kernels=[by_name]).fit(numbers, y, task=task)
    by_number = kh.Interaction([kh.Gaussian(2.0, columns=[1]), kh.Linear(columns=[0])])
    same = kh.ITLRegressor(kernels=[by_number]).fit(numbers.to_numpy(), y, task=task)
    np.testing.assert_allclose(
        model.predict(numbers, task=task), same.predict(numbers.to_numpy(), task=task)
    )
    wrong = kh.Interaction([kh.Linear(columns=["snow"]), kh.Linear()])
    with pytest.raises(ValueError, match="'snow'"):
        kh.ITLRegressor(kernels=[wrong]).fit(numbers, y, task=task)


def test_missing_values_leave_other_columns_alone():
    table = frame()[["load", "wind", "rain"]]
    table.loc[3, "rain"] = np.nan
    product = kh.Interaction([kh.Linear(), kh.Gaussian(1.0, columns=["wind"])])
    model = kh.MTONMKLRegressor(kernels=[product], missing="indicator")
    model.fit(table, X[:, 1], task=np.repeat(["a", "b"], 20))
    assert "missing[rain]" in model.kernels_.names
    assert np.isfinite(model.predict(table, task=np.repeat(["a", "b"], 20))).all()


def test_in_a_fitted_bank_categories_and_numbers_interact():
    slopes = np.array([3.0, -1.0, 0.5])[X[:, 0].astype(int)]
    y, task = slopes * X[:, 1], np.repeat(["a", "b"], 20)
    bank = kh.AutoBank(
        {"weather": ["wind", "rain"]},
        single_columns=False,
        interactions=[("hour", "load"), ("hour", "weather"), ("load", "wind", "hour")],
    )
    train, test = slice(0, 40, 2), slice(1, 40, 2)

    def fitted(kernels):
        model = kh.MTONMKLRegressor(kernels=kernels, C=100.0, epsilon=0.01)
        model.fit(frame()[train], y[train], task=task[train])
        return model, model.score(frame()[test], y[test], task=task[test])

    model, score = fitted(bank)
    assert {"hour x load", "hour x weather", "load x wind x hour"} < set(model.kernels_.names)
    assert model.weights_table().mean().idxmax() == "hour x load"
    assert score > 0.99 > fitted(kh.AutoBank(single_columns=False))[1]


def test_interactions_with_a_constant_column_are_left_out():
    table = frame().assign(load=1.0)
    bank = kh.AutoBank(single_columns=False, interactions=[("hour", "load"), ("hour", "wind")])
    model = kh.MTONMKLRegressor(kernels=bank).fit(table, X[:, 2], task=np.repeat(["a", "b"], 20))
    assert "hour x wind" in model.kernels_.names
    assert "hour x load" not in model.kernels_.names


def test_interactions_of_unknown_or_single_columns_are_refused():
    with pytest.raises(ValueError, match="two or more columns or groups each"):
        kh.AutoBank(interactions=[("hour",)])
    model = kh.MTONMKLRegressor(kernels=kh.AutoBank(interactions=[("hour", "snow")]))
    with pytest.raises(ValueError, match="snow"):
        model.fit(frame(), X[:, 2], task=np.repeat(["a", "b"], 20))


def test_a_saved_model_with_an_interaction_predicts_the_same(tmp_path):
    task = np.repeat(["a", "b"], 20)
    model = kh.ITLRegressor(kernels=[BY_CLASS, kh.Linear()]).fit(X, X[:, 1], task=task)
    kh.save(model, tmp_path / "model")
    again = kh.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X, task=task), model.predict(X, task=task))
    code = kh.Interaction([kh.Linear(), lambda A, B: A @ B.T])
    with pytest.raises(ValueError, match="a model file carries no code"):
        kh.save(kh.ITLRegressor(kernels=[code]).fit(X, X[:, 1], task=task), tmp_path / "other")


def test_directions_do_not_tell_lengths_and_a_bank_evaluates_them_beside_others():
    longer = X * RNG.uniform(0.1, 9.0, size=(40, 1))
    on_some = kh.Directions(kh.Gaussian(0.7, columns=[1, 3]))
    np.testing.assert_allclose(on_some(longer, longer[:5]), on_some(X, X[:5]), atol=1e-12)
    Z = X[:, [1, 3]] / np.linalg.norm(X[:, [1, 3]], axis=1)[:, None]
    np.testing.assert_allclose(on_some(X), kh.Gaussian(0.7)(Z), atol=1e-12)
    kernels = [
        kh.Gaussian(0.7, columns=[1, 3]),
        on_some,
        kh.Directions(kh.Normalized(kh.Polynomial(2, 0.3, columns=[1, 3]))),
        kh.Directions(kh.Pairwise("laplacian", columns=[1, 3])),
        kh.Directions("sigmoid"),
    ]
    bank = kh.KernelBank(kernels)
    for other in (X, X[:7]):
        expected = np.array([kernel(X, other) for kernel in kernels])
        np.testing.assert_allclose(bank(X, other), expected, atol=1e-12)
    change = RNG.normal(size=40)
    sums = np.einsum("i,mij->mj", change, bank(X, X[:7]))
    np.testing.assert_allclose(bank.products(X, X[:7], change), sums, atol=1e-12)
    diagonals = np.array([np.diag(kernel(X)) for kernel in kernels])
    np.testing.assert_allclose([kernel.diagonal(X) for kernel in kernels], diagonals, atol=1e-12)
    assert bank.names[1] == "gaussian(0.7)[1,3][directions]"


def test_directions_of_a_sparse_matrix_are_those_of_a_dense_one():
    points = X * (RNG.uniform(size=X.shape) < 0.4)
    points[3] = 0.0
    kernel = kh.Directions(kh.Gaussian(1.0))
    expected = kernel(points, points[:6])
    assert np.isfinite(expected).all()
    assert expected[3, 3] == 1.0
    rows = sparse.csr_matrix(points)
    np.testing.assert_allclose(kernel(rows, rows[:6]), expected, atol=1e-12)
    np.testing.assert_allclose(kh.KernelBank([kernel])(rows)[0], kernel(points), atol=1e-12)


def test_a_saved_model_with_directions_predicts_the_same(tmp_path):
    task = np.repeat(["a", "b"], 20)
    kernels = [kh.Directions(kh.Gaussian(1.0)), kh.Linear()]
    model = kh.MTONMKLRegressor(kernels=kernels).fit(X, X[:, 1], task=task)
    kh.save(model, tmp_path / "model")
    again = kh.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X, task=task), model.predict(X, task=task))
    code = kh.Directions(lambda A, B: A @ B.T)
    with pytest.raises(ValueError, match="a model file carries no code"):
        kh.save(kh.ITLRegressor(kernels=[code]).fit(X, X[:, 1], task=task), tmp_path / "other")
