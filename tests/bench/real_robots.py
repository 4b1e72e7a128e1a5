"""Third-party robots on the ground on one core, standing, walking and falling, beside MuJoCo's `mj_step`.

They come from `example-robot-data`, rewritten into a temporary folder such that both sides read them alike: a free
base, no visuals, and the convex hulls of collision meshes.
"""

import importlib.metadata
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from engine import lie
from engine.bench.peers.peer import Missing
from engine.bench.results import NONE, Rows, measured_rows
from engine.compile import finish_compiling, parts
from engine.holding import holding_gains
from engine.model import Model
from engine.model.shapes import Collision
from engine.scene import Scene, cached_hulls, put_down
from engine.simulation import Simulation
from engine.urdf.load import load
from engine.validation import Array
from tests.bench import mujoco_contact

ROBOTS = {
    "A1": "a1_description/urdf/a1.urdf",
    "Go1": "go1_description/urdf/go1.urdf",
    "Go2": "go2_description/urdf/go2.urdf",
    "B1": "b1_description/urdf/b1.urdf",
    "ANYmal C": "anymal_c_simple_description/urdf/anymal.urdf",
    "HyQ": "hyq_description/robots/hyq_no_sensors.urdf",
    "Laikago": "laikago_description/urdf/laikago.urdf",
    "Solo12": "solo_description/robots/solo12.urdf",
    "Bolt": "bolt_description/robots/bolt.urdf",
    "G1": "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "Talos": "talos_data/robots/talos_full_v2.urdf",
    "iCub": "icub_description/robots/icub_reduced.urdf",
    "Romeo": "romeo_description/urdf/romeo_small.urdf",
    "simple humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
}
WAYS = ("standing", "walking", "falling")
MAX_ROWS = len(ROBOTS) * len(WAYS)
DT, FRICTION, STEPS, TOGETHER = 2e-3, 0.8, 1000, 25
"""s, μ, steps of a run, and those between new targets for those that walk."""
SWING, HEIGHT = 0.25, 0.3
"""Setpoints are random within this many rad of the posture; limp robots fall from this height in m."""
MUST, AIM, LAWFUL = 1.2, 2.5, 1e-8
"""Times MuJoCo, at least; and the residual that is asked of a step."""
_LEAST_MASS, _LEAST_INERTIA = 1e-6, 1e-9
_EDITED = '<mujoco><compiler fusestatic="true" discardvisual="true" strippath="false" balanceinertia="true"/></mujoco>'


class Case(NamedTuple):
    """A robot on its free base as both read it, the posture (nq,) that it begins in, and gains (nv,)."""

    path: Path
    model: Model
    q: Array
    kp: Array
    kd: Array

    @property
    def posture(self) -> Array:
        """(nv,): the gains' setpoints."""
        places = self.model.q_of_v
        return np.where(places >= 0, self.q[np.maximum(places, 0)], 0.0)


def run(_seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each robot and way: `us`, of a step, MuJoCo's `peer_us` and `ratio`, and the residuals.

    A row that fails holds `failure` in words. Raises ValueError where `example-robot-data` is not installed.
    """
    parts = [(f"{name}, {way}", partial(_measured, name, way)) for name, way in product(ROBOTS, WAYS)]
    yield from measured_rows(parts, finished)


def file_of(name: str) -> Path:
    """Return the URDF from `example-robot-data`. Raises ValueError if it is not installed."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if str(file).endswith(f"/{ROBOTS[name]}"):
            return Path(str(file.locate()))
    raise ValueError(f"{name} is not there: install example-robot-data 4.3 or newer, which brings it")


def case_named(name: str, way: str, folder: Path) -> Case:
    path = write_plain(file_of(name), folder)
    model = load(path)
    q = put_down(model, Scene(friction=FRICTION), model.neutral())
    if way == "falling":
        q[2] += HEIGHT
        return Case(path, model, q, np.zeros(model.nv), np.zeros(model.nv))
    return Case(path, model, q, *holding_gains(model, DT))


def write_plain(urdf: Path, folder: Path) -> Path:
    """The robot with a joint for its free base, hulls for its collision meshes, and inertias that are positive."""
    model, root = load(urdf, floating=True), ET.parse(urdf).getroot()
    shapes: dict[str, list[Collision]] = {}
    for shape in model.collisions:
        shapes.setdefault(model.link_names[shape.link], []).append(shape)
    for child in list(root):
        if child.tag not in ("link", "joint"):
            root.remove(child)
    for link in root.findall("link"):
        for old in (*link.findall("visual"), *link.findall("collision")):
            link.remove(old)
        for shape in shapes.get(str(link.get("name")), []):
            _add_shape(link, shape, folder)
        inertial = link.find("inertial")
        if inertial is not None:
            _make_positive(inertial)
    carried = {child.get("link") for child in root.findall("joint/child")}
    base = next(name for link in root.findall("link") if (name := str(link.get("name"))) not in carried)
    if all(joint.get("type") != "floating" for joint in root.findall("joint")):
        root.append(ET.fromstring('<link name="the_world"/>'))
        ends = f'<parent link="the_world"/><child link="{base}"/>'
        root.append(ET.fromstring(f'<joint name="free_base" type="floating">{ends}</joint>'))
    root.append(ET.fromstring(_EDITED))
    path = folder / "robot.urdf"
    ET.ElementTree(root).write(path)
    return path


def _add_shape(link: ET.Element, shape: Collision, folder: Path) -> None:
    corners = [points * shape.size for points in cached_hulls.of_link(shape.mesh)] if shape.shape == "mesh" else [None]
    for points in corners:
        collision = ET.SubElement(link, "collision")
        rpy = lie.rpy_from_rotation(shape.pose[:3, :3])
        ET.SubElement(collision, "origin", xyz=_numbers(shape.pose[:3, 3]), rpy=_numbers(rpy))
        geometry = ET.SubElement(collision, "geometry")
        if points is not None:
            file = folder / f"{len(list(folder.iterdir()))}.obj"
            _write_hull(file, points)
            ET.SubElement(geometry, "mesh", filename=file.name)
        elif shape.shape == "box":
            ET.SubElement(geometry, "box", size=_numbers(shape.size))
        else:
            sizes = zip(("radius", "length"), map(str, shape.size), strict=False)
            ET.SubElement(geometry, shape.shape, dict(sizes))


def _numbers(values: ArrayLike) -> str:
    return " ".join(map(repr, np.asarray(values).tolist()))


def _write_hull(path: Path, points: Array) -> None:
    """A convex hull as triangles that are counter-clockwise from outside."""
    from scipy.spatial import ConvexHull

    found = ConvexHull(points)
    lines = [f"v {_numbers(point)}" for point in points]
    for corners, normal in zip(found.simplices, found.equations[:, :3], strict=True):
        a, b, c = points[corners]
        outward = np.cross(b - a, c - a) @ normal > 0
        lines.append("f " + " ".join(str(i + 1) for i in (corners if outward else corners[::-1])))
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _make_positive(inertial: ET.Element) -> None:
    """MuJoCo refuses bodies without mass, and inertias that are not positive."""
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    if mass is None or inertia is None:
        return
    mass.set("value", repr(max(float(mass.get("value", 0)), _LEAST_MASS)))
    names = (("ixx", "ixy", "ixz"), ("ixy", "iyy", "iyz"), ("ixz", "iyz", "izz"))
    moments, axes = np.linalg.eigh([[float(inertia.get(name, 0)) for name in row] for row in names])
    if moments[0] < _LEAST_INERTIA:
        made = (axes * np.maximum(moments, _LEAST_INERTIA)) @ axes.T
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            inertia.set(names[i][j], repr(float(made[i, j])))


def _measured(name: str, way: str) -> dict[str, Any]:
    """Time our and MuJoCo's steps in turns, `TOGETHER` at a time."""
    with tempfile.TemporaryDirectory() as folder:
        return _in_turns(case_named(name, way, Path(folder)), way)


def _in_turns(case: Case, way: str) -> dict[str, Any]:
    model, (theirs, failure) = case.model, _theirs(case)
    ours = Simulation(
        model, dt=DT, integrator="implicit", scene=Scene(friction=FRICTION), q=case.q, kp=case.kp, kd=case.kd,
        device="cpu", timed=False, on_divergence="freeze",
    )  # fmt: skip
    ours.step(1)  # compiled
    parts.make_rare()
    finish_compiling()
    ours.reset(case.q)
    rng, spent, peer_spent, worst = np.random.default_rng(0), 0.0, 0.0, []
    for _ in range(STEPS // TOGETHER):
        swing = rng.uniform(-SWING, SWING, model.nv) * (np.arange(model.nv) >= 6) * (way == "walking")
        ours.target[:] = case.posture + swing
        began = perf_counter()
        ours.step(TOGETHER)
        spent += perf_counter() - began
        assert ours.contacts is not None
        worst.append(float(ours.contacts.worst[0]))
        if theirs is not None:
            peer_spent += theirs.seconds(case.posture + swing)
    contacts = ours.contacts
    assert contacts is not None
    row = {"us": spent / STEPS * 1e6, "worst": max(worst), "over": float(np.mean(np.array(worst) > LAWFUL)),
           "diverged": bool(ours.diverged.any()), "contacts": int(contacts.number[0])}  # fmt: skip
    if theirs is None:
        return {**row, "no_peer": failure}
    return {**row, "peer_us": peer_spent / STEPS * 1e6, "ratio": peer_spent / spent, "blown": theirs.blown()}


class _Theirs:
    """MuJoCo's robot: pyramidal cones, Newton, implicitfast."""

    def __init__(self, case: Case) -> None:
        self._model, self._data, self._own = mujoco_contact.held_on_plane(
            case.path, case.model, case.kp, case.kd, DT, FRICTION
        )
        import mujoco

        self._library = mujoco
        self._data.qpos[:] = mujoco_contact.coordinates(self._model, case.model, case.q[None])[0]

    def seconds(self, target: Array) -> float:
        """Return the seconds of `TOGETHER` steps towards a target (nv,)."""
        self._data.ctrl[:] = target[self._own]
        began = perf_counter()
        self._library.mj_step(self._model, self._data, TOGETHER)
        return perf_counter() - began

    def blown(self) -> bool:
        """Whether it warned of too large numbers and was reset."""
        kinds = self._library.mjtWarning
        bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
        return any(self._data.warning[int(kind)].number for kind in bad)


def _theirs(case: Case) -> tuple[_Theirs | None, str]:
    try:
        return _Theirs(case), ""
    except (Missing, ValueError) as fault:
        return None, str(fault).splitlines()[0]


def line(row: dict[str, Any]) -> str:
    """A row in words."""
    if "failure" in row:
        return f"{row['key']}: {row['failure']}"
    text = f"{row['key']}: {row['us']:.1f} µs a step, worst residual {row['worst']:.1e}"
    text += f", {row['over']:.1%} of {TOGETHER} steps above {LAWFUL:g}"
    text += "; it diverged" if row["diverged"] else ""
    if "ratio" not in row:
        return f"{text}; no MuJoCo: {row['no_peer']}"
    judged = "blew up" if row["blown"] else f"{row['peer_us']:.1f} µs, {row['ratio']:.2f} × as long"
    return f"{text}; MuJoCo {judged}{'' if row['blown'] or row['ratio'] >= MUST else ' FALLS SHORT'}"
