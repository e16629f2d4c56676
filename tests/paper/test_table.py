import numpy as np
import pandas as pd
import pytest

from kernelhood.paper.protocol import published_results
from kernelhood.paper.statistics import average_ranks
from kernelhood.paper.table import (
    best_first,
    grid_of_cells,
    table,
    to_latex,
    to_markdown,
    to_text,
    validation_cells,
)


@pytest.fixture
def scores():
    """Two methods on two of the paper's data sets, two runs, one failed."""
    return pd.DataFrame(
        [
            ("letter", "itl", 0, "accuracy", 0.8),
            ("letter", "itl", 1, "accuracy", 0.9),
            ("letter", "mt-onmkl", 0, "accuracy", 0.9),
            ("letter", "mt-onmkl", 1, "accuracy", 1.0),
            ("sarcos", "itl", 0, "mse", 20.0),
            ("sarcos", "itl", 1, "mse", np.nan),
            ("sarcos", "mt-onmkl", 0, "mse", 30.0),
            ("sarcos", "mt-onmkl", 1, "mse", 50.0),
        ],
        columns=["dataset", "method", "run", "metric", "score"],
    )


def test_mean_standard_error_rank_and_the_papers_figure(scores):
    lines = table(scores).set_index(["dataset", "method"])
    letter = lines.loc[("letter", "itl")]
    assert (letter["mean"], letter["runs"]) == (pytest.approx(85.0), 2)
    assert letter["error"] == pytest.approx(100 * np.std([0.8, 0.9], ddof=1) / np.sqrt(2))
    assert letter["published"] == pytest.approx(87.75)
    assert lines["rank"].tolist() == [2.0, 1.0, 1.0, 2.0]
    assert lines.loc[("sarcos", "mt-onmkl"), "published"] == 13.2


def test_a_frame_of_ones_own_needs_three_columns(scores):
    lines = table(scores[["dataset", "method", "score"]].assign(dataset="mine"))
    assert lines["metric"].tolist() == ["score", "score"]
    assert lines["published"].isna().all()
    head, _ = grid_of_cells(scores[["dataset", "method", "score"]].assign(dataset="mine"))
    assert head == ["method", "Mine score", "rank", "average rank"]


def test_text_has_aligned_columns(scores):
    head, first, second = to_text(scores).splitlines()
    assert head.split("  ")[0].strip() == "method"
    assert "Letter accuracy %" in head
    assert "SARCOS MSE" in head
    assert "85.00 ± 5.00" in first
    assert first.rstrip().endswith("1.50")
    assert len({len(head), len(first), len(second)}) == 1


def test_one_run_has_no_standard_error(scores):
    assert "20.00  " in to_text(scores)
    assert "20.00 ±" not in to_text(scores)


def test_a_method_without_a_score_is_shown_as_failed(scores):
    scores.loc[scores["dataset"].eq("sarcos") & scores["method"].eq("itl"), "score"] = np.nan
    assert "failed" in to_markdown(scores)
    lost = scores[scores["dataset"] == "sarcos"]
    assert grid_of_cells(lost)[1][0][-1] == "1.00"
    only = pd.concat([lost, scores[scores["dataset"].eq("letter") & scores["method"].eq("itl")]])
    assert [row[-1] for row in grid_of_cells(only)[1]] == ["", ""]


def test_a_method_that_was_not_tried_has_not_failed(scores):
    some = scores[~(scores["dataset"].eq("sarcos") & scores["method"].eq("itl"))]
    assert "failed" not in to_markdown(some)
    assert len({len(row) for row in grid_of_cells(some)[1]}) == 1


def test_markdown_has_a_line_for_every_method():
    lines = to_markdown(published_results()).splitlines()
    assert len(lines) == 9
    assert {line.count("|") for line in lines} == {18}
    assert lines[-1].startswith("| MT-ONMKL | 62.61 | 1 | 62.61 |")


def test_latex_escapes_and_marks_the_best(scores):
    text = to_latex(scores)
    assert r"Letter accuracy \%" in text
    assert r"\textbf{95.00 $\pm$ 5.00}" in text
    assert r"\textbf{20.00}" in text
    assert text.count("&") == 3 * 7
    assert text.startswith(r"\begin{tabular}{lrrrrrrr}")


def test_small_errors_show_what_makes_them_differ(scores):
    small = scores.assign(score=scores["score"] / 1000.0)
    text = to_text(small[small["dataset"] == "sarcos"])
    assert "0.0400 ± 0.0100" in text


def test_means_are_ranked_as_they_are_and_not_as_they_are_printed():
    results = pd.DataFrame(
        {
            "dataset": "d",
            "method": ["a", "b", "c", "e"],
            "score": [0.98979, 0.98981, 0.9, 0.9],
            "metric": "accuracy",
        }
    )
    assert table(results)["rank"].tolist() == [2.0, 1.0, 3.5, 3.5]
    assert average_ranks(results).tolist() == [2.0, 1.0, 3.5, 3.5]


def test_a_method_that_was_not_tried_everywhere_has_no_rank(scores):
    more = scores[scores["method"].eq("itl") & scores["dataset"].eq("letter")]
    both = pd.concat([scores, more.assign(method="mt-onmkl-groups", score=0.99)])
    lines = table(both).set_index(["dataset", "method"])["rank"]
    assert np.isnan(lines["letter", "mt-onmkl-groups"])
    assert lines["letter"].dropna().to_dict() == {"itl": 2.0, "mt-onmkl": 1.0}
    *_, last = grid_of_cells(both)[1]
    assert last[0] == "MT-ONMKL groups"
    assert (last[2], last[-1]) == ("", "")


def test_the_best_comes_first_whatever_the_metric(scores):
    found = {
        name: best_first(own)["method"].iloc[0] for name, own in table(scores).groupby("dataset")
    }
    assert found == {"letter": "mt-onmkl", "sarcos": "itl"}


def test_scores_of_the_validation_part_are_shown_and_ranked(scores):
    told = scores.assign(validation_score=1.0 - 0.5 * scores["score"])
    head, body = validation_cells(told)
    assert head == ["method", "Letter accuracy %", "rank", "SARCOS MSE", "rank"]
    assert [row[2] for row in body] == ["1", "2"]
    assert body[0][1].startswith("57.50 ")
    assert body[0][3] == "-9.00"  # the failed run does not count
