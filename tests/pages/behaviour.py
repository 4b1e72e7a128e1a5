"""The program's behaviour in small trials: signs, directions and conventions that pages state in words."""

import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import engine
from engine.kernels.contact import problem, restitution
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
def steps_alike(one: str, other: str, height: float) -> bool:
    """Whether a sliding and rotating box at that height moves alike by two integrators, to the bit."""
    model, ends = body(), []
    for integrator in (one, other):
        start, v = at(model, 0, 0, height), [[0, 0, 1.0, 1.0, 0, 0]]
        moved = engine.Simulation(model, scene=Scene(), integrator=integrator, q=start, v=v, device="cpu")
        moved.step()
        ends.append(np.hstack([moved.q, moved.v]))
    return np.array_equal(*ends)


def _rebounding(impulse: np.ndarray, u: np.ndarray, free: np.ndarray, offset: np.ndarray) -> SimpleNamespace:
    """Contacts (n, 3), (n, 3), (n, 3), (n,) that rebound, for `accept_or_reduce_restitution`."""
    search = SimpleNamespace(counts=np.zeros(problem.COUNTS, int), numbers=np.zeros(problem.NUMBERS))
    search.counts[problem.HAS_RESTITUTION], search.numbers[problem.RESTITUTION_FRACTION] = 1, 1.0
    rows = SimpleNamespace(impulse=impulse, u=u, free=free, offset=offset)
    return SimpleNamespace(solver=SimpleNamespace(problem=rows, search=search))


def reduced_restitution(impulse: np.ndarray, u: np.ndarray, free: np.ndarray, offset: np.ndarray) -> float:
    """The fraction of the restitution that a step tries after the whole."""
    contact = _rebounding(impulse, u, free, offset)
    assert not restitution.accept_or_reduce_restitution(True, len(impulse), 0, contact)
    return float(contact.solver.search.numbers[problem.RESTITUTION_FRACTION])


@cache
def restitution_shares() -> list[float]:
    """The shares of the restitution that a step tries after the whole, while rebounds add a tenth of their work."""
    push, shares = np.array([[1.0, 0.0, 0.0]]), []
    contact = _rebounding(push, 0.0 * push, -1.9 * push, -push[:, 0])
    while not restitution.accept_or_reduce_restitution(True, 1, 0, contact):
        shares.append(float(contact.solver.search.numbers[problem.RESTITUTION_FRACTION]))
    return shares


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
