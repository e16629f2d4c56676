"""What a fitted model knows and tells."""

import builtins
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import kernelhood as kh
from kernelhood.inspection.model import alignment
from tests.references import make_samples


def rows_of(samples, name):
    return samples.X[samples.task == name]


def test_shapes(classifier, labelled):
    assert classifier.tasks_ == ["task 0", "task 1", "task 2"]
    assert classifier.classes_.tolist() == [-1, 1]
    for name in ("weights_", "specific_weights_", "neighborhood_weights_"):
        assert getattr(classifier, name).shape == (3, 4)
    assert classifier.shared_weights_.shape == (4,)
    assert classifier.intercept_.shape == (3,)
    assert classifier.n_features_in_ == 3
    assert not hasattr(classifier, "feature_names_in_")
    assert classifier.n_iter_ >= 1
    assert 0.0 <= classifier.dual_gap_ <= 1e-6


def test_shared_weights_are_the_largest_common_part(classifier):
    weights = classifier.weights_
    assert weights.min() >= 0.0
    np.testing.assert_array_equal(classifier.shared_weights_, weights.min(axis=0))
    np.testing.assert_allclose(classifier.shared_weights_ + classifier.specific_weights_, weights)
    assert classifier.specific_weights_.min() >= 0.0
    assert np.all(classifier.specific_weights_.min(axis=0) == 0.0)
    assert classifier.shared_weights_.max() > 0.0


def test_the_support_rebuilds_the_decision_function(classifier, labelled, small_bank):
    fresh = make_samples(seed=1)
    expected = np.empty(len(fresh.y))
    for t, name in enumerate(classifier.tasks_):
        support = classifier.support_[t]
        assert set(labelled.task[support]) == {name}
        np.testing.assert_array_equal(classifier.support_vectors_[t], labelled.X[support])
        v = classifier.dual_coef_[t]
        assert v.sum() == pytest.approx(0.0, abs=1e-10)
        assert np.all(v * labelled.y[support] > 0.0)
        assert np.abs(v).max() <= 3.0 * (1.0 + 1e-12)
        mine = fresh.task == name
        Ks = small_bank(fresh.X[mine], labelled.X[support])
        K = np.tensordot(classifier.weights_[t], Ks, axes=1)
        expected[mine] = K @ v + classifier.intercept_[t]
    found = classifier.decision_function(fresh.X, task=fresh.task)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_array_equal(
        classifier.predict(fresh.X, task=fresh.task), np.where(expected > 0.0, 1, -1)
    )


@pytest.mark.parametrize("formulation", ["corrected", "printed", "normalized"])
def test_kernels_are_combinations_at_any_points(formulation, labelled, small_bank, rng):
    model = kh.MTONMKLClassifier(kernels=small_bank, formulation=formulation, C=3.0, beta=1.0)
    model.fit(labelled.X, labelled.y, task=labelled.task)
    X, Z = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    for t, name in enumerate(model.tasks_):
        Ks = small_bank(X, Z)
        learned = np.tensordot(model.weights_[t], Ks, axes=1)
        around = np.tensordot(model.neighborhood_weights_[t], Ks, axes=1)
        np.testing.assert_allclose(model.task_kernel(X, Z, name), learned, atol=1e-12)
        np.testing.assert_allclose(model.neighborhood_kernel(X, Z, name), around, atol=1e-12)
        assert np.abs(learned - around).max() > 1e-3


def test_alignment_is_that_of_the_matrices(classifier, labelled):
    found = classifier.alignment()
    for t, name in enumerate(classifier.tasks_):
        X = rows_of(labelled, name)
        K = classifier.task_kernel(X, X, name)
        for s, other in enumerate(classifier.tasks_):
            expected = alignment(K, classifier.neighborhood_kernel(X, X, other))
            assert found[t, s] == pytest.approx(expected, abs=1e-10)
    assert found.shape == (3, 3)
    assert np.all(np.abs(found) <= 1.0)
    assert np.all(np.diag(found) > 0.5)
    assert len(np.unique(found.round(6))) > 3


def test_the_bound_is_that_of_the_matrices(classifier, labelled):
    rank, identity, overlap = 0, 0.0, 0.0
    for name in classifier.tasks_:
        X = rows_of(labelled, name)
        V = classifier.kernels(X).reshape(4, -1).T
        projection = V @ np.linalg.pinv(V) @ np.eye(len(X)).ravel()
        rank += np.linalg.matrix_rank(V)
        identity += projection @ projection
        overlap += 2.0 * projection @ classifier.neighborhood_kernel(X, X, name).ravel()
    for rho, radius in ((1.0, 1.0), (4.0, 2.5)):
        spread, reach = identity + 2.0 * rank, 4.0 * rho
        tight = np.sqrt(0.5 * radius * (overlap + np.sqrt(spread * reach))) / 45
        loose = np.sqrt(0.5 * radius * (overlap + 0.5 * (spread + reach))) / 45
        assert classifier.rademacher_bound(rho=rho, radius=radius) == pytest.approx(tight)
        found = classifier.rademacher_bound(rho=rho, radius=radius, form="arithmetic")
        assert found == pytest.approx(loose)


def test_the_table_is_a_data_frame(classifier):
    table = classifier.weights_table()
    assert isinstance(table, pd.DataFrame)
    assert table.index.tolist() == classifier.tasks_
    assert table.columns.tolist() == classifier.kernels.names
    np.testing.assert_array_equal(table.to_numpy(), classifier.weights_)


def test_tuples_are_labels_of_the_table(labelled):
    task = [("a", label) for label in labelled.task]
    table = (
        kh.MTONMKLClassifier(kernels="paper").fit(labelled.X, labelled.y, task=task).weights_table()
    )
    assert table.index.tolist() == [("a", f"task {t}") for t in range(3)]


def test_the_table_is_text_without_pandas(classifier, monkeypatch):
    real_import = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    lines = classifier.weights_table().splitlines()
    assert lines[0].split() == ["task", *classifier.kernels.names]
    assert len(lines) == 4
    shown = [float(cell) for cell in lines[2].split()[2:]]
    np.testing.assert_allclose(shown, classifier.weights_[1], rtol=1e-3)


def test_verbose_prints_a_line_per_task(labelled, capsys):
    kh.MTONMKLClassifier(kernels="paper").fit(labelled.X, labelled.y, task=labelled.task)
    assert capsys.readouterr().out == ""
    model = kh.MTONMKLClassifier(kernels="paper", verbose=True).fit(
        labelled.X, labelled.y, task=labelled.task
    )
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"task {name!r}" for name in model.tasks_]
    assert all("objective" in line and "gap" in line for line in lines)


@pytest.mark.parametrize("formulation", ["corrected", "normalized"])
def test_threads_change_nothing(formulation, measured):
    one = kh.MTONMKLRegressor(kernels="paper", formulation=formulation, C=3.0)
    one.fit(measured.X, measured.y, task=measured.task)
    two = clone(one).set_params(n_jobs=2).fit(measured.X, measured.y, task=measured.task)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(
        one.predict(measured.X, task=measured.task), two.predict(measured.X, task=measured.task)
    )


def test_parameters_survive_cloning_and_a_fit_leaves_them_alone(labelled):
    bank = [kh.Linear(), "laplacian", kh.Gaussian(2.0)]
    model = kh.MTONMKLClassifier(kernels=bank, C=2.0, class_weight={1: 2.0})
    before = dict(model.get_params())
    model.fit(labelled.X, labelled.y, task=labelled.task)
    assert model.get_params() == before
    copy = clone(model)
    assert copy.get_params() == before
    assert not hasattr(copy, "weights_")
    assert copy.set_params(C=5.0, kernels=None).C == 5.0
    assert model.C == 2.0


def test_a_pickled_model_predicts_the_same(classifier, labelled):
    copy = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(
        copy.decision_function(labelled.X, task=labelled.task),
        classifier.decision_function(labelled.X, task=labelled.task),
    )
    assert copy.tasks_ == classifier.tasks_


def test_names_of_features_are_kept(labelled):
    X = pd.DataFrame(labelled.X, columns=["a", "b", "c"])
    model = kh.MTONMKLClassifier(kernels="paper").fit(X, labelled.y, task=labelled.task)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["b", "a", "c"]], task=labelled.task)


@pytest.mark.parametrize("relation", ["independent", "mixed", "functions"])
@pytest.mark.parametrize("make", [kh.MTONMKLRegressor, kh.MTONMKLClassifier])
@pytest.mark.parametrize("searched", [False, True])
def test_a_fitted_model_holds_no_kernel_matrix(make, relation, searched):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(200, 1)), np.repeat([0, 1], 100)
    y = X[:, 0] + rng.normal(size=200)
    model = make(kernels="small", relation=relation)
    if searched:
        model = kh.KernelSearchCV(model, {"C": [0.5, 1.0]}, cv=2)
    model.fit(X, y if make is kh.MTONMKLRegressor else y > 0.0, task=task)
    held = pickle.dumps(model)
    assert len(held) < 100 * 100 * 8
