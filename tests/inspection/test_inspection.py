from dataclasses import replace

import numpy as np
import pytest

import kernelhood as kh
from kernelhood.estimators.trust import columns_of
from kernelhood.inspection.contents import (
    _notes,
    alike_in,
    grid,
    inspect_model,
    report_cells,
    to_text,
)
from kernelhood.inspection.page import shade, to_html
from kernelhood.tables.fitting import worth_a_look


def test_the_page_opens_with_the_answer(page_file, inspection):
    page = page_file.read_text(encoding="utf-8")
    report = inspection.report
    order = [report.summary(), 'id="errors"', 'id="shares"', 'id="effect-0"', 'id="by-task"']
    places = [page.index(one) for one in [*order, 'id="reliability"', "Worth a look"]]
    assert places == sorted(places)
    assert report.scores() in page
    assert report.summary() in to_text(inspection)


def test_what_is_the_same_for_every_task_is_one_line(inspection):
    report = inspection.report
    same = replace(report, uses=["common: x1"] * len(report), nearest=[[] for _ in report.tasks])
    head, rows, lines = report_cells(same)
    assert "uses most: common: x1" in lines
    assert "uses most" not in head
    assert "nearest tasks" not in head
    assert len(rows) == len(report)
    assert alike_in(["a", "b"], np.array([[0.75, 0.25]] * 3)) == (
        "The same for every task: a 75 %, b 25 %."
    )
    assert alike_in(["a", "b"], np.array([[0.75, 0.25], [0.5, 0.5]])) == ""
    page = to_html(
        replace(
            inspection,
            report=None,
            similarity=np.ones((4, 4)),
            kernels=["a"],
            weights=np.ones((4, 1)),
        )
    )
    assert "All tasks are equally alike (1.00)." in page
    assert "The same for every task: a 100 %." in page


def test_every_task_is_in_the_table(inspection):
    report = inspection.report
    names = [f"task {place}" for place in range(len(report))]
    _, rows, _ = report_cells(replace(report, tasks=names))
    assert [row[0] for row in rows] == names


def test_notes_name_tasks_that_sharing_hurts(inspection):
    report = inspection.report
    hurt = replace(report, sharing=["hurt", *report.sharing[1:]], tasks=["Ulm", *report.tasks[1:]])
    assert "sharing hurts 1 task (Ulm)" in _notes(hurt, False)[0]
    worse = replace(report, error=report.error + 1e9)
    assert "task mean predicts left-out rows better in 4 tasks" in "\n".join(_notes(worse, True))


def test_a_column_that_decides_is_seen_to():
    from kernelhood.tables import fit_table

    rng = np.random.default_rng(0)
    table = pytest.importorskip("pandas").DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    table = table.assign(shop=["x", "y"] * 30, sold=3.0 * table["b"])
    model = fit_table(table, task="shop", target="sold")
    assert columns_of(model.estimator)[0] == "b"
    assert not any("depend on any column" in note for note in model.record["notes"])


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
    assert "There is only one task." in to_html(inspect_model(model))


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
    assert "no row that was held out: unjudged" in notes
