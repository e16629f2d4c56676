"""Draw the pictures of docs/datasets.md: summaries only, never rows of the data.

Run ``python docs/make_dataset_pictures.py`` where ``kernelhood data list`` finds all files.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from kernelhood import datasets

mpl.use("Agg")

import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent / "images" / "datasets"


def draw_landmine(ax):
    """Share of mines in each field, the two kinds of ground apart."""
    data = datasets.load_landmine(balanced=False)
    share = [100 * data.y[data.task == name].mean() for name in data.task_names]
    numbers = np.arange(1, len(share) + 1)
    ax.bar(numbers, share, color=np.where(numbers <= 15, "tab:green", "tab:orange"))
    ax.set(xlabel="field (green: foliage, orange: bare)", ylabel="mines (%)")


def draw_mean_images(ax, data, shape):
    """Mean image of each class of each task, side by side."""
    rows = []
    for name in data.task_names:
        mine = data.task == name
        classes = np.unique(data.y[mine])
        rows.append([data.X[mine & (data.y == c)].mean(axis=0).reshape(shape) for c in classes])
    tiles = [np.pad(np.vstack(pair), 1, constant_values=0.5) for pair in rows]
    ax.imshow(np.hstack(tiles), cmap="gray_r", vmin=0, vmax=1)
    width = tiles[0].shape[1]
    ax.set_xticks(width * np.arange(len(tiles)) + width / 2, data.task_names)
    ax.set_yticks([])


def draw_letter(ax):
    """Mean image of each letter of each pair."""
    draw_mean_images(ax, datasets.load_letter(random_state=0), (16, 8))


def draw_digits(ax):
    """Mean image of each digit of each pair."""
    draw_mean_images(ax, datasets.load_digits_tasks(), (8, 8))


def draw_spam(ax):
    """In how many mails the most frequent words occur, spam against other mail."""
    data = datasets.load_spam(counts="binary", n_words=300)
    spam, other = (100 * data.X[data.y == label].mean(axis=0) for label in (1, -1))
    ax.scatter(other, spam, s=6)
    ax.axline((0, 0), slope=1, color="gray", linewidth=0.8)
    ax.set(xlabel="other mails with the word (%)", ylabel="spam with the word (%)")


def draw_sarcos(ax):
    """Correlation of the seven torques."""
    torques = datasets.load_sarcos(n_samples=None, wide=True).y
    image = ax.imshow(np.corrcoef(torques.T), cmap="RdBu_r", vmin=-1, vmax=1)
    ax.figure.colorbar(image, label="correlation")
    ax.set(xlabel="torque", ylabel="torque", xticks=range(7), yticks=range(7))
    ax.set_xticklabels(range(1, 8))
    ax.set_yticklabels(range(1, 8))


def draw_load(ax):
    """Mean load of each zone by hour of the day."""
    data = datasets.load_load(n_samples=None)
    hour = data.sample_id % 24
    for name in data.task_names:
        mine = data.task == name
        mean = np.bincount(hour[mine], weights=data.y[mine]) / np.bincount(hour[mine])
        ax.plot(range(1, 25), mean, linewidth=0.9)
    ax.set(xlabel="hour of the day", ylabel="mean load (standardised)")


def draw_synthetic(ax):
    """Three related tasks in one dimension, and an outlier."""
    data = datasets.make_multitask(
        4, 200, 2, 0.9, 0.1, kind="regression", n_features=1, n_outliers=1, random_state=5
    )
    for name in data.task_names:
        mine = data.task == name
        label = f"{name}, outlier" if name in data.outliers else name
        ax.scatter(data.X[mine], data.y[mine], s=4, label=label)
    ax.set(xlabel="x", ylabel="y")
    ax.legend(fontsize="x-small")


DRAWINGS = {
    "landmine": draw_landmine,
    "letter": draw_letter,
    "spam": draw_spam,
    "sarcos": draw_sarcos,
    "load": draw_load,
    "digits": draw_digits,
    "synthetic": draw_synthetic,
}


def main():
    """Draw every picture."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        figure, ax = plt.subplots(figsize=(4.2, 2.6), layout="constrained")
        draw(ax)
        figure.savefig(FOLDER / f"{name}.png", dpi=80)
        plt.close(figure)


if __name__ == "__main__":
    main()
