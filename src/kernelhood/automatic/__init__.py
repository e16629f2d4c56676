"""Estimators that choose their own parameters, by a race of many kinds of models."""

from kernelhood.automatic.estimators import MTONMKLClassifierCV, MTONMKLRegressorCV

__all__ = ["MTONMKLClassifierCV", "MTONMKLRegressorCV"]
