"""Model files of earlier versions: where their types live now, and what they are made of."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np

from kernelhood.estimators.functions import Functions, RelatedFunctions
from kernelhood.estimators.peers import PooledClassifier, PooledFunctions, PooledRegressor
from kernelhood.estimators.related_model import RelatedModel
from kernelhood.estimators.targets import ClassTargets, NumberTargets
from kernelhood.kernels import Gaussian, KernelBank
from kernelhood.losses import EpsilonInsensitive, Quantile, as_loss
from kernelhood.relations import SharedFunctions
from kernelhood.solvers.neighborhood import BoundTerms

_SCHEMA = "schema.json"

#: Modules by what they were called in format 1.
_EARLIER = {
    "estimators.landmarks": ["landmarks.expansion"],
    "estimators.neighborhoods": ["estimators.onjkl", "estimators.rpkl"],
    "estimators.peers": [
        "estimators.averaged",
        "estimators.itl",
        "estimators.mtmkl",
        "estimators.pooled",
    ],
    "estimators.targets": ["pipeline.fitted.units"],
    "estimators.training_rows": ["estimators.target_units"],
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


#: Types by module and name, in formats 1 and 2.
_RENAMED = {
    ("related.adapted", "Adapted"): ("estimators.functions", "Adapted"),
    ("estimators.related", "Adapted"): ("estimators.functions", "Adapted"),
    ("bounds", "BoundTerms"): ("solvers.neighborhood", "BoundTerms"),
    ("inspection.model", "BoundTerms"): ("solvers.neighborhood", "BoundTerms"),
    ("landmarks.features", "Landmarks"): ("estimators.landmarks", "LandmarkMaps"),
    ("estimators.landmarks", "Landmarks"): ("estimators.landmarks", "LandmarkMaps"),
}
#: Modules whose types this version has no use for.
_REMOVED = (
    "calibration.sigmoid",
    "calibration.crossfit",
    "uncertainty.conformal",
    "estimators.calibration",
    "estimators.probability",
)


class Gone:
    """What an earlier version kept, and this one has no use for."""

    def __new__(cls, *_: Any) -> Gone:
        """Take whatever the type was made of."""
        return super().__new__(cls)


def with_new_paths(content: bytes) -> bytes:
    """Return a model file of an earlier format with the present names of its types.

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
    found = {key: _moved(value) for key, value in node.items()}
    module, name = found.get("__module__"), found.get("__class__")
    if isinstance(module, str) and isinstance(name, str):
        key = module.removeprefix("kernelhood."), name
        if key in _RENAMED or key[0] in _REMOVED:
            new, found["__class__"] = _RENAMED.get(key, ("tables.moved", "Gone"))
            found["__module__"] = f"kernelhood.{new}"
        else:
            found["__module__"] = _MOVED.get(module, module)
    return found


def with_functions(model: Any) -> None:
    """Give a model of an earlier version the parts that it has now.

    Parameters
    ----------
    model : estimator
        As it is in the file; others are left as they are.
    """
    old = vars(model)
    if "_bank" not in old or "functions_" in old:
        return
    related = isinstance(model, RelatedModel)
    made_of = {
        "bank": old["_bank"],
        "tasks": old["tasks_"],
        "weights": old["weights_"],
        "support": old["support_vectors_"],
        "coef": old["dual_coef_"],
        "intercepts": old["intercept_"],
    }
    pooled = isinstance(model, (PooledClassifier, PooledRegressor))
    kind = PooledFunctions if pooled else Functions
    if related:
        model.functions_ = RelatedFunctions(**made_of, **_related(old))
    else:
        model.functions_ = kind(**made_of, banks=_own_banks(old))
    model.targets_ = _targets(old)
    if related:
        _rename_parameters(model, old)


def _own_banks(old: dict[str, Any]) -> list[KernelBank] | None:
    """Return the Gaussian of each task, which RPKL has."""
    if old.get("kernels") is not None or "sigmas_" not in old:
        return None
    widths = [float(np.sqrt(0.5 * sigma)) if sigma > 0.0 else 1.0 for sigma in old["sigmas_"]]
    return [KernelBank([Gaussian(width)], names=["gaussian"]) for width in widths]


def _related(old: dict[str, Any]) -> dict[str, Any]:
    """Return what the functions of tasks that may be related know beside others."""
    relation, n = old["relation_"], len(old["_bank"])
    free = not relation.couples or old["intercept"] == "task"
    if old["intercept"] == "auto":
        free = free or isinstance(relation, SharedFunctions)
    return {
        "relation": relation,
        "matrix_weights": old.get("_matrix_weights", np.zeros((0, n))),
        "own_weights": old.get("_own_weights", old["weights_"]),
        "components": old.get("_components", [[0] for _ in old["tasks_"]]),
        "n_samples": old["n_samples_"],
        "free": free,
        "kernel_sizes": old.get("_kernel_sizes", np.ones(n)),
        "energy": old["_energy"],
        "expansion": old.get("_expansion"),
        "adapted": old.get("_adapted", {}),
    }


def _targets(old: dict[str, Any]) -> ClassTargets | NumberTargets:
    if "_task_classes" in old:
        return ClassTargets(
            old["C"], old["class_weight"], old["_task_classes"], old.get("_alone", [])
        )
    loss = old.get("loss", "epsilon_insensitive")
    if loss == "quantile":
        loss = Quantile(old["quantile"])
    found = as_loss(loss, old["epsilon"]) if "loss" in old else EpsilonInsensitive(old["epsilon"])
    return NumberTargets(old["C"], found, old["_units"], old.get("_centres") or {})


def _rename_parameters(model: Any, old: dict[str, Any]) -> None:
    """Put the parameters of the model under their present names."""
    model.relation, model.operator = model.relation_, "auto"
    if old.get("operator_") == "low_rank":
        model.operator = model.operator_ = "landmarks"
    if old.get("loss") == "quantile":
        model.loss = Quantile(old["quantile"])
    model.bound_terms_ = old.get("_joint_bound") or BoundTerms.from_tasks(
        model.gram_, model.traces_, model.neighborhood_weights_
    )
