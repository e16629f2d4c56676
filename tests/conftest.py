import numpy as np
import pytest

import kernelhood as kh
from tests.references import make_samples

pytest_plugins = ["tests.jitter"]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def cluster():
    """Return two Dask worker processes that listen on loopback only; a killed one comes back."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        scheduler_port=0,
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address=None,
    ) as cluster:
        yield cluster


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
