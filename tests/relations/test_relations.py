import numpy as np
import pytest

from kernelhood.relations import Independent, Newcomer, SharedFunctions, TaskRelation

TASKS = ["a", "b", "c"]
RELATIONS = {
    "independent": Independent(),
    "functions": SharedFunctions(),
    "dear functions": SharedFunctions(3.0),
    "one function": SharedFunctions(np.inf),
}
each_relation = pytest.mark.parametrize("relation", RELATIONS.values(), ids=RELATIONS)


@each_relation
def test_the_matrices_are_positive_semidefinite_and_have_a_cost_each(relation):
    matrices = relation.matrices(TASKS)
    assert matrices.shape[1:] == (3, 3)
    for B in matrices:
        np.testing.assert_array_equal(B, B.T)
        assert np.linalg.eigvalsh(B).min() >= -1e-12
    costs = relation.costs(len(matrices))
    assert len(costs) == len(matrices) + relation.separate
    assert np.all(costs >= 1.0)
    assert np.all(np.isfinite(costs))


@each_relation
def test_a_task_never_seen_is_joined_by_as_many_matrices(relation):
    rows = relation.unseen(TASKS, Newcomer("d"))
    if rows is not None:
        assert rows.shape == (len(relation.matrices(TASKS)), 3)


@each_relation
def test_keys_are_hashable_and_equal_for_equal_relations(relation):
    assert hash(relation.key) == hash(type(relation)(**vars(relation)).key)
    assert relation.key == type(relation)(**vars(relation)).key


def test_independent_tasks_have_only_weights_of_their_own():
    relation = Independent()
    assert not relation.couples
    assert relation.separate
    assert relation.matrices(TASKS).shape == (0, 3, 3)
    assert relation.costs(0).tolist() == [1.0]
    assert relation.unseen(TASKS, Newcomer("d")) is None


def test_shared_functions_have_a_matrix_of_ones_and_a_dearer_function_for_each_task():
    relation = SharedFunctions(3.0)
    assert relation.couples
    assert relation.separate
    np.testing.assert_array_equal(relation.matrices(TASKS), np.ones((1, 3, 3)))
    assert relation.costs(1).tolist() == [1.0, 3.0]
    np.testing.assert_array_equal(relation.unseen(TASKS, Newcomer("d")), np.ones((1, 3)))


def test_an_infinite_cost_leaves_only_the_common_function():
    relation = SharedFunctions(np.inf)
    assert relation.couples
    assert not relation.separate
    assert relation.costs(1).tolist() == [1.0]


def test_the_cost_does_not_tell_relations_apart_but_what_it_leaves_does():
    assert SharedFunctions(1.0).key == SharedFunctions(3.0).key
    keys = {SharedFunctions().key, SharedFunctions(np.inf).key, Independent().key}
    assert len(keys) == 3


def test_a_relation_of_ones_own_says_only_its_matrices():
    class Chain(TaskRelation):
        """Every task is like the next one."""

        @property
        def key(self):
            return "chain"

        def matrices(self, tasks):
            place = np.arange(len(tasks))
            return np.exp(-np.abs(place[:, None] - place))[None]

    relation = Chain()
    assert relation.couples
    assert not relation.separate
    assert relation.costs(1).tolist() == [1.0]
    assert relation.unseen(TASKS, Newcomer("d")) is None
