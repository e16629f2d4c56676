"""scikit-learn's meta-estimators pass `task` and `occasion` on, or find tasks in a column of X."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.feature_selection import RFE, SelectFromModel, SequentialFeatureSelector
from sklearn.linear_model import RANSACRegressor
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelhood as kh

N = 24
ROWS = np.random.default_rng(0).uniform(-1.0, 1.0, size=(N, 2))
TASK, OCCASION = np.tile(["a", "b"], N // 2), np.repeat(np.arange(N // 4), 4)
VALUES = ROWS[:, 0] + 0.2 * ROWS[:, 1]
CLASSES = (np.sin(3.0 * np.arange(N)) > 0).astype(int)
REQUESTED = {"task": TASK, "occasion": OCCASION}


class Noting:
    """An estimator that notes what reaches `fit`."""

    seen = []

    def fit(self, X, y, *, task=None, occasion=None, sample_weight=None):
        self.seen.append((len(X), task, occasion))
        return super().fit(X, y, task=task, occasion=occasion, sample_weight=sample_weight)


class Regressor(Noting, kh.KernelhoodRegressor):
    pass


class Classifier(Noting, kh.KernelhoodClassifier):
    pass


def requesting(kind):
    model = kind().set_fit_request(task=True, occasion=True)
    return model.set_predict_request(task=True).set_score_request(task=True)


def ranks(model):
    return np.arange(model.n_features_in_)


ROUTING = {
    "Pipeline": lambda one: make_pipeline(StandardScaler(), one),
    "GridSearchCV": lambda one: GridSearchCV(one, {"tol": [1e-3]}, cv=2),
    "BaggingRegressor": lambda one: BaggingRegressor(one, 2, random_state=0),
    "VotingRegressor": lambda one: VotingRegressor([("one", one)]),
    "TransformedTargetRegressor": TransformedTargetRegressor,
    "RegressorChain": RegressorChain,
    "RFE": lambda one: RFE(one, importance_getter=ranks),
    "SelectFromModel": lambda one: SelectFromModel(one, importance_getter=ranks),
    "SequentialFeatureSelector": lambda one: SequentialFeatureSelector(
        one, n_features_to_select=1, cv=2
    ),
    "OneVsRestClassifier": OneVsRestClassifier,
    "FixedThresholdClassifier": FixedThresholdClassifier,
}
#: scikit-learn does not pass metadata on to their predictions.
BY_COLUMN = {
    "StackingRegressor": lambda one: StackingRegressor([("one", one)], cv=2),
    "RANSACRegressor": lambda one: RANSACRegressor(
        one, min_samples=0.8, max_trials=2, random_state=0
    ),
    "CalibratedClassifierCV": lambda one: CalibratedClassifierCV(one, cv=2),
    "TunedThresholdClassifierCV": lambda one: TunedThresholdClassifierCV(one, cv=2),
}


@pytest.fixture(autouse=True)
def _routing(monkeypatch):
    monkeypatch.setattr(Noting, "seen", [])
    with config_context(enable_metadata_routing=True):
        yield


def target(name):
    if "Classifier" in name:
        return CLASSES
    return np.column_stack([VALUES, -VALUES]) if name == "RegressorChain" else VALUES


def check_what_was_seen():
    assert Noting.seen
    for n_rows, task, occasion in Noting.seen:
        assert len(task) == len(occasion) == n_rows
        assert set(task) == {"a", "b"}


@pytest.mark.parametrize("name", ROUTING)
def test_fits_inside_know_task_and_occasion(name):
    kind = Classifier if "Classifier" in name else Regressor
    ROUTING[name](requesting(kind)).fit(ROWS, target(name), **REQUESTED)
    check_what_was_seen()


@pytest.mark.parametrize(
    ("judge", "options"), [(cross_val_score, {}), (learning_curve, {"train_sizes": [1.0]})]
)
def test_folds_know_task_and_occasion(judge, options):
    judge(requesting(Regressor), ROWS, VALUES, cv=2, params=REQUESTED, **options)
    check_what_was_seen()


@pytest.mark.parametrize("name", BY_COLUMN)
def test_where_predictions_get_no_metadata_a_column_names_the_task(name):
    kind = kh.KernelhoodClassifier if "Classifier" in name else kh.KernelhoodRegressor
    numbered = np.column_stack([ROWS, TASK == "a"])
    with pytest.raises(ValueError, match="task is needed: the model knows the tasks"):
        BY_COLUMN[name](requesting(kind)).fit(ROWS, target(name), **REQUESTED)
    model = BY_COLUMN[name](kind(task_column=2)).fit(numbered, target(name))
    assert model.predict(numbered).shape == (N,)


def test_predictions_of_folds_need_a_column_too():
    with pytest.raises(ValueError, match="task is needed"):
        cross_val_predict(requesting(Regressor), ROWS, VALUES, cv=2, params=REQUESTED)
    numbered = np.column_stack([ROWS, TASK == "a"])
    model = kh.KernelhoodRegressor(task_column=2)
    assert cross_val_predict(model, numbered, VALUES, cv=2).shape == (N,)
