"""scikit-learn's own checks: both estimators as they come, and in the other formulations."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelhood as kh

CLOSE_NOT_EQUAL = (
    "Weights of samples enter C, the traces and the Frobenius products, so that a weight of two is "
    "a sample repeated. But a relative gap of tol fixes predictions only to about sqrt(tol), and "
    "this check compares seven digits."
)

DEFAULTS = [kh.MTONMKLClassifier(), kh.MTONMKLRegressor()]
OTHERS = [
    kh.MTONMKLClassifier(formulation="printed", tol=1e-13),
    kh.MTONMKLClassifier(formulation="normalized", tol=1e-9),
    kh.MTONMKLRegressor(formulation="printed"),
    kh.MTONMKLRegressor(formulation="normalized", beta=1e-3),
]


def expected_failures(estimator):
    """Return the checks that fail, with the reason; there is none for the defaults."""
    if isinstance(estimator, kh.MTONMKLRegressor) and estimator.formulation != "corrected":
        return {
            "check_sample_weight_equivalence_on_dense_data": CLOSE_NOT_EQUAL,
            "check_sample_weight_equivalence_on_sparse_data": CLOSE_NOT_EQUAL,
        }
    return {}


def test_the_defaults_have_no_expected_failures():
    assert [expected_failures(estimator) for estimator in DEFAULTS] == [{}, {}]


@parametrize_with_checks([*DEFAULTS, *OTHERS], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", DEFAULTS, ids=repr)
def test_tags_say_what_the_estimators_take(estimator):
    tags = estimator.__sklearn_tags__()
    assert tags.input_tags.sparse
    assert tags.target_tags.required
    assert tags.target_tags.multi_output
