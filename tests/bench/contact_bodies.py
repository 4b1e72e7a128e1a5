"""The suite `contact`, bodies that touch each other and obstacles, on the CPU, in double precision."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from engine import lie
from engine.dynamics import link_poses
from engine.model import Model
from engine.scene import Obstacle, Scene
from engine.simulation import Simulation
from engine.urdf.load import load
from engine.validation import Array
from tests.bench.contact_cases import HELD, INERTIA, G, simulated, stepped, touching

BOX = '<box size="0.2 0.2 0.2"/>'
RATIOS = (1, 10, 100, 1000)
"""The ratios of the upper box's mass to the lower one's."""
MARGIN = 20.0
"""The surplus factor of the pinch's holding force."""
WEDGE = np.radians(10)
"""Half of the wedge's angle."""
_SETTLE = 1.0


def link(name: str, *shapes: str, mass: float = 2.0, inertia: float = INERTIA) -> str:
    """A link of a URDF that touches by shapes, each a <geometry>'s content, or that and its place after an "@"."""
    moments = f'ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"'
    placed = [(*shape.split("@"), "0 0 0")[:2] for shape in shapes]
    collisions = "".join(
        f'<collision><origin xyz="{xyz}"/><geometry>{shape}</geometry></collision>' for shape, xyz in placed
    )
    return f'<link name="{name}"><inertial><mass value="{mass}"/><inertia {moments}/></inertial>{collisions}</link>'


def joint(child: str, kind: str = "floating", parent: str = "world", xyz: str = "0 0 0", axis: str = "1 0 0") -> str:
    """The joint of a URDF that carries a link, and has its name."""
    limit = '<limit effort="1e10" velocity="1e10"/>' if kind == "prismatic" else ""
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
    return f'<joint name="{child}" type="{kind}">{ends}{limit}</joint>'


def urdf(*parts: str) -> str:
    """A robot of links and joints that hang from a link `world`."""
    return f'<robot name="bodies"><link name="world"/>{"".join(parts)}</robot>'


def _loaded(*parts: str) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        return _loaded_in(folder, *parts)


def _loaded_in(folder: str, *parts: str) -> Model:
    """The robot of a file in a folder, whose meshes lie beside it."""
    path = Path(folder) / "bodies.urdf"
    path.write_text(urdf(*parts), "utf-8")
    return load(path)


def _placed(model: Model, **places: tuple[float, float, float]) -> Array:
    """(nq,): free bodies at these places."""
    q = model.neutral()
    for name, place in places.items():
        q[model.q_slice(name)][:3] = place
    return q


def _held(simulation: Simulation, links: slice, seconds: float) -> tuple[float, list[float]]:
    """Return the displacement of links in that time, in m, after settling, and the residuals of the steps."""
    simulation.step(round(_SETTLE / simulation.dt))
    start, far, left = link_poses(simulation.model, simulation.q[0])[links, :3, 3], 0.0, list[float]()
    for _ in range(round(seconds / simulation.dt / 100)):
        simulation.step(100)
        left.append(float(touching(simulation).worst[0]))
        far = max(far, float(np.abs(link_poses(simulation.model, simulation.q[0])[links, :3, 3] - start).max()))
    return far, left


def stack(seconds: float = HELD, ratios: tuple[float, ...] = RATIOS) -> dict[str, Any]:
    """Simulate a box on a box on the ground, by mass ratio; return their displacements, and the worst residual."""
    drift, worst = 0.0, 0.0
    for ratio in ratios:
        parts = link("a", BOX), joint("a"), link("b", BOX, mass=2.0 * ratio, inertia=INERTIA * ratio), joint("b")
        model = _loaded(*parts)
        q = _placed(model, a=(0, 0, 0.1), b=(0.01, 0.02, 0.3))
        far, left = _held(simulated(model, Scene(self_collision=True), q), slice(1, 3), seconds)
        drift, worst = max(drift, far), max(worst, *left)
    return {f"drift in {seconds:g} s, m": drift, "worst": worst}


def pinch(seconds: float = HELD, mu: float = 0.5) -> dict[str, Any]:
    """An upright capsule between a wall and a pad that presses with 20 times what it takes: how fast it creeps."""
    mass, pad = 0.1, '<box size="0.02 0.1 0.1"/>'
    parts = [
        link("wall", pad), joint("wall", "fixed", xyz="-0.03 0 0"), link("pad", pad), joint("pad", "prismatic"),
        link("held", '<capsule radius="0.02" length="0.06"/>', mass=mass, inertia=1e-4), joint("held"),
    ]  # fmt: skip
    model = _loaded(*parts)
    q = _placed(model, held=(0, 0, 0))
    q[model.q_slice("pad")] = 0.03
    simulation = simulated(model, Scene(ground=None, self_collision=True, friction=mu), q)
    simulation.tau[:, model.v_slice("pad")] = -MARGIN * mass * G / (2 * mu)
    held = model.link_names.index("held")
    far, left = _held(simulation, slice(held, held + 1), seconds)
    return {"creep, m/s": far / seconds, "worst": max(left)}


def wedge(seconds: float = 2.0, mu: float = 0.8) -> dict[str, Any]:
    """A wedge of 20° that falls between two walls and jams there, from eight places: residuals, and what moves last."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "wedge.obj").write_text(_prism(0.02, 0.1), "utf-8")
        model = _loaded_in(folder, link("a", '<mesh filename="wedge.obj"/>'), joint("a"))
        rng = np.random.default_rng(7)
        q = np.tile(_placed(model, a=(0, 0, 0.25)), (8, 1))
        q[:, :2] += rng.uniform(-0.01, 0.01, (8, 2))
        scene = Scene(ground=None, obstacles=(_wall(-1), _wall(1)), friction=mu)
        simulation = simulated(model, scene, q)
        found = stepped(simulation, round(seconds / simulation.dt))
    return found | {"speed at the end, m/s": float(np.abs(simulation.v).max())}


def _prism(edge: float, half: float) -> str:
    """Return the wedge as an OBJ, with a blunted lower edge."""
    widths = edge, edge + 2 * half * np.tan(WEDGE)
    corners = [(s * width, y, z) for width, z in zip(widths, (-half, half), strict=True) for s in (-1, 1)
               for y in (-half, half)]  # fmt: skip
    faces = "f 1 2 4 3\nf 5 7 8 6\nf 1 3 7 5\nf 2 6 8 4\nf 1 5 6 2\nf 3 4 8 7\n"
    return "".join(f"v {x} {y} {z}\n" for x, y, z in corners) + faces


def _wall(side: int) -> Obstacle:
    """Return one side of a groove with the wedge's slope."""
    pose = np.eye(4)
    pose[:3, :3] = lie.rotation_from_rpy([0.0, side * WEDGE, 0.0])
    pose[:3, 3] = pose[:3, :3] @ [side * 0.08, 0, 0]
    return Obstacle("box", (0.1, 0.5, 0.5), pose)


def corners(seconds: float = 1.0) -> dict[str, Any]:
    """Simulate a body on two boxes, eight corners sharing its load, pushed at random over a static box."""
    feet = ('<box size="0.1 0.3 0.02"/>@-0.1 0 -0.1', '<box size="0.1 0.3 0.02"/>@0.1 0 -0.1')
    model, rng = _loaded(link("a", *feet), joint("a")), np.random.default_rng(8)
    floor = Obstacle("box", (4.0, 4.0, 0.2), (0, 0, -0.1))
    q, v = _placed(model, a=(0, 0, 0.11)), rng.standard_normal((50, 6)) * [0.1, 0.1, 1, 0.5, 0.5, 0]
    simulation = simulated(model, Scene(ground=None, obstacles=(floor,)), q, v=v, batch=50)
    return stepped(simulation, round(seconds / simulation.dt))


def pushed(seconds: float = 2.0, mu: float = 0.6, speed: float = 0.1) -> dict[str, Any]:
    """A box on the ground that the smooth ball of a slide pushes: what force that takes, and the box's speed, against
    μ m g and the slide's, in %."""
    parts = [link("box", BOX), joint("box"), link("ball", '<sphere radius="0.05"/>')]
    slide, smooth = joint("ball", "prismatic", xyz="0 0 0.1"), '<gazebo reference="ball"><mu1>0</mu1></gazebo>'
    model = _loaded(*parts, slide, smooth)
    q = _placed(model, box=(0.16, 0.0, 0.1))
    simulation = simulated(
        model, Scene(self_collision=True, friction=mu), q, integrator="implicit", kp=_of(model, 1e5), kd=_of(model, 1e3)
    )  # fmt: skip
    ball = model.v_slice("ball").start
    steps, force, fast = round(seconds / simulation.dt), list[float](), list[float]()
    for step in range(steps):
        simulation.target[:, ball] = speed * step * simulation.dt
        simulation.step()
        if step > steps // 2:
            force.append(-float(simulation.contact_wrench[0, model.link_names.index("ball"), 3]))
            fast.append(float(simulation.v[0, model.v_slice("box")][3]))
    expected = mu * 2.0 * G
    return {
        "force, % off": 100 * float(np.abs(np.array(force) / expected - 1).max()),
        "speed, % off": 100 * float(np.abs(np.array(fast) / speed - 1).max()),
    }


def _of(model: Model, gain: float) -> Array:
    """A gain of the slide `ball` alone."""
    gains = np.zeros(model.nv)
    gains[model.v_slice("ball")] = gain
    return gains


def strikes(batch: int = 10_000) -> dict[str, Any]:
    """Heaps of four bodies without weight, of 1 to 1000 kg, one step each: the kinetic energy that impacts create,
    relative to what there was, and in how many heaps any were struck."""
    shapes = (
        '<sphere radius="0.1"/>',
        '<capsule radius="0.05" length="0.4"/>',
        BOX,
        '<cylinder radius="0.1" length="0.2"/>',
    )
    masses = 1.0, 1000.0, 30.0, 5.0
    parts = [
        part for name, shape, mass in zip("abcd", shapes, masses, strict=True)
        for part in (link(name, shape, mass=mass, inertia=0.0067 * mass), joint(name))
    ]  # fmt: skip
    model, rng, reported = _loaded(*parts).with_gravity((0, 0, 0)), np.random.default_rng(9), dict[str, Any]()
    x = rng.standard_normal((batch, 4, 4))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    q = np.concatenate([rng.uniform(-0.25, 0.25, (batch, 4, 3)), x], -1).reshape(batch, -1)
    v = rng.standard_normal((batch, model.nv))
    for e in (0.5, 1.0):
        scene = Scene(ground=None, self_collision=True, restitution=e)
        simulation = simulated(model, scene, q, v=v, dt=1e-9)
        before = simulation.energy()[0]
        simulation.step()
        found = touching(simulation)
        impulse = np.linalg.norm(found.impulse, axis=-1) * (np.arange(found.gap.shape[1]) < found.number[:, None])
        reported[f"energy gained at e {e:g}"] = float(np.max(simulation.energy()[0] / before - 1))
        reported[f"struck at e {e:g}"] = int(np.any(impulse > 1e-6, 1).sum())
    return reported
