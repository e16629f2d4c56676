"""Fits by landmarks beside dense ones."""

import io
import pickle
import sys
import tracemalloc

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.estimators import additive, landmark_function, multilevel
from kernelhood.estimators.landmark_function import check_dense, most_landmarks, some_rows


def make_rows(n=240, n_tasks=8, seed=0):
    rng = np.random.default_rng(seed)
    X, task = rng.uniform(-2.0, 2.0, size=(n, 2)), np.arange(n) % n_tasks
    f = np.sin(2.0 * X[:, 0]) * X[:, 1] + rng.normal(size=n_tasks)[task]
    return X, f + 0.2 * rng.normal(size=n), np.array([f"shop {one}" for one in task])


@pytest.fixture(scope="module")
def dense():
    X, y, task = make_rows()
    return kh.KernelhoodRegressor(operator="dense", tol=1e-6).fit(X, y, task=task)


@pytest.fixture(scope="module")
def landmarks():
    """Landmarks that miss nothing: the model is that of the dense fit."""
    X, y, task = make_rows()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(landmark_function, "_ENOUGH", 0.0)
        model = kh.KernelhoodRegressor(operator="landmarks", tol=1e-6)
        return model.fit(X, y, task=task)


def test_enough_landmarks_are_the_dense_model(dense, landmarks):
    X, y, task = make_rows()
    assert landmarks.n_landmarks_ > 0
    assert landmarks.approximation_ > 1.0 - 1e-6
    np.testing.assert_allclose(landmarks.log_evidence_, dense.log_evidence_, rtol=1e-4)
    new = np.append(task[:30], ["a new shop"] * 10)
    with pytest.warns(UserWarning, match="a new shop"):
        exact = dense.predict(X[:40], task=new, return_std=True)
    with pytest.warns(UserWarning, match="a new shop"):
        found = landmarks.predict(X[:40], task=new, return_std=True)
    for one, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-2 * y.std())


@pytest.mark.parametrize("groups", ["rows", "tasks"])
def test_left_out_rows_are_those_of_the_dense_model(dense, landmarks, groups):
    for one, other in zip(landmarks.left_out(groups), dense.left_out(groups), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-2)


def test_intervals_of_many_rows_cover(landmarks):
    X, y, task = make_rows(seed=0)
    low, high = landmarks.predict_interval(X, task=task).T
    assert np.mean((low < y) & (y < high)) > 0.85


def test_a_model_file_predicts_the_same(landmarks, tmp_path):
    X, _, task = make_rows()
    path = tmp_path / "model.skops"
    kh.save(landmarks, path)
    for again in (kh.load(path), pickle.loads(pickle.dumps(landmarks))):
        for one, other in zip(
            landmarks.predict(X, task=task, return_std=True),
            again.predict(X, task=task, return_std=True),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_some_of_many_rows_teach_first(monkeypatch):
    monkeypatch.setattr(multilevel, "_FEW_ROWS", 200)
    monkeypatch.setattr(multilevel, "_FIRST_ROWS", 120)
    monkeypatch.setattr(landmark_function, "_LEARNED", 300)
    X, y, task = make_rows(n=600, n_tasks=12)
    model = kh.KernelhoodRegressor(operator=kh.Landmarks(80)).fit(X, y, task=task)
    assert 0 < model.n_landmarks_ <= 80
    assert model._function.E.shape == (600, 2)
    fresh, truth, of = make_rows(n=600, n_tasks=12)
    assert model.score(fresh, truth, task=of) > 0.9


def test_occasions_of_many_rows_are_learned(monkeypatch):
    monkeypatch.setattr(multilevel, "_FEW_ROWS", 200)
    monkeypatch.setattr(multilevel, "_FIRST_ROWS", 150)
    rng = np.random.default_rng(0)
    task, week = np.repeat(np.arange(8), 60), np.tile(np.arange(60), 8)
    x, shock = rng.normal(size=(480, 1)), rng.normal(size=60)
    y = x[:, 0] + shock[week] + 0.1 * rng.normal(size=480)
    model = kh.KernelhoodRegressor().fit(x, y, task=task, occasion=week)
    assert model.occasions_matter_
    assert 0.08 < model.noise_ < 0.125
    np.testing.assert_allclose(model.predict(x[:60], task=task[:60]), x[:60, 0], atol=0.5)


def test_many_rows_of_classes(monkeypatch):
    monkeypatch.setattr(multilevel, "_FEW_ROWS", 300)
    monkeypatch.setattr(multilevel, "_FIRST_ROWS", 250)
    X, y, task = make_rows(n=450, n_tasks=6)
    label = np.where(y > np.median(y), "high", "low")
    model = kh.KernelhoodClassifier().fit(X, label, task=task)
    assert model.n_landmarks_ > 0
    assert model.score(X, label, task=task) > 0.85


def test_rows_to_learn_from_are_whole_tasks_or_whole_occasions():
    task = np.repeat(np.arange(50), 40)
    some = some_rows(task, None, 400)
    counts = np.bincount(task[some], minlength=50)
    assert 300 <= len(some) <= 500
    assert set(counts[counts > 0]) == {20}
    occasion = np.tile(np.arange(40), 50)
    some = some_rows(task, occasion, 400)
    assert set(np.bincount(occasion[some], minlength=40)) == {0, 50}


def test_one_column_has_no_landmarks(monkeypatch):
    monkeypatch.setattr(multilevel, "_FEW_ROWS", 100)
    X, y, task = make_rows()
    model = kh.KernelhoodRegressor().fit(X[:, :1], y, task=task)
    assert (model.n_landmarks_, model.approximation_) == (0, 1.0)


def test_terms_that_few_rows_did_without_come_back_if_they_are_cheap(monkeypatch):
    monkeypatch.setattr(landmark_function, "_CHEAP", 5)
    used = np.array([False, True, False, False, False, True])
    sizes = np.array([1, 2, 9, 3, 1])
    wanted = np.array([False, True, True, True, True, False])
    found = landmark_function._revived(used, wanted, sizes)
    assert found.tolist() == [False, True, False, True, True, True]


def test_a_surface_that_few_rows_did_without_is_tried_with_more(monkeypatch):
    monkeypatch.setattr(multilevel, "_FEW_ROWS", 50)
    monkeypatch.setattr(multilevel, "_FIRST_ROWS", 40)
    X, y, task = make_rows(n=1200, n_tasks=12)
    model = kh.KernelhoodRegressor().fit(X[:900], y[:900], task=task[:900])
    monkeypatch.setattr(landmark_function, "_with_a_surface", lambda weights, *rest: weights)
    without = kh.KernelhoodRegressor().fit(X[:900], y[:900], task=task[:900])
    assert model.n_landmarks_ > without.n_landmarks_ == 0
    assert model.log_evidence_ > without.log_evidence_ + 20.0
    scores = [one.score(X[900:], y[900:], task=task[900:]) for one in (model, without)]
    assert scores[0] > scores[1]


def test_memory_that_is_too_small_is_an_error_before_work(monkeypatch):
    monkeypatch.setattr(landmark_function, "_free_memory", lambda: 1e6)
    with pytest.raises(MemoryError, match=r"operator='dense' holds matrices between all 1000 rows"):
        check_dense(1000, 3)
    with pytest.raises(MemoryError, match="X has 100000 rows.*at most"):
        most_landmarks(100_000, 20, None)
    monkeypatch.setattr(landmark_function, "_free_memory", lambda: 1e9)
    assert most_landmarks(10_000, 20, None) > 100
    assert most_landmarks(10_000, 20, 50) == 50


def test_an_operator_that_is_none_is_refused():
    X, y, task = make_rows(n=20)
    with pytest.raises(ValueError, match="'operator' parameter"):
        kh.KernelhoodRegressor(operator="sparse").fit(X, y, task=task)


@pytest.mark.parametrize("return_std", [False, True])
def test_memory_of_predictions_does_not_grow_with_the_features(landmarks, monkeypatch, return_std):
    monkeypatch.setattr(additive, "_ROWS_AT_ONCE", 128)
    X, _, task = make_rows()
    landmarks.predict(X, task=task, return_std=True)  # what is kept is there
    peaks = []
    for times in (5, 25):
        rows, own = np.tile(X, (times, 1)), np.tile(task, times)
        tracemalloc.start()
        landmarks.predict(rows, task=own, return_std=return_std)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    per_row = (peaks[1] - peaks[0]) / (20 * len(X))
    assert per_row < 150 < 8 * landmarks.n_landmarks_


def test_surfaces_are_predicted_without_their_features(landmarks):
    X, _, task = make_rows()
    function = landmarks._function
    surfaces, rest = function._surfaces
    assert surfaces
    assert np.count_nonzero(rest.weights) < np.count_nonzero(function.weights)
    places = function.places([np.full(len(X), "all", dtype=object), task], len(X))
    places[1, :5] = -1
    E = function.scaled.bank.encode(X)
    plain = additive.AdditiveFunction.at_features(function, E, places)
    np.testing.assert_allclose(function.at_features(E, places), plain, rtol=1e-6, atol=1e-6)


def test_rows_in_any_order_have_the_same_deviations(landmarks, monkeypatch):
    X, _, task = make_rows()
    mean, deviation = landmarks.predict(X, task=task, return_std=True)
    monkeypatch.setattr(additive, "_ROWS_AT_ONCE", 50)
    order = np.random.default_rng(0).permutation(len(X))
    found = landmarks.predict(X[order], task=task[order], return_std=True)
    np.testing.assert_allclose(found[0], mean[order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[1], deviation[order], rtol=1e-7)


@pytest.mark.parametrize("operator", ["dense", "landmarks"])
@pytest.mark.parametrize("verbose", [0, 1])
def test_fits_and_predictions_show_progress_if_wanted(operator, verbose, monkeypatch):
    monkeypatch.setattr("kernelhood.parallel._PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    X, y, task = make_rows()
    model = kh.KernelhoodRegressor(operator=operator, verbose=verbose).fit(X, y, task=task)
    fitted = stream.getvalue()
    assert ("0 rows of covariances after" in fitted) == bool(verbose)
    model.predict(X, task=task)
    assert (" of 2,048 rows after" in stream.getvalue()[len(fitted) :]) == bool(verbose)
    if not verbose:
        assert stream.getvalue() == ""


def test_features_and_what_landmarks_miss_add_up_to_the_variance():
    X, y, task = make_rows()
    model = kh.KernelhoodRegressor(operator=kh.Landmarks(10)).fit(X, y, task=task)
    function = model._function
    scaled = function.scaled
    used = np.ones(function.weights.shape[1], dtype=bool)
    features, sizes = landmark_function._all_features(scaled, function.E, used)
    missed = landmark_function._missed(scaled, features, sizes)
    ends = np.cumsum(sizes)
    places = np.flatnonzero(scaled.bank.approximated & (sizes > 0))
    assert len(places)
    for place in places:
        kept = np.sum(features[:, ends[place] - sizes[place] : ends[place]] ** 2, axis=1)
        np.testing.assert_allclose(kept + missed[:, place], 1.0 / scaled.scale[place], rtol=1e-6)
