"""One look for every figure: colours, labels that do not overlap, scales that fit the data.

Colours are taken in an order that alternates dark and light, so that neighbours differ in grey too.
Figures are made without pyplot and know no state, but for axes that somebody looks at.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kernelhood._support import import_extra
from kernelhood._typing import Array

COLOURS = (
    "#12508f",
    "#e3a92f",
    "#b03a56",
    "#86c5e8",
    "#23683c",
    "#f0a9b8",
    "#5a3a8a",
    "#b9b45f",
)
OTHER = "#c4c8cc"
INK, FAINT = "#20262e", "#6b7480"
SHARES_MAP, LIKENESS_MAP = "YlGnBu", "cividis"

LABEL_WIDTH = 24
_MOST_NAMES = 40
_SMALL, _TINY = 9.0, 7.0
# A line of text is this much taller than its font; a digit this much narrower than that.
_LINE, _DIGIT = 1.35, 0.62


def new_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return `ax`, or the axes of a new figure of a size in inches.

    Notebooks draw figures, not axes: there the figure is pyplot's, which draws it.
    """
    return new_figure(size, by_pyplot=True).subplots() if ax is None else ax


def new_figure(size: tuple[float, float], extra: str = "plot", *, by_pyplot: bool = False) -> Any:
    """Return an empty figure that lays itself out, or say which extra brings matplotlib.

    Parameters
    ----------
    size : tuple of float
        Width and height in inches.
    extra : str
        What to install if matplotlib is missing.
    by_pyplot : bool
        Whether pyplot makes the figure, and shows it, in a notebook or an interactive session.
    """
    try:
        import matplotlib
    except ImportError as error:
        message = f"plots need matplotlib: install it with pip install 'kernelhood[{extra}]'."
        raise ImportError(message) from error

    figure: Any
    if by_pyplot and (matplotlib.is_interactive() or in_notebook()):
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=size, layout="constrained")
    else:
        from kernelhood.inspection.shown import ShownFigure

        figure = ShownFigure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)
    return figure


def width_of(names: Iterable[Any], width: int = LABEL_WIDTH) -> float:
    """Return the inches that the longest of some names takes."""
    longest = max((len(name) for name in short_names(names, width)), default=0)
    return _DIGIT * _SMALL * longest / 72.0


def size_of(ax: Any) -> tuple[float, float]:
    """Return width and height of axes in inches, as far as they are known before drawing."""
    box = ax.get_window_extent()
    return float(box.width / ax.figure.dpi), float(box.height / ax.figure.dpi)


def short_names(names: Iterable[Any], width: int = LABEL_WIDTH) -> list[str]:
    """Return names of at most `width` letters, cut in the middle, no two alike that were not.

    Parameters
    ----------
    names : iterable
        Anything; taken as text.
    width : int
        The longest a name may be.

    Examples
    --------
    >>> short_names(["linear", "gaussian(1.5)[0,1,2,3,4,5,6]"], 16)
    ['linear', 'gaussian(1…,5,6]']
    """
    full = [str(name).replace("\n", " ") for name in names]
    short = [_cut(name, width) for name in full]
    meanings: dict[str, set[str]] = {}
    for name, text in zip(full, short, strict=True):
        meanings.setdefault(text, set()).add(name)
    return [
        text if len(meanings[text]) == 1 else f"{_cut(name, width - 5)} #{place + 1}"
        for place, (name, text) in enumerate(zip(full, short, strict=True))
    ]


def _cut(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    tail = (width - 1) // 3
    return f"{name[: width - 1 - tail]}…{name[len(name) - tail :]}"


def name_ticks(axis: Any, names: Sequence[Any], *, inches: float, what: str = "task") -> str:
    """Name the places 0, 1, … of an axis as densely as they can be read; say what was left out.

    Parameters
    ----------
    axis : matplotlib axis
        Of rows or columns; names of columns stand upright if they would touch.
    names : sequence
        A name for each place.
    inches : float
        Length of the axis.
    what : str
        What is named.

    Returns
    -------
    str
        Such as "task", or "task (every 8th of 300 is named)".
    """
    labels = short_names(names)
    room = 72.0 * inches / max(len(labels), 1)
    font = _SMALL if room >= _LINE * _SMALL else _TINY
    # A little space is left: legends and labels may yet shrink the axes.
    step = max(math.ceil(len(labels) / _MOST_NAMES), math.ceil(_LINE * font / (0.8 * room)))
    places = list(range(0, len(labels), step))
    shown = [labels[place] for place in places]
    longest = max((len(label) for label in shown), default=0)
    upright = axis.axis_name == "x" and _DIGIT * font * (longest + 2) > 0.8 * room * step
    axis.set_ticks(places, shown, fontsize=font, rotation=90 if upright else 0)
    axis.set_tick_params(length=2)
    return what if step == 1 else f"{what} (every {ordinal(step)} of {len(labels)} is named)"


def ordinal(number: int) -> str:
    """Return 2nd, 3rd, 11th and the like."""
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def nice_range(values: Array) -> tuple[float, float]:
    """Return round limits for a colour scale that the values fill.

    Parameters
    ----------
    values : ndarray
        Finite values and NaN.

    Examples
    --------
    >>> nice_range(np.array([0.984, 1.0]))
    (0.984, 1.0)
    """
    known = np.asarray(values)[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    # Values that hardly differ fill a thousandth of their size, from the top.
    spread = max(high - low, 1e-3 * max(abs(low), abs(high), 1e-300))
    low = min(low, high - spread)
    step = 10.0 ** math.floor(math.log10(spread))
    step = step / 10.0 if spread < 2.0 * step else step / 2.0 if spread < 5.0 * step else step
    digits = max(0, 2 - math.floor(math.log10(step)))
    start, end = (
        round(step * place, digits) + 0.0
        for place in (math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6))
    )
    return (start, end) if start < end else (start, start + step)


def draw_map(
    ax: Any,
    values: Array,
    *,
    limits: tuple[float, float],
    colours: str,
    inches: tuple[float, float],
) -> Any:
    """Draw a heat map with a number in every cell that is large enough, and return the image.

    Parameters
    ----------
    ax : matplotlib axes
        Where to draw.
    values : ndarray of shape (n_rows, n_columns)
        NaN stays blank.
    limits : tuple of float
        Of the colour scale.
    colours : str
        A colour map of matplotlib.
    inches : tuple of float
        Width and height of the map.
    """
    low, high = limits
    image = ax.imshow(values, vmin=low, vmax=high, cmap=colours, aspect="auto")
    ax.set_box_aspect(inches[1] / inches[0])
    ax.spines[:].set_visible(False)
    cell = 72.0 * np.array(inches) / values.shape[::-1]
    digits = _digits(high - low)
    letters = digits + (3 if low < 0.0 else 2)
    if 0.85 * cell[0] > _DIGIT * _TINY * letters and 0.8 * cell[1] > _LINE * _TINY:
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                colour = ink_on(image.to_rgba(value))
                text = f"{value:.{digits}f}"
                style = {"ha": "center", "va": "center", "fontsize": _TINY}
                ax.text(column, row, text, color=colour, **style)
    return image


def _digits(spread: float) -> int:
    """Return how many decimals tell values within a range apart."""
    return int(np.clip(math.floor(2.0 - math.log10(max(spread, 1e-6))), 2, 4))


def ink_on(colour: Any) -> str:
    """Return the colour of text that can be read on another one."""
    red, green, blue = import_extra("matplotlib.colors", "plot").to_rgb(colour)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else "#101010"


def colour_bar(ax: Any, image: Any, text: str) -> None:
    """Put a colour bar to the right of axes."""
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03)
    bar.set_label(text, fontsize=_SMALL)
    bar.ax.tick_params(labelsize=_TINY)
    bar.outline.set_visible(False)


def legend_outside(ax: Any, *, at: float = 1.0) -> None:
    """Put the legend to the right of axes, where it covers nothing."""
    ax.legend(loc="center left", bbox_to_anchor=(at, 0.5), frameon=False, fontsize=_SMALL)


def plain(ax: Any) -> None:
    """Take the frame away, but for the two axes."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(labelsize=_SMALL, color=FAINT)


def in_notebook() -> bool:
    """Return whether a notebook's kernel runs this."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
