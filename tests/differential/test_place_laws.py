"""Each robot of a batch moves as if alone, with the model that its parameters define."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import engine
from tests.differential.cases import Case, case
from tests.differential.laws import (
    EIGHT,
    EVERYWHERE,
    FIELD,
    IMPLICIT,
    OWN_FIELD,
    OWN_PAIRS,
    PAIRS,
    chances,
    holds,
    of_robots,
    results_of,
    same_bits,
)
from tests.differential.user_actions import WILD, go

MANY = [pytest.param(2, id="some"), pytest.param(80, id="many", marks=pytest.mark.slow)]
STEPS = 4


def of_robot(tells: dict[str, Any], robot: int) -> dict[str, Any]:
    """Return the results of one robot."""
    ends = np.concatenate([[0], np.cumsum(tells.get("contacts number", []))]).astype(int)
    mine: dict[str, Any] = {}
    for name, x in tells.items():
        if name.startswith("divergence of"):
            continue
        if name == "contacts are":
            mine[name] = x[robot]
        elif name.startswith("contacts ") and "contacts number" in tells and name.split()[1] not in _OF_ROBOTS:
            mine[name] = x[ends[robot] : ends[robot + 1]]
        elif isinstance(x, np.ndarray):
            mine[name] = x[robot]
    text = tells[f"divergence of {robot}"]
    return mine | {"divergence": text and text.replace(f" of robot {robot}", "")}


_OF_ROBOTS = ("number", "residual", "worst")


def assert_robot(found: dict[str, Any], expected: dict[str, Any], where: str) -> None:
    """Compare to the bit, except poses, which NumPy multiplies; without any contact there are no contact results."""
    rounding = 1e-12 * (1 + np.abs(found["q"]).max(initial=0))
    np.testing.assert_allclose(found.pop("poses"), expected["poses"], rtol=0, atol=rounding)
    expected = {name: x for name, x in expected.items() if name != "poses"}
    for name in found.keys() & expected.keys():
        x, y = found[name], expected[name]
        same = same_bits(x, y) if isinstance(x, np.ndarray) else bool(x == y)
        assert same, f"{where}: {name} is\n{x}\nand not\n{y}"
    for name in found.keys() ^ expected.keys():
        x = found.get(name, expected.get(name))
        assert np.size(x) == 0 or name == "contacts number" or x == (), f"{where}: {name}"


def stepped(found: Case, wild: int | None = None, **changes: Any) -> dict[str, Any] | None:
    """Return the results after some steps; None if a robot ended them."""
    simulation = found.simulation(**changes)
    if wild is not None:
        simulation.v[wild] += WILD * np.linspace(1.0, 2.0, simulation.model.nv)
    return None if go(simulation, STEPS) else results_of(simulation)


def places_do_not_matter(found: Case) -> None:
    """Another order, other company that goes wild, any number of threads, and none at all."""
    expected = stepped(found)
    if expected is None:
        return
    batch, freezes = found.batch, found.settings["on_divergence"] == "freeze"
    order = [*range(1, batch), 0]
    turned = stepped(of_robots(found, order))
    for threads in (1, 2, 5):
        if found.settings["algorithm"] != "dca":
            other = stepped(found, threads=threads)
            assert all(same_bits(other[k], x) for k, x in expected.items() if isinstance(x, np.ndarray)), threads
    for place, robot in enumerate(order):
        assert_robot(of_robot(turned, place), of_robot(expected, robot), f"robot {robot} at {place}")
    if freezes and batch > 1 and found.model().nv:
        company = stepped(found, wild=batch - 1)
        for robot in range(batch - 1):
            assert_robot(of_robot(company, robot), of_robot(expected, robot), f"robot {robot} beside a wild one")
    if found.family.eight:
        return
    for robot in range(batch):
        alone = stepped(of_robots(found, [robot]))
        assert_robot(of_robot(alone, 0), of_robot(expected, robot), f"robot {robot} alone")


def parameters_are_models(found: Case) -> None:
    """A robot moves as the model that `Parameters.robot` makes of it; in parameters that repeat theirs, as without."""
    expected, parameters = stepped(found), found.parameters()
    if expected is None:
        return
    if parameters is not None:
        for robot in range(found.batch):
            alone = _as_a_model(of_robots(found, [robot]), parameters.robot(robot))
            assert_robot(alone, of_robot(expected, robot), f"robot {robot} as a model")
        return
    repeated = stepped(found, parameters=engine.Parameters(found.model(), found.batch))
    for name in ("q", "v", "kinetic", "potential", "effort"):
        x, y = repeated[name], expected[name]
        if found.scene is None:
            rounding = 1e-9 * max(1.0, np.max(np.abs(y), initial=0))
            np.testing.assert_allclose(x, y, rtol=1e-7, atol=rounding, err_msg=name)


def one_robot_may_lack_what_others_have(found: Case) -> None:
    """Friction, damping or a limit of the effort, which the first robot of three, or the last, is without."""
    nv, rng = found.model().nv, chances(found, 2)
    if not nv or found.settings["algorithm"] == "dca":
        return
    three = of_robots(found, [0, 0, 0])
    for name, nothing in (("friction", 0.0), ("damping", 0.0), ("effort_limit", None)):
        values = rng.uniform(0.05, 0.5, (3, nv)).tolist()
        values[int(rng.choice([0, 2]))] = [nothing] * nv
        settings = three.settings | {"parameters": {name: values}, "limits": bool(rng.random() < 0.5)}
        parameters_are_models(dataclasses.replace(three, settings=settings))


def _as_a_model(found: Case, model: engine.Model) -> dict[str, Any]:
    settings = {key: x for key, x in found.settings.items() if key != "parameters"}
    q, v = found.state["q"], found.state["v"]
    made = engine.Simulation(
        model, q=q, v=v, device="cpu", scene=found.scene_object(), timed=False, **settings,
    )  # fmt: skip
    made.tau[:], made.target[:] = found.state["tau"], found.state["target"]
    if found.state["wrench"] is not None:
        made.wrench[:] = found.state["wrench"]
    go(made, STEPS)
    return of_robot(results_of(made), 0)


@pytest.mark.parametrize("count", MANY)
def test_a_robots_place_in_the_batch_changes_no_bit(count: int) -> None:
    holds(places_do_not_matter, EVERYWHERE, count)


def test_an_unsettled_robot_changes_no_bit_of_others() -> None:
    """A robot of eight that went wild led the others another way to the same velocities, which rounds otherwise."""
    places_do_not_matter(case(5, EIGHT))


@pytest.mark.parametrize("count", MANY)
def test_a_robots_parameters_act_as_a_model_of_its_own(count: int) -> None:
    holds(one_robot_may_lack_what_others_have, (IMPLICIT,), 2 * count)
    holds(parameters_are_models, (IMPLICIT, OWN_FIELD, OWN_PAIRS, EIGHT, PAIRS, FIELD), count)


def test_a_divergence_message_follows_the_diverged_robots_own_gains() -> None:
    """Whether to take "implicit" depends on its own gains and damping, not on those of others."""
    parameters_are_models(case(5000, OWN_PAIRS))
