"""The estimators: one pipeline from X to predictions, one step of it for every method."""

from kernelhood.estimators.mtonmkl import MTONMKLClassifier, MTONMKLRegressor

__all__ = ["MTONMKLClassifier", "MTONMKLRegressor"]
