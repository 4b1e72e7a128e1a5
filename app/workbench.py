"""The loaded robot and its simulation, free of Qt: the window mirrors it, and tests drive it without a window.

A `Workbench` belongs to the window's thread. Its methods, and those of `configuring`, `joints`, `posing` and
`surroundings`, post commands to the `Worker` and return at once; `poll` returns the events since, and `frame` the
newest state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import engine
from app.acting.computation import Computation
from app.acting.configuring import Configuring
from app.acting.controlling import ControllerControls, Controlling
from app.acting.drives import Drive, DriveControls, Drives
from app.acting.forces import AppliedForces, ForceControls
from app.acting.joint_driving import JointDriving
from app.acting.loaded_robot import LoadedRobot
from app.acting.opening import Opening
from app.acting.posing import Posing
from app.acting.recorded_inputs import RecordedInputs
from app.acting.surroundings import Parts, Surroundings, file_of
from app.acting.undoing import Actions, undoable
from app.acting.wrenching import Wrenching
from app.plotting.probe import Probe
from app.recording import run_files
from app.recording.autosave import Autosave
from app.recording.replay import Replay
from app.simulation.batch_spread import recorded_model
from app.simulation.ghost import Ghost, GhostControls
from app.simulation.messages import (
    Compiling,
    Configured,
    ControllerChanged,
    Event,
    Findings,
    GpuSearched,
    Latest,
    Loaded,
    Preparing,
    Reading,
    Refused,
    Snapshot,
    Stopped,
)
from app.simulation.recorder import Recorder
from app.simulation.second_robot import SecondRobot, SecondRobotControls
from app.simulation.starting import first_pose
from app.simulation.worker import Worker

SPEEDS = (0.1, 10.0)
RECENT = 10
DEVICES = ("auto", "cpu", "cuda")


class Workbench:
    """One robot, its simulation, and the recent files."""

    def __init__(self, recent: list[str] | None = None):
        self.stands = self.reaches_below = False
        """Whether the robot has shapes that can touch the ground; whether it is fixed, with some below the ground."""
        self.findings: Findings | None = None
        self.speed = 1.0
        self.recent = list(recent or [])[:RECENT]
        self._frames: Latest | None = None
        self.shown: Snapshot | None = None
        """The frame that is shown: `newest`, or a recorded one."""
        self.probe = Probe()
        """Samples the plotted quantities."""
        drives, controlling, forces, ghost = Drives(), Controlling(), AppliedForces(), Ghost()
        second = SecondRobot()
        self._recorder = Recorder((second, drives, forces, controlling))
        self._worker = worker = Worker(
            attachments=(second, drives, controlling, forces, self.probe, self._recorder, ghost)
        )
        self.probe.change, controlling.send_event = worker.change, worker.send_event
        self.ghost = GhostControls(ghost, worker.change)
        self.second_robot = SecondRobotControls(second, worker.change)
        self.forces, self.controller = ForceControls(forces, worker), ControllerControls(controlling, worker)
        self.drives = DriveControls(drives, worker)
        self.controllers_of = self._recorder.controllers_of
        """Returns the controllers of a recorded run."""
        self.replay = replay = Replay(self._recorder.recording)
        """The recorded frame shown instead of the current state, if any."""
        self.named: tuple[tuple[int, float, str], ...] = ()
        """Named keyframes of opened runs: the run's number, the time in s, the name."""
        self._autosave: Autosave | None = None
        self.robot = robot = LoadedRobot(self.drives)
        self.actions = actions = Actions(robot, self.forces)
        self.wrenching = Wrenching(self.forces, actions)
        self.inputs = RecordedInputs(robot, self.forces, self.controller, replay, self._recorder)
        self.computation = Computation(robot)
        self.opening = Opening(robot, worker, replay, self._recorder)
        self.configuring = configuring = Configuring(robot, worker, actions)
        self.joints = JointDriving(robot, configuring, worker, replay, actions)
        self.posing = Posing(robot, worker, replay, actions)
        self.surroundings = Surroundings(robot, configuring, worker, replay, self._exchange, actions)

    @property
    def path(self) -> str:
        """The robot's file, or its name."""
        return self.opening.path

    @property
    def source(self) -> str | None:
        """The robot's own file, without other parts; None if it has none."""
        return None if self.robot.model is None else file_of(self.robot.model)

    def open(
        self,
        source: str | Path | engine.Model,
        floating: bool = False,
        trust_xacro: bool = False,
        parts: Parts | None = None,
    ) -> None:
        """Load a URDF, or a run (.npz) with its robot, or use a given model.

        The current robot stays until the new one has been loaded; it also stays if that fails. The objects around it
        are not kept for another robot, see `left`.

        `floating` sets the file's root link free of the world; `trust_xacro` lets a xacro file run any Python; `parts`
        are added to a robot from a file, and nothing is `left` then.
        """
        playing = self.robot.playing
        self.pause()
        self.opening.open(source, playing, floating, trust_xacro, parts)

    def open_again(self, floating: bool) -> None:
        """Reload the robot's file, with the root link free or not; other parts stay."""
        parts = self.robot.parts
        self.open(self.path, floating, self.opening.trusted, lambda _: parts)

    def _exchange(self, model: engine.Model, floating: bool, doing: str) -> None:
        """Start a new run with another model, under the current file's name if there is one; `doing` says why."""
        self.pause()
        self.opening.exchange(model, floating, doing)

    def set_package_dirs(self, package_dirs: Iterable[str]) -> None:
        """Search these folders for packages, and reload the file requested last."""
        self.opening.package_dirs = tuple(package_dirs)
        file, floating, trust_xacro = self.opening.last
        if file:
            self.open(file, floating, trust_xacro)

    def play(self) -> None:
        if self.robot.model is not None and not self.robot.playing:
            self.robot.playing, self.robot.placed = True, None
            self.robot.check_loads()
            self._worker.play()

    def pause(self) -> None:
        if self.robot.playing:
            self.robot.playing = False
            self._worker.pause()

    def toggle(self) -> None:
        """Toggle play and pause: of the recording up to its end, then of the simulation."""
        if self.replay.active and not self.replay.at_present:
            self.replay.toggle()
        else:
            self.to_present()
            self.pause() if self.robot.playing else self.play()

    def pause_for_replay(self) -> None:
        """Pause before a frame of the recording is shown."""
        self.pause()

    def to_present(self) -> None:
        """Show the current state, or the last frame of an opened run that was not continued."""
        if self.replay.opened:
            self.replay.to_last()
        elif self.replay.active:
            self._leave_the_recording()

    def _leave_the_recording(self) -> None:
        self.replay.leave()
        self._worker.show_again()

    def branch(self) -> str:
        """Pause, and branch a new run off the frame shown, with the drives and set wrenches of that frame.

        Return the file of the controller that drove the joints in it, if none does now: its efforts end; else "".
        """
        run, frame = self.replay.run, self.replay.frame
        if run is not None and frame is not None:
            every = frame.checkpoint.q
            self.robot.playing, self.robot.time = False, frame.time
            self.robot.placed = every[self.replay.robot if self.replay.robot < len(every) else 0].astype(float)
            self._worker.branch(self._recorder, run, frame)
            if (beside := self.inputs.second_robot) is not None:
                self.second_robot.go_back(beside)
            missing = self.inputs.go_back()
            self.replay.leave()
            return missing
        return ""

    def step(self) -> None:
        """Pause, and take one time step, or show the next frame of the recording."""
        if self.replay.active and not self.replay.at_present:
            self.replay.move(1)
        elif self.robot.model is not None:
            self.to_present()
            self.robot.playing, self.robot.placed = False, None
            self._worker.step()

    def reset(self) -> None:
        """Reset to the pose and setpoints with which the run began, at rest; at time zero, to the first pose."""
        robot = self.robot
        if robot.model is not None:
            if self.replay.active:
                self._leave_the_recording()
            if robot.time == 0:
                robot.initial = robot.start.copy()
                robot.first_setpoints.clear()
            robot.time, robot.placed = 0.0, robot.initial.copy()
            first = robot.first_setpoints.copy()
            robot.aim(robot.initial)
            robot.first_setpoints = first
            robot.newly_set |= {k: Drive(value=value) for k, value in first.items()}
            self.forces.clear(but_ending=True)
            self._worker.reset(robot.initial, {robot.coordinates[k].effort_v: value for k, value in first.items()})

    def set_speed(self, speed: float) -> None:
        """Set the simulated seconds per wall second, clamped to 0.1 … 10."""
        self.speed = self.replay.speed = self.probe.speed = min(max(speed, SPEEDS[0]), SPEEDS[1])
        self._worker.set_speed(self.speed)

    def select_robot(self, robot: int) -> None:
        """Select the robot of the batch that `frame` shows."""
        self.replay.select_robot(robot)
        self._worker.select_robot(robot)

    @undoable("Terrain")
    def set_scene(self, scene: engine.Scene) -> NDArray[np.floating] | None:
        """Set the terrain; put the robot down on it, at rest, if its ground is on, and return its q (nq,)."""
        robot, settings = self.robot, self.robot.settings
        stands = robot.model is not None and settings.ground
        start = engine.put_down(robot.model, scene, first_pose(robot.model)) if stands else robot.start
        self.configuring.configure(replace(settings, scene=scene))
        if stands:
            robot.start, robot.time = start, 0.0
            self.reset()
        return start if stands else None

    @property
    def shown_model(self) -> engine.Model | None:
        """The robot as it is simulated in the state that is shown, with the gravity set since; None without a robot."""
        recorded, robot = self.replay.frame, self.robot
        if recorded is not None or robot.model is None:
            return None if recorded is None else recorded_model(recorded.setup, self.replay.robot)
        return robot.settings.under_gravity(robot.model if self.shown is None else self.shown.model)

    def poll(self) -> list[Event]:
        """Process the events since the last call, and return them in order."""
        events = self._worker.events()
        if self.computation.gpu.is_news:
            events.append(GpuSearched(self.computation.gpu.why_not))
        for event in events:
            match event:
                case Reading():
                    self.opening.reading = event.meshes
                case Loaded():
                    self._adopt(event)
                case Refused():
                    self.findings = Findings(event.path, event.diagnostics, refused=True)
                    if self.opening.refuse(event):
                        self.play()
                case Preparing() | Compiling():
                    self.computation.update_from(event)
                case Configured():
                    self.computation.update_from(event)
                    self.configuring.update_from(event)
                case Stopped():
                    self.robot.playing, self.opening.loading = False, ""
                case ControllerChanged():
                    self.controller.update_from(event)
                    self.robot.controlled = self.controller.drives
                    if event.problem:
                        self.pause()
        return events

    def _adopt(self, event: Loaded) -> None:
        self.named = self.opening.adopt(event, self.surroundings)
        self.shown, self.stands, self.reaches_below = None, event.touches, event.reaches_below
        self.computation.update_from(event)
        self.computation.gpu.begin()
        self.joints.grabbed = self.posing.grasp = None
        self.forces.clear()
        self.controller.unload()
        self.drives.clear()
        self._frames = event.frames
        self.findings = Findings(event.path, event.model.diagnostics, refused=False)
        source = file_of(event.model)
        file = source if event.path.endswith(run_files.KEPT_SUFFIX) else event.path
        stays = source is not None or (file or "").endswith(run_files.SUFFIX)
        if file and stays and not run_files.is_passing(file):
            self.note_recent(file)

    def note_recent(self, file: str) -> None:
        """Put a file first in the list of recent files."""
        self.recent = [file, *(path for path in self.recent if path != file)][:RECENT]

    def frame(self, seen: bool = True) -> Snapshot | None:
        """Return the robot's newest state, valid until the next call; None if there is none, or `seen` is False.

        States that nobody sees are published less often.
        """
        self._worker.seen = seen
        if not seen:
            return None
        if self.replay.active:
            if (frame := self.replay.take()) is not None:
                frame.second_robot = self.inputs.second_robot
        elif (frame := self._frames.take() if self._frames else None) is not None:
            self.robot.show(frame)
        self.shown = frame or self.shown
        return frame

    def keep_runs(self, autosave: Autosave) -> None:
        """Pass each robot's runs to `autosave` when another robot replaces it."""
        self._recorder.handed_over, self._autosave = autosave.hand_over, autosave
        autosave.controllers_of = self.controllers_of

    def store_keyframes(self, named: tuple[tuple[int, float, str], ...]) -> None:
        """Set the named keyframes of runs: the run's number, the time in s, the name."""
        self.named = named
        if self._autosave is not None and self.robot.model is not None:
            self._autosave.store_keyframes(self.robot.model, named)

    def close(self) -> None:
        """Stop the simulation thread, and wait for it."""
        self.controller.close()
        self._worker.close()
