"""By which algorithms simulations advance, by robot, device and scene."""

from __future__ import annotations

from engine import validation
from engine.model import Model
from engine.scene import Scene
from engine.selection import capabilities, touching

ALGORITHMS = {"cpu": ("abia", "jsiia", "cfa", "dca"), "cuda": ("abia", "dca", "jsiia", "cfa")}
"""Those that a step is compiled with, by device."""


def advancing(model: Model) -> dict[str, tuple[str, ...]]:
    """The algorithms that a simulation of this model advances by, by device."""
    return {
        device: tuple(name for name in names if capabilities.reason(name, model, device) is None)
        for device, names in ALGORITHMS.items()
    }


def simulation_algorithms(model: Model, device: str = "auto", scene: Scene | None = None) -> tuple[str, ...]:
    """The names of the algorithms by which a `Simulation` of a model advances on a device; "auto" means on any.

    With a `scene` those by which it does so there. Whether there is such a device here plays no part, see `why_no_gpu`.
    Raises ValueError for another name.
    """
    validation.one_of("device", device, ("auto", *capabilities.DEVICES))
    names = capabilities.ALGORITHMS
    return tuple(name for name in names if simulation_refusal(name, model, device, scene) is None)


def simulation_refusal(algorithm: str, model: Model, device: str = "auto", scene: Scene | None = None) -> str | None:
    """Why a `Simulation` of a model does not advance by an algorithm on a device, in a few words; None where it does.

    With `device` "auto" the reason is the CPU's, where no device does. With a `scene` it is asked for that.
    """
    validation.one_of("algorithm", algorithm, tuple(capabilities.ALGORITHMS))
    reasons = {where: _refusal(algorithm, model, where, scene) for where in ALGORITHMS if device in ("auto", where)}
    return None if None in reasons.values() else next(iter(reasons.values()))


def _refusal(algorithm: str, model: Model, device: str, scene: Scene | None) -> str | None:
    if algorithm not in ALGORITHMS[device]:
        return f"it does not step on device {device!r}"
    if scene is not None and device == "cuda" and algorithm not in touching.ALGORITHMS:
        return f"it does not step robots in a scene on device {device!r}"
    return capabilities.reason(algorithm, model, device)
