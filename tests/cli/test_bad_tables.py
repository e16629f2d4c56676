"""Tables that are none, and tables as other systems write them: a result or one line."""

import csv
import gzip
import io

import pytest

from kernelhood.cli import main


def fit(content, folder, capsys):
    """Fit bytes; return the exit code and the errors."""
    (folder / "t.csv").write_bytes(content)
    out = folder / "m.skops"
    out.unlink(missing_ok=True)
    words = ["--task", "task", "--target", "y", "--out", str(out)]
    code = main(["fit", str(folder / "t.csv"), *words])
    errors = capsys.readouterr().err
    assert code in (0, 1)
    assert out.exists() == (code == 0)
    harmless = ("kernelhood: note: ", "kernelhood: compiling ")
    failures = [line for line in errors.splitlines() if not line.startswith(harmless)]
    assert len(failures) == code, errors
    return code, errors


def written(rows):
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    return file.getvalue().encode("utf-8", "surrogatepass")


@pytest.mark.slow
def test_thousands_of_columns(tmp_path, capsys):
    head = ["task", "y", *(f"c{number}" for number in range(2_000))]
    rows = [
        ["ab"[row % 2], row % 3 * 0.5 + row, *((row * number) % 7 for number in range(2_000))]
        for row in range(12)
    ]
    assert fit(written([head, *rows]), tmp_path, capsys)[0] == 0


@pytest.mark.parametrize("ending", ["svm", "parquet"])
def test_garbage_of_other_forms(ending, tmp_path, capsys):
    (tmp_path / f"t.{ending}").write_bytes(b"\x00\xff nothing \x01" * 20)
    words = ["--task", "qid", "--target", "target", "--out", str(tmp_path / "m")]
    assert main(["fit", str(tmp_path / f"t.{ending}"), *words]) == 1
    assert capsys.readouterr().err.count("\n") == 1


TABLE = "task,y,höhe\r\n" + "".join(f"{'aö'[k % 2]},{k},{k * k % 7}\r\n" for k in range(12))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (TABLE.encode(), None),
        (TABLE.encode("utf-8-sig"), None),
        (TABLE.replace(",", ";").encode("utf-8-sig"), None),
        (TABLE.replace(",", "\t").encode("utf-16"), "is text in UTF-16: save it as CSV in UTF-8"),
        (TABLE.encode("cp1252"), "byte 9 is 0xf6; save it as CSV in UTF-8"),
        (TABLE.replace("ö", "o", 1).encode("cp1252"), "it is not text in UTF-8; save it as CSV"),
        (TABLE.replace("\r\n", "\r").encode(), "lines end in a carriage return alone; save it"),
    ],
    ids=["Windows", "Excel", "Excel ;", "Unicode text", "cp1252", "cp1252 later", "Macintosh"],
)
def test_text_of_other_systems(content, said, tmp_path, capsys):
    code, errors = fit(content, tmp_path, capsys)
    assert code == (said is not None)
    assert (said or "") in errors


@pytest.mark.parametrize("kept", [0, 5, 40, -1])
def test_a_gzipped_table_that_was_cut_off(kept, tmp_path, capsys):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode())[:kept])
    assert main(["fit", str(path), "--task", "task", "--target", "y", "--out", "m"]) == 1
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert str(path) in errors
