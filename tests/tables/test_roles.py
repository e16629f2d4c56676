"""What a target is taken for: numbers, or classes that are not too many."""

import numpy as np
import pandas as pd
import pytest

from kernelhood.cli import build_parser, main
from kernelhood.cli.models import roles_of
from kernelhood.tables import fit_table
from kernelhood.tables.roles import Roles, read_rows


def table(target):
    n = len(target)
    return pd.DataFrame({"shop": ["a", "b"] * (n // 2), "x": np.arange(n), "sold": target})


def read(target, **roles):
    return read_rows(table(target), Roles("shop", "sold", **roles))


@pytest.mark.parametrize(
    "target",
    [
        np.arange(40) % 3,
        np.arange(40) % 2 * 1.0,
        np.arange(400) % 26,
        np.arange(12) % 10,
        [f"{k % 10}" for k in range(40)],
        [f"class {k % 90}" for k in range(400)],
        [f"class {k % 8}" for k in range(10)],
    ],
)
def test_codes_and_names_are_classes(target):
    rows = read(target, kind="classification")
    assert (rows.kind, len(set(rows.y.tolist()))) == ("classification", len(set(target)))


@pytest.mark.parametrize(
    ("target", "count"),
    [
        (np.arange(2000) % 94, 94),
        (np.arange(40) % 25, 25),
        (np.arange(40) % 4 + 0.5, 4),
        ([f"{k % 40}.5" for k in range(400)], 40),
    ],
)
def test_numbers_are_classes_only_if_asked_twice(target, count):
    message = (
        f"target='sold' holds {count} different numbers in {len(target)} rows, too many for "
        rf"kind='classification': use kind='regression' \(--kind regression\), or say that they "
        rf"are classes by max_classes={count} \(--max-classes {count}\)."
    )
    with pytest.raises(ValueError, match=message):
        read(target, kind="classification")
    with pytest.raises(ValueError, match=f"holds {count} different numbers"):
        read(target, kind="classification", max_classes=count - 1)
    assert len(set(read(target, kind="classification", max_classes=count).y)) == count
    assert read(target, kind="regression").y.dtype == np.float64


@pytest.mark.parametrize("n_rows", [30, 300])
def test_names_of_single_rows_are_no_classes(n_rows):
    target = [f"row {k}" for k in range(n_rows)]
    message = f"holds {n_rows} different values in {n_rows} rows, .*': say that they are classes by"
    with pytest.raises(ValueError, match=message):
        read(target)
    assert len(read(target, max_classes=n_rows).y) == n_rows


def test_a_number_for_a_class_stops_a_fit_before_any_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("kernelhood.tables.fitting._Fit", None)
    found = table(np.arange(100) % 47)
    with pytest.raises(ValueError, match="max_classes=47"):
        fit_table(found, task="shop", target="sold", kind="classification")
    found.to_csv(tmp_path / "t.csv", index=False)
    words = ["--task", "shop", "--target", "sold", "--kind", "classification", "--out"]
    assert main(["fit", str(tmp_path / "t.csv"), *words, str(tmp_path / "m.skops")]) == 1
    assert "--max-classes 47" in capsys.readouterr().err


def test_the_command_passes_the_most_classes_on():
    words = ["fit", "t.csv", "--task", "shop", "--target", "sold", "--out", "m.skops"]
    parser = build_parser(["fit"])
    assert roles_of(parser.parse_args(words))["max_classes"] is None
    assert roles_of(parser.parse_args([*words, "--max-classes", "47"]))["max_classes"] == 47
