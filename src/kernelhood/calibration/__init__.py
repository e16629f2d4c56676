"""From decision values to probabilities: cross-fitted values, one slope, a shrunk shift a task."""

from kernelhood.calibration.coupling import couple_pairs
from kernelhood.calibration.crossfit import Calibration
from kernelhood.calibration.sigmoid import Sigmoid, fit_sigmoid

__all__ = ["Calibration", "Sigmoid", "couple_pairs", "fit_sigmoid"]
