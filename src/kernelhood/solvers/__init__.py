"""Arrays in, arrays out: nothing here knows of estimators, tasks or scikit-learn."""
