"""Composed models: several robots and free bodies as one, with the dynamics of each and contact between them."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import engine
from engine import cli, lie
from engine.algorithms import step as text
from engine.recording.run_format import save_trajectory

ARM, DOG = (engine.load(engine.ROBOTS / f"{name}.urdf") for name in ("arm7", "quadruped"))
CUBE = engine.free_body("box", (0.05, 0.05, 0.05), 0.1, "cube")
FOLLOWING = """<robot name="follower">{}
  <joint name="a" type="revolute"><parent link="l0"/><child link="l1"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <joint name="b" type="revolute"><parent link="l1"/><child link="l2"/><origin xyz="1 0 0"/><axis xyz="0 1 0"/>
    <mimic joint="a" multiplier="2"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>"""
LINK = """<link name="{}">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><sphere radius="0.1"/></geometry></collision></link>"""


@pytest.fixture
def follower(tmp_path) -> engine.Model:
    file = tmp_path / "follower.urdf"
    file.write_text(FOLLOWING.format("".join(LINK.format(f"l{k}") for k in range(3))))
    return engine.load(file)


def turned(rng) -> np.ndarray:
    """A pose anywhere."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = lie.rotation_from_rpy(rng.uniform(-3, 3, 3)), rng.uniform(-1, 1, 3)
    return pose


@pytest.mark.parametrize("algorithm", ["abia", "dca", "jsiia"])
def test_each_part_moves_as_it_does_alone(algorithm, rng):
    """The parts do not touch; one is rotated, with gravity rotated back."""
    pose = turned(rng)
    model = engine.compose(DOG, engine.Part(ARM, pose), CUBE)
    parts = [DOG, ARM.with_gravity(pose[:3, :3].T @ ARM.gravity), CUBE]
    q = [part.random(rng) for part in parts]
    v, tau = ([rng.uniform(-1, 1, part.nv) for part in parts] for _ in range(2))
    together = engine.forward_dynamics(model, *map(np.concatenate, (q, v, tau)), algorithm=algorithm)
    alone = [engine.forward_dynamics(*each, algorithm="abia") for each in zip(parts, q, v, tau, strict=True)]
    np.testing.assert_allclose(together, np.concatenate(alone), rtol=1e-9, atol=1e-9)
    links = engine.link_poses(model, np.concatenate(q))
    expected = [engine.link_poses(part, x) for part, x in zip(parts, q, strict=True)]
    np.testing.assert_allclose(links, np.concatenate([expected[0], pose @ expected[1], expected[2]]), atol=1e-12)


def test_names_joints_shapes_and_frames_are_those_of_the_parts(follower):
    model = engine.compose(ARM, engine.Part(follower, (1, 0, 0)), engine.Part(CUBE, prefix="its "), name="both")
    assert model.name == "both"
    assert model.joint_names == (*ARM.joint_names, "follower/a", "its floating_base")
    assert model.link_names == (*ARM.link_names, "follower/l0", "follower/l1", "follower/l2", "its cube")
    joint = model.joint("follower/b")
    assert (joint.leader, joint.multiplier) == ("follower/a", 2.0)
    assert model.v_slice("its floating_base") == slice(8, 14)
    assert [shape.link for shape in model.collisions[-4:]] == [9, 10, 11, 12]
    np.testing.assert_array_equal(model.lower[:7], ARM.lower)
    np.testing.assert_array_equal(model.part_of_body, [0] * 7 + [1] * 2 + [2])
    assert len(model.visuals) == len(ARM.visuals) + len(CUBE.visuals)
    q = model.neutral()
    q[7] = 0.3
    alone = engine.link_poses(follower, [0.3])
    np.testing.assert_allclose(engine.link_poses(model, q)[9:12, :3, 3], alone[:, :3, 3] + [1, 0, 0], atol=1e-15)


def test_the_collisions_that_an_srdf_disables_stay_disabled():
    apart = dataclasses.replace(DOG, disabled_collisions=((1, 5),))
    model = engine.compose(CUBE, apart, engine.Part(apart, prefix="2"))
    count = len(DOG.link_names)
    assert model.disabled_collisions == ((2, 6), (2 + count, 6 + count))


def test_parts_of_parts_are_parts(rng):
    pose = turned(rng)
    inner = engine.compose(engine.Part(CUBE, (0, 0, 1)), ARM)
    model = engine.compose(DOG, engine.Part(inner, pose, prefix="in "))
    assert [part.model for part in model.parts] == [DOG, CUBE, ARM]
    assert [part.prefix for part in model.parts] == ["", "in ", "in arm7/"]
    np.testing.assert_allclose(model.parts[1].pose[:3, 3], pose[:3, :3] @ [0, 0, 1] + pose[:3, 3])
    down = engine.compose(engine.compose(CUBE).with_gravity((0, 0, -1)), CUBE.with_gravity((0, 0, -1)), name="x")
    assert [part.model.gravity[2] for part in down.parts] == [-1, -1]


def test_cubes_fall_and_stand_on_each_other_whatever_self_collision_is():
    model = engine.compose(*(engine.Part(CUBE, (0, 0, z), prefix=f"{z}/") for z in (0.1, 0.3)))
    simulation = engine.Simulation(model, scene=engine.Scene(), device="cpu", algorithm="abia")
    simulation.step(600)
    np.testing.assert_allclose(engine.link_poses(model, simulation.q[0])[:, 2, 3], [0.025, 0.075], atol=1e-4)
    touching = {tuple(pair) for pair in zip(simulation.contacts.link[0], simulation.contacts.other[0], strict=True)}
    assert {(0, -1), (0, 1)} <= touching or {(0, -1), (1, 0)} <= touching


def test_links_of_one_part_touch_each_other_only_with_self_collision(follower):
    from engine.scene.pairs import pairs

    model = engine.compose(follower, CUBE)
    assert {tuple(sorted(pair)) for pair in _linked(pairs(model, engine.Scene()))} == {(0, 3), (1, 3), (2, 3)}
    within = pairs(model, engine.Scene(self_collision=True))
    assert {tuple(sorted(pair)) for pair in _linked(within)} == {(0, 2), (0, 3), (1, 3), (2, 3)}
    assert pairs(follower, engine.Scene()).capacity == 0


def _linked(found) -> list[tuple[int, int]]:
    return [(int(found.link[i]), int(found.link[j])) for i, j in zip(found.one, found.other, strict=True)]


def test_a_step_is_that_of_the_text():
    """A ball falls onto a box that begins in the ground."""
    ball = engine.free_body("sphere", (0.05,), 0.2, "ball")
    model = engine.compose(engine.Part(CUBE, (0, 0, 0.02)), engine.Part(ball, (0.03, 0.01, 0.1)))
    scene, zero = engine.Scene(friction=0.5), np.zeros(model.nv)
    v = np.array([0, 0, 0, 0, 0, 0, 1.0, 2.0, 0, -0.4, 0.2, -3.0])
    simulation = engine.Simulation(model, v=v, scene=scene, device="cpu", algorithm="abia", integrator="implicit")
    simulation.step()
    settings = text.StepSetup(1e-3, "implicit", zero, zero, scene=scene)
    after = text.step(model, model.neutral(), v, text.Inputs(zero, zero), settings)
    assert simulation.contacts.number[0] == len(after.problem.contacts) > 0
    np.testing.assert_allclose(simulation.v[0], after.v, atol=1e-8)
    np.testing.assert_allclose(simulation.q[0], after.q, atol=1e-8)


def test_robots_are_put_down_and_bodies_only_lifted_out_of_the_ground():
    model = engine.compose(DOG, engine.Part(CUBE, (1, 0, 0.5)), engine.Part(CUBE, (1, 1, 0), prefix="low/"), ARM)
    q = engine.put_down(model, engine.Scene(), model.neutral())
    alone = engine.put_down(DOG, engine.Scene(), DOG.neutral())
    np.testing.assert_allclose(q[: DOG.nq], alone)
    heights = engine.link_poses(model, q)[:, 2, 3]
    assert heights[model.link_names.index("cube/cube")] == 0.5
    assert heights[model.link_names.index("low/cube")] == pytest.approx(0.025)


def test_free_bodies_have_the_inertia_of_their_shapes(rng):
    """Against points drawn inside."""
    for shape, size in (("box", (1, 2, 3)), ("sphere", (1,)), ("cylinder", (1, 3)), ("capsule", (1, 2))):
        x = rng.uniform(-2.0, 2.0, (400_000, 3))
        beyond = np.maximum(np.abs(x[:, 2]) - 1, 0)
        inside = {
            "box": np.all(np.abs(x) < np.array([0.5, 1, 1.5]), -1),
            "sphere": np.linalg.norm(x, axis=-1) < 1,
            "cylinder": (np.hypot(x[:, 0], x[:, 1]) < 1) & (np.abs(x[:, 2]) < 1.5),
            "capsule": np.sqrt(x[:, 0] ** 2 + x[:, 1] ** 2 + beyond**2) < 1,
        }[shape]
        second = np.mean(x[inside, :, None] * x[inside, None, :], 0)
        body = engine.free_body(shape, size, 2.0)
        np.testing.assert_allclose(body.inertia[0], 2 * (np.trace(second) * np.eye(3) - second), atol=0.03)
        assert (body.nv, body.mass[0], body.link_names) == (6, 2.0, (shape,))


def test_the_urdf_of_a_free_body_is_that_body(tmp_path):
    file = tmp_path / "cube.urdf"
    file.write_text(engine.to_urdf(CUBE))
    read = engine.load(file, **CUBE.options)
    assert read.joint_names == CUBE.joint_names
    assert read.link_names == CUBE.link_names
    np.testing.assert_allclose(read.inertia, CUBE.inertia, rtol=1e-12)
    assert (read.collisions[0].shape, read.collisions[0].size) == ("box", (0.05, 0.05, 0.05))


def test_composed_models_are_copied_and_pickled():
    model = engine.compose(ARM, CUBE)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.joint_names == model.joint_names
        assert len(other.parts) == 2
        assert not np.asarray(other.parts[1].pose).flags.writeable


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: engine.compose(), "there is nothing to compose; expected at least one model"),
        (lambda: engine.compose(CUBE, CUBE, CUBE), "two parts have a link 'cube/cube'; give one of them another pre"),
        (
            lambda: engine.compose(CUBE, engine.Part(dataclasses.replace(CUBE, link_names=("x",)), prefix="")),
            "two parts have a joint 'floating_base'; give one of them another prefix",
        ),
        (
            lambda: engine.compose(CUBE, ARM.with_gravity((0, 0, -1.6))),
            r"cube falls by \[0.0, 0.0, -9.81\] m/s² and arm7 by \[0.0, 0.0, -1.6\]; compose models of one gravity",
        ),
        (lambda: engine.compose("arm7"), "the model of a part is a str; expected an engine.Model"),
        (lambda: engine.Part(CUBE, (0, 0)), r"the pose of the part cube is \(0, 0\); expected a position of three"),
        (lambda: engine.free_body("cube", 1, 1), "the body's shape is 'cube'; expected one of box, sphere, cylinder"),
        (lambda: engine.free_body("box", 1, 1), "the size of the body, a box, is 1; expected three edges, positive"),
        (lambda: engine.free_body("sphere", 1, 0), "the body's mass is 0; expected a positive number in kg"),
    ],
)  # fmt: skip
def test_what_cannot_be_composed_is_refused_in_a_sentence(made, message):
    with pytest.raises((ValueError, TypeError), match=message):
        made()


def in_run(tmp_path, *words: str) -> dict:
    """The settings of a run of the command, which repeats to the bit."""
    file = tmp_path / "run.npz"
    assert cli.main(["run", *words, "--seconds", "0.05", "--out", str(file)]) == 0
    assert cli.main(["repeat", str(file)]) == 0
    return engine.read_run(file).settings


def test_the_command_puts_robots_and_bodies_beside_the_robot(tmp_path, capsys):
    file = tmp_path / "cube.urdf"
    file.write_text(engine.to_urdf(CUBE))
    message = in_run(
        tmp_path, "arm7", "--add-free", str(file), "0.5", "0", "1", "--add-free", str(file), "0.5", "0", "2", "--add",
        "pendulum", "0", "1", "0",
    )  # fmt: skip
    assert [part["prefix"] for part in message["parts"]] == ["", "pendulum/", "cube/", "cube2/"]
    assert [part["options"]["floating"] for part in message["parts"]] == [False, False, True, True]
    run = engine.read_run(tmp_path / "run.npz")
    model = engine.robot_of_text(run, engine.load)
    assert model.joint_names[-2:] == ("cube/floating_base", "cube2/floating_base")
    assert run.trajectory.q[-1, -5] == pytest.approx(-0.5 * 9.81 * 0.05**2, rel=0.05)
    assert cli.main(["run", "arm7", "--add", "pendulum", "0", "far", "0"]) == 2
    assert "pendulum is to be put at 0 far 0; expected x, y and z in m" in capsys.readouterr().err
    assert cli.main(["run", "arm7", "--add", "nobody", "0", "0", "0"]) == 2
    capsys.readouterr()
    assert cli.main(["run", "arm7", "--add-free", "quadruped", "0", "1", "0.5"]) == 2
    assert capsys.readouterr().err.rstrip() == (
        "catena run: quadruped.urdf has a free base already; write --add quadruped in place of --add-free quadruped"
    )
    assert cli.main(["run", "quadruped", "--floating"]) == 2
    assert "has a free base already; leave out --floating" in capsys.readouterr().err
    assert in_run(tmp_path, "arm7", "--add", "quadruped", "0", "1", "0.5")["parts"][1]["prefix"] == "quadruped/"


def test_a_saved_run_has_its_parts_to_the_bit(tmp_path, rng, follower):
    """Reloaded without the program that made it: from files, from text, and generated."""
    parts = (engine.Part(CUBE, turned(rng)), engine.chain(5, seed=3), engine.Part(follower, turned(rng)), ARM)
    model = engine.compose(*parts, engine.load(engine.ROBOTS / "arm6.urdf", floating=True))
    q = model.random(rng)
    trajectory = engine.rollout(model, q, steps=3)
    file = tmp_path / "run.npz"
    save_trajectory(file, model, trajectory, engine.robot_as_text(model))
    again = engine.robot_of_text(engine.read_run(file), engine.load)
    assert again.joint_names == model.joint_names
    assert again.has_mimic
    for field in dataclasses.fields(model):
        if isinstance(before := getattr(model, field.name), np.ndarray):
            np.testing.assert_array_equal(getattr(again, field.name), before, err_msg=field.name)
    np.testing.assert_array_equal(engine.rollout(again, q, steps=3).q, trajectory.q)


@pytest.mark.parametrize(
    ("amiss", "message"),
    [
        ({"pose": [0, 0]}, r"the pose of the part arm7 is \[0, 0\]"),
        ({"robot": 7}, "are invalid"),
        ({"options": 7}, "are invalid"),
        ({"pose": None}, "the pose of the part arm7 is None"),
    ],
)
def test_parts_that_cannot_be_are_refused_in_a_sentence(tmp_path, amiss, message):
    file, text = tmp_path / "run.npz", engine.robot_as_text(engine.compose(ARM, CUBE))
    text["parts"][0] |= amiss
    save_trajectory(file, ARM, engine.rollout(ARM, ARM.neutral(), steps=1), text)
    with pytest.raises(ValueError, match=f"the parts of its robot in run.npz are invalid .*{message}|{message}"):
        engine.robot_of_text(engine.read_run(file), engine.load)
