from pathlib import Path

import pytest

from kernelhood.datasets import get_data_home
from kernelhood.datasets._files import _user_cache, find_file


def test_argument_comes_before_variable_before_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELHOOD_DATA", "/variable")
    assert get_data_home(tmp_path) == tmp_path
    assert get_data_home() == Path("/variable")
    # The Makefile exports an empty variable where there is no data.
    monkeypatch.setenv("KERNELHOOD_DATA", "")
    monkeypatch.setattr("kernelhood.datasets._files.sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert get_data_home() == Path("/cache/kernelhood")


def test_tilde_is_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    assert get_data_home("~/data") == Path("/home/someone/data")


def test_wrong_type_is_named():
    with pytest.raises(TypeError, match="data_home=3"):
        get_data_home(3)


@pytest.mark.parametrize(
    ("platform", "end"),
    [
        ("linux", ".cache/kernelhood"),
        ("darwin", "Library/Caches/kernelhood"),
        ("win32", "AppData/Local/kernelhood"),
    ],
)
def test_cache_folder_of_each_platform(platform, end, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert _user_cache(platform).as_posix() == f"/home/someone/{end}"


def test_first_name_wins_and_all_names_are_reported(tmp_path):
    (tmp_path / "b").touch()
    assert find_file(tmp_path, ["a", "b"], "letter") == tmp_path / "b"
    (tmp_path / "a").touch()
    assert find_file(tmp_path, ["a", "b"], "letter") == tmp_path / "a"
    with pytest.raises(FileNotFoundError, match=r"c does not exist \(nor d\)"):
        find_file(tmp_path, ["c", "d"], "letter")
