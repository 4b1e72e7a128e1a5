"""The surroundings of a robot: obstacles, free bodies and other robots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import engine
from app.acting import scene_objects
from app.acting.configuring import Configuring
from app.acting.loaded_robot import LoadedRobot, alone
from app.acting.posing import put_base
from app.acting.scene_objects import SceneObject
from app.acting.undoing import Action, Actions, State, undoable
from app.recording.replay import Replay
from app.simulation.messages import Loaded, Snapshot
from app.simulation.running import can_stand
from app.simulation.worker import Worker

Load = Callable[..., engine.Model]
Parts = Callable[[Load], Sequence[engine.Part]]
"""Returns parts, given a function such as `engine.load` to read their files."""
Exchange = Callable[[engine.Model, bool, str], None]
"""Starts a new run with another model of the robot and its surroundings, given whether its root was set free, and why.
"""


class RemovedObjects(NamedTuple):
    """Objects that were around a robot, by its name."""

    robot: str
    obstacles: tuple[engine.Obstacle, ...]
    parts: tuple[engine.Part, ...]


class Surroundings:
    """Places obstacles and other parts around the robot."""

    def __init__(
        self,
        robot: LoadedRobot,
        configuring: Configuring,
        worker: Worker,
        replay: Replay,
        exchange: Exchange,
        actions: Actions,
    ):
        self._robot, self._configuring, self._worker, self._exchange = robot, configuring, worker, exchange
        self._replay, self.actions = replay, actions

    def _require_present(self) -> None:
        """Raise ValueError while a recorded frame is shown: its run, or in a branch of it the change, would be lost."""
        if self._replay.active:
            raise ValueError(f"{self._replay.reason}; to change objects {self._replay.ways_on}")

    def set_obstacles(self, obstacles: Iterable[engine.Obstacle], reported: str) -> None:
        """Set the obstacles; the robot keeps its state. `reported` is the undo text.

        Raises ValueError, in one sentence, while a recorded frame is shown.
        """
        self._require_present()
        settings = self._robot.settings
        with self.actions.as_one(reported):
            scene = replace(settings.scene, obstacles=tuple(obstacles))
            self._configuring.configure(replace(settings, scene=scene))

    def set_parts(
        self, parts: Sequence[engine.Part], reported: str, obstacles: Iterable[engine.Obstacle] | None = None
    ) -> State:
        """Set the other parts, in a new run from time zero; followed by a `Loaded` event. Return the state to restore.

        Other obstacles, if given, are part of that state.

        The ground is switched on for the first parts of a fixed robot that is not below it, and needs none or is from a
        run that had none. `reported` is the undo text. Raises ValueError, in one sentence, while a recorded frame is
        shown, and for parts that cannot be composed, such as two with one name.
        """
        self._require_present()
        before = after = self.actions.state
        model = _compose(before, parts)
        first = len(before.parts) < 2 and not before.settings.ground and not self._robot.base_floats
        needs_none = self._robot.groundless or not can_stand(alone(before.model))
        if first and needs_none and can_stand(model):
            after = replace(before, settings=replace(before.settings, ground=True))
        if obstacles is not None:
            scene = replace(after.settings.scene, obstacles=tuple(obstacles))
            after = replace(after, settings=replace(after.settings, scene=scene))
        self.actions.report(Action(reported, before, replace(after, parts=model.parts)))
        self._exchange(model, before.floating, reported)
        return after

    def restore(self, state: State) -> State:
        """Set robot and parts of a state, in a new run from time zero; followed by a `Loaded` event."""
        self._exchange(_compose(state, state.parts[1:]), state.floating, "Change the objects")
        return state

    def left_by(self, event: Loaded) -> RemovedObjects | None:
        """Return the objects around the robot, where its run began, without those around the loaded one after it."""
        model, loaded = self._robot.model, [_values(each) for each in event.settings.scene.obstacles]
        obstacles = tuple(each for each in self._robot.settings.scene.obstacles if _values(each) not in loaded)
        every = () if event.model.parts else self._robot.parts
        began = engine.link_poses(model, self._robot.initial)
        parts = tuple(replace(part, pose=began[self.root_of_part(k)]) for k, part in enumerate(every))
        return RemovedObjects(alone(model).name, obstacles, parts) if obstacles or parts else None

    def report_left(self, left: RemovedObjects) -> int:
        """Report the objects that a previous robot left as removed from this one's scene; return their number."""
        after, count = self.actions.state, len(left.obstacles) + len(left.parts)
        existing = after.parts or (engine.Part(after.model, prefix=""),)
        scene = replace(after.settings.scene, obstacles=(*after.settings.scene.obstacles, *left.obstacles))
        parts = (*existing, *left.parts) if left.parts else after.parts
        before = replace(after, settings=replace(after.settings, scene=scene), parts=parts)
        self.actions.report(Action(f"Remove {count} {'object' if count == 1 else 'objects'}", before, after))
        return count

    def objects(self, shown: Snapshot | None = None) -> tuple[SceneObject, ...]:
        """Return the obstacles, and then the other parts, now or in a recorded frame."""
        fast = (scene_objects.of_obstacle(each, k) for k, each in enumerate(self._robot.settings.scene.obstacles))
        parts = enumerate(self._robot.parts)
        return (*fast, *(scene_objects.of_part(each, self.part_pose(k, shown), self.is_free(k)) for k, each in parts))

    def part_pose(self, number: int, shown: Snapshot | None = None) -> np.ndarray:
        """Return the pose (4, 4) of a part's root, now or in a recorded frame; `number` is its index in `parts`."""
        link, frame = self.root_of_part(number), shown or self._robot.newest
        if frame is None:
            return np.asarray(engine.link_poses(self._robot.model, self._robot.initial)[link])
        return frame.link_poses[link].copy()

    def is_free(self, number: int) -> bool:
        """Whether a part has a free base, so that it can be placed anywhere."""
        return self._free_joint(number) is not None

    def part_of_link(self, link: int) -> int:
        """Return the index in `parts` of a link's part; −1 for the robot."""
        return int(self._robot.model.part_of_link[link]) - 1

    def _free_joint(self, number: int) -> engine.Joint | None:
        """Return the free joint between the world and a part; None if there is none."""
        model = self._robot.model
        joints = (each for each in model.joints if model.part_of_body[each.bodies.start] == number + 1)
        first = next(joints, None)
        on_world = first is not None and first.kind == "floating" and model.parent[first.bodies.start] < 0
        return first if on_world else None

    def root_of_part(self, number: int) -> int:
        """Return the link that a part's free joint carries, else its first link."""
        joint, model = self._free_joint(number), self._robot.model
        on_part = model.part_of_link == number + 1
        if joint is not None:
            on_part &= model.link_body == joint.bodies.start
        return int(np.flatnonzero(on_part)[0])

    @undoable(lambda robot, number, _: f"Move {robot.parts[number].prefix.rstrip('/')}", steady=True)
    def place_part(self, number: int, pose: np.ndarray) -> np.ndarray:
        """Put a part with a free base at `pose` (4, 4), at rest; return q (nq,) with it there. No effect during play.

        At time zero this also changes the pose that `reset` restores.
        """
        joint, root = self._free_joint(number), self.root_of_part(number)
        put = partial(put_base, self._robot.model, joint, root, pose)
        self._worker.set_rotation(put, tuple(range(joint.v.start, joint.v.stop)))
        return self._robot.place(put)


def _values(obstacle: engine.Obstacle) -> tuple[object, ...]:
    at = np.asarray(obstacle.pose).tobytes()
    return obstacle.shape, obstacle.size, at, obstacle.mesh, obstacle.friction, obstacle.color


def _compose(state: State, parts: Sequence[engine.Part]) -> engine.Model:
    """Return the robot of a state with these parts around it."""
    first = state.parts[0] if state.parts else engine.Part(state.model, prefix="")
    return engine.compose(first, *parts) if parts else first.model


def file_of(model: engine.Model) -> str | None:
    """Return the file a robot was read from, for a composed model its first part's; None if there is none."""
    return alone(model).source


def resolved(path: str | Path) -> str:
    """Return the absolute path of a file; an impossible path is returned as it is, and fails on loading."""
    try:
        return str(Path(path).expanduser().resolve())
    except (ValueError, RuntimeError, OSError):  # a zero in it, an unknown user's home, a cycle of links
        return str(path)


def loader_with_parts(load: Load, parts: Parts) -> Load:
    """Wrap `load` to read the SRDF beside the file, and to add parts unless the file has its own."""

    def read(path: str, **how: Any) -> engine.Model:
        model = load(path, srdf="beside", **how)
        more = () if model.parts else parts(load)
        return engine.compose(engine.Part(model, prefix=""), *more) if more else model

    return read
