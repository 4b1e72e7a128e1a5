"""`run` writes and reports the results of the engine's own `Simulation`, step by step, for any options."""

import json
from collections.abc import Iterator
from functools import cache
from itertools import combinations, count
from pathlib import Path
from typing import Any

import numpy as np
import page_text
import pytest
import toys
from statuses import called

import engine
from engine.controller import LATE_LOADING
from engine.recording.files import how_made
from engine.recording.run_format import FORMAT

RUNS: dict[str, Any] = {
    # Each option's default; then values, each with a robot, and what that takes besides, whose run it changes.
    "floating": (False, ("toy", {}, True)),
    "no_mimic": (False, ("toy", {}, True)),
    "package_dir": ([], ("shod", {"ground": True}, ["elsewhere"])),
    "seconds": (10.0, ("pendulum", {"dt": 0.5}, 3.0)),
    "dt": (None, ("toy", {}, 0.002), ("toy", {}, 0.0007)),
    "integrator": ("auto", ("toy", {}, "semi-implicit"), ("toy", {}, "rk4")),
    "algorithm": ("auto", ("arm7", {}, "jsiia"), ("arm7", {}, "cfa")),
    "batch": (1, ("quadruped", {}, 3), ("arm7", {"q": "random", "hold": True}, 3)),
    "q": ("neutral", ("quadruped", {}, "random"), ("toy", {}, "numbers"), ("arm7", {}, "-2.5e-1")),
    "v": ("0", ("toy", {}, "0.5"), ("toy", {}, "numbers")),
    "controls": (None, ("chain", {}, "held.npy"), ("toy", {}, "each.npy")),
    "controller": (None, ("toy", {}, "drive.py")),
    "gravity": ([0.0, 0.0, -9.81], ("toy", {}, [1.0, -2.0, -3.5])),
    "no_limits": (False, ("toy", {"v": "3"}, True)),
    "every": (1, ("arm7", {}, 2), ("arm7", {}, 3)),
    "seed": (0, ("arm7", {"q": "random", "v": "0.5"}, 1), ("arm7", {"q": "random"}, 77)),
    "ground": (None, ("toy", {}, False), ("quadruped", {}, False)),
    "slope": (0.0, ("quadruped", {}, -12.0)),
    "terrain": (None, ("quadruped", {}, "bumps.npy"), ("toy", {}, "bumps.npy")),
    "cell": (0.1, ("quadruped", {"terrain": "bumps.npy"}, 0.25)),
    "friction": (None, ("quadruped", {"v": "-1"}, 0.05), ("quadruped", {"v": "-1"}, 0.0)),
    "self_collision": (False, ("toy", {"v": "3"}, True)),
    "srdf": (None, ("toy", {"v": "3", "self_collision": True}, "some.srdf")),
    "hold": (False, ("chain", {}, True), ("chain", {"integrator": "semi-implicit", "dt": 0.0005}, True)),
}
FIXED = {
    "trust_xacro": False,
    "device": "cpu",
    "dtype": "float64",
    "add": [],
    "add_free": [],
}  # have tests of their own, or are for GPUs
REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("toy", {"controller": "drive.py", "batch": 3}, "leave --batch out"),
    ("toy", {"controller": "drive.py", "controls": "held.npy"}, "--controller and --controls exclude each other"),
    ("quadruped", {"terrain": "bumps.npy", "slope": 5.0}, "--terrain and --slope exclude each other"),
    ("quadruped", {"terrain": "bumps.npy", "ground": False}, "--terrain and --no-ground exclude each other"),
    ("quadruped", {"srdf": "some.srdf"}, "add --self-collision"), ("chain", {"slope": 5.0}, "add --ground"),
    ("toy", {"slope": 5.0, "self_collision": True, "ground": False}, "add --ground"),
    ("toy", {"friction": 0.3, "ground": False}, "add --ground"),
    ("pendulum", {"ground": True}, "--ground: pendulum has no collision shapes"),
    ("pendulum", {"terrain": "bumps.npy"}, "--terrain: pendulum has no collision shapes"),
    ("pendulum", {"self_collision": True}, "--self-collision: pendulum has no collision shapes"),
    ("quadruped", {"algorithm": "cfa"}, "cfa does not"), ("shod", {"ground": True}, "--package-dir"),
)  # fmt: skip
FILES = ("controls", "controller", "terrain", "srdf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.write(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    """Runs without an option, by what they have instead."""
    return {}


def words(given: dict[str, Any]) -> Iterator[object]:
    """Options as they are typed."""
    for name, value in given.items():
        yield f"--{'no-' if value is False else ''}{name.replace('_', '-')}"
        yield from value if isinstance(value, list) else () if isinstance(value, bool) else (value,)


read = cache(engine.load)


def load(robot: Path, of: dict[str, Any]) -> engine.Model:
    model = read(robot, tuple(of["package_dir"]), of["floating"], not of["no_mimic"], False, of["srdf"])
    return model.with_gravity(of["gravity"])


def filled(robot: Path, given: dict[str, Any], folder: Path, rng: np.random.Generator) -> dict[str, Any]:
    """Options with the files that they name, and with as many numbers as the robot takes."""
    given |= {name: folder / given[name] for name in FILES if name in given}
    given |= {"package_dir": [folder / x for x in given["package_dir"]]} if "package_dir" in given else {}
    if "srdf" in given:
        never = combinations(read(robot).link_names[:4], 2)
        pairs = "".join(f'<disable_collisions link1="{one}" link2="{other}"/>' for one, other in never)
        given["srdf"].write_text(f'<robot name="{read(robot).name}">{pairs}</robot>')
    model, every = load(robot, defaults() | given), given.get("every", 1)
    if "controls" in given:
        steps = round(given["seconds"] / given.get("dt", 0.001) / every) * every
        shape = (model.nv,) if given["controls"].name == "held.npy" else (steps, model.nv)
        np.save(given["controls"], rng.normal(size=shape))
    for name, numbers in (("q", model.random(rng)), ("v", rng.normal(size=model.nv))):
        if given.get(name) == "numbers":
            given[name] = ",".join(map(str, numbers.tolist()))
    return given


def defaults() -> dict[str, Any]:
    return FIXED | {name: default for name, (default, *_) in RUNS.items()}


def scene_of(model: engine.Model, of: dict[str, Any]) -> engine.Scene | str | None:
    """Return the scene of a run; a text if its options exclude each other."""
    try:
        stands = engine.stands(model)
    except ValueError:  # of a mesh that is nowhere
        stands = any(joint.kind == "floating" for joint in model.joints)
    grounded = bool(of["terrain"] or stands) if of["ground"] is None else of["ground"]
    touches = grounded or of["self_collision"]
    if (
        (of["controller"] and (of["controls"] or of["batch"] > 1))
        or (of["terrain"] and (of["slope"] or not grounded))
        or (of["srdf"] and not of["self_collision"])
        or (of["slope"] and not grounded)
        or (of["friction"] is not None and not touches)
        or (touches and (not model.collisions or (model.name == "shod" and not of["package_dir"])))
    ):
        return "refused"
    heights = engine.HeightField(np.load(of["terrain"]), of["cell"]) if of["terrain"] else None
    ground = heights or engine.slope(np.radians(of["slope"])) if grounded else None
    friction = 0.8 if of["friction"] is None else of["friction"]
    scene = engine.Scene(ground, friction, self_collision=of["self_collision"]) if touches else None
    known = of["algorithm"] in ("auto", *engine.simulation_algorithms(model, "cpu", scene))
    return scene if known else "refused"


def simulation_of(model: engine.Model, scene: engine.Scene | None, of: dict[str, Any]) -> engine.Simulation:
    """The simulation that these options ask for; completes them by what suits the robot."""
    suggested = engine.suggested_step(model, of["hold"])
    of["dt"] = of["dt"] or (0.001 if of["controls"] else suggested.dt)
    of["integrator"] = suggested.integrator if of["integrator"] == "auto" else of["integrator"]
    if of["q"] == "random":
        q = model.random(np.random.default_rng(of["seed"]), of["batch"])
    else:
        q = model.neutral() if of["q"] == "neutral" else np.array(of["q"].split(","), float)
        q = np.broadcast_to(q, (1, model.nq))
    q = q if scene is None else np.stack([engine.put_down(model, scene, row) for row in q])
    v = np.broadcast_to(np.array(of["v"].split(","), float), model.nv)
    gains = [engine.holding_gains(model, of["dt"], of["integrator"], row) for row in q]
    kp, kd = map(np.stack, zip(*gains, strict=True)) if of["hold"] else (None, None)
    simulation = engine.Simulation(
        model, of["batch"], of["dt"], of["integrator"], of["algorithm"], limits=not of["no_limits"], q=q, v=v, kp=kp,
        kd=kd, scene=scene, on_divergence="raise" if of["batch"] == 1 else "freeze",
    )  # fmt: skip
    of["algorithm"] = simulation.algorithm
    return simulation


def stepped(simulation: engine.Simulation, of: dict[str, Any], out: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays that a run stores, and its reports, step by step."""
    model, every, drive = simulation.model, of["every"], {}
    if of["controller"]:
        exec(of["controller"].read_text(), drive)
    steps = round(of["seconds"] / of["dt"] / every) * every
    controls = np.zeros((steps, model.nv)) + (np.load(of["controls"]) if of["controls"] else 0)
    energy, states = [float(np.sum(np.add(*simulation.energy())))], [simulation.state()]
    for tau in controls:
        if drive:
            tau[:] = drive["control"](simulation.time, simulation.q[0], simulation.v[0])
        simulation.tau[:] = tau
        simulation.step()
        states.append(simulation.state())
    energy.append(float(np.sum(np.add(*simulation.energy()))))
    q, v = (np.stack(x, 1)[:, ::every] for x in zip(*states, strict=True))
    tau = np.broadcast_to(np.vstack([controls[:1], controls])[::every], v.shape)
    kept = {name: x[0] if of["batch"] == 1 else x for name, x in (("q", q), ("v", v), ("tau", tau))}
    names = {"joint_names": model.joint_names, "coordinate_names": model.coordinate_names}
    told = {name: of[name] for name in ("integrator", "dt", "batch", "device", "dtype", "algorithm")} | {
        "robot": model.name, "why": simulation.why, "steps": steps, "simulated_seconds": steps * of["dt"],
        "energy_start_J": energy[0], "energy_end_J": energy[1], "energy_drift_J": energy[1] - energy[0],
        "failure": None, "trajectory": str(out),
    }  # fmt: skip
    return kept | names | ({"controls": controls} if of["controls"] or drive else {}), told


def held_to_the_engine(robot: Path, given: dict[str, Any], out: Path) -> dict[str, Any] | None:
    """Run the command; return its output and the engine's result, or None if it must refuse."""
    status, said, errors = called("run", robot, *words(given), "--out", out, "--json")
    of = defaults() | given
    model = load(robot, of)
    scene = scene_of(model, of)
    if isinstance(scene, str):
        assert (status, said, out.exists()) == (2, "", False)
        return None
    # On a busy machine a controller that starts late is reported, and it changes the time alone.
    late = of["controller"] and LATE_LOADING.format(Path(str(of["controller"])).name)
    lines = [line for line in errors.splitlines() if not (late and line.startswith(late))]
    assert (status, lines) == (0, [str(found) for found in model.diagnostics])
    simulation = simulation_of(model, scene, of)
    expected, tells = stepped(simulation, of, out)
    expected |= how_made(simulation)
    told = json.loads(said)
    assert {name: told[name] for name in tells} == tells
    with np.load(out) as file:
        arrays = dict(file)
    settings = json.loads(str(arrays.pop("settings")))
    texts = {name: of[name] and str(of[name]) for name in FILES} | {"package_dir": [str(x) for x in of["package_dir"]]}
    own = {"robot": str(robot.resolve()), "catena": engine.__version__, "format": FORMAT}
    assert settings == of | texts | own
    np.testing.assert_allclose(arrays.pop("time"), np.arange(told["steps"] + 1)[:: of["every"]] * of["dt"], rtol=1e-14)
    assert arrays.keys() == expected.keys()
    for name, x in expected.items():
        np.testing.assert_array_equal(arrays[name], x, err_msg=name)
    status, said, _ = called("repeat", out, "--json")
    assert (status, json.loads(said)["same"], json.loads(said)["steps"]) == (0, True, told["steps"])
    return {name: arrays[name].tobytes() for name in ("q", "v", "tau")}


def test_every_option_of_run_is_held_to_the_engine():
    assert set(defaults()) | {"help", "robot", "json", "out"} == set(page_text.defaults("run"))


@pytest.mark.parametrize(("option", "case"), [(option, case) for option, (_, *cases) in RUNS.items() for case in cases])
def test_each_option_of_run_alone_does_what_the_engine_does(
    option: str, case: Any, folder: Path, plain: dict[str, Any], tmp_path: Path
):
    """And changes the run."""
    robot, besides = toys.source(case[0], folder), ({} if option == "seconds" else {"seconds": 0.013}) | case[1]
    name = f"{robot.stem} {besides}"
    if name not in plain:
        given = filled(robot, dict(besides), folder, np.random.default_rng(1))
        plain[name] = held_to_the_engine(robot, given, tmp_path / "plain.npz")
    given = filled(robot, besides | {option: case[2]}, folder, np.random.default_rng(1))
    changed = held_to_the_engine(robot, given, tmp_path / "run.npz")
    assert changed is not None
    assert changed != plain[name]


@pytest.mark.parametrize(("robot", "given", "why"), REFUSED)
def test_options_of_run_that_exclude_each_other_are_refused(robot: str, given: dict[str, Any], why: str, folder: Path):
    path = toys.source(robot, folder)
    given = filled(path, {"seconds": 0.01} | given, folder, np.random.default_rng(1))
    assert held_to_the_engine(path, given, folder / "refused.npz") is None
    assert why in called("run", path, *words(given))[2]


def test_options_of_run_together_do_what_the_engine_does(folder: Path, tmp_path: Path, chance: np.random.Generator):
    done = 0
    for k in count():
        name = ("toy", "shod", "quadruped", "arm7", "chain")[k % 5]
        given: dict[str, Any] = {
            option: cases[chance.integers(len(cases))][2]
            for option, (_, *cases) in RUNS.items()
            if chance.random() < (0.02 if option == "controller" else 0.2)
        }
        given["seconds"] = float(chance.uniform(0.005, 0.02))
        if name in ("quadruped", "chain"):
            given.pop("floating", None)  # one floats by itself, the other's base has no mass
        robot = toys.source(name, folder)
        given = filled(robot, given, folder, chance)
        print(*words(given))
        done += held_to_the_engine(robot, given, tmp_path / f"{k}.npz") is not None
        if done == 8:
            break
