"""Any bytes that claim to be a table end in a result or in one line, never in a traceback."""

import csv
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelhood.cli import main

QUICK = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
CELLS = st.one_of(
    st.sampled_from(["", "NA", "0", "1", "2", "-1e308", "inf", "1_0", "0x1", "true", "x"]),
    st.sampled_from(["2024-02-30", "2024-02-29", "0001-01-01", "9999-12-31 23:59", "١٢"]),
    st.floats(allow_nan=True).map(str),
    st.text(max_size=6),
)
TASKS = st.sampled_from(["a", "b", "北京", " a ", "", "a\nb", "1", "1.0", "Ω" * 40])


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


@settings(QUICK, max_examples=10)
@given(st.lists(st.tuples(TASKS, CELLS, CELLS, CELLS), max_size=8))
def test_tables_of_anything(tmp_path, capsys, rows):
    code, _ = fit(written([("task", "y", "u", "v"), *rows]), tmp_path, capsys)
    if code == 0:
        table, model = str(tmp_path / "t.csv"), str(tmp_path / "m.skops")
        assert main(["predict", model, table]) in (0, 1)
        assert main(["inspect", model]) == 0
        capsys.readouterr()


@QUICK
@given(st.binary(max_size=200))
def test_binary_garbage(tmp_path, capsys, content):
    assert fit(content, tmp_path, capsys)[0] == 1
    assert fit(b"task,y,x\n" + content, tmp_path, capsys)[0] in (0, 1)


@QUICK
@given(st.binary(max_size=300))
def test_garbage_for_a_model(tmp_path, capsys, content):
    (tmp_path / "m.skops").write_bytes(content)
    assert main(["inspect", str(tmp_path / "m.skops")]) == 1
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "m.skops is " in errors


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
