from importlib.metadata import entry_points

import pytest

from kernelhood.cli import main


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

    monkeypatch.setattr("kernelhood.cli.report_fetch", report_fetch)
    assert main(["data", "fetch", "spam", "--data-home", str(tmp_path), "-q"]) == 0
    assert main(["data", "fetch", "load"]) == 0
    assert calls == [
        (("spam", str(tmp_path)), {"progressbar": False}),
        (("load", None), {"progressbar": True}),
    ]


def test_error_is_one_line_and_exit_code_1(monkeypatch, capsys):
    def report_check(*args):
        raise PermissionError("no entry")

    monkeypatch.setattr("kernelhood.cli.report_check", report_check)
    assert main(["data", "check", "spam"]) == 1
    assert capsys.readouterr().err == "kernelhood: no entry\n"


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
