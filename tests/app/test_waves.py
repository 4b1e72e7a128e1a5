"""The waves of drives: each step has its own setpoints, as the exported table shows."""

import csv
import math

import numpy as np
import pytest
from windows import in_simulation, wait

import engine
from app.acting.drives import Drive
from app.features.run_exports import RunExports
from app.simulation.ghost import GhostSettings

WAVES = {0: Drive("target", 0.1, "sine", 0.02, 0.9), 1: Drive("target", 0.0, "sine", 0.01, 0.7, weight=True)}
LAST = 0.3  # s


def setpoints(qtbot, window, path) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """The times of the exported table, and the setpoints of the waves' joints, of which the gains made the efforts."""
    bench, exports = window.workbench, window.features[RunExports]
    exports.write(str(path), "csv", 0.0)
    wait(qtbot, lambda: not exports.writing.running and path.exists())
    _, *rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    t, q, v, tau = np.split(np.array(rows, float), [1, 8, 15], 1)
    settings = in_simulation(bench, lambda running: running.simulation.settings)
    weights = np.array([engine.static_loads(bench.robot.model, each) for each in q])
    found = {}
    for k, drive in WAVES.items():
        tau[1:, k] -= weights[:-1, k] if drive.weight else 0.0  # of the state at the step's start
        found[k] = (tau[:, k] + settings.kd[0, k] * v[:, k]) / settings.kp[0, k] + q[:, k]
    return t[:, 0], found


@pytest.mark.parametrize("dt", [5e-4, 1e-3, 2e-3])
@pytest.mark.parametrize("way", ["played", "stepped", "with a ghost"])
def test_each_step_has_its_own_setpoint(qtbot, opened, tmp_path, dt, way):
    window = opened(engine.find_robot("arm7"))
    bench = window.workbench
    bench.configuring.set_dt(dt)
    bench.configuring.set_integrator("implicit")
    for k, drive in WAVES.items():
        bench.joints.set_joint_drive(k, drive)
    wait(qtbot, lambda: in_simulation(bench, lambda running: running.simulation.dt) == dt)
    if way == "with a ghost":
        bench.ghost.set(GhostSettings())
        wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.ghost is not None)
    if way == "stepped":
        for _ in range(round(LAST / dt)):
            bench.step()
    else:
        bench.toggle()
        wait(qtbot, lambda: bench.robot.time > LAST)
        bench.pause()
    wait(qtbot, lambda: in_simulation(bench, lambda running: running.next_time) >= LAST - dt / 2)
    t, found = setpoints(qtbot, window, tmp_path / "run.csv")
    assert len(t) > LAST / dt - 1
    for k, drive in WAVES.items():
        expected = [drive.value + drive.amplitude * math.sin(2 * math.pi * s / drive.period) for s in t[:-1]]
        np.testing.assert_allclose(found[k][1:], expected, atol=1e-6, err_msg=f"joint {k}")
    if way == "with a ghost":
        np.testing.assert_array_equal(bench.robot.newest.ghost.worst, 0.0)
