"""What is loaded and playing, free of Qt: the window mirrors it, and a test drives it without one.

A `Workbench` belongs to one thread, the window's. Its methods post commands to the `Worker` and return
at once; `poll` brings in what has happened since, and `frame` the newest state.
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
"""Those that step somewhere."""


class Workbench(JointDriving, Configuring, Surroundings, Posing):
    """One robot, its simulation, and the files that were open before."""

    def __init__(self, recent: list[str] | None = None):
        super().__init__()
        self.model: engine.Model | None = None
        self.coordinates: tuple[Coordinate, ...] = ()
        self.path = ""
        self.floating = False
        """Whether the file's root link was set free of the world."""
        self.stands = False
        """Whether the robot has shapes to touch the ground with."""
        self.loading = ""
        """The path of the file that is being loaded; empty while none is."""
        self.findings: Findings | None = None
        self.playing = False
        self.speed = 1.0
        self.settings = Settings(automatic=True)
        self.compiling = 0.0
        """About how many seconds compiling takes; 0 while nothing is compiled that was asked for."""
        self.plays_on = False
        """Whether the robot goes on under the settings before while it compiles, rather than wait."""
        self.time = 0.0
        self.algorithm = self.device = self.why = ""
        """That by which the robot is simulated, where, and why."""
        self.preparing = ""
        """The device for which a simulation is being made, "auto" or "cuda"; empty while none is."""
        self._gpu = GpuSearch()
        self.recent = list(recent or [])[:RECENT]
        self.initial: NDArray[np.floating] = np.zeros(0)
        """(nq,): where `reset` goes back to."""
        self._start: NDArray[np.floating] = np.zeros(0)
        self.package_dirs: tuple[str, ...] = ()
        """Folders in which packages are looked for, besides those that `engine.load` knows of."""
        self._opening_file, self.opening_floating, self._opening_trusted = "", False, False
        self._robots_of_runs: dict[str, str] = {}  # by the run's path, where it is not the robot that the run names
        self.trusted = False
        """Whether the file might run any Python, if it was a xacro file."""
        self.overloaded: tuple[str, ...] = ()
        """The held joints whose effort limits did not carry their weight when the robot last began to play."""
        self.newest: Snapshot | None = None
        """What `frame` answered last."""
        self._frames: Latest | None = None
        self.probe = Probe()
        """Samples what is plotted."""
        drives, controlling, forces, ghost, self._recorder = Drives(), Controlling(), Forces(), Ghost(), Recorder()
        companion = Companion()
        self.replay = Replay(self._recorder.recording)
        """What of the recording is shown instead of the present."""
        self._worker = Worker(attachments=(drives, controlling, forces, self.probe, self._recorder, ghost, companion))
        self.probe.change = self._worker.change
        self.ghost = GhostControls(ghost, self._worker.change)
        self.companion = CompanionControls(companion, self._worker.change)
        self.forces = ForceControls(forces, self._worker)
        self.drives = DriveControls(drives, self._worker)
        controlling.tell = self._worker.tell
        self.controller = ControllerControls(controlling, self._worker)
        self.named: tuple[tuple[int, float, str], ...] = ()
        """The moments of opened runs that have names: the run's number, the time in s, the name."""
        self._asked = 0  # the number under which the worker knows the settings that were asked for last
        self._grabbed: int | None = None
        self._suspended: tuple[engine.Model | None, Settings, dict[int, Drive]] | None = None
        self._keeper: Keeper | None = None

    @property
    def floats(self) -> bool:
        """Whether the robot has a free joint, and so falls under gravity where there is no ground."""
        return self.model is not None and any(joint.kind == "floating" for joint in self.model.joints)

    def open(
        self,
        source: str | Path | engine.Model,
        floating: bool = False,
        trust_xacro: bool = False,
        parts: Parts = lambda _: (),
    ) -> None:
        """Load a URDF, or a run (.npz) with its robot, or take a ready model.

        The present robot stays until the new one is there, or is refused.

        `floating` sets the file's root link free of the world; `trust_xacro` lets a xacro file run any Python; `parts`
        are put beside a robot from a file.
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
        """Read the robot's file again, with the root link set free or not; what is beside it stays."""
        parts = self.parts
        self.open(self.path, floating, self.trusted, lambda _: parts)

    def set_robot_of_run(self, run: str | Path, robot: str) -> None:
        """Open the run in that file with the robot in the file `robot`, whatever robot it names."""
        self._robots_of_runs[_resolved(run)] = robot

    def set_package_dirs(self, package_dirs: Iterable[str]) -> None:
        """Look for packages in these folders from now on, and read the file that was asked for last again."""
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
        """The held joints whose effort limits do not carry their weight where the robot stands."""
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
        """Play if paused, pause if playing: the recording up to its end, then the simulation."""
        if self.replay.active and not self.replay.at_present:
            self.replay.toggle()
        else:
            self.to_present()
            self.pause() if self.playing else self.play()

    def look_back(self) -> None:
        """Pause, since a moment of the recording is to be shown."""
        self.pause()

    def to_present(self) -> None:
        """Show the present again; the last frame of a file's run from which nothing has gone on."""
        if self.replay.opened:
            self.replay.to_last()
        elif self.replay.active:
            self._leave_the_recording()

    def _leave_the_recording(self) -> None:
        self.replay.leave()
        self._worker.show_again()

    def branch(self) -> None:
        """Pause, and go on from the moment that is shown, in a run of its own."""
        run, frame = self.replay.run, self.replay.frame
        if run is not None and frame is not None:
            self.playing, self.time = False, frame.time
            self._forget_placed()
            self.replay.leave()
            self._worker.branch(self._recorder, run, frame)

    def step(self) -> None:
        """Pause, and advance by one time step; to the next frame while a moment of the recording is shown."""
        if self.replay.active and not self.replay.at_present:
            self.replay.move(1)
        elif self.model is not None:
            self.to_present()
            self.playing = False
            self._forget_placed()
            self._worker.step()

    def reset(self) -> None:
        """At rest in the pose from which the run began; from there, at time zero, to the first pose."""
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
        """Simulated seconds per wall second, brought into 0.1 … 10."""
        self.speed = self.replay.speed = self.probe.speed = min(max(speed, SPEEDS[0]), SPEEDS[1])
        self._worker.set_speed(self.speed)

    def look_at(self, robot: int) -> None:
        """Have `frame` tell of that robot of the batch."""
        self.replay.robot = robot
        self._worker.look_at(robot)

    @undoable("Terrain")
    def set_scene(self, scene: engine.Scene) -> NDArray[np.floating] | None:
        """What robots stand on: the present one is put down on it, at rest, as later ones are; q (nq,) if so."""
        stands = self.model is not None and self.settings.ground
        start = engine.put_down(self.model, scene, first_pose(self.model)) if stands else self._start
        self._configure(replace(self.settings, scene=scene))
        if stands:
            self._start, self.time = start, 0.0
            self.reset()
        return start if stands else None

    @undoable(lambda _, name: "Automatic device" if name == "auto" else f"Steps on {name}")
    def set_device(self, name: str) -> None:
        """One of `DEVICES`; also during play. An algorithm that does not step there gives way to the choice."""
        settings = replace(self.settings, device=name)
        if self.model is not None and settings.algorithm not in self._stepping(name):
            settings = replace(settings, algorithm="auto")
        self._configure(settings)

    @property
    def algorithm_refusals(self) -> dict[str, str]:
        """Why algorithms do not simulate the present robot on the device that was asked for, by name."""
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
        """Why devices do not simulate the present robot, by name."""
        reasons = {"cuda": self._gpu.why_not} if self._gpu.why_not is not None else {}
        for device in ("cpu", "cuda"):
            if self.model is not None and not self._stepping(device):
                first = engine.SIMULATION_ALGORITHMS[device][0]
                reasons[device] = engine.simulation_refusal(first, self.model, device, self.settings.touched) or ""
        return reasons

    def _stepping(self, device: str) -> tuple[str, ...]:
        """The algorithms that simulate the present robot, where it stands, on a device."""
        return () if self.model is None else engine.simulation_algorithms(self.model, device, self.settings.touched)

    @property
    def unmeasured(self) -> bool:
        """Whether the automatic choice is a default, for want of a measurement on this machine."""
        several = self.model is not None and len(engine.simulation_algorithms(self.model, "cpu")) > 1
        return self.settings.algorithm == "auto" and self.device == "cpu" and several and not engine.measured()

    def choose_algorithm_again(self) -> None:
        """Have the automatic choice made anew; a `Configured` tells of it. Nothing happens without a robot."""
        self._asked = self._worker.configure(self.settings)

    def take_settings(self, settings: Settings) -> None:
        """All of them at once; on another ground the first pose is put down there."""
        if self.model is not None and settings.ground and settings.scene is not self.settings.scene:
            self._start = engine.put_down(self.model, settings.scene, first_pose(self.model))
        self._configure(replace(settings, composed=bool(self.parts)))

    def pose(self, q: NDArray[np.floating]) -> None:
        """Put the robot at q (nq,), at rest and held there; at time zero that is where `reset` goes back to."""
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
        """Take in what has happened since the last call, and return it in order."""
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
        """The newest state of the present robot, valid until the next call; None if none is new, or `seen` by nobody.

        What nobody sees comes less often.
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
        """Hand the runs of each robot over when another takes its place."""
        self._recorder.handed_over, self._keeper = keeper.hand_over, keeper

    def name_moments(self, named: tuple[tuple[int, float, str], ...]) -> None:
        """These moments of runs have names: the run's number, the time in s, the name."""
        self.named = named
        if self._keeper is not None and self.model is not None:
            self._keeper.name_moments(self.model, named)

    def close(self) -> None:
        """End the simulation's thread, and wait until it has."""
        self.controller.close()
        self._worker.close()


def _resolved(path: str | Path) -> str:
    """The path by which a file is known; as it came where no file can have it, as loading then tells."""
    try:
        return str(Path(path).expanduser().resolve())
    except (ValueError, RuntimeError, OSError):  # a zero in it, a user's home that is not there, a circle of links
        return str(path)
