"""The estimators that need no tuning: what they promise on tables as they come."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, r2_score

import kernelhood as kh
from kernelhood.estimators.additive import varies_within
from kernelhood.solvers.gaussian import Terms
from tests.scikit_learn_checks import every_check

SHOPS = np.array(["a", "b", "c", "d", "e", "f"])


def make_table(n=180, seed=0, noise=0.2):
    """A common curve of x, a level and a slope of each shop, and a column of noise."""
    rng = np.random.default_rng(seed)
    place = np.arange(n) % 6
    table = pd.DataFrame(
        {"x": rng.normal(size=n), "z": rng.normal(size=n), "u": rng.normal(size=n)}
    )
    level, slope = np.linspace(-1.0, 1.0, 6), np.linspace(1.0, -1.0, 6)
    truth = np.sin(2.0 * table["x"]) + level[place] + slope[place] * table["z"]
    y = truth + noise * rng.normal(size=n)
    return table, y.to_numpy(), SHOPS[place]


@pytest.fixture(scope="module")
def fitted():
    X, y, task = make_table()
    return kh.KernelhoodRegressor().fit(X[:120], y[:120], task=task[:120])


@every_check(kh.KernelhoodRegressor(), kh.KernelhoodClassifier())
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_what_is_common_and_what_is_own(fitted):
    X, y, task = make_table()
    assert r2_score(y[120:], fitted.predict(X[120:], task=task[120:])) > 0.9
    shares = {(level, term): share for share, level, term in fitted.shares()}
    assert sum(shares.values()) == pytest.approx(1.0)
    curves = sum(share for (level, term), share in shares.items() if term.startswith("x ("))
    assert curves > 0.2
    assert shares["own", "z (linear)"] > 0.15
    own = sum(share for (level, _), share in shares.items() if level == "own")
    assert own > shares["own", "z (linear)"]  # and something that is not a slope
    of_noise = sum(share for (_, term), share in shares.items() if term.startswith("u ("))
    assert of_noise < 0.02
    assert fitted.noise_ == pytest.approx(0.2, rel=0.4)
    assert fitted.dual_gap_ < 0.05


def test_the_summary_says_it_in_shares(fitted):
    lines = fitted.summary().splitlines()
    assert lines[0] == "KernelhoodRegressor: 6 tasks, 120 rows"
    assert any("of each task: z (linear)" in line for line in lines)
    assert any(line.endswith("%  noise") for line in lines)
    assert lines[-1].startswith("root mean squared error of left-out rows: model 0.")
    assert "one-hot ridge" in lines[-1]
    assert len(fitted.summary(most=1).splitlines()) == 4


def test_standard_deviations_are_those_of_new_targets(fitted):
    X, y, task = make_table(1200, seed=1)
    mean, deviation = fitted.predict(X, task=task, return_std=True)
    assert np.mean(np.abs(y - mean) < 1.645 * deviation) == pytest.approx(0.9, abs=0.06)
    with pytest.warns(UserWarning, match="not seen in fit: task 'new'"):
        unknown = fitted.predict(X[:5], task=["new"] * 5, return_std=True)[1]
    assert np.all(unknown > 1.5 * deviation[:5])


def test_units_and_the_order_of_columns_change_nothing():
    X, y, task = make_table()
    model = kh.KernelhoodRegressor(tol=1e-8).fit(X[:120], y[:120], task=task[:120])
    moved = X[["u", "x", "z"]] * [1e-6, 1e9, 1.0] + [0.0, 5e9, 0.0]
    other = kh.KernelhoodRegressor(tol=1e-8)
    other.fit(moved[:120], 1e6 * y[:120] - 1e6, task=task[:120])
    found = (other.predict(moved[120:], task=task[120:]) + 1e6) / 1e6
    np.testing.assert_allclose(found, model.predict(X[120:], task=task[120:]), atol=1e-4)
    shift = np.log(1e6) * 120
    assert other.log_evidence_ + shift == pytest.approx(model.log_evidence_, abs=1e-4)


def test_rows_in_another_order_give_the_same_numbers():
    X, y, task = make_table(120)
    order = np.random.default_rng(3).permutation(120)
    model = kh.KernelhoodRegressor().fit(X, y, task=task)
    again = kh.KernelhoodRegressor().fit(X.iloc[order], y[order], task=task[order])
    np.testing.assert_array_equal(again.weights_, model.weights_)
    assert again.log_evidence_ == model.log_evidence_


def test_a_frame_as_it_comes():
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], size=n),
            "day": pd.date_range("2024-01-01", periods=n),
            "open": rng.integers(2, size=n).astype(bool),
            "id": [f"row {k}" for k in range(n)],
            "same": 1.0,
        }
    )
    y = table["size"] + 2.0 * (table["colour"] == "red") + 0.1 * rng.normal(size=n)
    table.loc[::7, "size"] = np.nan
    table.loc[::11, "colour"] = None
    task = rng.integers(3, size=n)
    model = kh.KernelhoodRegressor().fit(table, y, task=task)
    assert {"size (linear)", "size (missing)", "colour", "day (curve)", "open"} <= set(model.terms_)
    assert not any(name.startswith(("id", "same")) for name in model.terms_)
    assert r2_score(y, model.predict(table, task=task)) > 0.8
    other = table.assign(colour="purple")  # a category that was not there
    assert np.isfinite(model.predict(other, task=task)).all()


def test_the_task_may_be_a_column(fitted):
    X, y, task = make_table()
    model = kh.KernelhoodRegressor(task_column="shop").fit(X[:120].assign(shop=task[:120]), y[:120])
    np.testing.assert_allclose(
        model.predict(X[120:].assign(shop=task[120:])), fitted.predict(X[120:], task=task[120:])
    )


def test_two_dimensions_are_one_task_a_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = np.column_stack([np.sin(X[:, 0]), np.sin(X[:, 0]) + X[:, 1]])
    Y[::5, 1] = np.nan
    model = kh.KernelhoodRegressor().fit(X, Y)
    assert model.predict(X).shape == (60, 2)
    assert model.predict(X, return_std=True)[1].shape == (60, 2)
    kept = ~np.isnan(Y[:, 1])
    flat = kh.KernelhoodRegressor().fit(
        np.vstack([X, X[kept]]), np.append(Y[:, 0], Y[kept, 1]), task=[0] * 60 + [1] * 48
    )
    np.testing.assert_allclose(model.predict(X)[:, 1], flat.predict(X, task=[1] * 60), atol=1e-8)


def test_rows_without_a_target_are_left_out_with_a_word():
    X, y, task = make_table()
    expected = kh.KernelhoodRegressor().fit(X[:120], y[:120], task=task[:120])
    known = np.where(np.arange(180) < 120, y, np.nan)
    with pytest.warns(UserWarning, match="60 of 180 rows have no target"):
        model = kh.KernelhoodRegressor().fit(X, known, task=task)
    np.testing.assert_array_equal(model.weights_, expected.weights_)


def test_groups_of_tasks_have_a_function_in_common():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(12), 10)
    x = rng.normal(size=120)
    y = np.where(task % 2, np.sin(2.0 * x), -np.sin(2.0 * x)) + 0.1 * rng.normal(size=120)
    groups = {k: "odd" if k % 2 else "even" for k in range(12)}
    model = kh.KernelhoodRegressor(relation=groups).fit(x[:, None], y, task=task)
    assert model.levels_ == ["common", "group", "own"]
    assert model.weights_[1].sum() > 5.0 * model.weights_[[0, 2]].sum()
    with pytest.warns(UserWarning, match="not seen"):
        model.predict([[0.5]], task=["elsewhere"])
    with pytest.raises(ValueError, match="no group for the tasks 11"):
        model.set_params(relation=dict.fromkeys(range(11), "odd")).fit(x[:, None], y, task=task)


def make_panel(shock):
    rng = np.random.default_rng(0)
    week, shop = np.tile(np.arange(30), 10), np.repeat(np.arange(10), 30)
    price = rng.normal(size=300) + 0.5 * rng.normal(size=30)[week]
    y = -price + shock * rng.normal(size=30)[week] + 0.2 * rng.normal(size=300)
    return pd.DataFrame({"price": price, "week": week}), y, shop


def test_occasions_take_what_rows_share_by_chance():
    X, y, shop = make_panel(shock=1.0)
    with pytest.warns(UserWarning, match="occasion='week'"):
        kh.KernelhoodRegressor().fit(X, y, task=shop)
    plain = kh.KernelhoodRegressor().fit(X[["price"]], y, task=shop)
    model = kh.KernelhoodRegressor().fit(X, y, task=shop, occasion="week")
    assert model.occasions_matter_
    assert model.levels_ == ["common", "own", "occasion"]
    assert model.weights_[2, 0] > 0.2
    assert model.log_evidence_ > plain.log_evidence_ + 10.0
    new = pd.DataFrame({"price": [0.0, 1.0], "week": [99, 99]})
    first_price, second_price = model.predict(new, task=[0, 0])
    assert second_price - first_price == pytest.approx(-1.0, abs=0.15)
    np.testing.assert_array_equal(
        model.predict(new.assign(week=[0, 1]), task=[0, 0]), [first_price, second_price]
    )
    by_values = kh.KernelhoodRegressor().fit(X[["price"]], y, task=shop, occasion=X["week"])
    np.testing.assert_allclose(by_values.weights_, model.weights_)
    # Wherever the column stands, it is not a feature.
    first = kh.KernelhoodRegressor().fit(X[["week", "price"]], y, task=shop, occasion="week")
    np.testing.assert_array_equal(
        first.predict(new[["week", "price"]], task=[0, 0]), [first_price, second_price]
    )


def test_occasions_that_are_none_are_left_out():
    X, y, shop = make_panel(shock=0.0)
    model = kh.KernelhoodRegressor().fit(X[["price"]], y, task=shop, occasion=X["week"])
    assert not model.occasions_matter_ or model.weights_[-1, 0] < 0.01


def test_targets_get_a_power_if_that_is_better():
    rng = np.random.default_rng(0)
    x, task = rng.normal(size=(200, 1)), np.arange(200) % 5
    z = x[:, 0] + 0.3 * task + 0.3 * rng.normal(size=200)
    model = kh.KernelhoodRegressor().fit(x, np.exp(z), task=task)
    assert model.target_power_ in (0.0, 0.25)
    plain = kh.KernelhoodRegressor(target_power=1.0).fit(x, np.exp(z), task=task)
    assert model.log_evidence_ > plain.log_evidence_ + 20.0
    new = rng.normal(size=(2000, 1))
    tasks = np.arange(2000) % 5
    draws = np.exp(new[:, 0] + 0.3 * tasks + 0.3 * rng.normal(size=2000))
    mean, deviation = model.predict(new, task=tasks, return_std=True)
    assert np.mean(mean) == pytest.approx(np.mean(draws), rel=0.08)
    assert np.std((draws - mean) / deviation) == pytest.approx(1.0, abs=0.3)
    assert kh.KernelhoodRegressor().fit(x, z - z.min() + 1.0, task=task).target_power_ == 1.0
    with pytest.raises(ValueError, match="target_power=0.5 needs positive targets"):
        kh.KernelhoodRegressor(target_power=0.5).fit(x, z, task=task)


def test_a_long_tail_is_not_a_matter_of_outliers():
    rng = np.random.default_rng(0)
    x, task = rng.normal(size=(300, 1)), np.arange(300) % 5
    sales = np.exp(2.5 * x[:, 0] + 0.3 * task + 0.3 * rng.normal(size=300))
    assert kh.KernelhoodRegressor().fit(x, sales, task=task).target_power_ < 0.5


def test_a_power_that_is_given_is_taken_with_any_noise():
    rng = np.random.default_rng(0)
    x, task = rng.normal(size=(100, 1)), np.arange(100) % 5
    y = np.exp(x[:, 0] + 0.3 * rng.normal(size=100))
    model = kh.KernelhoodRegressor(likelihood="student_t", target_power=0.0).fit(x, y, task=task)
    assert model.target_power_ == 0.0
    assert r2_score(np.log(y), np.log(model.predict(x, task=task))) > 0.8


def test_a_line_about_the_fit(capsys):
    X, y, task = make_table(60)
    kh.KernelhoodRegressor(verbose=1).fit(X, y, task=task)
    assert "60 rows" in capsys.readouterr().out


def test_an_outlier_does_not_decide():
    X, y, task = make_table()
    spoilt = y.copy()
    spoilt[7] = 1e6
    for likelihood in ("auto", "student_t"):
        model = kh.KernelhoodRegressor(likelihood=likelihood).fit(X, spoilt, task=task)
        assert r2_score(np.delete(y, 7), np.delete(model.predict(X, task=task), 7)) > 0.85


@pytest.mark.parametrize("kind", ["noise", "one of many", "no noise", "tiny tasks"])
def test_hard_tables_give_sensible_models(kind):
    rng = np.random.default_rng(0)
    n, width = (700, 100) if kind == "one of many" else (700, 16)
    X, task = rng.normal(size=(n, width)), np.arange(n) % 5
    y = rng.normal(size=n)
    least = -0.02
    if kind == "one of many":
        y, least = np.sin(2.0 * X[:, 3]) + 0.3 * y, 0.4
    elif kind == "no noise":
        y, least = np.sin(X[:, 0]) + X[:, 1] * task, 0.95
    elif kind == "tiny tasks":
        task = rng.integers(300, size=n)
        y, least = X[:, 0] + rng.normal(size=300)[task] + 0.3 * y, 0.4
    size = 400 if kind == "tiny tasks" else 100
    model = kh.KernelhoodRegressor(unseen_task="shared").fit(X[:size], y[:size], task=task[:size])
    assert r2_score(y[size:], model.predict(X[size:], task=task[size:])) > least


def test_equal_targets_and_repeated_rows():
    X, y, task = make_table(60)
    model = kh.KernelhoodRegressor().fit(X, np.full(60, 3.0), task=task)
    np.testing.assert_allclose(model.predict(X, task=task), 3.0)
    X, y, task = pd.concat([X] * 3), np.tile(y, 3), np.tile(task, 3)
    model = kh.KernelhoodRegressor().fit(X, y, task=task)
    assert r2_score(y, model.predict(X, task=task)) > 0.9


def test_far_outside_predictions_stay_close_and_are_mentioned_once(fitted):
    X, _, task = make_table()
    far = X[:20].assign(u=1e3)
    model = pickle.loads(pickle.dumps(fitted))
    with pytest.warns(UserWarning, match="column 'u' leaves its training range"):
        found = model.predict(far, task=task[:20])
    assert np.abs(found).max() < 10.0
    model.predict(far, task=task[:20])


def test_a_model_file_holds_no_matrices(fitted, tmp_path):
    fitted.predict(make_table()[0][:5], task=SHOPS[:5], return_std=True)
    assert len(pickle.dumps(fitted)) < 100_000
    X, _, task = make_table()
    path = tmp_path / "model.skops"
    kh.save(fitted, path)
    again = kh.load(path)
    for one, other in zip(
        fitted.predict(X, task=task, return_std=True),
        again.predict(X, task=task, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": ["a", "b"]}, "one label per row"),
        ({"occasion": "nowhere"}, "not a column of X"),
        ({"y": None}, "requires y"),
        ({"y": ["one"] * 180}, "use a classifier"),
        ({"y": np.full(180, np.nan)}, "no target"),
        ({"y": np.full(180, 1e200)}, "beyond floating point"),
    ],
)
@pytest.mark.filterwarnings("ignore:180 of 180 rows")
def test_errors_name_the_argument(arguments, message):
    X, y, task = make_table()
    given = {"y": y, "task": task, **arguments}
    with pytest.raises((ValueError, TypeError), match=message):
        kh.KernelhoodRegressor().fit(X, **given)


def test_tasks_are_needed_for_predictions(fitted):
    X, _, _ = make_table()
    with pytest.raises(ValueError, match="task is needed"):
        fitted.predict(X)
    model = pickle.loads(pickle.dumps(fitted)).set_params(unseen_task="error")
    with pytest.raises(ValueError, match="not seen in fit: 'new'"):
        model.predict(X[:1], task=["new"])


def test_a_limit_of_steps_is_told():
    X, y, task = make_table()
    with pytest.warns(ConvergenceWarning, match="raise max_iter to 8"):
        kh.KernelhoodRegressor(max_iter=2, tol=1e-8).fit(X, y, task=task)


def make_labels(n=240, seed=0):
    X, y, task = make_table(n, seed, noise=0.3)
    return X, np.where(y > 0.0, "yes", "no"), task


def test_classes_and_their_probabilities():
    X, y, task = make_labels()
    model = kh.KernelhoodClassifier().fit(X, y, task=task)
    new, truth, tasks = make_labels(600, seed=1)
    found = model.predict_proba(new, task=tasks)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.mean(model.predict(new, task=tasks) == truth) > 0.85
    assert log_loss(truth, found, labels=model.classes_) < 0.35
    np.testing.assert_array_equal(
        model.predict(new, task=tasks) == "yes", model.decision_function(new, task=tasks) > 0.0
    )
    assert model.score(new, truth, task=tasks) > 0.85
    assert "of each task: z" in model.summary()


def test_several_classes_have_common_weights():
    X, y, task = make_table(240)
    labels = np.digitize(y, [-0.7, 0.7])
    model = kh.KernelhoodClassifier().fit(X[:180], labels[:180], task=task[:180])
    assert model.predict_proba(X, task=task).shape == (240, 3)
    assert model.score(X[180:], labels[180:], task=task[180:]) > 0.7


def test_weights_of_classes_move_the_border():
    X, y, task = make_labels()
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.6, "no", y)
    plain = kh.KernelhoodClassifier().fit(X, y, task=task)
    balanced = kh.KernelhoodClassifier(class_weight="balanced").fit(X, y, task=task)
    rare = [np.mean(one.predict_proba(X, task=task)[:, 1]) for one in (plain, balanced)]
    assert rare[1] > rare[0] + 0.1


def test_a_task_with_one_class_learns_from_the_others():
    X, y, task = make_labels()
    kept = (task != "a") | (y == "no")
    model = kh.KernelhoodClassifier().fit(X[kept], y[kept], task=task[kept])
    own = model.predict_proba(X[task == "a"], task=task[task == "a"])[:, 1]
    assert own.mean() < 0.4
    assert np.ptp(own) > 0.2
    with pytest.raises(ValueError, match="one class 'no'"):
        kh.KernelhoodClassifier().fit(X[y == "no"], y[y == "no"], task=task[y == "no"])


def test_tasks_with_two_classes_of_their_own():
    X, y, task = make_labels()
    own = np.char.add(np.where(y == "yes", "1 ", "0 "), np.where(task < "d", "first", task))
    model = kh.KernelhoodClassifier().fit(X[:180], own[:180], task=task[:180])
    assert len(model.classes_) == 8
    plain = kh.KernelhoodClassifier().fit(X[:180], y[:180], task=task[:180])
    np.testing.assert_allclose(
        model.decision_function(X, task=task), plain.decision_function(X, task=task)
    )
    found = model.predict(X, task=task)
    np.testing.assert_array_equal(
        np.char.startswith(found.astype(str), "1"), plain.predict(X, task=task) == "yes"
    )
    probability = model.predict_proba(X, task=task)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal((probability > 0.0).sum(axis=1), 2)
    assert set(found[task == "e"]) <= {"0 e", "1 e"}
    with pytest.raises(ValueError, match="two classes of its own"):
        model.set_params(unseen_task="shared").predict(X[:1], task=["new"])


def test_rows_of_little_weight_hardly_count():
    rng = np.random.default_rng(0)
    X, task = rng.uniform(-1.0, 1.0, size=(60, 1)), np.repeat(["a", "b", "c"], 20)
    y, wrong = X[:, 0] + 0.1 * rng.normal(size=60), np.arange(60) % 3 == 0
    model = kh.KernelhoodRegressor(likelihood="gaussian").fit(
        X, np.where(wrong, 2.0, y), task=task, sample_weight=np.where(wrong, 1e-5, 1.0)
    )
    without = kh.KernelhoodRegressor(likelihood="gaussian").fit(
        X[~wrong], y[~wrong], task=task[~wrong]
    )
    expected = without.predict(X, task=task)
    np.testing.assert_allclose(model.predict(X, task=task), expected, atol=0.05)


def test_terms_that_are_constant_within_groups_are_told():
    groups = np.repeat([0, 1, 2], 4)
    features = np.column_stack([np.ones(12), groups, np.arange(12.0)])
    terms = Terms(features, np.array([1, 1, 1]), np.empty((0, 12, 12)))
    assert varies_within(terms, groups).tolist() == [False, False, True]
