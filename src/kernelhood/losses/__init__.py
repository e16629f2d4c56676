"""Losses: what a wrong prediction costs, one file a loss."""

from kernelhood.losses.base import Loss, SampleLoss, joined
from kernelhood.losses.box import BoxLoss, box_loss
from kernelhood.losses.epsilon_insensitive import EpsilonInsensitive
from kernelhood.losses.hinge import Hinge
from kernelhood.losses.names import REGRESSION_LOSSES, as_loss
from kernelhood.losses.quantile import Quantile
from kernelhood.losses.ridge import RidgeLoss, ridge_loss
from kernelhood.losses.squared import Squared

__all__ = [
    "REGRESSION_LOSSES",
    "BoxLoss",
    "EpsilonInsensitive",
    "Hinge",
    "Loss",
    "Quantile",
    "RidgeLoss",
    "SampleLoss",
    "Squared",
    "as_loss",
    "box_loss",
    "joined",
    "ridge_loss",
]
