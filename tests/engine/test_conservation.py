"""Energy and momentum are conserved over many steps, where nothing acts that takes them."""

import numpy as np

import engine

MOMENTUM_GAINED = 1e-9
"""N m s and N s, in 5 s."""


def total_energy(simulation):
    return sum(part[0] for part in simulation.energy())


def test_rk4_loses_energy_as_the_fourth_power_of_dt_over_a_minute(pytestconfig):
    double_pendulum = engine.load(pytestconfig.rootpath / "robots" / "double_pendulum.urdf")
    assert not np.any(double_pendulum.damping)
    assert not np.any(double_pendulum.friction)
    steps, errors = np.array([4e-3, 2e-3, 1e-3]), []
    for dt in steps:
        simulation = engine.Simulation(double_pendulum, dt=dt, integrator="rk4", q=[0.4, 0.3])
        start, error = total_energy(simulation), 0.0
        for _ in range(60):
            simulation.step(round(1 / dt))
            error = max(error, abs(total_energy(simulation) - start))
        errors.append(error)
    kinetic_scale = abs(start)
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    # The energy's own error may even fall faster than the trajectory's dt⁴: never slower.
    assert slope > 3.7
    assert errors[-1] < 1e-6 * kinetic_scale


def test_a_free_floating_robot_keeps_its_momentum():
    model = engine.tree(12, seed=2, floating=True, prismatic=0.3).with_gravity((0, 0, 0))
    rng = np.random.default_rng(0)
    simulation = engine.Simulation(model, integrator="rk4", q=model.random(rng), v=rng.uniform(-1, 1, model.nv))
    start = engine.momentum(model, simulation.q, simulation.v)[0]
    simulation.step(5000)
    assert np.linalg.norm(start[:3]) > 0.1
    assert np.linalg.norm(start[3:]) > 0.1
    end = engine.momentum(model, simulation.q, simulation.v)[0]
    np.testing.assert_allclose(end, start, rtol=0, atol=MOMENTUM_GAINED)
