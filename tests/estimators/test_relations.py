"""Relations between tasks: each is a single SVM with the kernels B_r o K^m."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import kernelhood as kh
from kernelhood.estimators.formulations import coefficients
from kernelhood.kernels import Constant, Gaussian, KernelBank, Linear, Normalized, Precomputed
from kernelhood.relations import Mixed, SharedFunctions
from tests.references import conic_optimum, make_samples

BANK = KernelBank([Normalized(Linear()), Gaussian(1.0), Gaussian(2.0)])
KINDS = {"classification": kh.MTONMKLClassifier, "regression": kh.MTONMKLRegressor}
NAMES = [f"task {t}" for t in range(4)]
SIZES = (12, 15, 9, 10)
GROUPS = {"task 0": "a", "task 1": "a", "task 2": "b", "task 3": "b"}
PLACES = {name: [float(t), t**2 / 3.0] for t, name in enumerate(NAMES)}
EDGES = [("task 0", "task 1"), ("task 1", "task 2", 2.0), ("task 2", "task 3")]
RELATIONS = {
    "mixed": "mixed",
    "groups": kh.TaskGroups(GROUPS),
    "crossed": kh.TaskGroups(GROUPS, {name: t % 2 for t, name in enumerate(NAMES)}, cost=[1, 2]),
    "similarity": kh.TaskSimilarity(features=PLACES),
    "graph": kh.TaskGraph(EDGES, cost=1.5),
    "inputs": "inputs",
    "several": [kh.TaskGroups(GROUPS), "inputs", "mixed"],
    "groups and functions": [kh.TaskGroups(GROUPS), "functions"],
}
each_relation = pytest.mark.parametrize("relation", RELATIONS.values(), ids=RELATIONS)
each_kind = pytest.mark.parametrize("kind", KINDS)
# What a relation does is the same for both kinds: they take turns.
each_in_turn = pytest.mark.parametrize(
    ("relation", "kind"),
    [
        pytest.param(one, list(KINDS)[k % 2], id=name)
        for k, (name, one) in enumerate(RELATIONS.items())
    ],
)


def estimator(kind, **settings):
    given = {"kernels": BANK, "C": 2.0, "tol": 1e-8, "formulation": "corrected", "beta": 0.05}
    return KINDS[kind](**{**given, **settings})


def fitted(kind, samples, **settings):
    return estimator(kind, **settings).fit(samples.X, samples.y, task=samples.task)


def values(model, X, **settings):
    name = "decision_function" if hasattr(model, "decision_function") else "predict"
    return getattr(model, name)(X, **settings)


def weighted_matrices(model, samples, bank=BANK):
    """The matrix of each weight's kernel between all samples, and what each weight costs."""
    relation, n = model.relation_, len(bank)
    number = np.array([model.tasks_.index(name) for name in samples.task])
    Ks, Bs = bank(samples.X), list(relation.matrices(model.tasks_))
    costs = list(relation.costs(len(Bs)))
    if relation.separate:
        Bs += [np.outer(e, e) for e in np.eye(len(model.tasks_))]
        costs = costs[:-1] + [costs[-1]] * len(model.tasks_)
    every = np.concatenate([B[np.ix_(number, number)] * Ks for B in Bs])
    return every, np.repeat(costs, n), number


@pytest.mark.parametrize("formulation", ["corrected", "printed"])
@each_in_turn
def test_the_objective_is_that_of_a_conic_solver(kind, relation, formulation):
    samples = make_samples(kind, SIZES)
    settings = {"formulation": formulation, "eta": 1.0, "intercept": "task"}
    model = fitted(kind, samples, relation=relation, **settings)
    terms = coefficients(formulation, model.eta, model.beta)
    Ks, cost, number = weighted_matrices(model, samples)
    expected = conic_optimum(
        Ks,
        samples.y,
        C=2.0,
        a=terms.a,
        f=terms.f,
        epsilon=None if kind == "classification" else model.epsilon,
        group=number,
        cost_factor=cost,
    )
    assert model.dual_gap_ <= 1e-8
    np.testing.assert_allclose(model.objective_, expected, rtol=2e-6)


@pytest.mark.parametrize("name", ["mixed", "groups", "similarity", "several"])
@pytest.mark.parametrize("formulation", ["corrected", "normalized"])
@each_kind
def test_it_is_one_task_with_precomputed_kernels(kind, formulation, name):
    samples = make_samples(kind, SIZES)
    settings = {"formulation": formulation, "beta": 0.002 if formulation == "normalized" else 0.05}
    model = fitted(kind, samples, relation=RELATIONS[name], intercept="common", **settings)
    bank = [Precomputed(K) for K in weighted_matrices(model, samples)[0]]
    rows = np.arange(len(samples.y))[:, None]
    one = estimator(kind, kernels=bank, **settings).fit(rows, samples.y)
    np.testing.assert_allclose(model.objective_, one.objective_, rtol=1e-6)
    found = values(model, samples.X, task=samples.task)
    np.testing.assert_allclose(found, values(one, rows), rtol=5e-3, atol=5e-3)


@each_kind
def test_relations_that_coincide_agree(kind):
    samples = make_samples(kind, SIZES)
    X, task = samples.X, samples.task

    def same(one, other, **settings):
        first = fitted(kind, samples, relation=one, intercept="task", **settings)
        second = fitted(kind, samples, relation=other, intercept="task", **settings)
        np.testing.assert_allclose(first.objective_, second.objective_, rtol=1e-7)
        np.testing.assert_allclose(
            values(first, X, task=task), values(second, X, task=task), rtol=1e-3, atol=1e-3
        )

    same(kh.TaskGroups(dict.fromkeys(NAMES, "all")), "mixed")
    same(kh.TaskGroups({name: name for name in NAMES}), "mixed")
    same(kh.TaskSimilarity(np.eye(4), tasks=NAMES), "mixed")
    same(SharedFunctions(specific_cost=np.inf), Mixed(specific_cost=np.inf))
    same(["mixed", kh.TaskGroups(GROUPS)], kh.TaskGroups(GROUPS))
    same(["functions", "mixed"], "functions")


@each_relation
def test_kernels_on_demand_and_sparse_points_give_the_same(relation):
    samples = make_samples("regression", SIZES)
    held = fitted("regression", samples, relation=relation)
    found = values(held, samples.X, task=samples.task)
    late = fitted("regression", samples, relation=relation, operator=kh.Dense(cache_size=0.0))
    np.testing.assert_allclose(late.objective_, held.objective_, rtol=1e-6)
    np.testing.assert_allclose(
        values(late, samples.X, task=samples.task), found, rtol=1e-3, atol=1e-3
    )
    if "inputs" in str(relation).lower():
        return  # Sparse inputs are not centred before they are compared.
    thin = estimator("regression", relation=relation)
    thin.fit(sparse.csr_matrix(samples.X), samples.y, task=samples.task)
    np.testing.assert_allclose(thin.objective_, held.objective_, rtol=1e-6)


@each_in_turn
def test_they_can_be_searched_cloned_and_kept(kind, relation):
    samples = make_samples(kind, SIZES)
    model = estimator(kind, tol=1e-6)
    grid = {"relation": ["independent", "functions", relation], "beta": [0.05, 0.5]}
    search = kh.KernelSearchCV(model, grid, cv=2).fit(samples.X, samples.y, task=samples.task)
    alone = kh.KernelSearchCV(
        clone(model).set_params(relation=relation), {"beta": [0.05, 0.5]}, cv=2
    )
    alone.fit(samples.X, samples.y, task=samples.task)
    assert search.n_models_ == 6
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"][[2, 5]],
        alone.cv_results_["mean_test_score"],
        rtol=1e-3,
        atol=1e-3,
    )
    fit = clone(model).set_params(relation=relation)
    fit.fit(samples.X, samples.y, task=samples.task)
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(
        values(again, samples.X, task=samples.task), values(fit, samples.X, task=samples.task)
    )


@each_kind
def test_a_shrunk_intercept_is_a_constant_kernel_and_a_common_intercept(kind):
    samples = make_samples(kind, SIZES)
    shrunk = fitted(kind, samples, relation="mixed", intercept="shrunk")
    bank = KernelBank([*BANK, Constant()])
    given = fitted(kind, samples, relation="mixed", intercept="common", kernels=bank)
    assert shrunk.functions_.kernel_names == [*BANK.names, "constant"]
    np.testing.assert_allclose(shrunk.objective_, given.objective_, rtol=1e-7)
    # What all tasks have in common is the intercept, not a second constant.
    assert shrunk.shared_weights_[-1] <= 1e-6 * shrunk.weights_.sum()


def test_which_intercept_is_the_default():
    samples = make_samples("regression", SIZES)
    assert len(fitted("regression", samples, relation="functions").weights_[0]) == len(BANK)
    assert len(fitted("regression", samples, relation="mixed").weights_[0]) == len(BANK) + 1
    assert len(set(fitted("regression", samples, relation="mixed").intercept_)) == 1
    assert len(set(fitted("regression", samples, relation="independent").intercept_)) == 4


def test_the_table_of_shares_adds_up_and_names_its_rows():
    samples = make_samples("regression", SIZES)
    for name, relation in RELATIONS.items():
        model = fitted("regression", samples, relation=relation)
        table = model.relation_table()
        assert table.index[0] == "common", name
        assert table.index[-1] == "own", name
        np.testing.assert_allclose(table.to_numpy().sum(), 1.0)
        assert np.all(table.to_numpy() >= 0.0)
    own = fitted("regression", samples).relation_table()
    assert list(own.index) == ["own"]
    np.testing.assert_allclose(own.to_numpy().sum(), 1.0)


def test_the_learned_likeness_of_tasks_is_the_sum_of_the_matrices():
    samples = make_samples("regression", SIZES)
    model = fitted("regression", samples, relation=RELATIONS["groups"])
    found = model.task_similarity()
    by_matrix = model.functions_.matrix_weights @ np.mean(
        [k.diagonal(samples.X) for k in model.kernels_], axis=1
    )
    total = np.einsum("r,rst->st", by_matrix, model.relation_.matrices(model.tasks_))
    np.testing.assert_allclose(found, total / by_matrix.sum(), rtol=1e-10)
    np.testing.assert_allclose(np.diagonal(found), 1.0)
    assert found[0, 1] > found[0, 2]
    np.testing.assert_array_equal(fitted("regression", samples).task_similarity(), np.eye(4))


@pytest.mark.parametrize("count", [1, 2, 5, 300])
def test_the_map_of_tasks_is_drawn_for_few_and_for_many(count):
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(count, 3))
    factor /= np.linalg.norm(factor, axis=1, keepdims=True)
    ax = kh.inspection.plot_task_map(factor @ factor.T, [f"t{k}" for k in range(count)])
    assert len(ax.get_xticks()) <= 40
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(set(names)) == len(names)
    ax.figure.canvas.draw()
