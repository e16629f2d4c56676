"""Write the list of published versions, and the page that leads to the newest one.

    python docs/versions.py SITE ADDRESS

SITE holds one folder for each version, as 1.2.0 and dev. The pages of all of them read
switcher.json, by which they offer the others and say whether they are the newest release.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

DEVELOPMENT = "dev"


def entries(names: list[str], address: str) -> list[dict[str, Any]]:
    """Return what the switcher lists: releases from the newest on, then the development version."""
    releases = [name for name in names if re.fullmatch(r"\d+(\.\d+)+", name)]
    releases.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    found = []
    for name in [*releases, *([DEVELOPMENT] if DEVELOPMENT in names else [])]:
        entry: dict[str, Any] = {"version": name, "url": f"{address.rstrip('/')}/{name}/"}
        if name == (releases or [DEVELOPMENT])[0]:
            entry |= {"name": f"{name} (stable)" if releases else name, "preferred": True}
        found.append(entry)
    return found


def main(folder: str, address: str) -> None:
    """Write switcher.json and index.html into the folder of all versions."""
    site = Path(folder)
    found = entries([path.name for path in site.iterdir() if path.is_dir()], address)
    (site / "switcher.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    newest = next(entry["version"] for entry in found if entry.get("preferred"))
    page = f'<!doctype html><meta http-equiv="refresh" content="0; url={newest}/"><title>kernelhood'
    (site / "index.html").write_text(f"{page}</title>\n", encoding="utf-8")
    (site / ".nojekyll").touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
