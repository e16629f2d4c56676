import builtins

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from kernelhood.plotting import plot_alignment, plot_weights

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


def test_a_missing_matplotlib_is_explained(monkeypatch):
    real_import = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'kernelhood\[plot\]'"):
        plot_weights(WEIGHTS, TASKS, KERNELS)
