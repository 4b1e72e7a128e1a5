"""`Extras`: how a robot is drawn, and the overlays drawn on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.gl.backdrop import DARK, Backdrop
from app.gl.scene import Content
from app.gl.world import World

CHOSEN = (0.22, 0.58, 1.0, 0.55)
"""The selected link's tint, RGB and strength."""


@dataclass(frozen=True, eq=False)
class Appearance:
    """The appearance of a robot: `chosen` is the highlighted link, −1 for none; `opacity` of the whole robot.

    `others` are links that are highlighted with it.
    `tints` (links, 4) are RGB in 0…1 and strength for each link, None for the links' own colours. For a robot with a
    ghost, `ghost` is the ghost's opacity, and links are those of both.
    """

    chosen: int = -1
    opacity: float = 1.0
    wireframe: bool = False
    tints: NDArray[np.float32] | None = None
    ghost: float = 1.0
    others: tuple[int, ...] = ()

    @property
    def solid(self) -> bool:
        """Whether only parts that are themselves translucent can be seen through."""
        return self.opacity == 1.0 and self.ghost == 1.0 and not self.wireframe

    def seen_through(self, content: Content | None) -> bool:
        """Whether anything of a robot, if there is one, can be seen through."""
        return content is not None and (content.see_through or not self.solid)

    def colors(self, content: Content) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the colour and the tint of each copy of a mesh, (I, 4) each."""
        instances = content.instances
        color, tint = instances.color, np.zeros_like(instances.color)
        if self.opacity != 1.0 or self.ghost != 1.0:
            color = color.copy()
            robot, ghost = content.parts or (np.inf, np.inf)
            beyond = np.where(instances.link < ghost, self.ghost, 1.0)
            color[:, 3] *= np.where(instances.link < robot, self.opacity, beyond)
        if self.tints is not None:
            tinted = instances.link < len(self.tints)
            tint[tinted] = self.tints[instances.link[tinted]]
        tint[np.isin(instances.link, [each for each in (self.chosen, *self.others) if each >= 0])] = CHOSEN
        return color, tint

    def like(self, other: Appearance) -> bool:
        """Whether both are equal, apart from small differences in tints."""
        mine, yours = ((x.chosen, x.others, x.opacity, x.wireframe, x.ghost) for x in (self, other))
        if mine != yours or (self.tints is None) != (other.tints is None):
            return False
        return self.tints is None or float(np.abs(self.tints - other.tints).max(initial=0.0)) < 0.02


@dataclass(frozen=True, eq=False)
class Copies:
    """Copies of one simple mesh: `poses` (N, 4, 4), including scale, and `colors` (N, 4), RGBA in 0…1."""

    poses: NDArray[np.float32]
    colors: NDArray[np.float32]


class Label(NamedTuple):
    """A text at a point (3,) of the world; `chosen` is that of the selected link, `is_name` that of any link."""

    text: str
    place: tuple[float, float, float]
    chosen: bool = False
    is_name: bool = False


@dataclass(frozen=True, eq=False)
class Extras:
    """The overlays: `glyphs` are copies of `glyphs.MESHES`, by name; `kinds` lists what they show.

    `labels` are drawn by the viewport.
    """

    appearance: Appearance = field(default_factory=Appearance)
    glyphs: Mapping[str, Copies] = field(default_factory=dict)
    kinds: tuple[object, ...] = ()
    labels: tuple[Label, ...] = ()
    world: World | None = None
    """The ground and obstacles; None for level ground at the renderer's height."""
    backdrop: Backdrop = DARK

    def like(self, other: Extras) -> bool:
        """Whether both differ at most in the motion of robots and their glyphs."""
        alike = self.world is other.world and self.backdrop is other.backdrop
        return alike and self.kinds == other.kinds and self.appearance.like(other.appearance)


PLAIN = Extras()
