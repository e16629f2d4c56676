import numpy as np
import pytest
from scipy import sparse

from kernelhood.paper.protocol import LOADERS, check_datasets, fingerprint, kind_of, load
from tests.paper.tiny import make_tiny


def test_names_and_data_of_ones_own():
    assert check_datasets("digits") == {"digits": None}
    mine = check_datasets({"mine": make_tiny("regression")})
    assert kind_of("mine", mine["mine"]) == "regression"
    assert kind_of("load", None) == "regression"
    assert kind_of("spam", None) == "classification"


def test_kind_can_be_said_where_targets_leave_it_open(tiny):
    counts = {"X": tiny.X, "y": np.arange(len(tiny.y)), "task": tiny.task, "kind": "regression"}
    samples = check_datasets({"counts": counts})["counts"]
    assert samples.kind == "regression"
    assert np.array_equal(samples.sample_id, np.arange(len(tiny.y)))
    with pytest.raises(ValueError, match="has kind='ranking'; give 'classification' or"):
        check_datasets({"counts": {**counts, "kind": "ranking"}})


def test_errors_name_the_data_set(tiny):
    with pytest.raises(ValueError, match="datasets='mnist' is unknown; give names among digits"):
        check_datasets(["digits", "mnist"])
    with pytest.raises(ValueError, match="datasets is empty"):
        check_datasets([])
    with pytest.raises(ValueError, match="'mine' must be a mapping with X, y and task"):
        check_datasets({"mine": {"X": tiny.X}})
    with pytest.raises(ValueError, match="'mine' must have one row for each sample"):
        check_datasets({"mine": {"X": tiny.X, "y": tiny.y[1:], "task": tiny.task}})


def test_digits_are_loaded_and_kept():
    assert load("digits", None, 1) is load("digits", None, 1)
    assert load("digits", None, 1).X.shape == (2873, 64)


def test_seed_and_home_reach_the_loaders(monkeypatch):
    calls = []
    for name in ("landmine", "letter", "spam", "sarcos", "load"):
        monkeypatch.setattr(
            f"kernelhood.datasets.load_{name}",
            lambda home, *, random_state: calls.append((home, random_state)),
        )
        LOADERS[name][0]("home", 7)
    assert calls == [("home", 7)] * 5


def test_fingerprint_sees_every_part(tiny):
    plain = {name: tiny[name] for name in ("X", "y", "task", "sample_id")}
    changes = {
        "X": tiny.X + 1e-9,
        "y": -tiny.y,
        "task": tiny.task[::-1],
        "sample_id": tiny.sample_id[::-1],
    }
    found = {fingerprint(check_datasets({"a": plain})["a"])}
    for name, value in changes.items():
        found.add(fingerprint(check_datasets({"a": {**plain, name: value}})["a"]))
    found.add(fingerprint(check_datasets({"a": {**plain, "X": sparse.csr_matrix(tiny.X)}})["a"]))
    assert len(found) == 6
