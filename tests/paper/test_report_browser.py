"""The report in a real browser: Debian's chromium, driven by its chromedriver."""

import json
import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver")

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed"
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    service = webdriver.ChromeService(DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(browser, written):
    """Load the report from the disk."""
    browser.get("about:blank")
    browser.get_log("performance")  # forget what the browser's own first page did
    browser.get(written[1][0].as_uri())
    return browser


def column(page, number):
    rows = "[...document.querySelectorAll('.sortable tbody tr')]"
    return page.execute_script(f"return {rows}.map(r => r.cells[{number}].innerText)")


def click(page, number):
    page.find_elements("css selector", "thead button")[number].click()


def test_every_figure_is_drawn(page):
    script = (
        "return [...document.images].map(i => [i.complete, i.naturalWidth, i.clientWidth, i.alt])"
    )
    images = page.execute_script(script)
    assert len(images) == 7
    for complete, natural, shown, caption in images:
        assert complete
        assert natural > 100
        assert shown > 100
        assert caption


def test_nothing_is_fetched(page):
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    addresses = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert addresses
    assert all(address.startswith(("file:", "data:")) for address in addresses)
    assert sum(address.startswith("file:") for address in addresses) == 1
    assert page.get_log("browser") == []


def test_a_click_sorts_the_table_and_another_turns_it_round(page):
    click(page, 1)
    numbers = [float(text.split()[0]) for text in column(page, 1)]
    assert len(numbers) == 3
    assert numbers == sorted(numbers)
    click(page, 1)
    numbers = [float(text.split()[0]) for text in column(page, 1)]
    assert numbers == sorted(numbers, reverse=True)
    click(page, 0)
    names = ["MT-ONMKL", "MT-ONMKL corrected", "MT-ONMKL printed"]
    assert column(page, 0) == names
    click(page, 0)
    assert column(page, 0) == names[::-1]
    heads = page.find_elements("css selector", "thead th")
    assert [head.get_attribute("aria-sort") for head in heads[:2]] == ["descending", None]


def resize(page, width):
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_no_text_runs_out_of_the_page(page, width):
    resize(page, width)
    sizes = page.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
    assert sizes == [width, width]


def test_a_phone_shows_every_cell_of_the_table_with_its_name(page):
    resize(page, 390)
    script = """
      return [...document.querySelectorAll('.sortable tbody tr:first-child td')].map(cell => {
        const box = cell.getBoundingClientRect();
        return [getComputedStyle(cell, '::before').content, box.left, box.right];
      })"""
    cells = page.execute_script(script)
    names = [name.strip('"') for name, _, _ in cells]
    assert names == [
        "none",
        "Tiny accuracy %",
        "Tiny, rank",
        "Curves MSE",
        "Curves, rank",
        "average rank",
    ]
    assert all(left >= 0 and right <= 390 for _, left, right in cells)


def test_a_phone_keeps_the_heads_of_other_tables_which_scroll_in_their_boxes(page):
    resize(page, 390)
    script = """
      return [...document.querySelectorAll('table:not(.sortable)')].map(table => [
        table.tHead.getBoundingClientRect().height,
        table.parentElement.getBoundingClientRect().right,
        getComputedStyle(table.parentElement).overflowX,
      ])"""
    found = page.execute_script(script)
    assert len(found) == 3
    assert all(height > 0 and right <= 390 for height, right, _ in found)
    assert {overflow for *_, overflow in found} == {"auto"}


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_the_page_follows_the_reader_into_the_dark(page, scheme, is_dark):
    wish = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
    script = "return getComputedStyle(document.body).%s.match(/\\d+/g).slice(0, 3).map(Number)"
    back, ink = (sum(page.execute_script(script % name)) for name in ("backgroundColor", "color"))
    assert (back < 200, ink > 500) == (is_dark, is_dark)
