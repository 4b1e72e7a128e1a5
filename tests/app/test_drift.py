"""Drift of a robot that should rest is reported: the rule, and the display in the window."""

import numpy as np
import pytest
from windows import wait

import engine
from app.features.attaching import DriftView, LogView
from app.simulation.contacts import Contacts
from app.simulation.drift import DriftWatch
from app.simulation.messages import Snapshot

QUADRUPED = engine.ROBOTS / "quadruped.urdf"


class Standing:
    """Frames of a quadruped on its feet, whose trunk is where a test has it."""

    def __init__(self) -> None:
        self.model = engine.load(QUADRUPED)
        self.poses = np.asarray(engine.link_poses(self.model, self.model.neutral()))
        self.watch = DriftWatch(self.model, np.ones(len(self.model.link_names), bool))
        feet = [k for k, name in enumerate(self.model.link_names) if "foot" in name]
        self.feet = np.array(feet or [shape.link for shape in self.model.collisions][-4:])
        self.points = self.poses[self.feet, :3, 3]

    def frame(self, time: float, shift: float, state: str = "stick", touching: int = 4, pull: bool = False) -> Snapshot:
        made = Snapshot(self.model)
        made.time, made.link_poses[:] = time, self.poses
        made.link_poses[:, 0, 3] += shift
        count = np.zeros((touching, 3))
        states = np.array(["stick"] * (touching - 1) + [state])
        made.contacts = Contacts(
            self.points[:touching],
            count,
            count,
            states,
            self.feet[:touching],
            np.full(touching, -1),
            np.zeros(touching),
        )
        made.pull = np.ones(3) if pull else None
        return made

    def after(self, where, seconds: float = 4.0, **how):
        """Return the drift after `seconds` at `where` (time), m."""
        for time in np.arange(0.0, seconds, 0.016):
            self.watch.add_state(self.frame(time, where(time), **how))
        return self.watch.drift


@pytest.fixture
def standing():
    return Standing()


def test_a_robot_that_creeps_on_contacts_that_stick_drifts(standing):
    found = standing.after(lambda t: 1e-3 * t)
    assert found.speed == pytest.approx(1e-3, rel=0.05)
    assert standing.after(lambda _: 0.0) is None


@pytest.mark.parametrize(
    "where",
    [
        lambda _: 0.0,
        lambda t: 1e-5 * np.sin(9 * t),  # trembles
        lambda t: 0.01 * np.exp(-2 * t),  # settles
        lambda t: 1e-4 * np.exp(2 * t),  # tips over
        lambda t: 0.5 * t,  # walks or slides
    ],
)
def test_what_rests_settles_falls_or_walks_does_not_drift(standing, where):
    assert standing.after(where) is None


def test_what_slips_is_pulled_or_stands_on_two_feet_may_move(standing):
    for how in ({"state": "slip"}, {"pull": True}, {"touching": 2}):
        assert standing.after(lambda t: 1e-3 * t, **how) is None


def test_motion_by_setpoints_is_no_drift(standing):
    for time in np.arange(0.0, 4.0, 0.016):
        frame = standing.frame(time, 1e-3 * time)
        frame.target[8] = 0.1 * time
        standing.watch.add_state(frame)
    assert standing.watch.drift is None


@pytest.mark.usefixtures("runtime")
def test_the_window_says_what_moves_and_how_fast(qtbot, opened, monkeypatch):
    window = opened(QUADRUPED)
    bench, view = window.workbench, window.features[DriftView]
    bench.set_speed(10.0)
    window.run.play.trigger()
    wait(qtbot, lambda: bench.robot.time > 6.0)
    assert not view.note.isVisible()
    shown = bench.frame

    def creeping(seen=True):
        if (frame := shown(seen)) is not None:
            frame.link_poses[:, 0, 3] += 2e-3 * frame.time
        return frame

    monkeypatch.setattr(bench, "frame", creeping)
    wait(qtbot, view.note.isVisible)
    assert view.note.text().endswith("moves at 2 mm/s although its contacts stick and its setpoints are constant")
    assert view.note.text().split()[0] == bench.robot.model.link_names[0]
    assert window.viewport.rect().contains(view.note.geometry())
    assert view.note.text() in window.features[LogView].text
    bench.joints.set_coordinate(10, bench.robot.newest.q[bench.robot.coordinates[10].q] + 0.01)
    wait(qtbot, lambda: not view.note.isVisible())
    wait(qtbot, view.note.isVisible)
    window.run.hold.trigger()  # nothing holds the joints any more
    wait(qtbot, lambda: not view.note.isVisible())
