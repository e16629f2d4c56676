import io

import pytest

from kernelhood.experiments.display import Bars, Lines, Silent, describe, make_display
from kernelhood.experiments.job import Job, empty_row

rich_console = pytest.importorskip("rich.console")

JOBS = [Job("digits", "mt-onmkl", run, 0, "accuracy", 0.2, "quick") for run in range(2)]


def make_row(job, **more):
    return {**empty_row(job), "score": 0.5, "seconds": 1.26, **more}


def test_rows_in_a_few_words():
    assert describe(make_row(JOBS[0]), False) == "Digits MT-ONMKL run 0: accuracy 50.00 % (1.3 s)"
    assert describe(make_row(JOBS[0]), True).endswith("50.00 % (already there)")
    assert describe(make_row(JOBS[0], metric="mse"), True).endswith("mse 0.5 (already there)")
    failed = empty_row(JOBS[1], "ValueError: no")
    assert describe(failed, False) == "Digits MT-ONMKL run 1: failed, ValueError: no"


def test_plain_lines_count(capsys):
    with make_display(JOBS, quiet=False) as display:
        assert isinstance(display, Lines)
        for job in JOBS:
            display.show(make_row(job), False)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("[1/2] Digits MT-ONMKL run 0")
    assert second.startswith("[2/2] Digits MT-ONMKL run 1")


def test_quiet_says_nothing(capsys):
    with make_display(JOBS, quiet=True) as display:
        assert isinstance(display, Silent)
        display.show(make_row(JOBS[0]), False)
    assert capsys.readouterr().out == ""


def test_a_terminal_gets_bars_and_the_last_results():
    screen = io.StringIO()
    console = rich_console.Console(file=screen, force_terminal=True, width=100)
    with Bars(JOBS, console) as display:
        for job in JOBS:
            display.show(make_row(job), False)
    shown = screen.getvalue()
    assert "Digits" in shown
    assert "2/2" in shown
    assert "run 1: accuracy 50.00 %" in shown


def test_a_terminal_is_noticed(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert isinstance(make_display(JOBS, quiet=False), Bars)
