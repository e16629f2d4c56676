"""The score of a fitted model on each task."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import AnyArray
from kernelhood.calibration.true_classes import true_probabilities
from kernelhood.experiments.protocol import Metric


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
    if metric.needs_probability:
        values = true_probabilities(model, X, y, task)
    else:
        output = model.decision_function if metric.needs_decision else model.predict
        values = np.asarray(output(X, task=task))
    scores = {}
    for name in dict.fromkeys(task.tolist()):
        rows = task == name
        scores[name] = float(metric.score(y[rows], values[rows]))
    return scores
