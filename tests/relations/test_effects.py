"""Groups, likeness, graphs, inputs, and several relations at once."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from kernelhood.kernels import Gaussian
from kernelhood.relations import (
    RELATIONS,
    Combination,
    Independent,
    Mixed,
    Newcomer,
    SharedFunctions,
    TaskGraph,
    TaskGroups,
    TaskInputs,
    TaskSimilarity,
    as_relation,
)

TASKS = ["a", "b", "c", "d"]
GROUPS = {"a": 1, "b": 1, "c": 2, "d": 2}
PLACES = {"a": [0.0, 0.0], "b": [1.0, 0.0], "c": [5.0, 1.0], "d": [6.0, 1.0]}
EDGES = [("a", "b"), ("b", "c"), ("c", "d")]
rng = np.random.default_rng(0)
INPUTS = [rng.normal(size=(20, 2)) + shift for shift in (0.0, 0.2, 3.0, 3.2)]
EFFECTS = {
    "mixed": Mixed(),
    "groups": TaskGroups(GROUPS, cost=2.0),
    "several groups": TaskGroups({"a": {1, 2}, "b": {2}, "c": {3}, "d": {1, 3}}, GROUPS),
    "places": TaskSimilarity(features=PLACES),
    "a matrix": TaskSimilarity(np.eye(4) + 1.0, tasks=TASKS),
    "graph": TaskGraph(EDGES),
    "inputs": TaskInputs().seen(TASKS, INPUTS),
    "combination": Combination([TaskGroups(GROUPS), TaskGraph(EDGES), SharedFunctions(3.0)]),
}
each = pytest.mark.parametrize("relation", EFFECTS.values(), ids=EFFECTS)


@each
def test_matrices_are_semidefinite_with_a_diagonal_of_ones(relation):
    matrices = relation.matrices(TASKS)
    np.testing.assert_array_equal(matrices[0], np.ones((4, 4)))
    for B in matrices:
        np.testing.assert_allclose(B, B.T, atol=1e-15)
        np.testing.assert_allclose(np.diagonal(B), 1.0)
        assert np.linalg.eigvalsh(B).min() >= -1e-9
    n = len(matrices) + relation.separate
    assert len(relation.costs(len(matrices))) == len(relation.labels(len(matrices))) == n
    assert relation.costs(len(matrices))[0] == 1.0


@each
def test_the_order_of_tasks_is_that_which_is_asked_for(relation):
    order = [2, 0, 3, 1]
    turned = relation.matrices([TASKS[k] for k in order])
    expected = relation.matrices(TASKS)[:, order][:, :, order]
    np.testing.assert_allclose(turned, expected, atol=1e-12)


MADE = {
    "mixed": Mixed,
    "groups": lambda **more: TaskGroups(GROUPS, cost=2.0, **more),
    "places": lambda **more: TaskSimilarity(features=PLACES, **more),
    "graph": lambda **more: TaskGraph(EDGES, **more),
    "inputs": lambda **more: TaskInputs(**more).seen(TASKS, INPUTS),
    "combination": lambda **more: Combination([TaskGroups(GROUPS, **more), Mixed(**more)]),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_what_is_own_can_cost_more_or_nothing_be_own(make):
    relation, dear, none = make(), make(specific_cost=2.0), make(specific_cost=np.inf)
    np.testing.assert_allclose(dear.costs(9)[:-1], relation.costs(9)[:-1])
    assert dear.costs(9)[-1] == 2.0 * relation.costs(9)[-1]
    assert dear.key == relation.key
    assert dear != relation
    assert none.key != relation.key
    assert len(none.matrices(TASKS)) == len(relation.matrices(TASKS)) - 1
    assert np.all(np.isfinite(none.costs(9)))
    with pytest.raises(ValueError, match="specific_cost must be at least 1"):
        make(specific_cost=0.5)
    assert relation == make(specific_cost=1.0)
    assert hash(relation) == hash(make(specific_cost=1.0))
    assert relation != Independent()


@each
def test_a_task_of_which_nothing_is_known_has_what_is_common(relation):
    newcomer = Newcomer("z")
    assert not relation.knows(newcomer)
    rows = relation.unseen(TASKS, newcomer)
    np.testing.assert_array_equal(rows[0], np.ones(4))
    np.testing.assert_array_equal(rows[1:], 0.0)
    assert rows.shape == relation.matrices(TASKS).shape[:2]


def test_groups_may_overlap():
    B = EFFECTS["several groups"].matrices(TASKS)[1]
    np.testing.assert_allclose(B[0], [1.0, 1.0 / np.sqrt(2.0), 0.0, 0.5])
    frame = pd.Series(GROUPS)
    np.testing.assert_array_equal(
        TaskGroups(frame).matrices(TASKS)[1], [[1, 1, 0, 0]] * 2 + [[0, 0, 1, 1]] * 2
    )
    assert TaskGroups([GROUPS, GROUPS]).labels(4) == ["common", "groups 1", "groups 2", "own"]


def test_a_newcomer_has_a_row_like_a_task_at_its_place():
    places = EFFECTS["places"]
    S = places.matrices(TASKS)[1]
    newcomer = Newcomer("z", features=PLACES["c"])
    assert places.knows(newcomer)
    np.testing.assert_allclose(places.unseen(TASKS, newcomer)[1], S[2])
    graph = EFFECTS["graph"]
    np.testing.assert_allclose(
        graph.unseen(TASKS[:3], Newcomer("d"))[1], graph.matrices(TASKS)[1][3, :3]
    )
    inputs = EFFECTS["inputs"]
    np.testing.assert_allclose(
        inputs.unseen(TASKS, Newcomer("z", points=INPUTS[1]))[1], inputs.matrices(TASKS)[1][1]
    )


def test_the_graph_is_the_scaled_pseudo_inverse_of_the_laplacian():
    L = np.array([[1.0, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 1]])
    P = np.linalg.pinv(L)
    expected = P / np.sqrt(np.outer(np.diagonal(P), np.diagonal(P)))
    np.testing.assert_allclose(EFFECTS["graph"].matrices(TASKS)[1], expected, atol=1e-12)
    heavy = TaskGraph([("a", "b", 100.0), ("b", "c"), ("c", "d")]).matrices(TASKS)[1]
    assert heavy[0, 1] > expected[0, 1]
    alone = TaskGraph(EDGES).matrices([*TASKS, "island"])[1]
    np.testing.assert_array_equal(alone[4], [0.0, 0.0, 0.0, 0.0, 1.0])


def test_the_likeness_of_inputs_is_that_of_the_mean_discrepancy():
    relation = EFFECTS["inputs"]
    X = np.vstack(INPUTS)
    Z = [(one - X.mean(axis=0)) / X.std(axis=0) for one in INPUTS]
    every = np.vstack(Z)
    apart = np.linalg.norm(every[:, None] - every, axis=2)[np.triu_indices(80, 1)]
    k = Gaussian(float(np.median(apart)))
    means = np.array([[k(s, t).mean() for t in Z] for s in Z])
    mmd = np.diagonal(means)[:, None] + np.diagonal(means) - 2.0 * means
    width = np.median(mmd[np.triu_indices(4, 1)])
    expected = np.exp(-mmd / width)
    np.testing.assert_allclose(relation.matrices(TASKS)[1], expected, atol=1e-6)
    assert expected[0, 1] > expected[0, 2]


def test_sparse_inputs_and_few_landmarks_are_close():
    dense = EFFECTS["inputs"].matrices(TASKS)[1]
    few = TaskInputs(n_landmarks=30).seen(TASKS, INPUTS).matrices(TASKS)[1]
    np.testing.assert_allclose(few, dense, atol=0.05)
    thin = [sparse.csr_matrix(one) for one in INPUTS]
    B = TaskInputs().seen(TASKS, thin).matrices(TASKS)[1]
    assert B[0, 1] > B[0, 2]
    same = TaskInputs().seen(["a", "b"], [np.zeros((3, 2))] * 2)
    np.testing.assert_allclose(same.matrices(["a", "b"])[1], 1.0)


def test_names_stand_for_relations():
    assert as_relation("mixed") == Mixed()
    assert as_relation(["mixed"]) == Mixed()
    both = as_relation(["mixed", TaskGroups(GROUPS)])
    assert both == Combination([Mixed(), TaskGroups(GROUPS)])
    assert set(RELATIONS) == {"independent", "functions", "mixed", "inputs"}
    assert isinstance(as_relation("independent"), Independent)


def test_several_take_the_cost_of_each():
    both = Combination([TaskGroups(GROUPS, cost=2.0), TaskGraph(EDGES, cost=3.0)])
    np.testing.assert_array_equal(both.costs(4), [1.0, 2.0, 3.0, 1.0])
    seen = Combination([Mixed(), TaskInputs()]).seen(TASKS, INPUTS)
    np.testing.assert_array_equal(seen.matrices(TASKS), EFFECTS["inputs"].matrices(TASKS))
    assert seen.knows(Newcomer("z", points=INPUTS[0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: as_relation("pairs"), "relation must be one of 'independent'"),
        (lambda: as_relation([]), "at least one relation"),
        (lambda: as_relation(["independent", "mixed"]), "cannot be combined"),
        (lambda: TaskGroups(), "at least one mapping"),
        (lambda: TaskGroups({}), "mappings of task to group"),
        (lambda: TaskGroups("west"), "mappings of task to group"),
        (lambda: TaskGroups(GROUPS, cost=0.0), "cost must be finite and positive"),
        (lambda: TaskGroups(GROUPS, cost=[1.0, 2.0]), "cost must be one number or 1"),
        (lambda: TaskGroups({"a": 1}).matrices(TASKS), "there is none for 'b', 'c', 'd'"),
        (lambda: TaskSimilarity(), "similarity must be a matrix"),
        (lambda: TaskSimilarity("rbf"), "needs features"),
        (lambda: TaskSimilarity(np.eye(2)), "tasks must name the rows"),
        (lambda: TaskSimilarity(np.eye(2), tasks=TASKS), r"shape \(4, 4\)"),
        (lambda: TaskSimilarity([[0, 1], [2, 0]], tasks="ab"), "symmetric"),
        (lambda: TaskSimilarity([[0, 1], [1, 0]], tasks="ab"), "positive semi-definite"),
        (lambda: TaskSimilarity(features={}), "mapping of task to vector"),
        (lambda: TaskSimilarity(features={"a": [1], "b": [1, 2]}), "one length"),
        (lambda: TaskSimilarity(features={"a": [np.nan]}), "finite"),
        (lambda: TaskSimilarity(features=PLACES, tasks=TASKS), "leave it out"),
        (lambda: EFFECTS["places"].matrices(["z"]), "nothing about 'z'"),
        (lambda: EFFECTS["a matrix"].joined(TASKS, Newcomer("z", [1.0])), "was given a matrix"),
        (lambda: TaskGraph([]), "at least one pair"),
        (lambda: TaskGraph([("a",)]), "pairs of tasks"),
        (lambda: TaskGraph([("a", "a")]), "different tasks"),
        (lambda: TaskGraph([("a", "b", -1.0)]), "positive weight"),
        (lambda: TaskInputs(n_landmarks=0), "n_landmarks"),
        (lambda: TaskInputs().matrices(TASKS), "has seen no inputs"),
        (lambda: EFFECTS["several groups"].joined(TASKS, Newcomer("z", 1)), "give 2 groups"),
    ],
)
def test_what_cannot_be_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_frame_names_its_tasks():
    frame = pd.DataFrame(np.eye(4) + 1.0, index=TASKS, columns=TASKS)
    assert TaskSimilarity(frame) == EFFECTS["a matrix"]
    places = pd.DataFrame(PLACES).T
    assert TaskSimilarity(features=places) == EFFECTS["places"]
    assert TaskSimilarity("rbf", features=PLACES) != EFFECTS["places"]
