"""Choices that are judged by halves of the rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

import kernelhood as kh
from kernelhood.estimators import kernelhood, training_rows, trust
from kernelhood.estimators import model_choice as halves
from kernelhood.solvers import likelihoods
from kernelhood.solvers.gaussian import Level, Model, Point, Terms, maximise_evidence


def test_logits_are_as_large_as_halves_of_the_rows_say(monkeypatch):
    """With sixty columns the bound of the evidence makes logits much too small."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(800, 60)), np.arange(800) % 4
    slopes = 10.0 * rng.normal(size=60) / np.sqrt(60.0)
    labels = rng.random(800) < expit(X @ slopes)
    train, test = slice(0, 300), slice(300, 800)
    losses = []
    for factors in (halves.FACTORS, (1.0,)):
        monkeypatch.setattr(halves, "FACTORS", factors)
        model = kh.KernelhoodClassifier().fit(X[train], labels[train], task=task[train])
        losses.append(log_loss(labels[test], model.predict_proba(X[test], task=task[test])))
    assert losses[0] < 0.9 * losses[1]


def test_terms_that_only_fit_noise_are_left_out(monkeypatch):
    """Twenty columns of noise have a surface of all columns that three columns do not need."""
    rng = np.random.default_rng(1)
    X, task = rng.normal(size=(600, 20)), np.arange(600) % 5
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=600)
    chosen = {}

    def spied(model, sets, *rest):
        chosen["kept"] = halves.best_terms(model, sets, *rest)
        chosen["whole"] = ~sets[-1]
        return chosen["kept"]

    monkeypatch.setattr(kernelhood, "best_terms", spied)
    model = kh.KernelhoodRegressor().fit(X[:300], y[:300], task=task[:300])
    off = np.flatnonzero(~chosen["kept"])
    assert np.all(model.weights_[:, off[off > 0]] == 0.0)
    assert model.score(X[300:], y[300:], task=task[300:]) > 0.8


def test_surfaces_stay_if_they_are_needed():
    rng = np.random.default_rng(2)
    X, task = rng.normal(size=(800, 2)), np.arange(800) % 4
    y = np.sin(2.0 * X[:, 0] * X[:, 1]) + 0.1 * rng.normal(size=800)
    model = kh.KernelhoodRegressor().fit(X[:400], y[:400], task=task[:400])
    assert model.score(X[400:], y[400:], task=task[400:]) > 0.7


def test_few_rows_decide_nothing():
    bank = [np.ones(3, dtype=bool), np.zeros(3, dtype=bool)]

    class Few:
        z = np.zeros((10, 1))

    assert halves.best_terms(Few(), bank, None, None, 1e-3) is bank[0]
    assert halves.best_logits(Few(), bank, None, ["fit"], 1e-3) == (bank[0], "fit", 1.0)


def test_sets_of_terms():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    model = kh.KernelhoodRegressor().fit(frame, frame["a"], task=np.arange(50) % 2)
    bank = model._function.scaled.bank
    everything, whole, single = halves.banks(bank)
    names = np.array(bank.names)
    assert everything.all()
    assert all("all columns" in name for name in names[whole])
    assert not any("all columns" in name for name in names[single])
    one = kh.KernelhoodRegressor().fit(frame[["a"]], frame["a"])._function.scaled.bank
    assert [len(kept) for kept in halves.banks(one)] == [len(one.names)]


def test_twins_in_other_tasks_do_not_count_as_knowledge(monkeypatch):
    """Four tasks see the same rows: left alone, each would be predicted by its twins."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 8))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=600)
    train = np.tile(X[:100], (4, 1)), np.tile(y[:100], 4) + 0.01 * rng.normal(size=400)
    first = np.zeros(500, dtype=int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kh.KernelhoodRegressor().fit(*train, task=np.repeat(np.arange(4), 100))
    covered = []
    for events in (training_rows.same_events, lambda E, z, task: np.arange(len(E))):
        monkeypatch.setattr(trust, "same_events", events)
        model._known_scores = {}
        ends = model.predict_interval(X[100:], task=first, coverage=0.9)
        covered.append(np.mean((ends[:, 0] <= y[100:]) & (y[100:] <= ends[:, 1])))
    assert covered[0] > max(0.8, covered[1] + 0.03)


def test_rows_of_one_event_are_in_one_half():
    rng = np.random.default_rng(0)
    rows = np.tile(rng.normal(size=(20, 5)), (2, 1))
    event = training_rows.same_events(rows[:, 1:], rows[:, :1], np.repeat([0, 1], 20))
    assert np.array_equal(event, np.tile(np.arange(20), 2))
    terms = Terms(np.ones((40, 1)), np.array([1]), np.empty((0, 40, 40)))
    level = Level(np.zeros(40, dtype=int), np.ones(1, dtype=bool))
    _, (odd, even) = halves._halves(Model(terms, [level], rows[:, :1], rows[:, :1], 0.1), event)
    assert len(odd) == len(even) == 20
    assert not set(event[odd]) & set(event[even])


def test_weights_of_labels_as_numbers_are_taken_if_they_predict_better():
    """A bound that switches everything off is no reason to know nothing."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 1))
    terms = Terms(np.hstack([np.ones((200, 1)), x]), np.array([1, 1]), np.empty((0, 200, 200)))
    level = Level(np.zeros(200, dtype=int), np.array([False, True]))
    model = Model(terms, [level], np.sign(x), np.ones((200, 1)), 0.01)

    def nothing(part, theta, tol, max_iter):
        found = likelihoods.fit_labels(part, theta, tol, max_iter)
        return found._replace(point=Point(found.point.model, np.array([1e-6, 1.0])))

    sets, event = [np.ones(2, dtype=bool)], np.arange(200)
    kept, fit, factor = halves.best_logits(
        model, sets, event, (nothing, likelihoods.fit_labels), 1e-3
    )
    assert kept.all()
    assert fit is likelihoods.fit_labels
    assert factor >= 1.0
    found = fit(model, model.start(), 1e-3, 50)
    numbers = model.with_targets((model.z - model.z.mean()) / model.z.std(), model.noise)
    expected = maximise_evidence(numbers, model.start(), tol=1e-3)[0]
    np.testing.assert_allclose(found.point.theta[:-1], 8.0 * expected.theta[:-1], rtol=1e-6)
    assert found.gap == pytest.approx(expected.gap)
