"""Contacts between bodies, and with obstacles: kept contacts, reported contacts, and pairs."""

import dataclasses
import importlib
import re

import numpy as np
import pytest
from touching_bodies import NAMES, at, bodies, free, loose

import engine
from engine import cli
from tests.bench import contact_bodies
from tests.bench.contact import MUSTS
from tests.bench.contact_bodies import joint, link

G = 9.81
BALL, ROD = '<sphere radius="0.1"/>', '<capsule radius="0.05" length="0.4"/>'
PAIRS = importlib.import_module("engine.scene.pairs")
SELF = engine.Scene(ground=None, self_collision=True)


def simulated(model: engine.Model, scene: engine.Scene, q, **options) -> engine.Simulation:
    return engine.Simulation(model, q=q, scene=scene, algorithm="abia", device="cpu", timed=False, **options)


def partners(simulation: engine.Simulation, robot: int = 0) -> list[tuple[int, int]]:
    """Link and other of each contact of a robot."""
    found = simulation.contacts
    count = found.number[robot]
    return list(zip(found.link[robot, :count].tolist(), found.other[robot, :count].tolist(), strict=True))


def test_more_pairs_than_are_looked_at_are_refused_before_they_are_made(tmp_path, monkeypatch):
    model = free(tmp_path, *[BALL] * 8)
    monkeypatch.setattr(PAIRS, "MAX_PAIRS", 27)
    monkeypatch.setattr(PAIRS, "_solids", None)
    with pytest.raises(ValueError, match=r"has more than 27 pairs of shapes that may touch; give fewer shapes"):
        PAIRS.pairs(model, SELF)


def test_pairs_of_parts_and_obstacles_count_among_those_looked_at(tmp_path, monkeypatch):
    model = free(tmp_path, BALL, BALL)
    scene = engine.Scene(obstacles=[engine.Obstacle("sphere", (0.1,))] * 3)
    monkeypatch.setattr(PAIRS, "MAX_PAIRS", 6)
    assert PAIRS.pairs(model, scene).capacity == 6
    monkeypatch.setattr(PAIRS, "MAX_PAIRS", 5)
    with pytest.raises(ValueError, match="has more than 5 pairs of shapes that may touch"):
        PAIRS.pairs(model, scene)


@pytest.mark.parametrize(("restitution", "speeds"), [(0.0, (0.5, 0.5)), (1.0, (0.0, 1.0))])
def test_a_ball_that_strikes_another_hands_on_what_it_has(tmp_path, restitution, speeds):
    model = free(tmp_path, BALL, BALL).with_gravity((0, 0, 0))
    scene = dataclasses.replace(SELF, restitution=restitution, friction=0.0)
    simulation = simulated(model, scene, at(model, (0, 0, 0), (0.2004, 0, 0)))
    simulation.v[0, 3] = 1.0
    simulation.step(3)
    np.testing.assert_allclose(simulation.v[0, [3, 9]], speeds, atol=1e-12)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_momentum_is_kept_to_rounding_where_bodies_strike(tmp_path, rng, integrator):
    """Linear and angular, about the world's origin; with equal moments of inertia rotation costs none of it.

    But RK4 integrates the velocity in a frame that turns.
    """
    model = free(tmp_path, BALL, ROD, ROD, BALL, masses=(1.0, 20.0, 3.0, 200.0)).with_gravity((0, 0, 0))
    batch = 2000
    q, v = loose(model, rng, batch, 0.35), rng.standard_normal((batch, model.nv))
    scene = dataclasses.replace(SELF, restitution=0.5)
    simulation = simulated(model, scene, q, v=v, batch=batch, dt=1e-2, integrator=integrator)
    simulation.step()
    found = simulation.contacts
    reported = np.arange(found.gap.shape[1]) < found.number[:, None]
    struck = np.max(np.where(reported, np.abs(found.impulse).sum(-1), 0), 1) > 1e-3
    apart = np.min(np.where(reported, found.gap, np.inf), 1) > 0  # what overlaps is moved
    assert np.sum(struck & apart) > 20
    for k in np.flatnonzero(struck & apart):
        before, after = (engine.momentum(model, *state) for state in ((q[k], v[k]), (simulation.q[k], simulation.v[k])))
        np.testing.assert_allclose(
            after, before, rtol=0, atol=(1e-8 if integrator == "rk4" else 1e-12) * np.abs(before).max()
        )


def test_what_is_moved_out_of_an_overlap_goes_on_as_it_went(tmp_path, rng):
    """The turn by which it gets out turns no velocity."""
    model = free(tmp_path, ROD, ROD, masses=(1.0, 20.0)).with_gravity((0, 0, 0))
    batch = 200
    q, v = loose(model, rng, batch, 0.05), rng.standard_normal((batch, model.nv))
    simulation = simulated(model, SELF, q, v=v, batch=batch, dt=1e-9)
    simulation.step()
    assert np.sum(simulation.contacts.gap[:, 0] < -0.01) > batch / 4
    for k in range(batch):
        before, after = (engine.momentum(model, *state) for state in ((q[k], v[k]), (simulation.q[k], simulation.v[k])))
        np.testing.assert_allclose(after[3:], before[3:], rtol=0, atol=1e-11)


def chain(folder, shapes: str = BALL, count: int = 5, joints: str = "revolute") -> engine.Model:
    """Links a … at 0.25 m from one another along x, each on a hinge about z."""
    parts = []
    for k, name in enumerate(NAMES[:count]):
        limit = '<limit effort="1e10" velocity="1e10" lower="-3" upper="3"/>'
        ends = f'<parent link="{"world" if k == 0 else NAMES[k - 1]}"/><child link="{name}"/>'
        parts += [link(name, shapes), f'<joint name="{name}" type="{joints}">{ends}<origin xyz="0.25 0 0"/>'
                  f'<axis xyz="0 0 1"/>{limit if joints == "revolute" else ""}</joint>']  # fmt: skip
    return bodies(folder, *parts)


def named_pairs(model: engine.Model, scene: engine.Scene) -> set[str]:
    """The pairs of links that may touch, by their names."""
    from engine.kernels.collision.touching_pairs import touching_pairs

    found, _ = touching_pairs(model, scene)
    names = [model.link_names[k] if k >= 0 else f"obstacle{-2 - k}" for k in found.link]
    return {"".join(sorted((names[i], names[j]))) for i, j in zip(found.one, found.other, strict=True)}


def test_neighbours_do_not_touch_and_others_do(tmp_path):
    assert named_pairs(chain(tmp_path, count=4), SELF) == {"ac", "ad", "bd"}
    assert named_pairs(chain(tmp_path, count=4), engine.Scene()) == set()


def test_what_touches_in_the_neutral_pose_does_not_later(tmp_path):
    """Balls of 0.26 m radius at 0.25 m: the second next overlaps, the third next does not."""
    assert named_pairs(chain(tmp_path, '<sphere radius="0.26"/>', 5), SELF) == {"ad", "ae", "be"}


def test_neighbours_through_fixed_joints_do_not_touch(tmp_path):
    parts = [link(name, '<sphere radius="0.01"/>') for name in "abcd"]
    joints = [
        joint("a", "continuous", "world", "0.1 0 0"), joint("b", "fixed", "a", "0.1 0 0"),
        joint("c", "continuous", "b", "0.1 0 0"), joint("d", "fixed", "world", "0 1 0"),
    ]  # fmt: skip
    assert named_pairs(bodies(tmp_path, *parts, *joints), SELF) == {"cd"}


def test_the_links_of_one_planar_joint_are_neighbours(tmp_path):
    parts = [link("a", BALL), link("b", BALL), link("c", BALL), joint("a", "fixed", "world", "0 0 0")]
    planar = joint("b", "planar", "a", "1 0 0"), joint("c", "planar", "b", "1 0 0")
    assert named_pairs(bodies(tmp_path, *parts, *planar), SELF) == {"ac"}


def test_free_bodies_are_nobodys_neighbours(tmp_path):
    """Neither of the world, nor for where the file happens to have them."""
    parts = [link("a", BALL), link("b", BALL), joint("a"), joint("b"), link("c", BALL), joint("c", "fixed")]
    assert named_pairs(bodies(tmp_path, *parts), SELF) == {"ab", "ac", "bc"}


def test_an_srdf_says_which_links_never_touch(tmp_path):
    model = chain(tmp_path, count=4)
    (tmp_path / "r.srdf").write_text('<robot name="r"><disable_collisions link1="d" link2="a"/></robot>')
    assert named_pairs(engine.load(model.source, srdf=tmp_path / "r.srdf"), SELF) == {"ac", "bd"}


def test_shapes_that_cannot_move_are_no_pairs(tmp_path):
    """Nor are bodies connected by joints: here c is the neighbour of a and b, which are fixed to the world."""
    parts = [link(name, BALL) for name in "abcd"]
    joints = [joint("a", "fixed"), joint("b", "fixed", xyz="9 0 0")]
    model = bodies(
        tmp_path, *parts, *joints, joint("c", "continuous", "b", "9 0 0"), joint("d", "continuous", "c", "9 0 0")
    )
    scene = dataclasses.replace(SELF, obstacles=[engine.Obstacle("sphere", (0.1,))])
    assert named_pairs(model, scene) == {"ad", "bd", "cobstacle0", "dobstacle0"}


def test_folded_arms_are_stopped_by_themselves(tmp_path):
    """An arm whose last ball swings back onto its first."""
    model = chain(tmp_path, count=4).with_gravity((0, 0, 0))
    simulation = simulated(model, SELF, model.neutral(), dt=1e-3)
    simulation.tau[0] = [0.0, 0.5, 0.5, 0.5]
    least = np.inf
    for _ in range(300):
        simulation.step(10)
        assert simulation.contacts.worst[0] <= 1e-8
        p = engine.link_poses(model, simulation.q[0])[1:, :3, 3]
        least = min(least, *(float(np.linalg.norm(p[i] - p[j])) for i, j in ((0, 2), (0, 3), (1, 3))))
    assert least == pytest.approx(0.2, abs=1e-4)
    assert simulation.contacts.number[0] > 0


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("stack", {"seconds": 1.0}), ("pinch", {"seconds": 1.0}), ("wedge", {"seconds": 0.5}),
        ("corners", {"seconds": 0.1}), ("pushed", {"seconds": 1.0}), ("strikes", {"batch": 300}),
    ],
)  # fmt: skip
def test_bodies_that_touch_each_other_meet_what_is_asked_of_them(name, options):
    """The bench's cases, shorter: what stands, what holds, what jams, what is pushed, and what strikes."""
    found = getattr(contact_bodies, name)(**options)
    for figure, must in MUSTS[name].items():
        value = found[figure.replace("60", f"{options.get('seconds', 60):g}") if name == "stack" else figure]
        assert must.met(value) in ("aim", "must"), (figure, value)
    assert found.get("share ≤ 1e-8, %", 100) > 99.9


@pytest.mark.parametrize(
    ("axis", "place", "kind", "expected"),
    [
        ("0 0 1", "0 0 0.2", "prismatic", -0.1),  # it comes down upright, and nothing moves it along the ground
        ("1 0 0", "0 0 0.05", "prismatic", 0.04),  # it cannot leave the ground that it is in, and slides along it
        ("0 0 1", "0 0 0.0995", "continuous", 0.04),
        ("0 4e-6 1", "0 0 0.05", "continuous", 0.04),  # nor does a rounded axis throw it out
        ("0 1 0", "0 0 0.0995", "continuous", 0.04),  # a wheel on an axle that stands still
    ],
)
@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_what_cannot_move_along_a_normal_or_a_surface_touches_all_the_same(
    tmp_path, axis, place, kind, expected, integrator
):
    parts = [link("a"), joint("a", kind, xyz=place, axis=axis), link("b", BALL), joint("b", "fixed", "a")]
    model = bodies(tmp_path, *parts)
    speed = 0.0 if expected < 0 else 0.1
    simulation = simulated(model, engine.Scene(), [0.0], v=[speed], dt=1e-3, integrator=integrator)
    simulation.step(400)
    assert simulation.q[0, 0] == pytest.approx(expected, abs=1e-7)
    assert simulation.contacts.number[0] == (1 if expected < 0 else 0)
    assert simulation.contacts.worst[0] <= 1e-9


def test_a_mesh_that_its_scale_makes_flat_is_told_with_its_file_and_its_link(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "box.stl")
    shape = f'<mesh filename="{tmp_path / "box.stl"}" scale="1 1 1e-30"/>'
    with pytest.raises(ValueError, match=r"the collision mesh .*box\.stl of link '\w+' is flat at its size there"):
        simulated(model := free(tmp_path, shape, BALL), SELF, model.neutral())
    scene = engine.Scene(obstacles=[engine.Obstacle("mesh", (1, 1, 1e-30), mesh=tmp_path / "box.stl")])
    with pytest.raises(ValueError, match=r"the collision mesh .*box\.stl of an obstacle is flat at its size there"):
        simulated(model := free(tmp_path, BALL), scene, model.neutral())


def test_too_many_contacts_are_refused_before_anything_moves(tmp_path):
    parts = [part for k in range(60) for part in (link(f"l{k}", ROD), joint(f"l{k}"))]
    model = bodies(tmp_path, *parts)
    with pytest.raises(ValueError, match=r"may have \d+ contacts at a time, \d+ of them in \d+ pairs of shapes"):
        engine.Simulation(model, scene=engine.Scene(self_collision=True), device="cpu")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("cone", (1,)), "the obstacle's shape is 'cone'; expected one of box, cylinder, capsule, sphere, mesh"),
        (("box", (1, 2)), "the size of the obstacle, a box, is (1, 2); expected three edges, positive and in m"),
        (("box", 1), "the size of the obstacle, a box, is 1; expected three edges"),
        (("sphere", (0,)), "the size of the obstacle, a sphere, is (0,); expected a radius"),
        (("sphere", "wide"), "the size of the obstacle, a sphere, is 'wide'; expected a radius"),
        (("capsule", (1, np.nan)), "the size of the obstacle, a capsule, is (1, nan); expected radius and length"),
        (("sphere", 1, (0, 0)), "the pose of the obstacle, a sphere, is (0, 0); expected a position"),
        (("sphere", 1, 2 * np.eye(4)), "a (4, 4) matrix of a rotation and a position"),
        (("sphere", 1, np.diag([1, 1, -1, 1])), "a (4, 4) matrix of a rotation and a position"),
        (("sphere", 1, (0, 0, np.inf)), "the pose of the obstacle, a sphere, is (0, 0, inf)"),
        (("mesh",), "the obstacle is a mesh and its mesh None; give mesh='FILE'"),
        (("sphere", 1, (0, 0, 0), "a.stl"), "only an obstacle 'mesh' has a file"),
        (("mesh", (), (0, 0, 0), "none.stl"), "the collision mesh none.stl cannot be read"),
    ],
)
def test_an_obstacle_that_is_none_is_refused_in_one_sentence(given, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        engine.Obstacle(*given)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"obstacles": 3}, "the scene's obstacles are 3; expected a list of engine.Obstacle"),
        ({"obstacles": ["box"]}, "obstacle 0 of the scene is a str; expected an engine.Obstacle"),
        ({"self_collision": "yes"}, "the scene's self_collision is 'yes'; expected True or False"),
    ],
)
def test_a_scene_that_is_none_is_refused_in_one_sentence(options, sentence):
    with pytest.raises(TypeError, match=re.escape(sentence)):
        engine.Scene(**options)


def test_an_obstacle_never_changes():
    pose = np.eye(4)
    obstacle = engine.Obstacle("sphere", 0.5, pose)
    pose[0, 3] = 9.0
    assert (obstacle.size, obstacle.pose[0, 3]) == ((0.5,), 0.0)
    with pytest.raises(ValueError, match="read-only"):
        obstacle.pose[0, 3] = 1.0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--srdf", "r.srdf"], "--srdf says which links never touch each other; add --self-collision"),
        (["--self-collision", "--srdf", "none.srdf"], "none.srdf: cannot be read"),
        (["--self-collision", "--no-ground", "--slope", "3"], "--slope is the ground's"),
    ],
)
def test_the_shell_refuses_in_one_sentence(tmp_path, capsys, words, sentence):
    path = chain(tmp_path, count=3).source
    assert cli.main(["run", path, "--seconds", "0.01", *words]) != 0
    assert sentence in capsys.readouterr().err


def test_the_shell_lets_links_touch_each_other(tmp_path, capsys):
    """An arm that folds onto itself, and one whose SRDF says that it never does."""
    model = chain(tmp_path, count=4)
    (tmp_path / "r.srdf").write_text(
        '<robot name="r"><disable_default_collisions link="a"/><disable_default_collisions link="b"/></robot>'
    )
    np.save(tmp_path / "fold.npy", [0.0, 0.5, 0.5, 0.5])
    call = ["run", model.source, "--seconds", "2", "--gravity", "0", "0", "0", "--controls", str(tmp_path / "fold.npy")]
    least = {}
    for words in ((), ("--self-collision",), ("--self-collision", "--srdf", str(tmp_path / "r.srdf"))):
        out = tmp_path / "out.npz"
        assert cli.main([*call, *words, "--out", str(out)]) == 0
        poses = [engine.link_poses(model, q)[1:, :3, 3] for q in np.load(out)["q"].reshape(-1, model.nq)]
        least[words] = min(float(np.linalg.norm(p[i] - p[j])) for p in poses for i, j in ((0, 2), (0, 3), (1, 3)))
    capsys.readouterr()
    free, touching, disabled = least.values()
    assert touching == pytest.approx(0.2, abs=1e-3)
    assert free == disabled < 0.19


def test_the_shell_says_what_a_robot_without_shapes_needs(capsys):
    assert cli.main(["run", "pendulum", "--self-collision", "--seconds", "0.01"]) == 2
    assert "has no collision shapes that could touch each other; give its links <collision>" in capsys.readouterr().err


def test_a_mesh_stands_in_the_way_by_its_hull(tmp_path):
    """A table of 0.4 m, as a file; a ball and a box come to rest on it."""
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-0.2, 0.2)]
    faces = "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
    (tmp_path / "table.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in corners) + faces)
    table = engine.Obstacle("mesh", (0.5, 0.5, 1.0), (0, 0, 0.2), str(tmp_path / "table.obj"))
    model = free(tmp_path, BALL, '<box size="0.2 0.2 0.2"/>')
    simulation = simulated(model, engine.Scene(obstacles=[table]), at(model, (0.3, 0, 0.51), (-0.3, 0, 0.52)))
    simulation.step(500)
    np.testing.assert_allclose(simulation.q[0, [2, 9]], 0.5, atol=1e-7)
    assert {other for _, other in partners(simulation)} == {-2}
    assert simulation.contacts.worst[0] <= 1e-9
