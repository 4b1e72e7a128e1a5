"""Runs of studies: a sample's bits, kept quantities, divergence."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from small_studies import PUSHED, SWUNG, named, planned, same, undisturbed

import engine
from engine import cli
from engine.study import batch as batches
from engine.study import study
from engine.study.processes import Processes

pytest.importorskip("pyarrow", reason="pyarrow is not installed; studies' results are Parquet")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """The pushed quadruped, each sample alone in this process."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.parametrize(("processes", "batch"), [(0, None), (0, 3), (1, 2), (2, None)])
def test_no_bit_depends_on_batches_or_processes(
    processes: int, batch: int | None, alone: dict[str, np.ndarray], tmp_path: Path
) -> None:
    now = engine.Study.read(named(tmp_path)).run(tmp_path / "r", processes=processes, batch=batch)
    assert (now.done, now.samples, now.diverged) == (12, 12, 0)
    assert same(engine.Study.results(tmp_path / "r"), alone)
    assert len(list((tmp_path / "r").glob("samples/part-*"))) == {None: 3, 3: 6, 2: 6}[batch]


def test_what_is_kept_is_what_the_engines_own_simulation_comes_to(tmp_path: Path) -> None:
    """One sample is stepped by hand, with the push rotated to the link's frame at each step."""
    made = engine.Study.read(named(tmp_path))
    sample = 5
    made.run(tmp_path / "r", processes=0)
    found = {name: column[sample] for name, column in engine.Study.results(tmp_path / "r").items()}
    model, dt = engine.load(engine.find_robot("quadruped")), 0.005
    scene, q = engine.Scene(friction=0.8), model.neutral()
    q = engine.put_down(model, scene, q)
    kp, kd = engine.holding_gains(model, dt, "implicit", q)
    q[model.q_slice("FL_thigh_joint")] = found["FL_thigh_joint position"]
    q = engine.put_down(model, scene, q)
    p = engine.Parameters(model, 1)
    p.mass *= found["mass"]
    p.first_moment *= found["mass"]
    p.inertia *= found["mass"]
    angle = np.radians(found["slope"])
    p.gravity[:] = 9.81 * np.array([np.sin(angle), 0, -np.cos(angle)])
    simulation = engine.Simulation(
        model, 1, dt, "implicit", found_algorithm(tmp_path), q=q, kp=kp, kd=kd, parameters=p, scene=scene
    )
    trunk, shank, foot = (model.link_names.index(name) for name in ("trunk", "FL_shank", "FL_foot"))
    begin = round(found["shove begin"] / dt), round((found["shove begin"] + 0.03) / dt)
    energy, heights, speeds, forces = [], [], [], []

    def look() -> None:
        (kinetic,), (potential,) = simulation.energy()
        energy.append(kinetic + potential)
        heights.append(engine.link_poses(model, simulation.q)[0, trunk, 2, 3])
        speeds.append(np.linalg.norm(engine.link_twists(model, simulation.q, simulation.v)[0, foot, 3:]))
        touches = simulation.contacts.of_robot(0)
        forces.append(touches.impulse[0, :, 2].sum() / dt)

    for step in range(20):
        if step % 2 == 0:
            look()
        simulation.wrench[:] = 0
        R = engine.link_poses(model, simulation.q)[0, :, :3, :3]
        way = np.radians(found["push direction"])
        if 4 <= step < 24:
            force = R[trunk].T @ [60 * np.cos(way), 60 * np.sin(way), 0]
            simulation.wrench[0, trunk] = [*np.cross([0.05, 0, 0.02], force), *force]
        if begin[0] <= step < begin[1]:
            simulation.wrench[0, shank, 3:] = R[shank].T @ [5, 0, 0]
        simulation.step()
    look()
    assert found["trunk position z min"] == pytest.approx(min(heights), rel=1e-9)
    assert found["low"] == (min(heights) < 0.312)
    assert found["FL_foot |velocity| mean"] == pytest.approx(np.mean(speeds), rel=1e-6)
    assert found["contact force z max"] == pytest.approx(max(forces), rel=1e-6)
    assert found["total energy change"] == pytest.approx(energy[-1] - energy[0], rel=1e-6)
    (v,) = range(*model.v_slice("FL_thigh_joint").indices(model.nv))
    assert found["FL_thigh_joint torque"] == pytest.approx(simulation.effort[0, v], rel=1e-6)
    assert found["contacts"] == simulation.contacts.number[0] > 0
    assert found["diverged"] == False  # noqa: E712
    path = made.trajectory(sample)
    assert np.abs(path.q[-1] - simulation.q[0]).max() < 1e-9
    assert path.time.tolist() == pytest.approx(np.arange(11) * 0.01)


def found_algorithm(folder: Path) -> str:
    ((algorithm, device),) = json.loads((folder / "r" / "study.json").read_text())["decided"].values()
    assert device == "cpu"
    return str(algorithm)


def test_a_batch_that_does_not_fit_into_memory_is_stepped_in_parts(
    alone: dict[str, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def made(model: engine.Model, count: int, *how: object, **named: object) -> engine.Simulation:
        sizes.append(count)
        if count > most:
            raise MemoryError("it needs more than there is")
        return engine.Simulation(model, count, *how, **named)  # type: ignore[arg-type]

    most = 2
    monkeypatch.setattr(batches, "Simulation", made)
    engine.Study.read(named(tmp_path)).run(tmp_path / "r", processes=0)
    assert sizes[:3] == [4, 2, 1]  # of the second those of the trajectory that is kept
    assert same(engine.Study.results(tmp_path / "r"), alone)
    most = 0
    with pytest.raises(MemoryError, match="more than there is"):
        engine.Study.read(named(tmp_path)).run(tmp_path / "none", processes=0)


def test_threads_that_share_a_robot_are_those_that_the_study_began_with(tmp_path: Path) -> None:
    """DCA-ABA divides a long chain by the number of threads, which affects rounding."""
    text = (
        'robot = "chain:600"\nalgorithm = "dca"\ndevice = "cpu"\nseconds = 0.01\n[[keep]]\nquantity = "total energy"\n'
    )
    text += '[[vary]]\nwhat = "velocity"\nof = "joint3"\nvalues = [1.0, 2.0]\n'
    file = named(tmp_path, text)
    engine.Study.read(file).run(tmp_path / "r", processes=0)
    description, plan = planned(file)
    plan.decided = json.loads((tmp_path / "r" / "study.json").read_text())["decided"]
    (decided,) = plan.decided.values()
    assert decided[:2] == ["dca", "cpu"]
    group = plan.group({})
    task = next(plan.tasks(np.ones(2, bool), lambda *_: 2))[1]
    there = engine.Study.results(tmp_path / "r")["total energy"].tobytes()
    for threads in (1, 2, 3):
        found = batches.simulate(description, group, task, threads)
        assert found.columns["total energy"].tobytes() == there
    other = dataclasses.replace(group, threads=group.threads + 1)
    assert batches.simulate(description, other, task).columns["total energy"].tobytes() != there


def test_trajectories_that_are_kept_are_those_of_the_sample(tmp_path: Path) -> None:
    made = engine.Study.read(named(tmp_path))
    made.run(tmp_path / "r", processes=0)
    files = sorted((tmp_path / "r").glob("*.npz"))
    assert [file.name for file in files] == ["trajectory-0000000001.npz", "trajectory-0000000009.npz"]
    for file, sample in zip(files, (1, 9), strict=True):
        kept, again = engine.read_run(file).trajectory, made.trajectory(sample)
        assert kept.q.tobytes() == again.q.tobytes()
        assert kept.v.tobytes() == again.v.tobytes()


def test_repeat_says_how_the_run_of_a_sample_is_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine.Study.read(named(tmp_path)).run(tmp_path / "r", processes=0)
    assert cli.main(["repeat", str(tmp_path / "r" / "trajectory-0000000009.npz")]) == 2
    output = capsys.readouterr().err
    assert "was written by a study, without the inputs of its steps; repeat sample 9 by Open run" in output


@pytest.mark.parametrize("processes", [0, 2])
def test_a_robot_that_diverges_is_a_result(processes: int, tmp_path: Path) -> None:
    engine.Study.read(named(tmp_path, SWUNG)).run(tmp_path / "r", processes=processes)
    found = engine.Study.results(tmp_path / "r")
    assert found["diverged"].tolist() == [False, True, False, False]
    assert 0 < found["diverged_at"][1] <= 0.3
    assert np.isnan(found["diverged_at"][[0, 2, 3]]).all()
    assert np.isnan(found["elbow position"]).tolist() == [False, True, False, False]
    assert not found["bent"][1]
    import pyarrow.parquet

    (part,) = (tmp_path / "r").glob("samples/*.parquet")
    table = pyarrow.parquet.read_table(part)
    assert [table[name].null_count for name in ("elbow position", "bent", "diverged_at")] == [1, 1, 3]


def test_batches_grow_until_they_take_seconds_and_leave_no_seat_without(tmp_path: Path) -> None:
    description, plan = planned(named(tmp_path, PUSHED.replace("samples = 4", "samples = 4000")))
    plan.decided = Processes(description, 1).decide(plan)
    group = plan.group({name: x[0] for name, x in plan.sampling.values(np.array([0])).items()})

    class Seats:
        seats = 4

    many = study.BatchSizes(None, type("Many", (), {"seats": 1000})(), 10**6)
    sizes, found = study.BatchSizes(None, Seats(), 12000), []  # type: ignore[arg-type]
    for seconds in (0.1, 0.1, 0.4, 4.0, 8.0):
        count = sizes.next(group, 4000)
        found.append(count)
        task = type("Task", (), {"samples": np.zeros(count)})
        sizes.learn(group, type("Batch", (), {"task": task, "seconds": seconds}))  # type: ignore[arg-type]
    assert found == [16, 64, 256, 1024, 1024]
    assert sizes.next(group, 4000) == 512
    task = type("Task", (), {"samples": np.zeros(256)})
    many.learn(group, type("Batch", (), {"task": task, "seconds": 16.0}))
    assert many.next(group, 4000) == 533  # for 33 s: 30 batches a second of 1000 seats
    assert study.BatchSizes(None, Seats(), 100).next(group, 100) == 16  # type: ignore[arg-type]
    assert study.BatchSizes(5, Seats(), 100).next(group, 100) == 5  # type: ignore[arg-type]


def test_gravity_is_the_study_s_or_varies(tmp_path: Path) -> None:
    model = engine.load(engine.find_robot("pendulum"))
    (joint,) = model.joint_names
    content = {
        "robot": "pendulum", "seconds": 0.1, "integrator": "rk4", "start": {joint: 0.5}, "gravity": [0, 0, -1.62],
        "keep": [{"quantity": f"{joint} velocity"}],
    }  # fmt: skip
    varied = content | {"vary": [{"what": "gravity", "values": [0.0, 1.62, 9.81]}]}
    engine.Study(content).run(tmp_path / "one", processes=0)
    engine.Study(varied).run(tmp_path / "three", processes=0)
    (name,) = engine.Study(content).kept
    (moon,), three = (engine.Study.results(tmp_path / folder)[name] for folder in ("one", "three"))
    for gravity, found in zip((0.0, 1.62, 9.81), three, strict=True):
        under = model.with_gravity((0, 0, -gravity))
        expected = engine.rollout(under, [0.5], steps=100, integrator="rk4").v[-1, 0]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert moon == pytest.approx(three[1], rel=1e-12)
