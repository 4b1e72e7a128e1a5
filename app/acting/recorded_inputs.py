"""What acts on the robot in the frame that is shown: the drives of its joints, and the set wrenches."""

from __future__ import annotations

from collections.abc import Mapping

from app.acting.drives import Drive
from app.acting.forces import ForceControls, SetWrench
from app.acting.loaded_robot import JointDrives, LoadedRobot
from app.recording.replay import Replay
from app.simulation.messages import Snapshot
from app.simulation.recorder import Recorder
from app.simulation.running import settings_in

Inputs = tuple[Mapping[int, Drive], Mapping[int, SetWrench]]
NOTHING: Inputs = {}, {}


class RecordedInputs:
    """Reads the inputs of the recorded frame that is shown, else those of now, and continues with them."""

    def __init__(self, robot: LoadedRobot, forces: ForceControls, replay: Replay, recorder: Recorder):
        self._robot, self._forces, self._replay, self._recorder = robot, forces, replay, recorder

    def _known(self) -> Inputs:
        """Return the drives that are not plain by velocity index, and the wrenches by link; none in runs from files."""
        run, frame = self._replay.run, self._replay.frame
        if run is None or frame is None:
            return self._robot.drives.known, self._forces.wrenches
        return self._recorder.inputs_of(run, frame.index) or NOTHING

    def drives(self, shown: Snapshot | None) -> JointDrives:
        """Return the drives that act in the frame `shown`."""
        robot, frame = self._robot, self._replay.frame
        if frame is None or shown is None:
            return robot.drives_now
        settings = settings_in(frame.setup, robot.settings)
        return JointDrives(robot.coordinates, settings, self._known()[0], shown, shown.q)

    @property
    def wrenches(self) -> Mapping[int, SetWrench]:
        return self._known()[1]

    def go_back(self) -> None:
        """Continue with the inputs of the recorded frame, before it is left for a branch; a pull by the mouse ends."""
        drives, wrenches = self._known()
        self._robot.newly_set.clear()
        self._robot.drives.continue_from(drives, begins=self._replay.frame is not None and self._replay.frame.begins)
        self._forces.release()
        self._forces.set_all(wrenches)
