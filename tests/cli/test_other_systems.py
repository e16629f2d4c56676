"""What Windows does differently: text in an old code, and files that cannot be replaced."""

import io
import os
import sys

import numpy as np
import pandas as pd
import pytest

from kernelhood.cli import main
from tests.cli.tables import plain_table


@pytest.fixture
def folder(tmp_path, capsys):
    """Fit tasks whose names Latin letters cannot spell; return the folder."""
    table = plain_table()
    table["shop"] = table["shop"].map(dict(zip(table["shop"].unique(), "北京ö", strict=True)))
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["--task", "shop", "--target", "sold", "--out", str(tmp_path / "m.skops")]
    assert main(["fit", str(tmp_path / "t.csv"), *words]) == 0
    return tmp_path


@pytest.mark.parametrize("code", ["cp1252", "ascii"])
def test_a_table_on_standard_output_is_utf_8(code, folder, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=code, newline="\r\n"))
    assert main(["predict", str(folder / "m.skops"), str(folder / "t.csv")]) == 0
    content = written.getvalue()
    assert b"\r" not in content
    found = pd.read_csv(io.BytesIO(content), encoding="utf-8")
    np.testing.assert_array_equal(found["task"], pd.read_csv(folder / "t.csv")["shop"])


def test_text_that_the_terminal_cannot_show_is_escaped(folder, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="cp1252"))
    assert main(["inspect", str(folder / "m.skops")]) == 0
    text = written.getvalue().decode("cp1252")
    assert "\\u5317" in text
    assert "ö" in text


@pytest.mark.skipif(os.name != "posix", reason="needs a device")
@pytest.mark.parametrize("command", ["fit", "inspect"])
def test_a_device_is_refused_before_the_work(command, folder, say):
    words = {"fit": ["none.csv", "--task", "a", "--target", "b"], "inspect": ["none.skops"]}
    table = words[command][0]
    code, _, errors = say(command, folder / table, *words[command][1:], "--out", os.devnull)
    assert code == 1
    assert errors == "kernelhood: --out /dev/null is not a regular file; name another.\n"
