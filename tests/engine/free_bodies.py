"""A free body of 2 kg with a collision shape, at rest or thrown."""

import numpy as np

import engine
from engine import load
from engine.model import Model

BODY = """<robot name="body"><link name="body">
<inertial><mass value="2"/><inertia ixx="0.0134" iyy="0.0134" izz="0.0134" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry>{shape}</geometry></collision></link></robot>"""


def free_body(folders, shape: str = '<box size="0.2 0.2 0.2"/>') -> Model:
    path = folders.mktemp("bodies") / "body.urdf"
    path.write_text(BODY.format(shape=shape))
    return load(path, floating=True)


def simulated(model: Model, scene: engine.Scene, height: float, tilt: float = 0.0, **options) -> engine.Simulation:
    """A body at rest on the slope, its origin so high above it."""
    q = model.neutral()
    q[:3] = height * np.array([np.sin(tilt), 0, np.cos(tilt)])
    q[3:7] = [0, np.sin(tilt / 2), 0, np.cos(tilt / 2)]
    return engine.Simulation(model, q=q, scene=scene, algorithm="abia", **options)


def thrown(rng, model: Model, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Boxes turned at random with their lowest corner on the ground, and random twists."""
    q, half = np.tile(model.neutral(), (batch, 1)), np.array([0.15, 0.1, 0.05])
    q[:, 3:7] = rng.standard_normal((batch, 4))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    rotation = engine.link_poses(model, q)[:, 0, :3, :3]
    q[:, 2] = np.abs(rotation[:, 2] * half).sum(1) - 1e-9
    return q, 2 * rng.standard_normal((batch, 6))
