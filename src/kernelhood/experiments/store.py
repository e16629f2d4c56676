"""What survives a kill: rows in one SQLite file, and other files, each whole or not there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Self

from kernelhood._files import whole_file
from kernelhood.experiments.job import Job, Row

_SECONDS_TO_WAIT = 60.0
_FORMAT = 1
_CREATE = """
CREATE TABLE IF NOT EXISTS runs (
    dataset TEXT NOT NULL,
    method TEXT NOT NULL,
    run INTEGER NOT NULL,
    settings TEXT NOT NULL,
    failed INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (dataset, method, run, settings)
)
"""
# What is done stays as it is: of two processes that do the same run, the first one's row is kept.
_WRITE = """
INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET failed = excluded.failed, content = excluded.content
WHERE runs.failed
"""
_READ = "SELECT content FROM runs WHERE dataset = ? AND method = ? AND run = ? AND settings = ?"


class StoreError(OSError):
    """The store cannot be read or written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         Store(folder)
    ...     except StoreError as error:
    ...         print(str(error).replace(folder, "..."))
    cannot use the store ...: unable to open database file. Is the folder writable, ...
    """


class Store:
    """Rows by data set, method, run and settings.

    Several processes may use one file at a time; a process that is killed leaves only whole rows.

    Parameters
    ----------
    path : path-like or None
        The file, made where it is missing; None keeps rows in memory.

    Examples
    --------
    >>> with Store(None) as store:
    ...     store.rows([])
    []
    """

    def __init__(self, path: str | PathLike[str] | None) -> None:
        self.path = ":memory:" if path is None else str(path)
        try:
            if path is not None:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            with self._explained():
                self._connection = sqlite3.connect(
                    self.path, timeout=_SECONDS_TO_WAIT, isolation_level=None
                )
        except FileExistsError as error:
            raise StoreError(f"cannot use the store {self.path}: {error}.") from error
        try:
            with self._transaction() as connection:
                connection.execute(_CREATE)
                # Written each time, so that a store that cannot be written is found out now.
                connection.execute(f"PRAGMA user_version = {_FORMAT}")
        except StoreError:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def write(self, row: Row) -> None:
        """Write a row; a failed one takes only the place of a failed one.

        Parameters
        ----------
        row : dict
            With at least dataset, method, run, settings and error.
        """
        key = (row["dataset"], row["method"], row["run"], row["settings"])
        with self._transaction() as connection:
            connection.execute(_WRITE, (*key, row["error"] is not None, json.dumps(row)))

    def rows(self, jobs: Iterable[Job]) -> list[Row]:
        """Return the rows that are there of these jobs, failed ones too, in the order of the jobs.

        Parameters
        ----------
        jobs : iterable of Job
            What is asked for.
        """
        with self._explained():
            found = [self._connection.execute(_READ, job.key).fetchone() for job in jobs]
        return [json.loads(content) for (content,) in filter(None, found)]

    def missing(self, jobs: Iterable[Job]) -> list[Job]:
        """Return the jobs that are not done, or that failed."""
        jobs = list(jobs)
        done = {
            (row["dataset"], row["method"], row["run"], row["settings"])
            for row in self.rows(jobs)
            if row["error"] is None
        }
        return [job for job in jobs if job.key not in done]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn an error of SQLite into one that says which file, and what may be the matter."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"cannot use the store {self.path}: {error}. Is the folder writable, the disk not "
                "full, and the file a store of kernelhood?"
            ) from error


def write_file(path: Path, content: str | bytes) -> Path:
    """Write a file beside its place, then move it there; return its path.

    Parameters
    ----------
    path : Path
        The place; its folder is made where it is missing.
    content : str or bytes
        Text is written as UTF-8.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
    return path
