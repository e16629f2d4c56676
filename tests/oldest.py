"""Print the lowest version of every requirement that pyproject.toml names, for pip's `-c`.

python tests/oldest.py > constraints.txt
pip install --constraint constraints.txt --editable '.[dev]'
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest(requirements: list[str]) -> list[str]:
    """Return ``name==version`` of those requirements that have a lower bound."""
    found = (re.match(r"([\w.-]+)>=([\w.]+)", one) for one in requirements)
    return [f"{one[1]}=={one[2]}" for one in found if one]


def main() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = [one for name in EXTRAS for one in project["optional-dependencies"][name]]
    print("\n".join([*sorted(lowest([*project["dependencies"], *extras])), *OF_THAT_TIME]))


#: What the lowest versions bring along, before it warned of how they use it.
OF_THAT_TIME = ("pyparsing<3.3",)

#: The extras of the tests, and those that they include.
EXTRAS = ("dev", "bench", "dask", "data", "table", "plot", "pandas")

if __name__ == "__main__":
    main()
