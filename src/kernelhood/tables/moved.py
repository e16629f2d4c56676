"""Where the types of a model file live now that an earlier version wrote elsewhere."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

_SCHEMA = "schema.json"

#: Modules by what they were called in format 1.
_EARLIER = {
    "estimators.landmarks": ["landmarks.expansion", "landmarks.features"],
    "estimators.neighborhoods": ["estimators.onjkl", "estimators.rpkl"],
    "estimators.peers": [
        "estimators.averaged",
        "estimators.itl",
        "estimators.mtmkl",
        "estimators.pooled",
    ],
    "estimators.related": ["related.adapted"],
    "estimators.targets": ["pipeline.fitted.units"],
    "estimators.training_rows": ["estimators.target_units"],
    "inspection.model": ["bounds"],
    "kernels.standard": ["kernels.composed", "kernels.discrete", "kernels.precomputed"],
    "losses.standard": [
        "losses.epsilon_insensitive",
        "losses.hinge",
        "losses.quantile",
        "losses.squared",
    ],
    "relations.base": [
        "relations.combination",
        "relations.effects",
        "relations.functions",
        "relations.independent",
    ],
    "relations.similarity": ["relations.graph", "relations.inputs"],
    "search.search": ["model_selection.search"],
    "search.splits": ["model_selection.splitters"],
    "tables.roles": ["tables.encoder"],
}
_MOVED = {
    f"kernelhood.{old}": f"kernelhood.{new}" for new, olds in _EARLIER.items() for old in olds
}


def with_new_paths(content: bytes) -> bytes:
    """Return a model file of format 1 with the present modules of its types.

    Parameters
    ----------
    content : bytes
        The file.
    """
    found = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            part = old.read(name)
            if name == _SCHEMA:
                part = json.dumps(_moved(json.loads(part))).encode()
            new.writestr(name, part)
    return found.getvalue()


def _moved(node: Any) -> Any:
    if isinstance(node, list):
        return [_moved(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _MOVED.get(value, value)
        if key == "__module__" and isinstance(value, str)
        else _moved(value)
        for key, value in node.items()
    }
