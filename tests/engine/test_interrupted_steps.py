"""Long runs of steps: Ctrl-C is heard in them, leaves robots and time in step, and cutting them changes no bit."""

import os
import signal
import threading
from collections import deque
from contextlib import nullcontext
from time import perf_counter

import numpy as np
import pytest

import engine
from engine.cpu.stepping import interruptible, stepper

pytestmark = pytest.mark.usefixtures("ctrl_c_is_heard")
unix = pytest.mark.skipif(os.name == "nt", reason="a signal cannot be sent to oneself there")


@unix
@pytest.mark.parametrize(("name", "batch"), [("arm7", 1), ("arm7", 40), ("quadruped", 3)])
def test_ctrl_c_is_heard_within_a_moment_and_robots_and_time_stay_in_step(name, batch, rng):
    model = engine.load(engine.find_robot(name))
    scene = engine.Scene(ground=engine.Plane()) if name == "quadruped" else None
    start = {"q": model.random(rng, batch)} if scene is None else {}
    cut, whole = (engine.Simulation(model, batch, scene=scene, dt=1e-4, **start) for _ in range(2))
    cut.step(3)
    began = perf_counter()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        cut.step(10**9)
    assert perf_counter() - began < 60, "all steps would take hours"
    timer.join()
    assert cut.steps > 3
    assert cut.time == cut.steps * cut.dt
    whole.step(cut.steps)
    np.testing.assert_array_equal(cut.q, whole.q)
    np.testing.assert_array_equal(cut.v, whole.v)


class Blocks(deque):
    """Blocks of robots; they are cleared once the caller's thread has taken its share."""


PLACES = {
    "a thread is asked for help": (stepper.ThreadPoolExecutor, "submit"),
    "a block of robots is stepped": (stepper.Stepper, "run_block"),
    "the caller's share is done": (Blocks, "clear"),
    "others are waited for": (stepper, "wait"),
    "the stretch is done": (stepper.Stepper, "_stretch"),
    "its steps are counted": (engine.Simulation, "_count"),
}


def _after_a_helper(run):
    """`Stepper.run_block` that begins in the caller's thread once it has in another, which is then waited for."""
    begun = threading.Event()

    def later(*arguments):
        if threading.current_thread() is threading.main_thread():
            assert begun.wait(60)
        begun.set()
        return run(*arguments)

    return later


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("place", PLACES)
def test_ctrl_c_at_any_place_of_a_stretch_waits_for_its_end(monkeypatch, place, before, arm7):
    cut, whole = (engine.Simulation(arm7, 400, v=np.ones(7), threads=2) for _ in range(2))
    cut._stepper._threads = 2  # on one core too
    owner, name = PLACES[place]
    real, pressed = getattr(owner, name), []
    if name == "wait":
        monkeypatch.setattr(stepper.Stepper, "run_block", _after_a_helper(stepper.Stepper.run_block))

    def interrupted(*arguments):
        if before and not pressed:
            pressed.append(signal.raise_signal(signal.SIGINT))
        found = real(*arguments)
        if not pressed:
            pressed.append(signal.raise_signal(signal.SIGINT))
        return found

    monkeypatch.setattr(stepper, "deque", Blocks)
    monkeypatch.setattr(stepper, "longest", lambda *_: 50)
    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        cut.step(1000)
    assert pressed
    assert cut.steps in range(50, 1000, 50)
    whole.step(cut.steps)
    np.testing.assert_array_equal(cut.q, whole.q)
    cut.step(50)
    whole.step(50)
    np.testing.assert_array_equal(cut.q, whole.q)


@unix
def test_ctrl_c_at_random_moments_always_leaves_robots_and_steps_together(monkeypatch):
    model, batch, steps = engine.load(engine.find_robot("arm7")), 24, 8000
    expected, whole = (np.empty((batch, 1 + steps, model.nq)), np.empty((batch, 1 + steps, model.nv)))
    start = {"v": np.ones(7), "dt": 1e-4}
    engine.Simulation(model, batch, **start).advance(steps, record=(expected, whole))
    monkeypatch.setattr(stepper, "SHARE", 1)
    monkeypatch.setattr(stepper, "longest", lambda *_: 4)
    moments, presses, end = np.random.default_rng(1), 0, perf_counter() + 2
    while presses <= 20 or perf_counter() < end:
        assert perf_counter() < end + 120
        cut = engine.Simulation(model, batch, threads=2, **start)
        while cut.steps < steps and (presses <= 20 or perf_counter() < end):
            timer = threading.Timer(moments.uniform(0, 0.004), os.kill, (os.getpid(), signal.SIGINT))
            try:
                timer.start()
                cut.step(steps - cut.steps)
                timer.join()
            except KeyboardInterrupt:
                presses += 1
            timer.join()
            np.testing.assert_array_equal(cut.q, expected[:, cut.steps])
            np.testing.assert_array_equal(cut.v, whole[:, cut.steps])


@pytest.fixture
def handle():
    """Puts a handler of Ctrl-C in place; after the test comes back what was there."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


class Stop(Exception):
    """An exception of a caller's own signal handler."""


@pytest.mark.parametrize("raises", [True, False])
def test_a_handler_of_the_callers_is_called_between_two_stretches(monkeypatch, handle, raises, arm7):
    cut, whole = (engine.Simulation(arm7, 3, v=np.ones(7)) for _ in range(2))
    monkeypatch.setattr(stepper, "longest", lambda *_: 5)
    heard = []

    def own(number, frame):
        heard.append((number, cut.steps, frame is not None))
        if raises:
            raise Stop

    run = stepper.Stepper.run_block

    def pressing(*arguments):
        if cut.steps == 10:
            signal.raise_signal(signal.SIGINT)
        return run(*arguments)

    handle(own)
    monkeypatch.setattr(stepper.Stepper, "run_block", pressing)
    with pytest.raises(Stop) if raises else nullcontext():
        cut.step(30)
    assert heard == [(signal.SIGINT, 15, True)]
    assert cut.steps == (15 if raises else 30)
    assert signal.getsignal(signal.SIGINT) is own
    whole.step(cut.steps)
    np.testing.assert_array_equal(cut.q, whole.q)


def test_ctrl_c_that_is_ignored_stays_so(monkeypatch, handle):
    simulation = engine.Simulation(engine.load(engine.find_robot("arm7")))
    run = stepper.Stepper.run_block

    def pressing(*arguments):
        signal.raise_signal(signal.SIGINT)
        return run(*arguments)

    handle(signal.SIG_IGN)
    monkeypatch.setattr(stepper.Stepper, "run_block", pressing)
    simulation.step(3)
    assert simulation.steps == 3
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


@pytest.mark.parametrize("batch", [1, 3, 20])
@pytest.mark.parametrize("every", [1, 4, 30])
def test_a_run_that_is_cut_has_the_same_bits_and_samples(monkeypatch, rng, batch, every, arm7):
    q, controls = arm7.random(rng, batch), rng.uniform(-5, 5, (batch, 60, 7))

    def run():
        found = engine.rollout(arm7, q, controls=controls, every=every, threads=2)
        return found.q.tobytes(), found.v.tobytes()

    expected = run()
    for steps in (1, 5, 7):
        monkeypatch.setattr(interruptible, "longest", lambda *_, steps=steps: steps)
        monkeypatch.setattr(stepper, "longest", interruptible.longest)
        assert run() == expected


@pytest.mark.parametrize("how", ["raise", "freeze"])
def test_a_robot_that_diverges_in_a_run_that_is_cut_does_so_at_the_same_step(monkeypatch, how):
    model = engine.load(engine.find_robot("double_pendulum"))
    v = np.zeros((3, model.nv))
    v[1] = 1e9

    def run():
        simulation = engine.Simulation(model, 3, v=v, limits=False, on_divergence=how, integrator="rk4", dt=0.01)
        record = np.zeros((3, 41, model.nq)), None
        message = ""
        try:
            simulation.advance(40, record=record)
        except engine.Diverged as error:
            message = str(error)
        return message, simulation.steps, simulation.divergence(1), simulation.diverged.tolist(), record[0][[0, 2], :3]

    expected = run()
    assert "diverged" in (expected[2] or "")
    monkeypatch.setattr(stepper, "longest", lambda *_: 2)
    found = run()
    assert found[:4] == expected[:4]
    np.testing.assert_array_equal(found[4], expected[4])


def test_the_worst_residual_of_a_run_that_is_cut_is_that_of_all_its_steps(monkeypatch, quadruped):
    worst = []
    for steps in (1000, 3):
        monkeypatch.setattr(stepper, "longest", lambda *_, steps=steps: steps)
        simulation = engine.Simulation(quadruped, scene=engine.Scene(ground=engine.Plane()))
        simulation.q[:, 2] += 0.02
        simulation.step(200)
        assert simulation.contacts is not None
        worst.append(float(simulation.contacts.worst[0]))
        assert worst[-1] >= simulation.contacts.residual[0]
    assert worst[0] == worst[1] > 0


def test_what_takes_longer_comes_in_shorter_stretches(quadruped):
    plain = engine.Simulation(quadruped).settings
    longer = [
        engine.Simulation(quadruped, integrator="rk4").settings,
        engine.Simulation(quadruped, scene=engine.Scene(ground=engine.Plane())).settings,
        engine.Simulation(quadruped, 10).settings,
    ]
    for settings in longer:
        assert 1 <= interruptible.longest(settings) < interruptible.longest(plain)
    chain = engine.chain(100)
    by = {name: engine.Simulation(chain, algorithm=name).settings for name in ("abia", "jsiia")}
    assert interruptible.longest(by["jsiia"]) < interruptible.longest(by["abia"])
    assert interruptible.longest(engine.Simulation(quadruped, 10**5).settings) == 1
