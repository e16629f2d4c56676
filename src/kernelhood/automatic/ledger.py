"""What has been evaluated: models on splits, each at most once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from kernelhood._typing import Array, Indices
from kernelhood.automatic.kinds import Kind
from kernelhood.automatic.progress import Progress
from kernelhood.kernels import Kernel
from kernelhood.model_selection.averages import averaged
from kernelhood.model_selection.grids import distinct_models
from kernelhood.model_selection.scoring import TaskScorer
from kernelhood.model_selection.split_tasks import SplitTask, SplitTasks
from kernelhood.model_selection.walks import Starts, grid_scores


@dataclass
class Entry:
    """One model, and what is known of it.

    Attributes
    ----------
    kind : Kind
        Its kind.
    level : float
        Where on the kind's path it is.
    params : dict
        Its parameters.
    round : int
        The round of the race in which it was first evaluated.
    scores : ndarray of shape (n_splits, n_tasks)
        NaN where it was not evaluated, or where a split does not test a task.
    seen : ndarray of bool, shape (n_splits,)
        The splits that it was evaluated on.
    seconds, gap : float
        Time for all of these, and the largest relative duality gap.
    starts : list of ndarray, or None
        Weights to start a fit to all rows from, where the solution depends on it.
    """

    kind: Kind
    level: float
    params: dict[str, Any]
    round: int
    scores: Array
    seen: Any
    seconds: float = 0.0
    gap: float = 0.0
    starts: Starts = None


class Ledger:
    """All models that were evaluated, and on which splits.

    Parameters
    ----------
    estimator : estimator
        Gives the method and the parameters that are not chosen.
    parts : list of list of SplitTask
        The tasks of every split.
    n_tasks : int
        Number of tasks.
    scorer : TaskScorer
        Scores one task.
    average : {"tasks", "samples"}
        How the scores of a split are averaged.
    pooled : bool
        Whether scores are negative sums of squared errors, of which one score is made.
    n_jobs : int, optional
        Processes.
    progress : Progress
        Told how many models are solved.
    """

    def __init__(
        self,
        estimator: Any,
        parts: SplitTasks,
        n_tasks: int,
        scorer: TaskScorer,
        average: str,
        pooled: bool,
        n_jobs: int | None,
        progress: Progress,
    ) -> None:
        self.estimator, self.parts, self.n_tasks, self.scorer = estimator, parts, n_tasks, scorer
        self.average, self.pooled, self.n_jobs, self.progress = average, pooled, n_jobs, progress
        self.entries: dict[tuple[str, float], Entry] = {}
        self.round = 0

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.parts)

    def kernels(self, settings: Mapping[str, Any]) -> Sequence[Kernel]:
        """Return the kernels of the first split for some parameters."""
        model = clone(self.estimator).set_params(**settings)
        return tuple(model._fitted_bank(self.parts[0][0].inputs))

    def begin(self, what: str) -> None:
        """Begin the next round."""
        self.round += 1
        self.progress.say(what)

    def of(self, kind: Kind) -> list[Entry]:
        """Return the models of a kind."""
        return [one for one in self.entries.values() if one.kind.name == kind.name]

    def evaluate(self, asked: Sequence[tuple[Kind, float]], splits: Sequence[int]) -> None:
        """Evaluate models on splits where they have not been yet.

        Parameters
        ----------
        asked : sequence of (Kind, float)
            Kinds and levels.
        splits : sequence of int
            Numbers of splits.
        """
        waiting: dict[tuple[int, ...], list[Entry]] = {}
        entries = [self.entry(kind, level) for kind, level in asked]
        for entry in {id(one): one for one in entries}.values():
            missing = tuple(split for split in splits if not entry.seen[split])
            if missing:
                waiting.setdefault(missing, []).append(entry)
        for missing, entries in waiting.items():
            self._solve(entries, list(missing))

    def entry(self, kind: Kind, level: float) -> Entry:
        """Return a model, a new one where it was not asked for before."""
        level = round(level, 6)
        key = kind.name, level
        if key not in self.entries:
            scores = np.full((self.n_splits, self.n_tasks), np.nan)
            seen = np.zeros(self.n_splits, dtype=bool)
            self.entries[key] = Entry(kind, level, kind.at(level), self.round, scores, seen)
        return self.entries[key]

    def _solve(self, entries: list[Entry], splits: list[int]) -> None:
        """Solve models on splits that none of them has seen."""
        grid = [{name: [value] for name, value in one.params.items()} for one in entries]
        models = distinct_models(self.estimator, grid)
        parts = [self.parts[split] for split in splits]
        walked = (self.estimator, models.models, parts, self.scorer, self.n_tasks, self.n_jobs)
        found = grid_scores(*walked)
        for entry, model in zip(entries, models.model_of.tolist(), strict=True):
            entry.scores[splits] = found.scores[model]
            entry.seen[splits] = True
            entry.seconds += float(found.seconds[model]) * len(splits)
            entry.gap = max(entry.gap, float(found.gaps[model]))
            entry.starts = found.starts[model]
        self.progress.add(len(entries) * len(splits))

    def by_split(self, entry: Entry) -> Array:
        """Return the score of every split, NaN where it was not evaluated."""
        return self._averaged(entry)[0]

    def by_task(self, entry: Entry) -> Array:
        """Return the score of every task, over the splits that were evaluated."""
        return self._averaged(entry)[1]

    def _averaged(self, entry: Entry) -> tuple[Array, Array]:
        how: dict[str, Any] = {"average": self.average, "pooled": self.pooled}
        by_split, by_task = averaged(entry.scores[None], self.parts, **how)
        return np.asarray(by_split[0]), np.asarray(by_task[0])

    def mean(self, entry: Entry, splits: Indices | None = None) -> float:
        """Return the mean score over the splits that were evaluated, or over some of them."""
        known = np.flatnonzero(entry.seen) if splits is None else splits
        values = self.by_split(entry)[known]
        values = values[~np.isnan(values)]
        return float(values.mean()) if len(values) else -np.inf

    def common(self, one: Entry, other: Entry) -> Indices:
        """Return the splits that two models were both evaluated on."""
        return np.flatnonzero(one.seen & other.seen)

    def lead(self, one: Entry, other: Entry) -> tuple[float, float]:
        """Return by how much a model is better than another, and the standard error of that.

        The differences of all pairs of a split and a task that both were evaluated on are taken as
        independent.
        """
        splits = self.common(one, other)
        parts = self._shares(one, splits) - self._shares(other, splits)
        parts = parts[~np.isnan(parts)]
        if len(parts) < 2:
            return float(parts.sum()), np.inf
        return float(parts.sum()), float(np.sqrt(len(parts)) * parts.std(ddof=1))

    def _shares(self, entry: Entry, splits: Indices) -> Array:
        """Return what every split and task adds to the score."""
        scores = entry.scores[splits]
        known = ~np.isnan(scores)
        if self.pooled:
            total = float(self._by_place(splits, lambda one: one.spread)[known].sum())
            return np.asarray(scores / max(total, np.finfo(np.float64).tiny))
        counts = known.astype(np.float64)
        if self.average == "samples":
            counts *= self._by_place(splits, lambda one: len(one.y_test))
        total = np.maximum(counts.sum(axis=1, keepdims=True), 1.0) * len(splits)
        return np.asarray(scores * counts / total)

    def _by_place(self, splits: Indices, number: Callable[[SplitTask], float]) -> Array:
        """Return a number for every split and task."""
        table = np.zeros((len(splits), self.n_tasks))
        for place, split in enumerate(splits.tolist()):
            for one in self.parts[split]:
                table[place, one.number] = number(one)
        return table
