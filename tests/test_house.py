"""The rules of the house: files as long as their idea, short functions, and a map that is whole."""

import ast
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import kernelhood

SOURCE = Path(kernelhood.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
ROOT = Path(__file__).parents[1]
MAP = ROOT / "docs" / "solver.md"


def code_lines(function: ast.FunctionDef) -> int:
    """Return how many lines a function has, signature included, docstring not counted."""
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is None:
        described = 0
    else:
        described = first.end_lineno - first.lineno + 1
    return function.end_lineno - function.lineno + 1 - described


def functions_of(file: Path) -> Iterator[tuple[str, int]]:
    """Yield the names of the functions of a file and how many lines each has."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{file.relative_to(SOURCE)}:{node.lineno} {node.name}", code_lines(node)


def test_the_docstring_of_a_function_is_not_counted():
    source = (
        'def one(\n    a,\n):\n    """Say.\n\n    More.\n    """\n    return a\n\ndef two(): pass'
    )
    assert [code_lines(function) for function in ast.parse(source).body] == [4, 1]


def test_no_file_is_long():
    lines = {str(f.relative_to(SOURCE)): len(f.read_text("utf-8").splitlines()) for f in FILES}
    assert {name: count for name, count in lines.items() if count > 650} == {}


def test_no_function_is_long():
    lengths = dict(chain.from_iterable(map(functions_of, FILES)))
    assert {name: count for name, count in lengths.items() if count > 50} == {}
    assert np.percentile(list(lengths.values()), 90) <= 20


@pytest.mark.parametrize("folder", ["solvers", "operators"])
def test_the_map_of_the_solver_names_every_file(folder):
    if not MAP.exists():
        pytest.skip("the documentation is not here")
    text = MAP.read_text(encoding="utf-8")
    names = [file.name for file in (SOURCE / folder).glob("*.py") if file.name != "__init__.py"]
    assert [name for name in sorted(names) if name not in text] == []


def test_a_folder_has_at_least_three_files():
    folders = {file.parent for file in FILES} - {SOURCE}
    assert [one.name for one in folders if len(list(one.glob("*.py"))) < 3] == []
    assert len(folders) <= 15


@pytest.mark.parametrize("name", ["KernelhoodRegressor", "KernelhoodClassifier"])
def test_the_first_estimators_are_few_classes_in_few_files(name, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    benchmark = import_module("visited")
    estimator = getattr(kernelhood, name)
    own = [one for one in estimator.__mro__ if one.__module__.startswith("kernelhood")]
    assert len(own) <= 4
    found, depth = benchmark.visited(benchmark.cases()[f"fit, {name}"])
    assert len(found) <= 31
    assert depth <= 15


@pytest.mark.parametrize("folder", ["benchmarks", "examples", "docs"])
def test_scripts_import_what_there_is(folder):
    missing, count = [], 0
    for file in sorted((ROOT / folder).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.module.split(".")[0] != "kernelhood":
                continue
            module = import_module(node.module)
            count += len(node.names)
            missing += [
                f"{file.name}: {one.name}" for one in node.names if not hasattr(module, one.name)
            ]
    assert not missing
    assert count
