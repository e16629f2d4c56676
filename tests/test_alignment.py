import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import KernelCenterer

from kernelhood.inspection.model import alignment, center, span_alignment


def random_kernels(seed, count=2, n=6):
    rng = np.random.default_rng(seed)
    return [F @ F.T for F in rng.normal(size=(count, n, 4))]


@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3))
@settings(max_examples=30, deadline=None)
def test_alignment_is_a_cosine(seed, scale):
    K, L = random_kernels(seed)
    expected = np.sum(K * L) / np.sqrt(np.sum(K * K) * np.sum(L * L))
    assert alignment(K, L) == pytest.approx(expected)
    assert alignment(scale * K, L) == pytest.approx(expected)
    assert alignment(L, K) == pytest.approx(expected)
    assert alignment(K, -L) == pytest.approx(-expected)
    assert alignment(K, K) == pytest.approx(1.0)


def test_centring_is_that_of_scikit_learn():
    (K,) = random_kernels(0, count=1)
    np.testing.assert_allclose(center(K), KernelCenterer().fit_transform(K), atol=1e-12)


def test_centred_alignment_ignores_constants():
    K, L = random_kernels(1)
    expected = alignment(center(K), center(L))
    assert alignment(K + 3.0, L, centered=True) == pytest.approx(expected)
    assert abs(alignment(K + 3.0, L) - expected) > 1e-2


def test_combinations_need_only_the_products():
    Ks = np.array(random_kernels(2, count=3))
    G = np.einsum("mij,lij->ml", Ks, Ks)
    first, second = np.array([1.0, 0.0, 2.0]), np.array([-0.5, 1.0, 0.3])
    direct = alignment(np.tensordot(first, Ks, axes=1), np.tensordot(second, Ks, axes=1))
    assert span_alignment(G, first, second) == pytest.approx(direct)
    assert span_alignment(G, np.zeros(3), second) == 0.0


def test_nothing_aligns_with_nothing():
    assert alignment(np.zeros((2, 2)), np.eye(2)) == 0.0


@pytest.mark.parametrize("L", [np.eye(3), np.ones(2)])
def test_shapes_have_to_agree(L):
    with pytest.raises(ValueError, match="K and L must be matrices of one shape"):
        alignment(np.eye(2), L)
