"""Words of sign, frame, order and unit, on pages, in help and in docstrings: each sentence, and a run that shows it."""

import importlib
import inspect
from collections.abc import Callable

import numpy as np
import page_text
import pytest
from behaviour import at, body, loaded, simulated, text_of

import engine
from engine import lie
from engine.model import FREE, SPHERICAL
from engine.model.joints import BODY_JOINTS
from engine.scene import Scene

HALF, MASS, G = np.sqrt(0.5), 1.0, 9.81
ON_ITS_SIDE = (HALF, 0.0, 0.0, HALF)  # a quarter about x: the body's y is up, its z along −y
HINGE = """<robot name="hinge"><link name="base"/><link name="{0}"><inertial><mass value="1"/>
<inertia ixx="0.5" iyy="0.5" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="{1}">
<parent link="base"/><child link="{0}"/><axis xyz="0 0 1"/>{2}</joint></robot>"""
SAYS: list[tuple[str, tuple[str, ...], Callable[[], None]]] = []


def says(place: str, *sentences: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Enter what a page says, or the docstring of engine.…, with a trial of it."""

    def enter(trial: Callable[[], None]) -> Callable[[], None]:
        SAYS.append((place, sentences, trial))
        return trial

    return enter


def text_at(place: str) -> str:
    """A page, the help of "main.py COMMAND", or a docstring."""
    if not place.startswith("engine"):
        return page_text.page_text(place)
    here, names = importlib.import_module("engine"), place.split(".")[1:]
    for name in names:
        here = getattr(here, name)
    return page_text.flat(inspect.getdoc(here) or "")


def near(found: object, expected: object, off: float = 1e-9) -> None:
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=0, atol=off)


def floating(scene=None, gravity=0.0, q=(0, 0, 0), turn=(0, 0, 0, 1), **given) -> engine.Simulation:
    """A box of 1 kg and 0.01 kg m² with edges of 0.2 m, on a free joint."""
    model = body().with_gravity((0, 0, -gravity))
    return engine.Simulation(model, scene=scene, q=[[*q, *turn]], device="cpu", **given)


@says("docs/python.md", "a wrench `F = (n, f)`, both in the body's own frame")
@says("docs/step.md", "An external wrench is given in its link's frame, about its origin")
@says("docs/scheme.md", "wrenches $F = (n, f)$; both belong to a link and are expressed in its own frame")
@says("engine", "twists are (ω, v) and wrenches (n, f) in the body's own frame; SI units; z up")
@says("engine.lie", "a twist is ``V = (ω, v)`` and a wrench is ``F = (n, f)``, angular part first")
@says(
    "engine.Simulation.wrench",
    "(batch, links, 6): wrenches (n, f) from outside on the links, N m and N",
    "Each is given in the link's own frame, about its origin.",
)
def moments_come_first_and_forces_last() -> None:
    """For a box on its side: 3 N m give 300 rad/s², 5 N give 5 m/s², both along its own axes."""
    for place, rate in ((0, 3 / 0.01), (1, 3 / 0.01), (5, 5 / MASS), (3, 5 / MASS)):
        simulation = floating(turn=ON_ITS_SIDE, dt=1e-5)
        simulation.wrench[0, 0, place] = 3 if place < 3 else 5
        simulation.step()
        near(simulation.v[0] / 1e-5, rate * np.eye(6)[place], 1e-3)
        seen = engine.link_twists(simulation.model, [*(0, 0, 0), *ON_ITS_SIDE], simulation.v[0])[0] / 1e-5
        near(
            seen[3 * (place // 3) :][:3],
            lie.rotation_from_quaternion(ON_ITS_SIDE) @ (rate * np.eye(3)[place % 3]),
            1e-3,
        )


@says("docs/robustness.md", "Use `rk4` for long flights.")
def rk4_keeps_the_energy_of_a_flight() -> None:
    """A brick that turns about no principal axis: after a second it has what it had, by each Euler step more."""
    brick = text_of().replace('iyy="0.01" izz="0.01"', 'iyy="0.015" izz="0.02"')
    model, gained = loaded(brick, floating=True).with_gravity((0, 0, 0)), {}
    for integrator in engine.INTEGRATORS:
        simulation = engine.Simulation(model, v=[[4, 5, 6, 0, 0, 0]], dt=1e-3, integrator=integrator, device="cpu")
        before = simulation.energy()[0][0]
        simulation.step(1000)
        gained[integrator] = float(simulation.energy()[0][0] / before) - 1
    near(gained["rk4"], 0)
    assert min(gained[name] for name in engine.INTEGRATORS if name != "rk4") > 1e-3, gained


@says("docs/contact.md", "simulation.contact_wrench # (batch, links, 6), N m and N, in each link's frame",
      "$(n, t_1, t_2)$: the normal, which points to the robot, and two tangents.")  # fmt: skip
@says(
    "engine.Simulation.contact_wrench",
    "the wrenches (n, f) of the last step's contacts, N m and N, each in its link's frame",
)
@says("engine.Contacts", "`impulse` (batch, C, 3) the impulse on the link, N s",
      "`wrench` (batch, C, 6) the impulse about the link's origin in its axes at the start of the step, N m s and N s",
      "`point` (batch, C, 3) the contact point in the world, m",
      "`gap` (batch, C) is the distance at the start of the step, m, negative for an overlap",
      "`normal` (batch, C, 3) points from the other surface to the link",
      "`slip` (batch, C) the tangential speed after the step, m/s")  # fmt: skip
def what_presses_is_told_in_the_links_frame() -> None:
    """For a box on its side, the weight is along its own y; contact points are in the world."""
    simulation = floating(Scene(friction=0.5), G, (1, 0, 0.0999), ON_ITS_SIDE, v=[[0, 0, 0, 2.0, 0, 0]])
    simulation.step()
    found = simulation.contacts.of_robot(0)
    weight = MASS * G
    near(simulation.contact_wrench[0, 0, 3:], [-0.5 * weight, weight, 0], 1e-6)
    R = lie.rotation_from_quaternion(ON_ITS_SIDE)
    force = found.impulse[0].sum(0) / simulation.dt
    near(force, [-0.5 * weight, 0, weight], 1e-6), near(found.normal[0], [[0, 0, 1]] * 4)
    arms = found.point[0] - [1, 0, 0.0999]
    moment = np.cross(arms, found.impulse[0]).sum(0)
    near(np.abs(arms), np.full((4, 3), 0.1), 1e-2), near(found.gap[0], [-1e-4] * 4)
    near(found.wrench[0].sum(0), [*(R.T @ moment), *(R.T @ found.impulse[0].sum(0))], 1e-5)
    near(found.slip[0], [2 - 0.5 * G * 1e-3] * 4, 1e-6)


@says("docs/contact.md", "So what one is given the other gives")
@says("docs/contact.md", "simulation.contacts.link, simulation.contacts.other # −1 the ground, −2 − k obstacle k, else "
      "a link", "Between two links, it points from the `other` to the `link`.")  # fmt: skip
@says("engine.Contacts", "`other` (batch, C) is the other surface: −1 the ground, −2 − k obstacle k of the scene, else "
      "the index of another link of the robot; `other_wrench` (batch, C, 6) is then the impulse on that link, and 0 "
      "on ground and obstacles.", "`link` (batch, C) is the index of the robot's link")  # fmt: skip
def others_have_their_numbers() -> None:
    """A ball lies on the ground, one on an obstacle, the second, and one on another ball."""
    link = '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    link += '</inertial><collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
    joint = '<joint name="j{0}" type="floating"><parent link="base"/><child link="{0}"/></joint>'
    parts = "".join(link.format(name) + joint.format(name) for name in "abc")
    model = loaded(f'<robot name="balls"><link name="base"/>{parts}</robot>')
    boxes = tuple(engine.Obstacle("box", (1, 1, 1), pose=(x, 0, 0)) for x in (9.0, 5.0))
    q = model.neutral()
    for k, place in enumerate(((0, 0, 0.1), (5, 0, 0.6), (0.01, 0, 0.3))):
        q[7 * k : 7 * k + 3] = place
    q[7 * 2 : 7 * 2 + 3] = (0, 0, 0.299)
    simulation = engine.Simulation(model, scene=Scene(obstacles=boxes, self_collision=True), q=q, device="cpu")
    simulation.step()
    found = simulation.contacts.of_robot(0)
    a, b, c = map(model.link_names.index, "abc")
    met = {(int(x), int(y)) for x, y in zip(found.link[0], found.other[0], strict=True)}
    assert met in ({(a, -1), (b, -3), (a, c)}, {(a, -1), (b, -3), (c, a)})
    (pair,) = np.flatnonzero(found.other[0] >= 0)
    up = {a: -1.0, c: 1.0}[int(found.link[0, pair])]
    near(found.normal[0, pair], [0, 0, up], 1e-6)
    near(found.wrench[0, pair, 3:], -found.other_wrench[0, pair, 3:], 1e-9)
    assert np.sign(found.impulse[0, pair, 2]) == up
    near(found.other_wrench[0][found.other[0] < 0], np.zeros((2, 6)))


@says("main.py run", "--slope: the ground's angle, rising towards −x.")
@says("engine.slope", "a plane through the origin that rises towards −x by an angle in rad.")
@says("engine.Plane", "the plane n·x = offset (m), with the unit vector n pointing out of the ground.")
def slopes_rise_towards_less_x() -> None:
    plane = engine.slope(0.3)
    near(plane.offset, 0)
    near(plane.normal @ np.array([-np.cos(0.3), 0, np.sin(0.3)]), 0)
    rolled = simulated(
        Scene(ground=plane, friction=0), body("sphere"), at(body("sphere"), *(0.1 * np.array(plane.normal)))
    )
    assert rolled.v[0, 3] > 0 > rolled.v[0, 5]
    for z, offset in ((0.3, 0.2), (0.4, 0.3)):  # it rests on the plane, above it
        lying = simulated(Scene(ground=engine.Plane((0, 0, 1), offset)), body(), at(body(), 0, 0, z))
        near(lying.q[0, 2], z, 1e-6)


@says("docs/python.md", "In `q` a free joint has its position, relative to the joint's origin in the file, and a unit "
      "quaternion x, y, z, w; in `v` it has the body twist.",
      "Only `engine.link_twists`, `engine.momentum` and `engine.point_mobility` use world axes.")  # fmt: skip
@says("engine.link_twists", "ω (rad/s), and v (m/s) of the origin.", "Both are along the world's axes.")
@says("engine.momentum", "as a wrench (n, f) about the world's origin, (6,): N m s, N s.")
@says(
    "engine.energy",
    "Kinetic and potential energy in J",
    "the potential is zero where all mass lies at the world's origin",
)
@says("engine.link_poses", "The frames of all links in the world, (…, links, 4, 4)")
def twists_momenta_and_energies() -> None:
    model, q = body(), np.array([3.0, 0, 2.0, *ON_ITS_SIDE])
    v = np.array([0, 0, 4.0, 0, 2.0, 0])  # turns about its z, which is −y, and moves along its y, which is up
    near(engine.link_twists(model, q, v)[0], [0, -4, 0, 0, 0, 2])
    near(engine.momentum(model, q, v), [0, -3 * 2 - 4 * 0.01, 0, 0, 0, 2])
    near(engine.energy(model, q, v), (0.5 * 4 + 0.5 * 0.01 * 16, MASS * G * 2))
    near(engine.link_poses(model, q)[0, :3, 3], [3, 0, 2]), near(engine.link_poses(model, q)[0, :3, 1], [0, 0, 1])
    flat = loaded(text_of().replace('iyy="0.01"', 'iyy="0.1"'), floating=True)
    along_y = engine.point_mobility(flat, q, 0, [0.1, 0, 0])[1, 1]
    near(along_y, 1 + 0.1**2 / 0.1)  # a force along its z turns it about its y, one along its y about its z


@says("engine.lie", "a unit quaternion is ``(x, y, z, w)``")
@says(
    "engine.Model",
    "a unit quaternion x, y, z, w per spherical one",
    "and position (3) and unit quaternion (4) per free one",
)
def quaternions_end_with_w() -> None:
    turn = lie.exp(np.array([0.6, 0, 0, 0, 0, 0]))[0]
    near(lie.rotation_from_quaternion([np.sin(0.3), 0, 0, np.cos(0.3)]), turn)
    near(lie.quaternion_from_rotation(turn), [np.sin(0.3), 0, 0, np.cos(0.3)])
    near(body().neutral(), [0, 0, 0, 0, 0, 0, 1]), near(engine.chain(1, spherical=1.0).neutral(), [0, 0, 0, 1])
    assert (BODY_JOINTS[FREE].quaternion, BODY_JOINTS[SPHERICAL].quaternion) == (3, 0)


@says("engine.Simulation", "A joint's effort is ``tau + kp (target − q) − kd v``, clipped to its effort limit.",
      "`dt` is in s", "`time` is in s.")  # fmt: skip
@says("engine.Simulation.tau", "the generalized forces, N m or N.")
@says("engine.Simulation.target", "the setpoints of the gains kp, rad or m")
@says("engine.Parameters", "mass (batch, n) kg", "gravity (batch, 3) m/s²", "viscous, N m s/rad or N s/m",
      "Coulomb, N m or N", "rotational inertia about the body's origin, kg m²")  # fmt: skip
@says("docs/step.md", "A drive gives $\\tau + k_p (q^\\ast - q) - k_d v$, clipped to its effort limit; damping is "
      "subtracted.")  # fmt: skip
def efforts_in_si_units() -> None:
    """On a hinge of 0.5 kg m² and a slide of 1 kg: a step of a millisecond under each effort."""
    for kind, inertia in (("revolute", 0.5), ("prismatic", 1.0)):
        limit = '<dynamics damping="0.7" friction="0.2"/><limit lower="-9" upper="9" effort="6" velocity="99"/>'
        model = loaded(HINGE.format("moves", kind, limit)).with_gravity((0, 0, 0))
        for tau, kp, target, kd, effort in ((3, 0, 0, 0, 3), (0, 20, 0.1, 0, 2), (0, 0, 0, 0.5, -0.5), (9, 0, 0, 0, 6)):
            simulation = engine.Simulation(model, q=[0.0], v=[1.0], kp=kp, kd=kd, device="cpu", dt=1e-3)
            simulation.tau[:], simulation.target[:] = tau, target
            near(simulation.effort, [[effort]])
            simulation.step()
            near((simulation.v[0, 0] - 1) / 1e-3, (effort - 0.7 - 0.2) / inertia)
            near([simulation.time, simulation.q[0, 0]], [1e-3, 1e-3 * simulation.v[0, 0]])
    changed = engine.Parameters(body(), 1)
    near([changed.mass[0, 0], changed.gravity[0, 2], changed.inertia[0, 0, 0, 0]], [1, -9.81, 0.01])


@says("engine.HeightField", "rows run along y, columns along x.",
      "`heights[i, j]` is at `origin` + (j, i, 0) · `cell`, all in m.")  # fmt: skip
@says("main.py run", "--terrain: ground of heights in m, rows along y, columns along x.")
@says("engine.Obstacle", "a box's edge lengths, a cylinder's and a capsule's radius and length along z (without "
      "the capsule's ends), a sphere's radius", "or (3,) the position of its centre")  # fmt: skip
@says(
    "docs/contact.md",
    'box = engine.Obstacle("box", (1.0, 1.0, 0.4), pose=(2.0, 0.0, 0.2)) # a position, or a (4, 4) matrix',
)
def places_of_heights_and_obstacles() -> None:
    """A ball of 0.1 m lies still where the ground, or an obstacle, has its top."""
    heights = np.zeros((4, 6))
    heights[0:2, 3:5] = 0.5
    field = engine.HeightField(heights, 2.0, origin=(10.0, 20.0, 0.0))
    boxes = {
        "box": ((2, 2, 0.4), 0.2),
        "cylinder": ((1, 0.4), 0.2),
        "capsule": ((0.3, 0.4), 0.5),
        "sphere": ((0.3,), 0.3),
    }
    ball = body("sphere")
    cases = [(Scene(ground=field), (17.0, 21.0, 0.6))]
    for kind, (size, top) in boxes.items():
        cases.append((Scene(ground=None, obstacles=(engine.Obstacle(kind, size, pose=(2, 0, 1)),)), (2, 0, 1.1 + top)))
    for scene, place in cases:
        lying = simulated(scene, ball, at(ball, *place), 0.02)
        near(lying.q[0, :3], place, 1e-6), near(lying.v[0], np.zeros(6), 1e-6)
    near(engine.Obstacle("box", (1, 1, 1), pose=cases[-1][0].obstacles[0].pose).pose[:3, 3], (2, 0, 1))


@says("docs/python.md", "SI units; z up;", "joints in depth-first URDF order")
@says("main.py run", "--gravity: m/s² (default 0 0 -9.81).", "--terrain: ground of heights in m")
def up_is_z() -> None:
    fell = floating(gravity=G, dt=1e-3)
    fell.step()
    near(fell.v[0], [0, 0, 0, 0, 0, -G * 1e-3]), near(loaded(text_of(), floating=True).gravity, [0, 0, -G])


@pytest.mark.parametrize(("place", "sentence"), [(place, each) for place, many, _ in SAYS for each in many])
def test_a_page_contains_its_required_sentence(place: str, sentence: str) -> None:
    assert page_text.flat(sentence) in text_at(place)


@pytest.mark.parametrize("trial", dict.fromkeys(each[2] for each in SAYS), ids=lambda trial: trial.__name__)
def test_and_the_program_does_so(trial: Callable[[], None]) -> None:
    trial()
