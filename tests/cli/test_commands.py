"""The three commands from end to end, as a new user types them."""

import io
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kernelhood as kh
from kernelhood.datasets import get_data_home, load_load
from tests.cli.tables import hard_table, plain_table


def fit(say, table, folder, *more):
    table.to_csv(folder / "t.csv", index=False)
    words = ["--task", "shop", "--target", "sold"]
    return say("fit", folder / "t.csv", "--out", folder / "m.skops", *words, *more)


def test_fit_tells_what_it_did_and_predict_does_it_again(shops, say, tmp_path):
    out = tmp_path / "predictions.csv"
    code, text, errors = say("predict", shops / "model.skops", shops / "shops.csv", "--out", out)
    assert (code, errors) == (0, "")
    assert text == f"predicted 48 rows\nwrote {out}\n"
    found, table = pd.read_csv(out), pd.read_csv(shops / "shops.csv")
    assert list(found) == ["row", "task", "prediction", "by"]
    assert found["row"].tolist() == list(range(1, 49))
    assert set(found["by"]) == {"task"}
    assert found["task"].tolist() == table["shop"].tolist()
    assert np.corrcoef(found["prediction"], table["sold"])[0, 1] > 0.8
    model = kh.load(shops / "model.skops")
    np.testing.assert_allclose(model.predict(table), found["prediction"], rtol=1e-12)


def test_inspect_says_the_same_as_text_and_page(shops, say, tmp_path):
    code, text, errors = say("inspect", shops / "model.skops", "--out", tmp_path / "i.html")
    assert (code, errors) == (0, "")
    page = (tmp_path / "i.html").read_text(encoding="utf-8")
    for name in (
        "task 1",
        "x3",
        "pooled ridge",
        "rows held out of the fit",
        "Sharing helped",
        "one-hot ridge",
        "% ",
    ):
        assert name in text
        assert name in page
    assert "kernelhood fit" in text
    assert "http" not in page.replace("http-equiv", "")


def test_scores_are_those_of_rows_that_the_choice_never_saw(shops):
    record = kh.load(shops / "model.skops").record
    by_task = {row["task"]: row for row in record["scores"]}
    assert [by_task[name]["rows"] for name in ("task 1", "task 2", "task 3", None)] == [4, 4, 4, 12]
    everything = by_task[None]
    assert everything["low"] <= everything["model"] <= everything["high"]
    assert everything["task mean"] > 0.0
    assert everything["pooled ridge"] > 0.0


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_every_difficulty_at_once(kind, say, tmp_path):
    table = hard_table(kind)
    code, text, errors = fit(say, table, tmp_path)
    assert code == 0, errors
    assert "1 of 47 rows lack the task or the target" in text
    assert "left out: it is 'always' in every row" in text
    assert "left out: every value occurs once" in text
    assert "fewer than 10 rows: one class, tiny" in text
    assert all(line.startswith("kernelhood: note: ") for line in errors.splitlines())
    model = kh.load(tmp_path / "m.skops")
    assert model.kind == kind
    code, text, errors = say("predict", tmp_path / "m.skops", tmp_path / "t.csv", "--out", "-")
    assert code == 0, errors
    found = pd.read_csv(io.StringIO(text))
    assert found["task"].tolist() == [name.strip() for name in table["shop"]]
    assert found["prediction"].notna().all()
    code, text, _ = say("inspect", tmp_path / "m.skops", "--out", tmp_path / "i.html")
    assert code == 0
    assert "北京" in (tmp_path / "i.html").read_text(encoding="utf-8")


def test_other_forms_of_the_same_table_give_the_same_predictions(shops, say, tmp_path):
    table = pd.read_csv(shops / "shops.csv")
    table.to_parquet(tmp_path / "shops.parquet")
    table.to_csv(tmp_path / "shops.tsv.gz", sep="\t", index=False)
    table.to_csv(tmp_path / "semicolons.csv", sep=";", index=False)
    exact = pd.read_csv(io.StringIO(say("predict", shops / "model.skops", shops / "shops.csv")[1]))
    for name in ("shops.parquet", "shops.tsv.gz", "semicolons.csv"):
        code, text, errors = say("predict", shops / "model.skops", tmp_path / name)
        assert code == 0, errors
        # The last digit of a number that was written to text may differ.
        pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(text)), exact, rtol=1e-12)


def test_parquet_out_and_columns_to_keep(shops, say, tmp_path):
    out = tmp_path / "p.parquet"
    words = ("--out", out, "--keep", "region", "sold")
    assert say("predict", shops / "model.skops", shops / "shops.csv", *words)[0] == 0
    found = pd.read_parquet(out)
    assert list(found) == ["row", "task", "prediction", "by", "region", "sold"]
    assert len(found) == 48


def test_standard_input(shops, say, monkeypatch):
    text = (shops / "shops.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    code, out, _ = say("predict", shops / "model.skops", "-")
    assert code == 0
    assert len(out.splitlines()) == 49


def test_svmlight_with_tasks_as_query_ids(say, tmp_path):
    rng = np.random.default_rng(0)
    lines = []
    for row in range(40):
        x = rng.normal(size=2)
        label = 1 if x[0] > 0 else -1
        lines.append(f"{label} qid:{row % 2 + 1} 1:{x[0]:.4f} 3:{x[1]:.4f}")
    (tmp_path / "t.svm").write_text("\n".join(lines))
    words = ["--task", "qid", "--target", "target", "--out"]
    code, text, errors = say("fit", tmp_path / "t.svm", *words, tmp_path / "m.skops")
    assert code == 0, errors
    assert "40 rows, 2 tasks, classification of target" in text
    assert "left out: it is 0 in every row" in text
    code, text, _ = say("predict", tmp_path / "m.skops", tmp_path / "t.svm")
    found = pd.read_csv(io.StringIO(text))
    assert np.mean(found["prediction"] == [int(line.split()[0]) for line in lines]) > 0.9


def test_unseen_tasks_are_predicted_by_group_or_by_all_and_marked(shops, say, tmp_path):
    table = pd.read_csv(shops / "shops.csv").head(3)
    table["shop"] = ["new", "newer", "task 1"]
    table["region"] = [table["region"][0], "nowhere", table["region"][2]]
    table.to_csv(tmp_path / "new.csv", index=False)
    arguments = ("predict", shops / "model.skops", tmp_path / "new.csv")
    code, text, errors = say(*arguments)
    assert code == 0
    assert pd.read_csv(io.StringIO(text))["by"].tolist() == ["group", "shared", "task"]
    assert errors.startswith(
        "kernelhood: note: tasks not seen in fit are predicted by what all tasks share: 'newer'. "
    )
    assert errors.count("note") == 1
    assert say(*arguments, "--unseen", "shared") == (0, text, "")
    code, text, errors = say(*arguments, "--unseen", "error", "--out", tmp_path / "p.csv")
    assert (code, text) == (1, "")
    assert errors == (
        "kernelhood: column 'shop' holds tasks not seen in fit: 'new', 'newer'; "
        "unseen='error' refuses them.\n"
    )
    assert not (tmp_path / "p.csv").exists()


def test_holdout_after_a_date(say, tmp_path):
    table = plain_table()
    table["day"] = pd.date_range("2024-01-01", periods=len(table)).strftime("%Y-%m-%d")
    table = table.sample(frac=1.0, random_state=0)
    code, text, errors = fit(say, table, tmp_path, "--holdout-after", "2024-01-31")
    assert code == 0, errors
    # Days 32 to 48 are the last of task 2 and all of task 3, which nothing is known of before.
    assert "all rows     1 " in text
    assert "no row that was held out: task 1, task 3" in text


def test_holdout_after_a_number(say, tmp_path):
    table = plain_table()
    table["year"] = list(range(1980, 1996)) * 3
    code, text, errors = fit(say, table, tmp_path, "--holdout-after", "year=1989")
    assert code == 0, errors
    assert "all rows    18 " in text


def test_whole_tasks_held_out_are_judged_as_new(say, tmp_path):
    code, text, errors = fit(say, plain_table(n_tasks=4), tmp_path, "--holdout-tasks", "0.25")
    assert code == 0, errors
    assert "root mean squared error on rows of tasks held out of the fit" in text
    assert "all rows    16 " in text
    assert "no row that was held out" in text
    assert "Sharing helped" in text


def test_quantiles_are_in_the_file_and_in_the_predictions(say, tmp_path):
    code, _, errors = fit(say, plain_table(), tmp_path, "--quantiles", "0.1", "0.5", "0.9")
    assert code == 0, errors
    code, text, errors = say("predict", tmp_path / "m.skops", tmp_path / "t.csv")
    assert code == 0, errors
    found = pd.read_csv(io.StringIO(text))
    assert list(found)[4:] == ["q=0.1", "q=0.5", "q=0.9"]
    assert (found["q=0.1"] <= found["q=0.9"]).all()
    inside = plain_table()["sold"].between(found["q=0.1"], found["q=0.9"])
    assert inside.mean() > 0.6
    plain_table().assign(shop="new").to_csv(tmp_path / "new.csv", index=False)
    code, text, errors = say("predict", tmp_path / "m.skops", tmp_path / "new.csv")
    assert code == 0, errors
    assert set(pd.read_csv(io.StringIO(text))["by"]) == {"shared"}


def test_probabilities_are_in_the_predictions(say, tmp_path):
    table = plain_table("classification")
    code, _, errors = fit(say, table, tmp_path)
    assert code == 0, errors
    code, text, errors = say("predict", tmp_path / "m.skops", tmp_path / "t.csv")
    assert code == 0, errors
    found = pd.read_csv(io.StringIO(text))
    assert list(found)[4:] == ["p=-1", "p=1"]
    np.testing.assert_allclose(found["p=-1"] + found["p=1"], 1.0)
    assert ((found["p=1"] > 0.5) == (found["prediction"] == 1)).all()


@pytest.mark.skipif(
    not (get_data_home() / "gefcom2012").is_dir(), reason="the files of Load are not here"
)
def test_a_table_of_loads(say, tmp_path):
    data = load_load(n_samples=40, zones=[1, 4], scale=False, random_state=0, as_frame=True)
    table = data.X.assign(zone=data.task, load=data.y)
    table.to_csv(tmp_path / "loads.csv", index=False)
    words = "--task zone --target load --holdout 0.25 --categories season --out"
    code, text, errors = say("fit", tmp_path / "loads.csv", *words.split(), tmp_path / "m.skops")
    assert code == 0, errors
    assert "80 rows, 2 tasks, regression of load" in text
    scores = kh.load(tmp_path / "m.skops").record["scores"][-1]
    assert scores["model"] < 0.9 * scores["task mean"]


def test_the_bench_takes_a_table(say, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelhood.paper.report._draw", lambda results: [])
    plain_table(n_samples=30).to_csv(tmp_path / "my.csv", index=False)
    words = "--task shop --target sold --methods avmtmkl pooled --runs 1 --jobs 1 -q --out"
    out = tmp_path / "report"
    code, text, errors = say("bench", tmp_path / "my.csv", *words.split(), out)
    assert code == 0, errors
    assert "Pooled SVM" in text
    assert (out / "report.html").is_file()


def test_what_is_done_leaves_no_other_file(shops):
    assert sorted(os.listdir(shops)) == ["model.skops", "shops.csv"]
    assert Path(shops / "model.skops").stat().st_size < 80_000
