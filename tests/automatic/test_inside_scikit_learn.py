"""What scikit-learn does with an estimator it does with one that chooses for itself."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import DataConversionWarning
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.preprocessing import StandardScaler

import kernelhood as kh
from tests.references import make_samples

QUICK = {"kernels": "small", "formulation": "corrected", "cv": 2, "grid": {"relation": ["mixed"]}}
REGRESSOR = kh.MTONMKLRegressorCV(task_column="site", loss="squared", **QUICK)
FOLDS = kh.TaskStratifiedKFold(2, task_column="site")


@pytest.fixture(scope="module")
def samples():
    return make_samples("regression", sizes=(18, 15, 12))


@pytest.fixture(scope="module")
def frame(samples):
    return pd.DataFrame(samples.X, columns=["a", "b", "c"]).assign(site=samples.task)


@pytest.fixture(scope="module")
def fitted(frame, samples):
    return clone(REGRESSOR).fit(frame, samples.y)


def test_importance_and_dependence(samples, fitted, frame):
    found = permutation_importance(fitted, frame, samples.y, n_repeats=2, random_state=0)
    assert found.importances_mean.shape == (4,)
    assert found.importances_mean.max() > 0.1
    curve = partial_dependence(fitted, frame, ["a"], grid_resolution=4)
    at = [fitted.predict(frame.assign(a=value)).mean() for value in curve["grid_values"][0]]
    np.testing.assert_allclose(curve["average"][0], at)


def test_tasks_that_were_not_seen(samples, frame, fitted):
    new = frame.assign(site="new")
    with pytest.warns(UserWarning, match="not seen in fit: 'new'") as heard:
        found = fitted.predict(new)
    assert len(heard) == 1
    settings = {**QUICK, "grid": {"relation": ["independent", "mixed"]}}
    shared = clone(REGRESSOR).set_params(**settings, unseen_task="shared").fit(frame, samples.y)
    np.testing.assert_allclose(shared.predict(new), found)
    strict = clone(REGRESSOR).set_params(unseen_task="error").fit(frame, samples.y)
    with pytest.raises(ValueError, match="not seen in fit: 'new'.* unseen_task='shared' predicts"):
        strict.predict(new)
    alone = clone(REGRESSOR).set_params(relation="independent", unseen_task="shared")
    with pytest.raises(ValueError, match="unseen_task='shared' needs a relation with a common"):
        alone.fit(frame, samples.y)


def test_calibration(samples, frame):
    y = np.where(samples.y > np.median(samples.y), "high", "low")
    model = kh.MTONMKLClassifierCV(task_column="site", probability=True, **QUICK)
    calibrated = CalibratedClassifierCV(model, cv=FOLDS).fit(frame, y)
    np.testing.assert_allclose(calibrated.predict_proba(frame).sum(axis=1), 1.0)
    assert np.mean(calibrated.predict(frame) == y) > 0.8


def test_a_transformed_target_around(samples, fitted, frame):
    y = 1000.0 * samples.y + 5000.0
    around = TransformedTargetRegressor(REGRESSOR, transformer=StandardScaler()).fit(frame, y)
    # Targets are standardised inside: their units change nothing.
    expected = 1000.0 * fitted.predict(frame) + 5000.0
    np.testing.assert_allclose(around.predict(frame), expected, rtol=1e-6)


def test_columns_of_targets_and_tasks(samples, fitted, frame):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed") as heard:
        model = clone(REGRESSOR).fit(frame, samples.y[:, None])
    assert len(heard) == 1
    np.testing.assert_allclose(model.predict(frame), fitted.predict(frame))
    inputs = frame[["a", "b", "c"]]
    beside = clone(REGRESSOR).set_params(task_column=None)
    beside.fit(inputs, samples.y, task=frame[["site"]])
    found = beside.predict(inputs, task=frame[["site"]])
    np.testing.assert_allclose(found, fitted.predict(frame))


@pytest.mark.parametrize(
    "model",
    [
        kh.MTONMKLClassifierCV(**QUICK),
        kh.KernelSearchCV(kh.MTONMKLClassifier(), {"C": [1.0]}, cv=2),
    ],
    ids=["self-tuned", "search"],
)
def test_none_is_no_class(model):
    with pytest.raises(ValueError, match="y holds None in 1 rows, the first of them row 2"):
        model.fit(np.arange(8.0)[:, None], ["a", "b", None, "a", "b", "a", "b", "a"])
