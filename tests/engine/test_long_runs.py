"""`tests/long_runs.py`, shortened to a hundredth; and the basis of its bounds."""

import sys
from pathlib import Path

import numpy as np
import pytest

import engine

sys.path.insert(0, str(Path(__file__).parents[1]))

import long_runs

BODY = """<robot name="body"><link name="body"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
def test_a_hundred_seconds_keep_what_they_should(integrator):
    kept = long_runs.run(integrator, 100_000)
    assert kept.faults(100_000) == []
    assert kept.energy > 0


def test_a_change_beyond_its_bound_is_told():
    kept = long_runs.Kept("rk4", energy=1e-3, momentum=1e-3, quaternion=1e-3, time=1e-3, grown=9.0)
    assert [words.split(" ")[1] for words in kept.faults(10**6)] == ["energy", "momentum", "a", "time", "the"]


@pytest.mark.parametrize("integrator", engine.INTEGRATORS)
@pytest.mark.parametrize("omega", [2.0, 10.0])
def test_what_turns_freely_keeps_its_speed(integrator, omega, tmp_path):
    path = tmp_path / "body.urdf"
    path.write_text(BODY)
    model = engine.load(path, floating=True).with_gravity((0, 0, 0))
    simulation = engine.Simulation(model, integrator=integrator, v=[0, 0, omega, 1, 0, 0], device="cpu")
    simulation.step(10_000)
    assert np.linalg.norm(simulation.v[0, 3:]) == pytest.approx(1, rel=1e-9 if integrator == "rk4" else 1e-13)


@pytest.mark.parametrize("dt", [1e-3, 1 / 240, 1e-4])
def test_time_is_the_number_of_steps_times_dt(dt):
    """To one rounding, however long: nothing is added up."""
    simulation = engine.Simulation(engine.chain(1), dt=dt)
    simulation.steps = 10**7
    assert simulation.time == 10**7 * dt
    trajectory = engine.rollout(engine.chain(1), [0.0], steps=3000, every=1000, dt=dt)
    np.testing.assert_allclose(trajectory.time, np.arange(4) * (1000 * dt), rtol=1e-15)
