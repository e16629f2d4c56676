"""Open every built page in a browser, wide and narrow, and look for what readers would trip over.

Run ``python docs/check_site.py docs/_build/html`` after the build; ``make docs`` does. No page may
be wider than the window, show a formula as source, fetch anything but files beside it, or link to
a page, an anchor or a picture that is not there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

WIDTHS = (1440, 390)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")

# Formulas are typeset after the page has loaded. What is left of them as text is looked for
# outside code, and outside what is hidden.
LOOK = r"""
const done = arguments[arguments.length - 1];
const look = () => {
  const raw = [...document.querySelectorAll('.math.notranslate')]
    .filter(e => !e.querySelector('.MathJax, .MathJax_Display, mjx-container'))
    .map(e => encodeURI([...e.textContent].slice(0, 60).join('')));
  const errors = [...document.querySelectorAll('.MathJax_Error, .merror')].map(e => e.textContent);
  const text = [...document.querySelectorAll('.bd-article p, .bd-article td, .bd-article dd')]
    .filter(e => !e.closest('pre, code, .math'))
    .map(e => [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join(' '))
    .filter(t => /\\(frac|sum|theta|lVert|hat)\b|\$\$/.test(t));
  const wide = document.documentElement.scrollWidth;
  const broken = [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src);
  done({raw, errors, text, wide, broken});
};
const wait = () => {
  if (window.MathJax && MathJax.Hub) MathJax.Hub.Queue(look);
  else if (document.querySelector('.math.notranslate')) setTimeout(wait, 50);
  else look();
};
wait();
"""


class Links(HTMLParser):
    """The ids of a page, and what it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the ids and the addresses of a tag."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)


def read(path: Path) -> Links:
    """Return the ids and the links of a page."""
    links = Links()
    links.feed(path.read_text(encoding="utf-8"))
    return links


def broken_links(pages: list[Path]) -> Iterator[str]:
    """Yield the links of pages that lead nowhere, and those that need the network to be shown."""
    found = {path.resolve(): read(path) for path in pages}
    for path, links in found.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https", "mailto", "data", "javascript"):
                continue
            other = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not other.exists():
                yield f"{path.name}: {target} leads nowhere"
            elif parts.fragment and unquote(parts.fragment) not in anchors(found, other):
                yield f"{path.name}: {target} has no such anchor"


def anchors(found: dict[Path, Links], path: Path) -> set[str]:
    """Return the ids of a page."""
    return found[path].ids if path in found else set()


def open_browser(profile: str) -> Any:
    """Return a headless Chromium that keeps a log of what it fetches."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    driver.set_script_timeout(60)
    return driver


def faults(browser: Any, path: Path, width: int) -> Iterator[str]:
    """Yield what is wrong with a page at a width."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(path.resolve().as_uri())
    seen = browser.execute_async_script(LOOK)
    if seen["wide"] > width:
        yield f"is {seen['wide']} wide"
    for kind in ("raw", "errors", "text", "broken"):
        if seen[kind]:
            yield f"{kind}: {seen[kind][:3]}"
    for entry in browser.get_log("performance"):
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.requestWillBeSent":
            address = event["params"]["request"]["url"]
            if address.startswith(("http:", "https:")):
                yield f"fetches {address}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a folder of pages; return the number of faults, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    given = parser.parse_args(arguments)
    pages = sorted(p for p in given.folder.rglob("*.html") if "_static" not in p.parts)
    found = list(broken_links(pages))
    if shutil.which("chromium") and shutil.which("chromedriver"):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            browser = open_browser(profile)
            try:
                for width in WIDTHS:
                    for path in pages:
                        name = path.relative_to(given.folder)
                        found += [f"{name} at {width}: {f}" for f in faults(browser, path, width)]
            finally:
                browser.quit()
    else:
        print("chromium and chromedriver are not installed: pages were not opened", file=sys.stderr)
    print("\n".join(found))
    print(f"{len(pages)} pages, {len(found)} faults")
    return min(len(found), 1)


if __name__ == "__main__":
    raise SystemExit(main())
