"""The scores of the comparison, for every task by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score, roc_auc_score

from kernelhood._typing import AnyArray

CLASSIFICATION, REGRESSION = "classification", "regression"


@dataclass(frozen=True)
class Metric:
    """How predictions are judged.

    Attributes
    ----------
    name : str
        Name in the rows.
    kind : str
        The kind of data it is for.
    greater_is_better : bool
        Whether larger scores are better.
    scoring : str
        scikit-learn's scorer that orders models in the same way; larger is better.
    score : callable
        ``score(y, predicted)``.
    percent : bool
        Whether to show it in percent.
    needs_decision : bool
        Whether it judges decision values rather than predictions.
    """

    name: str
    kind: str
    greater_is_better: bool
    scoring: str
    score: Callable[[AnyArray, AnyArray], float]
    percent: bool = False
    needs_decision: bool = False

    def from_scorer(self, value: float) -> float:
        """Return what scikit-learn's scorer gives as this score."""
        if self.greater_is_better:
            return value
        return 1.0 - value if self.scoring == "r2" else -value


def _normalised_error(y: AnyArray, predicted: AnyArray) -> float:
    """Return the mean squared error divided by the variance of y."""
    return 1.0 - float(r2_score(y, predicted))


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", CLASSIFICATION, True, "accuracy", accuracy_score, percent=True),
        Metric("auc", CLASSIFICATION, True, "roc_auc", roc_auc_score, True, True),
        Metric("mse", REGRESSION, False, "neg_mean_squared_error", mean_squared_error),
        Metric("nmse", REGRESSION, False, "r2", _normalised_error),
    )
}
_DEFAULTS = {CLASSIFICATION: "accuracy", REGRESSION: "mse"}


def choose_metrics(asked: str | Iterable[str] | None, kinds: Iterable[str]) -> Mapping[str, str]:
    """Return the metric of each kind of data.

    Parameters
    ----------
    asked : str, iterable of str or None
        At most one metric for classification and one for regression; accuracy and the mean
        squared error by default.
    kinds : iterable of str
        The kinds that occur.

    Examples
    --------
    >>> choose_metrics("nmse", ["classification", "regression"])
    {'classification': 'accuracy', 'regression': 'nmse'}
    """
    chosen = dict(_DEFAULTS)
    present = set(kinds)
    names = [asked] if isinstance(asked, str) else list(asked or ())
    for name in names:
        if name not in METRICS:
            raise ValueError(f"metric={name!r} is unknown; give one of {', '.join(METRICS)}.")
        kind = METRICS[name].kind
        if [METRICS[other].kind for other in names].count(kind) > 1:
            raise ValueError(f"metric={names!r} names two for {kind}; give one.")
        if kind not in present:
            raise ValueError(f"metric={name!r} is for {kind}, and no data set here is.")
        chosen[kind] = name
    return chosen


def task_scores(
    metric: Metric, model: Any, X: Any, y: AnyArray, task: AnyArray
) -> dict[Any, float]:
    """Return the score of every task on its own rows.

    Parameters
    ----------
    metric : Metric
        The score.
    model : estimator
        Fitted.
    X, y, task
        Rows of all tasks.
    """
    output = model.decision_function if metric.needs_decision else model.predict
    values = np.asarray(output(X, task=task))
    scores = {}
    for name in dict.fromkeys(task.tolist()):
        rows = task == name
        scores[name] = float(metric.score(y[rows], values[rows]))
    return scores
