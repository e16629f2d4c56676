"""Tasks made by chance from known kernels, so that what a method finds can be checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from kernelhood._typing import AnyArray, Array
from kernelhood.datasets._arguments import check_choice, check_count, check_flags, check_number
from kernelhood.datasets._bunch import make_bunch
from kernelhood.datasets.synthetic._functions import (
    BANK,
    INPUT_SCALE,
    Structure,
    draw_functions,
    draw_kernels,
    structured,
)

DESCR = """Synthetic tasks

Tasks whose functions mix a shared and a specific part,
f_t = sqrt(relatedness) f_0 + sqrt(1 - relatedness) g_t. Every part is a sum of kernels at random
anchor points, so it lies in the space of its kernel; f_0 uses the kernels true_kernels, g_t one
other kernel. Where tasks have a structure, a third part is the same for tasks of a group, or alike
for tasks at near places. Kernels are those of the bank of arXiv 1707.03426: linear, polynomial of
degree 2 and Gaussians of spread 2 to 256, cosine normalised. No licence is needed.
"""


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
    For a task that is no outlier, ``true_shared + true_specific[t]`` sums to 1 without a structure.
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
        descr=DESCR,
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
        raise ValueError(f"task_sizes={task_sizes!r} does not hold {n_tasks} sizes, one a task.")
    return [check_count("task_sizes", size, low=low) for size in task_sizes]


def _observe(values: Array, noise: float, kind: str, rng: np.random.RandomState) -> AnyArray:
    """Add noise; for classification say which side of the median each value is on."""
    noisy = values + noise * rng.standard_normal(len(values))
    if kind == "regression":
        return noisy
    return np.where(noisy > np.median(noisy), 1, -1)
