"""Matrices by their form against the same matrices written out."""

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.relations import Mixed, SharedFunctions, as_relation
from kernelhood.relations.matrices import (
    Diagonal,
    Grouped,
    Ones,
    Written,
    as_task_matrices,
    entrywise,
)

TASKS = list("abcdef")
NEAR = np.exp(-np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0))))
GROUPS = kh.TaskGroups({t: "xyz"[k % 3] for k, t in enumerate(TASKS)})
SEVERAL = kh.TaskGroups({t: {"xyz"[k % 3], "xyz"[k % 2]} for k, t in enumerate(TASKS)})
FORMS = {
    "ones": Ones(6),
    "diagonal": Diagonal(np.arange(1.0, 7.0)),
    "grouped": GROUPS.structure(TASKS)[1],
    "overlapping": SEVERAL.structure(TASKS)[1],
    "written": Written(NEAR),
}
RELATIONS = [Mixed(), SharedFunctions(), GROUPS, SEVERAL, as_relation([GROUPS, SEVERAL])]


@pytest.mark.parametrize("name", FORMS)
def test_a_form_answers_as_the_matrix_that_it_stands_for(name):
    form = FORMS[name]
    B, some = form.written(), np.array([4, 1, 2])
    W = np.random.default_rng(0).normal(size=(6, 3))
    np.testing.assert_allclose(form.diagonal, np.diagonal(B))
    np.testing.assert_allclose(form.times(W), B @ W)
    np.testing.assert_allclose(form.times(W, some), (B @ W)[some])
    np.testing.assert_allclose(form.at(some).written(), B[np.ix_(some, some)])
    np.testing.assert_allclose(form.root() @ form.root().T, B, atol=1e-12)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("other", FORMS)
def test_products_of_entries_are_those_of_the_matrices(name, other):
    both = entrywise(FORMS[name], FORMS[other])
    np.testing.assert_allclose(both.written(), FORMS[name].written() * FORMS[other].written())
    assert isinstance(both, Written) <= ("written" in (name, other))


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_relations_have_the_same_matrices_in_both_ways(relation):
    found, written = relation.structure(TASKS), relation.matrices(TASKS)
    np.testing.assert_array_equal(found.written(), written)
    np.testing.assert_allclose(found.rows(2), written[:, 2])
    np.testing.assert_allclose(found.diagonals, np.einsum("rtt->rt", written))


def test_groups_of_all_tasks_and_of_single_ones_are_ones_and_a_diagonal():
    one, alone = (kh.TaskGroups({t: f(t) for t in TASKS}) for f in (lambda t: 0, lambda t: t))
    assert one.structure(TASKS)[1].is_ones
    assert alone.structure(TASKS)[1].is_identity
    assert isinstance(GROUPS.structure(TASKS)[1], Grouped)
    kinds = [type(B) for B in as_task_matrices([np.ones((2, 2)), np.eye(2), [[2, 1], [1, 2]]])]
    assert kinds == [Ones, Diagonal, Written]


def test_many_tasks_are_never_written_out():
    tasks = list(range(100_000))
    groups = kh.TaskGroups({t: t % 30 for t in tasks})
    for relation in (Mixed(), groups, as_relation(["mixed", groups])):
        found = relation.structure(tasks)
        assert len(found.key) > 0
        assert found.diagonals.shape == (len(found), 100_000)
        assert entrywise(found[1], found[1]).n_tasks == 100_000
