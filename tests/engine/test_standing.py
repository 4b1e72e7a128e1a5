"""On the ground by itself: which robots are, and that they do not sink into it."""

import argparse

import numpy as np
import pytest

import engine
from engine import run_arguments
from engine.model.poses import body_poses
from engine.scene.placing import lowest
from engine.scene.points import points

ARM = """<robot name="arm"><link name="base"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="bar"><inertial><origin xyz="{0} 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="{0} 0 {1}"/><geometry><box size="0.4 0.1 0.1"/></geometry></collision></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/></joint></robot>"""


def depth(model: engine.Model, q: np.ndarray) -> float:
    """Return the height of the lowest collision point above the ground, m."""
    found = points(model, engine.Scene())
    return float(np.min(lowest(found, body_poses(model, q[None])[0], np.array([0.0, 0.0, 1.0]))))


@pytest.mark.parametrize(("height", "stands"), [(0.05, True), (0.3, True), (-0.3, False)])
def test_a_fixed_base_stands_unless_what_it_carries_hangs_below(tmp_path, height, stands):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.format(0.3, height))
    assert engine.stands(engine.load(file)) is stands
    assert engine.stands(engine.load(file, floating=True))
    cube = engine.free_body("box", (0.1, 0.1, 0.1), 1.0)
    assert engine.stands(engine.compose(cube, engine.load(file))) is stands
    assert engine.stands(engine.load(file), [np.pi]) is not stands  # turned over


def test_shipped_robots_that_can_stand_are_recognised():
    stand = {name.stem for name in engine.ROBOTS.glob("*.urdf") if engine.stands(engine.load(name))}
    assert stand == {"arm6", "arm7", "scara", "quadruped", "humanoid", "snake50"}


def test_the_arm_that_ships_lies_down_on_the_ground(arm7):
    """Without drives it falls from a pose from which its limits would let it sink."""
    q = arm7.neutral()
    q[1], q[3] = 1.4, 0.5
    assert depth(arm7, q) > 0
    for scene in (None, engine.Scene()):
        simulation = engine.Simulation(arm7, q=q, scene=scene, device="cpu", integrator="implicit", dt=2e-3)
        simulation.step(1500)
        assert (depth(arm7, simulation.q[0]) > -1e-3) is (scene is not None)
    assert simulation.contacts.number[0] > 0


def test_a_run_has_the_same_ground_on_every_device():
    """And with every number type."""
    parser = argparse.ArgumentParser()
    run_arguments.add_arguments(parser)
    for name in ("arm7", "quadruped", "pendulum"):
        model = engine.load(engine.find_robot(name))
        scenes = {
            run_arguments.scene_of(parser.parse_args([name, "--device", device, "--dtype", dtype]), model)
            for device in ("cpu", "cuda", "auto")
            for dtype in ("float64", "float32")
        }
        assert scenes == {None if name == "pendulum" else engine.Scene()}


def test_a_batch_is_put_down_row_by_row(rng):
    model, scene = engine.load(engine.ROBOTS / "quadruped.urdf"), engine.Scene()
    q = model.random(rng, 3)
    found = engine.put_down(model, scene, q)
    for row, down in zip(q, found, strict=True):
        np.testing.assert_array_equal(engine.put_down(model, scene, row), down)
        assert depth(model, down) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match=r"q has shape \(3, 18\); expected \(19,\) or"):
        engine.put_down(model, scene, q[:, 1:])
