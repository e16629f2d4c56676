import os
import stat

import pytest

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
