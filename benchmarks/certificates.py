"""A fuzz of the promise that `dual_gap_` bounds the relative distance to the optimum.

    python benchmarks/certificates.py [--problems 2000] [--seed 0] [--jobs 2] [--methods ITL ...]
    python benchmarks/certificates.py --seed 0 --only 137

Random problems (see `_hostile.py`), each with one method and random hyper-parameters, are fitted at
the default tol; one in four is also searched along a path over five values of C. A gap is false
where a better point is known than it allows: the same model with tol=1e-9, or on a part of the bank
(the whole bank with some weights at 0). Such points are valued here and not by the library: its
weights are made exactly feasible, the primal objective of its dual coefficients is computed with
the best intercepts, and what rounding may have done is granted. `normalized` is not convex and
certifies only that its point is stationary: there the number of SVMs is looked at instead. An
objective is unreached where the fitted model's own coefficients, which predict, do not come within
the gap of it (not told for RPKL and ONJKL, whose weight of the identity is not public).

An exception is anything but a ValueError, which counts as refused; LinAlgError is an exception.
Missed models are silent where no ConvergenceWarning was given. Times of paths are those of a whole
search of five models on two folds. Each problem follows from the seed and its number alone, which
`--show` lists and `--only` runs again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

import numpy as np
from _hostile import (
    FIXED_WEIGHTS,
    METHODS,
    ONE_TASK,
    Problem,
    Value,
    distance_constant,
    draw_model,
    draw_problem,
    stacks_of,
    value_of,
    warm_up,
)
from _measure import print_table
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import kernelhood as kh
from kernelhood.parallel import map_in_processes


@dataclass
class Outcome:
    """What came of one fit or one search; `n_models` is 5 for a search that ended."""

    number: int
    method: str
    hostile: bool
    way: str
    troubles: tuple[str, ...]
    n_models: int = 1
    missed: int = 0
    silent: int = 0
    exception: str = ""
    refused: str = ""
    false: str = ""
    unreached: str = ""
    negative: int = 0
    seconds: float = np.nan
    n_iter: int = 0
    gap: float = 0.0
    lowest: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether a promise was broken."""
        return bool(self.missed or self.exception or self.false or self.unreached or self.negative)


def audit(method: str, model: Any, problem: Problem, rng: np.random.Generator) -> dict[str, str]:
    """Return by how much the gap of a fitted model is false and its objective unreached, if so."""
    if method.startswith("normalized") or not np.isfinite(model.dual_gap_):
        return {}
    stacks = stacks_of(method, model, problem)
    own = value_of(method, model, problem, stacks)
    claimed = model.objective_ - distance_constant(method, model, problem)
    values = [own, *better_points(method, model, problem, stacks, rng)]
    totals = np.array([one.total for one in values])
    totals[~np.isfinite(totals)] = np.inf
    places = (np.argmin(totals, axis=0), np.arange(totals.shape[1]))
    rounding = np.sum(own.slack) + np.sum(np.array([one.slack for one in values])[places])
    # Only the penalty of KTA can be negative: else no objective is less than its SVM's part.
    size = max(abs(claimed), float(np.sum(own.svm)) if method == "KTA" else 0.0)
    if method == "neighborhood":
        size = model.objective_  # of which no weights change a part
    size += 1e-12 * (1.0 + model.C * float(np.sum(np.abs(problem.y) + 1.0)))
    granted = 1.1 * max(model.dual_gap_, 0.0) * size + 1e-9 * abs(claimed) + rounding
    excess, lack = claimed - np.sum(totals[places]), np.sum(own.total) - claimed
    found = {}
    if excess > granted:
        found["false"] = f"says {model.dual_gap_:.1e}, truly at least {excess / size:.1e}"
    if lack > granted and method not in ("ONJKL", "RPKL"):
        found["unreached"] = f"says {model.dual_gap_:.1e}, {lack / size:.1e} above objective_"
    return found


def better_points(
    method: str, model: Any, problem: Problem, stacks: list[np.ndarray], rng: np.random.Generator
) -> list[Value]:
    """Return the values of points that may be better: fits to more digits, and to sub-banks."""
    everything, values = np.arange(len(stacks[0])), []
    tries = [(everything, {"tol": 1e-9, "max_iter": 1000})]
    for _ in range(0 if method in FIXED_WEIGHTS or len(everything) == 1 else 3):
        chosen = np.sort(rng.permutation(everything)[: rng.integers(1, len(everything))])
        tries.append((chosen, {"tol": 1e-5, "kernels": [model.kernels[m] for m in chosen]}))
    for chosen, settings in tries:
        other = clone(model).set_params(**settings)
        if not any(attempt(other.fit, problem)[1:3]):
            values.append(value_of(method, other, problem, [Ks[chosen] for Ks in stacks]))
    return values


def attempt(fit: Callable[..., Any], problem: Problem) -> tuple[bool, str, str, float]:
    """Fit to a problem and catch all that is raised.

    Returns
    -------
    warned : bool
        Whether a ConvergenceWarning was given.
    exception, refused : str
        What was raised: a ValueError counts as refused, but not its LinAlgError.
    seconds : float
        Time taken.
    """
    exception, refused, start = "", "", time.perf_counter()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            fit(problem.X, problem.y, task=problem.task)
        except Exception as error:
            text = f"{type(error).__name__}: {str(error)[:120]}"
            known = isinstance(error, ValueError) and not isinstance(error, np.linalg.LinAlgError)
            exception, refused = ("", text) if known else (text, "")
    warned = any(issubclass(one.category, ConvergenceWarning) for one in seen)
    return warned, exception, refused, time.perf_counter() - start


def try_fit(model: Any, problem: Problem, rng: np.random.Generator, blank: Outcome) -> Outcome:
    """Return the outcome of one cold fit."""
    warned, exception, refused, seconds = attempt(model.fit, problem)
    outcome = replace(blank, exception=exception, refused=refused, seconds=seconds)
    if exception or refused:
        return outcome
    gap = float(model.dual_gap_)
    missed = not gap <= model.tol or not np.isfinite(model.objective_)
    return replace(
        outcome,
        missed=int(missed),
        silent=int(missed and not warned),
        **audit(blank.method, model, problem, rng),
        negative=int(gap < 0.0),
        n_iter=int(model.n_iter_),
        gap=gap,
        lowest=min(gap, 0.0),
    )


def try_path(model: Any, problem: Problem, blank: Outcome) -> Outcome:
    """Return the outcome of a search over five values of C."""
    scoring = "neg_mean_squared_error" if problem.kind == "regression" else None
    grid = {"C": list(model.C * 4.0 ** np.arange(-2.0, 3.0))}
    search = kh.KernelSearchCV(clone(model), grid, cv=2, refit=False, scoring=scoring)
    warned, exception, refused, seconds = attempt(search.fit, problem)
    outcome = replace(blank, way="path", exception=exception, refused=refused, seconds=seconds)
    if exception or refused:
        return outcome
    gaps = np.asarray(search.cv_results_["max_gap"])
    missed = int(np.sum(~(gaps <= model.tol)))
    return replace(
        outcome,
        n_models=len(gaps),
        missed=missed,
        silent=0 if warned else missed,
        negative=int(np.sum(gaps < 0.0)),
        gap=float(gaps.max()),
        lowest=min(float(gaps.min()), 0.0),
    )


def plan(number: int) -> tuple[str, bool, bool]:
    """Return the method of a problem, whether it is hostile, and whether it has a path, too."""
    method = list(METHODS)[number % len(METHODS)]
    turn = number // len(METHODS)
    return method, turn % 2 == 1, turn // 2 % 4 == 0


def run(seed: int, number: int, verbose: bool = False) -> list[Outcome]:
    """Return the outcomes of one problem."""
    method, hostile, has_path = plan(number)
    rng = np.random.default_rng([seed, number])
    problem = draw_problem(rng, hostile, method in ONE_TASK)
    model = draw_model(rng, method, problem)
    if verbose:
        sizes = np.bincount(problem.task).tolist()
        print(f"{number}: {model}\nX {problem.X.shape}, tasks of {sizes}, {problem.troubles}")
    blank = Outcome(number, method, hostile, "cold", problem.troubles)
    with threadpool_limits(1):
        warm_up()
        outcomes = [try_fit(model, problem, rng, blank)]
        return [*outcomes, try_path(model, problem, blank)] if has_path else outcomes


HEAD = ["fits", "missed", "silent", "exceptions", "refused", "false gaps", "unreached"]
HEAD += ["negative gaps", "median ms", "slowest s", "worst missed gap"]


def summary(outcomes: list[Outcome]) -> list[Any]:
    """Return the cells of `HEAD`."""
    seconds = [one.seconds for one in outcomes if not one.refused]
    worst = max((one.gap for one in outcomes if one.missed), default=0.0)
    negative = sum(one.negative for one in outcomes)
    lowest = min((one.lowest for one in outcomes), default=0.0)
    return [
        sum(one.n_models for one in outcomes),
        sum(one.missed for one in outcomes),
        sum(one.silent for one in outcomes),
        sum(bool(one.exception) for one in outcomes),
        sum(bool(one.refused) for one in outcomes),
        sum(bool(one.false) for one in outcomes),
        sum(bool(one.unreached) for one in outcomes),
        f"{negative} (to {lowest:.0e})" if negative else 0,
        f"{1e3 * np.median(seconds):.1f}" if seconds else "",
        f"{max(seconds):.2f}" if seconds else "",
        f"{worst:.1e}" if worst else "",
    ]


def print_tables(outcomes: list[Outcome]) -> None:
    def rows(*names: str) -> list[list[Any]]:
        groups: dict[tuple, list[Outcome]] = {}
        for one in outcomes:
            key = {"method": one.method, "way": one.way}
            key["problems"] = "hostile" if one.hostile else "ordinary"
            groups.setdefault(tuple(key[name] for name in names), []).append(one)
        return [[*key, *summary(groups[key])] for key in sorted(groups)]

    by_method = rows("way", "method", "problems")
    for way, title in (("cold", "Single fits"), ("path", "Models along paths")):
        own = [row[1:] for row in by_method if row[0] == way]
        print_table(title, ["method", "problems", *HEAD], own)
    print_table("All methods", ["way", "problems", *HEAD], rows("way", "problems"))
    short = []
    for method in ("normalized", "normalized-functions", "normalized-mixed"):
        counts = [one.n_iter for one in outcomes if one.method == method and one.n_iter]
        if counts:
            few = 100.0 * np.mean(np.array(counts) <= 60)
            short.append([method, len(counts), f"{few:.1f} %", int(np.median(counts)), max(counts)])
    if short:
        head = ["method", "fits", "at most 60", "median", "most"]
        print_table("SVMs of the formulation that is not convex", head, short)


def print_failures(outcomes: list[Outcome]) -> None:
    """List what went wrong, with the number that `--only` takes."""
    for one in outcomes:
        if one.failed or one.refused:
            what = [f"missed {one.missed} at {one.gap:.1e}"] if one.missed else []
            what += [f"false: {one.false}"] if one.false else []
            what += [f"unreached: {one.unreached}"] if one.unreached else []
            what += [f"negative: {one.lowest:.1e}"] if one.negative else []
            what += [text for text in (one.exception, one.refused) if text]
            troubles = ", ".join(one.troubles) or "ordinary"
            print(f"- {one.number} {one.method} {one.way} ({troubles}): {'; '.join(what)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--show", action="store_true", help="list what failed or was refused")
    parser.add_argument("--only", type=int, nargs="+", help="run the problems of these numbers")
    arguments = parser.parse_args()
    if arguments.only:
        for number in arguments.only:
            for outcome in run(arguments.seed, number, verbose=True):
                print(outcome)
        return
    chosen = (number for number in count() if plan(number)[0] in arguments.methods)
    numbers = list(islice(chosen, arguments.problems))
    jobs = [(arguments.seed, number) for number in numbers]
    outcomes = [one for some in map_in_processes(run, jobs, arguments.jobs) for one in some]
    print_tables(outcomes)
    if arguments.show:
        print_failures(outcomes)


if __name__ == "__main__":
    main()
