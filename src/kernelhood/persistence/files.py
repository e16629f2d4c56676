"""Write a fitted model to a file, and read it again without running anything in it."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

from kernelhood._extras import import_extra
from kernelhood._files import whole_file
from kernelhood.estimators.multilevel import MultilevelModel
from kernelhood.persistence.compact import compact, restored
from kernelhood.persistence.searches import SEARCHES
from kernelhood.persistence.trusted import foreign_types, trusted_types
from kernelhood.pipeline.base import MultiTaskKernelModel
from kernelhood.tables.model import TableModel

#: Of the file. A larger number means that older versions cannot read it.
FORMAT = 1

_HEADER = "kernelhood.json"
_SCHEMA = "schema.json"
_PACKAGES = ("kernelhood", "numpy", "scipy", "scikit-learn", "skops")
_LARGEST_HEADER = 2**20


class ModelFileError(ValueError):
    """A file that is no model of this library, or one that is not to be trusted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelhood.persistence import ModelFileError, read_header
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "notes.txt")
    ...     _ = path.write_text("not a model")
    ...     try:
    ...         read_header(path)
    ...     except ModelFileError as error:
    ...         print(str(error).removeprefix(folder)[1:])
    notes.txt is no model of kernelhood but something else.
    """


@dataclass(frozen=True)
class ModelHeader:
    """What a model file says of itself before anything in it is built.

    Attributes
    ----------
    format : int
        Version of the file's form.
    versions : dict of str to str
        Packages that wrote it.
    command : str or None
        What was typed.
    fingerprint : str or None
        Of the table that the model was fitted to.
    model : str
        The type of the model.

    Examples
    --------
    >>> from kernelhood.persistence import ModelHeader
    >>> ModelHeader(1, command="kernelhood fit sales.csv", model="TableModel").command
    'kernelhood fit sales.csv'
    """

    format: int
    versions: dict[str, str] = field(default_factory=dict)
    command: str | None = None
    fingerprint: str | None = None
    model: str = ""


def save(model: Any, path: str | PathLike[str], *, command: str | None = None) -> None:
    """Write a fitted model to a file that others can load without trusting you.

    The file is skops's, with a header. It holds support vectors and the kernels that have weight;
    training rows that support nothing are not in it. It is written whole or not at all.

    Parameters
    ----------
    model : estimator, search, Pipeline that ends in one, or TableModel
        Fitted. A search is kept with its results; a scorer that is a function, or a splitter of
        another library, is in the file as text: they are only needed to search again.
    path : path-like
        The file.
    command : str, optional
        What was typed, for the header.

    Examples
    --------
    >>> import tempfile, numpy as np, kernelhood as kh
    >>> X, y = np.arange(8.0)[:, None], np.tile([0, 1], 4)
    >>> model = kh.AVMTMKLClassifier(kernels=[kh.Gaussian(0.1)], C=10.0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kh.save(model, f"{folder}/model.skops")
    ...     bool(np.all(kh.load(f"{folder}/model.skops").predict(X) == y))
    True
    """
    content = _packed(model, command)
    with whole_file(path) as file:
        file.write(content)


def load(path: str | PathLike[str]) -> Any:
    """Read a model that `save` wrote; nothing in the file is run.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    model : estimator, search, Pipeline or TableModel
        As it was saved.

    Raises
    ------
    ModelFileError
        If the file is no model, is from a newer version, or holds a type that is neither of this
        library nor one of scikit-learn's that skops knows.

    Examples
    --------
    >>> import tempfile, numpy as np, kernelhood as kh
    >>> model = kh.ITLRegressor(kernels=[kh.Linear()]).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kh.save(model, f"{folder}/model.skops")
    ...     again = kh.load(f"{folder}/model.skops")
    >>> bool(np.array_equal(again.weights_, model.weights_))
    True
    """
    sio = import_extra("skops.io", "table")
    content = Path(path).read_bytes()
    header = _header(content, path)
    if header.format > FORMAT:
        writer = header.versions.get("kernelhood", "a newer version")
        raise ModelFileError(
            f"{path} was written by kernelhood {writer} in form {header.format}; this is "
            f"{version('kernelhood')}, which reads forms up to {FORMAT}: update kernelhood."
        )
    known = trusted_types()
    try:
        foreign = foreign_types(content)
        if foreign:
            raise ModelFileError(
                f"{path} is refused: it holds {', '.join(foreign)}, which is neither kernelhood's "
                "nor a known type of scikit-learn. Nothing in it was run."
            )
        model = restored(sio.loads(content, trusted=known))
    except ModelFileError:
        raise
    except Exception as error:  # a tampered file can fail anywhere in skops
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ModelFileError(f"{path} is damaged: {reason}") from error
    kinds = (MultiTaskKernelModel, MultilevelModel, TableModel, *SEARCHES)
    if not isinstance(model, kinds) and not hasattr(model, "steps"):
        raise ModelFileError(f"{path} holds no model: {type(model).__name__}.")
    return model


def read_header(path: str | PathLike[str]) -> ModelHeader:
    """Return what a model file says of itself.

    Parameters
    ----------
    path : path-like
        The file.

    Examples
    --------
    >>> import tempfile, numpy as np, kernelhood as kh
    >>> from kernelhood.persistence import read_header
    >>> model = kh.ITLClassifier(kernels=[kh.Gaussian(0.1)]).fit([[0.0], [1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kh.save(model, f"{folder}/model.skops")
    ...     read_header(f"{folder}/model.skops").model
    'ITLClassifier'
    """
    return _header(Path(path).read_bytes(), path)


def _packed(model: Any, command: str | None) -> bytes:
    """Return the bytes of the file."""
    sio = import_extra("skops.io", "table")
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    fitted = last.estimator if isinstance(last, TableModel) else last
    kinds = (MultiTaskKernelModel, MultilevelModel, *SEARCHES)
    if not isinstance(fitted, kinds) or not hasattr(fitted, "tasks_"):
        raise ValueError(
            f"model must be a fitted estimator or search of kernelhood, a Pipeline that ends in "
            f"one, or a TableModel: got {type(model).__name__}."
        )
    content = io.BytesIO(sio.dumps(compact(model), compression=zipfile.ZIP_DEFLATED))
    foreign = foreign_types(content.getvalue())
    if foreign:
        raise ValueError(
            f"model holds the type {foreign[0]}, which a model file does not carry: it would be "
            "refused by load."
        )
    record = last.record if isinstance(last, TableModel) else {}
    header = ModelHeader(
        FORMAT,
        {name: version(name) for name in _PACKAGES},
        command,
        record.get("fingerprint"),
        type(model).__name__,
    )
    with zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_HEADER, json.dumps(asdict(header), indent=1))
    return content.getvalue()


def _header(content: bytes, path: str | PathLike[str]) -> ModelHeader:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if _HEADER not in archive.namelist():
                what = "a skops file of something else" if _SCHEMA in archive.namelist() else "zip"
                raise ModelFileError(f"{path} is no model of kernelhood but {what}.")
            if archive.getinfo(_HEADER).file_size > _LARGEST_HEADER:
                raise ModelFileError(f"{path} is damaged: its header is too large.")
            found = json.loads(archive.read(_HEADER))
    except zipfile.BadZipFile as error:
        what = "a pickle, which could run anything" if content[:1] == b"\x80" else "something else"
        raise ModelFileError(f"{path} is no model of kernelhood but {what}.") from error
    except (ValueError, RuntimeError, NotImplementedError, OSError, EOFError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} is damaged: {error}") from error
    return _checked_header(found, path)


def _checked_header(found: Any, path: str | PathLike[str]) -> ModelHeader:
    number = found.get("format") if isinstance(found, dict) else None
    if not isinstance(number, int) or isinstance(number, bool):
        raise ModelFileError(f"{path} is damaged: its header names no format.")
    versions = found.get("versions")
    texts = {name: found.get(name) for name in ("command", "fingerprint", "model")}
    return ModelHeader(
        number,
        {str(k): str(v) for k, v in versions.items()} if isinstance(versions, dict) else {},
        None if texts["command"] is None else str(texts["command"]),
        None if texts["fingerprint"] is None else str(texts["fingerprint"]),
        str(texts["model"] or ""),
    )
