import numpy as np
import pytest

import kernelhood as kh
from tests.references import make_samples

pytest_plugins = ["tests.jitter"]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def small_bank():
    return kh.KernelBank(
        [
            kh.Normalized(kh.Linear()),
            kh.Gaussian(0.5),
            kh.Gaussian(1.5),
            kh.Normalized(kh.Polynomial()),
        ]
    )


@pytest.fixture(scope="session")
def labelled():
    """Three classification tasks of unequal sizes."""
    return make_samples("classification")


@pytest.fixture(scope="session")
def measured():
    """Three regression tasks of unequal sizes."""
    return make_samples("regression")


@pytest.fixture(scope="session")
def classifier(labelled, small_bank):
    """A fitted classifier; tests only read it."""
    model = kh.MTONMKLClassifier(kernels=small_bank, C=3.0, tol=1e-6)
    return model.fit(labelled.X, labelled.y, task=labelled.task)
