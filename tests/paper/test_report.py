import re
from html import escape
from pathlib import Path

import numpy as np
import pytest

from kernelhood.paper.protocol import published_results
from kernelhood.paper.report import as_text, further_tables, headline, write_report
from kernelhood.paper.run import read_results
from kernelhood.paper.table import as_markdown, to_latex, to_markdown

pytest.importorskip("matplotlib")


DOCS = Path(__file__).parents[2] / "docs"


def test_a_table_of_results_is_redrawn_to_the_letter(written):
    out, _ = written
    again = read_results(out / "results.csv")
    assert again.to_csv(index=False).encode() == (out / "results.csv").read_bytes()
    assert to_markdown(again) in (out / "table.md").read_text(encoding="utf-8")
    for name, head, rows in further_tables(again):
        assert f"{name}:\n\n{as_markdown(head, rows)}" in (out / "table.md").read_text("utf-8")
        assert f"<h2>{escape(name)}</h2>" in (out / "report.html").read_text(encoding="utf-8")
    assert to_latex(again) + "\n" == (out / "table.tex").read_text(encoding="utf-8")
    # The page of results, once it has rows, shows what they say.
    for path in DOCS.glob("results.csv*"):
        page = (DOCS / "results.md").read_text(encoding="utf-8")
        rows = read_results(path)
        shown = [names.split() for names in re.findall(r"With `--methods ([^`]*)`:", page)]
        assert len(shown) == 2
        for methods in shown:
            table = to_markdown(rows[rows["method"].isin(methods)])
            assert all(line in page for line in table.splitlines())
            assert len(table.splitlines()) == len(methods) + 2


def test_every_file_is_there_and_named(written):
    out, files = written
    on_disk = sorted(path for path in out.rglob("*") if path.is_file())
    assert sorted(files) == on_disk
    names = {path.relative_to(out).as_posix() for path in files}
    assert {"report.html", "results.csv", "table.md", "table.tex"} <= names
    figures = {f"{kind}_tiny" for kind in ("task_scores", "alignment", "weights", "convergence")}
    figures |= {"task_scores_curves", "scores", "critical_difference"}
    for figure in figures:
        assert {f"figures/{figure}.svg", f"figures/{figure}.png"} <= names
    assert len(names) == 4 + 2 * len(figures)


def test_the_page_fetches_nothing_and_tells_the_command(written):
    page = (written[0] / "report.html").read_text(encoding="utf-8")
    assert "kernelhood bench &lt;tiny&gt; --out report" in page
    assert page.count('<img src="data:image/svg+xml;base64,') == 7
    sources = re.findall(r'(?:src|href)="(.{0,5})', page)
    assert set(sources) == {"data:"}
    assert 'name="viewport"' in page
    assert "Friedman" in page


def test_the_page_opens_with_what_was_found_and_one_figure(results, written):
    page = (written[0] / "report.html").read_text(encoding="utf-8")
    start = page[page.index("</h1>") : page.index("<h2>")]
    assert f'<p class="found">{headline(results)}</p>' in start.replace("&#x27;", "'")
    assert re.findall(r'figure id="(\w+)"', start) == ["scores"]
    assert page.index("To repeat it") > page.index("<h2>Figures</h2>")


def test_the_same_results_give_the_same_bytes(results, tmp_path):
    few = results[results["dataset"] == "tiny"][["dataset", "method", "run", "metric", "score"]]
    first, second = (write_report(few, tmp_path / name) for name in ("first", "second"))
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_a_frame_of_ones_own_gets_a_report(tmp_path):
    names = {path.name for path in write_report(published_results(), tmp_path)}
    assert {"report.html", "table.md", "critical_difference.svg"} <= names
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "To repeat it" not in page
    assert "chi2 = 11.507" in page
    assert "the unit of the paper" in page


def test_failures_are_told(results, undrawn, tmp_path):
    failed = results.drop(columns=["weights", "alignment", "trace"])
    failed.loc[0, ["score", "error"]] = [np.nan, "ValueError: <no>"]
    write_report(failed, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Failed: tiny, mt-onmkl, run 0: ValueError: &lt;no&gt;" in page
    assert "Failed: tiny, mt-onmkl, run 0: ValueError: <no>" in as_text(failed)


def test_without_any_score_the_report_says_so(results, tmp_path):
    failed = results.assign(score=np.nan, error="ValueError: no")
    files = write_report(failed, tmp_path)
    assert {path.name for path in files} == {"report.html", "results.csv"}
    assert "No run has a score." in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert as_text(failed).startswith(
        "No run has a score.\nFailed: tiny, mt-onmkl, mt-onmkl-corrected"
    )


def test_a_score_that_failed_is_an_empty_cell_to_sort_by(undrawn, tmp_path):
    results = published_results().drop(columns="metric")
    results.loc[0, "score"] = np.nan
    write_report(results, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<td data-value="">failed</td>' in page
