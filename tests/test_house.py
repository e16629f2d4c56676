"""The rules of the house: files as long as their idea, short functions, and a map that is whole."""

import ast
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import FunctionType

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


ESTIMATORS = [
    getattr(kernelhood, name)
    for name in kernelhood.__all__
    if name.endswith(("Regressor", "Classifier", "SearchCV"))
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_estimator_is_few_classes(estimator):
    own = [one for one in estimator.__mro__ if one.__module__.startswith("kernelhood")]
    assert len(own) <= 4
    methods = [
        name
        for one in own
        for name, value in vars(one).items()
        if isinstance(value, FunctionType) and value.__module__.startswith("kernelhood")
    ]
    counts = Counter(name for name in methods if not name.startswith("__"))
    still = {"_store"} if estimator is kernelhood.KernelhoodRegressor else set()
    assert {name for name, count in counts.items() if count > 2} <= still


def private_names(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield the names of a file that begin with one underscore, and whether it defines them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, True
        elif isinstance(node, ast.Attribute):
            yield node.attr, isinstance(node.ctx, ast.Store)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, True
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kernelhood"):
            yield from ((one.name, False) for one in node.names)


def test_no_private_name_is_used_across_folders():
    defined, used = {}, {}
    for file in FILES:
        folder = file.parent if file.parent != SOURCE else file
        for name, here in private_names(ast.parse(file.read_text(encoding="utf-8"))):
            if name.startswith("_") and not name.startswith("__"):
                (defined if here else used).setdefault(folder, set()).add(name)
    every = set().union(*defined.values())
    for folder, names in used.items():
        across = (names & every) - defined.get(folder, set()) - KNOWN_ACROSS
        assert across == set(), folder


#: What named tuples have.
KNOWN_ACROSS = {"_fields", "_replace"}


#: How many files a piece of work may visit, and how many functions may call each other.
VISITED = {
    "fit, KernelhoodRegressor": (31, 15),
    "fit, KernelhoodClassifier": (31, 15),
    "predict, KernelhoodClassifier": (13, 15),
    "fit, MT-ONMKL": (36, 18),
    "predict, MT-ONMKL": (13, 16),
    "search, MT-ONMKL": (44, 24),
}


@pytest.mark.parametrize("work", VISITED)
def test_a_fit_is_read_in_few_files(work, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    benchmark = import_module("visited")
    case = benchmark.cases()[work]
    case()  # what is kept after a first call
    found, depth = benchmark.visited(case)
    files, calls = VISITED[work]
    assert len(found) <= files
    assert depth <= calls


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
