"""Download the files of a data set, and check those that are there."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelhood._extras import import_extra
from kernelhood.datasets._arguments import check_choice, check_count, check_number
from kernelhood.datasets._files import BASE_URL, REGISTRY, DataFile, DataSet, get_data_home

_CHUNK = 1 << 20


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
    """Download what is missing or differs, where a public address is known.

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
