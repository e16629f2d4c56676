"""Learn the kernels of eight pairs of handwritten digits, and draw what was learned.

Run ``python examples/digits.py --out demo`` (or ``make demo``). The data come with scikit-learn, so
nothing is downloaded. A task is to tell one digit from another: 3 from 8, 4 from 9, and so on.

The bank holds the ten kernels of the paper on the whole image and one Gaussian on each quarter of
it, so that the weights tell where two digits differ.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split

import kernelhood as kh
from kernelhood.inspection.figures import plot_alignment, plot_weights

QUARTERS = {
    "top left": (slice(0, 4), slice(0, 4)),
    "top right": (slice(0, 4), slice(4, 8)),
    "bottom left": (slice(4, 8), slice(0, 4)),
    "bottom right": (slice(4, 8), slice(4, 8)),
}
TRAINING_SHARE = 0.2
C = 1.0
# In the formulation `corrected` only beta / C**2 matters. With kernels of unit diagonal, C weighs
# the hinge losses against sqrt(2 beta n) times the norm of each kernel's part of the function. A
# task has n = 72 training images or so, which makes this price 0.75: a norm of 1 costs less than
# one image without margin. Smaller beta would fit the training images still closer.
BETA = 2.0**-8


def make_bank() -> tuple[kh.KernelBank, list[str]]:
    """Return the kernels and a short name for each.

    A quarter holds a quarter of the squared distance, so half the spread of the narrowest
    Gaussian of the whole image looks at it with the same sharpness.
    """
    pixels = np.arange(64).reshape(8, 8)
    whole = kh.default_bank()
    quarters = [
        kh.Gaussian(1.0, columns=pixels[part].ravel().tolist()) for part in QUARTERS.values()
    ]
    return kh.KernelBank([*whole, *quarters]), [*whole.names, *QUARTERS]


def training_rows(sample_id: np.ndarray, digit: np.ndarray, seed: int) -> np.ndarray:
    """Return which rows train: the same share of the images of every digit.

    Images are drawn, not rows: what one task trains on is in no task's test set.
    """
    images, first = np.unique(sample_id, return_index=True)
    chosen, _ = train_test_split(
        images, train_size=TRAINING_SHARE, stratify=digit[first], random_state=seed
    )
    return np.isin(sample_id, chosen)


def make_table(
    model: kh.MTONMKLClassifier,
    names: Sequence[str],
    data: dict[str, np.ndarray],
    train: np.ndarray,
) -> list[list[str]]:
    """Return the head and a line for every task: images, test accuracy, weights.

    The weights are those of ``model.weights_table()``; kernels that no task uses are left out.
    """
    used = np.flatnonzero(model.weights_.max(axis=0) > 0.0)
    lines = [["task", "train", "test", "accuracy", *(names[m] for m in used)]]
    predicted = model.predict(data["X"], task=data["task"])
    for number, task in enumerate(model.tasks_):
        mine = data["task"] == task
        test = mine & ~train
        accuracy = accuracy_score(data["y"][test], predicted[test])
        counts = [str(np.sum(mine & train)), str(np.sum(test))]
        weights = [f"{weight:.2f}" if weight else "0" for weight in model.weights_[number, used]]
        lines.append([str(task), *counts, f"{100 * accuracy:.1f} %", *weights])
    return lines


def as_text(lines: list[list[str]]) -> str:
    """Return the table with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def as_markdown(lines: list[list[str]]) -> str:
    """Return the table in Markdown."""
    rows = [lines[0], ["---"] + ["---:"] * (len(lines[0]) - 1), *lines[1:]]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def draw(model: kh.MTONMKLClassifier, names: Sequence[str], out: Path) -> list[Path]:
    """Save the two pictures and return their names.

    The kernels of the tasks are alike, so the colours of the alignment span the values that occur.
    """
    used = np.flatnonzero(model.weights_.max(axis=0) > 0.0)
    weights = plot_weights(model.weights_[:, used], model.tasks_, [names[m] for m in used])
    weights.set(ylabel="task", title="Where each pair of digits differs")
    values = model.alignment()
    alignment = plot_alignment(values, model.tasks_)
    alignment.set_title("How alike the learned kernels are")
    alignment.images[0].set_clim(np.floor(20.0 * values.min()) / 20.0, 1.0)
    files = [out / "weights.png", out / "alignment.png"]
    for ax, file in zip([weights, alignment], files, strict=True):
        ax.figure.savefig(file, dpi=90, bbox_inches="tight")
    return files


def main(argv: Sequence[str] | None = None) -> int:
    """Fit, print, draw; return 0.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; None takes those of the process.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder of the pictures")
    parser.add_argument("--seed", type=int, default=0, help="which images train")
    arguments = parser.parse_args(argv)

    digits = kh.datasets.load_digits_tasks()
    train = training_rows(digits.sample_id, digits.y, arguments.seed)
    bank, names = make_bank()
    model = kh.MTONMKLClassifier(kernels=bank, C=C, beta=BETA, formulation="corrected")
    model.fit(digits.X[train], digits.y[train], task=digits.task[train])

    lines = make_table(model, names, digits, train)
    score = model.score(digits.X[~train], digits.y[~train], task=digits.task[~train])
    summary = (
        f"Mean accuracy over the tasks {100 * score:.2f} %. Relative duality gap of the worst "
        f"task {model.dual_gap_:.1e} (asked for {model.tol:.0e}), {model.n_iter_} SVMs for the "
        "slowest task."
    )
    title = (
        f"MT-ONMKL on eight pairs of digits: {100 * TRAINING_SHARE:.0f} % of the images train, "
        f"C = {C:g}, beta = {BETA:g}, seed {arguments.seed}"
    )
    print(f"{title}\n\n{as_text(lines)}\n\n{summary}\n")

    arguments.out.mkdir(parents=True, exist_ok=True)
    pictures = draw(model, names, arguments.out)
    report = arguments.out / "report.md"
    report.write_text(
        f"# {title}\n\nTest accuracy and kernel weights of each task. Quarters of the image are "
        f"named by where they are.\n\n{as_markdown(lines)}\n\n{summary}\n\n"
        "The share of each kernel in a task's weights:\n\n"
        f"![weights per task]({pictures[0].name})\n\n"
        "The alignment of each task's kernel with each task's neighborhood kernel, on the "
        f"training images of the former:\n\n![alignment]({pictures[1].name})\n",
        encoding="utf-8",
    )
    for file in [*pictures, report]:
        print(f"wrote {file}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
