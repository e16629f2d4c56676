"""Files of estimators and searches that were saved in Python, read by the commands."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelhood as kh
from tests.cli.tables import plain_table

SEARCH = {"param_grid": {"C": [1.0, 10.0]}, "cv": 2}


@pytest.fixture(scope="module")
def table():
    found = plain_table()
    found["shop"] = found["shop"].map({name: k for k, name in enumerate(found["shop"].unique())})
    return found.assign(sky=np.where(found["x1"] > 0.0, "clear", "rain"))


def predicted(say, model, table, folder, *words):
    kh.save(model, folder / "m.skops")
    table.to_csv(folder / "t.csv", index=False)
    code, text, errors = say("predict", folder / "m.skops", folder / "t.csv", *words)
    assert code == 0, errors
    return pd.read_csv(io.StringIO(text))


def test_a_regressor_predicts_and_explains_itself(table, say, tmp_path):
    X = table.drop(columns=["sold", "region"])
    model = kh.KernelhoodRegressor(task_column="shop").fit(X, table["sold"])
    found = predicted(say, model, table, tmp_path)
    np.testing.assert_allclose(found["prediction"], model.predict(X), rtol=1e-6)
    assert found["task"].tolist() == table["shop"].tolist()
    page = tmp_path / "page.html"
    code, text, errors = say("inspect", tmp_path / "m.skops", "--out", page)
    assert code == 0, errors
    assert model.summary().splitlines()[0] in text
    assert model.summary().splitlines()[1].strip() in page.read_text(encoding="utf-8")
    new = table.assign(shop="elsewhere")
    found = predicted(say, model, new, tmp_path)
    assert set(found["by"]) == {"shared"}
    code, _, errors = say("predict", tmp_path / "m.skops", tmp_path / "t.csv", "--unseen", "error")
    assert code != 0
    assert "tasks not seen in fit: 'elsewhere'" in errors


def test_one_function_for_all_tasks_predicts_any_of_them(table, say, tmp_path):
    X = table.drop(columns=["sold", "region", "sky"])
    model = kh.PooledRegressor(task_column="shop").fit(X, table["sold"])
    for shown in (table, table.assign(shop="elsewhere")):
        found = predicted(say, model, shown, tmp_path)
        np.testing.assert_allclose(found["prediction"], model.predict(X), rtol=1e-6)


def test_a_search_with_tasks_beside_x(table, say, tmp_path):
    X, y = table[["x1", "x2"]], np.where(table["sold"] > 0.0, "much", "little")
    search = kh.KernelSearchCV(kh.MTONMKLClassifier(kernels="small"), **SEARCH)
    search.fit(X, y, task=table["shop"])
    found = predicted(say, search, table, tmp_path, "--task", "shop")
    np.testing.assert_array_equal(found["prediction"], search.predict(X, task=table["shop"]))
    code, text, _ = say("inspect", tmp_path / "m.skops")
    assert code == 0
    assert search.summary() in text
    code, _, errors = say("predict", tmp_path / "m.skops", tmp_path / "t.csv")
    assert code != 0
    assert "--task COLUMN is needed" in errors
    table.drop(columns="x2").to_csv(tmp_path / "t.csv", index=False)
    words = ("predict", tmp_path / "m.skops", tmp_path / "t.csv", "--task", "shop")
    assert "column 'x2' is missing" in say(*words)[2]


def test_a_pipeline_and_a_model_without_names(table, say, tmp_path):
    X = table[["x1", "x2"]]
    model = make_pipeline(StandardScaler(), kh.ITLRegressor()).fit(X, table["sold"])
    found = predicted(say, model, table, tmp_path)
    np.testing.assert_allclose(found["prediction"], model.predict(X), rtol=1e-6)
    kh.save(kh.ITLRegressor().fit(X.to_numpy(), table["sold"]), tmp_path / "m.skops")
    code, _, errors = say("predict", tmp_path / "m.skops", tmp_path / "t.csv")
    assert code != 0
    assert "fitted without names of columns" in errors


def test_a_summary_says_what_sits_at_an_end(table):
    X, y = table[["x1", "x2"]], table["sold"]
    grid = {"C": [1e-6, 1e-5], "kernels": ["small"]}
    search = kh.KernelSearchCV(kh.ITLRegressor(), grid, cv=2).fit(X, y, task=table["shop"])
    text = search.summary()
    assert text.startswith("Chosen: C=")
    assert f"is {search.best_score_:.4g}, the mean over 2 splits" in text
    assert "C sits at the " in text
    assert "2 points of the grid are 2 different models." in text
    apart = kh.KernelSearchCV(kh.ITLRegressor(), grid, cv=2, per_task=True, scoring="r2")
    assert "Chosen for 0: C=" in apart.fit(X, y, task=table["shop"]).summary()
