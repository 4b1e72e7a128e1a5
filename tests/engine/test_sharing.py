"""Pickling, copying and forking, and objects common to several threads or processes."""

import copy
import dataclasses
import multiprocessing
import pickle
import threading

import numpy as np
import pytest

import engine

TRAVELS = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy, "copy": copy.copy}
every_way = pytest.mark.parametrize("travel", TRAVELS.values(), ids=TRAVELS)


@pytest.mark.parametrize("name", ["scara", "quadruped"])
@every_way
def test_a_model_that_was_pickled_or_copied_is_the_same_and_never_changes(name, travel, rng):
    model = engine.load(engine.find_robot(name))
    other = travel(model)
    for key in ("mass", "inertia", "lower", "parent", "gravity"):
        np.testing.assert_array_equal(getattr(other, key), getattr(model, key))
        with pytest.raises(ValueError, match="read-only"):
            getattr(other, key)[0] = 1
    q, v = model.random(rng, 2), rng.uniform(-1, 1, (2, model.nv))
    answers = []
    for robot in (model, other):
        simulation = engine.Simulation(robot, 2, q=q, v=v)
        simulation.step(50)
        answers.append(simulation.q.tobytes())
    assert answers[0] == answers[1]
    assert (other.joint_names, other.diagnostics) == (model.joint_names, model.diagnostics)


@pytest.mark.parametrize("whose", ["Model", "Joint", "Collision"])
@pytest.mark.parametrize("lacks", [True, False], ids=["lacks a field", "has another"])
def test_a_pickled_model_of_another_version_is_refused_in_one_sentence(monkeypatch, whose, lacks):
    kind, name = {"Model": (engine.Model, "mass"), "Joint": (engine.Joint, "leader")}.get(
        whose, (engine.Collision, "link")
    )
    name = name if lacks else "colour"

    def of_another_version(self):
        state = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}
        return {k: x for k, x in state.items() if k != name} if lacks else state | {name: 1}

    monkeypatch.setattr(kind, "__getstate__", of_another_version)
    text = pickle.dumps(engine.load(engine.find_robot("arm7")))
    monkeypatch.undo()
    with pytest.raises(
        engine.ModelError, match=rf"another version of Catena, .* {whose}\.{name}; load the robot's file"
    ):
        pickle.loads(text)


def swinging() -> engine.Simulation:
    return engine.Simulation(engine.load(engine.find_robot("arm7")), v=np.ones(7), integrator="rk4", kp=9.0, dt=5e-4)


def standing() -> engine.Simulation:
    """Three of which no two are alike, pushed, on bumps."""
    model = engine.load(engine.find_robot("quadruped"))
    heights = 0.01 * np.sin(np.arange(81.0)).reshape(9, 9)
    scene = engine.Scene(ground=engine.HeightField(heights, 0.5), friction=0.7)
    parameters = engine.Parameters(model, 3)
    parameters.mass[1] *= 1.2
    parameters.gravity[2] *= 0.5
    q = engine.put_down(model, scene, model.neutral())
    simulation = engine.Simulation(model, 3, q=q, parameters=parameters, scene=scene, kp=20.0, kd=1.0, threads=2)
    simulation.wrench[:, 0, 3] = 5.0
    return simulation


def diverging() -> engine.Simulation:
    """Return a batch whose second robot is frozen."""
    model = engine.load(engine.find_robot("double_pendulum"))
    v = np.array([[1.0, 1.0], [1e200, 1e200], [0.5, 0.0]])
    return engine.Simulation(model, 3, v=v, on_divergence="freeze")


def long() -> engine.Simulation:
    """Whose one robot threads share."""
    return engine.Simulation(engine.chain(400), v=np.full(400, 0.1), algorithm="dca", threads=2)


@pytest.mark.parametrize("make", [swinging, standing, diverging, long])
@every_way
def test_a_simulation_that_was_pickled_or_copied_goes_on_to_the_same_bits(make, travel):
    simulation = make()
    simulation.tau[:] = 0.01
    simulation.step(20)
    before = simulation.q.tobytes()
    other = travel(simulation)
    assert (other.why, other.threads, other.steps) == (simulation.why, simulation.threads, 20)
    np.testing.assert_array_equal(other.diverged, simulation.diverged)
    other.step(100)
    assert simulation.q.tobytes() == before != other.q.tobytes(), "they share their state"
    simulation.step(100)
    assert (other.q.tobytes(), other.v.tobytes()) == (simulation.q.tobytes(), simulation.v.tobytes())
    assert other.time == simulation.time


@every_way
@pytest.mark.parametrize(("algorithm", "batch"), [("abia", 1), ("abia", 64), ("dca", 1)])
def test_forward_dynamics_that_were_pickled_or_copied_have_buffers_of_their_own(travel, algorithm, batch, rng):
    model = engine.chain(300)
    ones, others = rng.uniform(-1, 1, (2, 3, batch, 300)) * 0.1
    fd = engine.ForwardDynamics(model, batch, algorithm, "cpu", threads=2)
    other = travel(fd)
    assert (other.why, other.algorithm) == (fd.why, fd.algorithm)
    expected = {fd(*ones).tobytes(), fd(*others).tobytes()}
    answers, reported = crowd_of([lambda: fd(*ones).tobytes(), lambda: other(*others).tobytes()], times=30)
    assert (set(answers), reported) == (expected, [])


@every_way
def test_a_scene_that_was_pickled_or_copied_is_the_same_and_never_changes(travel):
    heights, box = engine.HeightField(np.eye(3), 0.5), engine.Obstacle("box", (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    other = travel(engine.Scene(ground=heights, friction=0.3, obstacles=(box,), self_collision=True))
    assert (other.friction, other.self_collision, other.ground.cell) == (0.3, True, 0.5)
    assert other.ground.origin == heights.origin
    assert (other.obstacles[0].shape, other.obstacles[0].size) == ("box", (1.0, 2.0, 3.0))
    for array, expected in ((other.ground.heights, heights.heights), (other.obstacles[0].pose, box.pose)):
        np.testing.assert_array_equal(array, expected)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_what_a_run_leaves_is_pickled_and_copied(rng):
    simulation, recording = standing(), engine.Recording()
    recording.begin(simulation)
    for _ in range(3):
        recording.note(simulation)
        simulation.step(5)
        recording.add(simulation)
    frame = recording.frame(recording.runs[0], 2)
    model = simulation.model
    trajectory = engine.rollout(model, model.neutral(), controls=rng.uniform(-1, 1, (5, model.nv)))
    for travel in TRAVELS.values():
        there = travel(frame)
        again = there.setup.simulation()
        again.restore(there.checkpoint)
        again.step(5)
        assert again.q.tobytes() == simulation.q.tobytes()
        for name in ("time", "q", "v", "tau"):
            np.testing.assert_array_equal(getattr(travel(trajectory), name), getattr(trajectory, name))


@every_way
def test_what_holds_a_process_or_a_lock_says_what_to_do_instead(travel, tmp_path):
    path = tmp_path / "still.py"
    path.write_text("def control(t, q, v):\n    return 0 * v\n")
    simulation = swinging()
    with engine.Controller(path, simulation.model) as controller:
        with pytest.raises(TypeError, match=r"a Controller cannot be .*: make another of the same file, Controller"):
            travel(controller)
        controller(0.0, simulation.q[0], simulation.v[0])  # as before
    with pytest.raises(TypeError, match="a Recording cannot be pickled or copied; write its runs with save_run"):
        travel(engine.Recording())
    with pytest.raises(TypeError, match="a Compilation cannot be pickled or copied; it is a process"):
        travel(engine.Compilation(simulation))


def _step_on(simulation, queue):
    simulation.step(50)
    queue.put(simulation.q.tobytes())


def _answer(fd, arguments, queue):
    queue.put(fd(*arguments).tobytes())


def in_child(how, work, *arguments) -> bytes:
    """Return the result of a child process started in this way."""
    context = multiprocessing.get_context(how)
    queue = context.Queue()
    child = context.Process(target=work, args=(*arguments, queue))
    child.start()
    try:
        answer = queue.get(timeout=60)
        child.join(60)
        assert child.exitcode == 0, "it has not come to its own end"
        return answer
    finally:
        child.kill()


def many() -> engine.Simulation:
    return engine.Simulation(engine.load(engine.find_robot("arm7")), 64, v=np.ones(7), threads=2)


def branched() -> engine.Simulation:
    return engine.Simulation(engine.tree(300, seed=2), v=np.full(300, 0.1), algorithm="dca", threads=2)


WAYS = sorted(set(multiprocessing.get_all_start_methods()) & {"fork", "spawn"})
with_forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@with_forks
@pytest.mark.parametrize(
    ("how", "make"),
    [(how, make) for how in WAYS for make in (many, standing, long, branched) if how == "fork" or make is standing],
)
def test_a_child_process_goes_on_with_a_simulation(how, make):
    """A fork without the threads that the simulation had, which stay behind."""
    simulation = make()
    simulation.step(20)
    there = in_child(how, _step_on, simulation)
    simulation.step(50)
    assert there == simulation.q.tobytes()


@with_forks
@pytest.mark.skipif("fork" not in WAYS, reason="there is no fork here")
@pytest.mark.parametrize(("algorithm", "batch"), [("abia", 256), ("dca", 1)])
@pytest.mark.parametrize("make", [engine.chain, engine.tree])
def test_a_fork_calls_forward_dynamics_whose_threads_it_does_not_have(make, algorithm, batch, rng):
    arguments = rng.uniform(-1, 1, (3, batch, 300)) * 0.1
    fd = engine.ForwardDynamics(make(300), batch, algorithm, "cpu", threads=2)
    expected = fd(*arguments).tobytes()
    assert in_child("fork", _answer, fd, arguments) == expected


def _sum(model, queue):
    simulation = engine.Simulation(model, 9)
    simulation.step(50)
    queue.put(simulation.q.tobytes())


@with_forks
@pytest.mark.parametrize("how", WAYS)
def test_a_child_process_steps_to_the_same_bits(how):
    """Also where the parent has stepped, and has threads that the child has not."""
    model = engine.load(engine.find_robot("arm7"))
    simulation = engine.Simulation(model, 9, threads=2)
    simulation.step(50)
    assert in_child(how, _sum, model) == simulation.q.tobytes()


def crowd(work, threads=6):
    """Return the results of `work` in each of `threads` threads, and the messages."""
    return crowd_of([work] * threads)


def crowd_of(works, times=150):
    """Return the results of one thread for each of `works`, and the messages."""
    answers, reported, ready = [], [], threading.Barrier(len(works))

    def one(work):
        ready.wait()
        for _ in range(times):
            try:
                answers.append(work())
            except RuntimeError as error:
                reported.append(str(error))

    members = [threading.Thread(target=one, args=(work,)) for work in works]
    for member in members:
        member.start()
    for member in members:
        member.join()
    return answers, reported


def test_threads_that_share_forward_dynamics_are_told_and_no_answer_is_wrong(rng):
    model = engine.chain(300)
    q, v, tau = rng.uniform(-1, 1, (3, 40, 300)) * 0.1
    fd = engine.ForwardDynamics(model, 40, "abia", "cpu", threads=1)
    expected = fd(q, v, tau)
    answers, reported = crowd(lambda: fd(q, v, tau).tobytes(), threads=3)
    assert set(answers) == {expected.tobytes()}
    assert set(reported) <= {"another thread is using this ForwardDynamics; make one for each thread"}
    assert reported, "no two threads met: the test shows nothing"
    with pytest.raises(ValueError, match="q has shape"):
        fd(q[:, 1:], v, tau)
    np.testing.assert_array_equal(fd(q, v, tau), expected)  # also after a refusal


def test_threads_that_share_a_simulation_are_told_and_every_step_is_one():
    model = engine.load(engine.find_robot("arm7"))
    shared, alone = (engine.Simulation(model, 64, v=np.ones(7), threads=1) for _ in range(2))
    answers, reported = crowd(lambda: shared.step(5), threads=3)
    assert set(reported) == {"another thread is stepping this simulation; make one for each thread"}
    alone.step(5 * len(answers))
    assert shared.steps == alone.steps
    np.testing.assert_array_equal(shared.q, alone.q)
