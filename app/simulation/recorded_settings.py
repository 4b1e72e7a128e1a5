"""The settings of recorded simulations, and simulations that continue from their frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import engine
from app.simulation.batch_spread import BatchSpread, recorded_model
from app.simulation.messages import Settings
from app.simulation.running import Running, set_step


def settings_in(setup: engine.Setup, others: Settings) -> Settings:
    """Return the settings of a recorded simulation; what one that was made elsewhere does not say, from `others`.

    The gravity of one made elsewhere is that of its first robot.
    """
    recorded, model = setup.settings, recorded_model(setup)
    if setup.about is not None:
        return setup.about.touching(recorded.scene)
    gravity = tuple(model.gravity.tolist()) if model.gravity.any() else None
    kp, kd = recorded.kp[0], recorded.kd[0]
    usual_kp, usual_kd = engine.holding_gains(model, recorded.dt, recorded.integrator)
    joints = np.flatnonzero(model.q_of_v >= 0).tolist()
    held = [v for v in joints if kp[v] or kd[v]]
    gains = tuple((v, float(kp[v]), float(kd[v])) for v in held if (kp[v], kd[v]) != (usual_kp[v], usual_kd[v]))
    return replace(
        others.touching(recorded.scene), dt=recorded.dt, integrator=recorded.integrator, held=bool(held), gains=gains,
        automatic=others.automatic and (recorded.dt, recorded.integrator) == (others.dt, others.integrator),
        by_velocity=frozenset(v for v in held if not kp[v]),
        driven=frozenset(joints).difference(held) if held else frozenset(),
        gravity=gravity is not None, gravity_vector=gravity,
        spread=others.spread if others.spread.robots == recorded.batch else BatchSpread(recorded.batch),
    )  # fmt: skip


def settings_at_opening(setup: engine.Setup, others: Settings) -> Settings:
    """Return the settings with which the robot of a recorded simulation opens on this machine, beside its frames.

    They are those of `settings_in`, except an algorithm or a device that is not available here. `others` are those of
    the robot as it would open by itself.
    """
    recorded, model, here = setup.settings, setup.model, settings_in(setup, others)
    if setup.about is None:
        return here
    suggested = set_step(model, here)
    supported = here.algorithm in engine.simulation_algorithms(model, "cpu", here.touched)
    there = here.device == "cpu" or (here.device == "cuda" and engine.why_no_gpu() is None)
    return replace(
        here, dt=recorded.dt, integrator=recorded.integrator, composed=others.composed,
        automatic=here.automatic and (suggested.dt, suggested.integrator) == (recorded.dt, recorded.integrator),
        algorithm=here.algorithm if supported else "auto", device=here.device if there else "auto",
        gains=tuple(each for each in here.gains if 0 <= each[0] < model.nv),
        joints=tuple(each for each in here.joints if 0 <= each.v < model.nv),
        masses=tuple(each for each in here.masses if 0 <= each[0] < len(model.mass) and model.mass[each[0]] > 0),
        by_velocity=here.by_velocity.intersection(range(model.nv)), driven=here.driven.intersection(range(model.nv)),
        spread=replace(here.spread, robots=recorded.batch),
    )  # fmt: skip


def resume(frame: engine.RecordedFrame, before: Running) -> Running:
    """Return a simulation that continues from a recorded frame: `before` if compatible, else one with its setup.

    Raises the errors of making a simulation.
    """
    setup = frame.setup
    settings = settings_in(setup, before.settings)
    alike = setup.settings is before.simulation.settings and setup.wrenches == before.simulation.takes_wrenches
    running = before if alike else Running(setup.simulation(), settings.spread, before.model, settings)
    checkpoint = frame.checkpoint
    if not checkpoint.contact:  # files of `main.py run` have no contact state, as at a start without contacts
        contact = tuple(np.zeros_like(x) for x in running.simulation.checkpoint().contact)
        checkpoint = checkpoint._replace(contact=contact)
    running.resume(checkpoint, setup.time_before)
    if running.wrench is not None:
        running.set_wrench(np.zeros_like(running.wrench))  # the pull at that time does not continue
    return running
