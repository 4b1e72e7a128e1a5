"""Every algorithm that steps, on every device, with every integrator: the motion of ABIA on the CPU, whatever acts.

The algorithms are those that the engine lists (`steppers.advancing`), so new ones are tested too; robots that one does
not step it refuses in one sentence. Motions are compared after 200 steps, relative to the largest number of q and of v.
A difference is the algorithm's only where ABIA's own motion is not chaotic: a first test compares it with that of a
slightly different state.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import cache
from itertools import product
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import pytest
from stepped_robots import ACTING, CONSTRAINED, ROBOTS, STEPS, Start, robot, start

import engine
from engine.device_arrays import to_host
from engine.selection import capabilities

ALIKE = {"float64": 1e-9, "float32": 1e-3}
NEIGHBOUR, GROWN = 1e-15, 1e-11
"""The relative initial distance of a neighbour, and its maximum after all steps."""
MOVED = 1e-3
"""rad or m: a motion that says something."""
MAX_CORRECTED = 200
"""Bodies up to which RK4 steps under constraints are asked for: its correction of 1000 joints, all of which may be
held, takes the active set method joint after joint, a third of a second a step."""
EARLY = 50
"""Steps after which another run, cut otherwise, must have come to the same bits."""
MAX_SINGLE = {"cfa": 50}
"""Bodies up to which an algorithm is asked for in single precision, where there is such a number: on longer chains what
CFA's refinement starts from has too few digits right (docs/measured_algorithms.md, accuracy)."""
TURNS = 5
"""On the GPU, where most robots have kernels of their own, each meets every integrator, with one of the things that act
on it; so do large ones on the CPU, but with all in the slow part."""
LARGE = 30
"""Bodies from which a robot is large."""
REFERENCES = ("abia", "jsiia")
"""The first that serves a robot: JSIIA where joints mimic others."""


class Case(NamedTuple):
    """A motion of one robot."""

    algorithm: str
    device: str
    dtype: str
    integrator: str
    acting: str
    robot: str

    def simulation(self) -> engine.Simulation:
        """It, at its start."""
        given = start(self.robot, self.acting)
        return given.simulation(
            algorithm=self.algorithm, device=self.device, dtype=self.dtype, integrator=self.integrator
        )

    def states(self, *parts: int) -> list[list[np.ndarray]]:
        """q and v after each of these numbers of steps, one after the other."""
        simulation, found = self.simulation(), []
        for part in parts:
            simulation.step(part)
            found.append([np.array(to_host(x)) for x in (simulation.q, simulation.v)])
        simulation.check()
        return found


def steps(algorithm: str, name: str, device: str) -> bool:
    """Whether an algorithm steps that robot on a device."""
    model = robot(name)
    served = capabilities.reason(algorithm, model, device) is None
    return served and algorithm in engine.selection.steppers.advancing(model)[device]


def cases(algorithm: str, device: str, dtype: str, integrator: str, acting: str, take_turns: bool = True) -> list[Case]:
    """Return all robots that the algorithm steps there, except those beyond its largest size."""
    largest = capabilities.ALGORITHMS[algorithm].largest or np.inf
    if dtype == "float32":
        largest = min(largest, MAX_SINGLE.get(algorithm, np.inf))
    if integrator == "rk4" and acting in CONSTRAINED:
        largest = min(largest, MAX_CORRECTED)
    turn = engine.INTEGRATORS.index(integrator) + ACTING.index(acting)
    return [
        Case(algorithm, device, dtype, integrator, acting, name)
        for number, name in enumerate(ROBOTS)
        if not take_turns or (device == "cpu" and len(robot(name).parent) < LARGE) or (number + turn) % TURNS == 0
        if len(robot(name).parent) <= largest and steps(algorithm, name, device)
    ]


def apart(ours: list[np.ndarray], theirs: list[np.ndarray], given: Start) -> float:
    """The larger of the distances of q and of v, each relative to its largest number at the start or the end."""
    largest = [max(np.abs(end).max(), np.abs(began).max()) for end, began in zip(theirs, given[2:4], strict=True)]
    both = zip(ours, theirs, largest, strict=True)
    return max(float(np.abs(one - other).max() / scale) for one, other, scale in both)


@cache
def reference(name: str, integrator: str, acting: str) -> list[np.ndarray]:
    """q and v by ABIA on the CPU, where a neighbour stays one."""
    algorithm = next(name_ for name_ in REFERENCES if steps(name_, name, "cpu"))
    case, given = Case(algorithm, "cpu", "float64", integrator, acting, name), start(name, acting)
    (end,), simulation = case.states(STEPS), case.simulation()
    simulation.v[:] *= 1 + NEIGHBOUR * np.resize([1, -1], simulation.v.shape)
    simulation.step(STEPS)
    assert apart([simulation.q, simulation.v], end, given) < GROWN
    assert np.abs(end[0] - given.q).max() > MOVED
    return end


def differences(found: list[Case]) -> Iterator[str]:
    """The cases in which a motion is not ABIA's, or another run has other bits, in words."""
    for case in found:
        early, ours = case.states(EARLY, STEPS - EARLY)
        expected, given = reference(case.robot, case.integrator, case.acting), start(case.robot, case.acting)
        distance = apart(ours, expected, given)
        if not distance <= ALIKE[case.dtype]:
            yield f"{case.robot} is {distance:.1e} from the reference"
        if not all(map(np.array_equal, early, case.states(1, EARLY - 1)[-1])):
            yield f"{case.robot} moves otherwise in another run"


@pytest.fixture(scope="session")
def compiled(request: pytest.FixtureRequest) -> None:
    """The kernels of all tests that are to run, made by as many processes as there are cores: they are kept on disk."""
    calls = [item.callspec.params for item in request.session.items if "compiled" in getattr(item, "fixturenames", ())]
    wanted = list(dict.fromkeys(case for call in calls for case in cases(device="cuda", **call)))
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        list(pool.map(_compile, wanted))


def _compile(case: Case) -> None:
    with suppress(Exception):  # the test itself shows it
        case.simulation()


@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("algorithm", engine.SIMULATION_ALGORITHMS["cpu"])
def test_on_the_cpu_every_algorithm_moves_as_abia(algorithm: str, integrator: str, acting: str) -> None:
    found = cases(algorithm, "cpu", "float64", integrator, acting)
    assert len(found) > 6
    assert list(differences(found)) == []


@pytest.mark.slow
@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("algorithm", engine.SIMULATION_ALGORITHMS["cpu"])
def test_large_robots_on_the_cpu(algorithm: str, integrator: str, acting: str) -> None:
    every = cases(algorithm, "cpu", "float64", integrator, acting, take_turns=False)
    assert list(differences([case for case in every if len(robot(case.robot).parent) >= LARGE])) == []


@pytest.mark.gpu
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.parametrize(
    ("dtype", "integrator"), [*product(["float64"], engine.INTEGRATORS), ("float32", engine.INTEGRATORS[0])]
)
@pytest.mark.parametrize("algorithm", engine.SIMULATION_ALGORITHMS["cuda"])
def test_on_the_gpu_every_algorithm_moves_as_abia(algorithm: str, dtype: str, integrator: str, acting: str) -> None:
    found = cases(algorithm, "cuda", dtype, integrator, acting)
    assert found
    assert list(differences(found)) == []


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("algorithm", capabilities.ALGORITHMS)
def test_what_it_does_not_step_it_refuses_in_one_sentence(algorithm: str, device: str) -> None:
    refused = [name for name in ROBOTS if not steps(algorithm, name, device)]
    for name in refused:
        with pytest.raises(ValueError, match=r"^[^\n]*; use [^\n]*$") as reported:
            engine.Simulation(robot(name), algorithm=algorithm, device=device)
        assert ". " not in str(reported.value)
    assert (refused == list(ROBOTS)) == (algorithm not in engine.SIMULATION_ALGORITHMS[device])
