"""The frame of report.html: style and script, both inside the page."""

from __future__ import annotations

from html import escape

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1rem; color: #1d2733; background: #fff;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; padding-bottom: .2rem;
  border-bottom: 1px solid #d8dee6; }
p, li, pre { overflow-wrap: anywhere; max-width: 50rem; }
pre { background: #f3f5f8; padding: .7rem .9rem; border-radius: 6px; white-space: pre-wrap;
  overflow-wrap: anywhere; font-size: .85rem; }
.wide { overflow-x: auto; -webkit-overflow-scrolling: touch; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .45rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
thead th { border-bottom: 2px solid #1b5e8c; vertical-align: bottom; padding: 0;
  white-space: normal; }
thead button { all: unset; cursor: pointer; padding: .35rem .45rem; font-weight: 600;
  display: block; }
thead button:focus-visible { outline: 2px solid #1b5e8c; }
thead button::after { content: "\\2195"; color: #9aa7b5; padding-left: .3rem; }
th[aria-sort=ascending] button::after { content: "\\2191"; color: #1b5e8c; }
th[aria-sort=descending] button::after { content: "\\2193"; color: #1b5e8c; }
tbody tr:nth-child(even) td { background: #f7f9fb; }
td.best { font-weight: 700; color: #1b5e8c; }
td.paper { color: #6b7786; }
figure { margin: 1rem 0 1.6rem; }
figure img { width: 100%; max-width: 46rem; height: auto; display: block; }
figcaption { font-size: .88rem; color: #4b5866; margin-top: .3rem; max-width: 46rem; }
"""

SCRIPT = """
document.querySelectorAll("table.sortable thead button").forEach(button => {
  button.addEventListener("click", () => {
    const head = button.closest("th"), table = head.closest("table");
    const column = head.cellIndex, body = table.tBodies[0];
    const up = head.getAttribute("aria-sort") !== "ascending";
    table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => row.cells[column].dataset.value;
    const order = (a, b) => {
      const x = key(a), y = key(b);
      if (x === "" || y === "") return (x === "") - (y === "");
      const sign = up ? 1 : -1;
      return sign * (isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y);
    };
    [...body.rows].sort(order).forEach(row => body.appendChild(row));
  });
});
"""


def page(title: str, body: list[str]) -> str:
    """Return a whole page that needs nothing but itself.

    Parameters
    ----------
    title : str
        Heading.
    body : list of str
        HTML below it.
    """
    # The browser itself is told to fetch nothing.
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    )
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *body,
        f"<script>{SCRIPT}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"
