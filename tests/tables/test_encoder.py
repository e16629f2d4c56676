import numpy as np
import pytest

from kernelhood.kernels.columns import MOST_LEVELS
from kernelhood.tables import TableEncoder, fit_table

pd = pytest.importorskip("pandas")


def encoded(values, **options):
    """Return the encoder of a single column, and its features."""
    frame = pd.DataFrame({"x": values})
    encoder = TableEncoder(**options).fit(frame)
    return encoder, encoder.transform(frame)


def test_numbers_are_standardised_from_text_as_from_numbers():
    encoder, X = encoded([" 1", "2.0", "3e0", "6"])
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(X.std(axis=0), 1.0)
    np.testing.assert_array_equal(X, encoded([1, 2, 3, 6])[1])
    assert encoder.get_feature_names_out().tolist() == ["x"]


def test_missing_numbers_are_the_median_and_marked():
    encoder, X = encoded([1.0, None, 3.0, 8.0, np.inf])
    assert encoder.get_feature_names_out().tolist() == ["x", "x missing"]
    assert X[:, 1].tolist() == [0.0, 1.0, 0.0, 0.0, 1.0]
    assert X[1, 0] == X[4, 0] == X[2, 0]
    for word in ("", "NA", "nan", "null", "N/A"):
        np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"x": [word]})), X[1:2])


def test_durations_are_numbers_of_days():
    encoder, _ = encoded(np.array([0, 12, 24, 36], dtype="timedelta64[h]"))
    assert encoder.describe()["x"].startswith("number, mean 0.75")


def test_a_value_missing_only_later_is_the_median_without_a_mark():
    encoder, X = encoded([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"x": [None]})), X[1:2])


def test_categories_are_at_the_distance_one():
    encoder, X = encoded(["a", "b", "a", "b", "rare"])
    assert encoder.get_feature_names_out().tolist() == ["x=a", "x=b"]
    assert np.linalg.norm(X[0] - X[1]) == pytest.approx(1.0)
    assert not X[4].any()
    assert not encoder.transform(pd.DataFrame({"x": ["never seen"]})).any()


def test_only_the_most_frequent_levels_have_features():
    values = [f"level {k}" for k in range(50) for _ in range(2 + k)]
    encoder, X = encoded(values)
    assert X.shape[1] == MOST_LEVELS
    assert "level 49" in encoder.columns_[0].levels
    assert "level 0" not in encoder.columns_[0].levels


def test_dates_have_a_time_and_cycles():
    days = pd.date_range("2023-01-01", periods=400).strftime("%Y-%m-%d").tolist()
    encoder, X = encoded(days)
    names = ["x time", "x year sin", "x year cos", "x week sin", "x week cos"]
    assert encoder.get_feature_names_out().tolist() == names
    assert np.all(np.diff(X[:, 0]) > 0)
    np.testing.assert_allclose(X[0, 3:], X[7, 3:], atol=1e-9)
    hours = pd.date_range("2023-01-01", periods=48, freq="h")
    assert TableEncoder().fit(pd.DataFrame({"x": hours})).sources_ == ["x"] * 3
    text = hours.strftime("%Y-%m-%d %H:%M").tolist()
    np.testing.assert_allclose(encoded(text)[1], encoded(hours)[1])


def test_periods_are_dates_by_their_start():
    months = pd.period_range("2020-01", periods=30, freq="M")
    np.testing.assert_array_equal(encoded(months)[1], encoded(months.to_timestamp())[1])


def test_numbers_that_are_labels_and_text_that_is_almost_a_date():
    encoder, _ = encoded([1, 2, 1, 2], categories=["x"])
    assert encoder.get_feature_names_out().tolist() == ["x=1", "x=2"]
    assert "category" in encoded(["2023-01-01", "soon"] * 2)[0].describe()["x"]
    assert "category" in encoded([True, False, True, False])[0].describe()["x"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([3, 3, 3], "it is 3 in every row"),
        (["a", "a"], "it is 'a' in every row"),
        ([None, None], "it holds no value"),
        (["a", "b", "c"], "every value occurs once"),
        (["2024-01-01"] * 2, "the same date in every row"),
    ],
)
def test_columns_that_tell_nothing_are_left_out(values, reason):
    frame = pd.DataFrame({"x": values, "y": range(len(values))})
    encoder = TableEncoder().fit(frame)
    assert reason in encoder.describe()["x"]
    assert encoder.sources_ == ["y"]
    with pytest.raises(ValueError, match="no column to learn from: 'x' is left out"):
        fit_table(frame.assign(site=0), task="site", target="y", features=["x"])


def test_columns_are_found_by_name():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["u", "v", "u"]})
    encoder = TableEncoder().fit(frame)
    turned = frame[["b", "a"]].assign(c=0)
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(frame))
    with pytest.raises(ValueError, match="column 'a' is missing; the table has 'b'"):
        encoder.transform(frame[["b"]])
    with pytest.raises(ValueError, match="there is no column 'z'; there are 'a', 'b'"):
        TableEncoder(dates=["z"]).fit(frame)


def test_very_large_numbers_do_not_overflow():
    _, X = encoded([1e300, -1e300, 5e299])
    assert np.isfinite(X).all()
