"""scikit-learn's checks of estimators, but for what a duality gap cannot promise."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

#: They compare predictions to seven digits. A relative gap of tol fixes predictions to about
#: sqrt(tol): scikit-learn's own SVC and SVR do not pass either. That a weight of two is a sample
#: repeated is tested by objectives in tests/estimators/test_all_methods.py.
SEVEN_DIGITS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def every_check(*estimators, only=None):
    """Return a decorator that calls a test with each estimator and check; `only` names some."""
    cases = []
    for one in estimators:
        for estimator, check in estimator_checks_generator(one):
            name = check.func.__name__
            if name not in SEVEN_DIGITS and (only is None or name in only):
                settings = ",".join(map(str, check.keywords.values()))
                label = f"{type(one).__name__}-{name}({settings})"
                cases.append(pytest.param(estimator, check, id=label))
    return pytest.mark.parametrize(("estimator", "check"), cases)
