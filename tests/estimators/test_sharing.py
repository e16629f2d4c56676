"""Tasks that share functions: the limits in which the joint problem is a known one."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kernelhood as kh
from kernelhood.estimators.base import method_of, read_table
from kernelhood.estimators.data import Pair, TaskProblem
from kernelhood.estimators.formulations import coefficients
from kernelhood.estimators.training import JointKernels
from kernelhood.kernels import Gaussian, KernelBank, Linear, Normalized
from kernelhood.losses import EpsilonInsensitive
from kernelhood.relations import SharedFunctions
from tests.references import conic_optimum, make_samples

BANK = KernelBank([Normalized(Linear()), Gaussian(1.0), Gaussian(2.0)])
KINDS = {"classification": kh.MTONMKLClassifier, "regression": kh.MTONMKLRegressor}
FORMULATIONS = {
    "corrected": {"beta": 0.05},
    "printed": {"beta": 0.05, "eta": 1.0},
    "normalized": {"beta": 0.001, "eta": 1.0},
}


def estimator(kind, formulation="corrected", **settings):
    given = {"kernels": BANK, "C": 2.0, "tol": 1e-7, "relation": "functions"}
    return KINDS[kind](
        formulation=formulation, **{**given, **FORMULATIONS[formulation], **settings}
    )


def values(model, X, task=None):
    name = "decision_function" if hasattr(model, "decision_function") else "predict"
    return getattr(model, name)(X, task=task)


def full_matrices(samples, names):
    """The matrix of every shared and specific kernel between all samples."""
    Ks = BANK(samples.X)
    blocks = [Ks * np.outer(samples.task == name, samples.task == name) for name in names]
    return np.concatenate([Ks, *blocks])


@pytest.mark.parametrize("intercept", ["task", "common"])
@pytest.mark.parametrize("formulation", ["corrected", "printed"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_is_that_of_a_conic_solver(kind, formulation, intercept):
    samples = make_samples(kind, sizes=(12, 15, 9))
    model = estimator(
        kind, formulation, relation=SharedFunctions(specific_cost=2.0), intercept=intercept
    )
    model.fit(samples.X, samples.y, task=samples.task)
    names = list(model.tasks_)
    terms = coefficients(formulation, model.eta, model.beta)
    number = np.array([names.index(name) for name in samples.task])
    expected = conic_optimum(
        full_matrices(samples, names),
        samples.y,
        C=2.0,
        a=terms.a,
        f=terms.f,
        epsilon=None if kind == "classification" else model.epsilon,
        group=number if intercept == "task" else None,
        cost_factor=np.repeat([1.0, 2.0], [3, 9]),
    )
    assert model.dual_gap_ <= 1e-7
    assert model.objective_ == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_single_task_is_the_plain_estimator(kind, formulation):
    samples = make_samples(kind, sizes=(30,))
    close = {"tol": 1e-10}  # a gap fixes functions and weights to its root only
    shared = estimator(kind, formulation, **close).fit(samples.X, samples.y)
    plain = estimator(kind, formulation, relation="independent", **close).fit(samples.X, samples.y)
    assert shared.objective_ == pytest.approx(plain.objective_, rel=2e-10)
    np.testing.assert_allclose(values(shared, samples.X), values(plain, samples.X), atol=1e-4)
    np.testing.assert_allclose(shared.weights_, plain.weights_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        shared.neighborhood_weights_, plain.neighborhood_weights_, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_only_the_shared_function_is_the_plain_estimator_on_pooled_data(kind, formulation):
    samples = make_samples(kind)
    close = {"tol": 1e-10}  # a gap fixes weights to its root only
    shared = estimator(
        kind,
        formulation,
        relation=SharedFunctions(specific_cost=np.inf),
        intercept="common",
        **close,
    )
    shared.fit(samples.X, samples.y, task=samples.task)
    order = np.argsort(samples.task, kind="stable")
    X, y = samples.X[order], samples.y[order]
    pooled = estimator(kind, formulation, relation="independent", **close).fit(X, y)
    np.testing.assert_allclose(
        values(shared, samples.X, samples.task), values(pooled, samples.X), atol=1e-4
    )
    np.testing.assert_allclose(shared.shared_weights_, pooled.weights_[0], rtol=1e-4, atol=1e-6)
    assert not shared.specific_weights_.any()
    assert np.ptp(shared.intercept_) == 0.0
    assert shared.rademacher_bound(1.0) == pytest.approx(pooled.rademacher_bound(1.0), rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_functions_add_up(kind):
    samples = make_samples(kind)
    model = estimator(kind, relation=SharedFunctions(specific_cost=1.5)).fit(
        samples.X, samples.y, task=samples.task
    )
    name = model.tasks_[1]
    rows = samples.task == name
    K = BANK(samples.X[rows], samples.X)
    v = np.zeros(len(samples.y))
    v[np.concatenate(model.support_)] = np.concatenate(model.dual_coef_)
    together = np.tensordot(model.shared_weights_, K, axes=1) @ v
    own = np.tensordot(model.specific_weights_[1], K[:, :, rows], axes=1) @ v[rows]
    expected = together + own + model.intercept_[1]
    np.testing.assert_allclose(values(model, samples.X[rows], samples.task[rows]), expected)
    np.testing.assert_allclose(model.weights_, model.shared_weights_ + model.specific_weights_)
    assert model.shared_weights_.any()
    assert model.specific_weights_.any()


@pytest.mark.parametrize("kind", KINDS)
def test_points_that_tasks_have_in_common_change_nothing(kind):
    """A 2-D y puts all tasks on the same points, whose kernels are then evaluated once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 3))
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1], X[:, 0] * X[:, 1]])
    if kind == "classification":
        y = np.where(y > np.median(y, axis=0), 1, -1)
    wide = estimator(kind).fit(X, y)
    task = np.repeat(np.arange(3), 15)
    # A little noise makes the points differ, so that nothing is found to be repeated.
    apart = np.tile(X, (3, 1)) + 1e-9 * rng.normal(size=(45, 3))
    long = estimator(kind).fit(apart, y.T.ravel(), task=task)
    assert wide.objective_ == pytest.approx(long.objective_, rel=1e-5)
    mine = values(wide, X)
    theirs = np.column_stack([values(long, X, np.full(15, t)) for t in range(3)])
    np.testing.assert_allclose(mine, theirs, atol=2e-3)


def test_equal_points_are_held_once():
    samples = make_samples("regression", sizes=(10, 10))
    X = np.tile(samples.X[:10], (2, 1))
    model = estimator("regression")
    data = read_table(model, method_of(model), X, samples.y, samples.task)
    problems = []
    for one in data.tasks:
        ones = np.ones(len(one.rows))
        pairs = [Pair.whole(EpsilonInsensitive(0.1).at(one.y, ones))]
        problems.append(TaskProblem(one.name, one.rows, data.points[one.rows], pairs, ones))
    joint = JointKernels(BANK, problems, 1000.0, "float64")
    assert joint.kernels.n_points <= 12


@pytest.mark.parametrize("storage", ["float64", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_that_are_not_held_give_the_same_model(kind, storage):
    samples = make_samples(kind, sizes=(20, 31, 17))
    held = estimator(kind).fit(samples.X, samples.y, task=samples.task)
    evaluated = estimator(kind, operator=kh.Dense(storage, 0.0), tol=1e-6)
    evaluated.fit(samples.X, samples.y, task=samples.task)
    assert evaluated.dual_gap_ <= 1e-6
    assert evaluated.objective_ == pytest.approx(held.objective_, rel=1e-5)
    np.testing.assert_allclose(
        evaluated.neighborhood_weights_, held.neighborhood_weights_, atol=5e-2
    )


def test_single_precision_still_certifies_in_double():
    samples = make_samples("classification")
    model = estimator("classification", operator=kh.Dense(dtype="float32"), tol=1e-5)
    model.fit(samples.X, samples.y, task=samples.task)
    exact = estimator("classification").fit(samples.X, samples.y, task=samples.task)
    assert model.dual_gap_ <= 1e-5
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-4)
    assert model.trace_[0].dtype == np.float64


def test_sparse_points_share_functions():
    samples = make_samples("classification")
    dense = estimator("classification").fit(samples.X, samples.y, task=samples.task)
    thin = estimator("classification").fit(
        sparse.csr_matrix(samples.X), samples.y, task=samples.task
    )
    assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-6)
    np.testing.assert_allclose(
        values(thin, sparse.csr_matrix(samples.X), samples.task),
        values(dense, samples.X, samples.task),
        atol=1e-6,
    )


def test_order_of_rows_does_not_matter():
    samples = make_samples("regression")
    order = np.random.default_rng(1).permutation(len(samples.y))
    first = estimator("regression").fit(samples.X, samples.y, task=samples.task)
    second = estimator("regression").fit(
        samples.X[order], samples.y[order], task=samples.task[order]
    )
    assert first.objective_ == pytest.approx(second.objective_, rel=1e-6)
    np.testing.assert_allclose(
        values(first, samples.X, samples.task), values(second, samples.X, samples.task), atol=2e-3
    )


def test_a_task_never_seen_gets_the_shared_function():
    samples = make_samples("regression")
    model = estimator("regression").fit(samples.X, samples.y, task=samples.task)
    strange = np.full(len(samples.y), "new")
    with pytest.warns(UserWarning, match="not seen in fit: 'new'"):
        model.predict(samples.X, task=strange)
    model.set_params(unseen_task="shared")
    shared = model.predict(samples.X, task=strange)
    np.testing.assert_allclose(shared, model.shared_function(samples.X))
    v = np.concatenate(model.dual_coef_)
    K = np.tensordot(
        model.shared_weights_, BANK(samples.X, np.vstack(model.support_vectors_)), axes=1
    )
    mean = np.average(model.intercept_, weights=model.n_samples_)
    np.testing.assert_allclose(shared, K @ v + mean, atol=1e-9)
    mixed = samples.task.copy()
    mixed[::2] = "new"
    both = model.predict(samples.X, task=mixed)
    np.testing.assert_allclose(both[::2], shared[::2])
    known = model.predict(samples.X, task=samples.task)
    np.testing.assert_allclose(both[1::2], known[1::2])


def test_unseen_tasks_need_one_meaning_of_the_classes():
    samples = make_samples("classification")
    y = np.where(samples.task == "task 1", samples.y + 10, samples.y)
    model = estimator("classification", unseen_task="shared").fit(samples.X, y, task=samples.task)
    model.predict(samples.X, task=samples.task)
    with pytest.raises(ValueError, match="tasks of fit have different ones"):
        model.predict(samples.X[:2], task=["new", "task 1"])
    same = estimator("classification", unseen_task="shared")
    same.fit(samples.X, samples.y, task=samples.task)
    found = same.predict(samples.X, task=["new"] * len(samples.y))
    np.testing.assert_array_equal(found, np.where(same.shared_function(samples.X) > 0, 1, -1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"unseen_task": "shared", "relation": "independent"},
            "use relation='mixed' or relation='functions', got",
        ),
        ({"relation": "everything"}, "relation"),
        ({"intercept": "none"}, "intercept"),
        ({"operator": "float16"}, "operator"),
    ],
)
def test_bad_settings_are_named(settings, message):
    samples = make_samples("classification")
    with pytest.raises(ValueError, match=message):
        estimator("classification", **settings).fit(samples.X, samples.y, task=samples.task)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sharing", "functions"),
        ("specific_cost", 2.0),
        ("n_components", 10),
        ("landmarks", None),
        ("storage", "float32"),
        ("cache_size", 1.0),
        ("quantile", 0.5),
        ("probability", True),
        ("calibration", 0.2),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_an_old_name_meets_an_error_that_names_the_new_one(kind, name, value):
    old = {name: value}
    with pytest.raises(TypeError, match=f"the parameter '{name}' is gone: use .*[=,(]"):
        KINDS[kind](**old)
    with pytest.raises(TypeError, match=f"the parameter '{name}' is gone: use"):
        KINDS[kind]().set_params(**old)
    search = kh.KernelSearchCV(KINDS[kind](), {name: [value]})
    with pytest.raises(TypeError, match=f"the parameter '{name}' is gone: use"):
        search.fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("name", ["shared_function", "sharing_table", "plot_sharing"])
def test_what_needs_shared_functions_says_so(name):
    samples = make_samples("classification")
    model = estimator("classification", relation="independent")
    model.fit(samples.X, samples.y, task=samples.task)
    arguments = [samples.X] if name == "shared_function" else []
    with pytest.raises(ValueError, match=f"{name} needs a shared function"):
        getattr(model, name)(*arguments)


def test_the_table_holds_common_shares():
    samples = make_samples("regression")
    model = estimator("regression", relation=SharedFunctions(specific_cost=1.5))
    model.fit(samples.X, samples.y, task=samples.task)
    table = model.sharing_table()
    used = model.weights_ > 0.0
    assert np.isnan(table[~used]).all()
    expected = np.broadcast_to(model.shared_weights_, used.shape)[used] / model.weights_[used]
    np.testing.assert_allclose(table[used], expected)
    assert ((table[used] >= 0.0) & (table[used] <= 1.0)).all()


def test_the_picture_of_sharing_adds_up():
    pytest.importorskip("matplotlib")
    samples = make_samples("regression")
    model = estimator("regression", relation=SharedFunctions(specific_cost=1.5))
    model.fit(samples.X, samples.y, task=samples.task)
    ax = model.plot_sharing()
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    assert max(ends) == pytest.approx(1.0)
    shares = model.shared_weights_.sum() / model.weights_.sum(axis=1)
    assert [text.get_text() for text in ax.texts] == [f"{share:.0%}" for share in shares]
    hatched = sum(bar.get_width() for bar in ax.patches if bar.get_hatch())
    assert hatched == pytest.approx((1.0 - shares).sum())
    assert model.plot_sharing(ax=ax) is ax


def test_a_gap_that_is_missed_is_said_once_for_all_tasks():
    samples = make_samples("regression")
    model = estimator("regression", max_iter=1)
    with pytest.warns(ConvergenceWarning, match=r"for all tasks \(.*max_iter=1"):
        model.fit(samples.X, samples.y, task=samples.task)
    assert len(model.trace_) == 1


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_search_scores_what_a_fit_scores(kind, formulation):
    samples = make_samples(kind, sizes=(30, 24, 27))
    split = kh.TaskShuffleSplit(1, test_size=0.5, random_state=0)
    train, test = next(split.split(samples.X, samples.y, task=samples.task))
    relations = [SharedFunctions(cost) for cost in (1.0, 3.0, np.inf)]
    grid = {"relation": relations, "intercept": ["task", "common"]}
    beta = FORMULATIONS[formulation]["beta"]
    grid["beta"] = [beta, 0.5 * beta]
    base = estimator(kind, formulation, tol=1e-9, max_iter=300)
    search = kh.KernelSearchCV(base, grid, cv=[(train, test)], refit=False)
    search.fit(samples.X, samples.y, task=samples.task)
    assert search.n_models_ == 12
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        model = clone(base).set_params(**params)
        model.fit(samples.X[train], samples.y[train], task=samples.task[train])
        mine = model.score(samples.X[test], samples.y[test], task=samples.task[test])
        if formulation != "normalized":  # a stationary point depends on the way to it
            assert score == pytest.approx(mine, abs=1e-4)


def test_a_search_that_holds_no_kernels_scores_the_same():
    samples = make_samples("regression", sizes=(30, 24, 27))
    grid = {"relation": [SharedFunctions(1.0), SharedFunctions(np.inf)], "beta": [0.01, 0.1]}
    found = [
        kh.KernelSearchCV(
            estimator("regression", operator=kh.Dense(cache_size=size)), grid, cv=2, refit=False
        ).fit(samples.X, samples.y, task=samples.task)
        for size in (1000.0, 0.0)
    ]
    scores = [one.cv_results_["mean_test_score"] for one in found]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-4)


def test_a_grid_may_hold_both_kinds_of_sharing():
    samples = make_samples("regression", sizes=(30, 24, 27))
    grid = {"relation": ["independent", "functions", SharedFunctions(2.0)]}
    search = kh.KernelSearchCV(estimator("regression"), grid, cv=2, refit=False)
    search.fit(samples.X, samples.y, task=samples.task)
    assert search.n_models_ == 3
    alone = kh.KernelSearchCV(
        estimator("regression", relation="independent"), {"beta": [0.05]}, cv=2, refit=False
    ).fit(samples.X, samples.y, task=samples.task)
    scores = {
        params["relation"]: score
        for params, score in zip(
            search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
        )
    }
    assert scores["independent"] == pytest.approx(alone.best_score_, abs=1e-4)
    with pytest.raises(ValueError, match="per_task=True needs independent tasks"):
        kh.KernelSearchCV(estimator("regression"), grid, per_task=True).fit(
            samples.X, samples.y, task=samples.task
        )
