"""Files are written whole or not at all, whatever happens meanwhile and on whatever system."""

import errno
import io
import os
import stat
import subprocess
import sys

import pytest

from kernelhood import _support
from kernelhood._support import whole_file


def test_an_error_leaves_what_was_there(tmp_path):
    place = tmp_path / "file"
    place.write_text("old")
    with pytest.raises(TypeError), whole_file(place) as file:
        file.write(b"half") and file.write("no bytes")
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
def test_others_may_read_it_as_the_umask_says(tmp_path):
    before = os.umask(0o027)
    try:
        with whole_file(tmp_path / "file") as file:
            file.write(b"all")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_the_place_is_empty_until_all_is_written(tmp_path):
    with whole_file(tmp_path / "file") as file:
        file.write(b"all")
        assert not (tmp_path / "file").exists()
    assert (tmp_path / "file").read_bytes() == b"all"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG])
def test_a_full_disk_leaves_what_was_there_and_names_the_file(code, tmp_path, monkeypatch):
    class Full(io.FileIO):
        def write(self, content):
            super().write(content[:3])
            raise OSError(code, os.strerror(code))

    place = tmp_path / "file"
    place.write_text("old")
    monkeypatch.setattr(_support, "open", Full, raising=False)
    with pytest.raises(OSError, match="'.*file'") as caught, whole_file(place) as file:
        file.write(b"all of it")
    assert (caught.value.errno, caught.value.filename) == (code, str(place))
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_limit_of_the_system_leaves_what_was_there(tmp_path):
    resource = pytest.importorskip("resource")
    place = tmp_path / "file"
    place.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, hard))
        with pytest.raises(OSError, match="large"), whole_file(place) as file:
            file.write(bytes(2**17))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("moment", ["file.write", "file.flush", "os.fsync", "os.replace"])
def test_a_process_that_ends_at_any_moment_leaves_what_was_there(moment, tmp_path):
    place = tmp_path / "file"
    place.write_text("old")
    # SIGKILL and, on Windows, what comes nearest to it: nothing of Python is run any more.
    source = """
import os, signal, sys
from kernelhood._support import whole_file

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL) if hasattr(signal, "SIGKILL") else os._exit(1)

moment = sys.argv[2]
if moment.startswith("os."):
    setattr(os, moment.removeprefix("os."), die)
with whole_file(sys.argv[1]) as file:
    file.write(b"half")
    if moment == "file.flush":
        file.flush()
    if moment.startswith("file."):
        die()
"""
    ended = subprocess.run([sys.executable, "-c", source, place, moment], check=False)
    assert ended.returncode not in (0, 2)
    assert place.read_text() == "old"
    assert [name for name in os.listdir(tmp_path) if not name.endswith(".part")] == ["file"]


@pytest.mark.parametrize("times", [0, 3, 4])
def test_windows_waits_for_a_reader_of_the_old_file(times, tmp_path, monkeypatch):
    replace, pauses, refused = os.replace, [], []

    def refuse(*arguments):
        if len(refused) < times:
            refused.append(arguments)
            raise PermissionError(errno.EACCES, "in use")
        replace(*arguments)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(_support.time, "sleep", pauses.append)
    place = tmp_path / "file"
    place.write_text("old")
    if times < 4:
        with whole_file(place) as file:
            file.write(b"new")
    else:
        with pytest.raises(PermissionError), whole_file(place) as file:
            file.write(b"new")
    assert place.read_text() == ("old" if times == 4 else "new")
    assert len(pauses) == min(times, 3)
    assert os.listdir(tmp_path) == ["file"]


def test_a_refusal_is_not_repeated_elsewhere(tmp_path, monkeypatch):
    refused = []

    def refuse(*arguments):
        refused.append(arguments)
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError), whole_file(tmp_path / "file") as file:
        file.write(b"new")
    assert len(refused) == 1
    assert os.listdir(tmp_path) == []


def test_the_longest_name_of_a_file_can_be_written(tmp_path):
    name = "x" * 250
    with whole_file(tmp_path / name) as file:
        file.write(b"all")
    assert os.listdir(tmp_path) == [name]


def test_what_a_link_points_to_is_written(tmp_path):
    try:
        (tmp_path / "link").symlink_to(tmp_path / "file")
    except OSError:
        pytest.skip("links are not allowed here")
    with whole_file(tmp_path / "link") as file:
        file.write(b"all")
    assert (tmp_path / "file").read_bytes() == b"all"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
def test_a_device_or_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(OSError, match="not a regular file"),
        whole_file(tmp_path / "pipe"),
    ):
        pass
    assert (tmp_path / "pipe").is_fifo()
