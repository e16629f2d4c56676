import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score

from kernelhood.datasets import make_multitask
from kernelhood.datasets.synthetic import BANK, _draw_function, _kernel


def transfer(relatedness, **arguments):
    """Return R^2, on task 2, of a regression fitted to task 1; mean over seeds."""
    scores = []
    for seed in range(8):
        data = make_multitask(
            2, 300, relatedness=relatedness, noise=0.0, kind="regression", n_features=2,
            random_state=seed, **arguments,
        )  # fmt: skip
        one, two = (data.task == name for name in data.task_names)
        model = KernelRidge(kernel="rbf", gamma=1 / 50, alpha=1e-3).fit(data.X[one], data.y[one])
        scores.append(r2_score(data.y[two], model.predict(data.X[two])))
    return np.mean(np.clip(scores, -1, 1))


def test_related_tasks_have_the_same_function_and_unrelated_ones_do_not():
    assert transfer(1.0) > 0.8
    assert transfer(0.0) < 0.1
    assert transfer(1.0, n_outliers=1) < 0.1


@settings(max_examples=25, deadline=None)
@given(
    n_tasks=st.integers(1, 5),
    n_kernels_true=st.integers(1, 9),
    relatedness=st.floats(0, 1, allow_subnormal=False),
    seed=st.integers(0, 1000),
)
def test_truth_adds_up(n_tasks, n_kernels_true, relatedness, seed):
    data = make_multitask(n_tasks, 10, n_kernels_true, relatedness, random_state=seed)
    assert data.true_shared.shape == (10,)
    assert data.true_specific.shape == (n_tasks, 10)
    np.testing.assert_allclose(data.true_shared.sum() + data.true_specific.sum(axis=1), 1)
    assert len(set(data.true_kernels)) == n_kernels_true
    # The specific kernels are none of the shared ones.
    assert not data.true_specific[:, data.true_kernels].any()
    if relatedness > 0:
        np.testing.assert_array_equal(np.flatnonzero(data.true_shared), data.true_kernels)
    assert data.relatedness == relatedness


def test_outliers_have_only_a_specific_part():
    data = make_multitask(4, n_outliers=2, relatedness=1.0, random_state=0)
    assert data.outliers == ["task 3", "task 4"]
    np.testing.assert_allclose(data.true_specific.sum(axis=1), [0, 0, 1, 1])


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_seed_makes_it_repeatable(kind):
    one, same, other = (make_multitask(kind=kind, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.y, same.y)
    assert not np.array_equal(one.X, other.X)


def test_classes_are_balanced_in_every_task():
    data = make_multitask(4, task_sizes=[10, 40, 7, 2], noise=1.0, random_state=3)
    assert set(data.y) == {-1, 1}
    for name, size in zip(data.task_names, [10, 40, 7, 2], strict=True):
        y = data.y[data.task == name]
        assert len(y) == size
        assert (y == 1).sum() == size // 2


def test_regression_is_function_plus_noise():
    clean = make_multitask(kind="regression", noise=0.0, random_state=0)
    np.testing.assert_array_equal(clean.y, clean.true_function)
    noisy = make_multitask(3, 2000, kind="regression", noise=0.5, random_state=0)
    assert (noisy.y - noisy.true_function).std() == pytest.approx(0.5, rel=0.05)


def test_functions_have_mean_zero_and_variance_one():
    values = [
        make_multitask(1, 1000, 3, 0.5, random_state=seed).true_function for seed in range(20)
    ]
    assert abs(np.mean(values)) < 0.1
    assert np.mean(np.var(values, axis=1)) == pytest.approx(1, rel=0.15)


@pytest.mark.parametrize("number", range(10))
def test_kernels_are_cosine_normalised(number):
    X = np.random.default_rng(0).normal(size=(20, 3))
    K = _kernel(number, X, X)
    np.testing.assert_allclose(np.diag(K), 1)
    np.testing.assert_allclose(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert len(BANK) == 10


def test_bank_is_the_paper_s():
    x, z = np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]])
    dot, xx, zz = -1.5, 5.0, 1.25
    assert _kernel(0, x, z)[0, 0] == pytest.approx(dot / np.sqrt(xx * zz))
    assert _kernel(1, x, z)[0, 0] == pytest.approx((dot + 1) ** 2 / ((xx + 1) * (zz + 1)))
    for number, spread in zip(range(2, 10), 2.0 ** np.arange(1, 9), strict=True):
        expected = np.exp(-(xx + zz - 2 * dot) / (2 * spread**2))
        assert _kernel(number, x, z)[0, 0] == pytest.approx(expected)
        assert BANK[number] == f"gaussian {spread:g}"


def test_drawn_function_lies_in_the_space_of_its_kernel():
    # The linear kernel, cosine normalised, knows only directions: f(cx) = f(x) up to a constant.
    function = _draw_function([0], 3, np.random.RandomState(0))
    X = np.random.default_rng(1).normal(size=(20, 3))
    np.testing.assert_allclose(function(2 * X), function(X))
    # A narrow Gaussian's function is constant far away from all anchors.
    function = _draw_function([2], 3, np.random.RandomState(0))
    far = function(1000 + X)
    np.testing.assert_allclose(far, far[0])


def test_one_task_of_one_sample_is_a_regression():
    data = make_multitask(1, 1, kind="regression", random_state=0, n_features=1)
    assert data.X.shape == (1, 1)


def test_frame():
    pytest.importorskip("pandas")
    data = make_multitask(random_state=0, as_frame=True)
    assert list(data.X.columns) == ["x1", "x2", "x3", "x4"]


def correlations(data, X):
    """How alike the tasks' functions are, from the values that each has at its own points."""
    return np.corrcoef([np.interp(X, *np.unique(one, axis=0).T[:2]) for one in data], rowvar=True)


def test_tasks_of_a_group_have_a_part_in_common():
    data = make_multitask(
        n_tasks=6,
        n_samples=200,
        relatedness=0.0,
        noise=0.0,
        kind="regression",
        n_features=1,
        structure="groups",
        structure_share=1.0,
        n_groups=2,
        random_state=0,
    )
    assert data.task_groups["task 1"] == data.task_groups["task 3"] != data.task_groups["task 2"]
    values = [
        np.column_stack([data.X[data.task == name, 0], data.true_function[data.task == name]])
        for name in data.task_names
    ]
    alike = correlations(values, np.linspace(-4.0, 4.0, 50))
    same = np.equal.outer(np.arange(6) % 2, np.arange(6) % 2)
    assert alike[same].min() > 0.999
    assert alike[~same].max() < 0.99


def test_tasks_at_near_places_are_alike():
    data = make_multitask(
        n_tasks=30,
        n_samples=200,
        relatedness=0.0,
        noise=0.0,
        kind="regression",
        n_features=1,
        structure="smooth",
        structure_share=1.0,
        random_state=1,
    )
    places = np.array([data.task_places[name] for name in data.task_names])
    values = [
        np.column_stack([data.X[data.task == name, 0], data.true_function[data.task == name]])
        for name in data.task_names
    ]
    alike = correlations(values, np.linspace(-4.0, 4.0, 50))
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    pairs = np.triu_indices(30, 1)
    near = apart[pairs] < 0.2
    assert alike[pairs][near].mean() > alike[pairs][~near].mean() + 0.3


def test_intercepts_move_whole_tasks_and_nothing_else():
    settings = {"n_tasks": 40, "n_samples": 20, "kind": "regression", "random_state": 0}
    plain, moved = make_multitask(**settings), make_multitask(**settings, intercepts=3.0)
    shift = moved.true_function - plain.true_function
    by_task = [shift[moved.task == name] for name in moved.task_names]
    assert max(np.ptp(one) for one in by_task) < 1e-9
    assert 2.0 < np.std([one[0] for one in by_task]) < 4.0


def test_structures_are_checked():
    with pytest.raises(ValueError, match="structure"):
        make_multitask(structure="rings")
    with pytest.raises(ValueError, match="structure_share"):
        make_multitask(structure="groups", structure_share=1.5)
