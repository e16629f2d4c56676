"""Write files so that there is never half of one."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import Any

from kernelhood.datasets._extras import import_extra


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
    data = content.encode("utf-8") if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp lets only the owner read; a report is for anyone that the folder lets in.
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def picture(figure: Any, kind: str) -> bytes:
    """Return a figure as a file of a kind, the same bytes for the same figure.

    Parameters
    ----------
    figure : matplotlib figure
        The figure.
    kind : {"png", "svg"}
        Format.
    """
    matplotlib = import_extra("matplotlib", "bench")
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the layout is found; it need not be sought for every format
    content = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    with matplotlib.rc_context({"svg.hashsalt": "kernelhood"}):
        figure.savefig(content, format=kind, dpi=130, bbox_inches="tight", metadata=metadata)
    return content.getvalue()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
