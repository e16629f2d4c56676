"""The inspection page in a real browser."""

import pytest

from tests.browser import fetched, needs_browser, set_width, start

pytestmark = needs_browser


@pytest.fixture(scope="module")
def page(page_file, tmp_path_factory):
    browser = start(tmp_path_factory.mktemp("profile"))
    browser.get("about:blank")
    browser.get_log("performance")  # forget what the browser's own first page did
    browser.get(page_file.as_uri())
    yield browser
    browser.quit()


def test_nothing_is_fetched(page, page_file):
    assert fetched(page) == [page_file.as_uri()]
    assert page.get_log("browser") == []


def test_every_figure_is_drawn(page):
    script = """return [...document.querySelectorAll("figure svg")].map(one => {
        const box = one.getBBox(); return [box.width, box.height, one.getAttribute("aria-label")];
    })"""
    drawn = page.execute_script(script)
    assert len(drawn) == 1
    for width, height, label in drawn:
        assert width > 100
        assert height > 50
        assert label


def column(page, table, number):
    script = (
        "return [...document.querySelectorAll(arguments[0] + ' tbody tr')]"
        ".map(row => row.cells[arguments[1]].innerText)"
    )
    return page.execute_script(script, f"#{table}", number)


@pytest.mark.parametrize("table", ["by-task", "columns"])
def test_every_table_is_sorted_by_a_click(page, table):
    heads = page.find_elements("css selector", f"#{table} thead button")
    for number, up in ((1, True), (1, False), (2, True)):
        heads[number].click()
        numbers = [float(text) for text in column(page, table, number)]
        assert numbers == sorted(numbers, reverse=not up)
    heads[0].click()
    assert len(set(column(page, table, 0))) >= 4


def test_cells_are_the_darker_the_larger(page):
    script = """return [...document.querySelectorAll("#columns td[style]")].map(one =>
        [+one.dataset.value, +getComputedStyle(one).backgroundColor.match(/\\d+/)[0]])"""
    cells = sorted(page.execute_script(script))
    reds = [red for _, red in cells]
    assert reds[0] >= reds[-1]
    assert len(cells) == 16


@pytest.mark.parametrize("width", [360, 390, 1440])
def test_no_text_runs_out_of_the_page(page, width):
    set_width(page, width)
    sizes = page.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
    assert sizes == [width, width]
    smallest = page.execute_script(
        """return Math.min(...[...document.querySelectorAll("svg text")].map(one =>
        one.getBoundingClientRect().height))"""
    )
    assert smallest > 8
