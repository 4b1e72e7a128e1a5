"""Obstacles, and links that touch each other, by the GPU's kernels against the CPU's: on a GPU, and for the host."""

import dataclasses

import numpy as np
import pytest
from beside_cpu import BODY, SHAPES, alike, apart, beside, contacts_of, cuda, give, robot, run, tumbled  # noqa: F401 - a fixture
from cuda_on_host import compiled_for_host, cuda_on_host  # noqa: F401 - fixtures
from mimics import mimics
from touching_bodies import NAMES, at, bodies, free, loose

import engine
from engine.device_arrays import to_host
from tests.bench.contact_bodies import joint, link

BALL, ROD, BOX = '<sphere radius="0.1"/>', '<capsule radius="0.05" length="0.4"/>', '<box size="0.2 0.3 0.1"/>'
BALLS = '<collision><geometry><sphere radius="0.09"/></geometry></collision>'
CAN = '<cylinder radius="0.1" length="0.2"/>'
SELF = engine.Scene(ground=None, self_collision=True)
WIDE = pytest.mark.slow_on_host
TOPS = {"sphere": 0.3, "capsule": 0.35, "box": 0.2, "cylinder": 0.15, "mesh": 0.25}


@pytest.fixture
def prism(tmp_path):
    """A mesh of six corners, as a link's shape has it: a tent on a rectangle of 0.4 by 0.3 m, 0.25 m high."""
    corners = [(x, y, 0) for x in (-0.2, 0.2) for y in (-0.15, 0.15)] + [(-0.1, 0, 0.25), (0.1, 0, 0.25)]
    faces = "f 1 2 4 3\nf 1 3 6 5\nf 2 5 6 4\nf 1 5 2\nf 3 4 6\n"
    path = tmp_path / "prism.obj"
    path.write_text("".join(f"v {x} {y} {z}\n" for x, y, z in corners) + faces)
    return str(path)


def obstacle(kind: str, prism: str) -> engine.Obstacle:
    """One that stands on the ground, or lies there to half its height."""
    sizes = {"sphere": (0.3,), "capsule": (0.2, 0.3), "box": (0.4, 0.4, 0.4), "cylinder": (0.3, 0.3), "mesh": ()}
    return engine.Obstacle(kind, sizes[kind], mesh=prism if kind == "mesh" else None)


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        (shape, kind) if (shape, kind) == ("dumbbell", "mesh") else pytest.param(shape, kind, marks=WIDE)
        for shape in SHAPES
        for kind in TOPS
    ],
)  # for the host one, since test_any_two_shapes_touch_in_the_places_of_the_cpu has all pairs
def test_bodies_fall_on_an_obstacle_as_on_the_cpu(shape, kind, prism, tmp_path, rng):
    (tmp_path / "body.urdf").write_text(BODY.format(SHAPES[shape]))
    model = engine.load(tmp_path / "body.urdf", floating=True)
    pair = beside(model, 3, scene=engine.Scene(obstacles=[obstacle(kind, prism)]))
    q, v = tumbled(model, 3, rng, TOPS[kind] + 5e-3)
    q[:, :2] = rng.uniform(-0.02, 0.02, (3, 2))
    give(pair, q=q, v=0.3 * v)
    run(*pair, 300)
    assert -2 in pair[0].contacts.other or kind in ("sphere", "capsule", "mesh")  # what has rolled off them


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("near", [0.02, pytest.param(0.1, marks=WIDE)])
def test_any_two_shapes_touch_in_the_places_of_the_cpu(near, prism, tmp_path, rng):
    """All kinds with each other, at random poses: deep in each other, and beside each other."""
    hull = f'<mesh filename="{prism}"/>'
    model = free(tmp_path, BALL, ROD, BOX, CAN, hull, BOX, CAN, hull)  # the fourth and the seventh link are cylinders
    batch = 6
    cpu, ours = beside(model, batch, scene=SELF, dt=1e-9)
    give((cpu, ours), q=loose(model, rng, batch, near))
    cpu.step()
    ours.step()
    found = []
    for k in range(batch):
        mine, theirs = contacts_of(ours, k), contacts_of(cpu, k)
        assert len(mine["link"]) == len(theirs["link"])
        for name in ("link", "other"):
            np.testing.assert_array_equal(mine[name], theirs[name])
        for name, within in (("point", 1e-4), ("normal", 1e-5)):  # round surfaces are better known by the gap
            np.testing.assert_allclose(mine[name], theirs[name], atol=within)
        cans = np.isin(mine["link"], (4, 7)) | np.isin(mine["other"], (4, 7))
        assert np.all(np.abs(mine["gap"] - theirs["gap"]) < np.where(cans, 1e-6, 1e-9))
        found += list(zip(mine["link"].tolist(), mine["other"].tolist(), strict=True))
    assert len(set(found)) == 28 or near > 0.05


@WIDE
@pytest.mark.usefixtures("cuda")
def test_a_heap_of_bodies_moves_as_on_the_cpu(tmp_path, rng):
    model = free(tmp_path, BALL, ROD, BOX, CAN)
    scene = engine.Scene(self_collision=True, obstacles=[engine.Obstacle("capsule", (0.1, 1.0))], restitution=0.3)
    pair = beside(model, 3, scene=scene)
    q = np.tile(at(model, (0, 0, 0.75), (0.1, 0, 0.95), (0, 0.1, 1.2), (0.1, 0, 1.5)), (3, 1))
    q[:, [model.q_slice(name).start for name in NAMES[:4]]] += rng.uniform(-0.02, 0.02, (3, 4))
    give(pair, q=q)
    run(*pair, 300)


@pytest.mark.usefixtures("cuda")
def test_folded_arms_are_stopped_by_themselves_as_on_the_cpu(tmp_path):
    """An arm on a pedestal, a ball at each link, whose last ball swings back onto the others and the pedestal."""
    parts = [link("a", BOX), joint("a", "fixed")]
    for name, before in zip("bcde", "abcd", strict=True):
        parts += [link(name, BALL), joint(name, "continuous", before, "0 0 0.25", "1 0 0")]
    model = bodies(tmp_path, *parts).with_gravity((0, 0, 0))
    cpu, ours = beside(model, 2, scene=SELF)
    give((cpu, ours), tau=[[0.0, 5.0, 5.0, 5.0], [5.0, 6.0, 7.0, 8.0]])
    own = 0
    for _ in range(60):
        give((ours,), q=cpu.q, v=cpu.v)
        cpu.step(10)
        ours.step(10)
        alike(cpu, ours, 1e-5)
        for k in range(2):
            mine, theirs = contacts_of(ours, k), contacts_of(cpu, k)
            own += len(mine["link"])
            for name in ("impulse", "wrench", "other_wrench"):
                np.testing.assert_allclose(mine[name], theirs[name], atol=1e-6)
        np.testing.assert_allclose(to_host(ours.contact_wrench), cpu.contact_wrench, atol=2e-3)
    assert own > 10


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("integrator", [pytest.param("rk4", marks=WIDE), "semi-implicit"])
def test_joints_that_mimic_others_touch_each_other_as_on_the_cpu(integrator, tmp_path, rng):
    """On rough ground, and some links without friction."""
    model = mimics(tmp_path, 154, floating=True, shape=BALLS)
    slick = [
        dataclasses.replace(shape, friction=0.0 if k % 3 == 0 else None) for k, shape in enumerate(model.collisions)
    ]
    model = dataclasses.replace(model, collisions=tuple(slick))
    heights = 0.02 * rng.standard_normal((40, 40))
    scene = engine.Scene(
        engine.HeightField(heights, 0.2), obstacles=[engine.Obstacle("box", (0.3, 0.3, 0.3))], self_collision=True
    )
    pair = beside(model, 3, algorithm="jsiia", integrator=integrator, dt=5e-4, scene=scene)
    q, v = tumbled(model, 3, rng, 0.02)
    give(pair, q=q, v=0.5 * v)
    run(*pair, 200, 1e-6)
    assert pair[0].contacts.other.max() > 0


@pytest.mark.usefixtures("cuda")
def test_a_robot_that_touches_itself_falls_as_on_the_cpu(rng):
    model = robot("quadruped")
    pair = beside(model, 3, scene=engine.Scene(self_collision=True), integrator="implicit")
    q, v = tumbled(model, 3, rng)
    give(pair, q=q, v=v)
    run(*pair, 160)


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("dtype", [pytest.param("float64", marks=WIDE), "float32"])
def test_bodies_that_touch_each_other_move_alike_in_any_place_and_from_a_checkpoint(dtype, tmp_path, rng):
    model = free(tmp_path, BALL, ROD, BOX)
    scene = engine.Scene(self_collision=True, obstacles=[engine.Obstacle("box", (0.1, 0.1, 1.0))])
    q = np.tile(at(model, (0, 0, 0.62), (0.05, 0, 0.8), (0, 0.05, 1.1)), (4, 1))
    q[:, [0, 7, 14]] += rng.uniform(-0.02, 0.02, (4, 3))
    _, together = beside(model, 4, dtype, scene=scene)
    _, alone = beside(model, 1, dtype, scene=scene)
    give((together,), q=q)
    give((alone,), q=q[2:3])
    together.step(100)
    kept = together.checkpoint()
    together.step(60)
    alone.step(160)
    for name in ("q", "v"):
        mine, all_ = (to_host(getattr(x, name)) for x in (alone, together))
        np.testing.assert_array_equal(mine[0], all_[2])
    for name in ("other", "impulse"):
        np.testing.assert_array_equal(contacts_of(alone, 0)[name], contacts_of(together, 2)[name])
    end = to_host(together.q).copy()
    together.restore(kept)
    together.step(60)
    np.testing.assert_array_equal(to_host(together.q), end)
    assert int(together.contacts.number.sum()) > 4


@pytest.mark.usefixtures("cuda")
def test_single_precision_finds_the_contacts_of_double_precision(tmp_path, rng):
    """Step by step from the CPU's states."""
    model = free(tmp_path, BALL, BOX, CAN)
    scene = engine.Scene(self_collision=True, obstacles=[engine.Obstacle("box", (1.0, 1.0, 0.2))])
    cpu, ours = beside(model, 3, "float32", scene=scene)
    q = np.tile(at(model, (0, 0, 0.21), (0, 0, 0.4), (0.02, 0, 0.6)), (3, 1))
    q[:, [0, 7, 14]] += rng.uniform(-0.02, 0.02, (3, 3))
    give((cpu, ours), q=q)
    worst, contacts = [], 0
    for _ in range(200):
        give((cpu, ours), q=np.float32(cpu.q), v=np.float32(cpu.v))
        cpu.step()
        ours.step()
        worst.append(apart(ours.v, cpu.v))
        contacts += int(cpu.contacts.number.sum())
    assert contacts > 300
    assert np.mean(np.array(worst) <= 2e-3) > 0.95
    assert float(np.max(to_host(ours.contacts.residual))) <= 1e-3
