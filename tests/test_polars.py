"""Frames of polars do what those of pandas do: numbers, text, categories, missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelhood as kh
from kernelhood.tables import fit_table

KINDS = {
    "text": pl.String,
    "categories": pl.Categorical,
    "enumeration": pl.Enum(["clear", "fog", "rain"]),
}


def columns():
    rng = np.random.default_rng(0)
    return {
        "heat": rng.normal(20.0, 5.0, 60),
        "rooms": rng.integers(1, 6, 60),
        "sky": rng.choice(["clear", "fog", "rain"], 60),
        "garden": rng.random(60) > 0.5,
        "site": np.repeat(["north", "south", "west"], 20),
    }


@pytest.fixture(scope="module")
def y():
    given = columns()
    return 0.2 * given["heat"] + 2.0 * (given["sky"] == "fog") + given["garden"]


@pytest.fixture(scope="module")
def expected(y):
    frame = pd.DataFrame(columns())
    return kh.MTONMKLRegressor(task_column="site").fit(frame, y).predict(frame)


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimator_takes_them_as_those_of_pandas(kind, y, expected):
    table = pl.DataFrame(columns()).with_columns(pl.col("sky").cast(KINDS[kind]))
    inside = kh.MTONMKLRegressor(task_column="site").fit(table, pl.Series("sold", y))
    np.testing.assert_allclose(inside.predict(table), expected)
    inputs, task = table.drop("site"), table["site"].cast(pl.Categorical)
    beside = kh.MTONMKLRegressor().fit(inputs, y, task=task)
    np.testing.assert_allclose(beside.predict(inputs, task=table[["site"]]), expected)
    np.testing.assert_allclose(inside.predict(pd.DataFrame(columns())), expected)


def test_searches_take_them(y):
    table = pl.DataFrame(columns()).with_columns(pl.col("sky").cast(KINDS["enumeration"]))
    pandas, labels = pd.DataFrame(columns()), np.where(y > np.median(y), "high", "low")
    search = kh.KernelSearchCV(kh.MTONMKLRegressor(task_column="site"), {"C": [1.0, 10.0]}, cv=2)
    found = search.fit(table, y).predict(table)
    np.testing.assert_allclose(found, search.fit(pandas, y).predict(pandas))
    tuned = kh.KernelhoodClassifier(task_column="site")
    found = tuned.fit(table, pl.Series(labels)).predict_proba(table)
    np.testing.assert_allclose(found, tuned.fit(pandas, labels).predict_proba(pandas))
    assert list(tuned.feature_names_in_) == list(pandas.columns)


def test_missing_values(y):
    table = pl.DataFrame(columns()).with_columns(
        pl.when(pl.col("heat") > 26.0).then(None).otherwise(pl.col("heat")).alias("heat"),
        pl.when(pl.col("rooms") == 1).then(None).otherwise(pl.col("sky")).alias("sky"),
    )
    model = kh.MTONMKLRegressor(task_column="site", missing="indicator").fit(table, y)
    same = kh.MTONMKLRegressor(task_column="site", missing="indicator").fit(table.to_pandas(), y)
    np.testing.assert_allclose(model.predict(table), same.predict(table.to_pandas()))
    with pytest.raises(ValueError, match="'heat' holds missing values, column 'sky' holds missing"):
        model.set_params(missing="error").fit(table, y)
    with pytest.raises(ValueError, match="y holds None in 1 rows"):
        kh.MTONMKLClassifier().fit(table[["rooms"]], pl.Series([None] + ["a", "b"] * 29 + ["a"]))
    with pytest.raises(TypeError, match=r"X is a LazyFrame, which holds no rows yet: collect\(\)"):
        model.fit(table.lazy(), y)


def test_output_of_transformers(y):
    table = pl.DataFrame(columns())
    scaled = make_column_transformer(
        (StandardScaler(), ["heat", "rooms"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="polars")
    last = kh.MTONMKLRegressor(task_column="site")
    search = kh.KernelSearchCV(make_pipeline(scaled, last), {"mtonmklregressor__C": [10.0]}, cv=2)
    assert search.fit(table, y).score(table, y) > 0.9
    last = kh.KernelhoodRegressor(task_column="site")
    assert make_pipeline(scaled, last).fit(table, y).score(table, y) > 0.9


def test_fit_table(y):
    table = pl.DataFrame(columns()).with_columns(pl.Series("sold", y))
    settings = {"task": "site", "target": "sold"}
    found = fit_table(table, **settings)
    same = fit_table(pd.DataFrame(columns()).assign(sold=y), **settings)
    np.testing.assert_allclose(found.predict(table), same.predict(table), rtol=1e-6)
