from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelhood as kh


@parametrize_with_checks([kh.MTONMKLClassifier(), kh.MTONMKLRegressor()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
