"""Extreme time steps, speeds, gains, damping, limits, masses and quaternions: states stay finite, or it is reported."""

import dataclasses
import re

import numpy as np
import pytest
from masses import weighed

import engine

BATCH, STEPS, BAD = 4, 120, 2
"""The robots, of which only one has the bad numbers where robots may differ in them."""


def limited(model, value):
    scalar = model.q_of_v >= 0
    return dataclasses.replace(
        model, lower=np.where(scalar, value, -np.inf), upper=np.where(scalar, value, np.inf)
    )  # fmt: skip


def acting(model, value):
    return np.where(model.constrained, value, 0.0)


ROBOTS = {
    "chain": lambda: engine.chain(6, seed=2, prismatic=0.3),
    "tree": lambda: engine.tree(8, seed=5, floating=True, spherical=0.3, prismatic=0.2),
}
MODELS = {
    "as it is": lambda m: m,
    "damping 1e15": lambda m: dataclasses.replace(m, damping=acting(m, 1e15)),
    "friction 1e300": lambda m: dataclasses.replace(m, friction=acting(m, 1e300)),
    "equal limits": lambda m: limited(m, 0.25),
    "no speed": lambda m: dataclasses.replace(m, velocity_limit=np.where(m.constrained, 0.0, np.inf)),
    "no effort": lambda m: dataclasses.replace(m, effort_limit=np.where(m.constrained, 0.0, np.inf)),
    "nanograms": lambda m: weighed(m, np.full(len(m.parent), 1e-12)),
    "megatons": lambda m: weighed(m, np.full(len(m.parent), 1e9)),
    "one of 1e-9 kg": lambda m: weighed(m, np.where(np.arange(len(m.parent)) == 3, 1e-9, 1.0)),
    "one of 1e9 kg": lambda m: weighed(m, np.where(np.arange(len(m.parent)) == 3, 1e9, 1.0)),
}
GIVEN = {
    "nothing": {},
    "kp 1e8": {"kp": 1e8},
    "kd 1e15": {"kd": 1e15},
    "kp 1e300": {"kp": 1e300},
    "dt 1e-9": {"dt": 1e-9},
    "dt 0.1": {"dt": 0.1},
    "dt 10": {"dt": 10.0},
}
SPEEDS = (0.0, 1e3, 1e9, 1e13, 1e200)


def faults(model, q, v, given) -> tuple[list[str], int]:
    """Return the problems of a run of a batch with one robot at speeds v, and the number of diverged robots."""
    simulation = engine.Simulation(model, BATCH, q=q, v=v, on_divergence="freeze", device="cpu", **given)
    simulation.step(STEPS)
    found = [name for name in "qv" if not np.all(np.isfinite(getattr(simulation, name)))]
    for robot in range(BATCH):
        text = simulation.divergence(robot)
        if simulation.diverged[robot] != (text is not None and f"of robot {robot}; halve dt" in text):
            found.append(f"robot {robot} is reported as {text!r}")
    if given.get("integrator") == "implicit" and not np.any(v) and ("kp" in given or "kd" in given):
        found += [f"gains made {k} diverge" for k in np.flatnonzero(simulation.diverged)]
    return found, int(np.count_nonzero(simulation.diverged))


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_no_number_is_lost_and_who_diverges_is_told(robot, integrator, rng):
    base, wrong, lost = ROBOTS[robot](), [], 0
    q = base.random(rng, BATCH)
    for of_model, change in MODELS.items():
        model = change(base)
        for name, given in GIVEN.items():
            for speed in SPEEDS if name == "nothing" else (0.0,):
                v = np.zeros((BATCH, model.nv))
                v[BAD] = speed
                found, diverged = faults(model, q, v, given | {"integrator": integrator})
                lost += diverged
                wrong += [f"{of_model}, {name}, speed {speed:g}: {fault}" for fault in found]
    assert wrong == []
    assert lost > 20, "nothing diverged: the numbers are not bad enough"


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("speed", [1e3, 1e9, 1e200])
def test_the_others_go_on_to_the_same_bits(integrator, speed, rng):
    model = ROBOTS["tree"]()
    q, v = model.random(rng, BATCH), rng.uniform(-0.5, 0.5, (BATCH, model.nv))
    ends = []
    for factor in (1.0, speed):
        start = v.copy()
        start[BAD] *= factor
        simulation = engine.Simulation(model, BATCH, q=q, v=start, integrator=integrator, on_divergence="freeze")
        simulation.step(STEPS)
        ends.append(np.delete(simulation.q, BAD, 0))
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_a_joint_that_starts_beyond_its_limit_comes_back_and_never_goes_further(integrator, rng):
    """It may move inwards as it will, and not outwards; inside again it stays inside."""
    model = dataclasses.replace(engine.chain(5, seed=1), lower=np.full(5, -0.2), upper=np.full(5, 0.2))
    q = rng.choice([-1, 1], (BATCH, 5)) * rng.choice([0.1, 0.5, 40.0], (BATCH, 5))
    simulation = engine.Simulation(model, BATCH, q=q, integrator=integrator)
    before, came = np.maximum(np.abs(q) - 0.2, 0.0), 0
    for _ in range(300):
        simulation.step()
        past = np.maximum(np.abs(simulation.q) - 0.2, 0.0)
        assert np.all(past <= before + 1e-9)
        came += np.count_nonzero((past == 0) & (before > 0))
        before = past
    assert came > 0


@pytest.mark.parametrize("length", [1e-8, 1e-5, 0.5, 7.0, 1e8])
def test_quaternions_of_any_sensible_length_are_the_rotations_they_point_to(length, rng):
    model = ROBOTS["tree"]()
    q, v = model.random(rng), rng.uniform(-1, 1, model.nv)
    longer = q.copy()
    for _, quaternion in model.quaternions:
        longer[quaternion] *= length
    np.testing.assert_allclose(engine.link_poses(model, longer), engine.link_poses(model, q), atol=1e-12)
    for integrator in engine.INTEGRATORS:
        one, other = (engine.Simulation(model, q=x, v=v, integrator=integrator, device="cpu") for x in (q, longer))
        for simulation in (one, other):
            simulation.step(20)
        np.testing.assert_allclose(other.q, one.q, atol=1e-9)


@pytest.mark.parametrize("length", [0.0, 1e-300, 1e-200, 1e-12, 1e12, 1e160, 1e300])
def test_quaternions_that_are_no_rotations_are_refused(length, rng):
    model = ROBOTS["tree"]()
    q = model.random(rng, 3)
    name, quaternion = model.quaternions[-1]
    q[1, quaternion] = [0.0, 0.0, length, 0.0]
    text = re.escape(f"of length {length:.1g}" if length else "zero")
    for call in (engine.link_poses, lambda m, x: engine.Simulation(m, 3, q=x), lambda m, x: engine.mass_matrix(m, x)):
        with pytest.raises(ValueError, match=f"quaternion of joint '{name}' in q is {text}; expected"):
            call(model, q)
