import numpy as np
import pytest

import kernelhood as kh
from kernelhood.inspection.contents import grid, inspect_model, to_text
from kernelhood.inspection.page import shade, task_map, to_html
from kernelhood.tables.judging import worth_a_look


def test_shares_add_up_to_one(inspection):
    np.testing.assert_allclose(inspection.usage.sum(axis=1), 1.0)
    assert inspection.columns == ["x1", "x2", "x3", "x4"]


def test_a_column_that_decides_is_seen_to(model):
    from kernelhood.tables import fit_table

    rng = np.random.default_rng(0)
    table = pytest.importorskip("pandas").DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    table = table.assign(shop=["x", "y"] * 30, sold=3.0 * table["b"])
    usage = fit_table(table, task="shop", target="sold").record["usage"]
    assert all(np.argmax(own) == 1 and own[1] > 0.5 for own in usage["tasks"].values())


def test_names_are_text_and_no_html(page_file, inspection):
    page = page_file.read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "&lt;b&gt;北京 &amp; Köln&lt;/b&gt;" in page
    assert "<b>北京 & Köln</b>" in to_text(inspection)


def test_an_estimator_without_a_table_is_inspected_too(classifier):
    found = inspect_model(classifier)
    text, page = to_text(found), to_html(found)
    for part in (text, page):
        assert "MTONMKLClassifier" in part
        assert "every task has learned by itself" in part
    assert "Scores" not in text
    assert 'id="task-map"' in page
    assert found.similarity.shape == (3, 3)


def test_a_single_task(tmp_path):
    X = np.linspace(-1.0, 1.0, 20)[:, None]
    model = kh.ITLRegressor(kernels=[kh.Gaussian(0.5)]).fit(X, X[:, 0] ** 2)
    assert "there is only one task" in to_text(inspect_model(model))
    assert "<svg" in to_html(inspect_model(model))


def test_tasks_are_drawn_in_the_order_of_the_tree():
    alike = np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.1], [0.9, 0.1, 1.0]])
    drawn = task_map(alike, ["a", "b", "c"])
    names = [part[-1] for part in drawn.split("</text>")[:-1]]
    assert "".join(names) in ("bac", "bca", "acb", "cab")
    assert drawn.count("<polyline") == 2
    assert drawn.count("<rect") == 9


def test_shades_stay_between_their_ends():
    assert shade(-1.0) == shade(0.0)
    assert shade(2.0) == shade(1.0)


def test_wide_letters_take_two_places():
    assert grid([["北京", "1", "2"], ["ab", "10", "3"]]) == ["北京   1  2", "ab    10  3"]


def test_what_is_worth_a_look_is_found(model):
    assert worth_a_look(model) == [] or all(isinstance(one, str) for one in worth_a_look(model))
    record = model.record
    changed = {
        **record,
        "tasks": {**record["tasks"], "task 1": 3, "unjudged": 20},
        "one_class": ["task 2"],
        "scores": [{**row, "model": 1e3} for row in record["scores"]],
    }
    before, model.record = record, changed
    try:
        notes = "\n".join(worth_a_look(model))
    finally:
        model.record = before
    assert "1 task has fewer than 10 rows: task 1." in notes
    assert "1 task has rows of one class only: task 2." in notes
    assert "predicted worse than by the mean of the task: <b>" in notes
    assert "one ridge regression for all tasks predicts better" in notes
    assert "no row to judge by: unjudged" in notes
