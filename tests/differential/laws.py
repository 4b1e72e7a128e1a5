"""Test laws on random cases, and collect all results of a simulation for comparison.

A law is a function of a `Case` that raises AssertionError if it is violated. It is tested on cases with fixed seeds,
and on as many that change daily; a failing case is simplified and written to a file, which the message names:

    from tests.differential.cases import Case
    law(Case.load("catena-law-….json"))
"""

import dataclasses
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.validation import Array
from tests.differential.cases import Case, case, shrink
from tests.differential.families import Family
from tests.seeds import OTHER

SHRINKING = 20.0
"""Seconds that a failing case may take to be made simpler."""
Law = Callable[[Case], None]

PLAIN = Family("semi-implicit", "abia", "none", False, False, False, False, False)
"""Without contact, equal robots, one at a time."""
RK4 = PLAIN._replace(integrator="rk4")
IMPLICIT = PLAIN._replace(integrator="implicit", own=True, wrenches=True)
CHAINS = PLAIN._replace(integrator="rk4", algorithm="cfa")
TREES = PLAIN._replace(algorithm="jsiia")
EIGHT = RK4._replace(freezes=True, eight=True)
PAIRS = PLAIN._replace(ground="plane", pairs=True, wrenches=True, freezes=True)
PLANE = PLAIN._replace(integrator="implicit", algorithm="jsiia", ground="plane")
FIELD = PLAIN._replace(integrator="rk4", ground="field")
OWN_FIELD = PLAIN._replace(algorithm="cfa", ground="field", pairs=True, own=True)
OWN_PAIRS = Family("rk4", "jsiia", "plane", True, True, True, True, False)
EVERYWHERE = (PLAIN, IMPLICIT, CHAINS, EIGHT, PAIRS, PLANE, FIELD, OWN_FIELD, OWN_PAIRS)
"""Families of which cases share their machine code with those of `families.FAMILIES`, for the most part."""


def seeds(count: int) -> Iterator[int]:
    """So many: the first half always the same, the others of `CATENA_SEED`."""
    yield from range(count - count // 2)
    yield from range(1000 * OTHER, 1000 * OTHER + count // 2)


def holds(law: Law, families: Iterable[Family], count: int) -> None:
    """Test the law on `count` cases of each family."""
    for family in families:
        for seed in seeds(count):
            found = case(seed, family)
            try:
                law(found)
            except AssertionError as fault:
                raise AssertionError(_told_of(law, found, seed, fault)) from fault


def _told_of(law: Law, found: Case, seed: int, fault: AssertionError) -> str:
    simple = shrink(found, lambda other: _fails(law, other), SHRINKING)
    path = Path(tempfile.gettempdir()) / f"catena-law-{law.__name__}-{seed}.json"
    simple.save(path)
    try:
        law(simple)
    except AssertionError as simpler:
        fault = simpler
    return f"{law.__name__} does not hold for {path}, made of seed {seed}, family {found.family}:\n{fault}"


def _fails(law: Law, found: Case) -> bool:
    try:
        law(found)
    except AssertionError:
        return True
    except (ValueError, ArithmeticError):  # another law does not allow for this one
        return False
    return False


def chances(found: Case, *more: int) -> np.random.Generator:
    """Chance that belongs to a case."""
    q = np.array(found.state["q"])
    return np.random.default_rng([len(found.robot["links"]), *q.shape, *more])


def of_robots(found: Case, chosen: list[int]) -> Case:
    """The case of some of its robots."""
    state = {name: None if x is None else [x[k] for k in chosen] for name, x in found.state.items()}
    settings = dict(found.settings)
    for name in ("kp", "kd"):
        gain = settings[name]
        if isinstance(gain, list) and gain and isinstance(gain[0], list) and len(gain) > 1:
            settings[name] = [gain[k] for k in chosen]
    if settings["parameters"] is not None:
        settings["parameters"] = {name: [x[k] for k in chosen] for name, x in settings["parameters"].items()}
    return dataclasses.replace(found, state=state, settings=settings)


def results_of(simulation: engine.Simulation) -> dict[str, Any]:
    """Return all results of a simulation and of its last step, except times."""
    reader = simulation.frames(simulation.batch)
    reader.begin()
    reader.request()
    frame = reader.take()
    assert reader.ready
    kinetic, potential = simulation.energy()
    found: dict[str, Any] = {name: np.array(getattr(simulation, name)) for name in ("q", "v", "tau", "target")}
    found |= {name: getattr(simulation, name) for name in _NAMES}
    found |= {"wrench": np.array(simulation.wrench) if simulation.takes_wrenches else None}
    found |= {"effort": simulation.effort, "contact_wrench": np.array(simulation.contact_wrench)}
    found |= {"diverged": np.array(simulation.diverged), "kinetic": kinetic, "potential": potential}
    found |= {f"divergence of {k}": simulation.divergence(k) for k in range(simulation.batch)}
    found |= {"frame": [frame.steps, *frame.phases], "frame q": frame.q, "frame v": frame.v, "poses": frame.link_poses}
    found |= {"phases": list(simulation.phases)}
    return found | contacts(simulation.contacts)


_NAMES = (
    "time", "steps", "batch", "dt", "integrator", "algorithm", "device", "dtype", "on_divergence", "takes_wrenches",
)  # fmt: skip


def contacts(touches: engine.Contacts | None) -> dict[str, Any]:
    """Return the contacts in a simulation's or a recorded frame's results."""
    if touches is None or not np.any(touches.number):
        numbers = {} if touches is None else {"residual": touches.residual, "worst": touches.worst}
        return {f"contacts {name}": np.array(x) for name, x in numbers.items()}
    there = np.arange(touches.link.shape[1]) < touches.number[:, None]
    rows = {name: np.array(x if x.ndim == 1 else x[there]) for name, x in touches._asdict().items()}
    states = [touches.states(robot) for robot in range(len(touches.number))]
    return {f"contacts {name}": x for name, x in rows.items()} | {"contacts are": states}


def assert_same(found: dict[str, Any], expected: dict[str, Any], where: str = "") -> None:
    """To the bit."""
    assert list(found) == list(expected), f"{where}: {set(found) ^ set(expected)}"
    for name, x in found.items():
        y = expected[name]
        if isinstance(x, np.ndarray):
            assert same_bits(x, y), f"{where}: {name} is\n{x}\nand not\n{y}"
        else:
            assert x == y, f"{where}: {name} is {x!r} and not {y!r}"


def same_bits(x: Array, y: Array) -> bool:
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    return x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()
