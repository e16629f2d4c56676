"""What a search chooses: the best point of a grid, and how the estimators fitted there answer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _num_samples

from kernelhood._typing import Array
from kernelhood.model_selection.grids import Models


def best_point(models: Models, scores: Array) -> tuple[int, float]:
    """Return the number of the best point of the grid, and its score.

    Parameters
    ----------
    models : Models
        The grid and its distinct models.
    scores : ndarray of shape (n_models,)
        The score of every model. Among equal ones the stronger regularisation wins, then the first
        point of the grid.
    """
    if np.isnan(scores).all():
        raise ValueError("scoring is not defined on any test part: choose another, or larger ones.")
    best_ones = np.flatnonzero(scores == np.nanmax(scores))
    model = int(best_ones[np.argmin(models.strength[best_ones])])
    return int(np.argmax(models.model_of == model)), float(scores[model])


def check_room(
    model: Any, models: Sequence[Mapping[str, Any]], X: Any, y: Any, sample_weight: Any
) -> None:
    """Raise before any work if the fit of a model to all rows would be refused.

    Parameters
    ----------
    model : estimator of this library
        What is tuned.
    models : sequence of dict
        Parameters that may be chosen.
    X, y, sample_weight
        The whole table.
    """
    n_points = np.count_nonzero(sample_weight) if sample_weight is not None else _num_samples(X)
    n_targets = np.shape(y)[1] if np.ndim(y) > 1 else 1
    for params in models:
        whole = {**model.get_params(deep=False), **params}
        n_kept = int(n_points * (1.0 - (whole.get("calibration") or 0.0)))
        if why := model._why_too_large(whole, n_kept * n_targets, n_kept):
            raise ValueError(why)


def warn_of_gaps(gaps: Array, tol: Array) -> None:
    """Say once how many models missed the gap on some split, and the worst gap of these.

    Parameters
    ----------
    gaps : ndarray of shape (n_models,)
        The largest relative duality gap of each model over the splits.
    tol : ndarray of shape (n_models,)
        What was asked of each.
    """
    missed = gaps > tol
    if missed.any():
        asked = " to ".join(dict.fromkeys(f"{one:g}" for one in (tol.min(), tol.max())))
        warnings.warn(
            f"{np.count_nonzero(missed)} of {len(gaps)} models did not reach the duality gap "
            f"tol={asked} on some split, even when solved again from nothing; "
            f"the worst gap is {gaps[missed].max():.1e}. cv_results_['max_gap'] has all of them.",
            ConvergenceWarning,
            stacklevel=3,
        )


@contextmanager
def said_once() -> Iterator[None]:
    """Give every warning of what is done inside once, however often it comes."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    for one in {str(each.message): each for each in heard}.values():
        warnings.warn(one.message, one.category, stacklevel=5)


def first_of(chosen: Any) -> Any:
    """Return the chosen estimator, or the first task's where every task has its own."""
    return next(iter(chosen.values())) if isinstance(chosen, dict) else chosen


def kernel_names(chosen: Any, weights: Array | None) -> list[str]:
    """Return the names of kernels, or their numbers where the chosen estimator has others.

    Parameters
    ----------
    chosen : Chain or dict of Chain by task, or None
        Fitted, where there is one.
    weights : ndarray of shape (n_models, n_kernels), or None
        Their weights along a path.
    """
    if weights is None:
        return []
    names = [] if chosen is None else first_of(chosen).model._kernel_names()
    fits = len(names) == weights.shape[1]
    return names if fits else [str(number) for number in range(weights.shape[1])]


def answer(chosen: Any, method: str, X: Any, task: Any, more: Mapping[str, Any]) -> Any:
    """Return what the chosen estimator answers for every row.

    Parameters
    ----------
    chosen : Chain or dict of Chain by task
        The fitted one, or one for every task, whose rows it then answers.
    method : str
        The method to call.
    X, task, more
        Its arguments.
    """
    if not isinstance(chosen, dict):
        return chosen.ask(method, X, task, **more)
    first = first_of(chosen)
    labels = first.model._read_points(first.at(X), task, reset=False)[1]
    if labels is None:
        columns = [one.ask(method, X, None, **more) for one in chosen.values()]
        if isinstance(columns[0], list):
            return [values[k] for k, values in enumerate(columns)]
        if not first.model._y_is_wide:
            return columns[0]
        return np.stack([values[:, k] for k, values in enumerate(columns)], axis=1)
    answers = first.ask(method, X, task, **more)
    for name, one in chosen.items():
        rows = np.array([label == name for label in labels.tolist()])
        if rows.any():
            answers[rows] = one.ask(method, X, task, **more)[rows]
    return answers


def search_summary(search: Any) -> str:
    """Return a few sentences about what a search has chosen.

    Parameters
    ----------
    search : KernelSearchCV
        Fitted.
    """
    if isinstance(search.best_index_, dict):
        lines = [
            f"Chosen for {name}: {_shown(search.best_params_[name])}, score {score:.4g}."
            for name, score in search.best_score_.items()
        ]
    else:
        best = search.best_params_
        score = "score" if not isinstance(search.scoring, str) else f"score ({search.scoring})"
        lines = [
            f"Chosen: {_shown(best)}.",
            f"Its {score} is {search.best_score_:.4g}, the mean over {search.n_splits_} splits.",
            *_at_an_end(search.cv_results_, best),
        ]
    points, models = len(search.cv_results_["params"]), search.n_models_
    return "\n".join([*lines, f"{points} points of the grid are {models} different models."])


def _shown(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items()) or "no parameter"


def _at_an_end(results: Mapping[str, Any], best: Mapping[str, Any]) -> Iterator[str]:
    """Yield what to do where a number of several is the smallest or the largest that was tried."""
    for name, value in best.items():
        tried = results[f"param_{name}"].compressed().tolist()
        if not all(_is_number(one) for one in tried) or min(tried) == max(tried):
            continue
        for word, end in (("smallest", min(tried)), ("largest", max(tried))):
            if value == end:
                yield f"{name} sits at the {word} value that is tried: look further."


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
