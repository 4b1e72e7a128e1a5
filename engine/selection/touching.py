"""Which robots touch which scenes on a GPU, and by which algorithm: what a simulation with a scene may be made for."""

from __future__ import annotations

from engine.model import Model
from engine.scene import Scene
from engine.selection import capabilities

ALGORITHMS = ("abia", "jsiia")
"""Those by which robots on a GPU touch a scene, of two that serve the one to prefer first."""


def place(scene: Scene | None, device: str, dtype: str) -> str:
    """The device to choose from: in a scene "auto" is the CPU, unless it does not have that number type."""
    if scene is None:
        return device
    if not isinstance(scene, Scene):
        raise TypeError(f"scene is a {type(scene).__name__}; expected an engine.Scene, for example engine.Scene()")
    return "cpu" if device == "auto" and dtype == "float64" else device


def able(
    by_device: dict[str, tuple[str, ...]], scene: Scene | None, algorithm: str = "auto"
) -> dict[str, tuple[str, ...]]:
    """Of algorithms that step, by device, those that do so in a scene; of these "auto" has the one to prefer."""
    if scene is None:
        return by_device
    names = tuple(name for name in ALGORITHMS if name in by_device["cuda"])
    return by_device | {"cuda": names[:1] if algorithm == "auto" else names}


def require(model: Model, scene: Scene | None, device: str, algorithm: str) -> None:
    """ValueError, with the reason and what to do, where robots do not touch that scene on a GPU by that algorithm."""
    if scene is None or device != "cuda":
        return
    if algorithm not in ("auto", *ALGORITHMS):
        names = able({"cuda": capabilities.algorithms(model, device)}, scene, algorithm)["cuda"]
        raise ValueError(f"{algorithm} does not step robots in a scene on device 'cuda'; use {' or '.join(names)}")
