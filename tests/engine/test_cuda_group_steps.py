"""Chains stepped on the GPU by JSIIA and CFA: the motion of ABIA on the CPU, for any inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from long_chains import constrained, plain, states

import engine
from engine.cuda.chains import thread_group
from engine.cuda.runtime import device
from engine.selection import choice
from engine.selection.timings import Measurements, Row

gpu_only = pytest.mark.gpu
ALGORITHMS = ["jsiia", "cfa"]
SHAPES = [(1, 1), (1, 30), (2, 30), (7, 1), (7, 30), (40, 1), (40, 30), (97, 1), (97, 30)]
"""Links and robots: several chains to a warp, a warp or a block for each, and a cluster of blocks."""
CASES = {
    "plain": (plain, {}, False),
    "limits and friction": (constrained, {}, False),
    "gains": (plain, {"kp": 2.0, "kd": 0.1}, False),
    "a wrench": (plain, {}, True),
    "all of it": (constrained, {"kp": 2.0, "kd": 0.1}, True),
}


def pair(algorithm, model, batch, rng, dtype="float64", pushed=False, **settings):
    """Return the chains on the CPU by ABIA and on the GPU, under equal forces."""
    q, v = states(model, batch, rng)
    settings = {"dt": 1e-3 if model.nv <= 60 else 1e-4, **settings}
    host = engine.Simulation(model, batch, algorithm="abia", q=q, v=v, device="cpu", **settings)
    gpu = engine.Simulation(model, batch, algorithm=algorithm, q=q, v=v, device="cuda", dtype=dtype, **settings)
    tau, target = rng.uniform(-1, 1, (batch, model.nv)), rng.uniform(-0.2, 0.2, (batch, model.nv))
    wrench = rng.uniform(-1, 1, (batch, len(model.link_names), 6))
    for simulation in (host, gpu):
        simulation.tau[:], simulation.target[:] = simulation.array(tau), simulation.array(target)
        if pushed:
            simulation.wrench[:] = simulation.array(wrench)
    return host, gpu


def assert_alike(gpu, host, tolerance):
    for mine, theirs in ((gpu.q.get(), host.q), (gpu.v.get(), host.v)):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance * (1 + np.abs(theirs).max()))


def run(simulation, steps):
    simulation.step(steps)
    simulation.check()


@gpu_only
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_moves_as_on_the_cpu(algorithm, integrator, case, chance):
    make, gains, pushed = CASES[case]
    for n, batch in SHAPES:
        host, gpu = pair(algorithm, make(n, chance), batch, chance, integrator=integrator, pushed=pushed, **gains)
        host.step(200)
        run(gpu, 200)
        assert_alike(gpu, host, 1e-9)


@gpu_only
@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_single_precision_moves_nearly_so(algorithm, integrator, chance):
    for n, batch in ((1, 30), (7, 30), (10, 1)):
        model = constrained(n, chance)
        host, gpu = pair(algorithm, model, batch, chance, "float32", True, integrator=integrator, kp=2.0, kd=0.1)
        host.step(50)
        run(gpu, 50)
        assert_alike(gpu, host, 1e-3)


@gpu_only
@pytest.mark.parametrize("batch", [1, 30])
def test_jsiia_refines_what_rounding_the_mass_matrix_costs(batch, rng):
    """With 50 links the condition number is 10⁶: entries of M rounded to single precision leave three digits of q̈."""
    model = engine.load(engine.find_robot("snake50"))
    q, v = rng.uniform(-0.2, 0.2, (batch, model.nq)), rng.uniform(-0.3, 0.3, (batch, model.nv))
    q, v, tau = (x.astype("float32").astype(float) for x in (q, v, rng.uniform(-0.05, 0.05, v.shape)))
    exact = engine.forward_dynamics(model, q, v, tau, algorithm="abia", device="cpu")
    found = engine.forward_dynamics(model, q, v, tau, algorithm="jsiia", device="cuda", dtype="float32")
    assert np.max(np.abs(found - exact).max(1) / np.abs(exact).max(1)) < 2e-4


@gpu_only
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_limits_hold_where_block_pivoting_goes_round_in_circles(algorithm, pytestconfig):
    model = engine.load(pytestconfig.rootpath / "robots" / "snake50.urdf")
    for seed, speed in ((5, 0.0), (2, 3.0), (1, 3.0)):
        rng = np.random.default_rng(seed)
        q = model.random(rng, 16)
        v = np.clip(speed * rng.standard_normal((16, model.nv)), -model.velocity_limit, model.velocity_limit)
        host = engine.Simulation(model, 16, q=q, v=v, algorithm="abia", device="cpu")
        gpu = engine.Simulation(model, 16, algorithm=algorithm, q=q, v=v, device="cuda")
        host.step(20)
        run(gpu, 20)
        assert_alike(gpu, host, 1e-6)
        gpu.step(200)
        here = gpu.q.get()
        assert np.all((here >= model.lower - 1e-9) & (here <= model.upper + 1e-9))
        assert np.all(np.abs(gpu.v.get()) <= model.velocity_limit + 1e-9)


@gpu_only
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", [12, 40])
def test_every_robot_may_have_its_own_numbers(algorithm, n, chance):
    model, batch = constrained(n, chance), 5
    parameters = engine.Parameters(model, batch)
    scale = chance.uniform(0.5, 2, (batch, 1))
    parameters.mass *= scale
    parameters.first_moment *= scale[..., None]
    parameters.inertia *= scale[..., None, None]
    parameters.gravity[:] = chance.uniform(-10, 10, (batch, 3))
    parameters.friction *= chance.uniform(0, 2, parameters.friction.shape)
    gains = {"kp": np.full((batch, n), 2.0), "kd": chance.random((batch, n))}
    for settings in ({"parameters": parameters}, gains, {"parameters": parameters, **gains}):
        host, gpu = pair(algorithm, model, batch, chance, **settings)
        host.step(50)
        run(gpu, 50)
        assert_alike(gpu, host, 1e-9)


@gpu_only
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_controls_are_followed_and_states_recorded(algorithm, chance):
    for n in (12, 60):
        model = constrained(n, chance)
        q, v = states(model, 4, chance)
        controls = chance.uniform(-1, 1, (4, 30, n))
        host, gpu = (
            engine.Simulation(model, 4, q=q, v=v, algorithm=name, device=where)
            for name, where in (("abia", "cpu"), (algorithm, "cuda"))
        )
        kept = [[simulation.empty(4, 11, n) for _ in range(2)] for simulation in (host, gpu)]
        for simulation, record in zip((host, gpu), kept, strict=True):
            simulation.advance(30, simulation.array(controls), 3, tuple(record))
        for mine, theirs in zip(kept[1], kept[0], strict=True):
            np.testing.assert_allclose(mine.get(), theirs, rtol=0, atol=1e-9 * (1 + np.abs(theirs).max()))


@gpu_only
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_chips_without_clusters_move_alike(algorithm, chance, monkeypatch):
    """There a thread has several links of a chain that is longer than a block."""
    monkeypatch.setattr(thread_group, "MOST_BLOCKS", 1)
    host, gpu = pair(algorithm, constrained(300, chance), 2, chance)
    host.step(10)
    run(gpu, 10)
    assert_alike(gpu, host, 1e-9)


@gpu_only
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", [9, 120])
def test_no_bit_depends_on_the_run_the_neighbours_or_the_watchdog(algorithm, n, chance, monkeypatch):
    model = constrained(n, chance)
    q, v = states(model, 6, chance)

    def moved(q, v):
        simulation = engine.Simulation(model, len(q), 1e-4, algorithm=algorithm, q=q, v=v, device="cuda")
        run(simulation, 40)
        return np.concatenate([simulation.q.get(), simulation.v.get()], 1)

    whole = moved(q, v)
    np.testing.assert_array_equal(moved(q, v), whole)
    np.testing.assert_array_equal(moved(q[4:5], v[4:5]), whole[4:5])
    monkeypatch.setattr(device, "watched", lambda: True)
    for steps in (1, 7, 39):
        monkeypatch.setattr("engine.cuda.stepping.stepper.launch_steps", lambda *_, steps=steps: steps)
        np.testing.assert_array_equal(moved(q, v), whole)


@gpu_only
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", [7, 120])
def test_a_chain_that_diverges_stops_and_the_others_go_on(algorithm, n, chance):
    model = plain(n, chance)
    q, v = states(model, 3, chance)
    v[1, n - 2] = 1e11
    simulation = engine.Simulation(model, 3, 1e-3, algorithm=algorithm, q=q, v=v, device="cuda")
    with pytest.raises(engine.Diverged, match="of robot 1"):
        run(simulation, 50)
    alone = engine.Simulation(model, 2, 1e-3, algorithm=algorithm, q=q[[0, 2]], v=v[[0, 2]], device="cuda")
    alone.step(50)
    np.testing.assert_array_equal(simulation.q.get()[[0, 2]], alone.q.get())


@gpu_only
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_phases_are_timed(algorithm, chance):
    simulation = engine.Simulation(plain(60, chance), algorithm=algorithm, device="cuda", dt=1e-4)
    run(simulation, 20)
    phases = simulation.phases
    assert tuple(phases) == engine.PHASES["cuda"][algorithm]
    assert all(seconds > 0 for name, seconds in phases.items() if name != "constraints")
    assert 1e-6 < sum(phases.values()) < 1e-2


@gpu_only
def test_a_tree_is_refused_with_what_to_use(pytestconfig):
    model = engine.load(pytestconfig.rootpath / "robots" / "humanoid.urdf")
    with pytest.raises(ValueError, match=r"cfa does not .* humanoid.*; use abia"):
        engine.Simulation(model, algorithm="cfa", device="cuda")


def table(**seconds):
    """A GPU's measurements in which algorithms were timed on such work."""
    rows = []
    for name, time in seconds.items():
        algorithm, work = name.removesuffix("_step"), "step" if name.endswith("_step") else "call"
        rows += [Row("chain", links, 1, "float64", algorithm, time, 1e-15, work) for links in (10, 100)]
    return Measurements(Path("measured.json"), tuple(rows), device="cuda")


def test_what_was_not_measured_stepping_is_not_chosen_for_steps(monkeypatch):
    among = engine.SIMULATION_ALGORITHMS["cuda"]
    assert set(ALGORITHMS) <= set(among)

    def chosen(**seconds):
        measured = table(**seconds)
        monkeypatch.setattr(choice.timings, "load", lambda _: measured)
        return choice.choose(
            engine.chain(50), "auto", 1, "float64", "cuda", among, "step", lambda _: measured
        ).algorithm

    assert chosen(abia_step=3e-5, dca_step=2e-5, cfa=1e-6, jsiia=1e-6) == "dca"
    assert chosen(abia_step=3e-5, dca_step=2e-5, cfa_step=1e-5, jsiia=1e-6) == "cfa"
    assert chosen() == "abia"


def test_hybrid_abia_is_refused_with_what_steps():
    among = engine.SIMULATION_ALGORITHMS["cuda"]
    with pytest.raises(ValueError, match=r"abia-hybrid does not step .* use abia or jsiia or dca or cfa"):
        choice.choose(engine.chain(5), "abia-hybrid", 1, "float64", "cuda", among, "step")
