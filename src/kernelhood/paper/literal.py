"""The paper's iteration as it stands in section 4.2: an SVM, a quadratic program, a closed form.

It is here to be read and compared with: the library solves the problem whose stationary points are
the fixed points of this iteration, ``formulation="printed"``, and never iterates like this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC, SVR

from kernelhood._typing import Array
from kernelhood.penalties.nonneg_qp import solve_nonneg_qp
from kernelhood.solvers.neighborhood import identity_projection

_LIBSVM_TOL = 1e-9
_LARGE, _SAME = 1e9, 1e-4


@dataclass(frozen=True)
class LiteralIteration:
    """What the iteration did.

    Attributes
    ----------
    weights : ndarray of shape (n_rounds + 1, n_tasks, n_kernels)
        The weights theta_t = mu + lambda_t of every round; the start first.
    neighborhoods : ndarray of shape (n_tasks, n_kernels)
        Coefficients of the last neighborhood-defining matrices on the base kernels.
    ending : {"settled", "cycle", "grows", "open"}
        Whether the last round changed no kernel, brought back the kernels of two rounds before,
        made them very large, or was only the last that was allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.paper import literal_iteration
    >>> found = literal_iteration([np.eye(2)[None]], [np.array([-1, 1])], C=1, eta=16, beta=1)
    >>> found.weights.shape == (len(found.weights), 1, 1)
    True
    """

    weights: Array
    neighborhoods: Array
    ending: str


def literal_iteration(
    stacks: Sequence[Array],
    targets: Sequence[Array],
    *,
    C: float,
    eta: float,
    beta: float,
    epsilon: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> LiteralIteration:
    r"""Iterate as the paper prints it, formulas included.

    A round has three steps. The SVMs of all tasks give the dual vectors :math:`v_t`, with
    :math:`q_t^m = \tfrac12 v_t' K_t^m v_t`. The quadratic program
    :math:`\min_{\theta \ge 0} \theta'A\theta - \theta'(b + q)` with :math:`b = 2V'\hat v` gives
    the weights. The closed form :math:`\Sigma \hat v = \tfrac12(\eta V\theta - \beta VA^+d)` with
    :math:`\Sigma = (\eta - 4\beta) I + \tfrac\beta2 P` gives the neighborhoods. All three fall
    apart into those of single tasks, since only :math:`\theta_t = \mu + \lambda_t` occurs.

    Parameters
    ----------
    stacks : sequence of ndarray of shape (n_kernels, n_t, n_t)
        Base kernel matrices of each task.
    targets : sequence of ndarray of shape (n_t,)
        -1 and 1, or numbers if `epsilon` is given.
    C, eta, beta : float
        The paper's parameters.
    epsilon : float, optional
        Of the epsilon-insensitive loss, for regression; None stands for the hinge loss.
    tol : float
        Largest change of the kernels, relative to their Frobenius norm, that counts as none.
    max_iter : int
        Largest number of rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelhood.paper import literal_iteration
    >>> x = np.linspace(-1, 1, 8)
    >>> stack = np.stack([np.outer(x, x), np.exp(-np.subtract.outer(x, x) ** 2)])
    >>> literal_iteration([stack], [np.sign(x)], C=1.0, eta=16.0, beta=1.0).ending
    'settled'
    """
    grams = [np.einsum("mij,lij->ml", Ks, Ks) for Ks in stacks]
    gammas = np.array(
        [
            identity_projection(G, np.einsum("mii->m", Ks))
            for G, Ks in zip(grams, stacks, strict=True)
        ]
    )

    def neighborhoods(theta: Array) -> Array:
        # On the span of the kernels P is the identity, and so Sigma is a number.
        return (0.5 * eta * theta - 0.5 * beta * gammas) / (eta - 4.0 * beta + 0.5 * beta)

    history = [np.full((len(stacks), len(stacks[0])), 1.0 / len(stacks[0]))]
    kappa, ending = neighborhoods(history[0]), "open"
    for _ in range(max_iter):
        duals = [
            _svm(np.tensordot(one, Ks, axes=1), y, C, epsilon)
            for one, Ks, y in zip(history[-1], stacks, targets, strict=True)
        ]
        q = [0.5 * np.einsum("i,mij,j->m", v, Ks, v) for v, Ks in zip(duals, stacks, strict=True)]
        steps = zip(grams, kappa, q, history[-1], strict=True)
        theta = np.array(
            [solve_nonneg_qp(2.0 * G, -2.0 * G @ k - own, 0.0 * k, old) for G, k, own, old in steps]
        )
        kappa = neighborhoods(theta)
        history.append(theta)
        ending = _ending(history, grams, tol)
        if ending != "open":
            break
    return LiteralIteration(np.array(history), kappa, ending)


def _svm(K: Array, y: Array, C: float, epsilon: float | None) -> Array:
    """Return the dual vector of LIBSVM: y alpha, or alpha - alpha* in regression."""
    common = {"C": C, "kernel": "precomputed", "tol": _LIBSVM_TOL}
    model = (SVC(**common) if epsilon is None else SVR(epsilon=epsilon, **common)).fit(K, y)
    v = np.zeros(len(y))
    v[model.support_] = model.dual_coef_[0]
    return v


def _ending(history: Sequence[Array], grams: Sequence[Array], tol: float) -> str:
    """Return what the last weights say of the iteration; kernels count, not their weights."""

    def size(change: Array) -> float:
        return float(np.sqrt(sum(one @ G @ one for one, G in zip(change, grams, strict=True))))

    last, before = history[-1], history[-2]
    if size(last) > _LARGE * size(history[0]):
        return "grows"
    if size(last - before) <= tol * size(last):
        return "settled"
    if len(history) > 2 and size(last - history[-3]) <= _SAME * size(last - before):
        return "cycle"
    return "open"
