"""Carry pose and settings over to a reloaded or different model, matching joints by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import engine
from app.acting.coordinates import coordinates
from app.acting.undoing import State
from app.gl.camera import Camera
from app.simulation.batch_spread import masses_by_link
from app.simulation.messages import Settings
from app.workbench import Workbench


@dataclass(frozen=True, eq=False)
class Before:
    """The state to restore after parts are added beside the robot."""

    state: State
    camera: Camera | None
    """None to fit the robot, which stands elsewhere."""
    playing: bool
    row: int
    reported: str
    """What to say once the parts are there; empty if nothing."""


def transfer_pose(before: engine.Model, q: np.ndarray, model: engine.Model, start: np.ndarray) -> np.ndarray:
    """(nq,): positions of joints with the same name and kind; the others from `start`."""
    pose, old = start.copy(), {joint.name: joint for joint in before.joints}
    for joint in model.joints:
        was = old.get(joint.name)
        if joint.leader is None and was is not None and was.leader is None and was.kind == joint.kind:
            pose[joint.q] = q[was.q]
    return pose


def transfer_settings(settings: Settings, before: engine.Model, model: engine.Model) -> Settings:
    """Return the settings with individually driven velocities matched by name."""
    names = {name: v for v, name in enumerate(model.coordinate_names)}
    now = {v: names[name] for v, name in enumerate(before.coordinate_names) if name in names}
    bodies = zip(model.link_names, model.link_body.tolist(), strict=True)
    body_of = {link: body for link, body in bodies if body >= 0 and model.mass[body] > 0}
    masses = masses_by_link(before, settings.masses)
    return replace(
        settings,
        driven=frozenset(now[v] for v in settings.driven if v in now),
        by_velocity=frozenset(now[v] for v in settings.by_velocity if v in now),
        masses=tuple(sorted((body_of[link], mass) for link, mass in masses.items() if link in body_of)),
        joints=tuple(sorted(each._replace(v=now[each.v]) for each in settings.joints if each.v in now)),
        gains=tuple(sorted((now[v], kp, kd) for v, kp, kd in settings.gains if v in now)),
    )


def restore_state(bench: Workbench, state: State, start: np.ndarray, posed: bool) -> None:
    """Restore a state's settings and drives, its pose only if `posed`; joints without a match are as in `start`.

    A pose sets all setpoints, so the state's are set after it even if they are those of the newest frame.
    Playing ends where a pose is restored, but continues where the robot was only put on another ground.
    """
    model, plays_on = bench.robot.model, bench.robot.playing and state.settings.scene is not bench.robot.settings.scene
    settings = transfer_settings(state.settings, state.model, model)
    with bench.actions.unnoted():
        bench.configuring.take_settings(settings)
        if posed:
            if bench.robot.playing:
                bench.pause()
            bench.posing.pose(transfer_pose(state.model, state.q, model, start))
        now, before = bench.actions.state.drives, {row.name: row for row in coordinates(state.model)}
        for k, row in enumerate(bench.robot.coordinates):
            drive = state.drives.get(row.name)
            if not row.driveable or drive is None or before[row.name].angular != row.angular:
                continue
            if (posed or drive != now[row.name]) and (drive.mode == "effort" or row.holdable):
                bench.joints.set_joint_drive(k, drive)
        if plays_on:
            bench.play()
