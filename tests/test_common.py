"""scikit-learn's checks of every estimator as it comes."""

import pytest

import kernelhood as kh
from kernelhood.estimators import METHODS
from tests.scikit_learn_checks import every_check

DEFAULTS = [kh.MTONMKLClassifier(), kh.MTONMKLRegressor()]


# What methods have of their own is the same for both kinds: the peers take turns.
TURNS = [
    pair[k % 2]() for k, pair in enumerate(METHODS.values()) if pair[0] != kh.MTONMKLClassifier
]


@every_check(*DEFAULTS, *TURNS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@every_check(kh.PooledClassifier(), kh.PooledRegressor())
def test_scikit_learn_checks_of_baselines(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", DEFAULTS, ids=repr)
def test_tags_say_what_the_estimators_take(estimator):
    tags = estimator.__sklearn_tags__()
    assert tags.input_tags.sparse
    assert tags.target_tags.required
    assert tags.target_tags.multi_output
