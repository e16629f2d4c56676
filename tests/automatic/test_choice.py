"""Estimators that choose: what they find, what they say of it, and what can be fixed."""

import numpy as np
import pytest
from sklearn.base import clone

import kernelhood as kh
from kernelhood.automatic.parameters import candidates_of
from kernelhood.automatic.progress import Progress
from kernelhood.automatic.table import some_rows
from kernelhood.tasks import TaskRows

QUICK = {"kernels": "small", "formulation": "corrected", "cv": 3}


def table(opposed=False, n=24, n_tasks=4, seed=0):
    """Return tasks with one function, or with one and its opposite."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(n_tasks), n)
    X = rng.normal(size=(len(task), 2))
    sign = np.where(task % 2, -1.0, 1.0) if opposed else 1.0
    y = sign * (np.sin(2.0 * X[:, 0]) + X[:, 1]) + 0.1 * rng.normal(size=len(task))
    return X, y, np.array([f"site {number}" for number in task])


@pytest.fixture(scope="module")
def fitted():
    X, y, task = table(n=16)
    return kh.MTONMKLRegressorCV(cv=3).fit(X, y, task=task)


def test_tasks_with_one_function_share_it_and_opposed_ones_do_not():
    X, y, task = table(n=8)
    shared = kh.MTONMKLRegressorCV(epsilon=0.1, **QUICK).fit(X, y, task=task)
    assert shared.best_params_["relation"] == "mixed"
    X, y, task = table(opposed=True, n_tasks=2, n=24)
    apart = kh.MTONMKLRegressorCV(epsilon=0.1, **QUICK).fit(X, y, task=task)
    assert not np.isinf(apart.best_params_["specific_cost"])
    assert apart.best_score_ > 0.85


def test_the_best_score_is_that_of_fits_to_the_splits():
    X, y, task = table(n=12)
    folds = list(kh.TaskStratifiedKFold(3).split(X, task=task))
    found = kh.MTONMKLRegressorCV(**{**QUICK, "cv": folds}).fit(X, y, task=task)
    model = clone(found.best_estimator_).set_params(tol=1e-2)
    scores = []
    for train, test in folds:
        model.fit(X[train], y[train], task=task[train])
        scores.append(model.score(X[test], y[test], task=task[test]))
    assert found.best_score_ == pytest.approx(np.mean(scores), abs=1e-3)
    row = found.best_index_
    assert found.cv_results_["params"][row] == found.best_params_
    by_split = [found.cv_results_[f"split{k}_test_score"][row] for k in range(3)]
    assert found.best_score_ == pytest.approx(np.mean(by_split))


def test_results_say_what_was_not_evaluated(fitted):
    results = fitted.cv_results_
    scores = np.array([results[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_array_equal((~np.isnan(scores)).sum(axis=0), results["n_splits"])
    assert set(results["n_splits"]) == {2, 3}
    whole = results["n_splits"] == 3
    assert results["rank_test_score"][whole].max() < results["rank_test_score"][~whole].min()
    assert results["status"][int(np.flatnonzero(~whole)[0])] == "dropped after 2 of 3 splits"
    assert whole[fitted.best_index_]
    kinds = set(results["kind"])
    for relation in ("independent", "mixed", "pooled"):
        assert any(kind.startswith(relation) for kind in kinds)
    assert any("full bank" in kind for kind in kinds)
    assert any("normalized" in kind for kind in kinds)
    assert any("squared" in kind for kind in kinds)
    np.testing.assert_allclose(
        [results[f"mean_test_score_{name}"][fitted.best_index_] for name in fitted.tasks_],
        list(fitted.best_task_scores_.values()),
    )


def test_the_summary_says_what_was_chosen_and_what_was_not(fitted):
    text = fitted.summary()
    assert text.startswith("Chosen: ")
    assert f"is {fitted.best_score_:.4g}, the mean over 3 splits" in text
    assert "The runner-up of another kind is" in text
    assert f"{len(fitted.cv_results_['params'])} models were tried" in text
    if fitted.best_params_["relation"] != "independent":
        assert "The best with one model a task is every task on its own" in text


def test_an_end_of_the_path_is_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    found = kh.MTONMKLRegressorCV(epsilon=0.1, **QUICK).fit(X, y)
    assert found.best_params_["beta"] == pytest.approx(10.0)
    assert "beta sits at the strongest regularisation that is tried" in found.summary()


def test_answers_are_those_of_the_chosen_model(fitted):
    X, y, task = table(n=16)
    chosen = fitted.best_estimator_
    np.testing.assert_array_equal(fitted.predict(X, task=task), chosen.predict(X, task=task))
    assert fitted.score(X, y, task=task) == chosen.score(X, y, task=task)
    assert fitted.score_by_task(X, y, task=task) == chosen.score_by_task(X, y, task=task)
    assert fitted.weights_table().equals(chosen.weights_table())
    assert fitted.relation_table().equals(chosen.relation_table())
    assert fitted.kernels_ is chosen.kernels_
    assert fitted.dual_gap_ <= fitted.tol
    assert fitted.tasks_ == chosen.tasks_
    assert not hasattr(kh.MTONMKLRegressorCV(), "tasks_")


def test_the_choice_is_the_same_again():
    X, y, task = table(n=8)
    model = kh.MTONMKLRegressorCV(epsilon=0.1, relation="mixed", **QUICK)
    first, again = (clone(model).fit(X, y, task=task) for _ in range(2))
    assert again.best_params_ == first.best_params_
    np.testing.assert_array_equal(again.predict(X, task=task), first.predict(X, task=task))


def test_what_is_given_is_not_chosen():
    X, y, task = table(n=10)
    bank = [kh.Linear(), kh.Gaussian(1.0)]
    found = kh.MTONMKLRegressorCV(
        kernels=bank, relation="pooled", formulation="normalized", epsilon=0.2, loss=None, cv=2,
        grid={"loss": ["epsilon_insensitive"]},
    ).fit(X, y, task=task)  # fmt: skip
    for params in found.cv_results_["params"]:
        assert params["kernels"] is bank
        assert np.isinf(params["specific_cost"])
        assert (params["formulation"], params["epsilon"]) == ("normalized", 0.2)
    assert "the given kernels" in found.summary()


def test_the_evidence_is_tried_where_it_can_be_held():
    X, y, task = table(n=10, n_tasks=3)
    found = kh.MTONMKLRegressorCV(kernels="small", formulation="evidence", cv=2)
    found.fit(X, y, task=task)
    assert found.best_params_["formulation"] == "evidence"
    assert "formulation evidence." in found.summary()
    assert "regularisation" not in found.summary()
    mean, std = found.predict(X, task=task, return_std=True)
    np.testing.assert_array_equal(mean, found.predict(X, task=task))
    expected = found.best_estimator_.predict(X, task=task, return_std=True)[1]
    np.testing.assert_array_equal(std, expected)
    offered = found.set_params(formulation=None)
    many = candidates_of(offered, 3, 20, n_rows=2001)
    few = candidates_of(offered, 3, 20, n_rows=2000)
    leader = few.kinds("small")[0]
    assert leader.relation == "independent"
    assert {kind.relation for kind in few.evidence(leader)} == {"independent", "mixed"}
    # Three problems of a third of the rows are a ninth of the work.
    assert {kind.relation for kind in many.evidence(leader)} == {"independent"}
    joined = few.kinds("small")[1]
    assert {kind.relation for kind in few.evidence(joined)} == {"mixed"}
    assert {kind.relation for kind in many.evidence(joined)} == {"independent"}
    assert candidates_of(offered, 3, 20, n_rows=4161).evidence(leader) == []
    by_tube = candidates_of(found.set_params(loss="epsilon_insensitive"), 3, 20, n_rows=60)
    assert by_tube.evidence(leader) == []


def test_intercepts_are_freed_where_the_constants_of_tasks_matter():
    X, y, task = table(n=8, n_tasks=12)
    constant = 20.0 * np.random.default_rng(1).normal(size=12)
    found = kh.MTONMKLRegressorCV(
        loss="epsilon_insensitive", kernels="small", formulation="corrected", cv=2
    )
    found.fit(X, y + np.repeat(constant, 8), task=task)
    assert found.best_params_["intercept"] == "task"
    assert "deviations of one size; free intercepts; a small bank" in found.summary()
    asked = candidates_of(found, 12, 48, n_rows=96)
    by_relation = {kind.relation: kind for kind in asked.kinds("small")}
    assert asked.free_intercepts(by_relation["independent"]) == []
    (freed,) = asked.free_intercepts(by_relation["mixed"])
    assert freed.name.startswith("mixed with free intercepts, small bank")
    # The evidence needs to know how far intercepts are from each other.
    asked = candidates_of(found.set_params(loss=None, formulation=None), 12, 48, n_rows=96)
    assert {kind.at(0.0)["intercept"] for kind in asked.evidence(freed)} == {"auto"}


def test_the_untuned_default_takes_part():
    X, y, task = table(n=100)
    asked = candidates_of(kh.MTONMKLRegressorCV(), 4, len(y), n_rows=len(y))
    default = asked.default()
    models = [kh.MTONMKLRegressor(tol=1e-8, **one) for one in ({}, default.at(0.0))]
    values = [model.fit(X, y, task=task).predict(X, task=task) for model in models]
    np.testing.assert_allclose(values[0], values[1], atol=1e-4)


def test_the_reward_of_the_chosen_model_is_that_of_all_rows():
    X, y, task = table(n=6)
    found = kh.MTONMKLRegressorCV(kernels="small", formulation="normalized", relation="mixed", cv=3)
    found.set_params(loss="epsilon_insensitive", epsilon=0.1).fit(X, y, task=task)
    scored = found.cv_results_["params"][found.best_index_]
    # Two thirds of the rows train: on all of them the same reward a row is two thirds as large.
    changed = {**scored, "beta": 2.0 / 3.0 * scored["beta"], "eta": 2.0 / 3.0 * scored["eta"]}
    assert found.best_params_ == pytest.approx(changed)
    assert found.best_estimator_.beta == found.best_params_["beta"]


def test_the_reward_of_single_tasks_follows_their_own_rows():
    # Of 50 tasks of 40 rows, ten take part with 20 each.
    some = candidates_of(kh.MTONMKLRegressorCV(), 50, 200, n_rows=2000, n_alone=20)
    by_relation = {kind.relation: kind for kind in some.kinds("small")}
    for relation, share in (("independent", 0.5), ("mixed", 0.1)):
        (kind,) = some.normalized(by_relation[relation])
        (here, there) = kind.at(1.0), some.for_all_rows(kind, 1.0)
        assert there == pytest.approx(
            {**here, "beta": share * here["beta"], "eta": share * here["eta"]}
        )
    corrected = by_relation["mixed"]
    assert some.for_all_rows(corrected, 1.0) == corrected.at(1.0)


def test_a_bank_that_is_another_one_on_the_table_is_not_tried():
    X, y, task = table(n=6)
    asked = {"formulation": "corrected", "cv": 3, "epsilon": 0.1, "relation": "pooled"}
    many = kh.MTONMKLRegressorCV(**asked).fit(X, y, task=task)
    assert set(many.cv_results_["param_kernels"]) == {"small", "auto"}
    one = kh.MTONMKLRegressorCV(**asked).fit(X[:, :1], y, task=task)  # one column is all of them
    assert set(one.cv_results_["param_kernels"]) == {"small"}


def test_groups_of_tasks_are_tried():
    X, y, task = table(opposed=True, n=9)
    groups = {f"site {number}": number % 2 for number in range(4)}
    found = kh.MTONMKLRegressorCV(
        task_groups=groups, epsilon=0.1, grid={"relation": ["independent"]}, **QUICK
    ).fit(X, y, task=task)
    assert found.best_params_["relation"] == kh.TaskGroups(groups)
    assert "one for each group" in found.summary()
    crossed = {name: name in ("site 0", "site 1") for name in groups}
    several = kh.MTONMKLRegressorCV(
        task_groups=[kh.TaskGroups(groups), crossed],
        epsilon=0.1,
        loss="squared",
        grid={"relation": ["independent"]},
        **QUICK,
    ).fit(X, y, task=task)
    kinds = {kind.split(",")[0] for kind in several.cv_results_["kind"]}
    assert kinds >= {"groups", "groups 2"}


def test_classes_scorers_and_averages():
    X, y, task = table(n=16)
    labels = np.where(y > 0.5, "high", "low")
    model = kh.MTONMKLClassifierCV(
        scoring="roc_auc",
        average="samples",
        class_weight="balanced",
        grid={"relation": ["mixed"]},
        **QUICK,
    ).fit(X, labels, task=task)
    assert model.best_score_ > 0.9
    assert "score (roc_auc)" in model.summary()
    assert model.classes_.tolist() == ["high", "low"]
    positive = model.decision_function(X, task=task) > 0.0
    np.testing.assert_array_equal(positive, model.predict(X, task=task) == "low")


def test_a_long_table_is_thinned_for_the_choice_only():
    X, y, task = table(n=20)
    asked = {"epsilon": 0.1, "loss": "squared", "relation": "mixed", **QUICK}
    found = kh.MTONMKLRegressorCV(max_samples=60, **asked).fit(X, y, task=task)
    assert found.best_estimator_.n_samples_.sum() == 80
    whole = kh.MTONMKLRegressorCV(max_samples=None, **asked).fit(X, y, task=task)
    assert whole.best_score_ != found.best_score_


def test_which_rows_are_kept():
    sizes = [400, 100, 40, 3]
    ends = np.cumsum(sizes)
    rows = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    tasks = [TaskRows(k, own, own % 4 == 0) for k, own in enumerate(rows)]
    rng = np.random.RandomState(0)
    kept = some_rows(tasks, 300, True, rng)
    counts = [int(kept[own].sum()) for own in rows]
    assert counts == [221, 56, 30, 3]
    assert np.sum(kept[rows[0][::4]]) == pytest.approx(221 / 4, abs=1)
    assert some_rows(tasks, 600, True, rng) is None
    few = some_rows(tasks, 40, False, rng)
    assert 0 < sum(few[own].any() for own in rows) < 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"grid": {"C": [1.0]}}, "grid names 'C'; it may name kernels, relation"),
        ({"grid": {"epsilon": 0.1}}, r"grid\['epsilon'\] must be a list of values"),
        ({"grid": {"formulation": ["printed"]}}, r"grid\['formulation'\] may hold corrected"),
        ({"relation": "friends"}, "relation must be one of 'independent'"),
        ({"max_samples": 1}, "max_samples"),
        ({"scoring": 3}, "scoring must be a name, a callable or None"),
    ],
)
def test_errors_name_the_argument(settings, message):
    X, y, task = table(n=6)
    with pytest.raises(ValueError, match=message):
        kh.MTONMKLRegressorCV(**{"cv": 2, **settings}).fit(X, y, task=task)


class _Terminal:
    def __init__(self, terminal):
        self.terminal, self.text = terminal, ""

    def isatty(self):
        return self.terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize("installed", [True, False])
def test_progress_is_shown_on_a_terminal_only(monkeypatch, installed):
    if not installed:
        monkeypatch.setattr("kernelhood.automatic.progress._tqdm", lambda total: None)
    for terminal in (True, False):
        stream = _Terminal(terminal)
        monkeypatch.setattr("sys.stderr", stream)
        progress = Progress(1, 10)
        progress.say("scouting")
        progress.add(12)
        progress.close()
        assert ("scouting" in stream.text) == terminal
        assert ("12" in stream.text) == terminal
