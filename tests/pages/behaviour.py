"""The program's behaviour in small trials: signs, directions and conventions that pages state in words."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import engine
from engine.scene import Scene, points

BODY = """<robot name="body"><link name="body"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry>{}</geometry></collision>{}</link></robot>"""
SHAPES = {
    "box": '<box size="{} {} {}"/>',
    "sphere": '<sphere radius="{}"/>',
    "cylinder": '<cylinder radius="{}" length="{}"/>',
    "capsule": '<capsule radius="{}" length="{}"/>',
}
SIZES = {"box": (0.2, 0.2, 0.2), "sphere": (0.1,), "cylinder": (0.1, 0.2), "capsule": (0.1, 0.2)}


def text_of(kind: str = "box", extra: str = "") -> str:
    """A URDF of one body of that shape."""
    return BODY.format(SHAPES[kind].format(*SIZES[kind]), extra)


@cache
def body(kind: str = "box", extra: str = "") -> engine.Model:
    """Return that body on a free joint."""
    return loaded(text_of(kind, extra), floating=True)


def loaded(text: str, floating: bool = False) -> engine.Model:
    """The model of a URDF's text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(text, "utf-8")
        return engine.load(path, floating=floating)


def at(model: engine.Model, *place: float) -> np.ndarray:
    """Return the pose of an upright body at a place."""
    return np.array([[*place, *model.neutral()[3:]]])


def simulated(scene: Scene, model: engine.Model, q: np.ndarray, seconds: float = 0.05) -> engine.Simulation:
    """A body after some steps of a millisecond."""
    simulation = engine.Simulation(model, scene=scene, q=q, device="cpu")
    simulation.step(round(seconds / simulation.dt))
    return simulation


def heights_seen(kind: str) -> np.ndarray:
    """The points by which a shape touches level ground, (P, 3)."""
    return points(body(kind), Scene()).position


@cache
def decided() -> str:
    """Return which of two values of friction applies: "smaller" or "greater"."""
    file, scene = 0.2, 0.7
    model = body("box", f'<contact><lateral_friction value="{file}"/></contact>')
    slid = engine.Simulation(
        model, scene=Scene(friction=scene), device="cpu", q=at(model, 0, 0, 0.1), v=[[0, 0, 0, 1.0, 0, 0]]
    )
    slid.step(100)
    lost = (1.0 - slid.v[0, 3]) / (9.81 * 0.1)
    return {file: "smaller", scene: "greater"}[min((file, scene), key=lambda mu: abs(mu - lost))]


@cache
def normal_points() -> tuple[str, str, str]:
    """Return the direction of a ground contact's normal, and that between two links."""
    below = simulated(Scene(), body(), at(body(), 0, 0, 0.1)).contacts.of_robot(0)
    towards = "robot" if below.normal[0, 0] @ (np.array([0, 0, 0.1]) - below.point[0, 0]) > 0 else "ground"
    pair = loaded(
        """<robot name="two"><link name="base"/>"""
        + "".join(
            f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
            f'</inertial><collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
            f'<joint name="j{name}" type="floating"><parent link="base"/><child link="{name}"/></joint>'
            for name in "ab"
        )
        + "</robot>"
    )
    q = pair.neutral()[None]
    q[0, 7] = 0.195
    met = simulated(Scene(ground=None, self_collision=True), pair.with_gravity((0, 0, 0)), q, 0.001).contacts.of_robot(
        0
    )
    where = {pair.link_names.index(name): x for name, x in (("a", 0.0), ("b", 0.195))}
    link, other = int(met.link[0, 0]), int(met.other[0, 0])
    sign = (where[link] - where[other]) * met.normal[0, 0, 0]
    return towards, *(("other", "link") if sign > 0 else ("link", "other"))


@cache
def touched() -> tuple[int, tuple[int, int]]:
    """The number of the ground in `contacts.other`, and those of the first two obstacles."""
    box = body()
    ground = simulated(Scene(), box, at(box, 0, 0, 0.1)).contacts.of_robot(0).other[0, 0]
    obstacles = tuple(engine.Obstacle("box", (1.0, 1.0, 1.0), pose=(x, 0.0, -0.5)) for x in (0.0, 5.0))
    seen = [
        simulated(Scene(ground=None, obstacles=obstacles), box, at(box, x, 0, 0.1)).contacts.of_robot(0).other[0, 0]
        for x in (0.0, 5.0)
    ]
    return int(ground), (int(seen[0]), int(seen[1]))


@cache
def rises_towards() -> str:
    """The direction in which a slope of a positive angle rises."""
    plane = engine.slope(np.radians(10))
    return {True: "−x", False: "+x"}[plane.normal[0] > 0 and plane.normal[2] > 0]


@cache
def free_joint() -> tuple[str, str]:
    """Describe a free joint's coordinates and velocities, found by moving and rotating a body."""
    model = body()
    q = np.array([[1.0, 2.0, 3.0, *model.neutral()[3:]]])
    pose = engine.link_poses(model, q)[0, 0]
    half = np.sqrt(0.5)
    orders = {"x, y, z, w": (half, 0.0, 0.0, half), "w, x, y, z": (half, half, 0.0, 0.0)}
    quarter = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])  # about x
    turned = {name: np.array([[0, 0, 0, *four]]) for name, four in orders.items()}
    (order,) = (name for name, q in turned.items() if np.allclose(engine.link_poses(model, q)[0, 0, :3, :3], quarter))
    place = "position" if np.allclose(pose[:3, 3], q[0, :3]) else "?"
    shifts = engine.link_twists(model, turned[order], np.array([[0, 0, 0, 0, 1.0, 0]]))[0, 0]  # along the world's axes
    turns = engine.link_twists(model, turned[order], np.array([[0, 1.0, 0, 0, 0, 0]]))[0, 0]
    up = np.array([0, 0, 1.0])
    own = np.allclose(shifts, [0, 0, 0, *up]) and np.allclose(turns[:3], up)
    return f"{place} and unit quaternion {order}", "body twist" if own else "twist along the world's axes"


@cache
def told_along() -> str:
    """Along whose axes `link_twists`, `momentum` and `point_mobility` are, of a body that is turned by a quarter."""
    model, half = body(), np.sqrt(0.5)
    q, v = np.array([[0, 0, 0, half, 0, 0, half]]), np.array([[0, 0, 0, 0, 1.0, 0]])  # about x, and along its own y
    twist, moves = engine.link_twists(model, q, v)[0, 0, 3:], engine.momentum(model, q, v).reshape(-1)[3:]
    flat = loaded(text_of().replace('iyy="0.01"', 'iyy="0.1"'), floating=True)
    mobility = engine.point_mobility(flat, q[0], 0, [0.1, 0, 0])
    along_y = 1 + 0.1**2 / 0.1  # 1/kg of a force along the body's y is 1 + r²/I about z, and along its z about y
    ways = [np.allclose(x, [0, 0, 1]) for x in (twist, moves)]
    ways.append(bool(np.isclose(mobility[1, 1], along_y)))
    assert len(set(ways)) == 1
    return "world" if ways[0] else "body"


@cache
def file_holds() -> tuple[str, str]:
    """Which of two frictions of a file holds: of Gazebo's and Bullet's, and of `mu1` and `mu2`."""
    gazebo = '<gazebo reference="body"><mu1>0.3</mu1><mu2>0.4</mu2></gazebo>'
    bullet = '<contact><lateral_friction value="0.2"/></contact>'
    both = text_of("box", bullet).replace("</robot>", f"{gazebo}</robot>")
    alone = text_of("box").replace("</robot>", f"{gazebo}</robot>")
    of_both, of_one = (loaded(text, floating=True).collisions[0].friction for text in (both, alone))
    return {0.2: "Bullet", 0.3: "Gazebo"}[of_both], {0.3: "first", 0.4: "second"}[of_one]


@cache
def worst_of_a_call() -> str:
    """Describe `contacts.worst` relative to the residuals of a call's steps: "largest" or "smallest"."""
    model, scene = engine.load(engine.find_robot("quadruped")), Scene()
    start = engine.put_down(model, scene, model.neutral())[None]
    single, whole = (engine.Simulation(model, scene=scene, q=start, dt=2e-3, device="cpu") for _ in range(2))
    residuals = []
    for _ in range(40):
        single.step()
        residuals.append(float(single.contacts.residual[0]))
    whole.step(40)
    return {max(residuals): "largest", min(residuals): "smallest"}[float(whole.contacts.worst[0])]
