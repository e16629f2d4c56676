import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import savemat

from kernelhood.datasets import DataFileError
from kernelhood.datasets._files import read_csv, read_mat, read_text, to_numbers


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.csv"


def test_cut_gzip_names_the_line_where_it_ends(tmp_path):
    path = tmp_path / "lines.gz"
    whole = gzip.compress(bytes(np.random.default_rng(0).integers(48, 58, 100_000, np.uint8)))
    for damaged in (whole[:-4], whole[: len(whole) // 2], b"no gzip at all", b"", whole[:5]):
        path.write_bytes(damaged)
        if damaged:
            with pytest.raises(DataFileError, match=r"lines\.gz, line 1: the gzip data"):
                read_text(path)
        else:
            assert read_text(path) == ""


def test_cut_gzip_counts_the_lines_before_the_damage(tmp_path):
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"a\nb\nc\n")[:-6])
    with pytest.raises(DataFileError, match="line [1-4]: the gzip data"):
        read_text(path)


def test_text_that_is_not_utf8_names_the_line(path):
    path.write_bytes(b"good\nbad \xff\n")
    with pytest.raises(DataFileError, match="line 2: not UTF-8"):
        read_text(path)


def test_wrong_column_count_names_the_line(path):
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(DataFileError, match="line 3: 2 columns expected, 1 found"):
        read_csv(path, 2, ["a", "b"])


def test_open_quote_names_the_line(path):
    path.write_text('a,b\n1,"2\n')
    with pytest.raises(DataFileError, match="line 2: not valid CSV"):
        read_csv(path, 2, ["a", "b"])


def test_wrong_header_and_empty_file(path):
    path.write_text("a,c\n1,2\n")
    with pytest.raises(DataFileError, match="line 1: the header a,b was expected"):
        read_csv(path, 2, ["a", "b"])
    path.write_text("")
    with pytest.raises(DataFileError, match="header"):
        read_csv(path, 2, ["a", "b"])
    with pytest.raises(DataFileError, match="holds no data"):
        read_csv(path, 2)


def test_without_header_the_first_line_is_data(path):
    path.write_text('1,"2,000"\n')
    assert read_csv(path, 2) == [["1", "2,000"]]


@pytest.mark.parametrize("cell", ["x", "", "nan", "-inf", "1,5"])
def test_number_that_is_none_names_the_line(path, cell):
    with pytest.raises(DataFileError, match="line 8: .* is not a finite number"):
        to_numbers(path, [["1", "2"], ["3", cell]], first_line=7)


@given(st.lists(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 3), min_size=1))
def test_numbers_survive_the_way_through_text(values):
    rows = [[repr(value) for value in row] for row in values]
    np.testing.assert_array_equal(to_numbers("file", rows, 1), np.array(values))


def test_damaged_mat_file(tmp_path):
    path = tmp_path / "a.mat"
    savemat(path, {"a": np.arange(1000.0)})
    whole = path.read_bytes()
    for damaged in (b"", b"nothing", whole[:200], whole[:130]):
        path.write_bytes(damaged)
        with pytest.raises(DataFileError, match=r"a\.mat: "):
            read_mat(path, ["a"])


def test_missing_variable_is_named(tmp_path):
    savemat(tmp_path / "a.mat", {"a": 1.0})
    with pytest.raises(DataFileError, match="variable 'b' is missing"):
        read_mat(tmp_path / "a.mat", ["a", "b"])


def test_unreadable_mat_file_keeps_its_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_mat(tmp_path / "none.mat", ["a"])
