"""Landmine, Letter, Spam and the digits: tasks with two classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.utils import Bunch, check_random_state

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.datasets._bunch import (
    check_choice,
    check_count,
    check_distinct,
    check_flags,
    make_bunch,
)
from kernelhood.datasets._files import (
    DataFileError,
    find_file,
    get_data_home,
    read_mat,
    read_text,
)

_N_FEATURES = 9
_FOLIATED = 15


def load_landmine(
    data_home: str | PathLike[str] | None = None,
    *,
    as_frame: bool = False,
    random_state: Any = None,
    balanced: bool = True,
) -> Bunch:
    """Load the landmine data: 29 binary tasks with 9 features.

    Parameters
    ----------
    data_home : path-like or None, default=None
        See `get_data_home`.
    as_frame : bool, default=False
        Whether to return pandas objects in place of arrays.
    random_state : int, RandomState or None, default=None
        Seed of the draw of the negatives; used when `balanced` is True.
    balanced : bool, default=True
        Whether to keep all positives and as many negatives of each task, rather than all rows.

    Returns
    -------
    data : Bunch
        ``X`` (n_samples, 9), ``y`` 0 or 1, ``task`` ("field 1" to "field 29"), ``task_names``,
        ``feature_names``, ``sample_id`` (position in the file), ``task_groups`` (the ground of
        each field, "foliated" or "bare"), ``DESCR``.

    Examples
    --------
    >>> from kernelhood.datasets import check, load_landmine
    >>> if all(file.good for file in check("landmine")):  # its files have been fetched
    ...     data = load_landmine(random_state=0)
    ...     assert len(data.task_names) == 29
    """
    check_flags(as_frame=as_frame, balanced=balanced)
    rng = check_random_state(random_state)
    path = find_file(get_data_home(data_home) / "landmine", ["LandmineData.mat"], "landmine")
    features, labels = _read_landmine(path)
    names = [f"field {number}" for number in range(1, len(labels) + 1)]
    X, y = np.vstack(features), np.concatenate(labels)
    task = np.repeat(names, [len(label) for label in labels])
    rows = np.arange(len(y))
    if balanced:
        rows = np.concatenate([_balance(rows[task == name], y, rng) for name in names])
    return make_bunch(
        X[rows],
        y[rows],
        task=task[rows],
        task_names=names,
        feature_names=[f"feature {number}" for number in range(1, _N_FEATURES + 1)],
        sample_id=rows,
        name="landmine",
        as_frame=as_frame,
        task_groups={
            name: "foliated" if number <= _FOLIATED else "bare"
            for number, name in enumerate(names, start=1)
        },
    )


def _balance(rows: Indices, y: AnyArray, rng: np.random.RandomState) -> Indices:
    """Return all positive rows and as many negative ones, ascending."""
    positive, negative = rows[y[rows] == 1], rows[y[rows] == 0]
    size = min(len(positive), len(negative))
    drawn = rng.choice(negative, size=size, replace=False)
    return np.sort(np.concatenate([positive, drawn]))


def _read_landmine(path: Path) -> tuple[list[Array], list[AnyArray]]:
    """Return one feature matrix and one label vector for each cell of the file."""
    features, labels = read_mat(path, ["feature", "label"])
    for name, cells in (("feature", features), ("label", labels)):
        if cells.dtype != object or cells.ndim != 2 or 1 not in cells.shape:
            raise DataFileError(path, f"{name!r} is not a row of cells")
    if features.size != labels.size:
        raise DataFileError(path, f"{features.size} cells of 'feature', {labels.size} of 'label'")
    pairs = zip(features.ravel(), labels.ravel(), strict=True)
    checked = [_check_cell(path, number, X, y) for number, (X, y) in enumerate(pairs, start=1)]
    return [X for X, _ in checked], [y for _, y in checked]


def _check_cell(path: Path, number: int, X: AnyArray, y: AnyArray) -> tuple[Array, AnyArray]:
    if X.ndim != 2 or X.shape[1] != _N_FEATURES or X.dtype.kind not in "fiu":
        problem = f"cell {number} of 'feature' has shape {X.shape}, not (n, {_N_FEATURES})"
        raise DataFileError(path, problem)
    if y.shape != (len(X), 1):
        problem = f"cell {number} of 'label' has shape {y.shape}, not ({len(X)}, 1)"
        raise DataFileError(path, problem)
    if not np.isfinite(X).all():
        raise DataFileError(path, f"cell {number} of 'feature' holds a value that is not finite")
    if not np.isin(y, (0, 1)).all():
        raise DataFileError(path, f"cell {number} of 'label' holds a value other than 0 and 1")
    return X.astype(np.float64), y.ravel().astype(np.int64)


def check_pairs(pairs: Any, classes: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs such as ``"c/e"`` split into their two classes.

    Parameters
    ----------
    pairs : sequence of str
        The tasks, each two different classes joined by a slash.
    classes : sequence of str
        What may stand on either side.

    Returns
    -------
    pairs : list of (str, str)
        The two classes of each task.

    Examples
    --------
    >>> check_pairs(["c/e", "g/y"], "abcdefghijklmnopqrstuvwxyz")
    [('c', 'e'), ('g', 'y')]
    """
    known = set(classes)
    split = []
    for pair in check_distinct("pairs", pairs):
        parts = pair.split("/") if isinstance(pair, str) else []
        if len(parts) != 2 or parts[0] == parts[1] or not known.issuperset(parts):
            raise ValueError(
                f"pairs holds {pair!r}; give two different classes from {classes[0]!r} to "
                f"{classes[-1]!r} joined by a slash, such as '{classes[1]}/{classes[2]}'."
            )
        split.append((parts[0], parts[1]))
    return split


def pair_rows(
    rows_of: Mapping[str, Indices], pairs: Sequence[tuple[str, str]]
) -> tuple[Indices, AnyArray]:
    """Return the rows of all tasks one after another, and the name of each row's task.

    Parameters
    ----------
    rows_of : mapping of str to ndarray
        The rows of each class; a class keeps its rows in every task that uses it.
    pairs : sequence of (str, str)
        The two classes of each task.

    Returns
    -------
    rows : ndarray of shape (n_samples,)
        Row numbers, ascending within a task.
    task : ndarray of shape (n_samples,)
        Task names such as ``"c/e"``.
    """
    rows = [np.sort(np.concatenate([rows_of[a], rows_of[b]])) for a, b in pairs]
    names = np.array([f"{a}/{b}" for a, b in pairs])
    return np.concatenate(rows), np.repeat(names, [len(r) for r in rows])


_N_ROWS, _N_COLUMNS = 16, 8
_N_PIXELS = _N_ROWS * _N_COLUMNS
_N_FIELDS = 6 + _N_PIXELS

LETTER_PAIRS = ("c/e", "g/y", "m/n", "a/g", "i/j", "a/o", "f/t", "h/n")


def load_letter(
    data_home: str | PathLike[str] | None = None,
    *,
    as_frame: bool = False,
    random_state: Any = None,
    n_samples: int | None = 200,
    pairs: Sequence[str] = LETTER_PAIRS,
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
    image_id, letters, pixels = _read_letter(
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
        name="letter",
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


def _read_letter(path: Path) -> tuple[AnyArray, AnyArray, Array]:
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


DIGIT_PAIRS = ("3/8", "4/9", "1/7", "5/6", "1/8", "2/3", "5/8", "7/9")


def load_digits_tasks(*, as_frame: bool = False, pairs: Sequence[str] = DIGIT_PAIRS) -> Bunch:
    """Load scikit-learn's digits as binary tasks with 64 grey values.

    Parameters
    ----------
    as_frame : bool, default=False
        Whether to return pandas objects in place of arrays.
    pairs : sequence of str
        The tasks, two digits joined by a slash.

    Returns
    -------
    data : Bunch
        ``X`` (n_samples, 64) in [0, 1], ``y`` the digits, ``task`` (such as "3/8"),
        ``task_names``, ``feature_names``, ``sample_id`` (image number), ``DESCR``.

    Examples
    --------
    >>> from kernelhood.datasets import load_digits_tasks
    >>> digits = load_digits_tasks()
    >>> digits.task_names
    ['3/8', '4/9', '1/7', '5/6', '1/8', '2/3', '5/8', '7/9']
    >>> digits.X[digits.task == "3/8"].shape
    (357, 64)
    """
    check_flags(as_frame=as_frame)
    split = check_pairs(pairs, "0123456789")
    source = load_digits()
    rows_of = {str(digit): np.flatnonzero(source.target == digit) for digit in range(10)}
    rows, task = pair_rows(rows_of, split)
    return make_bunch(
        source.data[rows] / 16.0,
        source.target[rows],
        task=task,
        task_names=[f"{a}/{b}" for a, b in split],
        feature_names=source.feature_names,
        sample_id=rows,
        name="digits",
        as_frame=as_frame,
    )


N_USERS = 15
_MAIL = re.compile(r"(?:[+-]?1)(?: [0-9]+:[0-9]+)* *")
# Ids beyond any dictionary are damage, and would make a matrix of absurd width.
_LARGEST_ID = 10_000_000


def load_spam(
    data_home: str | PathLike[str] | None = None,
    *,
    as_frame: bool = False,
    random_state: Any = None,
    n_words: int = 1000,
    counts: str = "log",
    sparse_output: bool = False,
) -> Bunch:
    """Load the spam data: 15 inboxes of 400 mails with 1,000 word counts.

    Parameters
    ----------
    data_home : path-like or None, default=None
        See `get_data_home`.
    as_frame : bool, default=False
        Whether to return pandas objects in place of arrays.
    random_state : int, RandomState or None, default=None
        Has no effect, as nothing is drawn; here so that all loaders can be called alike.
    n_words : int, default=1000
        Number of words, those that occur in the most mails; all if there are fewer.
    counts : {"log", "raw", "binary", "relative", "tfidf"}, default="log"
        log(1 + count); the count; whether the word occurs; the share of the mail's counts; or the
        logarithms, weighted by how rare the word is and brought to length one.
    sparse_output : bool, default=False
        Whether ``X`` is a CSR matrix.

    Returns
    -------
    data : Bunch
        ``X`` (6000, n_words), ``y`` 1 for spam and -1 otherwise, ``task`` ("user 00" to
        "user 14"), ``task_names``, ``feature_names`` ("word 17": the word's id), ``sample_id``,
        ``DESCR``.

    Examples
    --------
    >>> from kernelhood.datasets import check, load_spam
    >>> if all(file.good for file in check("spam")):  # its files have been fetched
    ...     data = load_spam(n_words=100)
    ...     assert data.X.shape == (6000, 100)
    """
    check_flags(as_frame=as_frame, sparse_output=sparse_output)
    n_words = check_count("n_words", n_words)
    counts = check_choice("counts", counts, ("log", "raw", "binary", "relative", "tfidf"))
    check_random_state(random_state)
    folder = get_data_home(data_home) / "spam_ecml2006"
    names = [f"task_b_u{user:02d}_eval_lab.tf" for user in range(N_USERS)]
    boxes = [_read_mails(find_file(folder, [name], "spam")) for name in names]
    mails, words = _most_frequent(_stack([matrix for _, matrix in boxes]), n_words)
    X = _transform(mails, counts)
    task_names = [f"user {user:02d}" for user in range(N_USERS)]
    y = np.concatenate([labels for labels, _ in boxes])
    return make_bunch(
        X if sparse_output else X.toarray(),
        y,
        task=np.repeat(task_names, [len(labels) for labels, _ in boxes]),
        task_names=task_names,
        feature_names=[f"word {word}" for word in words],
        sample_id=np.arange(len(y)),
        name="spam",
        as_frame=as_frame,
    )


def _stack(matrices: list[Any]) -> Any:
    """Put matrices below each other; the widest sets the number of columns."""
    width = max(matrix.shape[1] for matrix in matrices)
    for matrix in matrices:
        matrix.resize(matrix.shape[0], width)
    return sparse.vstack(matrices, format="csr")


def _most_frequent(mails: Any, n_words: int) -> tuple[Any, Indices]:
    """Return the columns of the words in the most mails, by ascending id, and the ids."""
    in_mails = np.bincount(mails.indices, minlength=mails.shape[1])
    # A stable sort of the negated counts puts the smaller id first among equals.
    order = np.argsort(-in_mails, kind="stable")[:n_words]
    words = np.sort(order[in_mails[order] > 0])
    return mails[:, words], words


def _transform(mails: Any, counts: str) -> Any:
    if counts in ("log", "tfidf"):
        mails.data = np.log1p(mails.data)
    elif counts == "binary":
        mails.data = np.ones_like(mails.data)
    if counts == "tfidf":
        in_mails = np.bincount(mails.indices, minlength=mails.shape[1])
        mails.data *= np.log(mails.shape[0] / in_mails)[mails.indices]
        _divide_rows(mails, np.sqrt(mails.multiply(mails).sum(axis=1)))
    elif counts == "relative":
        _divide_rows(mails, mails.sum(axis=1))
    return mails


def _divide_rows(mails: Any, sizes: Array) -> None:
    """Divide every mail by its size; one without words stays empty."""
    flat = np.asarray(sizes).ravel()
    mails.data /= np.repeat(np.where(flat > 0.0, flat, 1.0), np.diff(mails.indptr))


def _read_mails(path: Path) -> tuple[AnyArray, Any]:
    """Return labels and a CSR matrix of counts, whose column j is the word with id j."""
    labels, numbers, sizes = [], [], []
    lines = read_text(path).splitlines()
    for number, line in enumerate(lines, start=1):
        if not _MAIL.fullmatch(line):
            raise DataFileError(path, "`label id:count id:count ...` expected", number)
        label, _, words = line.partition(" ")
        flat = words.replace(":", " ").split()
        labels.append(int(label))
        numbers.extend(flat)
        sizes.append(len(flat) // 2)
    if not labels:
        raise DataFileError(path, "the file holds no data")
    pairs = np.array(list(map(int, numbers)), dtype=object if _has_long(numbers) else np.int64)
    ids, counts = pairs[::2], pairs[1::2]
    mail = np.repeat(np.arange(len(labels)), sizes)
    _check_words(path, ids, counts, mail)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    shape = (len(labels), int(ids.max(initial=0)) + 1)
    matrix = sparse.csr_array((counts.astype(np.float64), ids, indptr), shape=shape)
    return np.array(labels), matrix


def _has_long(numbers: list[str]) -> bool:
    """Say whether a number has too many digits for 64 bits, so that it is reported, not lost."""
    return max(map(len, numbers), default=0) > 18


def _check_words(path: Path, ids: AnyArray, counts: AnyArray, mail: Indices) -> None:
    """Raise for the first word whose id does not ascend within its mail or whose count is 0."""
    bad = (ids < 1) | (ids > _LARGEST_ID) | (counts < 1)
    bad[1:] |= (ids[1:] <= ids[:-1]) & (mail[1:] == mail[:-1])
    if bad.any():
        place = int(np.argmax(bad))
        problem = f"{ids[place]}:{counts[place]} found; ascending ids and counts, from 1, expected"
        raise DataFileError(path, problem, int(mail[place]) + 1)
