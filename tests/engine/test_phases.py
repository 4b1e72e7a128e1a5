"""The phases of a step: every algorithm that steps has its own, and together they are the step."""

import re
import time

import numpy as np
import pytest

import engine
from engine import phases
from engine.compile import finish_compiling
from engine.cuda.runtime import header


def test_names_numbers_and_the_numbers_that_kernels_know_agree():
    for number, name in enumerate(phases.NAMES):
        symbol = name.upper().replace(" ", "_")
        assert getattr(phases, symbol) == number
        scope = re.search(r"namespace phase \{(.*?)\}", header.text(), re.DOTALL)
        assert scope is not None
        assert f"constexpr int {symbol} = {number};" in scope[1]
    assert f"constexpr int COUNT = {phases.COUNT};" in header.text()


def test_every_algorithm_has_names_of_its_own():
    for device, rows in engine.PHASES.items():
        assert set(rows) <= set(engine.SIMULATION_ALGORITHMS[device])
        for names in rows.values():
            assert set(names) <= set(engine.PHASE_MEANINGS)
            assert len(set(names)) == len(names)
    assert set(engine.PHASES["cpu"]) == set(engine.SIMULATION_ALGORITHMS["cpu"])
    without = {
        name for device, rows in engine.PHASES.items() for algorithm in rows for name in phases.names(device, algorithm)
    }
    on_ground = {name for algorithm in engine.PHASES["cpu"] for name in phases.names("cpu", algorithm, ground=True)}
    assert on_ground - without == {"collision", "contact"}
    assert without | on_ground == set(phases.NAMES)


@pytest.mark.sample(4)
@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("algorithm", engine.SIMULATION_ALGORITHMS["cpu"])
def test_the_phases_of_a_step_on_the_cpu_are_its_own_and_add_up(algorithm, integrator, rng):
    model = engine.chain(120 if algorithm != "jsiia" else 40)
    limited = algorithm != "dca"
    if limited:
        model = _limited(model)
    simulation = engine.Simulation(
        model, dt=1e-5, algorithm=algorithm, integrator=integrator, q=rng.uniform(-0.5, 0.5, model.nq), device="cpu"
    )
    simulation.step(1)
    finish_compiling()
    walls = []
    for _ in range(20):
        began = time.perf_counter()
        simulation.step(1)
        walls.append((time.perf_counter() - began, simulation.phases))
        counted = simulation._stepper._phases.sum() * 1e-9
        assert sum(simulation.phases.values()) == pytest.approx(counted), "a phase is timed that has no name"
    wall, found = min(walls, key=lambda pair: pair[0])
    assert tuple(found) == engine.PHASES["cpu"][algorithm]
    silent = set() if limited else {"constraints"}
    assert {name for name, seconds in found.items() if seconds == 0} == silent
    assert 0.2 * wall < sum(found.values()) <= wall


def _limited(model: engine.Model) -> engine.Model:
    import dataclasses

    return dataclasses.replace(model, friction=np.full(model.nv, 0.01))
