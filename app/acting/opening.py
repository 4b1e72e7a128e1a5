"""How robots and runs are opened: the file being loaded, and what was given for it. Free of Qt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import engine
from app.acting.loaded_robot import LoadedRobot
from app.acting.surroundings import Parts, RemovedObjects, Surroundings, file_of, loader_with_parts, resolved
from app.recording import run_files
from app.recording.replay import Replay
from app.simulation.batch_spread import ALONE
from app.simulation.messages import Loaded, Refused, Settings
from app.simulation.recorder import Recorder
from app.simulation.worker import Worker


class Opening:
    """The robot's file, the one being loaded, and the options of both."""

    def __init__(self, robot: LoadedRobot, worker: Worker, replay: Replay, recorder: Recorder):
        self._robot, self._worker, self._replay, self._recorder = robot, worker, replay, recorder
        self.path = ""
        """The robot's file, or its name."""
        self.trusted = False
        """Whether the file was allowed to run any Python, if it was a xacro file."""
        self.loading = ""
        """The path of the file being loaded; empty if none."""
        self.doing = ""
        """What is done to the objects around the robot, as Undo names it, where that is why it is loaded."""
        self.reading: tuple[str, ...] = ()
        """The collision meshes of the robot being loaded, in the order in which they are read."""
        self.package_dirs: tuple[str, ...] = ()
        """Folders searched for packages, besides those that `engine.load` knows."""
        self.floating = False
        """Whether the root link of the file requested last is set free of the world."""
        self.left: RemovedObjects | None = None
        """The objects around the previous robot that another one, opened since, lacks; None if there are none."""
        self._file, self._trusted = "", False  # those requested last
        self._plays_on_refusal = self._leaves = False
        self._before_run: dict[str, Any] = {}  # how steps were taken before a run was opened
        self._of_run: dict[str, Any] = {}  # how they are in the run
        self._xacro_args: dict[str, dict[str, str]] = {}  # by the path of the file
        self._robots_of_runs: dict[str, str] = {}  # by the run's path, if other than the robot that the run names

    def open(
        self, source: str | Path | engine.Model, playing: bool, floating: bool, trust_xacro: bool, parts: Parts | None
    ) -> None:
        """Load a robot or a run, see `Workbench.open`; if that fails, the current one plays on if it was `playing`."""
        self._plays_on_refusal = playing or (bool(self.loading) and self._plays_on_refusal)
        self._file, self.floating, self._trusted, self.doing = "", floating, trust_xacro, ""
        if isinstance(source, engine.Model):
            self.loading = source.source or source.name
        else:
            source = self.loading = self._file = resolved(source)
        settings, self._leaves = replace(self._robot.settings, spread=ALONE), parts is None
        if self._replay.opened or (parts is None and self._of_run == _steps(settings)):
            settings = replace(settings, **self._before_run)  # in place of the run's; the user has not set others
        if parts is None:
            self._before_run = _steps(settings)
        run = source if isinstance(source, str) and source.endswith((run_files.SUFFIX, run_files.KEPT_SUFFIX)) else ""
        if self._robot.model is not None and self.loading != self.path and not run:  # frames of a run have their scene
            settings = replace(settings, scene=replace(settings.scene, obstacles=()))
        given = self.xacro_args(source) if isinstance(source, str) else {}
        arguments = source, settings, floating, self.package_dirs, trust_xacro, given
        if run:
            robot = self._robots_of_runs.get(run, "")
            self._worker.open(
                *arguments, lambda load: run_files.opener(load, self._recorder, robot),
                partial(run_files.as_recorded, self._recorder),
            )  # fmt: skip
        else:
            self._worker.open(*arguments, lambda load: loader_with_parts(load, parts or (lambda _: ())))

    def exchange(self, model: engine.Model, floating: bool, doing: str) -> None:
        """Start a new run with another model, under the current file's name if there is one; `doing` says why."""
        self.loading, self._leaves, self.floating, self.doing = self.path, False, floating, doing
        source = self.path if Path(self.path).is_file() else model
        self._worker.open(
            source, self._robot.settings, floating, (), self.trusted, opener=lambda _: lambda *_, **__: model
        )

    @property
    def last(self) -> tuple[str, bool, bool]:
        """The file requested last, empty for a model, and its `floating` and `trust_xacro`."""
        return self._file, self.floating, self._trusted

    def xacro_args(self, path: str | Path) -> dict[str, str]:
        """Return the values given for the arguments of a xacro file, by name."""
        return self._xacro_args.get(resolved(path), {})

    def reader_of(self, path: str | Path, floating: bool = False) -> Callable[[], engine.Model]:
        """Return a function, for any thread, that reads another robot's file as `open` does, and raises its errors."""
        given = self.package_dirs, floating
        return partial(engine.load, resolved(path), *given, srdf="beside", xacro_args=self.xacro_args(path))

    def set_xacro_args(self, path: str | Path, values: Mapping[str, str]) -> None:
        """Open that file, or a run with its robot, with these arguments of a xacro file."""
        self._xacro_args[resolved(path)] = dict(values)

    def set_robot_of_run(self, run: str | Path, robot: str) -> None:
        """Open that run with the robot in the file `robot`, whatever robot it names."""
        self._robots_of_runs[resolved(run)] = robot

    def is_superseded(self, event: Loaded | Refused) -> bool:
        """Whether another robot was requested since, and will be loaded."""
        return not self._worker.is_newest(event.request)

    def refuse(self, event: Refused) -> bool:
        """End the loading of a file that was refused; return whether the robot plays on."""
        if self.is_superseded(event):
            return False
        self.loading = ""
        return self._plays_on_refusal

    def adopt(self, event: Loaded, surroundings: Surroundings) -> tuple[tuple[int, float, str], ...]:
        """Know the robot that was loaded, after the previous one; return the named keyframes of an opened run."""
        robot, opened = self._robot, self._recorder.opened
        self.left = surroundings.left_by(event) if self._leaves and robot.model is not None else None
        robot.update_from(event)
        if not self.is_superseded(event):
            self.loading, self._plays_on_refusal = "", False
        if self._leaves:
            self._of_run, robot.groundless = {}, False
        self.path, (_, robot.floating, self.trusted) = event.path, event.request
        self._replay.leave()
        if opened is None or opened.model is not event.model:
            return ()
        robot.floating, self.path = opened.floating, file_of(event.model) or event.path
        self._of_run, robot.groundless = _steps(event.settings), not event.settings.ground
        self._replay.opened = len(self._replay.recording.runs) > 1  # the file's, and one without steps
        return opened.named


def _steps(settings: Settings) -> dict[str, Any]:
    """Return how steps are taken: what a run brings along, and another robot does not take from it."""
    return {name: getattr(settings, name) for name in ("dt", "integrator", "automatic", "device")}
