"""Actions that control a run: the Simulation menu and the tool bar."""

from __future__ import annotations

from functools import partial

from PyQt6.QtCore import QObject, Qt, pyqtSignal

from app.desktop import theme
from app.desktop.actions import MESSAGE, NO_ROBOT, REASON, acts_on_robot, check, make_action, offer
from app.features.status import too_heavy
from app.features.timing_view import TimingView
from app.features.window_type import Window

PLAY_TIP = "Play the simulation, or pause (Space)"
FREE_TIP = "Free the root link from the world"
FREE_ALREADY_TIP = "The root link is free already: the robot's file has a floating joint"
NO_FILE_TIP = "The robot has no file to be read with a free root link; save it first"
PLAY_RECORDED_TIP = "Play the recording from this frame, or pause (Space); End returns to the live simulation"


class RunControls(QObject):
    """Connects actions to the workbench's methods."""

    changed = pyqtSignal()
    """Emitted after a call of the workbench."""
    begun = pyqtSignal()
    """Emitted when a run continues or begins, so that messages on the previous one are cleared."""
    floating_asked = pyqtSignal(bool)
    """Emitted when the robot's root link is to be freed from the world, or fixed to it."""
    resetting = pyqtSignal()
    """Emitted before the robot is reset to the start of the run."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._bench, self._bar = window, (bench := window.workbench), window.bar
        make, key = partial(make_action, window), Qt.Key
        self.play = make("&Play", self._toggle, key.Key_Space, icon="play")
        self.play.setToolTip(PLAY_TIP)
        self.step = make(
            "&Step", self._step, key.Key_S, key.Key_Right, icon="step", tip="Pause, and advance one time step"
        )
        self.hold = make(
            "&Hold",
            self._set_held,
            key.Key_H,
            icon="hold",
            tip="Hold the joints where they are, or release them",
            checkable=True,
        )
        self.reset = make(
            "&Reset",
            self._reset,
            key.Key_R,
            icon="reset",
            tip="Back to the start of the run; press again for the neutral pose",
        )
        self.gravity = make(
            "&Gravity",
            bench.configuring.set_gravity,
            key.Key_G,
            icon="gravity",
            tip="Gravity on or off",
            checkable=True,
        )
        self.ground = make("G&round", bench.configuring.set_ground, tip="Ground on or off", checkable=True)
        self.floating = make("&Floating base", self.floating_asked.emit, tip=FREE_TIP, checkable=True)
        acts_on_robot(self.reset, self.hold, self.gravity, self.ground, self.floating)
        window.refreshed.connect(self._refresh)

    @property
    def measuring(self) -> bool:
        """Whether the algorithms are being measured, so that nothing plays."""
        return self._window.feature(TimingView).panel.measuring

    def _refresh(self) -> None:
        bench, there = self._bench, self._bench.robot.model is not None
        for action in (self.reset, self.gravity, self.hold):
            offer(action, (there, NO_ROBOT))
        for action in (self.play, self.step):
            offer(action, (there, NO_ROBOT), (not self.measuring, "the algorithms are being measured"))
        playing = bench.robot.playing or bench.replay.playing
        recorded = bench.replay.active and not bench.replay.at_present
        self.play.setIcon(theme.icon("pause" if playing else "playback" if recorded else "play"))
        self.play.setToolTip(PLAY_RECORDED_TIP if recorded else PLAY_TIP)
        self.play.setText("&Pause" if playing else "&Play")
        check(self.gravity, bench.robot.settings.gravity)
        check(self.hold, bench.robot.settings.held)
        check(self.ground, bench.robot.settings.ground)
        offer(self.ground, (there, NO_ROBOT), (bench.stands, "the robot has no collision shapes to stand on"))
        free = bench.robot.base_floats and not bench.robot.floating  # by the file
        check(self.floating, bench.robot.floating or free)
        has_file = bench.source is not None  # which is reloaded
        offer(self.floating, (there, NO_ROBOT), (not free, FREE_ALREADY_TIP), (has_file, NO_FILE_TIP))
        self.floating.setToolTip(self.floating.property(REASON) if there and (free or not has_file) else FREE_TIP)

    def _toggle(self) -> None:
        self.begun.emit()
        self._bar.drop_advice()
        self._bench.toggle()
        if self._bench.robot.playing and self._bench.robot.overloaded:
            self._bar.showMessage(too_heavy(self._bench.robot.overloaded), MESSAGE)
        self.changed.emit()

    def _step(self) -> None:
        self.begun.emit()
        replay = self._bench.replay
        if replay.at_end and not replay.at_present:
            self._bar.showMessage(f"the recorded run ends here: {replay.ways_on}", MESSAGE)
        self._bench.step()
        self.changed.emit()

    def _reset(self) -> None:
        self.begun.emit()
        self.resetting.emit()
        self._bench.reset()
        self.changed.emit()

    def _set_held(self, on: bool) -> None:
        self._bench.joints.set_held(on)
        if count := self._bench.joints.suspended:
            which = "the drive of one joint is" if count == 1 else f"the drives of {count} joints are"
            self._bar.showMessage(f"Hold is off: {which} suspended until it is on again", MESSAGE)
        self.changed.emit()
