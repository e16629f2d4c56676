"""How long a new installation takes to start: imports, first fits, and lines about compiling.

A virtual environment is made in a temporary folder, and the package is installed there from this
checkout. With --here the present environment is measured, with nothing compiled.

    python benchmarks/start_up.py [--here]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from _measure import print_table

ROOT = Path(__file__).parents[1]
LINE = "kernelhood: compiling numerical code"
CHILDREN = ("children_user", "children_system")
FIT = """
import numpy as np
import kernelhood as kh
rng = np.random.default_rng(0)
X, task = rng.normal(size=(120, 5)), np.repeat(np.arange(6), 20)
y = X[:, 0] + rng.normal(size=120)
kh.{kind}().fit(X, y if "Regressor" in "{kind}" else y > 0.0, task=task)
"""
#: What is run one after the other, each in a process of its own.
STEPS = {
    "import sklearn.svm": "import sklearn.svm",
    "import kernelhood": "import kernelhood",
    "import an estimator": "from kernelhood import KernelhoodRegressor",
    "kernelhood --help": ["--help"],
    "first fit, KernelhoodRegressor": FIT.format(kind="KernelhoodRegressor"),
    "first fit, KernelhoodClassifier": FIT.format(kind="KernelhoodClassifier"),
    "first fit, MTONMKLRegressor": FIT.format(kind="MTONMKLRegressor"),
    "first fit, MTONMKLClassifier": FIT.format(kind="MTONMKLClassifier"),
    "second fit, MTONMKLRegressor": FIT.format(kind="MTONMKLRegressor"),
    "kernelhood fit": ["fit", "table.csv", "--target=y", "--task=task", "--out=model.skops"],
}


def command_of(python: Path, step: str | list[str]) -> list[str]:
    """Return the command line of a step."""
    if isinstance(step, str):
        return [str(python), "-c", step]
    code = "import sys; from kernelhood.cli import main; sys.exit(main())"
    return [str(python), "-c", code, *step]


def processor_seconds(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    """Run a command and return what it took of the processor; its lines go to a file."""
    before = os.times()
    with (folder / "heard.txt").open("a") as heard:
        subprocess.run(command, cwd=folder, env=environment, check=True, stderr=heard, stdout=heard)
    after = os.times()
    user, system = (getattr(after, kind) - getattr(before, kind) for kind in CHILDREN)
    return user + system


def python_of(folder: Path) -> Path:
    """Install the package into a new environment and return its interpreter."""
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"{ROOT}[table]"], check=True)
    return python


def write_table(path: Path) -> None:
    """Write a small table of three tasks."""
    rows = [f"{i * 37 % 60 / 60},{i % 7},{i % 3},{i * 37 % 60 / 30 + i % 3}" for i in range(60)]
    path.write_text("\n".join(["a,b,task,y", *rows]) + "\n")


def main() -> None:
    """Measure every step and print what it takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--here", action="store_true", help="measure the present environment")
    here = parser.parse_args().here
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
        python = Path(sys.executable)
        if not here:
            python = python_of(folder)
            del environment["NUMBA_CACHE_DIR"]
            environment.pop("PYTHONPATH", None)
        write_table(folder / "table.csv")
        commands = {step: command_of(python, what) for step, what in STEPS.items()}
        bare = processor_seconds([str(python), "-c", ""], folder, environment)
        took = {
            step: processor_seconds(command, folder, environment) - bare
            for step, command in commands.items()
        }
        said = (folder / "heard.txt").read_text().count(LINE)
    print_table("A new installation", ["step", "processor seconds"], list(took.items()))
    ratio = took["import kernelhood"] / took["import sklearn.svm"]
    print(f"\nimport kernelhood / import sklearn.svm: {ratio:.2f}")
    first = took["first fit, MTONMKLRegressor"] / took["second fit, MTONMKLRegressor"]
    print(f"first fit / second fit of MTONMKLRegressor, imports included: {first:.1f}")
    print(f"lines about compiling: {said}")


if __name__ == "__main__":
    main()
