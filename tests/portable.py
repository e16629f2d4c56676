"""Run a command as other processors would compute it.

    python tests/portable.py pytest tests/solvers

OpenBLAS has kernels of its own for each kind of processor, and their sums differ in the last bits.
The command runs once for every kind below; one that this processor lacks the instructions for is
named and left out.
"""

from __future__ import annotations

import os
import subprocess
import sys

KINDS = ("Haswell", "SkylakeX", "Zen", "Prescott")
PROBE = "import numpy as np, scipy.linalg as s; K = np.eye(200) + 0.1; s.cholesky(K @ K)"


def environment(kind: str) -> dict[str, str]:
    """Return the environment in which OpenBLAS takes the processor for another kind."""
    return {**os.environ, "OPENBLAS_CORETYPE": kind}


def runs_here(kind: str) -> bool:
    """Return whether this processor has the instructions of another kind."""
    probe = subprocess.run(
        [sys.executable, "-c", PROBE], env=environment(kind), capture_output=True, check=False
    )
    return probe.returncode == 0


def main(command: list[str]) -> int:
    failed = []
    for kind in KINDS:
        if not runs_here(kind):
            print(f"{kind}: not run, this processor lacks its instructions", flush=True)
            continue
        print(f"{kind}:", flush=True)
        if subprocess.run(command, env=environment(kind), check=False).returncode:
            failed.append(kind)
    if failed:
        print(f"failed as {', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
