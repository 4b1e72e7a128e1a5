"""Hulls with many corners on the ground: their kept contacts, and robots on such soles come to rest."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

import engine
from engine.algorithms import touching
from engine.algorithms.motion import motion
from engine.holding import holding_gains
from engine.scene import put_down

DT, SCENE = 2e-3, engine.Scene(friction=0.8)
STILL = ("talos_full_v2.urdf", "icub_reduced.urdf", "romeo_small.urdf", "bolt.urdf", "go2.urdf", "solo12.urdf")
"""Robots that others made: feet that are arched plates, balls and points, of hulls with up to thousands of corners."""


def free_body(folder: Path, mesh: trimesh.Trimesh) -> engine.Model:
    """A body of 1 kg on a free joint, its shape the hull of a mesh."""
    mesh.export(folder / "hull.obj")
    path = folder / "body.urdf"
    path.write_text(
        '<robot name="body"><link name="world"/><joint name="free" type="floating"><parent link="world"/>'
        '<child link="body"/></joint><link name="body"><inertial><mass value="1"/><inertia ixx="2e-3" iyy="4e-3" '
        'izz="5e-3" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><mesh filename="hull.obj"/></geometry>'
        "</collision></link></robot>"
    )
    return engine.load(path)


def test_the_corners_that_are_kept_are_the_reference_texts(tmp_path: Path, rng: np.random.Generator) -> None:
    """A ball is pressed to a plate, in 60 places."""
    mesh, numbers = trimesh.creation.icosphere(2, 0.1), set()
    mesh.vertices *= (1.0, 0.7, 0.1)
    mesh.vertices[:, 2] = np.maximum(mesh.vertices[:, 2], -0.0085)
    stone = free_body(tmp_path, mesh)
    for _ in range(60):
        q, v = stone.neutral(), rng.normal(size=6) * (2.0, 2.0, 2.0, 0.3, 0.3, 0.3) * rng.uniform() ** 2
        q[3:7] += np.array([0.02, 0.02, 1.0, 0.0]) * rng.normal(size=4) * rng.uniform() ** 3
        q[3:7] /= np.linalg.norm(q[3:7])
        q = put_down(stone, SCENE, q)
        expected = touching.contacts(stone, SCENE, motion(stone, q, v), DT)
        simulation = engine.Simulation(stone, dt=DT, integrator="implicit", scene=SCENE, q=q, v=v, device="cpu")
        simulation.step()
        found = simulation.contacts
        assert found is not None
        n = int(found.number[0])
        numbers.add(n)
        places = found.point[0, :n]
        assert n == len(expected)
        for contact in expected:
            assert np.abs(places - contact.x).max(axis=1).min() < 1e-9
    assert numbers == {1, 2, 3, 4}


def test_a_ball_of_many_corners_touches_in_one(tmp_path: Path) -> None:
    """Its other corners are within a millimetre of the ground, but far above it for how near they lie."""
    ball = free_body(tmp_path, trimesh.creation.icosphere(3, 0.02))
    q = put_down(ball, SCENE, ball.neutral())
    at = motion(ball, q, np.zeros(6))
    assert len(touching.candidates(ball, SCENE, at, DT)[0].contacts) > 4
    simulation = engine.Simulation(ball, dt=DT, integrator="implicit", scene=SCENE, q=q, device="cpu")
    simulation.step()
    assert simulation.contacts is not None
    assert simulation.contacts.number[0] == len(touching.contacts(ball, SCENE, at, DT)) == 1


@pytest.mark.parametrize("name", STILL)
def test_robots_that_others_made_come_to_rest(example_robots: list[Path], name: str) -> None:
    """Held for 10 s: after the first five neither the base nor any joint goes anywhere, nor does it rock."""
    path = next(path for path in example_robots if path.name == name)
    model = engine.load(path, floating=True)
    q = put_down(model, SCENE, model.neutral())
    kp, kd = holding_gains(model, DT)
    simulation = engine.Simulation(
        model, dt=DT, integrator="implicit", scene=SCENE, q=q, kp=kp, kd=kd, device="cpu", timed=False
    )
    simulation.target[:] = np.where(model.q_of_v >= 0, q[np.maximum(model.q_of_v, 0)], 0.0)
    simulation.step(2500)
    before = simulation.q[0].copy()
    simulation.step(2500)
    assert np.abs(simulation.q[0, :3] - before[:3]).max() < 1e-5
    assert np.abs(simulation.q[0, 7:] - before[7:]).max() < 1e-5
    assert np.abs(simulation.v).max() < 1e-4
