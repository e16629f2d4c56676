"""Regression whose loss the user chooses."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from kernelhood.losses import REGRESSION_LOSSES, Loss, as_loss
from kernelhood.pipeline.targets import MultiTaskRegressor


class LossChoice(MultiTaskRegressor):
    r"""The part of a regressor that chooses its loss.

    Parameters
    ----------
    loss : {"epsilon_insensitive", "squared", "quantile"} or Loss
        What a wrong prediction costs, times C: :math:`\max(0, \lvert y - f \rvert - \varepsilon)`,
        :math:`\tfrac12 (y - f)^2`, the pinball loss at the level `quantile`, or a loss of your own.
    quantile : float
        The level of the quantile that ``loss="quantile"`` predicts, between 0 and 1.
    """

    _parameter_constraints: dict[str, Any] = {
        "loss": [StrOptions(set(REGRESSION_LOSSES)), Loss],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }

    quantile: float

    def _loss(self) -> Loss:
        return as_loss(self.loss, self.epsilon, self.quantile)

    @classmethod
    def _canonical(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Leave out the parameters of losses that are not in use."""
        same = super()._canonical(params)
        if params["loss"] != "epsilon_insensitive":
            same["epsilon"] = 0.0
        if params["loss"] != "quantile":
            same["quantile"] = 0.5
        return same
