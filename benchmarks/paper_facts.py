"""What the rows of a comparison say beside its tables.

    python benchmarks/paper_facts.py docs/results.csv.gz

For each data set: Friedman's test of the paper's seven methods over runs instead of data sets; the
share of the last kernel, the widest Gaussian, in the weights of MT-ONMKL; how often ONJKL chose the
largest rho of its grid; and for each method with a neighborhood the mean alignment of a task's
kernel with its own neighborhood and with those of other tasks. Shares and alignments are means over
the first runs, which keep them.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from _measure import print_table
from scipy.stats import friedmanchisquare

from kernelhood.paper import read_results
from kernelhood.paper.methods import ALIGNED, label
from kernelhood.paper.protocol import TABLE_1


def decoded(rows: Any, method: str, column: str) -> list[Any]:
    """Return what the rows of a method hold in a column of JSON."""
    texts = rows.loc[rows["method"] == method, column].dropna()
    return [json.loads(text) for text in texts]


def facts(rows: Any) -> list[str]:
    """Return the facts of one data set."""
    seven = rows[rows["method"].isin(TABLE_1)]
    test = friedmanchisquare(
        *seven.pivot(index="run", columns="method", values="score").to_numpy().T
    )
    weights = [np.array(one["values"]) for one in decoded(rows, "mt-onmkl", "weights")]
    shares = [one[:, -1].sum() / one.sum() for one in weights]
    rhos = [one["rho"] for one in decoded(rows, "onjkl", "parameters")]
    cells = [
        f"{test.pvalue:.2g}",
        f"{np.mean(shares):.3f}",
        f"{rhos.count(max(rhos))} of {len(rhos)}",
    ]
    for method in ALIGNED:
        mean = np.mean(decoded(rows, method, "alignment"), axis=0)
        own = np.eye(len(mean), dtype=bool)
        cells.append(f"{mean[own].mean():.2f}, {mean[~own].mean():.2f}")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", metavar="CSV")
    results = read_results(parser.parse_args().results)
    head = ["data", "p over runs", "widest Gaussian", "largest rho"]
    head += [f"{label(name)}: own, others" for name in ALIGNED]
    groups = results[results["score"].notna()].groupby("dataset", sort=False)
    print_table("Facts", head, [[str(name), *facts(rows)] for name, rows in groups])


if __name__ == "__main__":
    main()
