"""What acts on the robot in the frame that is shown: the drives of its joints, the set wrenches, and a controller."""

from __future__ import annotations

from collections.abc import Mapping

import engine
from app.acting.controlling import ControllerControls
from app.acting.drives import Drive
from app.acting.forces import ForceControls, SetWrench
from app.acting.loaded_robot import JointDrives, LoadedRobot
from app.recording.replay import Replay
from app.simulation.messages import SecondRobotState, Snapshot
from app.simulation.recorded_settings import settings_in
from app.simulation.recorder import Recorder

Inputs = tuple[Mapping[int, Drive], Mapping[int, SetWrench], str]
NOTHING: Inputs = {}, {}, ""


class RecordedInputs:
    """Reads the inputs of the recorded frame that is shown, else those of now, and continues with them."""

    def __init__(
        self,
        robot: LoadedRobot,
        forces: ForceControls,
        controller: ControllerControls,
        replay: Replay,
        recorder: Recorder,
    ):
        self._robot, self._forces, self._controller = robot, forces, controller
        self._replay, self._recorder = replay, recorder

    def _known(self) -> Inputs:
        """Return the drives that are not plain by velocity index, the wrenches by link, and the controller's file.

        Of runs from files only the controller is known.
        """
        run, frame = self._replay.run, self._replay.frame
        if run is None or frame is None:
            return self._robot.drives.known, self._forces.wrenches, self._controller.path
        return self._recorder.inputs_of(run, frame.index)[1:] or NOTHING

    def drives(self, shown: Snapshot | None) -> JointDrives:
        """Return the drives that act in the frame `shown`."""
        robot, frame = self._robot, self._replay.frame
        if frame is None or shown is None:
            return robot.drives_now
        settings = settings_in(frame.setup, robot.settings)
        return JointDrives(robot.coordinates, settings, self._known()[0], shown, shown.q)

    @property
    def second_robot(self) -> SecondRobotState | None:
        """The second robot's state in the recorded frame that is shown; None where it is unknown."""
        run, frame = self._replay.run, self._replay.frame
        return None if run is None or frame is None else self.second_robot_in(run, frame.index)

    def second_robot_in(self, run: engine.Run, index: int) -> SecondRobotState | None:
        """Return the second robot's state in a frame of a run; None where it is unknown. From any thread."""
        inputs = self._recorder.inputs_of(run, index)
        return inputs[0] if inputs else None

    def second_robot_during(self, run: engine.Run, begin: float, end: float) -> list[tuple[float, SecondRobotState]]:
        """Return the recorded times of a run, s, and the second robot's states then, of the last one it had."""
        recording, found = self._replay.recording, list[tuple[float, SecondRobotState]]()
        for index in range(recording.at(run, begin), recording.at(run, end) + 1):
            if (state := self.second_robot_in(run, index)) is not None:
                found.append((recording.frame(run, index).time, state))
        return [each for each in found if each[1].model is found[-1][1].model]

    @property
    def wrenches(self) -> Mapping[int, SetWrench]:
        return self._known()[1]

    def go_back(self) -> str:
        """Continue with the inputs of the recorded frame, before it is left for a branch; a pull by the mouse ends.

        The efforts of a controller that drives the joints no longer are set to zero; its file is returned, else "".
        """
        drives, wrenches, controller = self._known()
        missing = "" if self._controller.drives else controller
        begins = self._replay.frame is not None and self._replay.frame.begins
        self._robot.newly_set.clear()
        if missing:
            self._controller.drop_efforts()
        self._robot.drives.continue_from(drives, begins=begins or bool(missing))
        self._forces.release()
        self._forces.set_all(wrenches)
        return missing
