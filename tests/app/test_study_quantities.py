"""Studies' quantities have the names and values of the plots."""

import numpy as np
import pytest

import engine
from app.acting.coordinates import coordinates
from app.plotting.catalogue import catalogue
from app.plotting.quantities import Evaluation, States
from app.simulation.contacts import contact_forces
from engine.study.quantities import MEASURED, Instant, quantities_of

BATCH = 3


@pytest.mark.parametrize("name", ["quadruped", "arm7", "scara", "chain"])
def test_quantities_of_studies_are_those_of_the_plots(name: str, rng: np.random.Generator) -> None:
    model = engine.chain(6, spherical=0.3, prismatic=0.3) if name == "chain" else engine.load(engine.find_robot(name))
    scene = engine.Scene() if name == "quadruped" else None
    q = np.stack([model.neutral() if scene is None else engine.put_down(model, scene, model.neutral())] * BATCH)
    v = 0.1 * rng.normal(size=(BATCH, model.nv))
    kp, kd = engine.holding_gains(model)
    simulation = engine.Simulation(model, BATCH, q=q, v=v, kp=kp, kd=kd, integrator="implicit", scene=scene)
    simulation.target[:] += 0.01
    simulation.step(5)
    look, known = Instant(simulation), {each.label: each for each in catalogue(model)}
    touches = simulation.contacts
    contact = [None if touches is None else contact_forces(touches, scene, simulation.dt, k) for k in range(BATCH)]
    states = States(
        np.zeros(BATCH), simulation.q, simulation.v, 0 * simulation.v, simulation.effort, simulation.target, contact
    )
    plotted, compared = Evaluation(model, coordinates(model), states), 0
    for label, quantity in quantities_of(model, scene is not None):
        if quantity.kind == MEASURED:
            continue
        expected = plotted.value(known[label])
        assert look.value(quantity) == pytest.approx(expected, rel=1e-9, abs=1e-9), label
        compared += np.any(expected != 0)
    assert compared > 20
