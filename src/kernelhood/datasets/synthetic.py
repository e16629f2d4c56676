"""Tasks that are made from known kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch, check_random_state

from kernelhood._typing import AnyArray, Array
from kernelhood.datasets._bunch import (
    check_choice,
    check_count,
    check_flags,
    check_number,
    make_bunch,
)

_SPREADS = tuple(2.0**k for k in range(1, 9))

BANK = ("linear", "polynomial", *(f"gaussian {spread:g}" for spread in _SPREADS))

# Standard deviation of each input: distances are then of the order of the narrower spreads.
INPUT_SCALE = 3.0
_N_ANCHORS = 100
# How far apart places are alike, in the unit square.
_NEAR = 0.25

_Function = Callable[[Array], Array]


def draw_kernels(
    n_shared: int, n_tasks: int, rng: np.random.RandomState
) -> tuple[list[int], list[int]]:
    """Draw the shared kernels, ascending, and one of the others for each task."""
    order = rng.permutation(len(BANK))
    shared, others = np.sort(order[:n_shared]), order[n_shared:]
    return shared.tolist(), rng.choice(others, size=n_tasks).tolist()


def draw_functions(
    shared: list[int],
    specific: list[int],
    shares: Array,
    n_features: int,
    rng: np.random.RandomState,
) -> list[_Function]:
    """Draw the function of each task, a mixture of a shared and a specific one."""
    f_0 = _draw_function(shared, n_features, rng)
    g = [_draw_function([kernel], n_features, rng) for kernel in specific]

    def mixture(share: float, g_t: _Function) -> _Function:
        return lambda X: np.sqrt(share) * f_0(X) + np.sqrt(1 - share) * g_t(X)

    return [mixture(share, g_t) for share, g_t in zip(shares, g, strict=True)]


class Structure(NamedTuple):
    """What tasks have in common beside the shared function."""

    kind: str | None
    share: float
    n_groups: int
    intercepts: float

    def checked(self) -> Structure:
        """Return itself if its values can be."""
        check_number("structure_share", self.share, low=0.0, high=1.0)
        check_number("intercepts", self.intercepts, low=0.0)
        check_count("n_groups", self.n_groups)
        if self.kind is not None:
            check_choice("structure", self.kind, ("groups", "smooth"))
        return self


def structured(
    functions: list[_Function],
    blocks: list[Array],
    names: AnyArray,
    shared: Sequence[int],
    form: Structure,
    rng: np.random.RandomState,
) -> tuple[list[Array], dict[str, Any]]:
    """Return all values, with a structure and intercepts, and tell the structure."""
    clean = [function(x) for function, x in zip(functions, blocks, strict=True)]
    told: dict[str, Any] = {}
    if form.kind is not None:
        kernel, n_features = [int(rng.choice(shared))], blocks[0].shape[1]
        parts, told = _draw_structure(form, kernel, names, n_features, rng)
        clean = [
            np.sqrt(1.0 - form.share) * values + np.sqrt(form.share) * part(x)
            for values, part, x in zip(clean, parts, blocks, strict=True)
        ]
    if form.intercepts > 0.0:
        clean = [values + form.intercepts * rng.standard_normal() for values in clean]
    return clean, told


def _draw_structure(
    form: Structure,
    kernel: list[int],
    names: AnyArray,
    n_features: int,
    rng: np.random.RandomState,
) -> tuple[list[_Function], dict[str, Any]]:
    """Draw what tasks of a group, or at near places, have in common."""
    if form.kind == "groups":
        number = np.arange(len(names)) % form.n_groups
        functions = [_draw_function(kernel, n_features, rng) for _ in range(form.n_groups)]
        told = {name: f"group {k + 1}" for name, k in zip(names.tolist(), number, strict=True)}
        return [functions[k] for k in number], {"task_groups": told}
    places = rng.uniform(size=(len(names), 2))
    centres = np.array([[x, y] for x in (0.0, 0.5, 1.0) for y in (0.0, 0.5, 1.0)])
    functions = [_draw_function(kernel, n_features, rng) for _ in centres]
    near = np.exp(-((places[:, np.newaxis] - centres) ** 2).sum(axis=2) / (2 * _NEAR**2))
    near /= np.sqrt((near**2).sum(axis=1, keepdims=True))

    def mixture(shares: Array) -> _Function:
        return lambda X: np.sum([a * f(X) for a, f in zip(shares, functions, strict=True)], axis=0)

    told = {name: place.tolist() for name, place in zip(names.tolist(), places, strict=True)}
    return [mixture(shares) for shares in near], {"task_places": told}


def _draw_function(
    kernels: Sequence[int], n_features: int, rng: np.random.RandomState
) -> _Function:
    """Draw a function with variance 1, an equal share of it from each kernel."""
    anchors = INPUT_SCALE * rng.standard_normal((_N_ANCHORS, n_features))
    # A sample of its own sets centre and scale, so that the function does not depend on the data.
    sample = INPUT_SCALE * rng.standard_normal((1000, n_features))
    terms = []
    for kernel in kernels:
        weights = rng.standard_normal(_N_ANCHORS)
        values = _kernel(kernel, sample, anchors) @ weights
        terms.append((kernel, weights, values.mean(), values.std() * np.sqrt(len(kernels))))

    def function(X: Array) -> Array:
        parts = [(_kernel(k, X, anchors) @ w - mean) / std for k, w, mean, std in terms]
        total: Array = np.sum(parts, axis=0)
        return total

    return function


def _kernel(number: int, X: Array, Z: Array) -> Array:
    """Return kernel `number` of the bank between the rows of X and Z, cosine normalised."""
    products = X @ Z.T
    x2, z2 = (X**2).sum(axis=1)[:, np.newaxis], (Z**2).sum(axis=1)
    if number == 0:
        values = products / np.sqrt(x2 * z2)
    elif number == 1:
        values = (products + 1) ** 2 / ((x2 + 1) * (z2 + 1))
    else:
        values = np.exp(-np.maximum(x2 + z2 - 2 * products, 0) / (2 * _SPREADS[number - 2] ** 2))
    return np.asarray(values, dtype=np.float64)


def make_multitask(
    n_tasks: int = 5,
    n_samples: int = 100,
    n_kernels_true: int = 2,
    relatedness: float = 0.8,
    noise: float = 0.1,
    task_sizes: Sequence[int] | None = None,
    kind: str = "classification",
    *,
    n_features: int = 4,
    n_outliers: int = 0,
    structure: str | None = None,
    structure_share: float = 0.4,
    n_groups: int = 2,
    intercepts: float = 0.0,
    as_frame: bool = False,
    random_state: Any = None,
) -> Bunch:
    r"""Make related tasks from known shared and specific kernels.

    The function of task t is

    .. math:: f_t = \sqrt{\rho} f_0 + \sqrt{1 - \rho} g_t, \quad
              f_0 = \sqrt{1/M_0} \sum_{m \in S} h_m

    where :math:`\rho` is `relatedness`, S the :math:`M_0` shared kernels and each :math:`h_m`, like
    each :math:`g_t`, a sum :math:`\sum_j a_j k_m(x, z_j)` over random anchors :math:`z_j` with
    normal :math:`a_j`, centred and scaled to variance 1. With :math:`\rho = 1` all tasks have the
    same function, with :math:`\rho = 0` independent ones. With a `structure` there is a part
    :math:`\sqrt{\sigma} s_t` more, where :math:`\sigma` is `structure_share`, taken from the other
    two in equal proportion: the same in a group, or smooth in the task's place in a unit square.

    Parameters
    ----------
    n_tasks : int, default=5
        Number of tasks.
    n_samples : int, default=100
        Samples of each task.
    n_kernels_true : int, default=2
        Number of kernels, of the ten in the bank, that make up the shared function; at most 9.
    relatedness : float, default=0.8
        Share of the shared function in each task's variance, from 0 to 1.
    noise : float, default=0.1
        Standard deviation of the noise; a task's function has variance about 1.
    task_sizes : sequence of int or None, default=None
        Samples of each task, in place of `n_samples`.
    kind : {"classification", "regression"}, default="classification"
        Whether ``y`` is the noisy function, or -1 and 1: whether that is above its task's median.
    n_features : int, default=4
        Number of inputs, normal with mean 0 and standard deviation 3.
    n_outliers : int, default=0
        How many of the tasks, the last ones, have no part in the shared function.
    structure : {"groups", "smooth"} or None, default=None
        Whether tasks of a group, or tasks at near places, have a part in common.
    structure_share : float, default=0.4
        Share of that part in each task's variance, from 0 to 1.
    n_groups : int, default=2
        Number of groups, of equal size as far as possible.
    intercepts : float, default=0.0
        Standard deviation of a constant in each task's function; classes do not depend on it.
    as_frame : bool, default=False
        Whether to return pandas objects in place of arrays.
    random_state : int, RandomState or None, default=None
        Seed of everything.

    Returns
    -------
    data : Bunch
        ``X``, ``y``, ``task`` ("task 1", ...), ``task_names``, ``feature_names``, ``sample_id``,
        ``DESCR``, and what is true: ``kernel_names`` (the bank), ``true_kernels`` (places of the
        shared kernels in the bank), ``true_shared`` (10,) and ``true_specific`` (n_tasks, 10), the
        share of the variance that each kernel has in the shared and in the specific part,
        ``true_function`` (n_samples,), the values without noise, ``outliers`` (names of tasks),
        ``relatedness``; with a structure ``task_groups`` or ``task_places``, by task.

    Notes
    -----
    Without a structure, ``true_shared + true_specific[t]`` sums to 1 for a task that is not an
    outlier.
    Gaussians much wider than the data differ little from each other: expect a method to find the
    group, not the member.

    Examples
    --------
    >>> from kernelhood.datasets import make_multitask
    >>> tasks = make_multitask(n_tasks=3, task_sizes=[10, 20, 30], random_state=0)
    >>> tasks.X.shape, tasks.task_names
    ((60, 4), ['task 1', 'task 2', 'task 3'])
    >>> float(tasks.true_shared.sum().round(6))
    0.8
    """
    n_tasks = check_count("n_tasks", n_tasks)
    n_kernels_true = check_count("n_kernels_true", n_kernels_true, high=len(BANK) - 1)
    relatedness = check_number("relatedness", relatedness, low=0.0, high=1.0)
    noise = check_number("noise", noise, low=0.0)
    kind = check_choice("kind", kind, ("classification", "regression"))
    sizes = _check_sizes(n_tasks, n_samples, task_sizes, kind)
    n_features = check_count("n_features", n_features)
    n_outliers = check_count("n_outliers", n_outliers, low=0, high=n_tasks)
    check_flags(as_frame=as_frame)
    form = Structure(structure, structure_share, n_groups, intercepts).checked()
    rng = check_random_state(random_state)
    related = np.arange(n_tasks) < n_tasks - n_outliers
    shares = np.where(related, relatedness, 0.0)
    shared, specific = draw_kernels(n_kernels_true, n_tasks, rng)
    functions = draw_functions(shared, specific, shares, n_features, rng)
    X = INPUT_SCALE * rng.standard_normal((sum(sizes), n_features))
    names = np.array([f"task {number}" for number in range(1, n_tasks + 1)])
    clean, told = structured(functions, _parts(X, sizes), names, shared, form, rng)
    return make_bunch(
        X,
        np.concatenate([_observe(values, noise, kind, rng) for values in clean]),
        task=np.repeat(names, sizes),
        task_names=names.tolist(),
        feature_names=[f"x{number}" for number in range(1, n_features + 1)],
        sample_id=np.arange(len(X)),
        name="synthetic",
        as_frame=as_frame,
        outliers=names[~related].tolist(),
        true_function=np.concatenate(clean),
        **_truth(shared, specific, shares, relatedness),
        **told,
    )


def _parts(X: Array, sizes: list[int]) -> list[Array]:
    """Return the rows of each task."""
    return np.split(X, np.cumsum(sizes)[:-1])


def _truth(
    shared: list[int], specific: list[int], shares: Array, relatedness: float
) -> dict[str, Any]:
    """Return which kernels the functions are made of, and their shares of the variance."""
    kernels = np.eye(len(BANK))
    return {
        "kernel_names": list(BANK),
        "relatedness": relatedness,
        "true_kernels": np.array(shared),
        "true_shared": relatedness * kernels[shared].mean(axis=0),
        "true_specific": (1 - shares)[:, np.newaxis] * kernels[specific],
    }


def _check_sizes(n_tasks: int, n_samples: Any, task_sizes: Any, kind: str) -> list[int]:
    """Return the size of each task; two classes need two samples."""
    low = 2 if kind == "classification" else 1
    if task_sizes is None:
        return [check_count("n_samples", n_samples, low=low)] * n_tasks
    if np.ndim(task_sizes) != 1 or len(task_sizes) != n_tasks:
        raise ValueError(
            f"task_sizes={task_sizes!r} does not hold {n_tasks} sizes, one for each task."
        )
    return [check_count("task_sizes", size, low=low) for size in task_sizes]


def _observe(values: Array, noise: float, kind: str, rng: np.random.RandomState) -> AnyArray:
    """Add noise; for classification say which side of the median each value is on."""
    noisy = values + noise * rng.standard_normal(len(values))
    if kind == "regression":
        return noisy
    return np.where(noisy > np.median(noisy), 1, -1)
