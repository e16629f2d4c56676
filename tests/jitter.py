"""Change what tests draw in its tenth digit: what then fails would fail on some other processor.

    pytest --jitter SEED tests/solvers
    python tests/jitter.py --seeds 20 -- -n 2 tests/solvers

As a plugin it multiplies floating-point draws of `numpy.random.default_rng`, of `RandomState`, and
the data of scikit-learn's `make_*` and `load_*` functions by ``1 + 1e-10 u``, u uniform in
[-1, 1]. As a script it runs pytest once for each seed and prints every test that failed, and how
often.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

SIZE = 1e-10


class Jitter:
    """Multiplies floating-point numbers by ``1 + SIZE u``."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.restart("")

    def restart(self, name: str) -> None:
        """Draw the same numbers for the same test, whichever tests ran before it."""
        self._u = np.random.Generator(np.random.PCG64([self.seed, zlib.crc32(name.encode())]))

    def __call__(self, value):
        if isinstance(value, float):
            return type(value)(value * (1.0 + SIZE * self._u.uniform(-1.0, 1.0)))
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return value * (1.0 + SIZE * self._u.uniform(-1.0, 1.0, value.shape)).astype(
                value.dtype
            )
        if isinstance(value, tuple):
            return tuple(map(self, value))
        if isinstance(value, dict):  # scikit-learn's Bunch
            return type(value)(**{key: self(one) for key, one in value.items()})
        return value

    def wrapped(self, function):
        """Return a function whose results are changed."""

        @functools.wraps(function)
        def call(*args, **kwargs):
            return self(function(*args, **kwargs))

        return call


#: Methods that return what they were given, or the state.
NOT_DRAWS = {"choice", "permutation", "permuted", "shuffle", "spawn", "get_state", "set_state"}


def jittered(kind: type, jitter: Jitter) -> type:
    """Return a subclass of a random generator whose draws are changed."""

    class Instances(type):
        def __instancecheck__(cls, one):
            return isinstance(one, kind)

    draws = {
        name: jitter.wrapped(method)
        for name, method in vars(kind).items()
        if callable(method) and not name.startswith("_") and name not in NOT_DRAWS
    }
    return Instances(kind.__name__, (kind,), draws)


def switch_on(jitter: Jitter) -> None:
    """Change what tests draw from now on."""
    import sklearn.datasets

    generator, plain = jittered(np.random.Generator, jitter), np.random.default_rng
    np.random.default_rng = lambda seed=None: generator(plain(seed).bit_generator)
    np.random.RandomState = jittered(np.random.RandomState, jitter)
    for name in sklearn.datasets.__all__:
        if name.startswith(("make_", "load_")):
            setattr(sklearn.datasets, name, jitter.wrapped(getattr(sklearn.datasets, name)))


def pytest_addoption(parser):
    parser.addoption("--jitter", type=int, metavar="SEED", help="change what tests draw a little")


def pytest_configure(config):
    seed = config.getoption("--jitter")
    if seed is not None:
        jitter = Jitter(seed)
        switch_on(jitter)
        config.pluginmanager.register(Restarts(jitter))


class Restarts:
    """A plugin that begins every test with jitter of its own."""

    def __init__(self, jitter: Jitter) -> None:
        self.jitter = jitter

    def pytest_runtest_setup(self, item):
        self.jitter.restart(item.nodeid)


def failures(seed: int, arguments: list[str]) -> tuple[int, list[str]]:
    """Run pytest with a seed; return how many tests ran and the names of those that failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = [f"--jitter={seed}", f"--hypothesis-seed={seed}", "-q", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *options, *arguments]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)
        if outcome.returncode not in (0, 1):
            sys.exit(f"pytest could not run:\n{outcome.stdout[-3000:]}{outcome.stderr[-3000:]}")
        cases = list(ElementTree.parse(report).iter("testcase"))
    failed = [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    if failed:
        print(outcome.stdout[-20000:], flush=True)
    return len(cases), failed


def summary(counts: Counter[str], rounds: int) -> str:
    """Return the table of failures and the Good-Turing estimate.

    Good and Turing: the number of tests that fail for the first time in one more round is about
    the number of those that failed in exactly one, divided by the number of rounds.
    """
    rows = [f"{count:>4} of {rounds}  {name}" for name, count in counts.most_common()]
    once = sum(count == 1 for count in counts.values())
    new = min(1.0, once / rounds)
    return "\n".join(
        [
            *rows,
            f"{len(counts)} tests failed in {rounds} rounds, {once} of them once. The chance that "
            f"a test not listed here fails on a new machine is about {new:.2f} (Good-Turing).",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="how many rounds")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first round")
    parser.add_argument("arguments", nargs="*", help="for pytest, after --")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.first, options.first + options.seeds):
        n_tests, failed = failures(seed, options.arguments)
        print(f"seed {seed}: {len(failed)} of {n_tests} tests failed", flush=True)
        counts.update(failed)
    print(summary(counts, options.seeds))
    return len(counts) > 0


if __name__ == "__main__":
    sys.exit(main())
