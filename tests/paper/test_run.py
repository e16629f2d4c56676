import importlib
import json

import numpy as np
import pandas as pd
import pytest

from kernelhood.paper.jobs import COLUMNS, COMPARED, Store, do_jobs
from kernelhood.paper.methods import candidates
from kernelhood.paper.protocol import published_results
from kernelhood.paper.run import plan, read_results, run, sharing_groups
from kernelhood.parallel import WorkerDied
from tests.paper.tiny import METHODS, make_tiny

SAME = list(COMPARED)
# The package exports the function under the name of its module.
MODULE = importlib.import_module("kernelhood.paper.run")


def test_every_cell_of_every_run_is_a_row(results):
    assert list(results.columns) == list(COLUMNS)
    keys = list(zip(results["dataset"], results["run"], results["method"], strict=True))
    expected = [(d, r, m) for d in ("tiny", "curves") for r in (0, 1) for m in METHODS]
    assert keys == expected
    assert results["error"].isna().all()
    assert results["metric"].tolist() == ["accuracy"] * 6 + ["mse"] * 6


def test_only_what_is_missing_is_done(tiny, tmp_path, monkeypatch):
    store = tmp_path / "runs.sqlite"
    told = []
    arguments = {"store": store, "on_row": lambda row, old: told.append((row["run"], old))}
    first = run({"tiny": tiny}, "mt-onmkl", runs=1, **arguments)
    more = run({"tiny": tiny}, "mt-onmkl", runs=2, **arguments)
    assert told == [(0, False), (0, True), (1, False)]
    pd.testing.assert_frame_equal(first, more[:1])
    monkeypatch.setattr(MODULE, "do_jobs", None)
    pd.testing.assert_frame_equal(run({"tiny": tiny}, "mt-onmkl", runs=2, store=store), more)


def test_the_seed_decides_everything_but_the_time(tiny):
    first, again, other = (run({"tiny": tiny}, "mt-onmkl", runs=1, seed=s) for s in (5, 5, 6))
    pd.testing.assert_frame_equal(first[SAME], again[SAME])
    assert first["task_scores"][0] != other["task_scores"][0]


def test_a_failure_is_recorded_and_does_not_end_the_others(tiny, monkeypatch, tmp_path):
    def fail(*args):
        raise ArithmeticError("went wrong")

    store = tmp_path / "runs.sqlite"
    lonely = {"X": tiny.X[:10], "y": np.ones(10), "task": ["a", "b"] * 5}
    both = run({"lonely": lonely, "tiny": tiny}, "mt-onmkl", runs=1, store=store)
    assert both["error"][0].startswith("ValueError: y holds only one class")
    assert np.isnan(both["score"][0])
    assert both["score"][1] > 0.5
    monkeypatch.setattr("kernelhood.paper.jobs.search", fail)
    again = run({"lonely": lonely, "tiny": tiny}, "mt-onmkl", runs=1, store=store)
    assert again["error"].tolist()[0] == "ArithmeticError: went wrong"
    assert pd.isna(again["error"][1])


def test_a_worker_that_always_dies_leaves_a_row_with_an_error(tiny, monkeypatch):
    def die(function, items, **_):
        yield 0, WorkerDied("BrokenProcessPool")
        yield 1, function(items[1])

    monkeypatch.setattr(MODULE, "run_as_completed", die)
    results = run({"tiny": tiny}, "mt-onmkl", runs=2)
    assert results["error"][0] == "WorkerDied: the worker died each time (BrokenProcessPool)"
    assert results["score"].notna().tolist() == [False, True]


def test_metrics_and_fraction_reach_the_rows(tiny):
    results = run({"tiny": tiny}, "mt-onmkl", runs=1, metric="auc", train_fraction=0.5)
    assert results["metric"][0] == "auc"
    assert results["train_fraction"][0] == 0.5


def test_classes_need_not_be_split_alike(tiny):
    """Each task has 20 rows of either class: 4 of each train if they are split alike."""
    split = importlib.import_module("kernelhood.paper.protocol").split_rows
    jobs = [plan({"tiny": tiny}, "itl", stratify=one, runs=1)[0] for one in (True, False)]
    seen = []

    def noted(task, sample_id, y, **settings):
        found = split(task, sample_id, y, **settings)
        first = found.train[tiny.task[found.train] == tiny.task[0]]
        seen.append(tiny.y[first].tolist())
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelhood.paper.protocol.split_rows", noted)
        scores = [row["score"] for job in jobs for row in do_jobs([job])]
    counts = [min(one.count(value) for value in set(tiny.y)) for one in seen]
    assert [len(one) for one in seen] == [8, 8]
    assert (
        counts[0] == min(np.unique(tiny.y[tiny.task == tiny.task[0]], return_counts=True)[1]) // 5
    )
    assert seen[0] != seen[1]
    assert None not in scores
    assert jobs[0].key != jobs[1].key
    assert jobs[0].split != jobs[1].split


def test_stratification_is_no_setting_of_regression():
    curves = make_tiny("regression")
    one, two = (plan({"curves": curves}, "itl", stratify=s)[0] for s in (True, False))
    assert one.key == two.key


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": 0}, "runs=0 is out of range"),
        ({"seed": -1}, "seed=-1 is out of range"),
        ({"train_fraction": 1.0}, "train_fraction=1.0 must leave something"),
        ({"grid": "fine"}, "grid='fine' is unknown"),
        ({"metric": "mse"}, "metric='mse' is for regression"),
        ({"methods": "svm"}, "methods='svm' is unknown"),
        ({"datasets": "mnist"}, "datasets='mnist' is unknown"),
    ],
)
def test_arguments_are_checked_before_any_work(arguments, message):
    with pytest.raises(ValueError, match=message):
        run(**arguments)


def test_groups_are_used_where_there_are_any(tiny):
    grouped = {**tiny, "task_groups": dict.fromkeys(set(tiny["task"]), "all")}
    jobs = plan({"tiny": tiny, "grouped": grouped}, ["mt-onmkl-groups", "mt-onmkl-mixed"], runs=1)
    expected = [
        ("tiny", "mt-onmkl-mixed"),
        ("grouped", "mt-onmkl-groups"),
        ("grouped", "mt-onmkl-mixed"),
    ]
    assert [(job.dataset, job.method) for job in jobs] == expected
    found = run({"grouped": grouped}, ["mt-onmkl-groups", "mt-onmkl-mixed"], runs=1)
    # One group for all tasks says nothing more.
    np.testing.assert_allclose(*found["score"], atol=0.05)
    with pytest.raises(ValueError, match="mt-onmkl-groups needs groups of tasks, which tiny"):
        plan({"tiny": tiny}, "mt-onmkl-groups")
    assert plan(["landmine", "sarcos"], "mt-onmkl-groups", runs=1)[0].dataset == "landmine"


@pytest.mark.parametrize("name", ["results.csv", "results.csv.gz"])
def test_results_are_read_back_bit_for_bit(name, results, tmp_path):
    results.to_csv(tmp_path / name, index=False)
    again = read_results(tmp_path / name)
    pd.testing.assert_frame_equal(again, results, check_dtype=False, check_exact=True)


def test_a_file_that_is_no_table_is_refused(tmp_path):
    (tmp_path / "empty.csv").touch()
    with pytest.raises(ValueError, match="empty.csv is not a table of results"):
        read_results(tmp_path / "empty.csv")
    assert len(published_results()) == 35


def test_a_compressed_file_that_is_none_or_not_whole_is_refused(results, tmp_path):
    results.to_csv(tmp_path / "results.csv.gz", index=False)
    whole = (tmp_path / "results.csv.gz").read_bytes()
    damaged = [b"dataset,method,score\n", whole[:-20], whole[:30]]
    for place in range(40, len(whole), len(whole) // 6):  # in the first line, and further on
        damaged.append(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
    for number, content in enumerate(damaged):
        path = tmp_path / f"{number}.csv.gz"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{number}.csv.gz is not a table of results"):
            read_results(path)


def test_a_store_without_rows_gives_an_empty_frame():
    with Store(None) as store:
        assert store.rows(plan({"tiny": make_tiny()})) == []


def test_log_loss_asks_only_those_that_tell_probabilities(tiny, tmp_path):
    store = tmp_path / "runs.sqlite"
    some = {"methods": ["itl", "kernelhood"], "runs": 1, "store": store}
    losses = run({"tiny": tiny}, metric="log_loss", **some)
    assert losses["method"].tolist() == ["kernelhood"]
    assert losses["error"].isna().all()
    assert 0.0 < losses["score"].iloc[0] < np.log(2.0)
    # The same store holds accuracies beside them, as rows of their own.
    others = run({"tiny": tiny}, **some)
    assert set(others["metric"]) == {"accuracy"}
    assert set(others["settings"]).isdisjoint(losses["settings"])
    with pytest.raises(ValueError, match="metric='log_loss' needs probabilities, which itl do not"):
        run({"tiny": tiny}, "itl", metric="log_loss")


def test_methods_of_a_split_search_once_what_they_have_in_common(tiny, monkeypatch):
    searched = []
    job = importlib.import_module("kernelhood.paper.jobs")

    def count(estimator, *others):
        searched.append(str(estimator))
        return job_search(estimator, *others)

    job_search = job.search
    monkeypatch.setattr(job, "search", count)
    methods = ["mt-onmkl", "mt-onmkl-functions", "mt-onmkl-mixed", "mt-onmkl-best", "one-hot-svm"]
    results = run({"tiny": tiny}, methods, runs=1).set_index("method")
    assert results["error"].isna().all()
    kinds = candidates("mt-onmkl-best", "quick")
    assert len(searched) == len(set(searched)) == len(kinds) + 1
    best = results.loc["mt-onmkl-best"]
    others = results.loc[["mt-onmkl-functions", "mt-onmkl-mixed"], "validation_score"]
    assert best["validation_score"] >= others.max()
    assert "formulation" in json.loads(best["parameters"])
    assert np.isnan(results.loc["one-hot-svm", "gap"])
    assert results.loc["one-hot-svm", "score"] > 0.5


def test_groups_of_jobs_are_methods_that_share_models(tiny):
    jobs = plan({"tiny": tiny}, ["itl", "mt-onmkl", "mt-onmkl-mixed", "boosting"], runs=2)
    names = [[job.method for job in group] for group in sharing_groups(jobs)]
    assert names == [["itl"], ["mt-onmkl", "mt-onmkl-mixed"], ["boosting"]] * 2


def test_figures_of_kernels_are_kept_of_the_first_runs(tiny, monkeypatch):
    monkeypatch.setattr("kernelhood.paper.jobs.PICTURED", 1)
    results = run({"tiny": tiny}, "mt-onmkl-corrected", runs=2)
    assert results["weights"].notna().tolist() == [True, False]
    assert results["gap"].notna().all()


def test_the_estimator_without_a_search_is_compared_on_the_same_splits(tiny):
    results = run({"tiny": tiny}, ["kernelhood", "mt-onmkl"], runs=1)
    assert results["error"].isna().all()
    ours, other = results.set_index("method").loc[["kernelhood", "mt-onmkl"]].itertuples()
    assert ours.seed == other.seed
    assert json.loads(ours.parameters) == {}
    assert ours.gap >= 0.0
    assert np.isfinite(ours.score)
