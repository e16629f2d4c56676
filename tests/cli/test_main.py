import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from kernelhood.cli import Report, main


def test_list_names_every_data_set_and_the_home(tmp_path, capsys):
    assert main(["data", "list", "--data-home", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert f"data home: {tmp_path}" in output
    for name in ("landmine", "letter", "spam", "sarcos", "load"):
        assert f"\n{name} " in output


def test_check_says_what_is_missing_and_fails(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("KERNELHOOD_DATA", str(tmp_path))
    assert main(["data", "check", "landmine"]) == 1
    output = capsys.readouterr().out
    assert f"missing  {tmp_path / 'landmine' / 'LandmineData.mat'}" in output


def test_fetch_hands_its_arguments_on(monkeypatch, tmp_path):
    calls = []

    class Answer:
        text, good = "done", True

    def report_fetch(*args, **kwargs):
        calls.append((args, kwargs))
        return Answer

    monkeypatch.setattr("kernelhood.cli.data.report_fetch", report_fetch)
    assert main(["data", "fetch", "spam", "--data-home", str(tmp_path), "-q"]) == 0
    assert main(["data", "fetch", "load"]) == 0
    assert calls == [
        (("spam", str(tmp_path)), {"progressbar": False}),
        (("load", None), {"progressbar": True}),
    ]


def test_error_is_one_line_and_exit_code_1(monkeypatch, capsys):
    def report_check(*args):
        raise PermissionError("no entry")

    monkeypatch.setattr("kernelhood.cli.data.report_check", report_check)
    assert main(["data", "check", "spam"]) == 1
    assert capsys.readouterr().err == "kernelhood: no entry\n"


def test_interrupt_is_one_line_and_exit_code_130(monkeypatch, capsys):
    def report_bench(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelhood.cli.bench.report_bench", report_bench)
    assert main(["bench"]) == 130
    assert capsys.readouterr().err == "kernelhood: interrupted\n"


@pytest.mark.parametrize(
    "arguments", [[], ["data"], ["data", "fetch"], ["data", "check", "mnist"], ["dta"]]
)
def test_wrong_usage_is_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: kernelhood" in capsys.readouterr().err


def test_command_is_installed():
    (command,) = entry_points(group="console_scripts", name="kernelhood")
    assert command.load() is main


def test_bench_hands_its_arguments_on(monkeypatch):
    calls = []

    def report_bench(*args, **kwargs):
        calls.append((args, kwargs))
        return Report("done", good=True)

    monkeypatch.setattr("kernelhood.cli.bench.report_bench", report_bench)
    assert main(["bench"]) == 0
    words = "bench letter load --runs 20 --grid paper --metric auc nmse --train-fraction 0.3 -q"
    more = "--methods mt-onmkl --seed 7 --data-home data --out here --jobs 2 --scheduler tcp://h:1"
    more += " --known rows.csv --no-stratify"
    assert main([*words.split(), *more.split()]) == 0
    (first, settings), (second, others) = calls
    assert first == (["digits"], "report")
    assert settings == {
        "known": None,
        "methods": None,
        "runs": 3,
        "metric": None,
        "train_fraction": 0.2,
        "stratify": True,
        "grid": "quick",
        "seed": 0,
        "data_home": None,
        "jobs": -1,
        "scheduler": None,
        "quiet": False,
        "command": "kernelhood bench",
    }
    assert second == (["letter", "load"], "here")
    assert others == {
        "known": "rows.csv",
        "methods": ["mt-onmkl"],
        "runs": 20,
        "metric": ["auc", "nmse"],
        "train_fraction": 0.3,
        "stratify": False,
        "grid": "paper",
        "seed": 7,
        "data_home": "data",
        "jobs": 2,
        "scheduler": "tcp://h:1",
        "quiet": True,
        "command": f"kernelhood {words} {more}",
    }


def test_bench_draws_results_again(monkeypatch, tmp_path, capsys):
    calls = []

    def report_results(*args, **kwargs):
        calls.append((args, kwargs))
        return Report("drawn", good=False)

    monkeypatch.setattr("kernelhood.cli.bench.report_results", report_results)
    assert main(["bench", "--results", "results.csv"]) == 1
    settings = {"methods": None, "command": "kernelhood bench --results results.csv"}
    assert calls == [(("results.csv", None), settings)]
    assert capsys.readouterr().out == "drawn\n"


def test_bench_into_a_place_that_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["bench", "--quiet", "--out", str(tmp_path / "file")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("kernelhood: cannot use the store")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["--grid", "fine"], ["--metric", "f1"], ["--methods", "svm"], ["--runs", "x"]]
)
def test_bench_with_wrong_arguments_is_exit_code_2(arguments):
    with pytest.raises(SystemExit) as caught:
        main(["bench", *arguments])
    assert caught.value.code == 2


def test_bench_with_an_unknown_data_set_is_one_line(capsys):
    assert main(["bench", "mnist"]) == 1
    assert "datasets='mnist' is unknown; give names among digits" in capsys.readouterr().err


def test_python_runs_the_package_as_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "kernelhood", "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("usage: kernelhood ")
