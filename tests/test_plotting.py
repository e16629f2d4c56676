import builtins
import sys
from itertools import pairwise
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

import kernelhood as kh
from kernelhood.inspection.figures import (
    plot_alignment,
    plot_path,
    plot_sharing,
    plot_task_map,
    plot_weights,
)
from kernelhood.inspection.style import COLOURS, name_ticks, nice_range, ordinal, short_names

WEIGHTS = np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
TASKS, KERNELS = ["a", ("b", 2), 3], ["linear", "unused", "gaussian(2)"]


@pytest.fixture
def ax():
    return Figure().subplots()


def test_weights_are_shares_of_bars(ax):
    assert plot_weights(WEIGHTS, TASKS, KERNELS, ax=ax) is ax
    widths = np.array([[bar.get_width() for bar in bars] for bars in ax.containers])
    np.testing.assert_allclose(widths, [[0.25, 0.0, 0.0], [0.75, 1.0, 0.0]])
    left = [bar.get_x() for bar in ax.containers[1]]
    np.testing.assert_allclose(left, [0.25, 0.0, 0.0])
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["linear", "gaussian(2)"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "('b', 2)", "3"]


def test_alignment_is_an_image(ax):
    values = np.array([[1.0, 0.2], [-0.3, 0.9]])
    assert plot_alignment(values, ["a", "b"], ax=ax) is ax
    (image,) = ax.get_images()
    np.testing.assert_array_equal(image.get_array(), values)
    assert image.get_clim() == (-0.3, 1.0)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]


def test_without_axes_a_figure_is_made(tmp_path):
    ax = plot_weights(WEIGHTS, TASKS, KERNELS)
    ax.figure.savefig(tmp_path / "weights.png")
    other = plot_alignment(np.eye(3), TASKS)
    other.figure.savefig(tmp_path / "alignment.png")
    assert ax.figure is not other.figure
    assert (tmp_path / "weights.png").stat().st_size > 0
    assert matplotlib.image.imread(tmp_path / "alignment.png").shape[2] == 4


class Kernel:
    """What IPython's shell has in a notebook."""

    kernel = object()


@pytest.fixture
def pyplot():
    """Give pyplot a canvas that opens no window, and close its figures afterwards."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    before = pyplot.get_fignums()
    yield pyplot
    for number in set(pyplot.get_fignums()) - set(before):
        pyplot.close(number)


def test_a_notebook_shows_what_is_drawn(monkeypatch, pyplot):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=Kernel))
    ax = plot_weights(WEIGHTS, TASKS, KERNELS)
    assert ax.figure is pyplot.figure(ax.figure.number)


def test_an_interactive_session_shows_what_is_drawn(pyplot):
    with pyplot.ion():
        ax = plot_alignment(np.eye(3), TASKS)
    assert ax.figure.number in pyplot.get_fignums()


def test_a_script_keeps_no_figures(monkeypatch, pyplot):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    before = pyplot.get_fignums()
    figure = plot_weights(WEIGHTS, TASKS, KERNELS).figure
    assert pyplot.get_fignums() == before
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_missing_matplotlib_is_explained(monkeypatch):
    real_import = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'kernelhood\[plot\]'"):
        plot_weights(WEIGHTS, TASKS, KERNELS)


def drawings(n_tasks, n_kernels):
    """Return every picture of random weights, with names longer than any label may be."""
    rng = np.random.default_rng(n_tasks)
    tasks = [f"department number {k} of the northern region" for k in range(n_tasks)]
    kernels = [f"gaussian({k})[{','.join(map(str, range(k % 20)))}]" for k in range(n_kernels)]
    weights = rng.gamma(0.2, size=(n_tasks, n_kernels))
    alike = np.full((n_tasks, n_tasks), 0.3) + 0.7 * np.eye(n_tasks)
    return [
        plot_weights(weights, tasks, kernels),
        plot_sharing(weights[0], weights, tasks, kernels),
        plot_alignment(1.0 - 0.02 * rng.random((n_tasks, n_tasks)), tasks),
        plot_task_map(alike, tasks),
        plot_path(rng.random(n_tasks), weights, kernels),
    ]


def overlaps(texts):
    """Return the pairs of neighbouring labels that touch."""
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    return [(a, b) for a, b in pairwise(boxes) if a.overlaps(b)]


@pytest.mark.parametrize(("n_tasks", "n_kernels"), [(5, 10), (60, 30)])
def test_labels_do_not_touch(n_tasks, n_kernels):
    for ax in drawings(n_tasks, n_kernels):
        ax.figure.draw_without_rendering()
        assert overlaps(ax.get_xticklabels()) == []
        assert overlaps(ax.get_yticklabels()) == []
        for one in [ax, *ax.child_axes]:
            legend = one.get_legend()
            if legend is not None:
                assert len(legend.get_texts()) <= len(COLOURS)
                assert not legend.get_window_extent().overlaps(one.get_window_extent())
        if n_tasks == 60 and not ax.get_xlabel().startswith("model"):
            assert "of 60 is named" in ax.get_xlabel() + ax.get_ylabel()


def test_small_kernels_are_counted_together():
    weights = np.tile(np.arange(1.0, 13.0), (3, 1))
    ax = plot_weights(weights, "abc", [f"k{number}" for number in range(12)])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["k5", "k6", "k7", "k8", "k9", "k10", "k11", "5 other kernels"]
    ends = [bars[0].get_x() + bars[0].get_width() for bars in ax.containers]
    assert ends[-1] == pytest.approx(1.0)


def test_colours_span_the_values_and_cells_tell_them():
    values = np.array([[1.0, 0.984], [0.991, 0.998]])
    ax = plot_alignment(values, ["a", "b"])
    assert ax.images[0].get_clim() == (0.984, 1.0)
    assert [text.get_text() for text in ax.texts] == ["1.000", "0.984", "0.991", "0.998"]
    crowded = plot_alignment(np.tile(values, (30, 30)), range(60))
    assert not crowded.texts


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 1.0], (0.0, 1.0)),
        ([-0.31, 0.97], (-0.4, 1.0)),
        ([3.0, 47.0], (0.0, 50.0)),
        ([np.nan], (0.0, 1.0)),
    ],
)
def test_limits_are_round(values, expected):
    assert nice_range(np.array(values)) == expected


def test_one_value_has_limits_too():
    low, high = nice_range(np.ones((2, 2)))
    assert low <= 1.0 <= high
    assert low < high


def test_names_that_would_look_alike_are_numbered():
    long = "a name that is much longer than any label may be, in town "
    found = short_names([long + "x" * 30, long + "y" + "x" * 30, "b"], 20)
    assert len(set(found)) == 3
    assert all(len(name) <= 20 for name in found)
    assert found[2] == "b"


def test_left_out_labels_are_counted(ax):
    assert name_ticks(ax.yaxis, range(4), inches=3.0) == "task"
    said = name_ticks(ax.yaxis, range(1000), inches=3.0, what="kernel")
    assert said.startswith("kernel (every ")
    assert said.endswith("th of 1000 is named)")
    words = [ordinal(number) for number in (2, 3, 11, 21, 112)]
    assert words == ["2nd", "3rd", "11th", "21st", "112th"]


def test_a_model_draws_itself(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y, task = np.where(X[:, 0] > 0, 1, -1), np.repeat(["a", "b"], 20)
    bank = kh.KernelBank([kh.Linear(), kh.Gaussian(1.0)])
    model = kh.MTONMKLClassifier(kernels=bank).fit(X, y, task=task)
    bars = model.plot_weights()
    assert [text.get_text() for text in bars.get_yticklabels()] == ["a", "b"]
    image = model.plot_alignment().images[0]
    np.testing.assert_array_equal(image.get_array(), model.alignment())
    bars.figure.savefig(tmp_path / "weights.pdf")
    assert (tmp_path / "weights.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(NotFittedError):
        kh.MTONMKLClassifier().plot_weights()


def test_a_part_of_a_figure_will_do():
    ax = Figure().subfigures(2, 1)[0].subplots()
    assert plot_weights(WEIGHTS, TASKS, KERNELS, ax=ax) is ax
    assert plot_alignment(np.eye(3), TASKS, ax=ax) is ax
