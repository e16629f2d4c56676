"""The tables of an inspection, as text in cells; text and page show the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from kernelhood._support import aligned
from kernelhood._typing import AnyArray, Array
from kernelhood.estimators.multilevel import MultilevelModel
from kernelhood.estimators.task_report import HURT, TaskReport
from kernelhood.estimators.trust import COVERAGES, class_reliability, interval_coverage
from kernelhood.search.answers import chosen_model
from kernelhood.tables.fitting import POOLED_RIDGE, TASK_MEAN, listed
from kernelhood.tables.model import TableModel
from kernelhood.tables.model_files import ModelHeader

ALL_ROWS = "all rows"


def number(value: float | None) -> str:
    """Return a score in four digits, a dash if there is none."""
    return "-" if value is None or not np.isfinite(value) else f"{value:.4g}"


def score_cells(found: Inspection) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the scores by task; empty if there are none.

    Parameters
    ----------
    found : Inspection
        Of a table's model.
    """
    head = ["task", "rows", "model", "95 % interval", TASK_MEAN, POOLED_RIDGE]
    rows = [
        [
            ALL_ROWS if row["task"] is None else row["task"],
            str(row["rows"]),
            number(row["model"]),
            f"{number(row['low'])} to {number(row['high'])}",
            number(row[TASK_MEAN]),
            number(row[POOLED_RIDGE]),
        ]
        for row in found.record.get("scores", [])
    ]
    return head, rows


def share_cells(tasks: list[str], names: list[str], shares: Array) -> list[list[str]]:
    """Return rows with the shares of each task in percent.

    Parameters
    ----------
    tasks, names : list of str
        Of rows and columns.
    shares : ndarray of shape (n_tasks, n_names)
        Between 0 and 1.
    """
    return [
        [task, *(f"{100.0 * share:.0f}" for share in own)]
        for task, own in zip(tasks, shares.tolist(), strict=True)
    ]


def summary_lines(found: Inspection) -> list[str]:
    """Return what the model is made of, or what a search has chosen.

    Parameters
    ----------
    found : Inspection
        What is known of a model.
    """
    return list(found.record.get("summary", []))


def report_cells(report: TaskReport) -> tuple[list[str], list[list[str]], list[str]]:
    """Return head and rows of a report, and a line for every column that is the same for all tasks.

    Parameters
    ----------
    report : TaskReport
        What is known of the tasks.
    """
    columns = {
        name: [number(one) if isinstance(one, float) else str(one) for one in values]
        for name, values in report.columns().items()
    }
    same = [
        f"{name}: {values[0]}"
        for name, values in columns.items()
        if len(values) > 1 and len(set(values)) == 1
    ]
    kept = {n: v for n, v in columns.items() if len(v) < 2 or len(set(v)) > 1}
    return list(kept), [list(row) for row in zip(*kept.values(), strict=True)], same


def coverage_line(estimator: Any) -> str:
    """Return in a sentence whether left-out rows are what a model expects of them.

    Parameters
    ----------
    estimator : KernelhoodRegressor or KernelhoodClassifier
        Fitted.
    """
    if is_classifier(estimator):
        off = class_reliability(estimator)[-1]
        return f"Probabilities of left-out rows are {off:.3f} off on average (calibration error)."
    at = int(np.flatnonzero(COVERAGES == _COVERAGE)[0])
    parts = [
        f"{100.0 * share[at]:.0f} % of the targets of {name}"
        for name, (share, _) in interval_coverage(estimator).items()
    ]
    return (
        f"Intervals that should hold {100.0 * _COVERAGE:.0f} % of the targets by the model's own "
        f"deviations hold {' and '.join(parts)}. predict_interval corrects for the difference."
    )


def alike_in(names: list[str], shares: Array) -> str:
    """Return one line if a table would say the same for every task, else nothing.

    Parameters
    ----------
    names : list of str
        Of the columns.
    shares : ndarray of shape (n_tasks, n_names)
        Between 0 and 1.
    """
    if not names:
        return "None."
    if len(shares) < 2 or np.ptp(shares, axis=0).max() >= _SAME:
        return ""
    order = np.argsort(-shares[0], kind="stable")[:_MOST_NAMES].tolist()
    parts = [f"{names[k]} {100.0 * shares[0, k]:.0f} %" for k in order]
    return f"The same for every task: {', '.join(parts)}."


_MOST_NAMES = 12
#: Rows of a task from which on it is not small.
_FEW_ROWS = 10
_COVERAGE, _SAME = 0.9, 0.005


def to_text(found: Inspection) -> str:
    """Return an inspection as plain text.

    Parameters
    ----------
    found : Inspection
        What is known of a model.

    Examples
    --------
    >>> import numpy as np, kernelhood as kh
    >>> from kernelhood.inspection.contents import inspect_model, to_text
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = kh.ITLRegressor(kernels=[kh.Gaussian(0.5)]).fit(X, X[:, 0] ** 2)
    >>> [line for line in to_text(inspect_model(model)).splitlines() if "Kernels" in line]
    ["Kernels, % of a task's weights"]
    """
    width = max(map(len, found.facts))
    lines = [found.title, "", *(f"{name:<{width}}  {text}" for name, text in found.facts.items())]
    lines += ["", "Worth a look", *(f"- {note}" for note in found.notes or ["nothing was found."])]
    lines += _scores(found)
    if summary_lines(found):
        lines += ["", "Model", *summary_lines(found)]
    if found.report is not None:
        lines += ["", *str(found.report).splitlines(), "", coverage_line(found.estimator)]
    if found.similarity.size:
        lines += ["", "Kernels, % of a task's weights"]
        said = alike_in(found.kernels, found.weights)
        lines += [said] if said else _shares(found.tasks, found.kernels, found.weights)
        lines += ["", f"Nearest tasks: {found.likeness}", *_nearest(found)]
    columns = found.record.get("columns", {})
    if columns:
        lines += ["", "Columns", *grid([[name, text] for name, text in columns.items()])]
    return "\n".join(lines)


def grid(rows: list[list[str]]) -> list[str]:
    """Return rows of cells as lines, names to the left and numbers to the right.

    Parameters
    ----------
    rows : list of list of str
        All of one length.
    """
    if not rows:
        return []
    # A task's name may hold a line break.
    cells = [[" ".join(cell.split()) for cell in row] for row in rows]
    return aligned(cells, ragged=len(cells[0]) == 2)


def _scores(found: Inspection) -> list[str]:
    head, rows = score_cells(found)
    if not rows:
        return []
    title = f"Scores: {found.record['metric']} on {found.record['judged']}"
    return ["", title, *grid([head, *rows])]


def _shares(tasks: list[str], names: list[str], shares: Array) -> list[str]:
    """Return the table of shares; of many names only the largest."""
    order = np.argsort(-shares.mean(axis=0), kind="stable")[:_MOST_NAMES]
    kept = [names[k] for k in np.sort(order)]
    left = len(names) - len(kept)
    rows = grid([["task", *kept], *share_cells(tasks, kept, shares[:, np.sort(order)])])
    return [*rows, *([f"and {left} more with smaller shares"] if left else [])]


def _nearest(found: Inspection) -> list[str]:
    if len(found.tasks) < 2:
        return ["there is only one task"]
    alike = found.similarity - 2.0 * np.eye(len(found.tasks))
    best = alike.argmax(axis=1)
    return grid(
        [
            [name, f"{found.tasks[other]} ({found.similarity[place, other]:.2f})"]
            for place, (name, other) in enumerate(zip(found.tasks, best.tolist(), strict=True))
        ]
    )


@dataclass(frozen=True)
class Inspection:
    """All that is known of a model.

    Attributes
    ----------
    title : str
        Heading.
    facts : dict of str to str
        What it is, and where it comes from.
    notes : list of str
        What is worth a look.
    record : dict
        Of a table's fit; empty for other models.
    tasks : list of str
        Names.
    kernels : list of str
        Names of the kernels that some task uses; empty if tasks have no weights of their own.
    weights : ndarray of shape (n_tasks, n_kernels)
        Share of each kernel in the weights of each task.
    similarity : ndarray of shape (n_tasks, n_tasks)
        How alike tasks are; empty if it is not known.
    likeness : str
        What the similarity is.
    estimator : estimator
        The model itself.
    report : TaskReport, optional
        What is known of each task, for models whose left-out rows follow from the fit.

    Examples
    --------
    >>> import numpy as np, kernelhood as kh
    >>> from kernelhood.inspection.contents import inspect_model
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = kh.ITLRegressor(kernels=[kh.Gaussian(0.5)]).fit(X, X[:, 0] ** 2)
    >>> found = inspect_model(model)
    >>> found.kernels, found.weights.tolist()
    (['gaussian(0.5)'], [[1.0]])
    """

    title: str
    facts: dict[str, str]
    notes: list[str]
    record: dict[str, Any]
    tasks: list[str]
    kernels: list[str]
    weights: Array
    similarity: Array
    likeness: str
    estimator: Any
    report: TaskReport | None


def inspect_model(model: Any, header: ModelHeader | None = None) -> Inspection:
    """Gather what there is to say of a fitted model.

    Parameters
    ----------
    model : TableModel, search, Pipeline or estimator
        Fitted.
    header : ModelHeader, optional
        Of the file that it comes from.

    Examples
    --------
    >>> import numpy as np, kernelhood as kh
    >>> from kernelhood.inspection.contents import inspect_model, to_text
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = kh.ITLRegressor(kernels=[kh.Gaussian(0.5)]).fit(X, X[:, 0] ** 2)
    >>> print(to_text(inspect_model(model)).splitlines()[0])
    Inspection of a fitted model
    """
    table = model if isinstance(model, TableModel) else None
    estimator, choice = _inside(model)
    record = choice if table is None else table.record
    report = None
    if isinstance(estimator, MultilevelModel):
        report = estimator.task_report()
        record = record or {"summary": estimator.summary().splitlines()}
    tasks = [str(name) for name in estimator.tasks_]
    names, weights = _kernels(estimator)
    similarity, likeness = _similarity(estimator, weights)
    target = "a fitted model" if table is None else f"{table.target} by {table.task}"
    return Inspection(
        f"Inspection of {target}",
        {**_table_facts(table), **_facts(estimator), **_file_facts(header)},
        [*record.get("notes", []), *([] if report is None else _notes(report, table is None))],
        record,
        tasks,
        names,
        weights,
        similarity,
        likeness,
        estimator,
        report,
    )


def _notes(report: TaskReport, alone: bool) -> list[str]:
    """Return what is worth a look in a report, and not said by the scores of a table."""
    found, tasks = [], np.array([str(name) for name in report.tasks], dtype=object)
    if HURT in report.sharing:
        hurt = tasks[[one == HURT for one in report.sharing]]
        found.append(f"sharing hurts {_count(hurt)}: fit the model without them, too.")
    if not alone:
        return found
    for name, errors in report.baselines.items():
        worse = tasks[report.error > errors]
        if len(worse):
            found.append(f"{name} predicts left-out rows better in {_count(worse)}.")
        if report.total["model"] > report.total[name]:
            found.append(f"{name} predicts left-out rows better over all tasks.")
    small = tasks[report.rows < _FEW_ROWS]
    if len(small):
        found.append(f"there are fewer than {_FEW_ROWS} rows in {_count(small)}.")
    return found


def _count(names: AnyArray) -> str:
    """Return how many tasks there are, and the first of them."""
    tasks = "1 task" if len(names) == 1 else f"{len(names)} tasks"
    return f"{tasks} ({listed(names.tolist())})"


def _inside(model: Any) -> tuple[Any, dict[str, Any]]:
    """Return the estimator of this library in a model, and a record of its choice."""
    if isinstance(model, TableModel):
        return model.estimator, {}
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if not hasattr(last, "best_estimator_"):
        return last, {}
    return chosen_model(last, "an inspection"), {"summary": last.summary().splitlines()}


def _kernels(estimator: Any) -> tuple[list[str], Array]:
    """Return the kernels in use, and their shares by task; none if tasks have no own weights."""
    if isinstance(estimator, MultilevelModel):
        return [], np.empty((len(estimator.tasks_), 0))
    weights = np.asarray(estimator.weights_, dtype=np.float64)
    totals = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0.0)
    names = list(estimator.functions_.kernel_names)
    used = np.flatnonzero(shares.any(axis=0)).tolist()
    return [names[k] for k in used], shares[:, used]


def _similarity(estimator: Any, weights: Array) -> tuple[Array, str]:
    if isinstance(estimator, MultilevelModel):
        return np.empty((0, 0)), ""
    relation = getattr(estimator, "relation_", None)
    if relation is not None and relation.couples:
        return np.asarray(estimator.task_similarity()), (
            "how alike the functions of two tasks are, as the model learned it"
        )
    norms = np.linalg.norm(weights, axis=1)
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
    unit = weights * scale[:, None]
    alike = unit @ unit.T
    np.fill_diagonal(alike, 1.0)
    return alike, (
        "how alike the kernel weights of two tasks are: every task has learned by itself"
    )


def _facts(estimator: Any) -> dict[str, str]:
    if isinstance(estimator, MultilevelModel):
        return {
            "method": type(estimator).__name__,
            "log evidence": f"{estimator.log_evidence_:.6g}",
            "gap of the weights": f"{estimator.dual_gap_:.1e} (asked for: {estimator.tol:g})",
        }
    supports = sum(len(one) for one in estimator.support_)
    return {
        "method": type(estimator).__name__,
        "relation of tasks": str(getattr(estimator, "relation_", "none")),
        "support vectors": f"{supports:,} over {len(estimator.tasks_)} tasks",
        "duality gap": f"{estimator.dual_gap_:.1e} (asked for: {estimator.tol:g})",
    }


def _table_facts(table: TableModel | None) -> dict[str, str]:
    if table is None:
        return {}
    record = table.record
    return {
        "target": f"{table.target} ({table.kind})",
        "rows": f"{record['rows']:,} in {len(record['tasks'])} tasks",
    }


def _file_facts(header: ModelHeader | None) -> dict[str, str]:
    if header is None:
        return {}
    found = {"written by": ", ".join(f"{name} {v}" for name, v in header.versions.items())}
    if header.command:
        found["command"] = header.command
    if header.fingerprint:
        found["data's fingerprint"] = header.fingerprint
    return found
