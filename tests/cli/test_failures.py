"""Every documented failure: one line, on stderr, and nothing written."""

import importlib

import pandas as pd
import pytest

from kernelhood.cli import main
from tests.cli.tables import plain_table


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "shops.csv"
    plain_table().to_csv(path, index=False)
    return path


NAMED = ["--task", "shop", "--target", "sold"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--task", "store", "--target", "sold"], "task='store' is not a column; there are 'x1'"),
        (["--task", "shop", "--target", "shop"], "task and target are both 'shop'"),
        ([*NAMED, "--groups", "x1"], "groups='x1' must be the same in all rows of a task"),
        ([*NAMED, "--features", "sold"], "features='sold' is the target"),
        ([*NAMED, "--drop", "y"], "drop='y' is not a column"),
        ([*NAMED, "--categories", "shop"], "categories='shop' is not a feature"),
        ([*NAMED, "--dates", "x1"], "must hold a date such as 2024-05-17"),
        ([*NAMED, "--holdout", "1.5"], "holdout=1.5 must be a share between 0 and 1"),
        ([*NAMED, "--holdout", "0.2", "--holdout-after", "2024-01-01"], "give one"),
        ([*NAMED, "--holdout-after", "2024-01-01"], "no feature is one: name it by dates"),
        ([*NAMED, "--holdout-after", "x1=soon"], "not a date such as 2024-05-17"),
        ([*NAMED, "--holdout-after", "x9=1"], "holdout_after names 'x9', which is not a feature"),
        ([*NAMED, "--holdout-after", "x1=1e9"], "no row of 'x1' comes after it"),
        ([*NAMED, "--holdout-tasks", "0.1"], "holdout_tasks=0.1 of 3 tasks leaves none to judge"),
        ([*NAMED, "--holdout-tasks", "2"], "holdout_tasks=2.0 must be a share between 0 and 1"),
        ([*NAMED, "--holdout-tasks", "0.3", "--holdout", "0.3"], "both say what to hold out"),
        ([*NAMED, "--quantiles", "0.9", "0.1"], "quantiles must be levels between 0 and 1"),
        ([*NAMED, "--occasion", "week"], "occasion='week' is not a column"),
        ([*NAMED, "--kind", "classification"], "target='sold' holds 48 different numbers"),
    ],
)
def test_fit_says_what_is_wrong(words, said, table, say, tmp_path):
    code, out, errors = say("fit", table, "--out", tmp_path / "m.skops", *words)
    assert (code, out) == (1, "")
    assert errors.startswith("kernelhood: ")
    assert said in errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "m.skops").exists()


def test_places_that_cannot_be_written_are_found_before_the_work(table, say, tmp_path):
    for out, said in (
        (tmp_path, "is a folder; name a file"),
        (tmp_path / "no" / "m.skops", "there is no folder"),
    ):
        code, _, errors = say("fit", table, *NAMED, "--out", out)
        assert code == 1
        assert said in errors
    code, _, errors = say("fit", "table.xlsx", *NAMED, "--out", tmp_path / "m")
    assert code == 1
    assert "must end in .csv" in errors
    code, _, errors = say("fit", "none.csv", *NAMED, "--out", tmp_path / "m")
    assert code == 1
    assert "No such file" in errors


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no header"),
        (b"\n\n", "has no header"),
        (b"shop,sold,x\n", "has no rows"),
        (b"shop,sold,x,x\na,1,2,3\n", "column 'x' occurs twice"),
        (b"shop,sold,x\na,1,2\nb,2\n", "Expected 3 columns, got 2"),
        (b"shop,sold,x\na,1,2,4\n", "Expected 3 columns, got 4"),
        (b"\xff\xfe\x00\x01", "is text in UTF-16"),
        (b"\x89PNG\x00\n", "it holds a zero byte"),
        (b"sh\xffop,sold\n", "is not text in UTF-8: byte 3 is 0xff"),
        (b"shop,sold,x\na\xff,1,2\n", "it is not text in UTF-8"),
        (b"shop,sold,x\na,1.5,2\n", "at least 2 rows are needed"),
        (b"shop,sold,x\na,1,2\na,1,3\nb,1,4\n", "holds only the class '1'"),
        (b"shop,sold,x\na,1,2\na,0,2\n", "there is no column to learn from: 'x' is left out"),
        (b"shop,sold\na,1\na,0\n", "there is no column to learn from beside"),
        (b"shop,sold,x\n,1,2\n,0,3\n", "no row has both a task ('shop') and a target"),
    ],
)
def test_a_bad_table_is_one_line(content, said, say, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    code, _, errors = say("fit", tmp_path / "t.csv", *NAMED, "--out", tmp_path / "m.skops")
    assert code == 1
    assert said in errors
    assert errors.count("\n") == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["t.csv"]


def test_predict_names_the_column_that_is_missing_or_wrong(shops, say, tmp_path):
    rows = pd.read_csv(shops / "shops.csv")
    rows.drop(columns="x2").to_csv(tmp_path / "a.csv", index=False)
    rows.assign(x2="warm").to_csv(tmp_path / "b.csv", index=False)
    rows.drop(columns="shop").to_csv(tmp_path / "c.csv", index=False)
    for name, said in (
        ("a.csv", "column 'x2' is missing"),
        ("b.csv", "column 'x2' holds 'warm', and must hold a number"),
        ("c.csv", "task column 'shop' is missing"),
    ):
        code, _, errors = say("predict", shops / "model.skops", tmp_path / name, "--out", "p.csv")
        assert code == 1
        assert said in errors
    code, _, errors = say("predict", shops / "shops.csv", tmp_path / "a.csv")
    assert code == 1
    assert "shops.csv is not a model of kernelhood" in errors
    code, _, errors = say("predict", shops / "model.skops", tmp_path / "a.csv", "--out", "p.json")
    assert "must end in .csv, .tsv, .parquet" in errors


def test_the_bench_checks_its_arguments_before_anything_else(say, tmp_path, monkeypatch):
    def import_extra(*_):
        raise AssertionError("an extra was asked for")

    monkeypatch.setattr("kernelhood.cli.bench.import_extra", import_extra)
    module = importlib.import_module("kernelhood.paper.run")
    monkeypatch.setattr(module, "import_extra", import_extra)
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    for words, said in (
        (["--jobs", "-3"], "--jobs -3 must be a number of processes, or -1 for all cores"),
        (["--jobs", "0"], "--jobs 0 must be"),
        (["--runs", "0"], "runs=0 is out of range"),
        (["letter", "--data-home", tmp_path], "`kernelhood data fetch letter` gets it"),
        (["--results", tmp_path / "wrong.csv"], "it has no column 'dataset'"),
        (["--results", tmp_path / "none.csv"], "none.csv is not there"),
        (["my.csv"], "my.csv is a table: name its columns by --task and --target"),
        (["digits", "--task", "a"], "--task and --target are for a table, and 'digits' is not one"),
        (["my.csv", "digits", *NAMED], "'digits' is not a table"),
    ):
        code, out, errors = say("bench", *words, "--out", tmp_path / "report")
        assert (code, out) == (1, ""), words
        assert said in errors
        assert errors.count("\n") == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["wrong.csv"]


def test_version_and_help(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("kernelhood 0.")
    for name in ("fit", "predict", "inspect", "bench", "data"):
        with pytest.raises(SystemExit):
            main([name, "--help"])
        assert "Example" in capsys.readouterr().out


def test_without_memory_it_is_one_line(say, monkeypatch, table, tmp_path):
    def read_table(path):
        raise MemoryError

    monkeypatch.setattr("kernelhood.cli.models.read_table", read_table)
    code, _, errors = say("fit", table, *NAMED, "--out", tmp_path / "m.skops")
    assert (code, errors) == (1, "kernelhood: there is not enough memory\n")
