"""Batches on the CPU, shared between threads."""

import multiprocessing
import signal
import sys
import threading
from time import monotonic

import numpy as np
import pytest

import engine
from engine.bench.suites import batches
from engine.cpu.rigid_body import aba_batch, aba_threads
from engine.cpu.runtime import cores
from engine.cpu.stepping import stepper

pytestmark = [pytest.mark.usefixtures("four"), pytest.mark.written_out]


@pytest.fixture
def four(monkeypatch):
    """Simulate four cores, with a thread pool of its own."""
    for module in (cores, aba_batch, aba_threads, stepper):
        monkeypatch.setattr(module, "cores", lambda: 4)
    aba_threads.shared_pool.forget()
    yield
    aba_threads.shared_pool().threads.dismiss()
    aba_threads.shared_pool.forget()


def states(model, robots, rng, dtype="float64"):
    v, tau = rng.uniform(-1, 1, (2, robots, model.nv))
    return [x.astype(dtype) for x in (model.random(rng, robots), v, tau)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("floating", [False, True])
def test_an_answer_has_the_same_bits_on_any_number_of_threads(rng, dtype, floating):
    model = engine.tree(9, seed=3, floating=floating)
    for robots in (1, 2, 3, 4, 8, 9, 100, 1001):
        at = states(model, robots, rng, dtype)
        answers = [
            engine.ForwardDynamics(model, robots, "abia", "cpu", dtype, threads)(*at) for threads in (1, 2, 3, None)
        ]
        for answer in answers[1:]:
            np.testing.assert_array_equal(answer, answers[0])
        left = engine.inverse_dynamics(model, at[0], at[1], answers[0]) - at[2]
        assert np.abs(left).max() < (1e-10 if dtype == "float64" else 1e-2), robots


def test_helpers_take_part(rng):
    model, robots = engine.chain(100), 2000
    at = states(model, robots, rng)
    fd = engine.ForwardDynamics(model, robots, "abia", "cpu")
    fd(*at)
    workspaces = fd._on_cpu._blocks.w
    deadline = monotonic() + 60
    while not np.any(workspaces[1:]) and monotonic() < deadline:
        fd(*at)
    assert workspaces.shape[0] == 4
    assert np.any(workspaces[1:])


def test_what_is_not_as_the_kernels_take_it_is_answered_too(rng):
    model = engine.chain(9)
    q, v, tau = states(model, 600, rng)
    fd = engine.ForwardDynamics(model, 600, "abia", "cpu")
    expected = fd(q, v, tau)
    locked = q.copy()
    locked.flags.writeable = False
    wide = np.repeat(v, 2, axis=1)
    np.testing.assert_array_equal(fd(locked, wide[:, ::2], tau.tolist()), expected)
    np.testing.assert_array_equal(fd(q, v, tau, np.empty_like(v)), expected)
    np.testing.assert_array_equal(fd(q, v, tau[0])[0], expected[0])
    with pytest.raises(ValueError, match=r"v has shape \(600, 8\); expected"):
        fd(q, v[:, :8], tau)
    q[599, 3] = np.nan
    with pytest.raises(ValueError, match=r"q\[599, 3\] is nan"):
        fd(q, v, tau)


def test_callers_on_several_threads_do_not_meet(rng):
    """One uses the process's worker threads, the others run alone; each gets its own result."""
    models = [engine.chain(n, seed=n) for n in (6, 9, 40)]
    cases = [(engine.ForwardDynamics(m, 500, "abia", "cpu"), states(m, 500, rng)) for m in models]
    expected = [
        engine.ForwardDynamics(m, 500, "abia", "cpu", threads=1)(*at) for m, (_, at) in zip(models, cases, strict=True)
    ]
    wrong = []

    def call(index):
        fd, at = cases[index]
        wrong.extend(index for _ in range(30) if not np.array_equal(fd(*at), expected[index]))

    callers = [threading.Thread(target=call, args=(index,)) for index in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert not wrong
    assert not any(caller.is_alive() for caller in callers)


def _answer(answers, fd, at):
    answers.put(fd(*at))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_has_helpers_of_its_own(rng):
    model = engine.chain(30)
    at = states(model, 500, rng)
    fd = engine.ForwardDynamics(model, 500, "abia", "cpu")
    expected, context = fd(*at), multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_answer, args=(answers, fd, at))
    child.start()
    np.testing.assert_array_equal(answers.get(timeout=60), expected)
    child.join(60)
    assert child.exitcode == 0


def test_an_answer_may_take_the_place_of_an_argument(rng):
    """Also where it is refused: then the words are about the numbers that came."""
    model = engine.chain(9)
    fd = engine.ForwardDynamics(model, 600, "abia", "cpu")
    at = states(model, 600, rng)
    expected = fd(*at)
    for place in range(3):
        given = [x.copy() for x in at]
        assert fd(*given, out=given[place]) is given[place]
        np.testing.assert_array_equal(given[place], expected)
    q, v, tau = (x.copy() for x in at)
    v[5] = 1e200
    with pytest.raises(ArithmeticError, match="the velocities are beyond any robot's"):
        fd(q, v, tau, out=tau)


def test_first_calls_may_come_from_many_threads_at_once(rng):
    """Kernels are compiled and the helpers are called together once."""
    model, at, wrong = engine.chain(30), states(engine.chain(30), 500, rng), []
    expected = engine.ForwardDynamics(model, 500, "abia", "cpu", threads=1)(*at)
    aba_threads.shared_pool.forget()
    together = threading.Barrier(8)

    def call():
        fd = engine.ForwardDynamics(model, 500, "abia", "cpu")
        together.wait(60)
        wrong.extend(["answer"] * (not np.array_equal(fd(*at), expected)))

    before = threading.active_count()
    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert not wrong
    assert threading.active_count() <= before + 3


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_a_run_that_is_interrupted_ends_before_it_raises(rng, monkeypatch):
    """No thread continues behind the caller's back, and all robots have come equally far."""
    model = engine.load("robots/arm7.urdf")
    q = model.random(rng, 200)
    whole, cut = (engine.Simulation(model, 200, q=q) for _ in range(2))
    whole.step(300)
    run, leader = stepper.Stepper.run_block, threading.get_ident()

    def interrupted(*arguments):
        found = run(*arguments)
        if threading.get_ident() == leader:
            monkeypatch.setattr(stepper.Stepper, "run_block", run)
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(stepper.Stepper, "run_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cut.step(300)
    np.testing.assert_array_equal(cut.q, whole.q)
    np.testing.assert_array_equal(cut.v, whole.v)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "all"])
def test_a_number_of_threads_that_is_none_is_refused(threads):
    for make in (lambda: engine.ForwardDynamics(engine.chain(3), 9, "jsiia", "cpu", threads=threads),
                 lambda: engine.ForwardDynamics(engine.chain(3), 9, "abia", "cpu", threads=threads),
                 lambda: engine.Simulation(engine.chain(3), 9, threads=threads)):  # fmt: skip
        with pytest.raises(ValueError, match=r"threads is .*; expected a whole number of 1 or more"):
            make()


@pytest.mark.parametrize("integrator", ["semi-implicit", "rk4"])
@pytest.mark.parametrize("parameters", [False, True])
def test_a_simulation_has_the_same_bits_on_any_number_of_threads(rng, integrator, parameters):
    model, robots = engine.load("robots/arm7.urdf"), 70
    own = None
    if parameters:
        own = engine.Parameters(model, robots)
        own.gravity[:, 2] *= np.linspace(0.5, 1, robots)
    q, controls = model.random(rng, robots), rng.uniform(-5, 5, (robots, 60, model.nv))
    kept = [
        engine.rollout(model, q, controls=controls, integrator=integrator, parameters=own, every=20, threads=threads)
        for threads in (1, 3, None)
    ]
    for trajectory in kept[1:]:
        np.testing.assert_array_equal(trajectory.q, kept[0].q)
        np.testing.assert_array_equal(trajectory.v, kept[0].v)


def test_the_first_divergence_is_told_whoever_finds_it(rng):
    model, found = engine.chain(30), []
    q = model.random(rng, 200)
    for threads in (1, None):
        simulation = engine.Simulation(model, 200, dt=0.5, limits=False, q=q, threads=threads)
        simulation.v[:] = 1.0
        with pytest.raises(engine.Diverged) as error:
            simulation.step(400)
        found.append(str(error.value))
    assert found[0] == found[1]


def test_the_bench_sets_threads_beside_one_and_beside_the_peers(monkeypatch):
    monkeypatch.setattr(batches, "CASES", (("arm7", 9),))
    monkeypatch.setattr(batches, "ROBOTS", 20)
    monkeypatch.setattr(batches, "STEPS", 3)
    forward, rollout = batches.run(0.01)
    for row in (forward, rollout):
        assert row["us"].keys() == row["speedup"].keys() == {str(count) for count in batches._counts()}
        assert row["speedup"]["1"] == [1, 1, 1]
    assert forward["peers"]["pinocchio"]["us"] > 0
    assert rollout["steps_per_second"] == pytest.approx(20 * 3 / min(rollout["us"].values()) * 1e6)
    table = batches.table([forward, rollout])
    assert table.row_count == 2
