"""Energies of batches: on both devices those of each robot's own model."""

import pytest

import engine
from engine.device_arrays import to_host

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.sample(6)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("own", [False, True], ids=["alike", "own"])
@pytest.mark.parametrize("robot", ["arm7", "scara", "quadruped", "balls"])
def test_a_batch_has_the_energies_of_its_robots(robot, own, device, rng):
    model = engine.tree(9, seed=4, spherical=0.5) if robot == "balls" else engine.load(engine.find_robot(robot))
    batch, parameters = 70, None
    if own:
        parameters = engine.Parameters(model, batch)
        scale = rng.uniform(0.5, 2, batch)
        parameters.mass *= scale[:, None]
        parameters.first_moment *= scale[:, None, None]
        parameters.inertia *= scale[:, None, None, None]
        parameters.gravity[:, 0] = rng.uniform(-3, 3, batch)
    q, v = model.random(rng, batch), rng.uniform(-2, 2, (batch, model.nv))
    simulation = engine.Simulation(
        model, batch, q=q, v=v, device=device, algorithm="abia", parameters=parameters, on_divergence="freeze"
    )
    kinetic, potential = simulation.energy()
    for k in range(0, batch, 9):
        expected = engine.energy(model if parameters is None else parameters.robot(k), q[k], v[k])
        assert (kinetic[k], potential[k]) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    simulation.step(3)
    later = sum(simulation.energy())
    state = [to_host(x)[9] for x in (simulation.q, simulation.v)]
    assert later[9] == pytest.approx(sum(engine.energy(parameters.robot(9) if own else model, *state)), rel=1e-12)
