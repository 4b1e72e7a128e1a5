"""The ghost's deviation and energy over time, in the plots."""

import numpy as np
import pytest
from windows import press, settle, wait

import engine
from app.features.attaching import GhostView, PlotsView, TimeView
from app.simulation.ghost import STEPS

ARM = engine.ROBOTS / "arm7.urdf"


def test_the_ghosts_deviation_and_energy_are_plotted_over_time(qtbot, opened):
    window = opened(ARM)
    view, plots, bench = window.features[GhostView], window.features[PlotsView], window.workbench
    window.run.hold.trigger()
    view.panel.integrator.setCurrentIndex(view.panel.integrator.findData("semi-implicit"))
    view.panel.step.setCurrentIndex(len(STEPS) - 1)
    view.panel.on.click()
    wait(qtbot, lambda: bench.robot.newest is not None and bench.robot.newest.ghost is not None)
    plots.action.trigger()
    for label in ("ghost deviation", "ghost energy", "total energy"):
        (quantity,) = plots.panel.list.model.quantities.found(label)[:1]
        plots.panel.plot(quantity)
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: bench.robot.time > 0.5)
    press(qtbot, window, window.run.play)
    settle(qtbot, window)
    deviation, energy, total = plots.panel.series.values()
    wait(qtbot, lambda: deviation.time[-1] == bench.robot.time)
    ghost = bench.robot.newest.ghost
    assert (deviation.value[-1], energy.value[-1]) == (ghost.deviation.max(), ghost.energy)
    assert len(deviation) > 10
    assert np.nanmax(deviation.value) == pytest.approx(ghost.worst, rel=0.3)
    apart = energy.value - np.interp(energy.time, total.time, total.value)
    assert 0 < np.nanmax(np.abs(apart)) < 0.2 * np.nanmax(np.abs(total.value))
    before = len(deviation)
    window.features[TimeView].back.trigger()
    wait(qtbot, lambda: bench.replay.active)
    window.features[TimeView].last.trigger()
    assert len(plots.panel.sampled[next(iter(plots.panel.quantities))]) >= before
