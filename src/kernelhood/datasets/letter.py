"""Letter: pairs of handwritten letters that are easily taken for each other."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.datasets._bunch import check_count, check_flags, check_pairs, make_bunch, pair_rows
from kernelhood.datasets._files import DataFileError, find_file, get_data_home, read_text

_N_ROWS, _N_COLUMNS = 16, 8
_N_PIXELS = _N_ROWS * _N_COLUMNS
_N_FIELDS = 6 + _N_PIXELS

PAIRS = ("c/e", "g/y", "m/n", "a/g", "i/j", "a/o", "f/t", "h/n")

DESCR = """Letter

Eight binary tasks, each a pair of lower-case handwritten letters: c/e g/y m/n a/g i/j a/o f/t h/n.
An image has 16 x 8 pixels that are 0 or 1. The whole file holds 52,152 images of 26 letters.

Source: Ben Taskar's cleaned part of Rob Kassel's collection of handwritten words, MIT Spoken
Language Systems Group; used in B. Taskar, C. Guestrin and D. Koller, "Max-margin Markov networks",
NIPS 2003 (please cite). Licence: none is stated.

Our choices: 200 images of each letter are drawn at random without replacement, as in arXiv
1707.03426; of j there are 189, and all are taken. A letter is drawn once, so the tasks that share
it (a/g and a/o; g/y and a/g; m/n and h/n) share its images too. sample_id is the image's id in the
file: split by it, or an image on which one task trains is in the test set of another. Some images
repeat another one pixel by pixel; they keep their own ids. y is the letter itself.
"""


def load_letter(
    data_home: str | PathLike[str] | None = None,
    *,
    as_frame: bool = False,
    random_state: Any = None,
    n_samples: int | None = 200,
    pairs: Sequence[str] = PAIRS,
) -> Bunch:
    """Load the handwritten letters: eight binary tasks with 128 pixels.

    Parameters
    ----------
    data_home : path-like or None, default=None
        See `get_data_home`.
    as_frame : bool, default=False
        Whether to return pandas objects in place of arrays.
    random_state : int, RandomState or None, default=None
        Seed of the draw of the images.
    n_samples : int or None, default=200
        Images of each letter; a letter that has fewer gives all. None takes all.
    pairs : sequence of str
        The tasks, two letters joined by a slash.

    Returns
    -------
    data : Bunch
        ``X`` (n_samples, 128) of 0 and 1, ``y`` the letters, ``task`` (such as "c/e"),
        ``task_names``, ``feature_names``, ``sample_id`` (image id),
        ``task_groups`` (the two letters of each task), ``DESCR``.

    Examples
    --------
    >>> from kernelhood.datasets import check, load_letter
    >>> if all(file.good for file in check("letter")):  # its files have been fetched
    ...     data = load_letter(n_samples=20, random_state=0)
    ...     assert data.X.shape == (320, 128)
    """
    check_flags(as_frame=as_frame)
    if n_samples is not None:
        n_samples = check_count("n_samples", n_samples)
    split = check_pairs(pairs, ascii_lowercase)
    rng = check_random_state(random_state)
    folder = get_data_home(data_home) / "letter"
    image_id, letters, pixels = _read(
        find_file(folder, ["letter.data", "letter.data.gz"], "letter")
    )
    rows, task = pair_rows(_draw(letters, split, n_samples, rng), split)
    return make_bunch(
        pixels[rows],
        letters[rows],
        task=task,
        task_names=[f"{a}/{b}" for a, b in split],
        feature_names=[f"pixel_{i}_{j}" for i in range(_N_ROWS) for j in range(_N_COLUMNS)],
        sample_id=image_id[rows],
        descr=DESCR,
        as_frame=as_frame,
        task_groups={f"{a}/{b}": {a, b} for a, b in split},
    )


def _draw(
    letters: AnyArray,
    pairs: Sequence[tuple[str, str]],
    n_samples: int | None,
    rng: np.random.RandomState,
) -> dict[str, Indices]:
    """Draw rows of each letter once; alphabetical order makes the draw independent of `pairs`'."""
    rows_of = {}
    for letter in sorted({letter for pair in pairs for letter in pair}):
        rows = np.flatnonzero(letters == letter)
        if not len(rows):
            raise ValueError(f"pairs asks for the letter {letter!r}, of which the file has none.")
        order = rng.permutation(rows)
        rows_of[letter] = order[:n_samples]
    return rows_of


def _read(path: Path) -> tuple[AnyArray, AnyArray, Array]:
    """Return image ids, letters and pixels of every line of the file."""
    ids, letters, tails = [], [], []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        fields = line.split("\t", 6)
        if len(fields) < 7 or len(fields[6]) != 2 * _N_PIXELS:
            found = line.rstrip("\t").count("\t") + 1
            problem = f"{_N_FIELDS} columns and a closing tab expected, {found} columns found"
            raise DataFileError(path, problem, number)
        if not fields[0].isdigit() or fields[1] not in ascii_lowercase or len(fields[1]) != 1:
            problem = f"an id and a letter expected, {fields[0]!r} and {fields[1]!r} found"
            raise DataFileError(path, problem, number)
        ids.append(int(fields[0]))
        letters.append(fields[1])
        tails.append(fields[6])
    if not ids:
        raise DataFileError(path, "the file holds no data")
    image_id = np.array(ids)
    if len(np.unique(image_id)) < len(image_id):
        raise DataFileError(path, "an id occurs twice")
    return image_id, np.array(letters), _parse_pixels(path, tails)


def _parse_pixels(path: Path, tails: list[str]) -> Array:
    """Return the pixels from line ends in which each is followed by a tab, all in one pass."""
    # errors="replace" keeps one byte a character, so that the shape holds for any damage.
    raw = np.frombuffer("".join(tails).encode("ascii", errors="replace"), dtype=np.uint8)
    cells = raw.reshape(len(tails), 2 * _N_PIXELS)
    pixels, tabs = cells[:, ::2] - np.uint8(ord("0")), cells[:, 1::2]
    good = (pixels <= 1).all(axis=1) & (tabs == ord("\t")).all(axis=1)
    if not good.all():
        raise DataFileError(path, "a pixel is neither 0 nor 1", int(np.argmin(good)) + 1)
    return pixels.astype(np.float64)
