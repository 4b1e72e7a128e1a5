"""Robots stepped on the GPU by groups of threads: the motion of ABIA on the CPU, for any inputs.

Chains by DCA-ABA, JSIIA and CFA, and what trees by DCA-ABA share with them; test_cuda_tree_steps.py has the rest.
"""

from pathlib import Path

import held_trees
import numpy as np
import pytest
from cuda_steps import assert_limits_hold, assert_steps_alike, pair
from long_chains import constrained, plain, states
from stepped_robots import own_numbers

import engine
from engine.cuda.chains import dca, thread_group
from engine.cuda.runtime import device
from engine.cuda.trees import dca as tree_dca
from engine.selection import choice
from engine.selection.timings import Measurements, Row

gpu_only = pytest.mark.gpu
ALGORITHMS = ["jsiia", "cfa"]
SHAPES = [(1, 1), (1, 30), (2, 30), (7, 1), (7, 30), (40, 1), (40, 30), (97, 1), (97, 30)]
"""Links and robots: several chains to a warp, a warp or a block for each, and a cluster of blocks."""
CASES = {
    "plain": (plain, {}, 0.0),
    "limits and friction": (constrained, {}, 0.0),
    "gains": (plain, {"kp": 2.0, "kd": 0.1}, 0.0),
    "a wrench": (plain, {}, 1.0),
    "all of it": (constrained, {"kp": 2.0, "kd": 0.1}, 1.0),
}
SINGLE = {"dca": ([(50, 3)], 10, 0.0), **dict.fromkeys(ALGORITHMS, ([(1, 30), (7, 30), (10, 1)], 50, 1.0))}
"""In single precision: links and robots, steps, and the wrench."""


def chains(algorithm, model, batch, rng, dtype="float64", **settings):
    settings = {"dt": 1e-3 if model.nv <= 60 else 1e-4, **settings}
    return pair(model, states(model, batch, rng), rng, algorithm, dtype, **settings)


def held_robots(kind, n, rng):
    """A chain or a tree on whose joints friction and limits act, and what draws its states."""
    if kind == "tree":
        return held_trees.held(held_trees.a_tree(n, rng), rng), held_trees.states
    return constrained(n, rng), states


def run(simulation, steps):
    simulation.step(steps)
    simulation.check()


@gpu_only
@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("make", [plain, constrained])
@pytest.mark.parametrize("n", [1, 2, 7, 31, 50, 129, 200, 513, 1000])
def test_chains_move_by_dca_as_on_the_cpu(n, make, integrator, chance):
    for gains in ({}, {"kp": 2.0, "kd": 0.1}):
        assert_steps_alike(*chains("dca", make(n, chance), 3, chance, integrator=integrator, **gains), 30, 1e-9)


@gpu_only
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_moves_as_on_the_cpu(algorithm, integrator, case, chance):
    make, gains, pushed = CASES[case]
    for n, batch in SHAPES:
        found = chains(algorithm, make(n, chance), batch, chance, integrator=integrator, pushed=pushed, **gains)
        assert_steps_alike(*found, 200, 1e-9)


@gpu_only
@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("algorithm", SINGLE)
def test_single_precision_moves_nearly_so(algorithm, integrator, chance):
    shapes, steps, pushed = SINGLE[algorithm]
    settings = {"integrator": integrator, "kp": 2.0, "kd": 0.1, "pushed": pushed}
    for n, batch in shapes:
        found = chains(algorithm, constrained(n, chance), batch, chance, "float32", **settings)
        assert_steps_alike(*found, steps, 1e-3)


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
@pytest.mark.parametrize(
    ("algorithm", "stretches"), [("dca", (20,) + (25,) * 20), ("jsiia", (20, 200)), ("cfa", (20, 200))]
)
def test_limits_hold_where_block_pivoting_goes_round_in_circles(algorithm, stretches, pytestconfig):
    model = engine.load(pytestconfig.rootpath / "robots" / "snake50.urdf")
    for seed, speed in ((5, 0.0), (2, 3.0), (1, 3.0)):
        rng = np.random.default_rng(seed)
        q = model.random(rng, 16)
        v = np.clip(speed * rng.standard_normal((16, model.nv)), -model.velocity_limit, model.velocity_limit)
        assert_limits_hold(model, (q, v), algorithm, stretches)


@gpu_only
@pytest.mark.parametrize(
    ("kind", "algorithm", "n", "steps"),
    [("chain", "dca", 40, 20), *(("chain", name, n, 50) for name in ALGORITHMS for n in (12, 40)),
     ("tree", "dca", 40, 20)],
)  # fmt: skip
def test_every_robot_may_have_its_own_numbers(kind, algorithm, n, steps, chance):
    (model, begin), tree = held_robots(kind, n, chance), kind == "tree"
    parameters = {"parameters": own_numbers(model, 5, chance)}
    gains = {
        "kp": np.where(model.q_of_v >= 0, 2.0, np.zeros((5, 1))),
        "kd": chance.random((5, 1 if tree else n)) * model.constrained,
    }
    for settings in (parameters, gains, parameters | gains | ({"integrator": "implicit"} if tree else {})):
        found = pair(model, begin(model, 5, chance), chance, algorithm, dt=1e-3, **settings)
        assert_steps_alike(*found, steps, 1e-9)


@gpu_only
@pytest.mark.parametrize(
    ("kind", "algorithm", "n", "rows"),
    [("chain", "dca", 60, 4), *(("chain", name, n, 4) for name in ALGORITHMS for n in (12, 60)),
     ("tree", "dca", 25, 1), ("tree", "dca", 25, 4)],
)  # fmt: skip
def test_controls_are_followed_and_states_recorded(kind, algorithm, n, rows, chance):
    model, begin = held_robots(kind, n, chance)
    q, v = begin(model, 4, chance)
    controls, kept = chance.uniform(-1, 1, (rows, 30, model.nv)), []
    for name, where in (("abia", "cpu"), (algorithm, "cuda")):
        simulation = engine.Simulation(model, 4, q=q, v=v, algorithm=name, device=where)
        kept.append([simulation.empty(4, 11, size) for size in (model.nq, model.nv)])
        simulation.advance(30, simulation.array(controls), 3, tuple(kept[-1]))
    for mine, theirs in zip(kept[1], kept[0], strict=True):
        np.testing.assert_allclose(mine.get(), theirs, rtol=0, atol=1e-9 * (1 + np.abs(theirs).max()))


@gpu_only
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_groups_that_meet_in_global_memory_move_alike(blocks, chance, monkeypatch):
    """Chips without clusters, and chains larger than one, need this."""
    monkeypatch.setattr(dca, "cut_here", lambda *_, **__: dca.Cut(blocks, False, 8, True))
    assert_steps_alike(*chains("dca", constrained(90, chance), 3, chance), 20, 1e-9)


@gpu_only
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_chips_without_clusters_move_alike(algorithm, chance, monkeypatch):
    """There a thread has several links of a chain that is longer than a block."""
    monkeypatch.setattr(thread_group, "MAX_BLOCKS", 1)
    assert_steps_alike(*chains(algorithm, constrained(300, chance), 2, chance), 10, 1e-9)


@gpu_only
@pytest.mark.parametrize(
    ("kind", "algorithm", "n"),
    [("chain", "dca", 200), *(("chain", name, n) for name in ALGORITHMS for n in (9, 120)), ("tree", "dca", 120)],
)
def test_no_bit_depends_on_the_run_the_neighbours_or_the_watchdog(kind, algorithm, n, chance, monkeypatch):
    model, begin = held_robots(kind, n, chance)
    q, v = begin(model, 6, chance)
    monkeypatch.setattr(tree_dca, "blocks", lambda *_: 2)

    def moved(q, v):
        simulation = engine.Simulation(model, len(q), 1e-4, algorithm=algorithm, q=q, v=v, device="cuda")
        run(simulation, 40)
        return np.concatenate([simulation.q.get(), simulation.v.get()], 1)

    whole = moved(q, v)
    np.testing.assert_array_equal(moved(q, v), whole)
    np.testing.assert_array_equal(moved(q[4:5], v[4:5]), whole[4:5])
    monkeypatch.setattr(device, "has_watchdog", lambda: True)
    for steps in (1, 7, 39):
        monkeypatch.setattr("engine.cuda.stepping.stepper.launch_steps", lambda *_, steps=steps: steps)
        np.testing.assert_array_equal(moved(q, v), whole)


@gpu_only
@pytest.mark.parametrize(
    ("algorithm", "n", "fast"), [("dca", 200, 150), *((name, n, n - 2) for name in ALGORITHMS for n in (7, 120))]
)
def test_a_chain_that_diverges_stops_and_the_others_go_on(algorithm, n, fast, chance):
    model = plain(n, chance)
    q, v = states(model, 3, chance)
    v[1, fast] = 1e11
    simulation = engine.Simulation(model, 3, 1e-3, algorithm=algorithm, q=q, v=v, device="cuda")
    with pytest.raises(engine.Diverged, match="of robot 1"):
        run(simulation, 50)
    alone = engine.Simulation(model, 2, 1e-3, algorithm=algorithm, q=q[[0, 2]], v=v[[0, 2]], device="cuda")
    alone.step(50)
    np.testing.assert_array_equal(simulation.q.get()[[0, 2]], alone.q.get())


def assert_phases_are_timed(model, algorithm, dt, timed, most):
    """These of its phases take time, and a step less than `most` seconds."""
    simulation = engine.Simulation(model, algorithm=algorithm, device="cuda", dt=dt)
    run(simulation, 20)
    phases = simulation.phases
    assert tuple(phases) == engine.PHASES["cuda"][algorithm]
    assert all(phases[name] > 0 for name in timed)
    assert 1e-6 < sum(phases.values()) < most


UNCONSTRAINED = {name: set(engine.PHASES["cuda"][name]) - {"constraints"} for name in ALGORITHMS}


@gpu_only
@pytest.mark.parametrize(
    ("algorithm", "n", "timed", "most"),
    [
        ("dca", 500, ("kinematics", "acceleration"), 1e-3),
        *((name, 60, UNCONSTRAINED[name], 1e-2) for name in ALGORITHMS),
    ],
)
def test_phases_are_timed(algorithm, n, timed, most, chance):
    assert_phases_are_timed(plain(n, chance), algorithm, 1e-4, timed, most)


@gpu_only
def test_phases_of_a_tree_are_timed(chance):
    timed = ("kinematics", "inertia recursion", "acceleration", "integration")
    assert_phases_are_timed(held_trees.free(held_trees.a_tree(500, chance)), "dca", 1e-5, timed, 1e-2)


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
