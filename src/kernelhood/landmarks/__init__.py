"""Landmarks: few points through which kernels between many samples are seen."""

from kernelhood.landmarks.choice import choose_landmarks
from kernelhood.landmarks.expansion import LandmarkExpansion
from kernelhood.landmarks.features import Landmarks, PointFeatures, kept_part, type_that_fits

__all__ = [
    "LandmarkExpansion",
    "Landmarks",
    "PointFeatures",
    "choose_landmarks",
    "kept_part",
    "type_that_fits",
]
