"""A few of the examples of tests/fuzz.py."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import fuzz

QUICK = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@settings(QUICK, max_examples=15)
@given(fuzz.tables(), fuzz.OPTIONS)
def test_tables_end_in_a_model_or_in_one_line(tmp_path, table, options):
    fuzz.check_table(tmp_path, *table, options)


@settings(QUICK, max_examples=20)
@given(st.integers(0, 2**62))
def test_changed_models_end_in_an_answer_or_in_one_line(shops, tmp_path, number):
    fuzz.check_model(tmp_path, shops / "model.skops", shops / "shops.csv", number, "shop")


@settings(QUICK, max_examples=20)
@given(st.binary(max_size=300))
def test_garbage_for_a_model(tmp_path, content):
    (tmp_path / "m.skops").write_bytes(content)
    code, errors = fuzz.run("inspect", tmp_path / "m.skops")
    assert code == 1
    assert "m.skops is " in errors


def test_parts_that_do_not_fit_together_are_named(shops, tmp_path, say):
    def change(name, part):
        return fuzz.with_array(part, lambda array: array[..., :0]) if name.endswith("npy") else part

    content = fuzz.repacked((shops / "model.skops").read_bytes(), change)
    (tmp_path / "m.skops").write_bytes(content)
    code, _, errors = say("predict", tmp_path / "m.skops", shops / "shops.csv")
    assert code == 1
    assert "m.skops is damaged: its parts do not fit together (" in errors


def test_the_watch_sees_code_that_is_run():
    watch = fuzz.Watch()
    with pytest.raises(AssertionError, match="os.system"), watch():
        os.system("")
