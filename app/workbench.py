"""The loaded robot and its simulation, free of Qt: the window mirrors it, and tests drive it without a window.

A `Workbench` belongs to the window's thread. Its methods post commands to the `Worker` and return at once; `poll`
returns the events since, and `frame` the newest state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import engine
from app.acting.configuring import Configuring
from app.acting.controlling import ControllerControls, Controlling
from app.acting.coordinates import Coordinate, coordinates
from app.acting.drives import Drive, DriveControls, Drives
from app.acting.forces import ForceControls, Forces
from app.acting.joint_driving import JointDriving
from app.acting.posing import Posing
from app.acting.surroundings import Parts, Surroundings, beside, file_of
from app.acting.undoing import undoable
from app.plotting.probe import Probe
from app.recording import run_files
from app.recording.keeping import Keeper
from app.recording.replay import Replay
from app.simulation.companion import Companion, CompanionControls
from app.simulation.ghost import Ghost, GhostControls
from app.simulation.gpu_search import GpuSearch
from app.simulation.messages import (
    Compiling,
    Configured,
    ControllerChanged,
    Event,
    Findings,
    GpuLookedFor,
    Latest,
    Loaded,
    Preparing,
    Refused,
    Settings,
    Snapshot,
    Stopped,
)
from app.simulation.recorder import Recorder
from app.simulation.spread import ALONE
from app.simulation.starting import first_pose
from app.simulation.worker import Worker

SPEEDS = (0.1, 10.0)
RECENT = 10
DEVICES = ("auto", "cpu", "cuda")
ALGORITHMS = tuple(dict.fromkeys(name for names in engine.SIMULATION_ALGORITHMS.values() for name in names))
"""The algorithms that can step on some device."""


class Workbench(JointDriving, Configuring, Surroundings, Posing):
    """One robot, its simulation, and the recent files."""

    def __init__(self, recent: list[str] | None = None):
        super().__init__()
        self.model: engine.Model | None = None
        self.coordinates: tuple[Coordinate, ...] = ()
        self.path = ""
        self.floating = False
        """Whether the file's root link was set free of the world."""
        self.stands = False
        """Whether the robot has shapes that can touch the ground."""
        self.loading = ""
        """The path of the file being loaded; empty if none."""
        self.findings: Findings | None = None
        self.playing = False
        self.speed = 1.0
        self.settings = Settings(automatic=True)
        self.compiling = 0.0
        """The estimated seconds of the compilation in progress; 0 if there is none."""
        self.plays_on = False
        """Whether the robot runs on with the previous settings while compiling."""
        self.time = 0.0
        self.algorithm = self.device = self.why = ""
        """The algorithm and device in use, and the reason for them."""
        self.preparing = ""
        """The device for which a simulation is being made, "auto" or "cuda"; empty if none."""
        self._gpu = GpuSearch()
        self.recent = list(recent or [])[:RECENT]
        self.initial: NDArray[np.floating] = np.zeros(0)
        """(nq,): the pose that `reset` restores."""
        self._start: NDArray[np.floating] = np.zeros(0)
        self.package_dirs: tuple[str, ...] = ()
        """Folders searched for packages, besides those that `engine.load` knows."""
        self._opening_file, self.opening_floating, self._opening_trusted = "", False, False
        self._robots_of_runs: dict[str, str] = {}  # by the run's path, if other than the robot that the run names
        self.trusted = False
        """Whether the file was allowed to run any Python, if it was a xacro file."""
        self.overloaded: tuple[str, ...] = ()
        """The held joints whose effort limits could not carry their weight at the last start of play."""
        self.newest: Snapshot | None = None
        """The last result of `frame`."""
        self._frames: Latest | None = None
        self.probe = Probe()
        """Samples the plotted quantities."""
        drives, controlling, forces, ghost, self._recorder = Drives(), Controlling(), Forces(), Ghost(), Recorder()
        companion = Companion()
        self.replay = Replay(self._recorder.recording)
        """The recorded frame shown instead of the current state, if any."""
        self._worker = Worker(attachments=(drives, controlling, forces, self.probe, self._recorder, ghost, companion))
        self.probe.change = self._worker.change
        self.ghost = GhostControls(ghost, self._worker.change)
        self.companion = CompanionControls(companion, self._worker.change)
        self.forces = ForceControls(forces, self._worker)
        self.drives = DriveControls(drives, self._worker)
        controlling.tell = self._worker.tell
        self.controller = ControllerControls(controlling, self._worker)
        self.named: tuple[tuple[int, float, str], ...] = ()
        """Named keyframes of opened runs: the run's number, the time in s, the name."""
        self._asked = 0  # the worker's number for the settings requested last
        self._grabbed: int | None = None
        self._suspended: tuple[engine.Model | None, Settings, dict[int, Drive]] | None = None
        self._keeper: Keeper | None = None

    @property
    def floats(self) -> bool:
        """Whether the robot has a free joint, and so falls under gravity without ground."""
        return self.model is not None and any(joint.kind == "floating" for joint in self.model.joints)

    def open(
        self,
        source: str | Path | engine.Model,
        floating: bool = False,
        trust_xacro: bool = False,
        parts: Parts = lambda _: (),
    ) -> None:
        """Load a URDF, or a run (.npz) with its robot, or use a given model.

        The current robot stays until the new one has been loaded; it also stays if that fails.

        `floating` sets the file's root link free of the world; `trust_xacro` lets a xacro file run any Python; `parts`
        are added to a robot from a file.
        """
        self.pause()
        self._opening_file, self.opening_floating, self._opening_trusted = "", floating, trust_xacro
        if isinstance(source, engine.Model):
            self.loading = source.source or source.name
        else:
            source = self.loading = self._opening_file = _resolved(source)
        settings = replace(self.settings, spread=ALONE)
        arguments = source, settings, floating, self.package_dirs, trust_xacro
        if isinstance(source, str) and source.endswith((run_files.SUFFIX, run_files.KEPT_SUFFIX)):
            robot = self._robots_of_runs.get(source, "")
            self._worker.open(*arguments, lambda load: run_files.opener(load, self._recorder, robot))
        else:
            self._worker.open(*arguments, lambda load: beside(load, parts))

    def open_again(self, floating: bool) -> None:
        """Reload the robot's file, with the root link free or not; other parts stay."""
        parts = self.parts
        self.open(self.path, floating, self.trusted, lambda _: parts)

    def set_robot_of_run(self, run: str | Path, robot: str) -> None:
        """Open that run with the robot in the file `robot`, whatever robot it names."""
        self._robots_of_runs[_resolved(run)] = robot

    def set_package_dirs(self, package_dirs: Iterable[str]) -> None:
        """Search these folders for packages, and reload the file requested last."""
        self.package_dirs = tuple(package_dirs)
        if self._opening_file:
            self.open(self._opening_file, self.opening_floating, self._opening_trusted)

    def play(self) -> None:
        if self.model is not None and not self.playing:
            self.playing = True
            self._forget_placed()
            self.overloaded = self._overloaded()
            self._worker.play()

    def _overloaded(self) -> tuple[str, ...]:
        """Return the held joints whose effort limits do not carry their weight in the current pose."""
        if self.floats or not (self.settings.gravity and self.settings.held):
            return ()
        q = self.initial if self.newest is None else self.newest.q
        heavy = np.abs(engine.static_loads(self.model, q)) > self.model.effort_limit
        return tuple(row.name for k, row in enumerate(self.coordinates) if self.is_held(k) and heavy[row.effort_v])

    def pause(self) -> None:
        if self.playing:
            self.playing = False
            self._worker.pause()

    def toggle(self) -> None:
        """Toggle play and pause: of the recording up to its end, then of the simulation."""
        if self.replay.active and not self.replay.at_present:
            self.replay.toggle()
        else:
            self.to_present()
            self.pause() if self.playing else self.play()

    def look_back(self) -> None:
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

    def branch(self) -> None:
        """Pause, and branch a new run off the frame shown."""
        run, frame = self.replay.run, self.replay.frame
        if run is not None and frame is not None:
            self.playing, self.time = False, frame.time
            self._forget_placed()
            self.replay.leave()
            self._worker.branch(self._recorder, run, frame)

    def step(self) -> None:
        """Pause, and take one time step, or show the next frame of the recording."""
        if self.replay.active and not self.replay.at_present:
            self.replay.move(1)
        elif self.model is not None:
            self.to_present()
            self.playing = False
            self._forget_placed()
            self._worker.step()

    def reset(self) -> None:
        """Reset to the pose in which the run began, at rest; at time zero, to the first pose."""
        if self.model is not None:
            if self.replay.active:
                self._leave_the_recording()
            if self.time == 0:
                self.initial = self._start.copy()
            self.time = 0.0
            self.forces.clear()
            self._set.clear()
            self._placed = self.initial.copy()
            self._worker.reset(self.initial)

    def set_speed(self, speed: float) -> None:
        """Set the simulated seconds per wall second, clamped to 0.1 … 10."""
        self.speed = self.replay.speed = self.probe.speed = min(max(speed, SPEEDS[0]), SPEEDS[1])
        self._worker.set_speed(self.speed)

    def look_at(self, robot: int) -> None:
        """Select the robot of the batch that `frame` shows."""
        self.replay.robot = robot
        self._worker.look_at(robot)

    @undoable("Terrain")
    def set_scene(self, scene: engine.Scene) -> NDArray[np.floating] | None:
        """Set the terrain; put the robot down on it, at rest, if its ground is on, and return its q (nq,)."""
        stands = self.model is not None and self.settings.ground
        start = engine.put_down(self.model, scene, first_pose(self.model)) if stands else self._start
        self._configure(replace(self.settings, scene=scene))
        if stands:
            self._start, self.time = start, 0.0
            self.reset()
        return start if stands else None

    @undoable(lambda _, name: "Automatic device" if name == "auto" else f"Steps on {name}")
    def set_device(self, name: str) -> None:
        """Set the device, one of `DEVICES`; also during play. Reset an algorithm it does not support to "auto"."""
        settings = replace(self.settings, device=name)
        if self.model is not None and settings.algorithm not in self._stepping(name):
            settings = replace(settings, algorithm="auto")
        self._configure(settings)

    @property
    def algorithm_refusals(self) -> dict[str, str]:
        """The reasons why algorithms cannot simulate the robot on the requested device, by name."""
        if self.model is None:
            return {}
        device = self.settings.device
        device = "cpu" if device == "auto" and self._gpu.why_not is not None else device
        reasons = {
            name: engine.simulation_refusal(name, self.model, device, self.settings.touched) for name in ALGORITHMS
        }
        return {name: reason for name, reason in reasons.items() if reason is not None}

    @property
    def device_refusals(self) -> dict[str, str]:
        """The reasons why devices cannot simulate the robot, by name."""
        reasons = {"cuda": self._gpu.why_not} if self._gpu.why_not is not None else {}
        for device in ("cpu", "cuda"):
            if self.model is not None and not self._stepping(device):
                first = engine.SIMULATION_ALGORITHMS[device][0]
                reasons[device] = engine.simulation_refusal(first, self.model, device, self.settings.touched) or ""
        return reasons

    def _stepping(self, device: str) -> tuple[str, ...]:
        """Return the algorithms that can simulate the robot, in its scene, on a device."""
        return () if self.model is None else engine.simulation_algorithms(self.model, device, self.settings.touched)

    @property
    def unmeasured(self) -> bool:
        """Whether the automatic choice is a default, since nothing was measured on this machine."""
        several = self.model is not None and len(engine.simulation_algorithms(self.model, "cpu")) > 1
        return self.settings.algorithm == "auto" and self.device == "cpu" and several and not engine.measured()

    def choose_algorithm_again(self) -> None:
        """Repeat the automatic choice; a `Configured` event follows. No effect without a robot."""
        self._asked = self._worker.configure(self.settings)

    def take_settings(self, settings: Settings) -> None:
        """Replace all settings; on other ground the first pose is put down there."""
        if self.model is not None and settings.ground and settings.scene is not self.settings.scene:
            self._start = engine.put_down(self.model, settings.scene, first_pose(self.model))
        self._configure(replace(settings, composed=bool(self.parts)))

    def pose(self, q: NDArray[np.floating]) -> None:
        """Put the robot at q (nq,), at rest and held there; at time zero it is also the pose that `reset` restores."""
        if self.time == 0:
            self.initial = q.copy()
        self._set.clear()
        self._placed = None if self.playing else q.copy()
        self._worker.change(lambda running: running.aim(q))
        self._worker.set_rotation(lambda state: np.copyto(state, q), tuple(range(self.model.nv)))

    def _configure(self, settings: Settings) -> None:
        if settings != self.settings:
            self.settings = settings
            self.overloaded = self._overloaded() if self.playing else ()
            self._asked = self._worker.configure(settings)

    def poll(self) -> list[Event]:
        """Process the events since the last call, and return them in order."""
        events = self._worker.events()
        if self._gpu.is_news:
            events.append(GpuLookedFor(self._gpu.why_not))
        for event in events:
            match event:
                case Loaded():
                    self._adopt(event)
                case Refused():
                    self.loading = ""
                    self.findings = Findings(event.path, event.diagnostics, refused=True)
                case Preparing():
                    self.preparing = event.device
                case Configured():
                    self.algorithm, self.device, self.why, self.preparing = (
                        event.algorithm, event.device, event.why, "",
                    )  # fmt: skip
                    if event.number == self._asked:
                        self.settings = event.settings
                case Compiling():
                    self.compiling, self.plays_on = event.seconds, event.meanwhile
                case Stopped():
                    self.playing, self.loading = False, ""
                case ControllerChanged():
                    self.controller.take(event)
                    self.playing = self.playing and not event.fault
        return events

    def _adopt(self, event: Loaded) -> None:
        self.model, self.path, self.loading = event.model, event.path, ""
        self.floating, self.trusted, self.overloaded = self.opening_floating, self._opening_trusted, ()
        self.replay.leave()
        self.named = ()
        if (opened := self._recorder.opened) is not None and opened.model is event.model:
            self.floating, self.path = opened.floating, file_of(event.model) or event.path
            self.replay.opened = len(self.replay.recording.runs) > 1  # the file's, and one without steps
            self.named = opened.named
        self.coordinates = coordinates(event.model)
        self.initial, self.time, self.playing = event.start.copy(), 0.0, False
        self.algorithm, self.device, self.why, self.preparing = event.algorithm, event.device, event.why, ""
        self.settings = event.settings
        self._start, self.stands = event.start, event.touches
        self._gpu.begin()
        self._grabbed = self.grasp = None
        self.forces.clear()
        self._set.clear()
        self._forget_placed()
        self.controller.unload()
        self.drives.clear()
        self._frames, self.newest = event.frames, None
        self.findings = Findings(event.path, event.model.diagnostics, refused=False)
        source = file_of(event.model)
        file = source if event.path.endswith(run_files.KEPT_SUFFIX) else event.path
        stays = source is not None or (file or "").endswith(run_files.SUFFIX)
        if file and stays and not run_files.is_passing(file):
            self.recent = [file, *(path for path in self.recent if path != file)][:RECENT]

    def frame(self, seen: bool = True) -> Snapshot | None:
        """Return the robot's newest state, valid until the next call; None if there is none, or `seen` is False.

        States that nobody sees are published less often.
        """
        self._worker.seen = seen
        if not seen:
            return None
        if self.replay.active:
            return self.replay.take()
        frame = self._frames.take() if self._frames else None
        if frame is not None:
            self.time, self.newest = frame.time, frame
            self._forget_placed(frame)
        return frame

    def keep_runs(self, keeper: Keeper) -> None:
        """Pass each robot's runs to `keeper` when another robot replaces it."""
        self._recorder.handed_over, self._keeper = keeper.hand_over, keeper

    def name_moments(self, named: tuple[tuple[int, float, str], ...]) -> None:
        """Set the named keyframes of runs: the run's number, the time in s, the name."""
        self.named = named
        if self._keeper is not None and self.model is not None:
            self._keeper.name_moments(self.model, named)

    def close(self) -> None:
        """Stop the simulation thread, and wait for it."""
        self.controller.close()
        self._worker.close()


def _resolved(path: str | Path) -> str:
    """Return the absolute path of a file; an impossible path is returned as it is, and fails on loading."""
    try:
        return str(Path(path).expanduser().resolve())
    except (ValueError, RuntimeError, OSError):  # a zero in it, an unknown user's home, a cycle of links
        return str(path)
