"""What the reference promises: every public name is listed, and shown at work."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import kernelhood

DOCS = Path(__file__).parents[1] / "docs"
API, FAQ = DOCS / "api.md", DOCS / "faq.md"
ROOMS = ("", ".datasets", ".inspection", ".paper", ".tables")


def listed():
    """Return the names in the reference, with the module of each."""
    if not API.exists():
        return []
    names, module = [], "kernelhood"
    for line in API.read_text(encoding="utf-8").splitlines():
        module = line.removeprefix(".. currentmodule:: ") if "currentmodule" in line else module
        if re.fullmatch(r" {3}[A-Za-z]\w*", line):
            names.append((module, line.strip()))
    return names


def test_the_reference_lists_many_names():
    assert not API.exists() or len(listed()) > 120


@pytest.mark.parametrize(("module", "name"), listed())
def test_a_public_name_has_an_example(module, name):
    found = getattr(importlib.import_module(module), name)
    text = found.__doc__
    assert text is not None
    head, _, example = text.partition("Examples\n")
    assert head.strip()
    assert re.search(r"^ *-{8}\n\s*>>> ", example), f"{module}.{name} has no example"


@pytest.mark.parametrize("room", ROOMS)
def test_a_public_name_is_in_the_reference(room):
    if not API.exists():
        pytest.skip("the documentation is not here")
    module = importlib.import_module(f"kernelhood{room}")
    names = {name for _, name in listed()}
    public = [
        name
        for name in module.__all__
        if getattr(getattr(module, name), "__name__", None) == name  # no constant, no old name
    ]
    assert [name for name in public if name not in names] == []


def test_the_package_names_what_it_offers():
    assert sorted(kernelhood.__all__) == kernelhood.__all__


def calls_of(name):
    """Yield the calls of a function in the source, as trees."""
    for file in Path(kernelhood.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if f"{name}(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
                yield node


def fixed_parts(message):
    """Return what a message says whatever the data, in pieces."""
    parts = message.values if isinstance(message, ast.JoinedStr) else [message]
    return [one.value for one in parts if isinstance(one, ast.Constant)]


def test_every_warning_is_in_the_list_of_questions():
    if not FAQ.exists():
        pytest.skip("the documentation is not here")
    text = FAQ.read_text(encoding="utf-8")
    found = [parts for call in calls_of("warnings.warn") if (parts := fixed_parts(call.args[0]))]
    assert len(found) >= 3
    for parts in found:
        longest = max(parts, key=len).strip(" ,:;.(")
        assert longest[:40].strip() in text


def test_the_table_of_what_one_would_use_instead_is_that_of_its_rows(monkeypatch):
    """Every set of the file is whole, and stands in the page as the benchmark prints it."""
    monkeypatch.syspath_prepend(DOCS.parent / "benchmarks")
    choice = importlib.import_module("users_choice")
    found = choice.read(DOCS / "users_choice.csv")
    sets = list(dict.fromkeys(name for name, *_ in found))
    methods = list(dict.fromkeys(method for *_, method in found))
    assert len(found) == 10 * len(sets) * len(methods)
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    for row in choice.in_short(sets, methods, 10, found):
        assert f"| {' | '.join(row)} |" in page


def rows_of(path):
    """Return the rows of the tables of a page by their first two cells, without stars."""
    lines = path.read_text(encoding="utf-8").replace("*", "").splitlines()
    cells = [[one.strip() for one in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]
    return {tuple(row[:2]): row[2:] for row in cells}


def test_the_comparison_of_the_readme_is_that_of_the_page():
    kinds = {"random": "chance", "by time": "time"}
    whole = rows_of(DOCS / "kernelhood.md")
    rows = {key: row for key, row in rows_of(DOCS.parent / "README.md").items() if key[1] in kinds}
    assert len(rows) >= 5
    for (table, split), scores in rows.items():
        assert whole[table, kinds[split]][1:7] == scores
