"""Targets in units that suit them, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import roots_hermitenorm

from kernelhood._typing import Array

_NODES = 15
#: The standard deviation of a normal distribution, in median deviations.
_NORMAL = 1.4826
#: Targets are outliers if they are so many deviations off, and few.
_FAR, _FEW = 100.0, 0.02


@dataclass(frozen=True)
class Units:
    """Targets as the model sees them: a power, then mean 0 and variance 1.

    Attributes
    ----------
    mean, size : float
        What is taken off, and what the rest is divided by.
    power : float
        1 for targets as they are, 0 for logarithms.
    """

    mean: float
    size: float
    power: float = 1.0

    @classmethod
    def of(cls, y: Array, weight: Array, power: float = 1.0) -> Units:
        """Return the units of training targets."""
        bent = _bent(y, power)
        largest = float(np.abs(bent).max(initial=0.0)) or 1.0
        mean = float(np.average(bent / largest, weights=weight)) * largest
        size = float(np.sqrt(np.average(((bent - mean) / largest) ** 2, weights=weight))) * largest
        return cls(mean, size if size > 1e-12 * largest else 1.0, power)

    @classmethod
    def robust(cls, y: Array) -> Units:
        """Return units that outliers do not change: the median, and the median deviation."""
        middle = float(np.median(y))
        size = float(np.median(np.abs(y - middle))) * _NORMAL
        return cls(middle, size) if size > 0.0 else cls.of(y, np.ones_like(y))

    def to(self, y: Array) -> Array:
        """Return targets as the model sees them."""
        return (_bent(y, self.power) - self.mean) / self.size

    def log_slope(self, y: Array) -> float:
        """Return the sum of the logarithms of the slopes of `to`."""
        bend = 0.0 if self.power == 1.0 else (self.power - 1.0) * float(np.log(y).sum())
        return bend - len(y) * float(np.log(self.size))

    def back(self, mean: Array, variance: Array | None) -> Array:
        """Return the mean in the user's units of what has a mean and a variance in the model's."""
        if self.power == 1.0 or variance is None:
            return _unbent(self.mean + self.size * mean, self.power)
        nodes, weights = roots_hermitenorm(_NODES)
        at = mean[:, None] + np.sqrt(variance)[:, None] * nodes
        return np.asarray(
            _unbent(self.mean + self.size * at, self.power) @ (weights / weights.sum())
        )

    def spread(self, mean: Array, variance: Array) -> Array:
        """Return the standard deviation in the user's units."""
        if self.power == 1.0:
            return np.asarray(self.size * np.sqrt(variance))
        nodes, weights = roots_hermitenorm(_NODES)
        at = mean[:, None] + np.sqrt(variance)[:, None] * nodes
        values, share = _unbent(self.mean + self.size * at, self.power), weights / weights.sum()
        return np.asarray(np.sqrt(np.maximum(values**2 @ share - (values @ share) ** 2, 0.0)))


def _bent(y: Array, power: float) -> Array:
    if power == 1.0:
        return y
    return np.asarray(np.log(y) if power == 0.0 else y**power / power)


def _unbent(z: Array, power: float) -> Array:
    if power == 1.0:
        return z
    if power == 0.0:
        return np.asarray(np.exp(np.minimum(z, 700.0)))
    return np.asarray(np.maximum(power * z, 0.0) ** (1.0 / power))


def has_outliers(y: Array) -> bool:
    """Return whether a few targets are so far off that they would decide about all others.

    Examples
    --------
    >>> has_outliers(np.arange(100.0)), has_outliers(np.append(np.arange(100.0), 1e6))
    (False, True)
    """
    units = Units.robust(y)
    share = float(np.mean(np.abs(units.to(y)) > _FAR))
    return 0.0 < share <= _FEW
