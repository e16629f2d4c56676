"""Where the data files are on this computer."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

HOME_VARIABLE = "KERNELHOOD_DATA"


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds one sub-folder for each data set.

    Parameters
    ----------
    data_home : path-like or None, default=None
        The folder itself. None takes the environment variable ``KERNELHOOD_DATA``, and where that
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
