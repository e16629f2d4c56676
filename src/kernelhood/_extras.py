"""Import what only some users have installed."""

from __future__ import annotations

import importlib
from typing import Any


def import_extra(module: str, extra: str) -> Any:
    """Import an optional dependency, or say which extra brings it.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        Extra of kernelhood that installs it.

    Returns
    -------
    module : module
        The imported module.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{module} is needed here and is not installed: pip install 'kernelhood[{extra}]'"
        ) from error
