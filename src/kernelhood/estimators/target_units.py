"""Targets in units that suit them, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import roots_hermitenorm

from kernelhood._typing import Array

_NODES = 15
#: The standard deviation of a normal distribution, in median deviations.
_NORMAL = 1.4826
#: Outliers are so many deviations off, so many in logarithms, and at most such a share of rows.
_FAR, _FAR_IN_LOGS, _FEW = 100.0, 10.0, 0.02


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
    def robust(cls, y: Array, power: float = 1.0) -> Units:
        """Return units that outliers do not change: the median, and the median deviation."""
        bent = _bent(y, power)
        middle = float(np.median(bent))
        size = float(np.median(np.abs(bent - middle))) * _NORMAL
        return cls(middle, size, power) if size > 0.0 else cls.of(y, np.ones_like(y), power)

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
        values, share = self._quadrature(mean, variance)
        return np.asarray(values @ share)

    def spread(self, mean: Array, variance: Array) -> Array:
        """Return the standard deviation in the user's units."""
        if self.power == 1.0:
            return np.asarray(self.size * np.sqrt(variance))
        values, share = self._quadrature(mean, variance)
        return np.asarray(np.sqrt(np.maximum(values**2 @ share - (values @ share) ** 2, 0.0)))

    def _quadrature(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return targets at the nodes of a Gaussian, and the weights of the nodes."""
        nodes, weights = roots_hermitenorm(_NODES)
        at = mean[:, None] + np.sqrt(variance)[:, None] * nodes
        return _unbent(self.mean + self.size * at, self.power), weights / weights.sum()


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

    Positive targets with a long tail are not meant: outliers are far off in logarithms, too.

    Examples
    --------
    >>> has_outliers(np.arange(100.0)), has_outliers(np.append(np.arange(100.0), 1e6))
    (False, True)
    >>> has_outliers(np.exp(np.linspace(-7.0, 7.0, 1000)))
    False
    """
    far = np.abs(Units.robust(y).to(y)) > _FAR
    if y.min() > 0.0:
        far &= np.abs(Units.robust(y, 0.0).to(y)) > _FAR_IN_LOGS
    return bool(0.0 < np.mean(far) <= _FEW)
