"""Every error names the argument, the task where there is one, and what is allowed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import kernelhood as kh

BOTH = pytest.mark.parametrize("made", [kh.MTONMKLClassifier, kh.MTONMKLRegressor])


@pytest.fixture
def data(labelled):
    return {"X": labelled.X.copy(), "y": labelled.y.copy(), "task": labelled.task.copy()}


@BOTH
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"formulation": "printed", "eta": 6.9, "beta": 1.0},
            "'printed' is bounded below only for eta >= 7 .* eta=6.9, beta=1; use eta >= 7",
        ),
        (
            {"formulation": "normalized", "eta": 2.0, "beta": 1.0},
            "'normalized' needs eta > 2 .* eta=2, beta=1; use eta > 2",
        ),
        ({"formulation": "exact"}, "'formulation' parameter .* must be a str among .*corrected"),
        ({"C": 0.0}, r"'C' parameter .* range \(0.0, inf\)"),
        ({"C": -1.0}, r"'C' parameter .* range \(0.0, inf\). Got -1.0"),
        ({"C": np.nan}, "'C' parameter"),
        ({"C": np.inf}, "'C' parameter"),
        ({"eta": 0.0}, r"'eta' parameter .* range \(0.0, inf\)"),
        ({"beta": -2.0}, r"'beta' parameter .* range \(0.0, inf\)"),
        ({"tol": 0.0}, r"'tol' parameter .* range \(0.0, inf\)"),
        ({"max_iter": 0}, r"'max_iter' parameter .* range \[1, inf\)"),
        ({"task_column": 1.5}, "'task_column' parameter .* must be .*int.*str.*None"),
        ({"kernels": []}, "kernels must hold at least one kernel"),
        ({"kernels": "gausian"}, "unknown kernel name 'gausian'; known are"),
        ({"kernels": [kh.Linear(), "gausian"]}, "unknown kernel name 'gausian'; known are"),
        ({"kernels": [kh.Linear(columns=[3])]}, "columns holds 3, but there are only 3 features"),
        ({"kernels": [kh.Linear(columns=["a"])]}, r"columns \['a'\] are named"),
        ({"task_column": "where"}, "task_column is the name 'where', but X is not a data frame"),
        ({"task_column": 3}, "task_column 3 is out of range: X has 3 columns"),
        ({"task_column": -4}, "task_column -4 is out of range: X has 3 columns"),
    ],
)
def test_parameters(made, parameters, message, data):
    with pytest.raises(ValueError, match=message):
        made(**parameters).fit(data["X"], data["y"])


def test_parameters_of_one_kind(data):
    with pytest.raises(ValueError, match=r"'epsilon' parameter .* range \[0.0, inf\)"):
        kh.MTONMKLRegressor(kernels="paper", epsilon=-0.1).fit(**data)
    with pytest.raises(ValueError, match="'class_weight' parameter .*'balanced'"):
        kh.MTONMKLClassifier(kernels="paper", class_weight="even").fit(**data)
    with pytest.raises(ValueError, match=r"class_weight holds \[7\], which are classes of no task"):
        kh.MTONMKLClassifier(kernels="paper", class_weight={1: 2.0, 7: 1.0}).fit(**data)
    with pytest.raises(ValueError, match="class_weight must hold positive weights"):
        kh.MTONMKLClassifier(kernels="paper", class_weight={1: 0.0}).fit(**data)
    with pytest.raises(TypeError, match="a kernel must be .* got int"):
        kh.MTONMKLClassifier(kernels=[3]).fit(**data)


@BOTH
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_points_must_be_finite(made, value, name, data):
    model = made().fit(**data)
    data["X"][3, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains {name}"):
        made().fit(**data)
    with pytest.raises(ValueError, match=f"Input X contains {name}"):
        model.predict(data["X"], task=data["task"])
    with pytest.raises(ValueError, match=f"Input X contains {name}"):
        made(task_column=0).fit(np.column_stack([data["task"] == "task 1", data["X"]]), data["y"])


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_targets_must_be_finite(value, name, data):
    y = data["y"].astype(float)
    y[4] = value
    with pytest.raises(ValueError, match=f"Input y contains {name}"):
        kh.MTONMKLRegressor(kernels="paper").fit(data["X"], y)
    with pytest.raises(ValueError, match=f"Input y contains {name}"):
        kh.MTONMKLClassifier(kernels="paper").fit(data["X"], y)
    wide = np.column_stack([y, data["y"]])
    if np.isinf(value):
        for made in (kh.MTONMKLClassifier, kh.MTONMKLRegressor):
            with pytest.raises(ValueError, match="Input y contains infinity"):
                made().fit(data["X"], wide)


def test_some_task_needs_two_classes(data):
    for y in (np.ones(45), np.column_stack([np.ones(45), np.ones(45)])):
        with pytest.raises(ValueError, match="y holds only one class, 1.0: there is nothing"):
            kh.MTONMKLClassifier(kernels="paper").fit(data["X"], y)


def test_targets_are_not_none(data):
    y = np.array([None, *data["y"][1:]], dtype=object)
    for made in (kh.MTONMKLClassifier, kh.MTONMKLRegressor):
        with pytest.raises(ValueError, match="y holds None in 1 rows, the first of them row 0"):
            made().fit(data["X"], y)
    with pytest.raises(ValueError, match=r"y \('price'\) holds None in 1 rows"):
        kh.MTONMKLRegressor(kernels="paper").fit(data["X"], pd.Series(y, name="price"))


def test_errors_name_the_column(data):
    X = pd.DataFrame(data["X"], columns=["a", "b", "c"])
    bad = {
        "column 'b' holds missing values": X.assign(b=np.nan),
        "column 'c' holds infinite values": X.assign(c=np.inf),
        "column 'a' holds text: encode it": X.assign(a="north"),
        "column 1 holds missing values": X.assign(b=np.nan).to_numpy(),
    }
    for message, table in bad.items():
        with pytest.raises(ValueError, match=f"In X, {message}"):
            kh.MTONMKLClassifier(kernels="paper").fit(table, data["y"])
    many = pd.DataFrame(np.full((45, 7), np.nan), columns=list("abcdefg"))
    with pytest.raises(ValueError, match="column 'e' holds missing values, and 2 more columns"):
        kh.MTONMKLClassifier(kernels="paper").fit(many, data["y"])
    model = kh.MTONMKLClassifier(kernels="paper", task_column="where").fit(
        X.assign(where=data["task"]), data["y"]
    )
    with pytest.raises(ValueError, match="column 'b' holds missing values"):
        model.predict(X.assign(where=data["task"], b=np.nan))


def test_no_task_may_have_three_classes(data):
    data["y"][np.flatnonzero(data["task"] == "task 1")[0]] = 5
    message = "Only binary classification is supported.* y holds 3 classes in task 'task 1'"
    with pytest.raises(ValueError, match=message):
        kh.ITLClassifier().fit(**data)


def test_classes_are_no_fractions(data):
    with pytest.raises(ValueError, match="Unknown label type: continuous. y of task 'task 0'"):
        kh.MTONMKLClassifier(kernels="paper").fit(data["X"], data["y"] + 0.5, task=data["task"])


def test_a_column_of_y_needs_some_value(data):
    Y = np.column_stack([data["y"], np.full(45, np.nan)])
    for made in (kh.MTONMKLClassifier, kh.MTONMKLRegressor):
        with pytest.raises(ValueError, match="y has no observed entry in column 1"):
            made().fit(data["X"], Y)


@BOTH
def test_task_labels(made, data):
    X, y, task = data["X"], data["y"], data["task"]
    with pytest.raises(ValueError, match="task must hold one label per row of X: got 44 .* 45"):
        made().fit(X, y, task=task[:-1])
    with pytest.raises(TypeError, match="one per row of X, got '.*'. To name a column"):
        made().fit(X, y, task="task 1")
    with pytest.raises(TypeError, match="one per row of X, got \\d"):
        made().fit(X, y, task=3)
    for labels in (np.column_stack([task, task]), [{"a": 1}] * 45):
        with pytest.raises(ValueError, match="task must be 1-dimensional: one hashable label"):
            made().fit(X, y, task=labels)
    for gap in (None, np.nan):
        with pytest.raises(ValueError, match="task must not hold missing labels"):
            made().fit(X, y, task=[gap, *task[1:]])
    model = made().fit(X, y, task=task)
    if "unseen_task" in model.get_params():
        model.set_params(unseen_task="error")
    with pytest.raises(ValueError, match="not seen in fit: 'task 9'. Known are 'task 0', 'task 1'"):
        model.predict(X[:2], task=["task 9", "task 1"])
    with pytest.raises(ValueError, match="task is required, .* 'task 0', 'task 1', 'task 2'"):
        model.predict(X)
    with pytest.raises(ValueError, match="one label per row of X: got 1 labels for 2 rows"):
        model.predict(X[:2], task=["task 1"])
    with pytest.raises(ValueError, match="task 'task 9' was not seen in fit; known are 'task 0'"):
        model.task_kernel(X, X, "task 9")


@BOTH
def test_two_ways_to_name_tasks_are_one_too_many(made, data):
    X, y, task = data["X"], data["y"], data["task"]
    with pytest.raises(ValueError, match="task and task_column both name the tasks"):
        made(task_column=0).fit(X, y, task=task)
    wide = np.column_stack([y, -y])
    with pytest.raises(ValueError, match="y of two dimensions .* leave out task and task_column"):
        made().fit(X, wide, task=task)
    with pytest.raises(ValueError, match="y of two dimensions .* leave out task and task_column"):
        made(task_column=0).fit(X, wide)


def test_a_column_that_is_not_there():
    X = pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, 1.0]})
    with pytest.raises(ValueError, match=r"task_column 'where' is not among .* \['a', 'b'\]"):
        kh.MTONMKLRegressor(kernels="paper", task_column="where").fit(X, [0.0, 1.0])
    with pytest.raises(ValueError, match=r"columns \['z'\] are not among .* \['a', 'b'\]"):
        kh.MTONMKLRegressor(kernels=[kh.Linear(columns=["z"])]).fit(X, [0.0, 1.0])


@BOTH
def test_sizes_have_to_agree(made, data):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        made().fit(data["X"], data["y"][:-1])
    model = made().fit(**data)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(data["X"], data["y"][:-1], task=data["task"])
    with pytest.raises(ValueError, match="X has 2 features, but .* is expecting 3"):
        model.predict(data["X"][:, :2], task=data["task"])
    wide = made().fit(data["X"], np.column_stack([data["y"], -data["y"]]))
    for y in (data["y"], np.column_stack([data["y"]] * 3)):
        with pytest.raises(ValueError, match="y must hold one column for each of the 2 tasks"):
            wide.score(data["X"], y)


@BOTH
def test_sample_weights(made, data):
    weight = np.ones(45)
    weight[data["task"] == "task 0"] = 0.0
    with pytest.raises(ValueError, match="sample_weight is zero for every sample of task 'task 0'"):
        made().fit(**data, sample_weight=weight)
    with pytest.raises(ValueError, match="[Nn]egative values in .*sample_weight"):
        made().fit(**data, sample_weight=weight - 0.5)
    with pytest.raises(ValueError, match="sample_weight"):
        made().fit(**data, sample_weight=weight[:-1])


@BOTH
@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.predict([[0.0]]),
        lambda model: model.weights_table(),
        lambda model: model.alignment(),
        lambda model: model.rademacher_bound(rho=1.0),
        lambda model: model.task_kernel([[0.0]], [[0.0]], 0),
        lambda model: model.neighborhood_kernel([[0.0]], [[0.0]], 0),
    ],
)
def test_nothing_works_before_fit(made, call):
    with pytest.raises(NotFittedError):
        call(made())


@BOTH
def test_too_few_iterations_are_reported_by_task(made, data):
    message = r"tol=1e-06 for .*'task 0' \(.*'task 2' \(.*max_iter=1 ended before; raise max_iter"
    with pytest.warns(ConvergenceWarning, match=message):
        model = made(kernels="paper", max_iter=1, tol=1e-6, C=10.0, formulation="corrected").fit(
            **data
        )
    assert model.dual_gap_ > 1e-6
    assert model.n_iter_ == 1


@BOTH
def test_too_few_iterations_of_the_default_are_reported(made, data):
    with pytest.warns(ConvergenceWarning, match="max_iter=1 ended before"):
        model = made(kernels="paper", max_iter=1, tol=1e-9, C=10.0).fit(**data)
    assert model.dual_gap_ > 1e-9
    assert [len(trace) for trace in model.trace_] == [1, 1, 1]
