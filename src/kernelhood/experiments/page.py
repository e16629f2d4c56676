"""A page of HTML that needs nothing but itself: light or dark, on a desk or on a phone."""

from __future__ import annotations

from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #4b5866; --back: #fff; --band: #f5f7fa;
  --line: #d8dee6; --main: #12508f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8ee; --soft: #a9b4c0; --back: #14181d;
  --band: #1c2229; --line: #38424d; --main: #86c5e8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 78rem; padding: 1rem; color: var(--ink); background: var(--back);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; padding-bottom: .2rem;
  border-bottom: 1px solid var(--line); }
p, li, pre { overflow-wrap: anywhere; max-width: 50rem; }
p.found { font-size: 1.15rem; }
pre { background: var(--band); padding: .7rem .9rem; border-radius: 6px; white-space: pre-wrap;
  font-size: .85rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .5rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0;
  background: var(--back); }
thead th { border-bottom: 2px solid var(--main); vertical-align: bottom; padding: 0;
  white-space: normal; }
thead button { all: unset; cursor: pointer; padding: .35rem .5rem; font-weight: 600;
  display: block; }
thead button:focus-visible { outline: 2px solid var(--main); }
thead button::after { content: "\\2195"; color: var(--soft); padding-left: .3rem; }
th[aria-sort=ascending] button::after { content: "\\2191"; color: var(--main); }
th[aria-sort=descending] button::after { content: "\\2193"; color: var(--main); }
tbody tr:nth-child(even) td { background: var(--band); }
td.best { font-weight: 700; color: var(--main); }
td.paper { color: var(--soft); }
figure { margin: 1rem 0 1.6rem; }
figure .wide { background: #fff; border-radius: 6px; padding: .4rem; max-width: 52rem;
  border: 1px solid var(--line); }
figure img { width: 100%; height: auto; display: block; }
figcaption { font-size: .88rem; color: var(--soft); margin-top: .3rem; max-width: 46rem; }
@media (max-width: 40rem) {
  figure:not(.first) img { min-width: 34rem; }
  table, tbody, tr, td { display: block; }
  thead { display: none; }
  tbody tr { border-top: 1px solid var(--line); padding: .4rem 0; }
  tbody tr td, tbody tr:nth-child(even) td { background: none; position: static; padding: .1rem 0;
    display: flex; justify-content: space-between; gap: 1rem; white-space: normal; }
  tbody td:empty { display: none; }
  tbody td:first-child { font-weight: 700; }
  tbody td:not(:first-child)::before { color: var(--soft); font-weight: 400;
    text-align: left; }
}
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
