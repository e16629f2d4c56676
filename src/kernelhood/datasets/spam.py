"""Spam: the mail boxes of 15 users."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_random_state

from kernelhood._typing import AnyArray, Array, Indices
from kernelhood.datasets._bunch import check_choice, check_count, check_flags, make_bunch
from kernelhood.datasets._files import DataFileError, find_file, get_data_home, read_text

N_USERS = 15
_MAIL = re.compile(r"(?:[+-]?1)(?: [0-9]+:[0-9]+)* *")
# Ids beyond any dictionary are damage, and would make a matrix of absurd width.
_LARGEST_ID = 10_000_000

DESCR = """Spam (ECML/PKDD 2006 Discovery Challenge, Task B)

15 binary tasks, one for each user's inbox: 400 mails, half of them spam. A mail is a bag of words:
how often each word of a dictionary occurs in it; the words themselves are not published.

Source: S. Bickel (ed.), ECML/PKDD 2006 Discovery Challenge Workshop (please cite). Licence: none
is stated for the data.

Our choices: the features are the 1,000 words that occur in the most mails (document frequency
over all 15 inboxes, without looking at labels; of two equally frequent words the one with the
smaller id). Counts have a long tail, so counts="log", log(1 + count), is the default; "raw" gives
the counts, "binary" whether the word occurs, "relative" the counts divided by their sum in the
mail, and "tfidf" the logarithms weighted by log(number of mails / mails with the word) and divided
by their Euclidean length in the mail. The 100 labelled mails of the challenge's training
file are from other senders and are not used. y is 1 for spam and -1 for other mail. sample_id
numbers the mails; a few mails of an inbox repeat another word for word and keep their own number.
"""


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
    boxes = [_read(find_file(folder, [name], "spam")) for name in names]
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
        descr=DESCR,
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


def _read(path: Path) -> tuple[AnyArray, Any]:
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
