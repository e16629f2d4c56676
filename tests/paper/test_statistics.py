import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from kernelhood.paper.protocol import published_results
from kernelhood.paper.report import findings, headline, p_text
from kernelhood.paper.statistics import (
    against_cells,
    average_ranks,
    bayesian_comparison,
    critical_difference,
    differences_cells,
    friedman,
    holm,
    holm_adjust,
    iman_davenport,
    paired_differences,
    signed_rank,
)
from kernelhood.paper.table import grid_of_cells


def as_results(matrix, **more):
    rows = [
        {"dataset": f"set {i}", "method": f"method {j}", "score": value, **more}
        for i, line in enumerate(matrix)
        for j, value in enumerate(line)
    ]
    return pd.DataFrame(rows)


def test_the_papers_table_gives_the_papers_ranks():
    ranks = average_ranks(published_results())
    assert ranks.round(10).tolist() == [5.6, 5.1, 4.1, 4.0, 3.6, 4.2, 1.4]
    assert ranks.index.tolist() == ["itl", "avmtmkl", "mt-mkl", "rpkl", "onjkl", "kta", "mt-onmkl"]


def test_the_papers_table_gives_chi2_and_f():
    chi2, f = friedman(published_results()), iman_davenport(published_results())
    assert (round(chi2.statistic, 3), chi2.df, round(chi2.p_value, 3)) == (11.507, (6,), 0.074)
    assert (round(f.statistic, 3), f.df, round(f.p_value, 3)) == (2.489, (6, 24), 0.051)


def test_the_papers_table_gives_holms_p():
    table = holm(published_results())
    assert table.attrs["control"] == "mt-onmkl"
    assert table["holm"].round(4).tolist() == [0.0127, 0.0338, 0.1617, 0.1617, 0.1617, 0.1617]
    assert table.index[:2].tolist() == ["itl", "avmtmkl"]


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 6), st.integers(2, 8), st.integers(0, 99))
def test_friedman_agrees_with_scipy(k, n, seed):
    matrix = np.random.default_rng(seed).normal(size=(n, k))
    theirs = stats.friedmanchisquare(*matrix.T)
    ours = friedman(as_results(matrix))
    assert ours.statistic == pytest.approx(theirs.statistic, abs=1e-9)
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(arrays(np.int64, (5, 4), elements=st.integers(0, 3)))
def test_with_ties_the_corrected_friedman_agrees_with_scipy(matrix):
    if not any(len(set(line)) > 1 for line in matrix.tolist()):
        return
    ours = friedman(as_results(matrix.astype(float)), correct_ties=True)
    assert ours.statistic == pytest.approx(stats.friedmanchisquare(*matrix.T).statistic, abs=1e-9)


def test_ties_share_ranks_and_errors_rank_upwards():
    matrix = [[1.0, 2.0, 2.0, 3.0]]
    assert average_ranks(as_results(matrix)).tolist() == [4.0, 2.5, 2.5, 1.0]
    assert average_ranks(as_results(matrix, metric="mse")).tolist() == [1.0, 2.5, 2.5, 4.0]


def test_all_equal_is_no_difference():
    results = as_results(np.ones((3, 3)))
    assert friedman(results, correct_ties=True).statistic == 0.0
    assert iman_davenport(results).p_value == 1.0
    assert holm(results)["holm"].tolist() == [1.0, 1.0]


def test_perfect_agreement_is_an_infinite_f():
    test = iman_davenport(as_results([[1.0, 2.0, 3.0]] * 4))
    assert (test.statistic, test.p_value) == (float("inf"), 0.0)


@given(arrays(np.float64, st.integers(1, 8), elements=st.floats(0, 1)))
def test_holm_is_step_down(p):
    adjusted = holm_adjust(p)
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0)
    assert np.all((adjusted >= p) & (adjusted <= 1))
    # The definition: reject in ascending order of p until one of them is too large.
    for level in (0.01, 0.05, 0.3):
        rejected = np.zeros(len(p), dtype=bool)
        for step, place in enumerate(order):
            if p[place] * (len(p) - step) > level:
                break
            rejected[place] = True
        assert np.array_equal(adjusted <= level, rejected)


def test_holm_compares_with_the_control_asked_for():
    table = holm(published_results(), control="itl")
    assert table.attrs["control"] == "itl"
    assert table.loc["mt-onmkl", "z"] == pytest.approx(-3.074085, abs=1e-6)
    with pytest.raises(ValueError, match="control='svm' is unknown; give one of"):
        holm(published_results(), control="svm")


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_difference_has_demsars_quantiles(k, q):
    assert critical_difference(k, 14) == pytest.approx(q * np.sqrt(k * (k + 1) / 84), rel=1e-3)


def test_runs_are_averaged_and_incomplete_data_sets_left_out():
    results = as_results([[1.0, 2.0], [3.0, 4.0]])
    more = pd.DataFrame([{"dataset": "set 0", "method": "method 0", "score": 9.0}])
    assert average_ranks(pd.concat([results, more])).tolist() == [1.5, 1.5]
    results.loc[3, "score"] = np.nan
    assert average_ranks(results).tolist() == [2.0, 1.0]


def test_errors_say_what_is_missing():
    with pytest.raises(ValueError, match="results lack method, score"):
        friedman(pd.DataFrame({"dataset": ["a"]}))
    with pytest.raises(ValueError, match="results hold 1 methods"):
        friedman(as_results([[1.0]]))
    with pytest.raises(ValueError, match="needs at least two"):
        iman_davenport(as_results([[1.0, 2.0]]))
    with pytest.raises(ValueError, match="blocks='rows' is unknown"):
        friedman(as_results([[1.0, 2.0]]), blocks="rows")
    with pytest.raises(ValueError, match="column task_scores"):
        friedman(as_results([[1.0, 2.0]]), blocks="tasks")
    with pytest.raises(ValueError, match="metric 'f1' is unknown"):
        friedman(as_results([[1.0, 2.0]], metric="f1"))
    mixed = as_results([[1.0, 2.0]]).assign(metric=["mse", "nmse"])
    with pytest.raises(ValueError, match="two metrics"):
        friedman(mixed)


def test_tasks_can_be_what_methods_are_ranked_on(results):
    ranks = average_ranks(results, blocks="tasks")
    assert ranks.sum() == pytest.approx(6.0)
    assert friedman(results, blocks="tasks").df == (2,)


def test_findings_fall_back_to_tasks_for_one_data_set(results):
    one = results[results["dataset"] == "tiny"]
    assert findings(one)[0].startswith("3 methods on 3 tasks")
    assert "not independent" in findings(one)[-1]
    assert findings(one[one["method"] == "mt-onmkl"])[0].startswith("Statistics need two methods")
    assert findings(one.drop(columns="task_scores"))[0].startswith("Statistics need")


def test_findings_name_the_data_sets_left_out():
    results = published_results()
    results.loc[0, "score"] = np.nan
    assert findings(results)[-1] == "Left out, because a method has no score there: landmine."


def test_a_small_p_value_is_a_bound():
    assert [p_text(p) for p in (0.0004, 0.001, 0.0744)] == ["< 0.001", "= 0.001", "= 0.074"]
    matrix = np.tile([0.9, 0.8, 0.7, 0.6], (30, 1))
    first, second = findings(as_results(matrix))[:2]
    assert first.count("p < 0.001") == 2
    assert "< 0.0001" in second
    assert "p = 0.000" not in first + second


def test_the_headline_says_who_is_best_and_whether_the_test_supports_it(results):
    matrix = np.tile([0.9, 0.8, 0.7, 0.6], (30, 1))
    assert headline(as_results(matrix)).endswith("tells it from all others.")
    few = headline(as_results(matrix[:2]))
    assert few.endswith("tells it from no other method.")
    some = headline(as_results(matrix[:5]))
    assert "not from" in some
    one = results[(results["dataset"] == "tiny") & (results["method"] == "mt-onmkl")]
    assert headline(one).startswith("MT-ONMKL scores ")


def test_one_difference_has_the_posterior_that_can_be_written_down():
    # The prior's weight has the distribution Beta(1/2, 1), which is below x with probability
    # sqrt(x); pairs of the difference with itself and with 0 are all but its square.
    found = signed_rank([1.0], rope=0.1, n_samples=200_000)
    assert found.better == pytest.approx(0.5**0.25, abs=0.005)
    assert found.worse == 0.0
    # Now the pair with 0 is within the rope.
    near = signed_rank([0.15], rope=0.1, n_samples=200_000)
    assert near.better == pytest.approx((1.0 - 0.5**0.5) ** 0.5, abs=0.005)
    assert sum(near) == pytest.approx(1.0)


def test_the_signed_rank_test_has_no_favourite():
    z = [0.3, -0.1, 0.05, 0.2, -0.02]
    one, other = (signed_rank(sign * np.array(z), rope=0.01) for sign in (1, -1))
    assert one.better > one.worse
    np.testing.assert_allclose(one, other[::-1], atol=1e-12)
    assert signed_rank([0.0, 0.001, -0.002], rope=0.01).same == 1.0
    assert signed_rank([1.0] * 20).better > 0.999
    for wrong in ([], [np.nan], [[1.0]]):
        with pytest.raises(ValueError, match="differences must be"):
            signed_rank(wrong)
    with pytest.raises(ValueError, match="rope=-1 must not be negative"):
        signed_rank([1.0], rope=-1)


def frame_of(scores, metric="accuracy"):
    return pd.DataFrame(
        [
            {"dataset": dataset, "method": method, "run": run, "metric": metric, "score": score}
            for (dataset, method), values in scores.items()
            for run, score in enumerate(values)
        ]
    )


def test_errors_are_compared_whatever_their_unit():
    large = frame_of({("one", "a"): [10.0], ("one", "b"): [20.0]}, "mse")
    small = frame_of({("two", "a"): [0.9], ("two", "b"): [0.8]})
    found = bayesian_comparison(pd.concat([large, small]))
    assert found.attrs["control"] == "a"
    expected = signed_rank(np.log([2.0, 2.0]), rope=0.02)
    np.testing.assert_allclose(found.loc["b"], expected, atol=1e-12)
    with pytest.raises(ValueError, match="control='c' is unknown"):
        bayesian_comparison(large, control="c")


def test_differences_are_paired_by_split():
    rows = frame_of({("d", "a"): [0.9, 0.7, 0.8], ("d", "b"): [0.8, 0.65], ("d", "c"): [0.9] * 3})
    found = paired_differences(rows, "a").set_index("other")
    assert found.loc["b", "runs"] == 2
    assert found.loc["b", "difference"] == pytest.approx(7.5)
    assert found.loc["b", "error"] == pytest.approx(2.5)
    assert found.loc["c", "better"] == pytest.approx(0.5 / 3)
    errors = paired_differences(frame_of({("d", "a"): [1.0], ("d", "b"): [2.0]}, "mse"), "a")
    assert errors["better"].tolist() == [1.0]
    with pytest.raises(ValueError, match="method='x' has no rows"):
        paired_differences(rows, "x")
    head, rows = differences_cells(
        frame_of({("d", "mt-onmkl-best"): [0.9, 0.8], ("d", "mt-onmkl"): [0.8, 0.75],
                  ("d", "kta"): [0.85, 0.85], ("d", "boosting"): [0.7, 0.9]})
    )  # fmt: skip
    assert rows[0][:5] == ["D accuracy %", "2", "+7.50 ± 2.50", "+0.00 ± 5.00", "KTA"]
    assert head[-1] == "minus Gradient boosting"


def test_all_methods_are_compared_with_the_papers():
    scores = {("d", "mt-onmkl"): [0.8, 0.7], ("d", "kta"): [0.85, 0.85], ("d", "itl"): [0.8, 0.7]}
    errors = {("e", "mt-onmkl"): [0.05, 0.04], ("e", "kta"): [0.051, 0.042]}
    rows = pd.concat([frame_of(scores), frame_of(errors, "mse")])
    head, found = against_cells(rows)
    assert head == ["minus MT-ONMKL", "D accuracy %", "E MSE"]
    assert found == [["KTA", "+10.00 ± 5.00", "+0.0015 ± 0.0005"], ["ITL", "+0.00 ± 0.00", ""]]


def test_a_method_that_was_not_tried_everywhere_costs_no_data_set():
    both = {("one", "a"): [0.9], ("one", "b"): [0.8], ("two", "a"): [0.7], ("two", "b"): [0.6]}
    rows = frame_of({**both, ("one", "only here"): [0.95]})
    ranks = average_ranks(rows)
    assert ranks.to_dict() == {"a": 1.0, "b": 2.0}
    sentences = " ".join(findings(rows))
    assert "2 methods on 2 data sets" in sentences
    assert "Not ranked, because not tried on all data sets: only here." in sentences
    assert "Probability that a has a smaller error" in sentences
    assert [line[-1] for line in grid_of_cells(rows)[1]] == ["1.00", "2.00", ""]
