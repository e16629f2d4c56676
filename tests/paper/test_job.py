import json

import numpy as np
import pytest

from kernelhood.paper import methods as names
from kernelhood.paper.jobs import Job, _alignment, do_job
from kernelhood.paper.methods import make_estimator
from kernelhood.paper.run import plan


def test_a_row_tells_what_was_learned(results):
    for row in results.itertuples():
        scores = json.loads(row.task_scores)
        assert list(scores) == ["task 1", "task 2", "task 3"]
        assert row.score == pytest.approx(np.mean(list(scores.values())))
        assert np.shape(json.loads(row.weights)["values"]) == (3, 10)
        assert np.shape(json.loads(row.alignment)) == (3, 3)
        gaps = json.loads(row.trace)
        assert max(gap[-1] for gap in gaps) == pytest.approx(row.gap, rel=1e-5)
        assert 0 < row.fit_seconds <= row.seconds
        assert json.loads(row.versions)["numpy"] == np.__version__
    assert results.loc[results["dataset"] == "tiny", "score"].min() > 0.5


def test_the_alignment_of_corrected_does_not_hang_on_an_eta_that_nothing_chose(tiny):
    found = []
    for eta in (1.0, 1024.0):
        model = make_estimator("mt-onmkl-corrected", "classification", eta=eta, beta=0.5)
        found.append(_alignment(model.fit(tiny.X, tiny.y, task=tiny.task)))
    np.testing.assert_allclose(*found, atol=1e-9)
    shown = make_estimator("mt-onmkl-corrected", "classification", eta=2.0, beta=0.5)
    expected = shown.fit(tiny.X, tiny.y, task=tiny.task).alignment()
    np.testing.assert_allclose(found[0], expected, atol=1e-9)


def test_methods_share_the_splits_and_runs_do_not(results):
    seeds = results.groupby(["dataset", "run"])["seed"].nunique()
    assert (seeds == 1).all()
    assert results["seed"].nunique() == 4


def test_missing_files_are_an_error_of_the_run(tmp_path):
    row = do_job(Job("landmine", "mt-onmkl", 0, 0, "accuracy", 0.2, "quick", str(tmp_path)))
    assert row["error"].startswith("FileNotFoundError")
    assert "kernelhood data fetch landmine" in row["error"]


def test_data_home_is_no_setting():
    here, there = (plan("spam", "mt-onmkl", runs=1, data_home=home)[0] for home in ("a", "b"))
    assert here.key == there.key
    assert here.data_home == "a"


def test_a_users_data_are_a_setting(tiny):
    other = {**tiny, "y": -tiny.y}
    first, second = (plan({"mine": data}, "mt-onmkl")[0] for data in (tiny, other))
    assert first.key != second.key


def test_a_row_depends_on_what_its_method_stands_for(monkeypatch):
    job = Job("letter", "mt-onmkl", 0, 0, "accuracy", 0.2, "paper")
    before = job.settings
    monkeypatch.setitem(names.VARIANTS, "", {"formulation": "corrected"})
    assert job.settings != before
