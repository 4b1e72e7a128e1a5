"""Runs that are split, saved and resumed anywhere continue with the same bits and results."""

import copy
import pickle

import numpy as np
import pytest

import engine
from engine.cpu.stepping import interruptible
from tests.differential.cases import Case
from tests.differential.laws import (
    EIGHT,
    EVERYWHERE,
    FIELD,
    OWN_FIELD,
    OWN_PAIRS,
    PAIRS,
    PLAIN,
    assert_same,
    chances,
    holds,
    results_of,
)
from tests.differential.user_actions import give, go, played, script

MANY = [pytest.param(2, id="some"), pytest.param(60, id="many", marks=pytest.mark.slow)]


def steps_are_steps(found: Case) -> None:
    """step(n), n times step(1), and advance with every state recorded, in one go or in stretches."""
    n = 6
    controls = np.stack([act.tau if act.tau is not None else np.array(found.state["tau"])
                         for act in script(found, n)], 1)  # fmt: skip
    one, record = found.simulation(), []
    for k in range(n):
        record.append(one.state())
        one.tau[:] = controls[:, k]
        if go(one, 1):
            return  # where one ends the run, others of its stretch continue
    record.append(one.state())
    at_once = found.simulation()
    at_once.tau[:] = controls[:, 0]
    at_once.step(n)
    held = found.simulation()
    held.tau[:] = controls[:, 0]
    worst = np.zeros(found.batch)
    for _ in range(n):
        held.step()
        if held.contacts is not None:
            worst = np.maximum(worst, held.contacts.residual)
    left, right = results_of(at_once), results_of(held)
    for each in (left, right):  # the worst of a call
        each.pop("contacts worst", None)
    assert_same(left, right, "at once")
    if at_once.contacts is not None:
        sound = ~np.asarray(at_once.diverged)
        np.testing.assert_array_equal(at_once.contacts.worst[sound], worst[sound], "of the steps of a call")
        np.testing.assert_array_equal(held.contacts.worst, held.contacts.residual, "of a call of one step")
    for every in (1, 2, 3):
        for most in (1, 10**9):
            other = found.simulation()
            kept = tuple(np.full((found.batch, 1 + n // every, x.shape[1]), np.nan) for x in record[0])
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(interruptible, "WORK", most)
                other.advance(n, np.ascontiguousarray(controls), every, kept)
            for name, x, y in zip("qv", kept, zip(*record[::every], strict=True), strict=True):
                np.testing.assert_array_equal(x, np.stack(y, 1), err_msg=f"{name}, every {every}, work {most}")
            np.testing.assert_array_equal(other.v, one.v)


def whatever_is_taken_up_goes_on(found: Case) -> None:
    """By a checkpoint, in the same simulation and another; by pickles and copies; at any time of a run."""
    rng, acts = chances(found, 1), script(found, 8)
    simulation, at = found.simulation(), int(rng.integers(1, 6))
    before = list(played(simulation, acts[:at]))[-1]
    before.pop("said")
    kept, pickled = simulation.checkpoint(), pickle.dumps(simulation)
    copied = copy.deepcopy(simulation), copy.copy(simulation)
    expected = list(played(simulation, acts[at:]))
    fresh, used = found.simulation(), found.simulation()
    for _ in played(used, script(found, 3)):  # of another run, whose inputs and contacts are not this one's
        pass
    for each in (simulation, fresh, used):
        each.restore(kept)
    others = {"itself": simulation, "a fresh one": fresh, "a used one": used, "its pickle": pickle.loads(pickled)}
    for name, other in (others | {"its deep copy": copied[0], "its copy": copied[1]}).items():
        assert_same(results_of(other), before, f"{name} at {at}")
        for k, (x, y) in enumerate(zip(played(other, acts[at:]), expected, strict=True)):
            assert_same(x, y, f"{name}, act {k} after {at}")
    assert other.why == simulation.why


def what_pushed_since_is_forgotten(found: Case) -> None:
    """A checkpoint that was taken before any wrench was asked for has none act on."""
    simulation = found.simulation()
    if simulation.takes_wrenches or go(simulation, 1):
        return
    kept = simulation.checkpoint()
    if go(simulation, 2):
        return
    expected = [x.copy() for x in simulation.state()]
    simulation.wrench[:] = 10 * max(float(found.model().mass.sum()), 0.1)
    simulation.restore(kept)
    assert go(simulation, 2) is None
    for x, y in zip(simulation.state(), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-8 * (1 + np.abs(y).max(initial=0)))


def what_is_read_once_may_change(found: Case) -> None:
    """A simulation, its copies and its recordings know nothing of what becomes of the arrays that it was made of."""
    parameters, given = found.parameters(), {}
    for name in ("kp", "kd"):
        value = found.settings[name]
        given[name] = np.array(value) if isinstance(value, list) else value
    simulation = found.simulation(parameters=parameters, **given)
    recording = engine.Recording()
    recording.begin(simulation)
    for name in ("mass", "damping", "gravity"):
        if parameters is not None:
            getattr(parameters, name)[:] *= 3.0
    for x in given.values():
        if isinstance(x, np.ndarray):
            x *= 3.0
    other = pickle.loads(pickle.dumps(simulation))
    recorded = recording.frame(recording.runs[0], 0)
    again = recorded.setup.simulation()
    again.restore(recorded.checkpoint)
    expected = found.simulation()
    for each in (simulation, other, again):
        expected.restore(recorded.checkpoint)
        for x in (each, expected):
            go(x, 2)
        assert_same(results_of(each), results_of(expected))


@pytest.mark.parametrize("count", MANY)
def test_steps_in_any_portions_end_at_the_same_bits(count: int) -> None:
    holds(steps_are_steps, EVERYWHERE, count)


@pytest.mark.parametrize("count", MANY)
def test_whatever_is_taken_up_goes_on(count: int) -> None:
    holds(whatever_is_taken_up_goes_on, EVERYWHERE, count)
    holds(whatever_is_taken_up_goes_on, (PAIRS, OWN_FIELD, OWN_PAIRS), 3 * count)  # a quarter of them rest on something


@pytest.mark.parametrize("count", MANY)
def test_what_pushed_since_is_forgotten(count: int) -> None:
    holds(what_pushed_since_is_forgotten, (PLAIN,), 2 * count)


@pytest.mark.parametrize("count", MANY)
def test_what_is_read_once_may_change(count: int) -> None:
    holds(what_is_read_once_may_change, (PLAIN, OWN_PAIRS, EIGHT, PAIRS, FIELD), count)


def test_resumed_runs_contain_divergences() -> None:
    """Robots diverge, and are reported, in the resumed runs."""
    from tests.differential.cases import case

    said = [each for seed in range(6) for each in played(case(seed, PAIRS).simulation(), script(case(seed, PAIRS), 8))]
    assert sum(bool(np.any(each["diverged"])) for each in said) > 5
    assert give
