"""The inspection page in a real browser, with few tasks and with many."""

from dataclasses import replace

import numpy as np
import pytest

from kernelhood.estimators.task_report import HELPED, HURT, SAME
from kernelhood.inspection.contents import inspect_model
from kernelhood.inspection.page import to_html
from tests.browser import fetched, needs_browser, set_width, start

pytestmark = needs_browser

#: Of every text: the ratio of its luminance to that of what is behind it.
CONTRASTS = """
const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => {
  v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = one => { for (; one; one = one.parentElement) {
  const c = getComputedStyle(one).backgroundColor;
  if (!/, 0\\)$/.test(c)) return c; } return "rgb(255, 255, 255)"; };
const found = {};
document.querySelectorAll("h1,h2,p,li,dt,dd,pre,td,th button,figcaption,svg text").forEach(one => {
  if (!one.textContent.trim() || !one.getClientRects().length) return;
  if (one.closest("#task-map") && !isNaN(one.textContent)) return;  // inside a cell of the map
  const style = getComputedStyle(one), ink = one.closest("svg") ? style.fill : style.color;
  const a = light(ink), b = light(behind(one));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  found[one.tagName] = Math.min(found[one.tagName] ?? 99, ratio); });
return found"""


def many_tasks(inspection, count):
    """Return the inspection as if there were many tasks."""
    report = inspection.report
    rng = np.random.default_rng(0)
    size = np.exp(rng.normal(size=count))
    alone = size * np.exp(0.2 * rng.normal(size=count))
    columns = {name: rng.permutation(np.resize(one, count)) for name, one in report.parts.items()}
    more = replace(
        report,
        tasks=[f"task {place} with a name that is long" for place in range(count)],
        rows=rng.integers(1, 400, size=count),
        error=size,
        alone=alone,
        gain=rng.normal(size=count),
        std=np.abs(rng.normal(size=count)),
        sharing=rng.choice([HELPED, SAME, HURT], size=count, p=[0.5, 0.45, 0.05]).tolist(),
        baselines=dict.fromkeys(report.baselines, 2.0 * size),
        noise=size,
        nearest=[["task 0", "task 1", "task 2"]] * (count - 1) + [["task 5"]],
        uses=rng.choice(["own: level", "common: x1 (curve)"], size=count).tolist(),
        parts=columns,
    )
    return replace(inspection, report=more)


@pytest.fixture(scope="module")
def files(page_file, inspection, classifier, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    found = {"few": page_file}
    for count in (142, 2000):
        found[count] = folder / f"{count}.html"
        found[count].write_text(to_html(many_tasks(inspection, count)), encoding="utf-8")
    found["paper"] = folder / "paper.html"
    found["paper"].write_text(to_html(inspect_model(classifier)), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = start(tmp_path_factory.mktemp("profile"))
    yield found
    found.quit()


@pytest.fixture(scope="module")
def page(browser, files):
    browser.get("about:blank")
    browser.get_log("performance")  # forget what the browser's own first page did
    browser.get(files["few"].as_uri())
    return browser


def test_nothing_is_fetched(page, files):
    assert fetched(page) == [files["few"].as_uri()]
    assert page.get_log("browser") == []


def test_every_figure_is_drawn(page):
    script = """return [...document.querySelectorAll("figure svg")].map(one => {
        const box = one.getBBox(); return [box.width, box.height, one.getAttribute("aria-label")];
    })"""
    drawn = page.execute_script(script)
    assert len(drawn) >= 5
    assert len({label for *_, label in drawn}) == len(drawn)
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


@pytest.mark.parametrize("table", ["by-task", "scores"])
def test_every_table_is_sorted_by_a_click(page, table):
    set_width(page, 1440)
    heads = page.find_elements("css selector", f"#{table} thead button")
    for number, up in ((2, True), (2, False)):
        heads[number].click()
        numbers = [float(text) for text in column(page, table, number)]
        assert numbers == sorted(numbers, reverse=not up)
    heads[0].click()
    assert len(set(column(page, table, 0))) >= 4


def test_every_task_is_there(browser, files):
    set_width(browser, 1440)
    browser.get(files[2000].as_uri())
    wait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait(browser, 30)
    wait.until(lambda page: len(column(page, "by-task", 0)) == 2000)  # a large page takes a while
    assert len(set(column(browser, "by-task", 0))) == 2000


@pytest.mark.parametrize("kind", ["few", 142, 2000, "paper"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_read_on_any_screen(browser, files, kind, width, scheme):
    wish = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
    set_width(browser, width)
    browser.get(files[kind].as_uri())
    sizes = browser.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
    assert sizes == [width, width]
    contrasts = browser.execute_script(CONTRASTS)
    assert {"H1", "H2", "text"} <= set(contrasts)
    assert {tag: ratio for tag, ratio in contrasts.items() if ratio < 4.5} == {}
    smallest = browser.execute_script(
        """return Math.min(...[...document.querySelectorAll("svg text")].map(one =>
        one.getBoundingClientRect().height))"""
    )
    assert smallest > 8
    labels = browser.execute_script(
        """return [...document.querySelectorAll(".sortable tbody tr:first-child td")].map(one =>
        [one.cellIndex, getComputedStyle(one, "::before").content])"""
    )
    assert all((label != "none") == (width == 390) for place, label in labels if place)
