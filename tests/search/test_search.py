import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.metrics import get_scorer, make_scorer, mean_absolute_error
from sklearn.model_selection import GridSearchCV

import kernelhood as kh
from kernelhood.estimators import METHODS, mtonmkl
from kernelhood.search import path
from kernelhood.search import path as split_kernels
from kernelhood.solvers import block
from kernelhood.solvers.svm import solve_svm
from tests.references import make_samples

GRIDS = {
    "itl": {"C": [0.5, 4.0], "p": [1.0, 2.0]},
    "avmtmkl": {"C": [0.1, 1.0, 10.0]},
    "mt-mkl": {"C": [0.5, 4.0], "sharing_budget": [0.2, 0.8]},
    "rpkl": {"C": [0.5, 4.0], "spread_level": [1, 2]},
    "onjkl": {"C": [0.5, 4.0], "rho": [0.3, 3.0]},
    "kta": {"C": [0.5, 4.0], "eta": [0.1, 10.0]},
    "mt-onmkl": [
        {"formulation": ["corrected", "printed"], "C": [0.5, 4.0], "beta": [0.1, 1.0]},
        # Where the reward is large, a stationary point depends on the way to it.
        {"formulation": ["normalized"], "C": [0.5, 4.0], "beta": [1e-3, 1e-2], "eta": [1.0, 9.0]},
    ],
}
# What a search does is the same for both kinds: they take turns.
CASES = [(name, ("classification", "regression")[k % 2]) for k, name in enumerate(METHODS)]


def with_task_column(samples):
    codes = np.unique(samples.task, return_inverse=True)[1]
    return np.column_stack([samples.X, codes]), codes


@pytest.mark.parametrize(("method", "kind"), CASES)
def test_it_finds_what_grid_search_finds(method, kind):
    samples = make_samples(kind)
    X, codes = with_task_column(samples)
    cv = list(kh.TaskStratifiedKFold(2).split(X, samples.y, task=codes))
    settings = {"kernels": "paper"} if method == "mt-onmkl" else {}
    estimator = METHODS[method][kind == "regression"](task_column=-1, tol=1e-11, **settings)
    plain = GridSearchCV(estimator, GRIDS[method], cv=cv).fit(X, samples.y)
    ours = kh.KernelSearchCV(estimator, GRIDS[method], cv=cv).fit(X, samples.y)
    found = np.array(ours.cv_results_["mean_test_score"])
    expected = {
        repr(p): s
        for p, s in zip(
            plain.cv_results_["params"], plain.cv_results_["mean_test_score"], strict=True
        )
    }
    for params, score in zip(ours.cv_results_["params"], found, strict=True):
        assert score == pytest.approx(expected[repr(params)], abs=1e-6)
    assert ours.best_score_ == pytest.approx(plain.best_score_, abs=1e-6)
    assert expected[repr(ours.best_params_)] == pytest.approx(plain.best_score_, abs=1e-6)
    np.testing.assert_allclose(ours.score(X, samples.y), ours.best_estimator_.score(X, samples.y))


def count_svms(monkeypatch):
    """Return a list that grows with every SVM that is solved."""
    calls = []

    def counted(*args, **options):
        calls.append(1)
        return solve_svm(*args, **options)

    monkeypatch.setattr(block, "solve_svm", counted)
    return calls


@pytest.mark.parametrize(("method", "kind"), CASES)
def test_models_start_from_those_with_another_c(method, kind, monkeypatch):
    samples = make_samples(kind)
    own = {"onjkl": {"rho": [4.0, 16.0]}, "kta": {"eta": [1e-3, 1e-2]}}
    grid = {"C": [2.0**k for k in range(-1, 5)], **own.get(method, {})}
    if method == "mt-onmkl":
        grid = {"C": grid["C"], "beta": [1.0], "eta": [7.5, 16.0], "formulation": ["printed"]}
    settings = {} if method == "rpkl" else {"kernels": "paper"}
    estimator = METHODS[method][kind == "regression"](**settings)
    search = kh.KernelSearchCV(estimator, grid, cv=2, refit=False)
    calls = count_svms(monkeypatch)
    search.fit(samples.X, samples.y, task=samples.task)
    n_warm = len(calls)
    assert np.max(search.cv_results_["max_gap"]) <= estimator.tol
    monkeypatch.setattr(path, "carried_start", lambda *args: None)
    search.fit(samples.X, samples.y, task=samples.task)
    assert n_warm < len(calls) - n_warm


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_models_that_couple_tasks_do_not_touch_those_that_do_not(labelled, n_jobs):
    # A large reward: stationary points depend on the way, so that the ways have to be the same.
    rewards = {"C": [1.0, 4096.0], "beta": [0.01, 4.0], "eta": [16.0]}
    parts = [
        {"relation": ["independent"], "formulation": ["normalized"], **rewards},
        {"relation": ["functions"], "formulation": ["corrected"], "beta": [0.01, 0.1]},
    ]
    samples = (labelled.X, labelled.y)
    alone, together, both = (
        kh.KernelSearchCV(
            kh.MTONMKLClassifier(kernels="paper"), grid, cv=2, refit=False, n_jobs=n_jobs
        ).fit(*samples, task=labelled.task)
        for grid in (*parts, parts)
    )
    for name in ("split0_test_score", "split1_test_score", "max_gap"):
        separate = [*alone.cv_results_[name], *together.cv_results_[name]]
        np.testing.assert_array_equal(both.cv_results_[name], separate)
    assert both.n_models_ == alone.n_models_ + together.n_models_
    assert both.best_score_ == max(alone.best_score_, together.best_score_)
    with pytest.raises(ValueError, match="per_task=True needs independent tasks"):
        kh.KernelSearchCV(kh.MTONMKLClassifier(kernels="paper"), parts, per_task=True).fit(
            *samples, task=labelled.task
        )


def test_the_time_of_a_model_is_that_of_all_its_tasks(labelled, monkeypatch):
    times = iter(range(1000))
    monkeypatch.setattr(path.time, "perf_counter", lambda: float(next(times)))
    search = kh.KernelSearchCV(
        kh.MTONMKLClassifier(kernels="paper"), {"C": [1.0, 2.0]}, cv=2, refit=False
    )
    search.fit(labelled.X, labelled.y, task=labelled.task)
    n_tasks = len(np.unique(labelled.task))
    np.testing.assert_array_equal(search.cv_results_["mean_fit_time"], [n_tasks, n_tasks])


def test_every_stack_of_kernels_is_evaluated_once(labelled, monkeypatch):
    evaluated = []
    whole = split_kernels.SplitKernels.__init__
    monkeypatch.setattr(
        split_kernels.SplitKernels, "__init__", lambda *args: (evaluated.append(1), whole(*args))[1]
    )
    grid = {"C": [0.5, 1.0, 2.0], "spread_level": [1, 2, 3]}
    search = kh.KernelSearchCV(kh.RPKLClassifier(), grid, cv=0.5, refit=False)
    search.fit(labelled.X, labelled.y, task=labelled.task)
    assert len(evaluated) == 3 * len(set(labelled.task.tolist()))


def test_kernels_alone_are_kept_for_all_rewards_of_one_loss(labelled, monkeypatch):
    made = []
    whole = mtonmkl.SingleKernels
    monkeypatch.setattr(mtonmkl, "SingleKernels", lambda *args: (made.append(1), whole(*args))[1])
    grid = {"C": [1.0, 8.0], "beta": [4.0**k for k in range(-4, 3)], "eta": [1e6]}
    search = kh.KernelSearchCV(kh.MTONMKLClassifier(kernels="paper"), grid, cv=0.5, refit=False)
    search.fit(labelled.X, labelled.y, task=labelled.task)
    assert len(made) == 2 * len(set(labelled.task.tolist()))


def test_a_certificate_is_not_carried_to_another_loss(measured):
    grid = {"epsilon": [0.01, 1.5], "eta": [2.0**30, 2.0**31], "C": [1.0, 8.0]}
    X, codes = with_task_column(measured)
    cv = list(kh.TaskStratifiedKFold(2).split(X, measured.y, task=codes))
    estimator = kh.KTARegressor(task_column=-1, tol=1e-8)
    plain = GridSearchCV(estimator, grid, cv=cv, refit=False).fit(X, measured.y)
    ours = kh.KernelSearchCV(estimator, grid, cv=cv, refit=False).fit(X, measured.y)
    assert ours.cv_results_["params"] == plain.cv_results_["params"]
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=1e-5
    )


@pytest.mark.parametrize(
    ("estimator", "scoring"),
    [(kh.AVMTMKLClassifier(), "accuracy"), (kh.AVMTMKLRegressor(), "neg_mean_squared_error")],
)
def test_scores_by_name_are_those_of_the_scorer(estimator, scoring, labelled):
    args = (labelled.X, labelled.y)
    found = [
        kh.KernelSearchCV(estimator, {"C": [0.1, 4.0]}, cv=2, scoring=one, refit=False)
        .fit(*args, task=labelled.task)
        .cv_results_["mean_test_score"]
        for one in (scoring, get_scorer(scoring))
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_equal_models_are_solved_once_and_reported_for_each_point(labelled):
    grid = {"C": [1.0, 2.0], "beta": [1.0, 4.0], "eta": [1.0, 8.0]}
    search = kh.KernelSearchCV(
        kh.MTONMKLClassifier(kernels="paper", formulation="corrected"), grid, cv=2
    )
    search.fit(labelled.X, labelled.y, task=labelled.task)
    frame = pd.DataFrame(search.cv_results_)
    assert (len(frame), search.n_models_, search.n_splits_) == (8, 3, 2)
    assert frame.groupby("model")["mean_test_score"].nunique().max() == 1
    assert set(frame.groupby("model").size()) == {2, 4}
    assert frame["max_gap"].max() <= 1e-3
    assert frame["rank_test_score"].min() == 1


def test_ties_go_to_the_stronger_regularisation(labelled):
    grid = {"C": [2.0**-12, 2.0**-10, 2.0**-11], "beta": [1.0, 64.0]}
    corrected = kh.MTONMKLClassifier(kernels="paper", formulation="corrected")
    search = kh.KernelSearchCV(corrected, grid, cv=2, refit=False)
    search.fit(labelled.X, labelled.y, task=labelled.task)
    assert len(set(search.cv_results_["mean_test_score"])) == 1
    assert search.best_params_ == {"C": 2.0**-12, "beta": 64.0}


def test_points_outside_the_domain_are_marked(labelled):
    grid = {"eta": [1.0, 16.0], "beta": [1.0]}
    estimator = kh.MTONMKLClassifier(kernels="paper", formulation="printed")
    search = kh.KernelSearchCV(estimator, grid, cv=2, error_score=-1.0)
    search.fit(labelled.X, labelled.y, task=labelled.task)
    frame = pd.DataFrame(search.cv_results_).set_index("param_eta")
    assert "eta >= 7" in frame.loc[1.0, "status"]
    assert (frame.loc[1.0, "mean_test_score"], frame.loc[16.0, "status"]) == (-1.0, "ok")
    assert search.best_params_ == {"eta": 16.0, "beta": 1.0}
    with pytest.raises(ValueError, match="eta >= 7"):
        clone(search).set_params(error_score="raise").fit(
            labelled.X, labelled.y, task=labelled.task
        )


def test_scores_over_samples_weigh_tasks_by_size():
    samples = make_samples("classification")
    keep = np.flatnonzero((samples.task != samples.task[0]) | (np.arange(len(samples.y)) % 3 > 0))
    X, y, task = samples.X[keep], samples.y[keep], samples.task[keep]
    cv = list(kh.TaskStratifiedKFold(2).split(X, y, task=task))
    grid = {"C": [4.0]}
    search = kh.KernelSearchCV(
        kh.MTONMKLClassifier(kernels="paper"), grid, cv=cv, average="samples", refit=False
    )
    search.fit(X, y, task=task)
    by_hand = []
    for train, test in cv:
        model = kh.MTONMKLClassifier(kernels="paper", C=4.0).fit(
            X[train], y[train], task=task[train]
        )
        by_hand.append(np.mean(model.predict(X[test], task=task[test]) == y[test]))
    assert search.best_score_ == pytest.approx(np.mean(by_hand))


@pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy", "f1_macro"])
def test_any_scorer_by_name(scoring, labelled):
    search = kh.KernelSearchCV(
        kh.MTONMKLClassifier(kernels="paper"), {"C": [4.0]}, cv=2, scoring=scoring
    )
    search.fit(labelled.X, labelled.y, task=labelled.task)
    assert 0.3 < search.best_score_ <= 1.0


def test_a_scorer_as_a_callable_changes_the_choice(measured):
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    search = kh.KernelSearchCV(
        kh.MTONMKLRegressor(kernels="paper"), {"C": [0.01, 5.0]}, cv=2, scoring=scorer
    )
    search.fit(measured.X, measured.y, task=measured.task)
    assert search.best_score_ < 0.0
    assert search.best_params_ == {"C": 5.0}


def test_parameters_per_task(labelled):
    grid = {"C": [0.01, 0.3, 4.0, 50.0]}
    estimator = kh.AVMTMKLClassifier(kernels="paper")
    search = kh.KernelSearchCV(estimator, grid, cv=3, per_task=True)
    search.fit(labelled.X, labelled.y, task=labelled.task)
    together = kh.KernelSearchCV(estimator, grid, cv=3)
    together.fit(labelled.X, labelled.y, task=labelled.task)
    names = sorted(set(labelled.task.tolist()))
    assert sorted(search.best_params_) == names
    assert np.mean(list(search.best_score_.values())) >= together.best_score_ - 1e-12
    values = search.decision_function(labelled.X, task=labelled.task)
    for name in names:
        rows = labelled.task == name
        own = kh.AVMTMKLClassifier(kernels="paper", **search.best_params_[name])
        own.fit(labelled.X[rows], labelled.y[rows], task=labelled.task[rows])
        expected = own.decision_function(labelled.X[rows], task=labelled.task[rows])
        np.testing.assert_allclose(values[rows], expected, atol=1e-9)
    predicted = search.predict(labelled.X, task=labelled.task)
    assert search.score(labelled.X, labelled.y, task=labelled.task) == pytest.approx(
        np.mean([np.mean((predicted == labelled.y)[labelled.task == name]) for name in names])
    )


def test_columns_of_y_with_parameters_per_task(rng):
    X = rng.normal(size=(60, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]])
    search = kh.KernelSearchCV(
        kh.MTONMKLRegressor(kernels="paper"), {"C": [0.1, 10.0]}, cv=2, per_task=True
    )
    assert search.fit(X, Y).predict(X).shape == (60, 2)
    single = kh.KernelSearchCV(
        kh.MTONMKLRegressor(kernels="paper"), {"C": [0.1, 10.0]}, cv=2, per_task=True
    )
    assert single.fit(X, Y[:, 0]).predict(X).shape == (60,)


def test_processes_give_the_same_scores(labelled):
    search = kh.KernelSearchCV(
        kh.MTONMKLClassifier(kernels="paper"), {"C": [1.0, 4.0]}, cv=2, n_jobs=2
    )
    search.fit(labelled.X, labelled.y, task=labelled.task)
    alone = clone(search).set_params(n_jobs=None)
    alone.fit(labelled.X, labelled.y, task=labelled.task)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


def test_groups_and_sample_weights(labelled):
    groups = np.arange(len(labelled.y)) // 2
    weight = np.where(np.arange(len(labelled.y)) % 5 == 0, 0.0, 1.0)
    search = kh.KernelSearchCV(kh.MTONMKLClassifier(kernels="paper"), {"C": [4.0]}, cv=0.5)
    search.fit(labelled.X, labelled.y, task=labelled.task, groups=groups, sample_weight=weight)
    assert not set(np.concatenate(search.best_estimator_.support_)) & set(
        np.flatnonzero(weight == 0)
    )


def test_a_progress_bar(labelled, capsys, monkeypatch):
    search = kh.KernelSearchCV(kh.AVMTMKLClassifier(), {"C": [1.0]}, cv=2, verbose=1, refit=False)
    search.fit(labelled.X, labelled.y, task=labelled.task)
    assert capsys.readouterr().err == ""  # it takes no time
    monkeypatch.setattr("kernelhood.parallel._PATIENCE", 0.0)
    search.fit(labelled.X, labelled.y, task=labelled.task)
    assert "1 of 6it after 0 s" in capsys.readouterr().err  # no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    search.fit(labelled.X, labelled.y, task=labelled.task)
    assert "100%" in capsys.readouterr().err


def test_the_path_is_drawn(labelled):
    search = kh.KernelSearchCV(kh.MTONMKLClassifier(kernels="paper"), {"C": [1.0, 4.0, 16.0]}, cv=2)
    search.fit(labelled.X, labelled.y, task=labelled.task)
    ax = Figure().subplots()
    assert search.plot_path(ax) is ax
    assert ax.get_xlabel().startswith("model")
    assert len(ax.lines[0].get_xdata()) == search.n_models_
    assert search.plot_path() is not ax
    banks = [kh.KernelBank([kh.Linear()]), kh.KernelBank([kh.Linear(), kh.Gaussian(1.0)])]
    mixed = kh.KernelSearchCV(kh.AVMTMKLClassifier(), {"kernels": banks}, cv=2, refit=False)
    mixed.fit(labelled.X, labelled.y, task=labelled.task)
    assert len(mixed.plot_path().figure.axes) == 1


def test_it_looks_like_its_estimator(labelled):
    search = kh.KernelSearchCV(kh.MTONMKLClassifier(kernels="paper"), {"C": [4.0]}, cv=2)
    search.fit(labelled.X, labelled.y, task=labelled.task)
    assert search.classes_.tolist() == [-1, 1]
    regressor = kh.KernelSearchCV(kh.MTONMKLRegressor(kernels="paper"), {"C": [4.0]})
    assert not hasattr(regressor, "decision_function")


def test_bad_settings_are_named(labelled):
    args = (labelled.X, labelled.y)

    def fit(estimator, **settings):
        kh.KernelSearchCV(estimator, {"C": [1.0]}, **settings).fit(*args, task=labelled.task)

    from sklearn.svm import SVC

    with pytest.raises(TypeError, match="estimator must be one of the paper's methods.*got SVC"):
        fit(SVC())
    with pytest.raises(ValueError, match="average must be 'tasks' or 'samples', got 'mean'"):
        fit(kh.MTONMKLClassifier(kernels="paper"), average="mean")
    with pytest.raises(ValueError, match="per_task=True needs independent tasks"):
        fit(kh.MTMKLClassifier(), per_task=True)
    with pytest.raises(ValueError, match="scoring must be a name"):
        fit(kh.MTONMKLClassifier(kernels="paper"), scoring=3)
    half = [(np.flatnonzero(labelled.task == labelled.task[0]), np.arange(len(labelled.y)))]
    with pytest.raises(ValueError, match="split 1 of cv has no task with both training and test"):
        fit(kh.MTONMKLClassifier(kernels="paper"), cv=[half[0], (half[0][0], half[0][1][-1:])])
