"""Which files each data set needs, and where they are: on this computer and in the net."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import sys
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

from kernelhood._support import import_extra
from kernelhood._typing import Array
from kernelhood.datasets._bunch import check_choice, check_count, check_number

HOME_VARIABLE = "KERNELHOOD_DATA"
BASE_URL = "https://raw.githubusercontent.com"


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds one sub-folder for each data set.

    Parameters
    ----------
    data_home : path-like or None, default=None
        The folder itself. None takes the environment variable ``KERNELHOOD_DATA``, and if that
        is unset or empty the user's cache folder. Nothing is created.

    Returns
    -------
    data_home : Path
        The folder, which need not exist.

    Examples
    --------
    >>> get_data_home("some/folder").as_posix()
    'some/folder'
    """
    if data_home is None:
        data_home = os.environ.get(HOME_VARIABLE) or _user_cache(sys.platform)
    elif not isinstance(data_home, str | os.PathLike):
        raise TypeError(f"data_home={data_home!r} is not a path; give a str, a Path or None.")
    return Path(data_home).expanduser()


def _user_cache(platform: str) -> Path:
    """Return kernelhood's folder in the place where this platform keeps caches."""
    if platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "kernelhood"


def find_file(folder: Path, names: Sequence[str], dataset: str) -> Path:
    """Return the first of `names` that exists in `folder`.

    Parameters
    ----------
    folder : Path
        Folder of the data set.
    names : sequence of str
        Names under which the file may be there, the preferred one first.
    dataset : str
        Name of the data set on the command line, for the error message.

    Returns
    -------
    path : Path
        An existing file.
    """
    for name in names:
        path = folder / name
        if path.is_file():
            return path
    others = "".join(f" (nor {name})" for name in names[1:])
    raise FileNotFoundError(
        f"{folder / names[0]} does not exist{others}. Get it with "
        f"`kernelhood data fetch {dataset}`, or point data_home or {HOME_VARIABLE} at the folder "
        f"that holds {folder.name}/."
    )


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Parameters
    ----------
    name : str
        Name in the data set's folder.
    sha256 : str
        Checksum of its content, unpacked.
    address : str or None, default=None
        Path below the base address; None if no public address can be relied on.
    gzip_too : bool, default=False
        Whether the loader takes the file gzipped too, with ``.gz`` added to the name.
    """

    name: str
    sha256: str
    address: str | None = None
    gzip_too: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names under which the file may be there, in the order in which loaders look."""
        return (self.name, f"{self.name}.gz") if self.gzip_too else (self.name,)


@dataclass(frozen=True)
class DataSet:
    """A data set that consists of files.

    Parameters
    ----------
    folder : str
        Its folder below the data home.
    summary : str
        One line about it.
    source : str
        Where to look for files that have no address.
    files : tuple of DataFile
        All that its loader may read.
    """

    folder: str
    summary: str
    source: str
    files: tuple[DataFile, ...] = field(repr=False)


def _read_registry() -> dict[str, DataSet]:
    content = tomllib.loads((Path(__file__).parent / "registry.toml").read_text("utf-8"))
    return {
        name: DataSet(**{**own, "files": tuple(DataFile(**file) for file in own["files"])})
        for name, own in content.items()
    }


REGISTRY = _read_registry()


_CHUNK = 1 << 20


class DataFileError(ValueError):
    """A data file is damaged or is not in its original format.

    Parameters
    ----------
    path : path-like
        The file.
    problem : str
        What is wrong with it.
    line : int or None, default=None
        The line, counted from 1; None for a file without lines.

    Examples
    --------
    >>> print(DataFileError("letter.data", "134 columns expected, 7 found", line=3))
    letter.data, line 3: 134 columns expected, 7 found
    """

    def __init__(self, path: str | PathLike[str], problem: str, line: int | None = None) -> None:
        place = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {problem}")


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a plain or gzipped UTF-8 file."""
    data = _gunzip(path) if str(path).endswith(".gz") else _read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataFileError(path, "not UTF-8 text", line) from error


def _read_bytes(path: str | PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _gunzip(path: str | PathLike[str]) -> bytes:
    """Return the unpacked bytes; a damaged file is reported with the last line that is good."""
    good = bytearray()
    try:
        with gzip.open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                good += chunk
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        line = good.count(b"\n") + 1
        raise DataFileError(path, f"the gzip data is damaged or cut off ({error})", line) from error
    return bytes(good)


def read_csv(
    path: str | PathLike[str], n_columns: int, header: Sequence[str] | None = None
) -> list[list[str]]:
    """Return the cells of a comma separated file, after checking its shape.

    Parameters
    ----------
    path : path-like
        A plain or gzipped file.
    n_columns : int
        Columns that every line must have.
    header : sequence of str or None, default=None
        The cells of the first line, which is then left out of the result; None: there is none.

    Returns
    -------
    rows : list of list of str
        One list of `n_columns` cells for each line of data.
    """
    rows = []
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        for row in reader:
            if len(row) != n_columns:
                problem = f"{n_columns} columns expected, {len(row)} found"
                raise DataFileError(path, problem, reader.line_num)
            rows.append(row)
    except csv.Error as error:
        raise DataFileError(path, f"not valid CSV ({error})", reader.line_num) from error
    if header is not None:
        if not rows or rows[0] != list(header):
            raise DataFileError(path, f"the header {','.join(header)} was expected", 1)
        rows = rows[1:]
    if not rows:
        raise DataFileError(path, "the file holds no data")
    return rows


def to_numbers(path: str | PathLike[str], rows: Sequence[Sequence[str]], first_line: int) -> Array:
    """Return cells as finite float64 numbers.

    Parameters
    ----------
    path : path-like
        The file they are from.
    rows : sequence of sequence of str
        Cells, the same number in every row.
    first_line : int
        Line of the file that holds the first row.

    Returns
    -------
    numbers : ndarray of shape (n_rows, n_columns)
        The numbers.
    """
    # One conversion of everything is fast; only a file with a fault is searched cell by cell.
    try:
        numbers = np.array(rows, dtype=np.float64)
        good = bool(np.isfinite(numbers).all())
    except ValueError:
        good = False
    if not good:
        cells = ((line, cell) for line, row in enumerate(rows, start=first_line) for cell in row)
        line, cell = next((line, cell) for line, cell in cells if not _is_finite(cell))
        raise DataFileError(path, f"{cell!r} is not a finite number", line)
    return numbers


def _is_finite(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def read_mat(path: str | PathLike[str], variables: Sequence[str]) -> list[Any]:
    """Return variables of a MATLAB file of version 4 to 7, in the order asked for."""
    with open(path, "rb"):
        pass  # a missing or unreadable file keeps its own OSError
    try:
        content = loadmat(path, variable_names=list(variables))
    except Exception as error:  # scipy meets a damaged file with errors of many kinds
        raise DataFileError(path, f"not a readable MATLAB file ({error})") from error
    for name in variables:
        if name not in content:
            raise DataFileError(path, f"the variable {name!r} is missing")
    return [content[name] for name in variables]


class FetchError(OSError):
    """A file could not be downloaded; nothing of it was kept.

    Examples
    --------
    >>> from kernelhood.datasets import FetchError
    >>> issubclass(FetchError, OSError)
    True
    """


@dataclass(frozen=True)
class FileStatus:
    """What is known about one file after `check` or `fetch`.

    Parameters
    ----------
    file : DataFile
        The file.
    path : Path
        Where it is or should be.
    state : {"ok", "differs", "missing", "fetched", "by hand"}
        "ok": there, with the right checksum; "differs": there, with another content; "missing": not
        there; "fetched": downloaded just now; "by hand": not there, and no address is known.
    """

    file: DataFile
    path: Path
    state: str

    @property
    def good(self) -> bool:
        """Whether the file is there with the right content."""
        return self.state in ("ok", "fetched")


def check(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    registry: Mapping[str, DataSet] = REGISTRY,
) -> list[FileStatus]:
    """Compare the files of a data set with their checksums.

    Parameters
    ----------
    name : str
        Name of the data set: "landmine", "letter", "spam", "sarcos" or "load".
    data_home : path-like or None, default=None
        See `get_data_home`.
    registry : mapping of str to DataSet
        The known data sets.

    Returns
    -------
    statuses : list of FileStatus
        One for each file, with state "ok", "differs" or "missing".

    Examples
    --------
    >>> import tempfile
    >>> from kernelhood.datasets import check
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     {file.state for file in check("letter", folder)}
    {'missing'}
    """
    dataset = registry[check_choice("name", name, registry)]
    folder = get_data_home(data_home) / dataset.folder
    return [_check_file(file, folder) for file in dataset.files]


def fetch(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    base_url: str = BASE_URL,
    registry: Mapping[str, DataSet] = REGISTRY,
    retries: int = 3,
    timeout: float = 30.0,
    progressbar: bool = True,
) -> list[FileStatus]:
    """Download what is missing or differs, if a public address is known.

    A file is downloaded under a temporary name, its checksum compared, and only then moved to its
    place; a file that differs stays until its replacement has passed.

    Parameters
    ----------
    name : str
        Name of the data set: "landmine", "letter", "spam", "sarcos" or "load".
    data_home : path-like or None, default=None
        See `get_data_home`; folders are created as needed.
    base_url : str
        What the addresses of the registry are relative to.
    registry : mapping of str to DataSet
        The known data sets.
    retries : int, default=3
        How often a failed download is tried again.
    timeout : float, default=30.0
        Seconds without an answer after which an attempt has failed.
    progressbar : bool, default=True
        Whether to show a progress bar on standard error.

    Returns
    -------
    statuses : list of FileStatus
        One for each file, with state "ok", "fetched" or "by hand".

    Raises
    ------
    FetchError
        If a download failed in all attempts.

    Examples
    --------
    >>> from kernelhood.datasets import check, fetch
    >>> if all(file.good for file in check("letter")):  # then there is nothing to download
    ...     assert {file.state for file in fetch("letter")} == {"ok"}
    """
    retries = check_count("retries", retries, low=0)
    timeout = check_number("timeout", timeout, low=0.001)
    statuses = check(name, data_home, registry=registry)
    results = []
    for status in statuses:
        if status.state == "ok":
            results.append(status)
        elif status.file.address is None:
            results.append(FileStatus(status.file, status.path, "by hand"))
        else:
            path = status.path.parent / status.file.name
            url = f"{base_url.rstrip('/')}/{status.file.address}"
            _download(url, path, status.file.sha256, retries, timeout, progressbar)
            results.append(FileStatus(status.file, path, "fetched"))
    return results


def _download(
    url: str, path: Path, sha256: str, retries: int, timeout: float, progressbar: bool
) -> None:
    """Download one file with pooch, which moves it to its place only once it has been verified."""
    pooch = import_extra("pooch", "data")
    if progressbar:
        import_extra("tqdm", "data")
    catcher = pooch.create(
        path=path.parent,
        base_url="",
        registry={path.name: f"sha256:{sha256}"},
        urls={path.name: url},
        retry_if_failed=retries,
    )
    # A download that breaks off leaves its connection open; the hook lets us close them all.
    responses: list[Any] = []
    hooks = {"response": lambda response, **_: responses.append(response)}
    downloader = pooch.HTTPDownloader(progressbar=progressbar, timeout=timeout, hooks=hooks)
    # pooch logs every step at level info; the report at the end says the same in one line.
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")
    try:
        catcher.fetch(path.name, downloader=downloader)
    except (ValueError, OSError) as error:
        times = "once" if retries == 0 else f"{retries + 1} times"
        raise FetchError(
            f"{url} was tried {times} and could not be downloaded: {error}. {path} was not written."
        ) from error
    finally:
        logger.setLevel(level)
        for response in responses:
            response.close()


def _check_file(file: DataFile, folder: Path) -> FileStatus:
    """Look at the form of the file that a loader would read."""
    for name in file.names:
        path = folder / name
        if path.is_file():
            state = "ok" if _sha256(path) == file.sha256 else "differs"
            return FileStatus(file, path, state)
    return FileStatus(file, folder / file.name, "missing")


def _sha256(path: Path) -> str | None:
    """Return the checksum of a file's content, unpacked; None if it cannot be unpacked."""
    digest = hashlib.sha256()
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return None
    return digest.hexdigest()
