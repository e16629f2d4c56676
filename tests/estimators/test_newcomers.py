"""Tasks that were not seen in fit: placed by what the relation knows, and adapted to labels."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVR

import kernelhood as kh
from kernelhood.losses import box_loss
from kernelhood.solvers.svm import solve_without_intercept
from tests.estimators.test_relations import (
    BANK,
    EDGES,
    GROUPS,
    KINDS,
    NAMES,
    PLACES,
    SIZES,
    estimator,
    fitted,
    values,
)
from tests.references import make_samples, optimum

each_kind = pytest.mark.parametrize("kind", KINDS)


def grouped(n_tasks=12, n=15, seed=0, noise=0.1):
    """Tasks of two groups whose functions are opposite, and whose inputs lie elsewhere."""
    rng = np.random.default_rng(seed)
    group = {f"t{k}": "even" if k % 2 == 0 else "odd" for k in range(n_tasks)}
    task = np.repeat(list(group), n)
    odd = np.array([group[name] == "odd" for name in task])
    X = rng.normal(size=(len(task), 2)) + np.where(odd, 1.5, -1.5)[:, None]
    y = np.where(odd, -1.0, 1.0) * np.sin(2.0 * X[:, 0]) + noise * rng.normal(size=len(task))
    return X, y, task, group


def by_hand(model, X, rows):
    """The function of a task that is joined to the others by rows of the matrices."""
    total = np.zeros(len(X))
    for t in range(len(model.tasks_)):
        K = model.kernels_(X, model.support_vectors_[t])
        weights = np.einsum("r,rm->m", rows[:, t], model.functions_.matrix_weights)
        total += np.einsum("m,mij,j->i", weights, K, model.dual_coef_[t])
    return total


@each_kind
def test_a_group_places_a_task(kind):
    samples = make_samples(kind, SIZES)
    groups = {**GROUPS, "late": "b"}
    model = fitted(kind, samples, relation=kh.TaskGroups(groups))
    rows = np.array([[1.0] * 4, [0, 0, 1, 1], [0.0] * 4])
    expected = by_hand(model, samples.X, rows) + model.intercept_[0]
    found = values(model, samples.X, task=["late"] * len(samples.y))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    given = values(model, samples.X, task=["x"] * len(samples.y), task_features={"x": "b"})
    np.testing.assert_allclose(given, found)
    with pytest.warns(UserWarning, match="not seen in fit: 'x'"):
        values(model, samples.X, task=["x"] * len(samples.y))


def test_a_descriptor_a_matrix_and_neighbours_place_a_task():
    samples = make_samples("regression", SIZES)
    X, new = samples.X, ["new"] * len(samples.y)
    places = kh.TaskSimilarity(features=PLACES)
    model = fitted("regression", samples, relation=places)
    S = places.matrices(NAMES)[1]
    rows = np.array([np.ones(4), S[2], np.zeros(4)])
    at_two = values(model, X, task=new, task_features={"new": PLACES["task 2"]})
    np.testing.assert_allclose(at_two, by_hand(model, X, rows) + model.intercept_[0], rtol=1e-9)
    known = kh.TaskSimilarity(
        np.block([[S, S[:, 2:3]], [S[2:3], np.ones((1, 1))]]), tasks=[*NAMES, "new"]
    )
    same = values(fitted("regression", samples, relation=known), X, task=new)
    np.testing.assert_allclose(same, at_two, rtol=1e-6)
    graph = fitted("regression", samples, relation=kh.TaskGraph(EDGES))
    rows[1] = graph.relation_.matrices(NAMES)[1][1]
    near = values(graph, X, task=new, task_features={"new": ["task 1"]})
    np.testing.assert_allclose(near, by_hand(graph, X, rows) + graph.intercept_[0], rtol=1e-9)
    with pytest.raises(ValueError, match="must name neighbours of task 'new'"):
        values(graph, X, task=new, task_features={"new": ["task 9"]})
    with pytest.raises(ValueError, match="must give 2 numbers for task 'new'"):
        values(model, X, task=new, task_features={"new": [1.0]})


def test_several_relations_say_which_is_meant():
    samples = make_samples("regression", SIZES)
    both = [kh.TaskGroups(GROUPS), kh.TaskGraph(EDGES), "inputs"]
    model = fitted("regression", samples, relation=both)
    new = {"task": ["new"] * len(samples.y)}
    with pytest.raises(ValueError, match="keys 'groups', 'graph'"):
        values(model, samples.X, task_features={"new": "b"}, **new)
    with pytest.raises(ValueError, match="holds 'region'"):
        values(model, samples.X, task_features={"new": {"region": "b"}}, **new)
    one = values(model, samples.X, task_features={"new": {"groups": "a"}}, **new)
    other = values(model, samples.X, task_features={"new": {"groups": "b"}}, **new)
    assert np.abs(one - other).max() > 1e-3


@pytest.mark.parametrize("what", ["group", "inputs"])
def test_what_is_known_of_a_new_task_helps_where_groups_matter(what):
    X, y, task, group = grouped()
    seen = np.isin(task, [f"t{k}" for k in range(8)])
    relation = kh.TaskGroups(group) if what == "group" else "inputs"
    model = kh.MTONMKLRegressor(relation=relation, formulation="corrected", beta=1e-3, C=10.0)
    model.fit(X[seen], y[seen], task=task[seen])
    new = ~seen
    placed = np.mean((model.predict(X[new], task=task[new]) - y[new]) ** 2)
    common = np.mean((model.shared_function(X[new]) - y[new]) ** 2)
    assert placed < 0.5 * common


def test_a_task_is_refused_where_nothing_is_known_or_everything_is_forbidden():
    samples = make_samples("regression", SIZES)
    new = ["new"] * len(samples.y)
    for settings, remedy in (
        ({"relation": "independent"}, "use relation='mixed' or another .* let adapt learn"),
        ({"relation": "mixed", "unseen_task": "error"}, "unseen_task='shared' predicts them"),
        ({"relation": "inputs", "unseen_task": "error"}, "unseen_task='shared' predicts them"),
    ):
        model = fitted("regression", samples, **settings)
        with pytest.raises(ValueError, match=f"not seen in fit: 'new'. Known are .*{remedy}"):
            model.predict(samples.X, task=new)
    shared = fitted("regression", samples, relation=kh.TaskGroups(GROUPS), unseen_task="shared")
    found = shared.predict(samples.X, task=new)
    np.testing.assert_allclose(found, shared.shared_function(samples.X))
    with pytest.raises(ValueError, match="task_features must be a mapping"):
        shared.predict(samples.X, task=new, task_features="west")


@each_kind
@pytest.mark.parametrize("relation", ["functions", "mixed", kh.TaskGroups(GROUPS)])
def test_one_warning_names_the_tasks_that_only_the_common_function_can_predict(kind, relation):
    samples = make_samples(kind, SIZES)
    model = fitted(kind, samples, relation=relation)
    X, y = samples.X[:8], samples.y[:8]
    task = np.array([*"abcdefg", NAMES[0]])
    asked = [lambda: model.predict(X, task=task), lambda: model.score(X, y, task=task)]
    if kind == "classification":
        asked += [lambda: model.decision_function(X, task=task)]
    named = "fit: 'a', 'b', 'c', 'd', 'e' and 2 more. .*unseen_task='shared'.*unseen_task='error'"
    for ask in asked:
        with pytest.warns(UserWarning, match=named) as heard:
            ask()
        assert len(heard) == 1
    with pytest.warns(UserWarning, match=named):
        found = values(model, X, task=task)
    model.set_params(unseen_task="shared")
    np.testing.assert_array_equal(found, values(model, X, task=task))
    for ask in asked:
        ask()
    model.set_params(unseen_task="error")
    for ask in asked:
        with pytest.raises(ValueError, match="not seen in fit: 'a', 'b'"):
            ask()


def test_unlabelled_rows_sharpen_the_likeness_of_inputs():
    X, y, task, _ = grouped(n_tasks=6, n=30)
    few = np.tile(np.arange(30) < 5, 6)
    settings = {"relation": "inputs", "formulation": "corrected", "beta": 0.05}
    alone = kh.MTONMKLRegressor(**settings).fit(X[few], y[few], task=task[few])
    more = kh.MTONMKLRegressor(**settings)
    more.fit(X[few], y[few], task=task[few], unlabelled=(X[~few], task[~few]))
    hidden = np.where(few, y, np.nan)
    missing = kh.MTONMKLRegressor(**settings).fit(X, hidden, task=task)
    whole = kh.TaskInputs().seen(more.tasks_, [X[task == name] for name in more.tasks_])
    expected = whole.matrices(more.tasks_)[1]
    np.testing.assert_allclose(more.relation_.matrices(more.tasks_)[1], expected, atol=1e-6)
    np.testing.assert_allclose(missing.relation_.matrices(more.tasks_)[1], expected, atol=1e-6)
    np.testing.assert_allclose(missing.predict(X, task=task), more.predict(X, task=task), atol=1e-3)
    same = np.equal.outer(np.arange(6) % 2, np.arange(6) % 2) & ~np.eye(6, dtype=bool)

    def contrast(model):
        B = model.relation_.matrices(model.tasks_)[1]
        return B[same].mean() - B[~same & ~np.eye(6, dtype=bool)].mean()

    assert contrast(more) > contrast(alone)


def test_missing_classes_are_unlabelled_rows_too():
    samples = make_samples("classification", SIZES)
    y = samples.y.astype(object)
    y[:4] = None
    words = np.where(samples.y > 0, "yes", "no").astype(object)
    words[:4] = None
    model = fitted("classification", samples._replace(y=y), relation="inputs")
    named = fitted("classification", samples._replace(y=words), relation="inputs")
    assert set(model.classes_) == {-1, 1}
    assert list(named.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(
        named.predict(samples.X, task=samples.task) == "yes",
        model.predict(samples.X, task=samples.task) == 1,
    )
    assert not np.isin(np.concatenate(model.support_), np.arange(4)).any()


def test_unlabelled_rows_are_refused_where_nothing_looks_at_them():
    samples = make_samples("regression", SIZES)
    with pytest.raises(ValueError, match="unlabelled needs a relation that looks at inputs"):
        estimator("regression", relation="mixed").fit(
            samples.X, samples.y, task=samples.task, unlabelled=(samples.X, samples.task)
        )
    with pytest.raises(ValueError, match=r"unlabelled must be a pair"):
        estimator("regression", relation="inputs").fit(
            samples.X, samples.y, task=samples.task, unlabelled=samples.X
        )
    with pytest.raises(ValueError, match="no target at all"):
        estimator("regression", relation="inputs").fit(
            samples.X, np.full(len(samples.y), np.nan), task=samples.task
        )


@pytest.mark.parametrize("intercept", ["task", "shrunk"])
@pytest.mark.parametrize("old", [False, True], ids=["new task", "old task"])
@each_kind
def test_adapting_is_a_refit_with_everything_else_held_fixed(kind, old, intercept):
    samples = make_samples(kind, SIZES)
    model = fitted(
        kind, samples, relation=kh.TaskGroups({**GROUPS, "new": "b"}), intercept=intercept
    )
    name = "task 2" if old else "new"
    extra = make_samples(kind, (25,), seed=5)
    if old:
        offset = values(model, extra.X, task=[name] * 25)
        weights = model.weights_[2]
    else:
        rows = np.array([[1.0] * 4, [0, 0, 1, 1], [0.0] * 4])
        offset = by_hand(model, extra.X, rows) + (intercept == "shrunk") * model.intercept_[0]
        weights = model.functions_.matrix_weights.sum(axis=0)
    before = values(model, samples.X, task=samples.task)
    model.adapt(extra.X, extra.y, task=name)
    K = model.kernels_.combine(extra.X, extra.X, weights)
    # The same by a conic solver: the SVM of what is left over, with all else fixed.
    v = cp.Variable(25)
    b = cp.Variable() if intercept == "task" else 0.0
    root = np.linalg.cholesky(K + 1e-10 * np.eye(25))
    f = root @ v + b + offset
    if kind == "classification":
        loss = cp.sum(cp.pos(1.0 - cp.multiply(extra.y, f)))
    else:
        loss = cp.sum(cp.pos(cp.abs(extra.y - f) - model.epsilon))
    optimum(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(v) + model.C * loss)))
    at_new = values(model, extra.X, task=[name] * 25)
    np.testing.assert_allclose(at_new, f.value, atol=2e-3 * np.abs(f.value).max())
    others = samples.task != name
    found = values(model, samples.X[others], task=samples.task[others])
    np.testing.assert_array_equal(found, before[others])


def test_adapting_helps_a_new_task_and_can_be_done_again():
    X, y, task, group = grouped()
    seen = np.isin(task, [f"t{k}" for k in range(10)])
    model = kh.MTONMKLRegressor(relation=kh.TaskGroups(group), formulation="corrected", beta=1e-3)
    model.fit(X[seen], y[seen], task=task[seen])
    own = task == "t10"
    shifted = y[own] + 2.0
    before = np.mean((model.predict(X[own], task=task[own]) - shifted) ** 2)
    model.adapt(X[own][:8], shifted[:8], task="t10")
    after = np.mean((model.predict(X[own], task=task[own]) - shifted) ** 2)
    assert after < 0.5 * before
    once = model.predict(X[own], task=task[own])
    model.adapt(X[own][:8], shifted[:8], task="t10")
    np.testing.assert_array_equal(model.predict(X[own], task=task[own]), once)


def test_independent_tasks_hand_on_their_kernels():
    samples = make_samples("regression", SIZES)
    model = fitted("regression", samples)
    extra = make_samples("regression", (20,), seed=3)
    model.adapt(extra.X, extra.y, task="new")
    K = BANK.combine(extra.X, extra.X, model.weights_.mean(axis=0))
    svr = SVR(kernel="precomputed", C=2.0, epsilon=model.epsilon, tol=1e-8).fit(K, extra.y)
    np.testing.assert_allclose(model.predict(extra.X, task=["new"] * 20), svr.predict(K), atol=1e-3)


def test_many_classes_are_adapted_pair_by_pair():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    task = np.repeat(["a", "b"], 60)
    model = kh.MTONMKLClassifier(relation="mixed", C=10.0).fit(X, y, task=task)
    late = rng.normal(size=(60, 2))
    labels = 2 - np.digitize(late[:, 0], [-0.5, 0.5])
    before = (
        model.fit(X, y, task=task).set_params(unseen_task="shared").predict(late, task=["c"] * 60)
    )
    after = model.adapt(late, labels, task="c").predict(late, task=["c"] * 60)
    assert np.mean(after == labels) > np.mean(before == labels) + 0.2
    with pytest.raises(ValueError, match="y holds \\[7\\] in task 'c'"):
        model.adapt(late, np.full(60, 7), task="c")


@each_kind
def test_the_svm_without_intercept_is_optimal(kind):
    samples = make_samples(kind, (30,))
    K = BANK[1](samples.X)
    if kind == "classification":
        loss = box_loss(
            samples.y.astype(float),
            np.where(samples.y < 0, -2.0, 0.0),
            np.where(samples.y > 0, 2.0, 0.0),
        )
        epsilon = 0.0
    else:
        epsilon = 0.1
        loss = box_loss(samples.y, np.full(30, -2.0), np.full(30, 2.0), epsilon)
    v = solve_without_intercept(K, loss, tol=1e-10)
    f = K @ v
    # Optimality: inside the box the sample sits on the edge of the tube, at its ends outside.
    miss = loss.target - f
    inside = (v > loss.lower + 1e-6) & (v < loss.upper - 1e-6) & (np.abs(v) > 1e-6)
    np.testing.assert_allclose(np.abs(miss[inside]), epsilon, atol=1e-4)
    upper = (v >= loss.upper - 1e-9) & (loss.upper > 0)
    assert np.all(miss[upper] >= epsilon - 1e-4)
    zero = np.abs(v) <= 1e-9
    inner = zero & (loss.lower < 0) & (loss.upper > 0)
    assert np.all(np.abs(miss[inner]) <= epsilon + 1e-4)
