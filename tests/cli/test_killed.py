"""A kill leaves no half-written file under the name that was asked for."""

import os
import signal
import time

import pytest

import kernelhood as kh
from kernelhood.cli import main
from tests.cli.tables import plain_table

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def killed(arguments, seconds):
    """Run a command in a fork of this process and kill it; return whether it was still running."""
    child = os.fork()
    if child == 0:
        # What the command says belongs to nobody.
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os._exit(main(arguments))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def moments(arguments, out):
    """Yield after each of some kills, spread over the time that the command takes."""
    assert main(arguments) == 0  # compiles, which a fork does not do again
    began = time.perf_counter()
    assert main(arguments) == 0
    duration = time.perf_counter() - began
    out.unlink()
    caught = 0
    for share in (0.1, 0.2, 0.5, 0.9):
        caught += killed(arguments, share * duration)
        yield
        out.unlink(missing_ok=True)
    assert caught > 1


def test_fit_is_whole_or_not_there(shops, tmp_path, capsys):
    out = tmp_path / "model.skops"
    words = ["--task", "shop", "--target", "sold", "--out"]
    for _ in moments(["fit", str(shops / "shops.csv"), *words, str(out)], out):
        if out.exists():
            assert kh.load(out).record["rows"] == 48


def test_predict_is_whole_or_not_there(shops, tmp_path, capsys):
    table = plain_table()
    many, out = tmp_path / "many.csv", tmp_path / "p.csv"
    type(table)({name: table[name].tolist() * 400 for name in table}).to_csv(many, index=False)
    words = ["predict", str(shops / "model.skops"), str(many), "-q", "--out", str(out)]
    for _ in moments(words, out):
        if out.exists():
            assert out.read_text().count("\n") == 19_201


def test_a_file_that_was_there_before_survives(shops, tmp_path, capsys):
    out = tmp_path / "model.skops"
    out.write_text("before")
    words = ["--task", "shop", "--target", "sold", "--out"]
    assert killed(["fit", str(shops / "shops.csv"), *words, str(out)], 0.05)
    assert out.read_text() == "before"
