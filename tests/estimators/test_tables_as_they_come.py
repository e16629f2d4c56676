"""Tables as people have them: any type, any scale, any order, and clear words where it ends."""

import numpy as np
import pandas as pd
import pytest

import kernelhood as kh
from tests.references import make_samples


@pytest.fixture(scope="module")
def data():
    return make_samples("regression", sizes=(18, 15, 12))


def predictions(X, y, task, **settings):
    return kh.MTONMKLRegressor(**settings).fit(X, y, task=task).predict(X, task=task)


def frozen(values):
    values = np.array(values)
    values.flags.writeable = False
    return values


@pytest.mark.parametrize(
    "given",
    [
        lambda X: X.astype(np.float32).astype(np.float64).astype(object),
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        frozen,
        np.ndarray.tolist,
        lambda X: pd.DataFrame(X, index=np.arange(len(X)) * 3 + 100),
        lambda X: pd.DataFrame(X).astype("Float64"),
    ],
    ids=["objects", "fortran", "strided", "read-only", "lists", "index", "nullable"],
)
def test_the_form_of_a_table_changes_nothing(data, given):
    X = data.X.astype(np.float32).astype(np.float64)
    task = np.unique(data.task, return_inverse=True)[1]
    expected = predictions(X, data.y, task)
    found = predictions(given(X), frozen(data.y), frozen(task))
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1e150, 1e300])
def test_columns_may_be_of_any_size(data, factor):
    expected = predictions(data.X, data.y, data.task, tol=1e-7)
    found = predictions(data.X * [factor, 1.0, factor], data.y, data.task, tol=1e-7)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_targets_whose_squares_are_no_numbers_are_refused(data, factor):
    with pytest.raises(ValueError, match=r"y holds numbers of the size \de[+-]\d00, whose squares"):
        predictions(data.X, data.y * factor, data.task)


def test_dates_are_named_and_refused(data):
    days = pd.date_range("2024-01-01", periods=len(data.y))
    text = np.where(data.X[:, 0] > 0.0, "a", "b")
    frames = [
        pd.DataFrame({"text": text, "day": days}),
        pd.DataFrame({"day": days - days[0]}),
        pd.DataFrame({"day": days.tz_localize("Europe/Berlin")}),
        pd.DataFrame({"number": data.y, "day": days.date}),
    ]
    for frame in frames:
        with pytest.raises(ValueError, match="column 'day' holds (dates or times|text)"):
            kh.MTONMKLRegressor().fit(frame, data.y)
    with pytest.raises(ValueError, match="column 0 holds dates or times: turn them into numbers"):
        kh.MTONMKLRegressor().fit(days.to_numpy()[:, None], data.y)


def test_missing_values_are_named_with_what_to_do(data):
    frame = pd.DataFrame(data.X.copy(), columns=["a", "b", "c"])
    frame.loc[3, "b"] = np.nan
    with pytest.raises(ValueError, match="'b' holds missing values. Set missing=\"indicator\""):
        kh.MTONMKLRegressor().fit(frame, data.y)
    with pytest.raises(ValueError, match=r"'b' holds missing values\. Input X contains NaN"):
        kh.ITLRegressor().fit(frame, data.y)


def test_targets_of_pandas_types(data):
    high = data.y > np.median(data.y)
    assert (
        kh.MTONMKLClassifier().fit(data.X, pd.Series(high, dtype="boolean")).classes_.dtype == bool
    )
    numbers = kh.MTONMKLClassifier().fit(data.X, pd.Series(high.astype(int), dtype="Int64"))
    assert numbers.classes_.tolist() == [0, 1]
    lacking = pd.Series([None, *high.tolist()[1:]], dtype="boolean", name="sold")
    with pytest.raises(ValueError, match=r"y \('sold'\) holds None in 1 rows"):
        kh.MTONMKLClassifier().fit(data.X, lacking)
    with pytest.raises(ValueError, match="task must not hold missing labels"):
        kh.MTONMKLClassifier().fit(data.X, high, task=lacking)
    with pytest.raises(ValueError, match="y holds text, and MTONMKLRegressor needs numbers"):
        kh.MTONMKLRegressor().fit(data.X, np.where(high, "high", "low"))


@pytest.mark.parametrize("n_rows", [2, 3])
def test_folds_with_other_kernels_than_all_rows(data, n_rows):
    """A single row has constant columns only, whose kernels are left out."""
    X, y = data.X[:n_rows], data.y[:n_rows]
    search = kh.KernelSearchCV(kh.MTONMKLRegressor(), {"C": [1.0]}, cv=n_rows).fit(X, y)
    assert np.all(np.isfinite(search.predict(X)))


def test_one_row_is_a_data_frame(data):
    frame = pd.DataFrame(data.X, columns=["a", "b", "c"])
    model = kh.KernelhoodRegressor().fit(frame, data.y)
    for row, name in ((frame.iloc[0], "Series"), (frame.iloc[0].to_dict(), "dict")):
        with pytest.raises(TypeError, match=f"X is a {name}: give a data frame"):
            model.predict(row)
