"""Bodies that touch each other and obstacles: robots made of a few shapes."""

from pathlib import Path

import numpy as np

import engine
from tests.bench.contact_bodies import joint, link, urdf

NAMES = "abcdefgh"


def bodies(folder: Path, *parts: str, **options) -> engine.Model:
    """The robot of links and joints that hang from a link `world`."""
    path = folder / "bodies.urdf"
    path.write_text(urdf(*parts))
    return engine.load(path, **options)


def free(folder: Path, *shapes: str, masses: tuple[float, ...] | None = None) -> engine.Model:
    """Free bodies a, b, …, of 2 kg unless masses are given, with one shape each."""
    parts = []
    for name, shape, mass in zip(NAMES, shapes, masses or (2.0,) * len(shapes), strict=False):
        parts += [link(name, shape, mass=mass, inertia=0.0067 * mass), joint(name)]
    return bodies(folder, *parts)


def at(model: engine.Model, *places: tuple[float, float, float]) -> np.ndarray:
    """(nq,): the free bodies at these places."""
    q = model.neutral()
    for name, place in zip(NAMES, places, strict=False):
        q[model.q_slice(name)][:3] = place
    return q


def loose(model: engine.Model, rng: np.random.Generator, batch: int, width: float) -> np.ndarray:
    """(batch, nq): free bodies turned at random, within so much of the origin along each axis."""
    q = np.tile(model.neutral(), (batch, 1))
    for body in model.joint_names:
        x = rng.standard_normal((batch, 4))
        turned = x / np.linalg.norm(x, axis=1, keepdims=True)
        q[:, model.q_slice(body)] = np.hstack([rng.uniform(-width, width, (batch, 3)), turned])
    return q
