import io

import pytest

from kernelhood.tables import read_blocks, read_table
from kernelhood.tables.files import delimited_blocks, ending

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def test_blocks_are_the_whole_in_order(tmp_path):
    frame = pd.DataFrame({"a": range(1000), "b": ['x, y\n"z"', ""] * 500})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        blocks = list(read_blocks(tmp_path / name, rows=300))
        assert [len(block) for block in blocks] == [300, 300, 300, 100]
        assert [str(one) for block in blocks for one in block["a"]] == list(map(str, range(1000)))
        assert read_table(tmp_path / name)["b"].tolist() == frame["b"].tolist()


def test_text_of_spreadsheets(tmp_path):
    (tmp_path / "t.csv").write_bytes("\ufeffStadt;Größe\r\nKöln;3\r\n".encode())
    assert read_table(tmp_path / "t.csv").to_dict("list") == {"Stadt": ["Köln"], "Größe": ["3"]}


class Endless(io.RawIOBase):
    """A gigabyte in one line, of which no more is made than is read."""

    def __init__(self, begin):
        self.left, self.begin, self.given = 2**30, begin, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        content = self.begin[: len(buffer)] or b"a" * min(len(buffer), self.left)
        self.begin = self.begin[len(content) :]
        self.left -= len(content)
        self.given += len(content)
        buffer[: len(content)] = content
        return len(content)


@pytest.mark.parametrize("begin", [b"", b"a,b\n1,2\n3,"])
def test_a_line_of_a_gigabyte_is_refused_after_a_few_megabytes(begin):
    source = Endless(begin)
    with pytest.raises(ValueError, match=r"is longer than \d+ bytes"):
        list(delimited_blocks(io.BufferedReader(source), "stream"))
    # The parser may have read some blocks ahead.
    assert source.given < 2**29


def test_svmlight_has_zeros_where_it_says_nothing(tmp_path):
    (tmp_path / "t.svm").write_text("# a comment\n1 qid:3 2:5\n-1 qid:4 1:0.5\n")
    found = read_table(tmp_path / "t.svm")
    assert found.to_dict("list") == {
        "target": [1.0, -1.0],
        "qid": [3, 4],
        "1": [0.0, 0.5],
        "2": [5.0, 0.0],
    }
    (tmp_path / "t.svm").write_text("1 qid:3 2:5\n-1 1:0.5\n")
    with pytest.raises(ValueError, match="t.svm has a qid in some lines and none in others"):
        read_table(tmp_path / "t.svm")
    for text in ("1 0:3", "what 1:2", "1 2:3 1:4"):
        (tmp_path / "t.svm").write_text(text)
        with pytest.raises(ValueError, match="t.svm cannot be read as SVMlight"):
            read_table(tmp_path / "t.svm")


def test_names_that_are_no_tables():
    assert ending("A.CSV.GZ") == ".csv"
    for name in ("t.xlsx", "t", "t.parquet.gz", "t.gz"):
        with pytest.raises(ValueError, match="is not the name of a table"):
            ending(name)


def test_parquet_that_is_none(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="t.parquet cannot be read as Parquet"):
        read_table(tmp_path / "t.parquet")
