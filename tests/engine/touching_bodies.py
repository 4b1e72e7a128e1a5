"""Bodies that touch each other and obstacles: robots made of a few shapes, as text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import engine

G = 9.81


def link(name: str, shape: str = "", mass: float = 2.0, inertia: float = 0.0134, more: str = "") -> str:
    """A link with a mass and, if there is one, a collision shape."""
    moments = f'ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"'
    collision = f"<collision><geometry>{shape}</geometry></collision>" if shape else ""
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/><inertia {moments}/></inertial>{collision}{more}</link>'
    )


def joint(child: str, kind: str = "floating", parent: str = "world", xyz: str = "0 0 0", axis: str = "1 0 0") -> str:
    """A joint that carries a link."""
    limit = '<limit effort="1e10" velocity="1e10" lower="-10" upper="10"/>' if kind == "prismatic" else ""
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
    return f'<joint name="{child}" type="{kind}">{ends}{limit}</joint>'


def bodies(folder: Path, *parts: str, **options) -> engine.Model:
    """The robot of links and joints that hang from a link `world`."""
    path = folder / "bodies.urdf"
    path.write_text(f'<robot name="bodies"><link name="world"/>{"".join(parts)}</robot>')
    return engine.load(path, **options)


def free(folder: Path, *shapes: str, masses: tuple[float, ...] | None = None, inertia: float = 0.0134) -> engine.Model:
    """Free bodies a, b, …, of 2 kg unless masses are given, with one shape each."""
    parts = []
    for name, shape, mass in zip("abcdefgh", shapes, masses or (2.0,) * len(shapes), strict=False):
        parts += [link(name, shape, mass, inertia * mass / 2), joint(name)]
    return bodies(folder, *parts)


def at(model: engine.Model, *places: tuple[float, float, float]) -> np.ndarray:
    """(nq,): the free bodies at these places."""
    q = model.neutral()
    for name, place in zip("abcdefgh", places, strict=False):
        q[model.q_slice(name)][:3] = place
    return q
