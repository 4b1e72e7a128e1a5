"""The workbench's surroundings of a robot: obstacles, free bodies and other robots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import engine
from app.acting.posing import put_base
from app.acting.undoing import Deed, Undoing, undoable
from app.simulation.messages import Settings
from app.simulation.worker import Worker

Load = Callable[..., engine.Model]
Parts = Callable[[Load], Sequence[engine.Part]]
"""Returns parts, given a function such as `engine.load` to read their files."""


class Surroundings(Undoing):
    """The part of a `Workbench` that holds the robot's surroundings."""

    path: str
    floating: bool
    playing: bool
    loading: str
    time: float
    _worker: Worker

    def pause(self) -> None:
        raise NotImplementedError

    def open(self, source: str | Path | engine.Model, *, parts: Parts) -> None:
        raise NotImplementedError

    def _configure(self, settings: Settings) -> None:
        raise NotImplementedError

    @property
    def parts(self) -> tuple[engine.Part, ...]:
        """The other parts: free bodies and other robots."""
        return () if self.model is None else self.model.parts[1:]

    @property
    def source(self) -> str | None:
        """The robot's own file, without other parts; None if it has none."""
        return None if self.model is None else file_of(self.model)

    def set_obstacles(self, obstacles: Iterable[engine.Obstacle], told: str) -> None:
        """Set the obstacles; the robot keeps its state. `told` is the undo text."""
        with self.as_one(told):
            self._configure(replace(self.settings, scene=replace(self.settings.scene, obstacles=tuple(obstacles))))

    def set_parts(self, parts: Sequence[engine.Part], told: str) -> None:
        """Set the other parts, in a new run from time zero; followed by a `Loaded` event.

        `told` is the undo text. Raises ValueError, in one sentence, for parts that cannot be composed, such as two with
        one name.
        """
        first = self.model.parts[0] if self.model.parts else engine.Part(self.model, prefix="")
        model = engine.compose(first, *parts) if parts else first.model
        before = self.state
        if not self._unnoted:
            self.done(Deed(told, before, replace(before, parts=model.parts)))
        self.pause()
        self.loading = self.path
        self._worker.open(self._present(model), self.settings, self.floating, opener=lambda _: lambda *_, **__: model)

    def _present(self, model: engine.Model) -> str | engine.Model:
        """Return the source to open under the current file's name, if there is one."""
        return self.path if Path(self.path).is_file() else model

    def part_pose(self, number: int) -> np.ndarray:
        """Return the pose (4, 4) of a part's root; `number` is its index in `parts`."""
        link = self.root_of_part(number)
        if self.newest is None:
            return np.asarray(engine.link_poses(self.model, self.initial)[link])
        return self.newest.link_poses[link].copy()

    def is_free(self, number: int) -> bool:
        """Whether a part has a free base, so that it can be placed anywhere."""
        return self._free_joint(number) is not None

    def part_of_link(self, link: int) -> int:
        """Return the index in `parts` of a link's part; −1 for the robot."""
        return int(self.model.part_of_link[link]) - 1

    def _free_joint(self, number: int) -> engine.Joint | None:
        """Return the free joint between the world and a part; None if there is none."""
        model = self.model
        own = (each for each in model.joints if model.part_of_body[each.bodies.start] == number + 1)
        first = next(own, None)
        on_world = first is not None and first.kind == "floating" and model.parent[first.bodies.start] < 0
        return first if on_world else None

    def root_of_part(self, number: int) -> int:
        """Return the link that a part's free joint carries, else its first link."""
        joint, model = self._free_joint(number), self.model
        own = model.part_of_link == number + 1
        if joint is not None:
            own &= model.link_body == joint.bodies.start
        return int(np.flatnonzero(own)[0])

    @undoable(lambda bench, number, _: f"Move {bench.parts[number].prefix.rstrip('/')}", steady=True)
    def place_part(self, number: int, pose: np.ndarray) -> np.ndarray:
        """Put a part with a free base at `pose` (4, 4), at rest; return q (nq,) with it there. No effect during play.

        At time zero this also changes the pose that `reset` restores.
        """
        joint, root = self._free_joint(number), self.root_of_part(number)

        def put(q: np.ndarray) -> None:
            put_base(self.model, joint, root, pose, q)

        if self.time == 0 and not self.playing:
            put(self.initial)
        q = self._here
        put(q)
        if not self.playing:
            self._placed = q
        self._worker.set_rotation(put, tuple(range(joint.v.start, joint.v.stop)))
        return q


def file_of(model: engine.Model) -> str | None:
    """Return the file a robot was read from, for a composed model its first part's; None if there is none."""
    return model.parts[0].model.source if model.parts else model.source


def beside(load: Load, parts: Parts) -> Load:
    """Wrap `load` to read the SRDF beside the file, and to add parts unless the file has its own."""

    def read(path: str, **how: Any) -> engine.Model:
        model = load(path, srdf="beside", **how)
        more = () if model.parts else parts(load)
        return engine.compose(engine.Part(model, prefix=""), *more) if more else model

    return read
