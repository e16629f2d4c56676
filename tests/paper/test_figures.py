import json

import numpy as np
import pandas as pd
import pytest

from kernelhood.paper.figures import (
    _cliques,
    _worst_gap,
    plot_convergence,
    plot_critical_difference,
    plot_figure_1,
    plot_learned_weights,
    plot_scores,
    plot_task_scores,
)
from kernelhood.paper.protocol import published_results

figure_module = pytest.importorskip("matplotlib.figure")


def texts(ax):
    return [text.get_text().strip() for text in ax.texts]


def test_critical_difference_names_every_method_and_the_distance():
    ax = plot_critical_difference(published_results())
    found = " ".join(texts(ax))
    for name in ("ITL  5.60", "AVMTMKL", "RPKL", "MT-ONMKL  1.40", "critical difference 4.03"):
        assert name in found or " ".join(reversed(name.split("  "))) in found.replace("  ", " ")


def test_bars_join_what_lies_within_the_distance():
    means = np.array([1.0, 1.5, 3.0, 5.0])
    assert _cliques(means, 2.0) == [(1.0, 3.0), (3.0, 5.0)]
    assert _cliques(means, 0.1) == []
    assert _cliques(means, 9.0) == [(1.0, 5.0)]


def test_plots_draw_into_the_axes_given(results):
    ax = figure_module.Figure().subplots()
    assert plot_convergence(results, "tiny", ax=ax) is ax
    assert len(ax.lines) == 3
    other = figure_module.Figure().subplots()
    assert plot_critical_difference(results, blocks="tasks", ax=other) is other


def test_figure_1_shows_the_mean_alignment_of_every_method(results):
    figure = plot_figure_1(results, "tiny")
    panels = [ax for ax in figure.axes if ax.images]
    assert [ax.get_title() for ax in panels] == [
        "MT-ONMKL",
        "MT-ONMKL corrected",
        "MT-ONMKL printed",
    ]
    rows = results[(results["dataset"] == "tiny") & (results["method"] == "mt-onmkl")]
    mean = np.mean([json.loads(text) for text in rows["alignment"]], axis=0)
    np.testing.assert_allclose(panels[0].images[0].get_array(), mean)


def test_weights_are_shares_of_each_task(results):
    figure = plot_learned_weights(results, "curves")
    panels = [ax for ax in figure.axes if ax.images]
    assert len(panels) == 3
    for ax in panels:
        sums = np.asarray(ax.images[0].get_array()).sum(axis=1)
        assert np.all((np.abs(sums - 1) < 1e-9) | (sums < 1))
    labels = [tick.get_text() for tick in panels[-1].get_xticklabels()]
    assert labels[:2] == ["linear", "polynomial(2)"]


def test_weights_are_averaged_over_runs_with_the_same_kernels():
    def row(kernels, values):
        weights = {"tasks": ["a"], "kernels": kernels, "values": [values]}
        return {"dataset": "mine", "method": "mt-onmkl-best", "weights": json.dumps(weights)}

    two, one = ["linear", "gaussian(2)"], ["linear"]
    rows = [row(one, [5.0]), row(two, [1.0, 3.0]), row(two, [3.0, 1.0])]
    image = plot_learned_weights(pd.DataFrame(rows), "mine").axes[0].images[0]
    assert image.get_array().tolist() == [[0.5, 0.5]]


def test_the_worst_gap_falls_and_ends_with_the_time():
    seconds, gaps = _worst_gap([[1.0, 0.1], [0.5, 0.4, 0.2, 0.01]], 6.0)
    assert seconds.tolist() == [2.0, 4.0, 5.0, 6.0]
    assert gaps.tolist() == [1.0, 0.4, 0.2, 0.1]


def test_what_the_rows_do_not_tell_is_not_drawn():
    results = published_results()
    assert plot_figure_1(results, "letter") is None
    assert plot_learned_weights(results, "letter") is None
    assert plot_convergence(results, "letter") is None
    with pytest.raises(ValueError, match="dataset='mnist' is not among the results"):
        plot_convergence(results, "mnist")


def test_kernels_of_another_method_are_named_at_its_panel(results):
    other = results.copy()
    weights = json.dumps({"tasks": ["a", "b"], "kernels": ["gaussian"], "values": [[1.0], [0.0]]})
    other.loc[other["method"] == "mt-onmkl", "weights"] = weights
    first = next(ax for ax in plot_learned_weights(other, "tiny").axes if ax.images)
    assert [tick.get_text() for tick in first.get_xticklabels()] == ["gaussian"]
    assert np.asarray(first.images[0].get_array()).tolist() == [[1.0], [0.0]]


def test_a_single_method_has_a_single_panel(results):
    one = results[results["method"] == "mt-onmkl"]
    assert len([ax for ax in plot_learned_weights(one, "tiny").axes if ax.images]) == 1


def test_pyplot_is_not_needed(results):
    ax = plot_convergence(pd.DataFrame(results), "tiny")
    assert isinstance(ax.figure, figure_module.Figure)
    assert ax.figure.canvas.manager is None


def test_scores_show_every_method_the_best_on_top(results):
    figure = plot_scores(results)
    assert len(figure.axes) == 2
    means = results[results["dataset"] == "tiny"].groupby("method")["score"].mean()
    best = figure.axes[0].get_yticklabels()[0].get_text().lower().replace(" ", "-")
    assert means[best] == means.max()


def test_scores_far_off_are_written_at_the_edge():
    rows = [("d", f"m{k}", score) for k, score in enumerate([0.98, 0.981, 0.979, 0.978, 0.1])]
    frame = pd.DataFrame(rows, columns=["dataset", "method", "score"])
    ax = plot_scores(frame).axes[0]
    assert texts(ax) == ["◂ 0.1"]
    assert ax.get_xlim()[0] > 0.9


def test_tasks_have_a_row_each_with_a_dot_for_every_method(results):
    ax = plot_task_scores(results, "tiny").axes[0]
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == list(json.loads(results["task_scores"].iloc[0]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "MT-ONMKL",
        "MT-ONMKL corrected",
        "MT-ONMKL printed",
    ]
    assert len(ax.containers) == 3


def test_a_single_kernel_is_a_narrow_column_and_legends_stand_outside(results):
    other = results.copy()
    weights = json.dumps({"tasks": ["a", "b"], "kernels": ["gaussian"], "values": [[1.0], [1.0]]})
    other.loc[other["method"] == "mt-onmkl", "weights"] = weights
    figure = plot_learned_weights(other, "tiny")
    figure.draw_without_rendering()
    one, usual = [ax for ax in figure.axes if ax.images][:2]
    assert one.get_xlabel() == "the only kernel"
    assert one.get_window_extent().width < 0.3 * usual.get_window_extent().width
    ax = plot_convergence(results, "tiny")
    ax.figure.draw_without_rendering()
    assert not ax.get_legend().get_window_extent().overlaps(ax.get_window_extent())
