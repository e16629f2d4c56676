"""What a model tells of the classes that were true, where the classes of tasks may differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelhood._typing import AnyArray


def true_probabilities(model: Any, X: Any, y: AnyArray, task: AnyArray) -> AnyArray:
    """Return the probability that a model tells for every row's true class.

    Parameters
    ----------
    model : classifier
        Fitted, with `predict_proba`.
    X, y, task
        Rows of all tasks.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    told, classes = model.predict_proba(X, task=task), model.classes_
    each = classes if isinstance(classes, list) else [classes] * len(model.tasks_)
    places = {
        (name, label): place
        for name, own in zip(model.tasks_, each, strict=True)
        for place, label in enumerate(own.tolist())
    }
    columns = [places[key] for key in zip(task.tolist(), y.tolist(), strict=True)]
    return np.asarray(told[np.arange(len(y)), columns])
