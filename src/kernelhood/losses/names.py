"""Losses of regression by name."""

from __future__ import annotations

from collections.abc import Callable

from kernelhood.losses.base import Loss
from kernelhood.losses.epsilon_insensitive import EpsilonInsensitive
from kernelhood.losses.quantile import Quantile
from kernelhood.losses.squared import Squared

#: The losses that a name stands for, from the width of the tube and the level of the quantile.
REGRESSION_LOSSES: dict[str, Callable[[float, float], Loss]] = {
    "epsilon_insensitive": lambda epsilon, quantile: EpsilonInsensitive(epsilon),
    "squared": lambda epsilon, quantile: Squared(),
    "quantile": lambda epsilon, quantile: Quantile(quantile),
}


def as_loss(loss: str | Loss, epsilon: float, quantile: float) -> Loss:
    """Return a loss that is given, or the one of a name with its parameter.

    Examples
    --------
    >>> as_loss("quantile", 0.1, 0.9)
    Quantile(level=0.9)
    """
    if isinstance(loss, Loss):
        return loss
    return REGRESSION_LOSSES[loss](float(epsilon), float(quantile))
