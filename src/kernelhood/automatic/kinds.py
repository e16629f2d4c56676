"""The kinds of models that are tried: a bank, a relation, a formulation and a loss.

A kind is a family of models along one path: its level says how weakly it is regularised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kernelhood.formulations import Normalized


@dataclass(frozen=True)
class Ladder:
    """The levels of a kind, and the parameters at each.

    Attributes
    ----------
    levels : tuple of float
        Those to begin with, from strong regularisation to weak.
    ends : pair of float
        The strongest and the weakest level that are ever tried.
    formulation : str
        Levels of "corrected" are powers of ten of 1 / beta, those of "normalized" powers of ten of
        C; "evidence" chooses its own strength and has one level.
    reward : float, optional
        beta / C of `normalized`.
    """

    levels: tuple[float, ...]
    ends: tuple[float, float]
    formulation: str = "corrected"
    reward: float | None = None

    @property
    def step(self) -> float:
        """The distance of the first levels."""
        return self.levels[1] - self.levels[0] if len(self.levels) > 1 else 1.0

    @property
    def parts(self) -> tuple[float, ...]:
        """The parts of a step that a strength is refined by; models of `normalized` cost more."""
        return (0.5, 0.25) if self.reward is None else (0.5,)

    def at(self, level: float, share: float = 1.0) -> dict[str, Any]:
        """Return the parameters of a level.

        Parameters
        ----------
        level : float
            The level.
        share : float
            By what to multiply the reward: the samples that levels are for, in parts of those that
            are fitted. So the reward remains the same part of all losses together.
        """
        if self.formulation == "evidence":
            return {"formulation": "evidence"}
        if self.reward is None:
            return {"formulation": "corrected", "C": 1.0, "beta": float(10.0**-level)}
        C = float(10.0**level)
        beta = share * self.reward * C
        return {"formulation": "normalized", "C": C, "beta": beta, "eta": 4.0 * beta}


#: The price of the trace falls by a factor of 30 from level to level.
PRICES = Ladder((0.5, 2.0), (-1.0, 6.5))


EVIDENCE = Ladder((0.0,), (0.0, 0.0), "evidence")


@dataclass(frozen=True, eq=False)
class Kind:
    """A family of models that differ in how weakly they are regularised.

    Attributes
    ----------
    bank, relation : str
        The words for the kernels and for how tasks relate.
    loss : str
        The word for the loss; empty in classification.
    intercept : str
        The word for intercepts other than those that the relation has by itself.
    settings : dict
        Parameters of the estimator that all its models have.
    ladder : Ladder
        The others.
    """

    bank: str
    relation: str
    loss: str = ""
    intercept: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    ladder: Ladder = PRICES

    @property
    def formulation(self) -> str:
        """The word for the problem that is solved."""
        return self.ladder.formulation

    @property
    def name(self) -> str:
        """All words for the kind."""
        reward = "" if self.ladder.reward is None else f" {self.ladder.reward:.1e}"
        relation = " with ".join(word for word in (self.relation, self.intercept) if word)
        words = [relation, f"{self.bank} bank", self.formulation + reward, self.loss]
        return ", ".join(word for word in words if word)

    def at(self, level: float, share: float = 1.0) -> dict[str, Any]:
        """Return the parameters of one of its models, as `Ladder.at` does."""
        return {**self.settings, **self.ladder.at(level, share)}

    def changed(self, **parts: Any) -> Kind:
        """Return the kind with other words, and with these parameters in `settings` changed."""
        settings = {**self.settings, **parts.pop("settings", {})}
        return replace(self, settings=settings, **parts)


def untuned(n_samples: int) -> Ladder:
    """Return levels of which the one at 0 is the predictor that the estimators have untuned.

    Parameters
    ----------
    n_samples : int
        Samples that are solved together.
    """
    # The reward w is 2 beta for a large eta, and 4 beta for the eta that levels have.
    reward = 0.5 * Normalized().usual_beta(1.0, n_samples)
    return Ladder((0.0, 1.0), (-2.5, 4.5), "normalized", reward)


def rewarded(kind: Kind, share: float, n_samples: int) -> Kind:
    """Return a kind with `normalized`, whose reward of concentrated kernels is free of units.

    Parameters
    ----------
    kind : Kind
        With `corrected`.
    share : float
        The reward w as a share of ``C / n_samples``: then w |K|^2 is this share of the largest
        loss, C times the number of samples, for a kernel of rank one.
    n_samples : int
        Samples that are solved together.
    """
    reward = share / (4.0 * n_samples)
    return replace(kind, ladder=Ladder((0.5, 1.5), (-2.5, 4.5), "normalized", reward))
