"""Joint problems of many samples start from a part of them, that from a part of it."""

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.pipeline import joint
from kernelhood.solvers import concave_path


def model(formulation, sharing, **settings):
    return kh.MTONMKLRegressor(
        kernels="paper", formulation=formulation, sharing=sharing, beta=0.02, C=4.0, **settings
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
    settings = {"relation": "mixed"} if sharing == "mixed" else {"sharing": sharing}
    asked = {"cache_size": cache_size, "tol": 1e-6, "beta": 0.02, "kernels": "paper", **settings}
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
    solve = kh.MTONMKLRegressor._solve_jointly

    def note(self, *arguments):
        limits.append((self.tol, self.max_iter))
        return solve(self, *arguments)

    monkeypatch.setattr(kh.MTONMKLRegressor, "_solve_jointly", note)
    model("normalized", "functions", tol=1e-4, max_iter=50).fit(X, y, task=task)
    assert limits == [(1e-4, 50), (1e-2, 12), (1e-2, 12)]


@pytest.mark.parametrize(
    "settings", [{"kernels": "paper", "sharing": "functions"}, {"kernels": "auto"}]
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
    settings = {"relation": "mixed"} if sharing == "mixed" else {"sharing": sharing}
    model = kh.MTONMKLRegressor(kernels="paper", formulation="corrected", **settings)
    model.fit(data.X, data.y, task=data.task)
    assert len(sizes) == levels
