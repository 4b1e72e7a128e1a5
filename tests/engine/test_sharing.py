"""Models that travel, and objects that several threads or processes want."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import threading

import numpy as np
import pytest

import engine


@pytest.mark.parametrize("name", ["scara", "quadruped"])
@pytest.mark.parametrize("travel", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy])
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


def _sum(model, queue):
    simulation = engine.Simulation(model, 9)
    simulation.step(50)
    queue.put(simulation.q.tobytes())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("how", sorted(set(multiprocessing.get_all_start_methods()) & {"fork", "spawn"}))
def test_a_child_process_steps_to_the_same_bits(how):
    """Also where the parent has stepped, and has threads that the child has not."""
    model = engine.load(engine.find_robot("arm7"))
    simulation = engine.Simulation(model, 9, threads=2)
    simulation.step(50)
    context = multiprocessing.get_context(how)
    queue = context.Queue()
    child = context.Process(target=_sum, args=(model, queue))
    child.start()
    assert queue.get(timeout=120) == simulation.q.tobytes()
    child.join(60)
    assert child.exitcode == 0


def crowd(work, threads=6):
    """What each of so many threads comes to by `work`: its answers, and what it is told."""
    answers, told, ready = [], [], threading.Barrier(threads)

    def one():
        ready.wait()
        for _ in range(150):
            try:
                answers.append(work())
            except RuntimeError as error:
                told.append(str(error))

    members = [threading.Thread(target=one) for _ in range(threads)]
    for member in members:
        member.start()
    for member in members:
        member.join()
    return answers, told


def test_threads_that_share_forward_dynamics_are_told_and_no_answer_is_wrong(rng):
    model = engine.chain(300)
    q, v, tau = rng.uniform(-1, 1, (3, 40, 300)) * 0.1
    fd = engine.ForwardDynamics(model, 40, "abia", "cpu", threads=1)
    expected = fd(q, v, tau)
    answers, told = crowd(lambda: fd(q, v, tau).tobytes(), threads=3)
    assert set(answers) == {expected.tobytes()}
    assert set(told) <= {"another thread is in these ForwardDynamics; make one for each thread"}
    assert told, "no two threads met: the test shows nothing"
    with pytest.raises(ValueError, match="q has shape"):
        fd(q[:, 1:], v, tau)
    np.testing.assert_array_equal(fd(q, v, tau), expected)  # also after a refusal


def test_threads_that_share_a_simulation_are_told_and_every_step_is_one():
    model = engine.load(engine.find_robot("arm7"))
    shared, alone = (engine.Simulation(model, 64, v=np.ones(7), threads=1) for _ in range(2))
    answers, told = crowd(lambda: shared.step(5), threads=3)
    assert set(told) == {"another thread is stepping this simulation; make one for each thread"}
    alone.step(5 * len(answers))
    assert shared.steps == alone.steps
    np.testing.assert_array_equal(shared.q, alone.q)
