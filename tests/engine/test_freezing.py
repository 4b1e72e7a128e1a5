"""Diverged robots of a batch keep their last state, and the others are unaffected."""

import numpy as np
import pytest

import engine
from engine.device_arrays import to_host

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
WILD = (3, 4, 12)
"""Robots that start so fast that they diverge; two of them share a block of eight."""
BATCH = 21


def start(model, batch=BATCH, wild=WILD):
    """q and v of a batch, whose wild robots diverge within some steps."""
    rng = np.random.default_rng(4)
    q = np.stack([model.random(rng) for _ in range(batch)])
    v = rng.uniform(-1, 1, (batch, model.nv))
    v[list(wild)] *= 3e3
    return q, v


def make(model, q, v, device, **given):
    return engine.Simulation(model, len(q), q=q, v=v, device=device, on_divergence="freeze", **given)


def state(simulation):
    return to_host(simulation.q).copy(), to_host(simulation.v).copy()


def last_finite(model, q, v, steps, device, **given):
    """The state of one robot before the step in which it diverges, and how many steps that took."""
    simulation = engine.Simulation(model, 1, q=q[None], v=v[None], device=device, **given)
    for step in range(steps):
        before = state(simulation)
        try:
            simulation.step()
            simulation.check()
        except engine.Diverged:
            return before, step
    raise AssertionError("it did not diverge")


CASES = [
    ("abia", "semi-implicit"), ("abia", "rk4"), ("abia", "implicit"), ("dca", "semi-implicit"), ("dca", "rk4"),
    ("cfa", "semi-implicit"), ("jsiia", "rk4"),
]  # fmt: skip


@pytest.mark.sample(5)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("algorithm", "integrator"), CASES)
def test_a_diverged_robot_is_frozen_and_changes_no_bit_of_others(device, algorithm, integrator):
    model = engine.chain(7, seed=2)
    q, v = start(model)
    given = {"integrator": integrator, "algorithm": algorithm}
    simulation = make(model, q, v, device, **given)
    for count in (1, 30, 29):
        simulation.step(count)
        simulation.check()
    wild = np.isin(np.arange(BATCH), WILD)
    assert to_host(simulation.diverged).tolist() == wild.tolist()
    assert simulation.time == pytest.approx(0.06)
    found = state(simulation)
    calm_v = v.copy()
    calm_v[wild] = 0.0
    calm = make(model, q, calm_v, device, **given)
    calm.step(60)
    assert not np.any(to_host(calm.diverged))
    for mine, yours in zip(found, state(calm), strict=True):
        np.testing.assert_array_equal(mine[~wild], yours[~wild])
    for k in WILD:
        (q_end, v_end), _ = last_finite(model, q[k], v[k], 60, device, **given)
        np.testing.assert_array_equal(found[0][k], q_end[0])
        np.testing.assert_array_equal(found[1][k], v_end[0])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("algorithm", ["abia", "dca", "jsiia"])
@pytest.mark.parametrize("every", [1, 4])
def test_a_record_goes_on_with_the_frozen_state(device, algorithm, every):
    model = engine.chain(5, seed=3)
    q, v = start(model)
    given = {"algorithm": algorithm}
    simulation = make(model, q, v, device, **given)
    samples = 1 + 40 // every
    record = simulation.empty(BATCH, samples, model.nq), simulation.empty(BATCH, samples, model.nv)
    simulation.advance(40, every=every, record=record)
    simulation.check()
    found = [to_host(x) for x in record]
    assert np.all(np.isfinite(found[0]))
    for k in WILD:
        (q_end, v_end), steps = last_finite(model, q[k], v[k], 40, device, **given)
        frozen = steps // every + 1
        np.testing.assert_array_equal(found[0][k, frozen:], np.repeat(q_end, samples - frozen, 0))
        np.testing.assert_array_equal(found[1][k, frozen:], np.repeat(v_end, samples - frozen, 0))
    again = simulation.empty(BATCH, samples, model.nq)
    simulation.advance(40, every=every, record=(again, None))
    simulation.check()
    rest = to_host(again)[list(WILD)]
    np.testing.assert_array_equal(rest, np.repeat(found[0][list(WILD), -1:], samples, 1))


@pytest.mark.parametrize("device", DEVICES)
def test_a_batch_of_robots_with_numbers_of_their_own_freezes_too(device, quadruped):
    parameters = engine.Parameters(quadruped, BATCH)
    scale = np.linspace(0.8, 1.2, BATCH)
    parameters.mass *= scale[:, None]
    parameters.first_moment *= scale[:, None, None]
    parameters.inertia *= scale[:, None, None, None]
    q, v = start(quadruped)
    simulation = make(quadruped, q, v, device, parameters=parameters)
    simulation.step(100)
    simulation.check()
    assert np.flatnonzero(to_host(simulation.diverged)).tolist() == list(WILD)
    assert all(np.all(np.isfinite(x)) for x in state(simulation))


@pytest.mark.parametrize("device", DEVICES)
def test_a_reset_sets_all_free_and_where_all_are_frozen_time_goes_on(device):
    model = engine.chain(4, seed=2)
    q, v = start(model, 2, wild=(0, 1))
    simulation = make(model, q, v, device)
    simulation.step(200)
    simulation.check()
    assert np.all(to_host(simulation.diverged))
    before = state(simulation)
    simulation.step(10)
    np.testing.assert_array_equal(before, state(simulation))
    assert simulation.time == pytest.approx(0.21)
    simulation.reset(q, 0 * v)
    simulation.step(10)
    simulation.check()
    assert not np.any(to_host(simulation.diverged))


def test_without_it_the_first_divergence_ends_all_and_other_words_are_refused():
    model = engine.chain(4, seed=2)
    q, v = start(model)
    with pytest.raises(engine.Diverged, match="of robot 4"):
        engine.Simulation(model, BATCH, q=q, v=v).step(200)
    with pytest.raises(ValueError, match="on_divergence"):
        engine.Simulation(model, on_divergence="ignore")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("algorithm", ["abia", "dca", "jsiia", "cfa"])
def test_when_and_where_each_robot_diverged_is_told(device, algorithm):
    model = engine.chain(7, seed=2)
    q, v = start(model)
    simulation = make(model, q, v, device, algorithm=algorithm)
    assert simulation.divergence(3) is None
    for count in (2, 30, 28):
        simulation.step(count)
    for robot in range(BATCH):
        text = simulation.divergence(robot)
        if robot not in WILD:
            assert text is None
            continue
        _, steps = last_finite(model, q[robot], v[robot], 60, device, algorithm=algorithm)
        assert f"diverged at {(steps + 1) * 1e-3:g} s, first in joint" in text
        assert f" of robot {robot}; halve dt" in text
    again = make(model, q, v, device, algorithm=algorithm)
    again.restore(simulation.checkpoint())
    assert [again.divergence(robot) for robot in range(BATCH)] == [simulation.divergence(k) for k in range(BATCH)]
    again.restore(simulation.checkpoint()._replace(divergences=None))  # as files had it before these were kept
    assert "diverged before the checkpoint, first in joint" in again.divergence(WILD[0])
    with pytest.raises(ValueError, match="robot is 21 and the batch 21"):
        simulation.divergence(BATCH)


@pytest.mark.parametrize("on_divergence", ["raise", "freeze"])
def test_the_joint_that_is_named_is_the_one_that_lost_its_bounds(tmp_path, on_divergence):
    """Three wheels on the world, which know nothing of each other: only one velocity is none, and not the fastest."""
    link = '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    joint = '</inertial></link><joint name="{0}" type="continuous"><parent link="world"/><child link="{0}"/></joint>'
    path = tmp_path / "wheels.urdf"
    path.write_text(f'<robot name="w"><link name="world"/>{"".join(map((link + joint).format, "abc"))}</robot>')
    simulation = engine.Simulation(engine.load(path), 3, on_divergence=on_divergence)
    simulation.v[1] = 5.0, 1.0, 0.0
    simulation.tau[1, 1] = 1e200
    if on_divergence == "raise":
        with pytest.raises(engine.Diverged, match=r"at 0\.001 s, first in b of robot 1; "):
            simulation.step(4)
        np.testing.assert_array_equal(simulation.v[1], [5.0, 1.0, 0.0])
    else:
        simulation.step(4)
        np.testing.assert_array_equal(simulation.diverged, [False, True, False])
    assert "first in b of robot 1; " in simulation.divergence(1)
    assert np.all(np.isfinite(simulation.q))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("every", [1, 3])
def test_what_was_rolled_out_before_a_divergence_is_kept(device, every):
    model = engine.chain(7, seed=2)
    q, v = start(model)
    given = {"device": device, "algorithm": "abia"}
    _, steps = last_finite(model, q[3], v[3], 60, device, algorithm="abia")
    whole = steps // every * every
    for one in (False, True):
        rows = (q[3], v[3]) if one else (q[[3, 0]], v[[3, 0]])
        with pytest.raises(engine.Diverged) as reported:
            engine.rollout(model, *rows, steps=60, every=every, **given)
        kept = reported.value.trajectory
        expected = engine.rollout(model, *rows, steps=whole, every=every, **given)
        assert kept.wrench is expected.wrench is None
        for name in ("time", "q", "v", "tau"):
            np.testing.assert_array_equal(*(to_host(getattr(x, name)) for x in (kept, expected)))


@pytest.mark.parametrize("name", ["tau", "target", "wrench"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_acts_and_is_not_finite_is_refused_and_nobody_diverges(name, value):
    simulation = engine.Simulation(engine.chain(3), 2, on_divergence="freeze")
    array = getattr(simulation, name)
    array[1, 2] = value
    with pytest.raises(ValueError, match=rf"sim\.{name}\[1, 2.*\] is not finite"):
        simulation.step()
    assert not np.any(simulation.diverged)
    assert simulation.time == 0


@pytest.mark.parametrize("algorithm", ["abia", "dca"])
def test_a_velocity_that_was_no_number_before_the_step_is_told(algorithm):
    simulation = engine.Simulation(engine.chain(3), 2, algorithm=algorithm, device="cpu", on_divergence="freeze")
    simulation.v[0] = np.nan
    simulation.step(5)
    np.testing.assert_array_equal(simulation.diverged, [True, False])
    assert "joint" in simulation.divergence(0)
