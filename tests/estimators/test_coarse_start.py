"""Joint problems of many samples start from a part of them, that from a part of it."""

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.estimators import related
from kernelhood.estimators import training as joint
from kernelhood.estimators.mtonmkl import MTONMKL
from kernelhood.estimators.training import _surely_different
from kernelhood.solvers import concave_path


def model(formulation, sharing, **settings):
    return kh.MTONMKLRegressor(
        kernels="paper", formulation=formulation, relation=sharing, beta=0.02, C=4.0, **settings
    )


@pytest.fixture
def table():
    data = kh.datasets.make_multitask(4, 160, kind="regression", noise=0.2, random_state=0)
    return data.X, data.y, data.task


@pytest.fixture
def sizes(monkeypatch):
    """Let few samples count as many, and note how many are looked at."""
    monkeypatch.setattr(joint, "_LARGE", 100)
    monkeypatch.setattr(joint, "_PART", 160)
    noted, init = [], joint.JointKernels.__init__

    def note(self, bank, problems, *arguments, **settings):
        noted.append(sum(len(one.rows) for one in problems))
        init(self, bank, problems, *arguments, **settings)

    monkeypatch.setattr(joint.JointKernels, "__init__", note)
    return noted


@pytest.mark.parametrize("cache_size", [0.0, 1000.0], ids=["evaluated", "held"])
@pytest.mark.parametrize("sharing", ["functions", "mixed"])
def test_a_part_of_a_part_leads_to_the_same_optimum(sharing, cache_size, table, sizes, monkeypatch):
    X, y, task = table
    asked = {"relation": sharing, "tol": 1e-6, "beta": 0.02, "kernels": "paper"}
    asked["operator"] = kh.Dense(cache_size=cache_size)
    found = kh.MTONMKLRegressor(formulation="corrected", **asked).fit(X, y, task=task)
    assert sizes == [640, 160, 40]
    monkeypatch.setattr(joint, "_LARGE", 10**6)
    cold = kh.MTONMKLRegressor(formulation="corrected", **asked).fit(X, y, task=task)
    assert sizes[3:] == [640]
    assert found.dual_gap_ <= 1e-6
    assert found.objective_ == pytest.approx(cold.objective_, rel=2e-6)
    at = np.linspace(-1.0, 1.0, 20)[:, None] * np.ones(X.shape[1])
    values = [one.predict(at, task=np.repeat(task[0], 20)) for one in (found, cold)]
    np.testing.assert_allclose(*values, rtol=1e-2, atol=1e-2)


def test_the_parts_are_solved_by_few_svms(table, sizes, monkeypatch):
    X, y, task = table
    limits = []
    minimise = MTONMKL.minimise

    def note(self, blocks, *arguments):
        limits.append((blocks[0].n_samples, self.tol, self.max_iter))
        return minimise(self, blocks, *arguments)

    monkeypatch.setattr(MTONMKL, "minimise", note)
    model("normalized", "functions", tol=1e-4, max_iter=50).fit(X, y, task=task)
    assert limits == [(40, 1e-2, 12), (160, 1e-2, 12), (640, 1e-4, 50)]


@pytest.fixture
def noted_parts(monkeypatch):
    """Let few tasks count as many, and note the tasks of every problem and where it ends."""
    monkeypatch.setattr(joint, "_LARGE", 160)
    monkeypatch.setattr(related, "_SOME_TASKS", 4)
    noted, minimise = [], MTONMKL.minimise

    def note(self, blocks, penalty, *arguments):
        found = minimise(self, blocks, penalty, *arguments)
        noted.append((np.diff(blocks[0].operator.cells.starts).tolist(), found, penalty))
        return found

    monkeypatch.setattr(MTONMKL, "minimise", note)
    return noted


RELATIONS = {
    "mixed": "mixed",
    "groups": kh.TaskGroups({f"task {t:02d}": t % 2 for t in range(16)}),
    "similarity": kh.TaskSimilarity(
        0.5 + 0.5 * np.eye(16), tasks=[f"task {t:02d}" for t in range(16)]
    ),
}


@pytest.mark.parametrize("operator", ["dense", kh.Landmarks(30)], ids=str)
@pytest.mark.parametrize("relation", RELATIONS)
def test_of_many_tasks_some_are_taken_whole(relation, operator, noted_parts):
    rng = np.random.default_rng(0)
    sizes = rng.integers(8, 17, 16)
    task = np.repeat([f"task {t:02d}" for t in range(16)], sizes)
    X = rng.normal(size=(len(task), 3))
    y = np.sin(X[:, 0]) + X[:, 1] * np.repeat(rng.normal(size=16), sizes)
    settings = {"formulation": "corrected", "beta": 0.01, "kernels": "paper", "tol": 1e-6}
    asked = {**settings, "operator": operator, "relation": RELATIONS[relation]}
    found = kh.MTONMKLRegressor(**asked).fit(X, y, task=task)
    (few, _, _), (every, _, _) = noted_parts
    assert every == sizes.tolist()
    assert len(few) == 4
    assert all(size in every for size in few)
    assert found.dual_gap_ <= 1e-6
    if operator != "dense":
        asked["operator"] = kh.Landmarks(points=found.landmarks_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint, "_LARGE", 10**6)
        cold = kh.MTONMKLRegressor(**asked).fit(X, y, task=task)
    assert len(noted_parts) == 3
    assert found.objective_ == pytest.approx(cold.objective_, rel=2e-6)


@pytest.mark.parametrize("formulation", ["corrected", "printed", "normalized"])
def test_some_of_equal_tasks_have_the_optimum_of_all(formulation, noted_parts):
    """Then a part is no estimate: each of its tasks stands for four that are the same."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=12)
    settings = {"formulation": formulation, "beta": 0.01, "kernels": "paper", "tol": 1e-7}
    task = np.repeat(np.arange(16), 12)
    points = np.tile(X, (16, 1)) + 1e-7 * rng.normal(size=(192, 2))
    model = kh.MTONMKLRegressor(relation="mixed", max_iter=400, **settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(related, "_ROUGH", 1e-7)
        patch.setattr(related, "_FEW_SVMS", 400)
        model.fit(points, np.tile(y, 16), task=task)
    (few, part, price), (every, whole, _) = noted_parts
    assert (len(few), len(every)) == (4, 16)
    assert part.objective == pytest.approx(whole.objective, rel=1e-5)
    assert price.value(part.weights) == pytest.approx(
        whole.objective - whole.svm_value, rel=1e-2, abs=1e-3 * abs(whole.objective)
    )


def test_weights_of_single_tasks_need_every_task(noted_parts):
    data = kh.datasets.make_multitask(16, 50, kind="regression", noise=0.2, random_state=0)
    model("corrected", "functions").fit(data.X, data.y, task=data.task)
    assert [len(tasks) for tasks, _, _ in noted_parts] == [16] * len(noted_parts)
    assert len(noted_parts) > 1


@pytest.mark.parametrize(
    "settings", [{"kernels": "paper", "relation": "functions"}, {"kernels": "auto"}]
)
def test_rewards_start_where_a_part_has_led(settings, table, sizes, monkeypatch):
    """Only the smallest part follows its reward from zero; the others have a budget of their own.

    The end is no worse than that of the whole path.
    """
    X, y, task = table
    followed, levels = [], concave_path._levels

    def note(found, penalty):
        followed.append(len(found.v))
        return levels(found, penalty)

    monkeypatch.setattr(concave_path, "_levels", note)
    asked = {"formulation": "normalized", "beta": 0.02, "C": 4.0, **settings}
    found = kh.MTONMKLRegressor(**asked).fit(X, y, task=task)
    assert sizes == [640, 160, 40]
    assert followed == [40]
    assert found.dual_gap_ <= found.tol
    monkeypatch.setattr(joint, "_LARGE", 10**6)
    cold = kh.MTONMKLRegressor(**asked).fit(X, y, task=task)
    assert followed == [40, 640]
    assert found.objective_ <= cold.objective_ + 1e-2 * abs(cold.objective_)


@pytest.mark.parametrize(("sharing", "levels"), [("functions", 1), ("mixed", 2)])
def test_tasks_of_few_samples_keep_them_for_weights_of_their_own(sharing, levels, sizes):
    data = kh.datasets.make_multitask(30, 8, kind="regression", noise=0.2, random_state=0)
    model = kh.MTONMKLRegressor(kernels="paper", formulation="corrected", relation=sharing)
    model.fit(data.X, data.y, task=data.task)
    assert len(sizes) == levels


def test_equal_points_are_seen_whatever_their_order():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 3))
    assert _surely_different(rows) == 50
    assert _surely_different(rows[rng.integers(0, 20, 50)]) <= 20
    assert _surely_different(np.repeat(rows[:7], 9, axis=0)) == 7
    assert _surely_different(rows[:, [1, 0, 2]] * [1.0, 0.0, 0.0]) == 50
    assert _surely_different(np.zeros((4, 0))) == 1
