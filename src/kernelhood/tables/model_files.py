"""The part of a fitted model that predictions need, and the whole of it again."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from kernelhood import estimators, kernels, losses, operators, relations, search
from kernelhood._support import import_extra, whole_file
from kernelhood.estimators.additive import AdditiveFunction, Scaled
from kernelhood.estimators.base import MultiTaskModel
from kernelhood.estimators.functions import Adapted, Functions, RelatedFunctions
from kernelhood.estimators.landmark_function import LandmarkFunction
from kernelhood.estimators.landmarks import LandmarkExpansion, LandmarkMaps
from kernelhood.estimators.multilevel import MultilevelModel
from kernelhood.estimators.peers import PooledFunctions
from kernelhood.estimators.targets import ClassTargets, NumberTargets, TargetUnits
from kernelhood.estimators.training_rows import Units
from kernelhood.kernels import (
    Custom,
    Directions,
    Interaction,
    Kernel,
    Normalized,
    inputs,
    terms,
)
from kernelhood.search.search import KernelSearchCV
from kernelhood.solvers.neighborhood import BoundTerms
from kernelhood.tables.model import TableModel
from kernelhood.tables.roles import TableEncoder

#: Fitted arrays whose last axis, or last two, are the kernels.
_BY_KERNEL = (
    "weights_",
    "shared_weights_",
    "specific_weights_",
    "neighborhood_weights_",
    "traces_",
)
_BY_TWO_KERNELS = ("gram_",)


def compact(model: Any) -> Any:
    """Return a copy without what predictions do not need: kernels of weight 0 go.

    Parameters
    ----------
    model : TableModel, search, Pipeline or estimator of this library
        Fitted.
    """
    if isinstance(model, TableModel):
        small = compact(model.estimator)
        return _with(model, estimator=small, record=json.dumps(model.record))
    if isinstance(model, Pipeline):
        steps = [(name, compact(step)) for name, step in model.steps]
        return _with(model, steps=steps)
    if isinstance(model, SEARCHES):
        best = model.best_estimator_
        if isinstance(best, dict):
            # Tasks with the same parameters have one estimator, and so it is in the file.
            small = {id(one): compact(one) for one in best.values()}
            best = {name: small[id(one)] for name, one in best.items()}
        else:
            best = compact(best)
        return _with(model, **without_code(model), best_estimator_=best)
    if isinstance(model, TransformedTargetRegressor):
        return _with(model, regressor_=compact(model.regressor_))
    return _with_used_kernels(copy.copy(model)) if hasattr(model, "functions_") else model


def restored(model: Any) -> Any:
    """Return what `compact` made small, ready to predict.

    Parameters
    ----------
    model : TableModel, search, Pipeline or estimator of this library
        As `compact` returns it.
    """
    if isinstance(model, TableModel):
        restored(model.estimator)
        if isinstance(model.record, str):
            model.record = json.loads(model.record)
    elif isinstance(model, SEARCHES):
        best = model.best_estimator_
        for one in best.values() if isinstance(best, dict) else [best]:
            restored(one)
    elif isinstance(model, TransformedTargetRegressor):
        restored(model.regressor_)
    elif isinstance(model, Pipeline):
        for _, step in model.steps:
            restored(step)
    return model


def _with(model: Any, **changed: Any) -> Any:
    other = copy.copy(model)
    vars(other).update(changed)
    return other


def _with_used_kernels(model: Any) -> Any:
    """Return the model with only the kernels that some task or neighborhood uses."""
    functions = model.functions_
    _refuse_code(functions.bank)
    used = functions.used_kernels
    neighborhoods = getattr(model, "neighborhood_weights_", None)
    if used is not None and neighborhoods is not None and np.size(neighborhoods):
        used = used | neighborhoods.any(axis=0)
    if used is None or used.all() or not used.any():
        return model
    model.functions_ = functions.with_kernels(used)
    for name in (*_BY_KERNEL, *_BY_TWO_KERNELS):
        values = getattr(model, name, None)
        if values is not None and np.size(values):
            own = np.asarray(values)[..., used]
            setattr(model, name, own[..., used, :] if name in _BY_TWO_KERNELS else own)
    return model


def _refuse_code(bank: Iterable[Kernel]) -> None:
    for core in _cores(bank):
        if isinstance(core, Custom):
            raise ValueError(
                f"kernels holds the function {getattr(core.function, '__name__', core.function)!r}:"
                " a model file carries no code. Use kernels of this library, or Precomputed."
            )


def _cores(kernels: Iterable[Kernel]) -> Iterator[Kernel]:
    """Yield what kernels are made of."""
    for kernel in kernels:
        if isinstance(kernel, Interaction):
            yield from _cores(kernel.kernels)
        elif isinstance(kernel, (Normalized, Directions)):
            yield from _cores([kernel.kernel])
        else:
            yield kernel


#: Types of objects that have chosen an estimator.
SEARCHES = (KernelSearchCV,)

#: What a prediction needs, and what is saved as it is or not at all.
_NEEDED = ("best_estimator_", "estimator")


def without_code(search: Any) -> dict[str, Any]:
    """Return the attributes of a search, with text for what a file does not carry.

    Functions, such as a scorer, and splitters of other libraries are only needed to search again.

    Parameters
    ----------
    search : KernelSearchCV
        Fitted.
    """
    found = {name: value for name, value in vars(search).items() if name not in _NEEDED}
    return {name: value if carried(value) else _told(value, {}) for name, value in found.items()}


def _told(value: Any, known: dict[int, Any]) -> Any:
    """Return a value with text in the places of what a file does not carry."""
    if isinstance(value, dict):
        return {name: _told(one, known) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_told(one, known) for one in value])
    if isinstance(value, np.ma.MaskedArray):
        column = np.empty(len(value), dtype=object)
        column[:] = [_told(one, known) for one in value.data.tolist()]
        return np.ma.MaskedArray(column, mask=value.mask)
    if id(value) not in known:  # A kernel of a grid is in many of its points.
        known[id(value)] = value if carried(value) else repr(value)
    return known[id(value)]


_TABLES = (TableEncoder, TableModel)
_SEARCHES = (
    search.KernelSearchCV,
    search.LeaveTasksOut,
    search.TaskShuffleSplit,
    search.TaskStratifiedKFold,
    search.TaskTimeSplit,
)
_PARTS = (
    BoundTerms,
    Adapted,
    TargetUnits,
    LandmarkExpansion,
    LandmarkMaps,
    Functions,
    RelatedFunctions,
    PooledFunctions,
    ClassTargets,
    NumberTargets,
    operators.Dense,
    operators.Landmarks,
    AdditiveFunction,
    LandmarkFunction,
    Scaled,
    Units,
    terms.TermBank,
    terms.Straight,
    terms.Levels,
    terms.Smooth,
    terms.Radial,
    terms.Landmarked,
    kernels.KernelBank,
    kernels.AutoBank,
    inputs.FittedInputs,
    inputs.ImputedInputs,
    inputs.Coded,
)
#: What transformers of scikit-learn keep, and skops reads as the type of an array.
_OTHERS = ("numpy.dtype",)
#: A kernel that is any function is code, not data.
_CODE = (kernels.Custom,)


def trusted_types() -> list[str]:
    """Return the full names of the types that a model may consist of.

    Classes are listed one by one: that a name begins with "kernelhood" is not enough, as functions
    of this library fetch and write files.

    Examples
    --------
    >>> "kernelhood.estimators.mtonmkl.MTONMKLClassifier" in trusted_types()
    True
    >>> [name for name in trusted_types() if "Custom" in name or "fetch" in name]
    []
    """
    found: list[type[Any]] = [*_TABLES, *_SEARCHES, *_PARTS]
    for room, base in (
        (estimators, (MultiTaskModel, MultilevelModel)),
        (kernels, kernels.Kernel),
        (relations, relations.TaskRelation),
        (losses, losses.Loss),
    ):
        classes = [one for one in vars(room).values() if isinstance(one, type)]
        found += [one for one in classes if issubclass(one, base) and one not in _CODE]
    return sorted({*_OTHERS, *(f"{one.__module__}.{one.__qualname__}" for one in found)})


def foreign_types(content: bytes) -> list[str]:
    """Return the names of the types in a skops file that are not to be trusted.

    Parameters
    ----------
    content : bytes
        The file.
    """
    sio = import_extra("skops.io", "table")
    return sorted(set(sio.get_untrusted_types(data=content)) - set(trusted_types()))


def carried(value: Any) -> bool:
    """Return whether a model file can hold a value.

    Examples
    --------
    >>> carried({"C": [0.5, 1.0]}), carried(print)
    (True, False)
    """
    sio = import_extra("skops.io", "table")
    try:
        return not foreign_types(sio.dumps(value))
    except Exception:  # skops fails in many ways at what it does not know
        return False


#: Of the file. A larger number means that older versions cannot read it.
FORMAT = 3

#: Modules whose types files of this form have under another name.
_MOVED: dict[str, str] = {
    "kernelhood.estimators.kta": "kernelhood.estimators.neighborhoods",
    "kernelhood.losses.standard": "kernelhood.losses",
    "kernelhood.search.time_splits": "kernelhood.search.splits",
}

_HEADER = "kernelhood.json"
_SCHEMA = "schema.json"
_PACKAGES = ("kernelhood", "numpy", "scipy", "scikit-learn", "skops")
_LARGEST_HEADER = 2**20


class ModelFileError(ValueError):
    """A file that is not a model of this library, or one that is not to be trusted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelhood.tables.model_files import ModelFileError, read_header
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "notes.txt")
    ...     _ = path.write_text("not a model")
    ...     try:
    ...         read_header(path)
    ...     except ModelFileError as error:
    ...         print(str(error).removeprefix(folder)[1:])
    notes.txt is not a model of kernelhood but something else.
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
    >>> from kernelhood.tables.model_files import ModelHeader
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
        If the file is not a model, is from a newer version, or holds a type that is neither of this
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
    if header.format != FORMAT:
        writer = header.versions.get("kernelhood", "another version")
        what = "update kernelhood" if header.format > FORMAT else "fit and save the model again"
        raise ModelFileError(
            f"{path} was written by kernelhood {writer} in form {header.format}; this is "
            f"{version('kernelhood')}, which reads form {FORMAT}: {what}."
        )
    known = trusted_types()
    try:
        content = _with_present_modules(content)
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
    kinds = (MultiTaskModel, MultilevelModel, TableModel, *SEARCHES)
    if not isinstance(model, kinds) and not hasattr(model, "steps"):
        raise ModelFileError(f"{path} holds no model: {type(model).__name__}.")
    return model


def _with_present_modules(content: bytes) -> bytes:
    """Return a model file with the present names of the modules of its types."""
    found = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        schema = old.read(_SCHEMA).decode()
        if not any(f'"{name}"' in schema for name in _MOVED):
            return content
        for earlier, present in _MOVED.items():
            schema = schema.replace(f'"__module__": "{earlier}"', f'"__module__": "{present}"')
        with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                new.writestr(name, schema if name == _SCHEMA else old.read(name))
    return found.getvalue()


def read_header(path: str | PathLike[str]) -> ModelHeader:
    """Return what a model file says of itself.

    Parameters
    ----------
    path : path-like
        The file.

    Examples
    --------
    >>> import tempfile, numpy as np, kernelhood as kh
    >>> from kernelhood.tables.model_files import read_header
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
    kinds = (MultiTaskModel, MultilevelModel, *SEARCHES)
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
                raise ModelFileError(f"{path} is not a model of kernelhood but {what}.")
            if archive.getinfo(_HEADER).file_size > _LARGEST_HEADER:
                raise ModelFileError(f"{path} is damaged: its header is too large.")
            found = json.loads(archive.read(_HEADER))
    except zipfile.BadZipFile as error:
        what = "a pickle, which could run anything" if content[:1] == b"\x80" else "something else"
        raise ModelFileError(f"{path} is not a model of kernelhood but {what}.") from error
    except ModelFileError:
        raise
    except Exception as error:  # unpacking fails in many ways
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
