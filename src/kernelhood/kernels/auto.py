"""Banks that are fitted to the inputs: what `kernels="auto"` and `kernels="small"` stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self

import numpy as np

from kernelhood.kernels import standard
from kernelhood.kernels.bank import KernelBank
from kernelhood.kernels.base import Kernel
from kernelhood.kernels.inputs import InputSummary, Layout, Places

Named = tuple[str, Kernel]

#: Of the quadratic kernel of directions, whose products are at most 1 and mostly close to 0.
_OFFSET = 0.1


@dataclass(frozen=True)
class AutoBank:
    """A bank that is fitted to the inputs: standardised columns, and spreads that suit them.

    A model fits it to the training rows of all tasks; it never looks at targets. Every column is
    centred and divided by its standard deviation, so that units and offsets do not matter (a sparse
    matrix is divided only, and stays sparse). A column that mostly has one value is divided by
    more: half of how far its other values are from that one, in root mean square. On all columns
    there are a linear, a quadratic and Gaussian kernels, whose spreads are multiples of the median
    distance between different rows; on each single column Gaussians of their own, or an `Equality`
    kernel if it holds categories. The model adds a `Constant` kernel if intercepts are
    shrunk.

    If there are 16 columns of numbers or more, most of which mostly have one value, such as
    counts of words, there are the same kernels of the rows' `Directions`, too, and only the other
    columns have Gaussians of their own.

    Parameters
    ----------
    columns : mapping of str to sequence of int or str, optional
        Groups of columns, by a name for each. A group has a linear and Gaussian kernels.
    single_columns : bool
        Whether columns have Gaussians of their own; never those of a sparse matrix.
    categorical : sequence of int or str
        Columns that hold categories, beside those of type category or text of a data frame.
    interactions : sequence of sequences of int or str
        Columns or groups, by number or name, of which one changes what the other says. Each has
        the product of their kernels, `Equality` for categories and `Linear` for numbers: with
        ``("hour", "load")`` the load has a slope for every hour.
    spreads : sequence of float
        Spreads of the Gaussians on all columns and on groups, in median distances.
    column_spreads : sequence of float
        Spreads of the Gaussians on single columns, in median distances of the column.
    max_kernels : int
        The largest number of kernels, without the constant. Kernels on all columns come first,
        then those on groups, on categories, of missing values and interactions. Single columns take
        what is left: with fewer spreads if all columns fit so, otherwise those that a QR
        decomposition of the standardised columns picks first, which are least alike.

    Notes
    -----
    Constant columns are left out, and so are kernels that another one repeats: a single column
    if there is no other one, one that is a multiple of another, the second Gaussian of a column
    with two values. In kernels on all columns a category counts as much as a number, by
    indicators of its 20 most frequent values. Numbers in the names of kernels are multiples
    of the median distance. Distances are those between 400 different rows at most.

    Examples
    --------
    >>> import numpy as np, kernelhood as kh
    >>> X = np.random.default_rng(0).normal(1e6, 1e4, size=(60, 2))
    >>> y = np.sin(X[:, 0] / 1e4)
    >>> model = kh.MTONMKLRegressor(kernels=kh.AutoBank(column_spreads=[1.0])).fit(X, y)
    >>> model.kernels_.names[3:]
    ['gaussian(1)', 'gaussian(2)', 'gaussian(1)[0]', 'gaussian(1)[1]', 'constant']
    """

    columns: Any = None
    single_columns: bool = field(default=True, kw_only=True)
    categorical: Any = field(default=(), kw_only=True)
    interactions: Any = field(default=(), kw_only=True)
    spreads: Any = field(default=(0.5, 1.0, 2.0), kw_only=True)
    column_spreads: Any = field(default=(0.5, 2.0), kw_only=True)
    max_kernels: int = field(default=64, kw_only=True)

    def __post_init__(self) -> None:
        groups = {} if self.columns is None else self.columns
        if not isinstance(groups, (Mapping, tuple)):
            raise ValueError(
                "columns of AutoBank must map a name to each group of columns, such as "
                f"{{'weather': ['wind', 'rain']}}: got {type(groups).__name__}."
            )
        named = tuple((str(name), _listed(own)) for name, own in dict(groups).items())
        for name, own in named:
            if not own:
                raise ValueError(f"columns of AutoBank holds the group {name!r} without columns.")
        object.__setattr__(self, "columns", named)
        object.__setattr__(self, "categorical", _listed(self.categorical))
        object.__setattr__(self, "interactions", _several(self.interactions))
        for name in ("spreads", "column_spreads"):
            object.__setattr__(self, name, _positive(name, getattr(self, name)))
        if int(self.max_kernels) != self.max_kernels or self.max_kernels < 1:
            raise ValueError(
                f"max_kernels of AutoBank must be an integer of at least 1, "
                f"got {self.max_kernels!r}."
            )

    def __sklearn_clone__(self) -> Self:
        return self

    def fitted(self, inputs: InputSummary) -> KernelBank:
        """Return the bank for training rows.

        Parameters
        ----------
        inputs : InputSummary
            What there is to know of the rows.

        Returns
        -------
        KernelBank
            Its points are rows as the user gives them.
        """
        return _fitted(self, inputs)

    def _fit(self, inputs: InputSummary) -> KernelBank:
        layout = Layout.of(inputs, [inputs.number(column) for column in self.categorical])
        kernels = list(self._shared(layout))[: self.max_kernels]
        if self.single_columns and not inputs.is_sparse:
            kernels += self._singles(layout, self.max_kernels - len(kernels))
        if not kernels:
            kernels = [("constant", standard.Constant())]
        return KernelBank(
            [kernel for _, kernel in kernels],
            names=[name for name, _ in kernels],
            inputs=layout.inputs,
        )

    def _shared(self, layout: Layout) -> Iterator[Named]:
        """Yield the kernels on several columns, on categories and of missing values."""
        seen = set()
        everything = layout.everything
        if everything:
            yield "linear", standard.Linear(columns=layout.whole)
            yield "quadratic", standard.Polynomial(2, 1.0, columns=layout.whole)
            yield from _gaussians(layout.distance(everything), self.spreads, "", layout.whole)
            seen.add(everything)
        if layout.is_sparse:
            yield from self._directions(layout)
        for name, group in self.columns:
            own = layout.of_columns([layout.summary.number(column) for column in group])
            if own and own not in seen:
                seen.add(own)
                yield f"linear[{name}]", standard.Linear(columns=own)
                yield from _gaussians(layout.distance(own), self.spreads, f"[{name}]", own)
        for place, one in enumerate(layout.inputs.codes):
            column = (layout.first_code + place,)
            yield f"equality[{layout.summary.label(one.column)}]", standard.Equality(columns=column)
        for place, flag in enumerate(layout.inputs.flags):
            column = (layout.first_code + len(layout.inputs.codes) + place,)
            yield f"missing[{layout.summary.label(flag)}]", standard.Equality(columns=column)
        for names in self.interactions:
            parts = [one for name in names for one in self._part(layout, name)]
            if len(parts) == len(names):  # none of them is constant
                label = " x ".join(name for name, _ in parts)
                yield label, standard.Interaction([kernel for _, kernel in parts])

    def _directions(self, layout: Layout) -> Iterator[Named]:
        """Yield kernels of the directions of rows."""
        label, columns = "[directions]", layout.whole
        found = [
            (f"linear{label}", standard.Linear(columns=columns)),
            (f"quadratic{label}", standard.Polynomial(2, _OFFSET, columns=columns)),
            *_gaussians(layout.angular_distance, self.spreads, label, columns),
        ]
        yield from ((name, standard.Directions(kernel)) for name, kernel in found)

    def _part(self, layout: Layout, name: int | str) -> Iterator[Named]:
        """Yield the kernel of a column or a group in an interaction, unless it is constant."""
        groups, summary = dict(self.columns), layout.summary
        if name in groups:
            own = layout.of_columns([summary.number(column) for column in groups[name]])
            label = str(name)
        else:
            number = summary.number(name)
            label = summary.label(number)
            for place, one in enumerate(layout.inputs.codes):
                if one.column == number:
                    yield label, standard.Equality(columns=(layout.first_code + place,))
                    return
            own = layout.of_columns([number])
        if own:
            yield label, standard.Linear(columns=own)

    def _singles(self, layout: Layout, room: int) -> list[Named]:
        """Return the kernels on single columns, as many as fit."""
        columns = layout.different
        if layout.is_sparse:
            columns = columns[~layout.rare[columns]]
        if len(layout.everything) == 1 or room <= 0 or not len(columns):
            return []
        spreads = self.column_spreads[: max(1, room // len(columns))]
        if len(columns) > room:
            columns = layout.least_alike(columns)[:room]
        found: list[Named] = []
        for place in sorted(columns.tolist()):
            own = spreads[:1] if layout.is_binary(place) else spreads
            label = layout.summary.label(int(layout.inputs.columns[place]))
            found += _gaussians(layout.distance((place,)), own, f"[{label}]", (place,))
        return found


@lru_cache(maxsize=64)
def _fitted(bank: AutoBank, inputs: InputSummary) -> KernelBank:
    """Return the bank for training rows; a search asks again for every task and every model."""
    return bank._fit(inputs)


def _gaussians(
    distance: float, spreads: Sequence[float], label: str, columns: Places | None
) -> Iterator[Named]:
    """Yield Gaussians on columns of the fitted inputs, of spreads in multiples of a distance."""
    for spread in spreads:
        yield f"gaussian({spread:g}){label}", standard.Gaussian(spread * distance, columns=columns)


def _listed(columns: Any) -> tuple[int | str, ...]:
    given = [columns] if isinstance(columns, (str, int)) else list(columns)
    return tuple(one if isinstance(one, str) else int(one) for one in given)


def _several(interactions: Any) -> tuple[tuple[int | str, ...], ...]:
    given = tuple(_listed(one) for one in interactions)
    for one in given:
        if len(one) < 2:
            raise ValueError(
                "interactions of AutoBank must hold two or more columns or groups each, such as "
                f"('hour', 'load'): got {list(one)}."
            )
    return given


def _positive(name: str, given: Any) -> tuple[float, ...]:
    values = tuple(float(one) for one in given)
    if not values or not all(np.isfinite(one) and one > 0.0 for one in values):
        raise ValueError(f"{name} of AutoBank must hold positive numbers, got {list(given)}.")
    return values


#: What the names of banks stand for; "paper" is `default_bank`.
BANKS = {"auto": AutoBank(), "small": AutoBank(single_columns=False)}
