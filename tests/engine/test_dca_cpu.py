"""DCA-ABA on threads: against the ABA, whoever does the work, and that its threads come and go as they should."""

import gc
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from masses import alternating

import engine
from engine.bench import states
from engine.cpu.chains.dca import Costs, Dca, measured
from engine.cpu.runtime.status import FITS, NOT_FINITE, WRONG_SHAPE

NEVER_THE_ABA = Costs(link=1.0, row=1e-9, block=1e-9, join=0.0, handover=0.0)


@pytest.fixture
def solver():
    """Makes `Dca`s that never fall back on the ABA, and closes them."""
    made = []

    def make(model, threads, dtype="float64"):
        made.append(Dca(model, dtype, threads, NEVER_THE_ABA))
        return made[-1]

    yield make
    for one in made:
        one.close()


def state(model, rng):
    """Random, with velocities that keep the tip of a long chain from flying: bias grows with the square of n q̇."""
    q, v = model.random(rng), rng.uniform(-1, 1, model.nv) * min(1, 10 / model.nv)
    return q, v, rng.uniform(-1, 1, model.nv)


def solve(dca, q, v, tau):
    out = np.empty_like(q)
    assert dca.one(q, v, tau, out) == FITS
    return out


def residual(model, q, v, tau, a):
    tau_delta = tau - engine.bias(model, q, v)
    return np.linalg.norm(engine.inverse_dynamics(model, q, v, a) - tau) / np.linalg.norm(tau_delta)


def helpers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("dca-")]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [*range(1, 20), 31, 32, 33, 63, 64, 65, 127, 128, 129, 500])
def test_agrees_with_the_aba(n, threads, rng, solver):
    for model in (engine.chain(n, seed=n, prismatic=0.3), engine.chain(n, straight=True)):
        dca = solver(model, threads)
        assert dca.blocks == max(1, min(threads, n // 8))
        q, v, tau = state(model, rng)
        expected = engine.forward_dynamics(model, q, v, tau, algorithm="abia")
        answer = solve(dca, q, v, tau)
        assert np.linalg.norm(answer - expected) <= 1e-11 * np.linalg.norm(expected)
        assert residual(model, q, v, tau, answer) <= 2e-12


@pytest.mark.parametrize("straight", [False, True])
@pytest.mark.parametrize("n", [1000, 4096])
def test_long_chains_keep_the_residual(n, straight, rng, solver):
    model = engine.chain(n, straight=straight, prismatic=0.0 if straight else 0.3)
    q, v, tau = (x[0] for x in states.state(model, rng))  # with which rounding at the chunks' ends would show
    for threads in (1, 2, 16):
        answer = solve(solver(model, threads), q, v, tau)
        assert states.residual(model, (q[None], v[None], tau[None]), answer[None])[0] <= 1e-13


@pytest.mark.parametrize("ratio", [1e-3, 1e3, 1e-6, 1e6])
def test_extreme_mass_ratios_keep_the_residual(ratio, rng, solver):
    model = alternating(60, ratio)
    q, v, tau = state(model, rng)
    assert residual(model, q, v, tau, solve(solver(model, 2), q, v, tau)) <= 1e-12


def test_angles_of_any_size(rng, solver):
    model = engine.chain(50, prismatic=0.2)
    q, v, tau = state(model, rng)
    turns = 2 * np.pi * np.where(model.kind == 0, rng.integers(-3, 3, 50) * 10**7, 0)
    expected = solve(solver(model, 1), q, v, tau)
    np.testing.assert_allclose(solve(solver(model, 1), q + turns, v, tau), expected, rtol=1e-4)


def test_float32_is_served_and_close(rng, solver):
    model = engine.chain(100)
    q, v, tau = (x.astype("float32") for x in state(model, rng))
    exact = engine.forward_dynamics(model, q, v, tau, algorithm="abia")
    answer = solve(solver(model, 2, "float32"), q, v, tau)
    assert answer.dtype == np.float32
    assert np.linalg.norm(answer - exact) < 1e-3 * np.linalg.norm(exact)


def test_the_answer_does_not_depend_on_who_does_the_work(rng, solver):
    model = engine.chain(300, prismatic=0.3)
    alone, together = solver(model, 5), solver(model, 5)
    alone.close()
    for _ in range(300):
        q, v, tau = state(model, rng)
        np.testing.assert_array_equal(solve(together, q, v, tau), solve(alone, q, v, tau))


def test_capabilities_callers_on_several_threads_each_with_its_own(solver):
    def work(seed, wrong):
        rng = np.random.default_rng(seed)
        model = engine.chain(90 + seed)
        dca, fd = solver(model, 3), engine.ForwardDynamics(model, algorithm="abia")
        for _ in range(200):
            q, v, tau = state(model, rng)
            expected = fd(q, v, tau)
            if np.linalg.norm(solve(dca, q, v, tau) - expected) > 1e-10 * np.linalg.norm(expected):
                wrong.append(seed)

    wrong = []
    callers = [threading.Thread(target=work, args=(seed, wrong)) for seed in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_what_is_not_finite_is_said(rng, solver):
    model = engine.chain(64)
    q, v, tau = state(model, rng)
    dca, out = solver(model, 2), np.empty(64)
    bad = tau.copy()
    bad[40] = np.nan
    assert dca.one(q, v, bad, out) == NOT_FINITE
    assert dca.one(q, v, tau, out) == FITS
    assert dca.one(q[:-1].copy(), v, tau, out) == WRONG_SHAPE
    assert dca.one(list(q), v, tau, out) is NotImplemented


def test_is_an_algorithm_like_the_others(rng):
    model = engine.chain(200, prismatic=0.3)
    states = [state(model, rng) for _ in range(3)]
    q, v, tau = (np.array(x) for x in zip(*states, strict=True))
    fd = engine.ForwardDynamics(model, 3, "dca", threads=2)
    batch = fd(q, v, tau)
    for i, one in enumerate(states):
        np.testing.assert_array_equal(fd(*one), batch[i])
        np.testing.assert_array_equal(fd(*(list(x) for x in one)), batch[i])
    with pytest.raises(ValueError, match=r"threads is 0; expected a whole number of 1 or more"):
        engine.ForwardDynamics(model, algorithm="dca", threads=0)


def test_the_split_is_the_best_by_the_costs():
    costs = Costs(link=90e-9, row=160e-9, block=4e-6, join=0.5e-6, handover=2e-6)
    chosen = {n: Dca(engine.chain(n), costs=costs).blocks for n in (1, 20, 40, 100, 4000)}
    assert chosen[1] == chosen[20] == chosen[40] == 0
    assert chosen[100] == 1
    assert costs.seconds(4000, 0) == pytest.approx(360e-6)
    assert costs.seconds(4000, 1) == pytest.approx(84e-6)
    assert costs.seconds(4000, 4) == pytest.approx(125 * 160e-9 + 4e-6 + 1.5e-6 + 2e-6)


def test_short_chains_go_to_the_aba_to_the_last_bit(rng):
    model = engine.chain(12)
    q, v, tau = state(model, rng)
    dca = Dca(model, threads=2, costs=Costs(1e-9, 1.0, 1.0, 1.0, 1.0))
    assert dca.blocks == 0
    np.testing.assert_array_equal(solve(dca, q, v, tau), engine.forward_dynamics(model, q, v, tau, algorithm="abia"))


def test_measured_costs_are_those_of_a_machine():
    costs = measured()
    assert all(cost >= 0 for cost in costs)
    assert 0 < costs.row < 8 * costs.link  # a row is eight links


def test_threads_sleep_when_idle_and_wake_again(rng, solver):
    model = engine.chain(200)
    dca, one = solver(model, 3), state(model, rng)
    expected = solve(dca, *one)
    time.sleep(0.05)
    spent = time.process_time()
    time.sleep(0.4)
    assert time.process_time() - spent < 0.1
    np.testing.assert_array_equal(solve(dca, *one), expected)


def test_threads_end_with_close_and_with_the_object(rng):
    gc.collect()
    before = len(helpers())
    model = engine.chain(100)
    one, two = (Dca(model, threads=3, costs=NEVER_THE_ABA) for _ in range(2))
    assert len(helpers()) == before + 4
    expected = solve(one, *(arguments := state(model, rng)))
    one.close()
    one.close()
    assert len(helpers()) == before + 2
    np.testing.assert_array_equal(solve(one, *arguments), expected)
    del two
    gc.collect()
    assert len(helpers()) == before


def test_a_program_ends_with_threads_at_work():
    program = (
        "import numpy as np, engine\n"
        "fd = engine.ForwardDynamics(engine.chain(2000), algorithm='dca', threads=2)\n"
        "fd(*np.zeros((3, 2000)))"
    )
    python = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (python.returncode, python.stderr) == (0, "")


def test_no_slower_than_the_aba_on_one_thread(rng):
    """The benchmark says how much faster (about four times); here only that it is, whatever else the machine does."""
    model = engine.chain(2000)
    one = state(model, rng)
    candidates = [engine.ForwardDynamics(model, algorithm="abia"), Dca(model, threads=1).one]
    out, best = np.empty(2000), [np.inf, np.inf]
    for _ in range(30):
        for i, candidate in enumerate(candidates):
            start = time.perf_counter()
            candidate(*one, out)
            best[i] = min(best[i], time.perf_counter() - start)
    assert best[1] < best[0]
