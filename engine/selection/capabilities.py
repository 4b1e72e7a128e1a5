"""The table of what each forward dynamics algorithm supports.

`algorithms`, the refusals, the automatic choice and the documentation (`markdown`) all read it. [Y] is Yang, Wu and Pan
2016, [B] Bhalerao, Critchley and Anderson 2012.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine import validation
from engine.model import Model, features
from engine.model.features import SERIAL, Feature, first_occurrence
from engine.model.model import spatial_inertias
from engine.parameters import Parameters

Form = Literal["compiled", "text"]


@dataclass(frozen=True)
class Algorithm:
    """A row of the table."""

    name: str
    field_name: str
    full_name: str
    devices: Mapping[str, Form]
    """The devices for which it is compiled, or on which the reference in `engine.algorithms` runs, for comparison."""
    trees: bool
    """Whether it supports branching robots."""
    floating: bool
    """Whether it supports free joints."""
    spherical: bool
    """Whether it supports ball joints."""
    still: bool
    """Whether it supports robots without moving joints."""
    prismatic: bool
    mimic: bool
    massless: bool
    """Whether it supports bodies whose own inertia is singular."""
    uneven: bool
    """Whether it supports mass ratios of a thousand and more between a body and its descendants."""
    threads: bool
    """Whether it distributes one robot over the CPU's cores."""
    largest: int | None
    """The largest number of bodies for which the automatic choice considers it; None: unlimited."""
    work: str
    """Number of operations for n links, with d of them between base and tip."""
    span: str
    """Number of sequential steps with one processor per link, or on p threads if p is named."""
    source: str


ALGORITHMS: Mapping[str, Algorithm] = {
    row.name: row
    for row in (
        Algorithm(
            "abia", "ABA", "articulated-body inertias", {"cpu": "compiled", "cuda": "compiled"},
            trees=True, floating=True, spherical=True, still=True, prismatic=True, mimic=False, massless=True,
            uneven=True, threads=False, largest=None, work="n", span="d", source="Featherstone 1983; [Y] section II.C",
        ),
        Algorithm(
            "dca", "DCA-ABA", "divide and conquer with articulated-body inertias",
            {"cpu": "compiled", "cuda": "compiled"},
            trees=True, floating=True, spherical=True, still=False, prismatic=True, mimic=False, massless=False,
            uneven=False, threads=True, largest=None, work="n", span="n/p + log p", source="[B]",
        ),
        Algorithm(
            "jsiia", "CRBA", "joint-space inertia inversion", {"cpu": "compiled", "cuda": "compiled"},
            trees=True, floating=True, spherical=True, still=True, prismatic=True, mimic=True, massless=True,
            uneven=True, threads=False, largest=512, work="n d + n³", span="n", source="[Y] (6), (7)",
        ),
        Algorithm(
            "abia-hybrid", "hybrid ABA", "articulated-body inertias on the CPU, scans on the device",
            {"cpu": "text", "cuda": "compiled"},
            trees=False, floating=False, spherical=False, still=False, prismatic=True, mimic=False, massless=True,
            uneven=True, threads=False, largest=None, work="n", span="n", source="[Y] (8)",
        ),
        Algorithm(
            "cfa", "CFA", "constraint forces by block elimination, refined", {"cpu": "compiled", "cuda": "compiled"},
            trees=False, floating=False, spherical=False, still=False, prismatic=True, mimic=False, massless=False,
            uneven=True, threads=False, largest=4096, work="n log n", span="log n", source="Fijany 1995; [Y] (14)–(19)",
        ),
    )
}  # fmt: skip
"""By name; of algorithms with equal support the preferred one is first."""

ALGORITHM_NAMES = {row.name: row.field_name for row in ALGORITHMS.values()}
"""The field's names, as the window has them, by those of the papers."""
DEVICES = tuple(dict.fromkeys(device for row in ALGORITHMS.values() for device in row.devices))
_FEATURES: tuple[Feature, ...] = (*SERIAL, "prismatic", "massless", "uneven")


def by_name(words: str) -> str:
    """Return the name of the algorithm that the field or the papers call so, in any case; other words unchanged."""
    by_words = {name.lower(): row.name for row in ALGORITHMS.values() for name in (row.name, row.field_name)}
    return by_words.get(words.lower(), words)


def algorithms(model: Model, device: str = "auto") -> tuple[str, ...]:
    """Return the names of the algorithms that support a model on a device, the preferred one first.

    `device` is "cpu", "cuda" or "auto" (any device). Raises ValueError for any other.
    """
    return tuple(name for name in ALGORITHMS if reason(name, model, device) is None)


def resolve_device(device: str) -> str:
    """Return `device`, or for "auto" the device that supports everything. Raises ValueError for an unknown name."""
    device = validation.one_of("device", device, ("auto", *DEVICES))
    return DEVICES[0] if device == "auto" else device


def refusal(name: str, model: Model, device: str = "auto") -> str | None:
    """Return why an algorithm does not support a model, and which to use, in one sentence; None if it does."""
    if (why := reason(name, model, device)) is None:
        return None
    others = algorithms(model, device)
    elsewhere = any(reason(name, model, other) is None for other in ALGORITHMS[name].devices)
    here = f" on {resolve_device(device)}" if elsewhere else ""
    fix = others[0] if others else "the CPU"
    return f"{name} does not support {model.name}{here}: {why}; use {fix}"


def reasons_against(model: Model) -> dict[str, tuple[str, ...]]:
    """Return the reasons why algorithms do not support a model, each with their names."""
    reasons: dict[str, tuple[str, ...]] = {}
    for name in ALGORITHMS:
        if why := reason(name, model):
            reasons[why] = (*reasons.get(why, ()), name)
    return reasons


def require(name: str, model: Model, device: str = "auto") -> str:
    """Return `name` if that algorithm supports the model; else raise ValueError with the reason and an alternative."""
    name = validation.one_of("algorithm", name, ("auto", *ALGORITHMS))
    if sentence := refusal(name, model, device):
        raise ValueError(sentence)
    return name


def reason(name: str, model: Model, device: str = "auto") -> str | None:
    """Return the model's feature that an algorithm does not support on a device, in words, or None."""
    row, device = ALGORITHMS[name], resolve_device(device)
    if device not in row.devices:
        return f"it does not run on device {device!r}"
    missing = (f for f in _FEATURES if not getattr(row, f))
    return next((place for feature in missing if (place := first_occurrence(feature, model))), None)


def require_parameters(name: str, model: Model, batch: int, parameters: Parameters | None) -> None:
    """Raise ValueError unless the parameters match the batch, and the algorithm supports each of its robots."""
    if parameters is None:
        return
    if parameters.model is not model or parameters.batch != batch:
        raise ValueError(
            f"parameters are of {parameters.batch} robots {parameters.model.name!r}; "
            f"expected {batch} of this very model, {model.name!r}"
        )
    parameters.check()
    row, refused = ALGORITHMS[name], np.zeros(batch, bool)
    if not row.massless:
        J = spatial_inertias(parameters.mass, parameters.first_moment, parameters.inertia)
        refused |= ~np.all(features.invertible(J), -1)
    if not row.uneven:
        refused |= np.any(features.uneven_bodies(model.parent, parameters.mass), -1)
    if len(robots := np.flatnonzero(refused)):
        raise ValueError(f"robot {robots[0]} of the parameters: {refusal(name, parameters.robot(robots[0]))}")
