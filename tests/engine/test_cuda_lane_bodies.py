"""Robots that have a warp each, a lane a body, against the CPU: on a GPU, and compiled for the host."""

import numpy as np
import pytest
from beside_cpu import (
    NEAR,
    alike,
    beside,
    cuda,  # noqa: F401 - a fixture
    give,
    robot,
    tumbled,
)
from cuda_on_host import compiled_for_host, cuda_on_host  # noqa: F401 - fixtures

import engine
from engine.cuda.rigid_body import lane_bodies
from engine.device_arrays import to_host
from engine.scene import Scene, points

INERTIA = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
LINK = f'<link name="{{0}}"><inertial>{INERTIA}</inertial></link>'
JOINT = '<joint name="j{1}" type="{2}"><parent link="{0}"/><child link="{1}"/><origin xyz="0.1 0 0"/>{3}</joint>'
AXIS = '<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="9" velocity="9"/>'

BOTH = pytest.mark.parametrize(("dtype", "within"), [("float64", NEAR), ("float32", 2e-2)])
"""A warp steps in single precision; in double precision the one text does."""


def model(tmp_path, parents: list[int], kind: str = "revolute") -> engine.Model:
    """A free body with joints of such a kind, each hanging from the link of that number."""
    path = tmp_path / "robot.urdf"
    links = [LINK.format(f"l{k}") for k in range(len(parents) + 1)]
    joints = [JOINT.format(f"l{parent}", f"l{k + 1}", kind, AXIS) for k, parent in enumerate(parents)]
    path.write_text(f'<robot name="robot">{"".join(links + joints)}</robot>')
    return engine.load(path, floating=True)


def fall(batch: int, dtype: str, rng):
    """Limp humanoids turned at random, just above the ground."""
    pair = beside(robot("humanoid"), batch, dtype, dt=1e-3, integrator="implicit")
    q, v = tumbled(robot("humanoid"), batch, rng)
    give(pair, q=q, v=v)
    return pair


def test_a_humanoid_has_a_warp_and_small_robots_and_chains_of_balls_have_none(tmp_path):
    assert lane_bodies.fits(robot("humanoid"))
    assert not lane_bodies.fits(robot("quadruped"))  # too few bodies
    assert lane_bodies.fits(model(tmp_path, list(range(20))))
    assert not lane_bodies.fits(model(tmp_path, list(range(32))))  # more bodies than lanes
    assert lane_bodies.fits(model(tmp_path, list(range(25))))
    assert not lane_bodies.fits(
        model(tmp_path, list(range(26)))
    )  # a row of M, and what stands beside it, has more entries


def test_tables_say_what_hangs_on_what():
    humanoid = robot("humanoid")
    tables = lane_bodies.tables(humanoid, True)
    paths = tables["LANE_PATHS"].reshape(len(humanoid.parent), -1)

    def way(i):
        return [paths[i, k // 6] >> 5 * (k % 6) & 31 for k in range(tables["BODY_DEPTH"][i])]

    for i, above in enumerate(humanoid.parent[1:], 1):
        assert tables["BODY_DEPTH"][i] == tables["BODY_DEPTH"][above] + 1
        assert way(i) == [*way(above), i]
    assert tables["END_OF_SUBTREE"][:6].tolist() == [humanoid.nv] * 6


@pytest.mark.usefixtures("cuda")
@BOTH
def test_a_humanoid_that_falls_moves_as_on_the_cpu(dtype, within, rng):
    cpu, ours = fall(3, dtype, rng)
    contacts = 0
    for _ in range(150):
        give((ours,), q=cpu.q, v=cpu.v)
        cpu.step()
        ours.step()
        alike(cpu, ours, within)
        contacts += int(cpu.contacts.number.sum())
    assert contacts > 100


@pytest.mark.usefixtures("cuda")
@BOTH
def test_a_humanoid_pressed_into_the_ground_by_all_it_has_moves_as_on_the_cpu(dtype, within, rng):
    """So many contacts that they have no room in shared memory."""
    cpu, ours = fall(2, dtype, rng)
    q = cpu.q.copy()
    q[:, 2] -= 0.6
    give((cpu, ours), q=q, v=0 * cpu.v)
    cpu.step()
    ours.step()
    assert cpu.contacts.number.max() > 12
    np.testing.assert_array_equal(to_host(ours.contacts.number), cpu.contacts.number)
    alike(cpu, ours, max(1e-3, within))


@pytest.mark.usefixtures("cuda")
def test_a_humanoid_comes_to_the_same_bits_in_any_place_of_a_batch(rng):
    _, together = fall(3, "float32", rng)
    start = [to_host(x).copy() for x in (together.q, together.v)]
    together.step(60)
    for k in range(3):
        _, alone = beside(robot("humanoid"), 1, "float32", dt=1e-3, integrator="implicit")
        give((alone,), q=start[0][k], v=start[1][k])
        alone.step(60)
        np.testing.assert_array_equal(to_host(alone.q)[0], to_host(together.q)[k])
    assert to_host(together.contacts.number).sum() > 0


@pytest.mark.slow_on_host
@pytest.mark.usefixtures("cuda")
def test_a_humanoid_stands_lawfully_in_single_precision(rng):
    humanoid, scene = robot("humanoid"), Scene()
    kp, kd = engine.holding_gains(humanoid)
    q = engine.put_down(humanoid, scene, humanoid.neutral())
    _, ours = beside(humanoid, 2, "float32", dt=1e-3, integrator="implicit", q=q, kp=kp, kd=kd)
    give((ours,), v=0.05 * rng.standard_normal(ours.v.shape))
    ours.step(300)
    assert float(to_host(ours.contacts.residual).max()) <= 1e-4
    assert to_host(ours.contacts.number).tolist() == [8, 8]
    assert points(humanoid, scene).capacity > 8
    assert np.abs(to_host(ours.v)).max() < 0.2


@pytest.mark.usefixtures("cuda")
def test_a_humanoid_falls_lawfully_in_single_precision(rng):
    """Much of what comes down slides, and friction then follows what presses."""
    _, ours = fall(4, "float32", rng)
    ours.step(200)
    assert float(to_host(ours.contacts.worst).max()) <= 1e-4
    assert to_host(ours.contacts.number).sum() > 4


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    ("dtype", "restitution", "stepper"),
    [("float32", 0.0, "RobotStepper"), ("float32", 0.5, "SceneStepper"), ("float64", 0.0, "SceneStepper")],
)
def test_a_warp_steps_a_robot_that_does_not_rebound_in_single_precision(dtype, restitution, stepper):
    simulation = engine.Simulation(
        robot("humanoid"), 1, 1e-3, "implicit", "abia", scene=Scene(restitution=restitution), device="cuda",
        dtype=dtype, timed=False,
    )  # fmt: skip
    assert type(simulation._stepper).__name__ == stepper
