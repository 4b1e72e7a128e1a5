"""Recordings: states and inputs of a run; from any frame it can be simulated again to the bit."""

import itertools

import numpy as np
import pytest

import engine
from engine.recording.packing import alike, pack, unpack


def bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view(f"u{x.itemsize}")


def assert_same(computed: engine.Checkpoint, recorded: engine.Checkpoint) -> None:
    """State and inputs agree to the bit."""
    assert computed.steps == recorded.steps
    for name in ("q", "v", "tau", "target", "wrench"):
        a, b = getattr(computed, name), getattr(recorded, name)
        assert (a is None) == (b is None), name
        if a is not None:
            np.testing.assert_array_equal(bits(a), bits(b), err_msg=name)


def standing(name: str, batch: int = 1, **options: object) -> engine.Simulation:
    """A robot that ships, held as it stands."""
    model = engine.load(engine.find_robot(name))
    scene = engine.Scene() if any(joint.kind == "floating" for joint in model.joints) else None
    q = model.neutral() if scene is None else engine.put_down(model, scene, model.neutral())
    kp, kd = engine.holding_gains(model, 1e-3)
    return engine.Simulation(model, batch, q=np.tile(q, (batch, 1)), kp=kp, kd=kd, scene=scene, device="cpu", **options)


def drive(simulation: engine.Simulation, recording: engine.Recording, seconds: float, rng: np.random.Generator) -> None:
    """Run it as a window does, in bursts, a frame about every 16 ms; hands drag it, efforts and targets change."""
    driven = np.flatnonzero(simulation.model.q_of_v >= 0)
    end = simulation.time + seconds
    while simulation.time < end:
        for _ in range(rng.integers(1, 4)):
            if rng.random() < 0.1:
                simulation.tau[:, driven] = rng.normal(size=len(driven))
            if rng.random() < 0.05:
                simulation.target[:, driven] += 0.1 * rng.normal(size=len(driven))
            if simulation.time > 0.1 * seconds and rng.random() < 0.1:
                simulation.wrench[:] = 0.0
                simulation.wrench[:, rng.integers(len(simulation.model.link_names))] = 4 * rng.normal(size=6)
            recording.note(simulation)
            simulation.step(int(rng.integers(1, 9)))
        recording.add(simulation)


@pytest.mark.parametrize("seconds", [5.0, pytest.param(60.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["arm7", "quadruped"])
def test_fifty_frames_of_a_run_run_again_to_the_same_bits(name, seconds, rng):
    """Efforts, targets and drags included; each to the next ten frames, the first two to the end."""
    simulation, recording = standing(name), engine.Recording()
    recording.begin(simulation)
    drive(simulation, recording, seconds, rng)
    (run,) = recording.runs
    assert recording.span(run) == (0.0, simulation.time)
    assert recording.bytes < recording.budget
    chosen = rng.choice(np.arange(run.first, run.last), 50, replace=False)
    for number, index in enumerate(chosen):
        again = recording.resimulate(run, int(index))
        compared = 0
        for where, computed in again if number < 2 else itertools.islice(again, 10):
            assert_same(computed, recording.frame(run, where).checkpoint)
            compared += 1
        assert compared == (run.last - index if number < 2 else min(10, run.last - index))


@pytest.mark.parametrize(
    ("algorithm", "integrator"),
    [("abia", "rk4"), ("jsiia", "semi-implicit"), ("cfa", "implicit"), ("dca", "semi-implicit")],
)
def test_every_algorithm_and_integrator_runs_again(algorithm, integrator, rng):
    model = engine.chain(40, seed=3)
    simulation = engine.Simulation(
        model, 2, dt=1e-4, algorithm=algorithm, integrator=integrator, device="cpu", q=model.random(rng, 2)
    )
    recording = engine.Recording()
    recording.begin(simulation)
    drive(simulation, recording, 0.05, rng)
    (run,) = recording.runs
    for index in (0, len(run) // 2):
        for where, computed in recording.resimulate(run, index):
            assert_same(computed, recording.frame(run, where).checkpoint)


def test_a_checkpoint_of_another_scene_is_refused_and_nothing_is_changed():
    simulation = standing("quadruped")
    simulation.step(300)
    kept = simulation.checkpoint()
    simulation.step(20)
    before = simulation.checkpoint()
    flying = engine.Simulation(simulation.model).checkpoint()
    for other, text in (
        (flying, "made in another scene, or on another device"),
        (kept._replace(contact=kept.contact[:-1]), "made in another scene, or on another device"),
        (kept._replace(contact=(kept.contact[0][:, :-1], *kept.contact[1:])), "made in another scene"),
        (kept._replace(wrench=np.zeros((1, 2, 6))), r"the checkpoint's wrench has shape \(1, 2, 6\)"),
    ):
        with pytest.raises(ValueError, match=text):
            simulation.restore(other)
        assert_same(simulation.checkpoint(), before)
    with pytest.raises(ValueError, match=r"the checkpoint's q has shape \(1, 19\); this simulation's is \(1, 7\)"):
        standing("arm7").restore(before)
    assert not simulation.takes_wrenches


def test_without_its_impulses_a_robot_on_the_ground_would_go_another_way():
    """The solver's warm start is part of the state, as the bits show."""
    simulation = standing("quadruped")
    simulation.step(300)
    before, other = simulation.checkpoint(), standing("quadruped")
    other.restore(before._replace(contact=tuple(np.zeros_like(x) for x in before.contact)))
    for each in (simulation, other):
        each.step(50)
    assert not np.array_equal(bits(other.v), bits(simulation.v))


def test_a_frame_put_by_hand_begins_anew_when_resimulated(rng):
    simulation, recording = standing("arm7"), engine.Recording()
    recording.begin(simulation)
    drive(simulation, recording, 0.1, rng)
    recording.add(simulation)
    simulation.q[0, 0] += 0.5
    recording.add(simulation)
    drive(simulation, recording, 0.1, rng)
    (run,) = recording.runs
    placed = [index for index in range(1, run.last + 1) if recording.frame(run, index).begins]
    assert len(placed) >= 1
    for where, computed in recording.resimulate(run, 0):
        assert_same(computed, recording.frame(run, where).checkpoint)


def test_a_run_goes_on_by_another_simulation(rng):
    """Another step and integrator, as when the user chooses them while it plays."""
    recording, first = engine.Recording(), standing("arm7")
    recording.begin(first, about="first")
    drive(first, recording, 0.1, rng)
    second = engine.Simulation(first.model, dt=5e-4, integrator="rk4", q=first.q, v=first.v, device="cpu")
    recording.go_on(second, first.time, about="second")
    drive(second, recording, 0.1, rng)
    (run,) = recording.runs
    assert recording.frame(run, 0).setup.about == "first"
    assert recording.frame(run, run.last).setup.about == "second"
    assert recording.frame(run, run.last).time == pytest.approx(first.time + second.time)
    times = [recording.frame(run, index).time for index in range(run.first, run.last + 1)]
    assert times == sorted(times)
    for where, computed in recording.resimulate(run, 1):
        assert_same(computed, recording.frame(run, where).checkpoint)


@pytest.mark.parametrize("changed", [False, True])
def test_a_branch_takes_the_place_of_a_run_without_steps(rng, changed):
    recording, simulation = engine.Recording(), standing("arm7")
    recording.begin(simulation)
    drive(simulation, recording, 0.2, rng)
    (run,), before = recording.runs, recording.bytes
    recording.begin(standing("arm7"))
    if changed:
        recording.go_on(standing("arm7", integrator="rk4"), 0.0)
    branch = recording.branch(run, 3)
    assert recording.runs == (run, branch)
    assert branch.number == 2
    assert recording.bytes == before
    recording.branch(run, 2)
    assert len(recording.runs) == 3, "a branch stays, whatever it has"


def test_the_oldest_frames_go_when_there_is_no_room(rng):
    recording, simulation = engine.Recording(budget=200_000), standing("arm7")
    recording.begin(simulation)
    drive(simulation, recording, 0.5, rng)
    simulation.reset()
    recording.begin(simulation)
    most = 0
    for _ in range(10):
        drive(simulation, recording, 1.0, rng)
        most = max(most, recording.bytes)
    (run,) = recording.runs
    assert most <= recording.budget
    assert run.number == 2
    assert run.first > 0
    assert recording.span(run)[1] == simulation.time
    assert recording.at(run, 0.0) == run.first
    assert recording.at(run, simulation.time) == run.last
    with pytest.raises(IndexError, match=f"frame 0 is not recorded; there are {run.first} to {run.last}"):
        recording.frame(run, 0)
    for where, computed in recording.resimulate(run, run.first):
        assert_same(computed, recording.frame(run, where).checkpoint)
    recording.budget = 20_000
    assert recording.bytes <= 20_000
    assert len(run) > 1


def test_the_bytes_told_are_those_taken(rng):
    """Within a fifth of what the allocator gave, from which tuples that Python keeps for later would take some."""
    import gc
    import tracemalloc

    recording, simulation = engine.Recording(), standing("quadruped")
    recording.begin(simulation)
    drive(simulation, recording, 0.1, rng)
    before = recording.bytes
    gc.collect()
    tracemalloc.start()
    drive(simulation, recording, 4.0, rng)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert recording.bytes - before == pytest.approx(taken, rel=0.2)


def test_what_acts_between_two_frames_is_told():
    recording, simulation = engine.Recording(), standing("arm7")
    recording.begin(simulation)
    for value in (1.0, 2.0, 2.0):
        simulation.tau[0, 3] = value
        recording.note(simulation)
        simulation.step(5)
    recording.add(simulation)
    (run,) = recording.runs
    reported = recording.changes(run, 1)
    assert [(steps, tau[0, 3]) for steps, tau, _, _ in reported] == [(0, 1.0), (5, 2.0)]
    assert recording.frame(run, 1).checkpoint.tau[0, 3] == 2.0


@pytest.mark.parametrize("shape", [(3, 4), (2, 5, 3), (1, 0, 6), (4, 1)])
def test_rows_are_packed_and_unpacked_to_the_bit(shape, rng):
    x = rng.normal(size=shape) * (rng.random(shape[:-1]) < 0.4)[..., None]
    if x.size:
        x.flat[0] = -0.0
    np.testing.assert_array_equal(bits(unpack(pack(x), shape)), bits(x))


def test_equal_rows_are_kept_once():
    assert alike(np.ones((4, 3))).shape == (1, 3)
    assert alike(np.array([[0.0], [-0.0]])).shape == (2, 1)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["arm7", "quadruped"])
def test_a_run_on_the_gpu_runs_again_to_the_same_bits(name, dtype, rng):
    """Efforts and drags included; the quadruped falls freely."""
    model = engine.load(engine.find_robot(name))
    simulation = engine.Simulation(model, 3, q=model.random(rng, 3), device="cuda", dtype=dtype)
    recording = engine.Recording()
    recording.begin(simulation)
    for number in range(30):
        simulation.tau[:] = simulation.array(rng.normal(size=(3, model.nv)))
        if number > 10:
            simulation.wrench[:] = simulation.array(rng.normal(size=(3, len(model.link_names), 6)))
        recording.note(simulation)
        simulation.step(int(rng.integers(1, 9)))
        recording.add(simulation)
    (run,) = recording.runs
    for where, computed in recording.resimulate(run, 4):
        assert_same(computed, recording.frame(run, where).checkpoint)
