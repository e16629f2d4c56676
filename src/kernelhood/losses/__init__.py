"""Losses: what a wrong prediction costs, one file a loss."""

from kernelhood.losses.base import Loss
from kernelhood.losses.box import BoxLoss, box_loss, joined
from kernelhood.losses.epsilon_insensitive import EpsilonInsensitive
from kernelhood.losses.hinge import Hinge

__all__ = ["BoxLoss", "EpsilonInsensitive", "Hinge", "Loss", "box_loss", "joined"]
