"""
A table, a pipeline, a search
=============================

With ``task_column`` the tasks are a column of the table, and everything that scikit-learn offers
for tables works: encoders, imputers, pipelines, searches.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import kernelhood as kh

rng = np.random.default_rng(0)
n = 240
table = pd.DataFrame(
    {
        "area": rng.gamma(4.0, 20.0, n),
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(0.0, 80.0, n)),
        "heating": rng.choice(["gas", "oil", "pump"], n),
        "town": rng.choice(["Aachen", "Bonn", "Celle", "Dessau"], n),
    }
)
base = table["town"].map({"Aachen": 3.0, "Bonn": 4.0, "Celle": 2.0, "Dessau": 1.5})
rent = base * table["area"] + 20.0 * (table["heating"] == "pump") + rng.normal(0.0, 15.0, n)
rent = rent / 100.0  # in hundreds

prepare = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), ["area", "age"]),
    (OneHotEncoder(sparse_output=False), ["heating"]),
    remainder="passthrough",
    verbose_feature_names_out=False,
).set_output(transform="pandas")
bank = [
    kh.Linear(columns=["area"]),
    kh.Gaussian(1.0, columns=["age"]),
    kh.Linear(columns=["heating_gas", "heating_oil", "heating_pump"]),
]
regressor = kh.MTONMKLRegressor(
    kernels=bank, task_column="town", formulation="corrected", relation="mixed", C=10.0
)
pipeline = make_pipeline(prepare, regressor)
search = GridSearchCV(pipeline, {"mtonmklregressor__beta": [0.01, 0.1, 1.0, 10.0]}, cv=3)
search.fit(table, rent)
print(search.best_params_, f"score in cross-validation {search.best_score_:.2f}")

# %%
# Weights are prices, not effects: the constant kernel carries what towns differ in throughout.
figure = search.best_estimator_[-1].plot_weights().figure
