import io
import sqlite3

import pytest

from kernelhood.cli.bench import describe, report_bench, report_results
from kernelhood.paper.jobs import Job, empty_row
from kernelhood.paper.protocol import published_results

SMALL = {"methods": ["mt-onmkl", "mt-onmkl-printed"], "runs": 1}

JOBS = [Job("digits", "mt-onmkl", run, 0, "accuracy", 0.2, "quick") for run in range(2)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Run on the digits without figures; return the folder and what was said."""
    out = tmp_path_factory.mktemp("bench") / "report"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelhood.paper.report._draw", lambda results: [])
        return out, report_bench(["digits"], out, quiet=True, command="kernelhood bench", **SMALL)


def test_the_text_has_table_statistics_and_files(bench):
    out, report = bench
    assert report.good
    assert "Digits accuracy %" in report.text
    assert "2 methods on 8 tasks" in report.text
    files = [line.removeprefix("wrote ") for line in report.text.splitlines() if "wrote" in line]
    assert sorted(files) == sorted(str(path) for path in out.rglob("*") if path.is_file())
    assert str(out / "runs.sqlite") in files


def test_accuracies_on_digits_are_far_above_chance(bench):
    out, _ = bench
    lines = (out / "table.md").read_text(encoding="utf-8").splitlines()[2:4]
    assert all(float(line.split("|")[2]) > 95 for line in lines)


def test_started_again_it_only_reads(bench, undrawn, monkeypatch, capsys):
    out, report = bench
    monkeypatch.setattr("kernelhood.paper.jobs.search", None)
    again = report_bench(["digits"], out, command="kernelhood bench", **SMALL)
    assert again.text.split("wrote")[0] == report.text.split("wrote")[0]
    assert capsys.readouterr().out.count("already there") == 2


def test_rows_of_an_earlier_comparison_are_not_computed_again(
    bench, undrawn, monkeypatch, capsys, tmp_path
):
    out, _ = bench
    rows = (out / "results.csv").read_bytes()
    monkeypatch.setattr("kernelhood.paper.jobs.search", None)
    continued = report_bench(["digits"], tmp_path, known=out / "results.csv", **SMALL)
    assert continued.good
    assert capsys.readouterr().out.count("already there") == 2
    assert (tmp_path / "results.csv").read_bytes() == rows


def test_rows_that_are_not_those_of_a_comparison_cannot_be_continued(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("dataset,method,score\ndigits,kta,0.9\n")
    with pytest.raises(ValueError, match="cannot be continued: it has no column 'run'"):
        report_bench(["digits"], tmp_path / "out", known=path, **SMALL)
    assert not (tmp_path / "out").exists()


def test_results_of_some_methods_are_ranked_among_themselves(undrawn, tmp_path):
    rows = tmp_path / "results.csv"
    published_results().to_csv(rows, index=False)
    shown = report_results(rows, tmp_path / "some", methods=["rpkl", "kta"])
    text = (tmp_path / "some" / "table.md").read_text(encoding="utf-8")
    assert "2 methods on 5 data sets" in shown.text
    assert "| RPKL | 60.81 | 2 | 60.81 |" in text
    assert "ITL" not in text
    with pytest.raises(ValueError, match="has no rows of 'pooled'; give methods among itl, "):
        report_results(rows, tmp_path, methods=["kta", "pooled"])


def test_results_are_read_and_shown_again(bench, undrawn, tmp_path):
    out, _ = bench
    shown = report_results(out / "results.csv", tmp_path, command="kernelhood bench")
    assert shown.good
    for name in ("table.md", "table.tex", "results.csv"):
        assert (tmp_path / name).read_bytes() == (out / name).read_bytes()
    beside = report_results(tmp_path / "results.csv", None)
    assert f"wrote {tmp_path / 'report.html'}" in beside.text


def test_a_failed_run_is_told_and_no_good(tmp_path):
    (tmp_path / "landmine").mkdir()
    (tmp_path / "landmine" / "LandmineData.mat").write_bytes(b"no data")
    report = report_bench(["landmine"], tmp_path / "out", quiet=True, data_home=tmp_path, **SMALL)
    assert not report.good
    assert "Failed: landmine, mt-onmkl, mt-onmkl-printed, run 0: DataFileError" in report.text
    with sqlite3.connect(tmp_path / "out" / "runs.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM runs WHERE failed").fetchone() == (2,)
    connection.close()


def make_row(job, **more):
    return {**empty_row(job), "score": 0.5, "seconds": 1.26, **more}


def test_rows_in_a_few_words():
    assert describe(make_row(JOBS[0]), False) == "Digits MT-ONMKL run 0: accuracy 50.00 % (1.3 s)"
    assert describe(make_row(JOBS[0]), True).endswith("50.00 % (already there)")
    assert describe(make_row(JOBS[0], metric="mse"), True).endswith("mse 0.5 (already there)")
    failed = empty_row(JOBS[1], "ValueError: no")
    assert describe(failed, False) == "Digits MT-ONMKL run 1: failed, ValueError: no"


def test_quiet_says_nothing(bench, undrawn, capsys):
    out, _ = bench
    report_bench(["digits"], out, quiet=True, **SMALL)
    assert capsys.readouterr() == ("", "")


def test_rows_are_counted(bench, undrawn, capsys):
    out, _ = bench
    report_bench(["digits"], out, **SMALL)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("[1/2] Digits MT-ONMKL run 0: accuracy")
    assert second.startswith("[2/2] Digits MT-ONMKL printed run 0: accuracy")


def test_a_terminal_gets_a_bar(bench, undrawn, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("kernelhood.parallel._PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr", screen := Terminal())
    report_bench(["digits"], bench[0], **SMALL)
    assert "2/2" in screen.getvalue()
