"""The estimators: one pipeline from X to predictions, one step of it for every method."""

from kernelhood.estimators.kernelhood import KernelhoodClassifier, KernelhoodRegressor
from kernelhood.estimators.mtonmkl import MTONMKLClassifier, MTONMKLRegressor
from kernelhood.estimators.neighborhoods import (
    KTAClassifier,
    KTARegressor,
    ONJKLClassifier,
    ONJKLRegressor,
    RPKLClassifier,
    RPKLRegressor,
)
from kernelhood.estimators.peers import (
    AVMTMKLClassifier,
    AVMTMKLRegressor,
    ITLClassifier,
    ITLRegressor,
    MTMKLClassifier,
    MTMKLRegressor,
    PooledClassifier,
    PooledRegressor,
)

METHODS = {
    "itl": (ITLClassifier, ITLRegressor),
    "avmtmkl": (AVMTMKLClassifier, AVMTMKLRegressor),
    "mt-mkl": (MTMKLClassifier, MTMKLRegressor),
    "rpkl": (RPKLClassifier, RPKLRegressor),
    "onjkl": (ONJKLClassifier, ONJKLRegressor),
    "kta": (KTAClassifier, KTARegressor),
    "mt-onmkl": (MTONMKLClassifier, MTONMKLRegressor),
}
"""The methods of the paper's Table 1 by name, each as a classifier and a regressor."""

BASELINES = {"pooled": (PooledClassifier, PooledRegressor)}
"""What else a comparison should hold."""

__all__ = [
    "BASELINES",
    "METHODS",
    "AVMTMKLClassifier",
    "AVMTMKLRegressor",
    "ITLClassifier",
    "ITLRegressor",
    "KTAClassifier",
    "KTARegressor",
    "KernelhoodClassifier",
    "KernelhoodRegressor",
    "MTMKLClassifier",
    "MTMKLRegressor",
    "MTONMKLClassifier",
    "MTONMKLRegressor",
    "ONJKLClassifier",
    "ONJKLRegressor",
    "PooledClassifier",
    "PooledRegressor",
    "RPKLClassifier",
    "RPKLRegressor",
]
