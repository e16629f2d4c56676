"""A model and its page."""

import pytest

from kernelhood.inspection.contents import inspect_model
from kernelhood.inspection.page import to_html
from tests.cli.tables import plain_table

for name in ("pandas", "pyarrow", "skops"):
    pytest.importorskip(name)


@pytest.fixture(scope="session")
def model():
    from kernelhood.tables import fit_table

    table = plain_table(n_tasks=4, n_samples=40)
    table["shop"] = table["shop"].replace({"task 4": "<b>北京 & Köln</b>"})
    return fit_table(table, task="shop", target="sold", groups="region")


@pytest.fixture(scope="session")
def inspection(model):
    return inspect_model(model)


@pytest.fixture(scope="session")
def page_file(inspection, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "inspection.html"
    path.write_text(to_html(inspection), encoding="utf-8")
    return path
