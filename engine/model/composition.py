"""Compose several models into one: robots and free bodies side by side in one world and one simulation."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine import lie
from engine.model.model import WORLD, Model

_STACKED = (
    "kind", "mass", "first_moment", "inertia", "lower", "upper", "velocity_limit", "effort_limit", "damping",
    "friction",
)  # fmt: skip
"""The arrays of a composed model that are the concatenated arrays of its parts."""


@dataclass(frozen=True, eq=False)
class Part:
    """A model and its place in the world, as `compose` takes it.

    `pose` is the pose of its root frame in the world: a position (3,) in m, or a pose (4, 4). The coordinates of a free
    base are relative to `pose`, so that the neutral pose is at `pose`. `prefix` goes before each of its names; None
    means no prefix for the first part, and the model's name and "/" for the others.

    Raises ValueError, in one sentence, for an invalid pose.
    """

    model: Model
    pose: ArrayLike = (0.0, 0.0, 0.0)
    prefix: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            came = type(self.model).__name__
            raise TypeError(f"the model of a part is a {came}; expected an engine.Model, such as engine.load returns")
        object.__setattr__(self, "pose", lie.pose(self.pose, f"the part {self.model.name}"))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        vars(self)["pose"].flags.writeable = False  # the arrays of pickles and copies are writeable


def compose(*parts: Model | Part, name: str = "") -> Model:
    """Compose one model of several, each on its own base, fixed or free: a robot and its payload, or two robots.

    The result has the parts' joints, inertias, limits, shapes, frames, disabled collision pairs and named poses. The
    parts' coordinates follow each other in q and v. Names of poses have the parts' prefixes. In a scene the parts can
    collide with each other; `Scene.self_collision` concerns links within a part. A composed model is replaced by its
    parts. `name` is by default that of the first part.

    Raises ValueError, in one sentence, if there is no part, if two parts share a link or joint name, or if their
    gravity differs.
    """
    flat = _flat([part if isinstance(part, Part) else Part(part) for part in parts])
    if not flat:
        raise ValueError("there is nothing to compose; expected at least one model")
    models = [part.model for part in flat]
    for model in models[1:]:
        if not np.array_equal(model.gravity, models[0].gravity):
            raise ValueError(
                f"{models[0].name} falls by {models[0].gravity.tolist()} m/s² and {model.name} by "
                f"{model.gravity.tolist()}; compose models of one gravity"
            )
    counts = [(len(m.parent), len(m.link_names), m.nq, m.nv) for m in models]
    bodies, links, q, v = map(_starts, zip(*counts, strict=True))
    prefixes = [part.prefix or "" for part in flat]
    _require_distinct("link", [f"{p}{name}" for p, m in zip(prefixes, models, strict=True) for name in m.link_names])
    _require_distinct("joint", [f"{p}{each.name}" for p, m in zip(prefixes, models, strict=True) for each in m.joints])
    homes = [_placed(part, part.model.parent, part.model.home_rotation, part.model.home_position) for part in flat]
    frames = [_placed(part, part.model.link_body, part.model.link_rotation, part.model.link_position) for part in flat]
    stacked: dict[str, Any] = {array: np.concatenate([getattr(m, array) for m in models]) for array in _STACKED}
    return Model(
        name=name or models[0].name,
        parent=_shifted([m.parent for m in models], bodies),
        **stacked,
        home_rotation=np.concatenate([R for R, _ in homes]),
        home_position=np.concatenate([p for _, p in homes]),
        joints=tuple(
            dataclasses.replace(
                joint, name=p + joint.name, bodies=_moved(joint.bodies, b), q=_moved(joint.q, i), v=_moved(joint.v, j),
                leader=None if joint.leader is None else p + joint.leader,
            )
            for p, m, b, i, j in zip(prefixes, models, bodies, q, v, strict=True) for joint in m.joints
        ),
        link_names=tuple(p + link for p, m in zip(prefixes, models, strict=True) for link in m.link_names),
        link_body=_shifted([m.link_body for m in models], bodies),
        link_rotation=np.concatenate([R for R, _ in frames]),
        link_position=np.concatenate([p for _, p in frames]),
        gravity=models[0].gravity,
        visuals=tuple(_of_links([m.visuals for m in models], links)),
        collisions=tuple(_of_links([m.collisions for m in models], links)),
        diagnostics=tuple(diagnostic for m in models for diagnostic in m.diagnostics),
        disabled_collisions=tuple(
            (a + n, b + n) for m, n in zip(models, links, strict=True) for a, b in m.disabled_collisions
        ),
        parts=tuple(flat),
        group_states={
            p + name: {p + joint: values for joint, values in state.items()}
            for p, m in zip(prefixes, models, strict=True) for name, state in m.group_states.items()
        },
    )  # fmt: skip


def _flat(parts: Sequence[Part]) -> list[Part]:
    """Return the parts, with composed ones replaced by their parts, and with explicit prefixes."""
    flat: list[Part] = []
    for number, part in enumerate(parts):
        prefix = part.prefix if part.prefix is not None else f"{part.model.name}/" if number else ""
        inner = part.model.parts or (Part(part.model, prefix=""),)
        for each in inner:
            model = each.model
            if not np.array_equal(model.gravity, part.model.gravity):
                model = model.with_gravity(part.model.gravity)  # of the composed model
            flat.append(Part(model, np.asarray(part.pose) @ np.asarray(each.pose), prefix + (each.prefix or "")))
    return flat


def _starts(counts: Sequence[int]) -> list[int]:
    return [0, *np.cumsum(counts)[:-1].tolist()]


def _require_distinct(kind: str, names: Sequence[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"two parts have a {kind} {twice!r}; give one of them another prefix")


def _shifted(tables: Sequence[np.ndarray], starts: Sequence[int]) -> np.ndarray:
    """Concatenate body indices, offset by part; the world keeps its index."""
    pairs = zip(tables, starts, strict=True)
    return np.concatenate([np.where(table == WORLD, WORLD, table + start) for table, start in pairs])


def _placed(part: Part, carrier: np.ndarray, R: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a part's frames (k, 3, 3) and (k, 3), with those fixed to the world moved to the part's pose."""
    pose, on_world = np.asarray(part.pose), (carrier == WORLD)[:, None]
    if np.array_equal(pose, np.eye(4)):
        return R, p
    moved = p @ pose[:3, :3].T + pose[:3, 3]
    return np.where(on_world[..., None], pose[:3, :3] @ R, R), np.where(on_world, moved, p)


def _moved(run: slice, by: int) -> slice:
    return slice(run.start + by, run.stop + by)


def _of_links(shapes: Sequence[Sequence[Any]], starts: Sequence[int]) -> Iterator[Any]:
    for of_part, start in zip(shapes, starts, strict=True):
        yield from (dataclasses.replace(shape, link=shape.link + start) for shape in of_part)
