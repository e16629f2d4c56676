import json

import numpy as np
import pandas as pd
import pytest

from kernelhood.experiments import (
    plot_convergence,
    plot_critical_difference,
    plot_figure_1,
    plot_learned_weights,
    published_results,
)
from kernelhood.experiments.figures import _cliques, _worst_gap

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
