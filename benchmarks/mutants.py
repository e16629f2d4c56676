"""Do the tests notice a small mistake? Change one token of the source at a time and run them.

    python benchmarks/mutants.py [--mutants 100] [--seed 0] [--jobs 2] [--patience S] [--only N]

Comparisons become their opposites, signs, minima and maxima, truth values, "and" and "or" are
swapped. With --numbers numbers are changed as well: many of these are tolerances and sizes, of
which another one is as good.

Mutant N of a seed is the N-th place of the source, in an order drawn at random. The tests that
mirror its file come first, then those of the estimators and of the search; the first failure kills
it, as does a test that takes two minutes longer than twenty times what it takes without a mutant.
With --patience what is not killed within so many seconds of processor time counts as a survivor.

Source, tests and what Numba compiled are copied to the folder for temporary files and kept there
until one of them changes. A first run tells how long each test takes, and which fail already and
are left out. This file is the plugin of pytest for that, too.
"""

from __future__ import annotations

import argparse
import faulthandler
import fcntl
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import hypothesis
import numpy as np
import pytest
from _measure import print_table
from _mutation import Mutant, places

LOW = ["losses", "relations", "penalties", "operators", "solvers"]
FOLDERS = [*LOW, "estimators", "search"]
# Of all tests, those that kill the most in the least time, the slow ones, and those left out.
FIRST = ["test_model.py", "test_methods_conic.py", "test_methods_limits.py", "test_normalized.py"]
LAST = ["test_sharing.py", "test_transfer.py", "test_all_methods.py", "test_search.py"]
LEFT_OUT = ["test_interrupt.py"]
FAILED = -1.0


def all_mutants(root: Path, seed: int, numbers: bool) -> list[Mutant]:
    """Return one mutant for each place of the source, in an order drawn at random."""
    draw, mutants = random.Random(seed), []
    for file in sources(root):
        defaults = file.parent.name not in ("estimators", "search")
        for start, end, changes in sorted(places(file.read_text(), defaults, numbers)):
            mutants.append(Mutant(str(file.relative_to(root)), start, end, draw.choice(changes)))
    draw.shuffle(mutants)
    return mutants


def sources(root: Path) -> list[Path]:
    package = root / "src" / "kernelhood"
    found = [
        one for name in FOLDERS for one in (package / f"{name}.py", *package.glob(f"{name}/**/*"))
    ]
    text = ("__init__.py", "docs.py")
    return sorted(
        one for one in found if one.suffix == ".py" and one.exists() and one.name not in text
    )


def tests_for(root: Path, file: Path) -> list[str]:
    """Return the files whose tests could kill a mutant of `file`, the likely ones first."""

    def of(name: str) -> list[Path]:
        found = [root / "tests" / f"test_{name}.py", *(root / "tests" / name).glob("test_*.py")]
        return sorted(found, key=lambda one: (one.name in LAST, one.name not in FIRST, one))

    folder = Path(file.relative_to(root / "src" / "kernelhood").parts[0]).stem
    above = [*(LOW[LOW.index(folder) + 1 :] if folder in LOW else []), "estimators"]
    files = [root / "tests" / folder / f"test_{file.stem.strip('_')}.py", *of(folder), file]
    files += [one for name in [*above, "search", "extending"] for one in of(name)]
    kept = (one for one in dict.fromkeys(files) if one.exists() and one.name not in LEFT_OUT)
    return [str(one.relative_to(root)) for one in kept]


def cache_name(folder: Path) -> str:
    """Return the name that Numba gives to what it keeps of a folder of sources."""
    return f"{folder.name}_{hashlib.sha1(str(folder).encode()).hexdigest()}"


class Tree:
    """A copy of the source and the tests, in which one mutant is tried at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.times = folder, folder / "times.json"

    def make(self, root: Path) -> None:
        """Copy `root` and run the tests, which compiles, to see how long each takes."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("src", "tests"):
            no_cache = shutil.ignore_patterns("__pycache__")
            shutil.copytree(root / name, self.folder / name, ignore=no_cache)
        for name in ("docs", "examples", "benchmarks", "README.md"):
            (self.folder / name).symlink_to(root / name)
        ours = [Path(__file__).with_name(name) for name in ("_measure.py", "_mutation.py")]
        for file in (root / "pyproject.toml", __file__, *ours):
            shutil.copy(file, self.folder)
        files = [one for file in sources(self.folder) for one in tests_for(self.folder, file)]
        command = ["pytest", *dict.fromkeys(files), "--continue-on-collection-errors"]
        self.run(command, 7200.0, NUMBA_CACHE_DIR=str(self.folder / "warm"), MUTANTS_CLEAN="1")

    def copy(self, folder: Path) -> Tree:
        """Return a copy; Numba's folders are named by the path of the source."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder, folder, symlinks=True)
        for ours in filter(Path.is_dir, (self.folder / "src").rglob("*")):
            if (cached := folder / "warm" / cache_name(ours)).exists():
                theirs = folder / ours.relative_to(self.folder)
                cached.rename(folder / "warm" / cache_name(theirs))
        return Tree(folder)

    def run(self, command: list[str], seconds: float, **variables: str) -> tuple[int | None, str]:
        """Return the exit code of a module, None if it took too long, and what it printed."""
        fixed = {"PYTHONPATH": str(self.folder / "src"), "MUTANTS_TIMES": str(self.times)}
        fixed |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        if command[0] == "pytest":
            command = [*command, "-q", "-pmutants", "-pno:cacheprovider", "-n0", "--tb=no"]
            command.append(f"--basetemp={self.folder / 'tmp'}")
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env={**os.environ, **fixed, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            out = process.communicate(timeout=20.0 * seconds)[0]  # wall-clock time
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
        return None if process.returncode == -signal.SIGXCPU else process.returncode, out

    def stale(self, file: Path) -> set[Path]:
        """Return the compiled files that call into `file`: Numba looks only at their own text."""
        texts = {one: one.read_text() for one in (self.folder / "src").rglob("*.py")}
        imports = {
            one: set(re.findall(r"^from (\S+) import", text, re.MULTILINE))
            for one, text in texts.items()
            if "@compiled" in text
        }
        found, old = {file} & set(imports), set()
        while found != old:
            old = set(found)
            names = [one.relative_to(self.folder / "src").with_suffix("").parts for one in old]
            modules = {".".join(parts) for name in names for parts in (name, name[:-1])}
            found |= {one for one, used in imports.items() if used & modules}
        return found

    def survives(self, mutant: Mutant, patience: float) -> tuple[bool | None, str]:
        """Return whether a mutant lives, None if it cannot be imported, and what killed it.

        One that is not killed within `patience` seconds of processor time lives.
        """
        file, cache = self.folder / mutant.file, self.folder / "cache"
        times, source, status = json.loads(self.times.read_text()), file.read_text(), file.stat()
        shutil.rmtree(cache, ignore_errors=True)
        shutil.copytree(self.folder / "warm", cache, copy_function=os.link)
        for one in self.stale(file):
            for entry in (cache / cache_name(one.parent)).glob(f"{one.stem}.*"):
                entry.unlink()
        tests = [one for one in tests_for(self.folder, file) if times.get(one) != FAILED]
        seconds = max(120.0, 10.0 * sum(times[one] for one in times if one.split("::")[0] in tests))
        variables = {"NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
        given = min(seconds, patience)
        limited = {**variables, "MUTANTS_SECONDS": str(int(given))}
        try:
            file.write_text(mutant.applied(source))
            code, out = self.run(["pytest", "-x", *tests], given, **limited)
            if code is None and patience < seconds:
                return True, ""
            module = ".".join(Path(mutant.file).with_suffix("").parts[1:])
            # No test failed but what the tests import: is it the source?
            if code in (2, 4) and self.run([module], 120.0, **variables)[0] != 0:
                return None, "does not import"
        finally:
            file.write_text(source)
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        killer = re.search(r"^(?:FAILED|ERROR) (\S+)", out, re.MULTILINE)
        return code == 0, killer[1] if killer else f"time or a crash, exit code {code}"


def pytest_configure(config) -> None:
    """Draw the same examples each time, do not shrink them, and do not eat up the memory."""
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    same = {"phases": phases, "database": None, "derandomize": True, "deadline": None}
    hypothesis.settings.register_profile("mutants", **same)
    hypothesis.settings.load_profile("mutants")
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    if (seconds := os.environ.pop("MUTANTS_SECONDS", None)) is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), resource.RLIM_INFINITY))
    config.clean = "MUTANTS_CLEAN" in os.environ
    config.times = {} if config.clean else json.loads(Path(os.environ["MUTANTS_TIMES"]).read_text())


def pytest_collection_modifyitems(config, items) -> None:
    """Leave out what fails anyway; what takes seconds comes last."""
    items[:] = [one for one in items if config.times.get(one.nodeid) != FAILED]
    items.sort(key=lambda one: config.times.get(one.nodeid, 0.0) > 2.0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """End the process where a test hangs, be it in compiled code."""
    if not item.config.clean:
        seconds = 120.0 + 20.0 * item.config.times.get(item.nodeid, 0.0)
        faulthandler.dump_traceback_later(seconds, exit=True)
    result = yield
    faulthandler.cancel_dump_traceback_later()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report, times = (yield), item.config.times
    if item.config.clean and times.get(item.nodeid) != FAILED:
        taken = times.get(item.nodeid, 0.0) + call.duration
        times[item.nodeid] = FAILED if report.failed else taken
    return report


def pytest_sessionfinish(session) -> None:
    """Write down the clean times, and which files cannot be read."""
    if session.config.clean:
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        broken = {one.nodeid: FAILED for one in reporter.stats.get("error", ())}
        Path(os.environ["MUTANTS_TIMES"]).write_text(json.dumps(session.config.times | broken))


def prepared(root: Path, jobs: int) -> list[Tree]:
    """Return the trees, made anew where the source, the tests or this file changed."""
    name = f"kernelhood-mutants-{hashlib.sha1(str(root).encode()).hexdigest()[:8]}"
    work = Path(tempfile.gettempdir()).resolve() / name
    work.mkdir(exist_ok=True)
    fcntl.flock(os.open(work / "lock", os.O_CREAT | os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)
    files = [one for part in ("src", "tests") for one in sorted((root / part).rglob("*.py"))]
    texts = [one.read_bytes() for one in [Path(__file__), *files]]
    digest, stamp, first = (
        hashlib.sha1(b"".join(texts)).hexdigest(),
        work / "digest",
        Tree(work / "0"),
    )
    if not stamp.exists() or stamp.read_text() != digest:
        stamp.unlink(missing_ok=True)
        first.make(root)
        stamp.write_text(digest)
    times = json.loads(first.times.read_text())
    print(f"{len(times)} tests, {sum(times.values()):.0f} s without a mutant")
    for one in (name for name in times if times[name] == FAILED):
        print(f"Left out, since it fails without a mutant: {one}")
    return [first, *(first.copy(work / str(number)) for number in range(1, jobs))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--patience", type=float, default=np.inf, help="processor seconds for a mutant"
    )
    parser.add_argument("--numbers", action="store_true", help="change numbers, too")
    parser.add_argument("--show", action="store_true", help="print each mutant as it ends")
    parser.add_argument("--only", type=int, help="the number of one mutant to show and run")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    given = parser.parse_args()
    wanted, jobs = (given.mutants, given.jobs) if given.only is None else (1, 1)
    trees = prepared(given.root.resolve(), jobs)
    mutants = all_mutants(trees[0].folder, given.seed, given.numbers)
    abouts = [one.described((trees[0].folder / one.file).read_text()) for one in mutants]
    print(f"{len(mutants)} places can be changed", flush=True)
    numbers = iter(range(len(mutants)) if given.only is None else [given.only])
    lives: dict[int, bool | None] = {}
    lock = Lock()

    def work(tree: Tree) -> None:
        while True:
            with lock:  # those that cannot be imported do not count
                full = sum(one is not None for one in lives.values()) >= wanted
                number = None if full else next(numbers, None)
                if number is None:
                    return
                lives[number] = True
            start = time.perf_counter()
            lives[number], killer = tree.survives(mutants[number], given.patience)
            word = {True: "survives", False: f"killed by {killer}", None: killer}[lives[number]]
            if given.show or given.only is not None:
                seconds = time.perf_counter() - start
                print(f"{number}: {abouts[number]}\n    {word}, {seconds:.0f} s", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, trees))
    counted = {number: lives[number] for number in sorted(lives) if lives[number] is not None}
    folders: dict[str, list[bool]] = {"all": list(counted.values())}
    for number, lived in counted.items():
        folders.setdefault(Path(mutants[number].file).parts[2], []).append(lived)
    rows = [[name, len(lived) - sum(lived), len(lived)] for name, lived in folders.items()]
    print_table("Mutants", ["folder", "killed", "of"], rows)
    print("\nSurvivors:\n")
    print("\n".join(f"{number}: {abouts[number]}" for number, lived in counted.items() if lived))


if __name__ == "__main__":
    main()
