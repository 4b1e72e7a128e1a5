"""Which robots touch which scenes on a GPU, and by which algorithm: what a simulation with a scene may be made for."""

from __future__ import annotations

from engine.model import Model
from engine.scene import Scene
from engine.selection import capabilities

ALGORITHM = "abia"
"""The one by which robots on a GPU touch a scene."""
_ON_THE_CPU = "use device='cpu' and dtype='float64'"


def place(scene: Scene | None, device: str, dtype: str) -> str:
    """The device to choose from: in a scene "auto" is the CPU, unless it does not have that number type."""
    if scene is None:
        return device
    if not isinstance(scene, Scene):
        raise TypeError(f"scene is a {type(scene).__name__}; expected an engine.Scene, for example engine.Scene()")
    return "cpu" if device == "auto" and dtype == "float64" else device


def able(by_device: dict[str, tuple[str, ...]], scene: Scene | None) -> dict[str, tuple[str, ...]]:
    """Of algorithms that step, by device, those that do so in a scene."""
    if scene is None:
        return by_device
    return by_device | {"cuda": tuple(name for name in by_device["cuda"] if name == ALGORITHM)}


def require(model: Model, scene: Scene | None, device: str, algorithm: str) -> None:
    """ValueError, with the reason and what to do, where robots do not touch that scene on a GPU by that algorithm."""
    if scene is None or device != "cuda":
        return
    if scene.obstacles or scene.self_collision:
        what = "obstacles" if scene.obstacles else "each other's links"
        raise ValueError(f"robots touch {what} on the CPU alone, on device 'cuda' only the ground; {_ON_THE_CPU}")
    if reason := capabilities.reason(ALGORITHM, model, device):
        raise ValueError(f"{model.name} does not touch a scene on device 'cuda', since {reason}; {_ON_THE_CPU}")
    if algorithm not in ("auto", ALGORITHM):
        raise ValueError(f"{algorithm} does not step robots in a scene on device 'cuda'; use {ALGORITHM}")
