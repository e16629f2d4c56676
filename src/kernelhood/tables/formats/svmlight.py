"""SVMlight files: a target, perhaps a query id, and numbered features."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from kernelhood._extras import import_extra

_LINES = 2**14
_LONGEST_LINE = 2**22
#: Numbers that a table of zeros and others may hold at a time, a gigabyte of them.
_MOST = 2**27


def svmlight_blocks(file: BinaryIO, name: str) -> Iterator[Any]:
    """Yield the rows of an SVMlight file as data frames.

    Parameters
    ----------
    file : binary file
        Lines such as ``1 qid:3 1:0.5 4:2``, features numbered from 1.
    name : str
        What errors call the file.
    """
    pd = import_extra("pandas", "table")
    width, has_qid = 0, None
    while lines := list(islice(_lines(file, name), _LINES)):
        X, y, qid = _parsed(lines, name)
        found = len(qid) > 0
        if len(qid) not in (0, len(y)) or has_qid not in (None, found):
            raise ValueError(f"{name} has a qid in some lines and none in others.")
        has_qid = found
        width = max(width, X.shape[1])
        if width * len(y) > _MOST:
            raise ValueError(
                f"{name} has {width} features: too many to hold {len(y)} rows of them as a table; "
                "use an estimator with a sparse X in Python."
            )
        values = np.zeros((len(y), width))
        values[:, : X.shape[1]] = X.toarray()
        frame = pd.DataFrame(values, columns=[str(number + 1) for number in range(width)])
        frame.insert(0, "target", y)
        if has_qid:
            frame.insert(1, "qid", qid.astype(np.int64))
        yield frame


def _lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    while line := file.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise ValueError(f"{name} has a line of more than {_LONGEST_LINE} bytes.")
        if line.split(b"#", 1)[0].strip():
            yield line


def _parsed(lines: list[bytes], name: str) -> tuple[Any, Any, Any]:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y, qid = load_svmlight_file(io.BytesIO(b"".join(lines)), query_id=True, zero_based=False)
    except (ValueError, OverflowError, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{name} cannot be read as SVMlight: {reason}") from error
    return X, y, qid
