"""Kernels of low rank: with all points as landmarks they are the kernels themselves."""

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

import kernelhood as kh
from kernelhood.estimators import functions as many_samples
from kernelhood.estimators import landmarks as features
from kernelhood.estimators.landmarks import LandmarkMaps, choose_landmarks
from kernelhood.losses import BoxLoss, Loss, box_loss
from kernelhood.operators import choice as capacity

N_TASKS, SIZE = 4, 15
BANK = kh.KernelBank([kh.Gaussian(1.0), kh.Gaussian(2.0), kh.Linear()])
NEAR = np.exp(-np.abs(np.subtract.outer(np.arange(4), np.arange(4))))
RELATIONS = {
    "independent": {},
    "functions": {"relation": "functions"},
    "mixed": {"relation": "mixed"},
    "mixed, own intercepts": {"relation": "mixed", "intercept": "task"},
    "groups": {"relation": kh.TaskGroups({t: t // 2 for t in range(N_TASKS)})},
    "similarity": {"relation": kh.TaskSimilarity(NEAR, tasks=list(range(N_TASKS)))},
    "inputs": {"relation": "inputs"},
}


class Quantile(Loss):
    """The pinball loss, a box without a tube."""

    @property
    def key(self):
        return "quantile", 0.7

    def box(self, target, cost) -> BoxLoss:
        return box_loss(target, -0.3 * cost, 0.7 * cost)


LOSSES = {
    "hinge": (kh.MTONMKLClassifier, {}),
    "epsilon-insensitive": (kh.MTONMKLRegressor, {}),
    "quantile": (kh.MTONMKLRegressor, {"loss": Quantile()}),
    "squared": (kh.MTONMKLRegressor, {"loss": "squared"}),
}


def samples(seed=0, n_features=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_TASKS * SIZE, n_features))
    task = np.repeat(np.arange(N_TASKS), SIZE)
    f = np.sin(X[:, 0]) + 0.5 * X[:, 1] * np.cos(task) + 0.3 * task
    return X, f + 0.1 * rng.normal(size=len(X)), task


def fitted(kind, **settings):
    estimator, own = LOSSES[kind]
    X, y, task = samples()
    y = (y > 0.5).astype(int) if kind == "hinge" else y
    defaults = {"kernels": BANK, "C": 5.0, "formulation": "corrected", "beta": 0.05, "tol": 1e-7}
    return estimator(**{**defaults, **own, **settings}).fit(X, y, task=task)


def values_of(model, X, task):
    if hasattr(model, "decision_function"):
        return model.decision_function(X, task=task)
    return model.predict(X, task=task)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_all_points_as_landmarks_give_the_exact_model(relation, kind):
    X, _, _ = samples()
    settings = RELATIONS[relation]
    exact = fitted(kind, **settings)
    low = fitted(kind, operator=kh.Landmarks(points=X), **settings)
    assert low.operator_ == "landmarks"
    assert low.dual_gap_ <= 1e-7
    assert low.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    new, _, of = samples(seed=1)
    order = np.random.default_rng(0).permutation(len(new))
    np.testing.assert_allclose(
        values_of(low, new[order], of[order]), values_of(exact, new[order], of[order]), atol=2e-2
    )
    np.testing.assert_allclose(low.approximation_, 1.0)


@pytest.mark.parametrize("relation", ["mixed", "independent"])
def test_a_bank_that_is_fitted_to_the_inputs_sees_prepared_points_everywhere(relation):
    X, y, task = samples()
    X = 1e3 + 50.0 * X
    settings = {"kernels": "auto", "C": 5.0, "tol": 1e-6, "formulation": "corrected"}
    exact = kh.MTONMKLRegressor(beta=0.05, relation=relation, **settings).fit(X, y, task=task)
    low = clone(exact).set_params(operator=kh.Landmarks(points=X)).fit(X, y, task=task)
    np.testing.assert_allclose(low.predict(X, task=task), exact.predict(X, task=task), atol=2e-2)
    np.testing.assert_allclose(low.approximation_, 1.0, atol=1e-6)
    few = clone(low).set_params(operator=kh.Landmarks(20)).fit(X, y, task=task)
    assert few.score(X, y, task=task) > 0.7


@pytest.mark.parametrize("formulation", ["normalized", "printed"])
@pytest.mark.parametrize("relation", ["independent", "functions", "mixed", "similarity"])
def test_frobenius_products_are_those_of_the_kernels(formulation, relation):
    X, _, _ = samples()
    settings = {"formulation": formulation, "eta": 16.0, "tol": 1e-5, **RELATIONS[relation]}
    exact = fitted("epsilon-insensitive", **settings)
    low = fitted("epsilon-insensitive", operator=kh.Landmarks(points=X), **settings)
    assert low.objective_ == pytest.approx(exact.objective_, rel=2e-5)
    np.testing.assert_allclose(low.gram_, exact.gram_, rtol=1e-6)


def some_landmarks(kind="epsilon-insensitive", **settings):
    X, _, _ = samples()
    return fitted(kind, operator=kh.Landmarks(points=X[::6]), **settings)


def test_the_part_of_the_trace_that_is_kept_is_told():
    X, _, _ = samples()
    model, landmarks = some_landmarks(relation="mixed"), LandmarkMaps.at(BANK, X[::6])
    squares = np.split(landmarks.features(X) ** 2, landmarks.starts[1:-1], axis=1)
    kept = [own.sum() / kernel.diagonal(X).sum() for own, kernel in zip(squares, BANK, strict=True)]
    np.testing.assert_allclose(model.approximation_[:3], kept)
    assert kept[0] < 0.9
    np.testing.assert_array_equal(fitted("hinge").approximation_, np.ones(3))


@pytest.mark.parametrize(("share", "digits"), [(0.0, 1e-6), (1e-3, 1e-4)])
def test_features_need_not_be_held(share, digits, monkeypatch):
    """Nothing is held where there is no room, and single precision where it is scarce."""
    held = some_landmarks(relation="mixed")
    fits = features.type_that_fits
    monkeypatch.setattr(
        "kernelhood.estimators.landmarks.type_that_fits",
        lambda maps, n_points, cache_size, storage: fits(maps, n_points, 15 * share, storage),
    )
    assert some_landmarks(relation="mixed").objective_ == pytest.approx(held.objective_, rel=digits)


def test_prediction_in_blocks_is_prediction_at_once(monkeypatch):
    model = some_landmarks(relation="mixed")
    new, _, of = samples(seed=2)
    whole = model.predict(new, task=of)
    monkeypatch.setattr(many_samples, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(features, "_ENTRIES_AT_ONCE", 1)
    np.testing.assert_allclose(model.predict(new, task=of), whole, atol=1e-12)
    one_by_one = [model.predict(new[[i]], task=of[[i]])[0] for i in range(0, len(new), 9)]
    np.testing.assert_allclose(one_by_one, whole[::9], atol=1e-12)


@pytest.mark.parametrize("relation", ["mixed", "independent"])
def test_a_model_holds_no_training_points_and_survives_a_pickle(relation):
    model = some_landmarks(**RELATIONS[relation])
    new, _, of = samples(seed=2)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(new, task=of), model.predict(new, task=of))
    assert model.landmarks_.shape == (10, 3)
    assert all(len(one) == 0 for one in model.support_vectors_)


def test_unseen_tasks_and_new_labels_are_known_as_before():
    X, y, _ = samples()
    exact = fitted("epsilon-insensitive", relation="mixed", unseen_task="shared")
    low = fitted(
        "epsilon-insensitive",
        relation="mixed",
        unseen_task="shared",
        operator=kh.Landmarks(points=X),
    )
    new = np.full(len(X), 99)
    np.testing.assert_allclose(low.predict(X, task=new), exact.predict(X, task=new), atol=2e-2)
    np.testing.assert_allclose(low.shared_function(X), exact.shared_function(X), atol=2e-2)
    for model in (low, exact):
        model.adapt(X[:5], y[:5], task=99)
    np.testing.assert_allclose(low.predict(X, task=new), exact.predict(X, task=new), atol=2e-2)


def test_many_tiny_tasks_are_fitted_and_predicted_in_any_order():
    """More samples than are solved at once, one or two a task: thinning them has to end."""
    rng = np.random.default_rng(0)
    n_tasks = 2_000
    task = np.repeat(np.arange(n_tasks), 2)
    X = rng.normal(size=(len(task), 2))
    y = np.sin(X[:, 0]) + rng.normal(size=n_tasks)[task]
    model = kh.MTONMKLRegressor(
        kernels=[kh.Gaussian(1.0), kh.Linear()],
        relation="mixed",
        formulation="corrected",
        beta=0.1,
        operator=kh.Landmarks(10),
        tol=1e-2,
    ).fit(X, y, task=task)
    assert model.dual_gap_ <= 1e-2
    order = rng.permutation(len(task))[:200]
    found = model.predict(X[order], task=task[order])
    alone = [model.predict(X[[i]], task=task[[i]])[0] for i in order[:5]]
    np.testing.assert_allclose(found[:5], alone, atol=1e-10)
    assert model.score(X, y, task=task) > 0.3


def test_landmarks_are_the_same_every_time_and_far_from_each_other():
    X = np.concatenate([np.zeros((50, 2)), np.eye(2), 3.0 * np.eye(2)])
    bank = kh.KernelBank([kh.Gaussian(0.5)])
    chosen = choose_landmarks(bank, X, 5)
    np.testing.assert_array_equal(chosen, choose_landmarks(bank, X, 5))
    assert len(np.unique(chosen, axis=0)) == 5


@pytest.mark.parametrize("relation", ["mixed", "independent"])
@pytest.mark.parametrize("kind", ["hinge", "epsilon-insensitive"])
def test_a_search_takes_features_in_the_place_of_kernels(kind, relation):
    X, y, task = samples()
    y = (y > 0.5).astype(int) if kind == "hinge" else y
    estimator = LOSSES[kind][0](kernels=BANK, formulation="corrected", tol=1e-6)
    grid = {"C": [0.5, 5.0], "beta": [0.01, 0.1]}
    scores = []
    for own in ({}, {"operator": kh.Landmarks(points=X)}):
        model = clone(estimator).set_params(**RELATIONS[relation], **own)
        search = kh.KernelSearchCV(model, grid, cv=2, refit=False).fit(X, y, task=task)
        scores.append(search.cv_results_["mean_test_score"])
    np.testing.assert_allclose(scores[0], scores[1], atol=5e-3)


@pytest.mark.parametrize("relation", ["mixed", "independent"])
def test_sample_weights_count_samples_as_often(relation):
    X, y, task = samples()
    weight = np.random.default_rng(3).integers(1, 4, len(X)).astype(float)
    models = [
        kh.MTONMKLRegressor(kernels=BANK, C=5.0, beta=0.05, tol=1e-5, **own, **RELATIONS[relation])
        for own in ({}, {"operator": kh.Landmarks(points=X)})
    ]
    exact, low = (model.fit(X, y, task=task, sample_weight=weight) for model in models)
    assert low.objective_ == pytest.approx(exact.objective_, rel=2e-5)
    np.testing.assert_allclose(low.gram_, exact.gram_, rtol=1e-6)


def test_three_classes_are_three_svms():
    X, y, task = samples()
    y = np.digitize(y, [0.2, 0.9])
    settings = {"kernels": BANK, "C": 5.0, "formulation": "corrected", "beta": 0.05, "tol": 1e-6}
    for relation in ("mixed", "independent"):
        exact = kh.MTONMKLClassifier(relation=relation, **settings).fit(X, y, task=task)
        low = kh.MTONMKLClassifier(
            relation=relation, operator=kh.Landmarks(points=X), **settings
        ).fit(X, y, task=task)
        assert low.objective_ == pytest.approx(exact.objective_, rel=1e-5)
        assert np.mean(low.predict(X, task=task) == exact.predict(X, task=task)) > 0.95


def test_settings_that_cannot_be_are_named():
    X, _, _ = samples()
    with pytest.raises(ValueError, match="points of Landmarks must have the 3 features of X"):
        fitted("hinge", operator=kh.Landmarks(points=X[:, :2]))
    with pytest.raises(ValueError, match="operator='landmarks' cannot hold a neighborhood"):
        fitted("hinge", operator="landmarks", neighborhood="linear", relation="independent")
    with pytest.raises(ValueError, match="operator"):
        fitted("hinge", operator="low_rank")


@pytest.mark.parametrize(
    ("operator", "held_as"),
    [
        ("auto", "dense"),
        ("dense", "dense"),
        (kh.Dense(cache_size=0.0), "on_demand"),
        ("landmarks", "landmarks"),
    ],
)
def test_the_operator_that_is_asked_for_is_taken(operator, held_as):
    assert fitted("hinge", relation="mixed", operator=operator).operator_ == held_as
    alone = "landmarks" if held_as == "landmarks" else "dense"
    assert fitted("hinge", relation="independent", operator=operator).operator_ == alone


def test_work_that_does_not_fit_into_memory_is_refused_before_it_starts(monkeypatch, capsys):
    monkeypatch.setattr(capacity, "available_memory", lambda: 0.05)
    fitted("hinge", relation="mixed")  # few samples: nothing changes
    with pytest.raises(MemoryError, match=r"operator='dense' with 60 samples .* use operator="):
        fitted("hinge", operator="dense", relation="mixed")
    with pytest.raises(MemoryError, match=r"use operator=Landmarks\(\d+\)"):
        fitted("hinge", operator="landmarks", relation="mixed")


def test_prediction_takes_no_more_memory_for_more_rows():
    X, _, _ = samples()
    model = fitted("epsilon-insensitive", relation="mixed", operator=kh.Landmarks(points=X))
    rows = np.random.default_rng(0).normal(size=(90_000, 3))
    peaks = []
    for n in (30_000, 90_000):
        of = np.arange(n) % N_TASKS
        tracemalloc.start()
        model.predict(rows[:n], task=of)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Labels and results are some numbers a row; kernels at the landmarks would be 240.
    assert peaks[1] - peaks[0] < 60_000 * 8 * 30


def test_features_of_more_than_a_quarter_of_the_cache_are_held_in_single_precision():
    landmarks = LandmarkMaps.at(BANK, np.random.default_rng(0).normal(size=(8, 3)))
    megabytes = 1000 * float(landmarks.starts[-1]) * 8 / 2**20

    def held(share, storage="float64"):
        return features.type_that_fits(landmarks, 1000, megabytes / share, storage)

    assert [held(0.24), held(0.26), held(0.99), held(1.99), held(2.01)] == [
        "float64",
        "float32",
        "float32",
        "float32",
        None,
    ]
    assert held(0.24, "float32") == "float32"
