"""The steps of a robot in a scene, in the stages of a GPU, compared with those of the CPU."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

import engine
from engine.compile import with_loops
from engine.compile.with_loops import WARP, Layout
from engine.cuda.constraints.contacts import lanes
from engine.cuda.stepping import scene_stepper
from engine.cuda.stepping.scene_stepper import _robot as laid_out
from engine.cuda.stepping.scene_stepper import arguments
from engine.cuda.stepping.threads_per_robot import threads_of_robot
from engine.device_arrays import to_host
from engine.holding import holding_gains
from engine.kernels import limbs, scene_steps
from engine.kernels.collision.touching_pairs import touching_pairs
from engine.kernels.contact import workspace
from engine.kernels.contact.newton import respond
from engine.kernels.contact.problem import CONTACTS, JOINTS
from engine.kernels.joint_rows import JointRows
from engine.kernels.step_arguments import Controls, Record, Report, State, StepArguments, StepRange
from engine.model.layout import pack, pack_coupling
from engine.scene import put_down
from engine.step_settings import StepSettings
from tests.engine.in_number_type import specialise_in

DT, STEPS = 2e-3, 60
HILLS = engine.HeightField(0.04 * np.random.default_rng(5).random((30, 40)), 0.07)


@pytest.fixture(scope="module")
def walker(tmp_path_factory: pytest.TempPathFactory) -> engine.Model:
    """The quadruped that ships, its trunk a hull with 162 corners."""
    return with_hull(tmp_path_factory.mktemp("walker"), Path("robots/quadruped.urdf").read_text())


def mimicking(folder: Path, leaders: dict[str, str]) -> engine.Model:
    """Return the robot with joints that mimic those leaders."""
    text = Path("robots/quadruped.urdf").read_text()
    for name, leader in leaders.items():
        joint = f'<joint name="{name}_joint" type="revolute">'
        assert joint in text
        text = text.replace(joint, f'{joint}<mimic joint="{leader}_joint"/>')
    return with_hull(folder, text)


def with_hull(folder: Path, text: str) -> engine.Model:
    """A quadruped whose trunk has a hull with 162 corners besides."""
    trimesh.creation.icosphere(2, 0.15).export(folder / "trunk.obj")
    name = text.index('<link name="trunk"') if '<link name="trunk"' in text else text.index("<inertial>")
    place = text.index("<inertial>", name)
    mesh = '<collision><geometry><mesh filename="trunk.obj"/></geometry></collision>'
    path = folder / "walker.urdf"
    path.write_text(text[:place] + mesh + text[place:])
    return engine.load(path)


def settings(model: engine.Model, way: str, dtype: str, batch: int = 1) -> StepSettings:
    """Return the step settings."""
    held = way in ("standing", "on hills")
    kp, kd = holding_gains(model, DT) if held else (np.zeros(model.nv), np.zeros(model.nv))
    scene = scene_of(way)
    return StepSettings(
        model, batch, DT, "implicit", "abia", dtype=dtype, timed=False, kp=kp[None], kd=kd[None], scene=scene,
        pairs=touching_pairs(model, scene)[0],
    )  # fmt: skip


def scene_of(way: str) -> engine.Scene:
    """Return a scene on a plane, with a height field for "on hills", or with pairs of shapes for "onto itself"."""
    if way == "onto itself":
        ball, box = engine.Obstacle("sphere", (0.15,), (0.3, 0.1, 0.0)), engine.Obstacle("box", (0.4, 0.3, 0.06))
        return engine.Scene(friction=0.8, self_collision=True, obstacles=(ball, box))
    return engine.Scene(HILLS if way == "on hills" else engine.Plane(), friction=0.8)


def states(model: engine.Model, way: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a robot's initial coordinates and velocities."""
    q, v = put_down(model, scene_of(way), model.neutral()), np.zeros(model.nv)
    if way in ("falling", "onto itself"):
        q[2] += 0.02
        q[3:7] += 0.15 * rng.standard_normal(4)
        q[3:7] /= np.linalg.norm(q[3:7])
        q[7:] += rng.uniform(-0.3, 0.3, len(q) - 7)
    else:
        v[:6] = rng.uniform(-0.2, 0.2, 6)
    return q, v


def in_type(value: Any, dtype: str) -> Any:
    """A tree of tuples whose real arrays are of a number type."""
    if isinstance(value, tuple):
        items = tuple(in_type(item, dtype) for item in value)
        return type(value)(*items) if hasattr(value, "_fields") else items
    return value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype == np.float64 else value


def arguments_of(q: np.ndarray, v: np.ndarray, target: np.ndarray) -> StepArguments:
    """What `STEPS` steps from q and v are given, with a record of every tenth."""
    kept, none = STEPS // 10 + 1, np.zeros(1, np.int64)
    return StepArguments(
        steps=StepRange(total=STEPS, first=0, last=STEPS, done=0),
        state=State(q=q[None].copy(), v=v[None].copy(), tau=np.zeros((1, v.size)), target=target[None]),
        controls=Controls(tau=np.zeros(STEPS * v.size), rows=1),
        record=Record(q=np.zeros(kept * q.size), v=np.zeros(kept * v.size), every=10),
        report=Report(first_diverged=none, alarm=none.copy(), phases=none.repeat(32)),
        wrenches=np.zeros(1),
        frozen=none.copy(),
    )


def robot_of(of: StepSettings) -> scene_steps.SceneRobot:
    """The arrays of one robot."""
    model, scene = of.model, of.scene
    assert scene is not None
    contact_state = workspace.contact_state(workspace.contact_workspace(model, scene), model.nv, 1)
    rows = JointRows(of.dt, of.has_limits, of.has_constraints, of.q_of_v, of.joints[0])
    known = scene_steps.ModelArrays(*pack(model), pack_coupling(model))
    work = scene_steps.robot_workspace(len(model.parent), model.nq, model.nv, of.integrator)
    return scene_steps.SceneRobot(known, rows, of.rotations, work, contact_state)


def staged(of: StepSettings, q: np.ndarray, v: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """q of every tenth step, v at the end, and the worst residual, by the text of a GPU on the host."""
    robot, given = robot_of(of), arguments_of(q, v, target)
    fixed = scene_steps.Fixed(of.integrator, "raise", "none", "untimed")
    _, _, _, given, _, robot = arguments = in_type((0, True, 1, given, fixed, robot), of.dtype)
    assert specialise_in(scene_steps.advance, of.dtype, *arguments)(*arguments) is not NotImplemented
    return given.record.q.reshape(-1, of.model.nq), given.state.v[0], float(robot.contact_state.summary[0, 2])


@pytest.mark.parametrize("way", ["standing", "falling", "on hills", "onto itself"])
@pytest.mark.parametrize(("dtype", "off"), [("float64", 1e-9), ("float32", 2e-3)])
def test_steps_in_stages_are_those_of_the_cpu(
    walker: engine.Model, way: str, dtype: str, off: float, rng: np.random.Generator
) -> None:
    of = settings(walker, way, dtype)
    q, v = states(walker, way, rng)
    target = np.where(walker.q_of_v >= 0, q[np.maximum(walker.q_of_v, 0)], 0.0)
    kept, _, worst = staged(of, q, v, target)
    simulation = engine.Simulation(
        walker, dt=DT, integrator="implicit", scene=of.scene, q=q, v=v, kp=of.kp[0], kd=of.kd[0], device="cpu"
    )
    simulation.target[:] = target
    for sample in kept[1:]:
        simulation.step(10)
        np.testing.assert_allclose(sample, simulation.q[0], rtol=0, atol=off)
    assert simulation.contacts is not None
    assert simulation.contacts.number[0] > 0
    assert worst <= (1e-4 if dtype == "float32" else 1e-8)
    others = simulation.contacts.other[0, : simulation.contacts.number[0]]
    assert np.any(others != -1) == (way == "onto itself")


def test_feet_that_are_wedged_in_a_plate_obey_the_law(walker: engine.Model, rng: np.random.Generator) -> None:
    """It pushes some of them up and down: contacts against each other, whose impulses are not unique."""
    of = settings(walker, "onto itself", "float64")
    worst = np.array([staged(of, *states(walker, "onto itself", rng), np.zeros(walker.nv))[2] for _ in range(40)])
    assert worst.max() <= 1e-7
    assert np.sum(worst > 1e-8) <= 2  # of 2,400 steps


@pytest.mark.parametrize("way", ["falling", "onto itself"])
@pytest.mark.parametrize(("dtype", "off"), [("float64", 1e-9), ("float32", 2e-3)])
def test_runge_kuttas_steps_in_stages_are_those_of_the_cpu(
    walker: engine.Model, way: str, dtype: str, off: float, rng: np.random.Generator
) -> None:
    """In flight, with joints that stick, slide and meet their limits, and then under contacts."""
    of = replace(settings(walker, way, dtype), integrator="rk4")
    q, v = states(walker, way, rng)
    q[2] += 0.02
    v[6:] = rng.uniform(-8, 8, len(v) - 6)
    target = np.where(walker.q_of_v >= 0, q[np.maximum(walker.q_of_v, 0)], 0.0)
    kept, *_ = staged(of, q, v, target)
    simulation = engine.Simulation(
        walker, dt=DT, integrator="rk4", scene=of.scene, q=q, v=v, kp=of.kp[0], kd=of.kd[0], device="cpu"
    )
    simulation.target[:] = target
    numbers = []
    for sample in kept[1:]:
        simulation.step(10)
        assert simulation.contacts is not None
        numbers.append(int(simulation.contacts.number[0]))
        np.testing.assert_allclose(sample, simulation.q[0], rtol=0, atol=off)
    assert numbers[-1] > 0
    assert (numbers[0] == 0) == (way == "falling")


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-8), ("float32", 1e-4)])
def test_limbs_that_touch_in_a_fall_have_no_residual_of_rounding(dtype: str, tolerance: float) -> None:
    """Relative to each other they rest, so that their velocities without impulses are rounding alone."""
    model, rng, scene = engine.load("robots/quadruped.urdf"), np.random.default_rng(5), scene_of("onto itself")
    of = replace(settings(model, "falling", dtype), scene=scene, pairs=touching_pairs(model, scene)[0])
    limp = replace(of, kp=0 * of.kp, kd=0 * of.kd)
    found = []
    for _ in range(20):
        q, v = model.random(rng), np.zeros(model.nv)
        q[2] = 5
        *_, worst = staged(limp, q, v, np.zeros(model.nv))
        found.append(worst)
    assert 0 < max(found) <= tolerance


def test_robots_on_a_plane_by_few_points_have_lanes_and_others_do_not(walker: engine.Model) -> None:
    quadruped, alone = engine.load("robots/quadruped.urdf"), settings(walker, "standing", "float32")
    assert lanes(settings(quadruped, "standing", "float32")) == 4
    assert lanes(settings(engine.load("robots/humanoid.urdf"), "standing", "float32")) == WARP
    for of in (
        alone, settings(quadruped, "onto itself", "float32"), settings(quadruped, "on hills", "float32"),
        replace(settings(quadruped, "standing", "float32"), integrator="rk4"),
        replace(settings(quadruped, "standing", "float32"), algorithm="jsiia"),
    ):  # fmt: skip
        assert lanes(of) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_of_robots_fill_a_multiprocessor(dtype: str) -> None:
    """Its registers have room for 512 threads in single precision, half as many in double."""
    room = 512 if dtype == "float32" else 256
    for robots in (1, 10, 60, 130, 500, 4000):
        for bodies in (13, 60):
            threads, least = threads_of_robot(robots, bodies, dtype), 4 if bodies == 60 else 1
            assert threads == least or threads * robots <= room
            assert threads == 8 or 2 * threads * robots > room


def test_limbs_of_joints_that_share_a_coordinate_are_taken_one_after_the_other() -> None:
    """On a body with three limbs, the first of which contains it, two limbs add to one coordinate."""
    parent, apart = np.array([-1, 0, 0, 0]), np.zeros(4, np.bool_)
    together = limbs.limbs(parent, apart)
    assert np.diff(together.level).tolist() == [1, 2]
    apart[2:] = True
    found = limbs.limbs(parent, apart)
    assert np.diff(found.level).tolist() == [1, 1, 1]
    assert found.begin.tolist() == [0, 2, 3]
    assert found.end.tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    "leaders",
    [{"RR_shank": "RR_thigh"}, {"RR_shank": "RR_hip", "FR_shank": "RL_thigh", "FR_thigh": "RL_shank"}],
    ids=["beside each other", "past other joints"],
)
def test_mimic_joints_are_stepped_as_on_a_cpu(
    tmp_path: Path, rng: np.random.Generator, leaders: dict[str, str]
) -> None:
    bound = mimicking(tmp_path, leaders)
    of = replace(settings(bound, "standing", "float64"), algorithm="jsiia")
    q, v = states(bound, "standing", rng)
    target = np.where(bound.q_of_v >= 0, q[np.maximum(bound.q_of_v, 0)], 0.0)
    kept, _, worst = staged(of, q, v, target)
    simulation = engine.Simulation(
        bound, dt=DT, integrator="implicit", scene=of.scene, q=q, v=v, kp=of.kp[0], kd=of.kd[0], device="cpu"
    )
    simulation.target[:] = target
    assert simulation.algorithm == "jsiia"
    for sample in kept[1:]:
        simulation.step(10)
        np.testing.assert_allclose(sample, simulation.q[0], rtol=0, atol=1e-9)
    assert worst <= 1e-8


def test_a_search_that_failed_leaves_nothing_in_the_passes_of_mimic_joints(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """Impulses that are not finite are followed by others: in single precision a search may end with such."""
    bound = mimicking(tmp_path, {"RR_shank": "RR_hip", "FR_shank": "RL_thigh", "FR_thigh": "RL_shank"})
    of = replace(settings(bound, "standing", "float64"), algorithm="jsiia")
    robot, (q, v) = robot_of(of), states(bound, "standing", rng)
    robot.workspace.state.q[0], robot.workspace.state.v[0] = q, v
    fixed = scene_steps.Fixed(of.integrator, "raise", "none", "untimed")
    scene_steps._begin(0, 0, arguments_of(q, v, np.zeros(bound.nv)), 1, fixed, robot, False)
    contact = robot.contact_state.contact
    contacts, joints = contact.solver.search.counts[[CONTACTS, JOINTS]].tolist()
    problem = contact.solver.problem
    assert contacts > 0
    for impulse in (np.nan, 1.0):
        problem.impulse[:contacts] = impulse
        respond(contacts, joints, contact.topology, contact.bodies, contact.solver)
    assert np.all(np.isfinite(problem.total))


@pytest.mark.sample(3)
@pytest.mark.parametrize(("way", "threads"), [("standing", 1), ("standing", 8), ("on hills", 8), ("onto itself", 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_own_arrays_of_robots_lie_beside_each_other(walker: engine.Model, way: str, dtype: str, threads: int) -> None:
    """The GPU's assembly is made, and no array lies on another."""
    robot, _ = laid_out(settings(walker, way, dtype), threads)
    layout = Layout((robot,), dtype)
    assert layout.numbers_of(dtype) == sum(x.size for x in layout.own[dtype])
    assert len(layout.first(dtype)) == layout.numbers_of(dtype)
    tree = arguments(settings(walker, way, dtype), robot, "none")
    code = with_loops.text(scene_steps.advance, tree, Layout(tree, dtype, threads), "advance")
    text = with_loops.ptx(code, "sm_80", 128)
    assert ".maxnreg 128" in text
    assert text.count("bar.red.popc") >= 3
    assert ("bar.warp.sync" in text, "shfl.sync.bfly" in text) == (threads > 1, threads > 1)
    assert 'pragma "nounroll"' in text
    assert ("div.rn.f32" in text, "div.rn.f64" in text) == (False, dtype == "float64")


def contact_forces(model: engine.Model, q: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
    """Return the generalized forces (batch, nv) of wrenches on the links."""
    zero = np.zeros((len(q), model.nv))
    without = engine.inverse_dynamics(model, q, zero, zero)
    return without - engine.inverse_dynamics(model, q, zero, zero, external=wrenches)


def shared_by_joints(model: engine.Model, q: np.ndarray) -> np.ndarray:
    """Return the generalized forces (batch, nv) by which joint friction and limits may replace those of contacts."""
    x = q[:, np.maximum(model.q_of_v, 0)]
    at_limit = (model.q_of_v >= 0) & ((x < model.lower + 1e-5) | (x > model.upper - 1e-5))
    return np.where(at_limit, np.inf, 2.0 * model.friction)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("way", "integrator"),
    [
        ("standing", "implicit"), ("falling", "implicit"), ("on hills", "implicit"), ("onto itself", "implicit"),
        ("falling", "rk4"), ("onto itself", "rk4"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("dtype", "off"), [("float64", 1e-8), ("float32", 2e-3)])
def test_a_gpu_steps_robots_with_hulls_as_the_cpu_does(
    walker: engine.Model, way: str, integrator: str, dtype: str, off: float, rng: np.random.Generator
) -> None:
    batch = 40
    begin = [states(walker, way, rng) for _ in range(batch)]
    q, v = (np.array(x) for x in zip(*begin, strict=True))
    of = settings(walker, way, dtype, batch)
    sims = [
        engine.Simulation(
            walker, batch, DT, integrator, "abia", scene=of.scene, q=q, v=v, kp=of.kp[0], kd=of.kd[0], device=device,
            dtype=kind, on_divergence="freeze",
        )
        for device, kind in (("cuda", dtype), ("cpu", "float64"))
    ]  # fmt: skip
    again = (way, dtype) == ("onto itself", "float32")  # rounding chooses the way of a wedged robot: from equal states
    apart = np.zeros((STEPS // 10, batch))
    for part in range(STEPS // 10):
        if again:
            state = to_host(sims[0].q), to_host(sims[0].v)
            for simulation in sims:
                simulation.reset(*state)
        for simulation in sims:
            simulation.step(10)
        apart[part] = np.abs(to_host(sims[0].q) - sims[1].q).max(1)
    same = (apart[-1] if again else apart.max(0)) <= off
    if again:
        assert np.sum(apart > off) <= 7  # of 240
    else:
        assert np.sum(~same) <= (2 if way == "onto itself" else 0)
    loads = [
        np.array(simulation.contact_wrench if k else simulation.contact_wrench.get())[same]
        for k, simulation in enumerate(sims)
    ]
    bound = (1e-5 if dtype == "float64" else 0.05) * np.abs(loads[1]).max()
    others = np.abs(loads[0] - loads[1]).max((1, 2)) > bound
    assert np.sum(others) <= (batch // 10 if way == "onto itself" else 0)
    # Of a robot wedged between its links and the plate only joints with friction and at limits share other loads.
    difference = np.abs(np.subtract(*(contact_forces(walker, sims[1].q[same], wrenches) for wrenches in loads)))
    assert np.all(difference <= bound + shared_by_joints(walker, sims[1].q[same]))
    # A contact counts within a reach: from states that rounding took 2 mm apart one device may see one more.
    sims[1].reset(sims[0].q.get(), sims[0].v.get())
    for simulation in sims:
        simulation.step()
    found = [simulation.contacts.on_host() for simulation in sims if simulation.contacts is not None]
    np.testing.assert_array_equal(*(touches.number for touches in found))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits_do_not_depend_on_how_many_threads_work_on_a_robot(
    walker: engine.Model, dtype: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = 70
    q, v = (np.array(x) for x in zip(*(states(walker, "falling", rng) for _ in range(batch)), strict=True))
    of, ends = settings(walker, "falling", dtype, batch), []
    for threads in (1, 2, 4, 8):
        monkeypatch.setattr(scene_stepper, "threads_of_robot", lambda *_, threads=threads: threads)
        simulation = engine.Simulation(
            walker, batch, DT, "implicit", "abia", scene=of.scene, q=q, v=v, kp=of.kp[0], kd=of.kd[0], device="cuda",
            dtype=dtype,
        )  # fmt: skip
        simulation.step(60)
        ends.append((simulation.q.get(), simulation.v.get()))
    for q, v in ends[1:]:
        np.testing.assert_array_equal(q, ends[0][0])
        np.testing.assert_array_equal(v, ends[0][1])


@pytest.mark.gpu
def test_a_checkpoint_goes_on_to_the_same_bits(walker: engine.Model, rng: np.random.Generator) -> None:
    q, v = states(walker, "falling", rng)
    sims = [
        engine.Simulation(
            walker, 3, DT, "implicit", "abia", scene=engine.Scene(), q=q, v=v, device="cuda", dtype="float32"
        )
        for _ in range(2)
    ]
    sims[0].step(40)
    sims[1].step(20)
    sims[1].restore(sims[1].checkpoint())
    sims[1].step(20)
    np.testing.assert_array_equal(sims[0].q.get(), sims[1].q.get())


@pytest.mark.gpu
def test_chosen_robots_with_hulls_begin_anew(walker: engine.Model, rng: np.random.Generator) -> None:
    q, v = (np.array(x) for x in zip(*(states(walker, "falling", rng) for _ in range(40)), strict=True))
    ours, others = (
        engine.Simulation(walker, 40, DT, "implicit", "abia", scene=engine.Scene(), q=q, v=v, device="cuda")
        for _ in range(2)
    )
    for simulation in (ours, others):
        simulation.step(20)
    chosen = np.array([3, 33, 39])
    ours.reset(q[chosen], v[chosen], robots=chosen)
    fresh = engine.Simulation(
        walker, 3, DT, "implicit", "abia", scene=engine.Scene(), q=q[chosen], v=v[chosen], device="cuda"
    )
    for simulation in (ours, others, fresh):
        simulation.target[:] = 0
        simulation.step(20)
    np.testing.assert_array_equal(ours.q.get()[chosen], fresh.q.get())
    rest = np.delete(np.arange(40), chosen)
    np.testing.assert_array_equal(ours.q.get()[rest], others.q.get()[rest])
