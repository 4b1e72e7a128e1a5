"""`Overlays`: what the user has selected to see of a robot besides its shape, and the `Extras` that show it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from PyQt6.QtCore import QObject, pyqtSignal

import engine
from app.acting.loaded_robot import alone
from app.desktop import theme
from app.desktop.numbers import si_text
from app.gl import balance, distance, pushes
from app.gl.backdrop import DARK, LIGHT, Backdrop
from app.gl.batch import Batch, Box
from app.gl.extras import Appearance, Copies, Extras, Label
from app.gl.glyphs import Explainer, Trails
from app.gl.scene import Content, with_ghost
from app.gl.world import World, join_contents
from app.simulation.contacts import Contacts
from app.simulation.support import support_of

THROUGH = 0.4
"""The opacity of a transparent robot; an opacity of a half or less casts no shadow."""
GHOST = 0.45
"""The opacity of a ghost."""
GRAVITY = 9.81  # m/s², for scaling force arrows by the robot's weight
NAMED = 0.12
"""The height of a batch robot's name above its highest link, relative to the robot's size."""
STILL, FAINT = 2e-5, 0.02
"""The least change that redraws a ghost: of its poses, relative to the robot's size, and of its colours."""


class Selected(NamedTuple):
    """What is highlighted: a link, a drawn link of another object, −1 for none; and the name of a batch's robot.

    `others` are the drawn links of further objects.
    """

    link: int = -1
    beside: int = -1
    robot: str = ""
    others: tuple[int, ...] = ()


class Overlays(QObject):
    """The overlays of a viewport, which is redrawn when any has `changed`."""

    changed = pyqtSignal()

    def __init__(self) -> None:
        super().__init__()
        self.kinds: frozenset[str] = frozenset()
        """The visible kinds: "frames", "axes", "masses", "inertias", "names", "trails", "support"."""
        self.gravity = np.array([0.0, 0.0, -GRAVITY])
        """Gravity (3,), m/s², along which the support is seen."""
        self.hidden: frozenset[int] = frozenset()
        """The links of the robot without overlays; the viewport does not draw them either."""
        self.trails: Trails | None = None
        self._pushes: tuple[pushes.Push, ...] = ()
        self.distance: tuple[distance.End, ...] = ()
        """The ends of the measured distance, as set; none once what one of them is on is gone."""
        self._chosen, self._through, self._wireframe = -1, False, False
        self._dragged = -1
        self._model: engine.Model | None = None
        self._explained: Explainer | None = None  # made on first use
        self._size = 1.0
        self._ghost: tuple[np.ndarray, np.ndarray] | None = None  # poses and tints of its links
        self._lit: np.ndarray | None = None  # tints of the robot's own links
        self._second_robot: tuple[Content, np.ndarray] | None = None  # another robot, and its link poses
        self.second_contacts: Contacts | None = None
        """The second robot's contacts, as drawn."""
        self._chosen_second_link = -1
        self._chosen_obstacles: tuple[int, ...] = ()
        self._chosen_bodies: tuple[int, ...] = ()
        self._robot_name = ""
        self._world: World | None = None
        self._joined: tuple[tuple[object, ...], Content] | None = None  # the joined content, with the key of its parts
        self._crowded: tuple[tuple[Batch, np.ndarray], Batch] | None = None  # with obstacles, and what it was made of
        self._known: tuple[np.ndarray, Extras] | None = None  # the last result of `extras`, with its poses
        self._backdrop: Backdrop | None = None  # of a copy
        theme.signals.changed.connect(self._change)

    def still(self) -> Overlays:
        """Return a copy that no later change affects, nor another palette."""
        other = Overlays()
        vars(other).update(vars(self), trails=copy.deepcopy(self.trails), _backdrop=self.backdrop)
        return other

    @property
    def backdrop(self) -> Backdrop:
        """The background that matches the palette in force."""
        return self._backdrop or (DARK if theme.is_dark() else LIGHT)

    def set_robot(self, model: engine.Model | None, size: float) -> None:
        """Set another robot, or the current one's new size, m."""
        if model is not self._model:
            self._ghost, self._lit, self._chosen, self._pushes = None, None, -1, ()
            self.hidden, self.distance = frozenset(), ()
        self._model, self._size = model, size
        self._explained = None
        self._trace()
        self._known = None

    @property
    def _explainer(self) -> Explainer:
        if self._explained is None:
            self._explained = Explainer(self._model, self._size)
        return self._explained

    def show(self, kind: str, on: bool) -> None:
        """Show or hide a kind of overlays."""
        self.kinds = self.kinds | {kind} if on else self.kinds - {kind}
        self._trace()
        self._change()

    def hide(self, links: frozenset[int]) -> None:
        """Draw the overlays of all links except these."""
        self.hidden = links
        self._change()

    def choose(self, link: int) -> None:
        """Highlight a link, −1 for none; with trails on, follow it alone."""
        if link != self._chosen:
            self._chosen = link
            self._trace()
            self._change()

    def drag(self, link: int) -> None:
        """Leave out the name of a link that is dragged, which is shown at the cursor; −1 for none."""
        if link != self._dragged:
            self._dragged = link
            self._change()

    def set_pushes(self, acting: Sequence[pushes.Push]) -> None:
        """Set the external wrenches, drawn as arrows with their values in N and N m."""
        if _alike(acting, self._pushes):
            return
        self._pushes = tuple(acting)
        self._change()

    def pushed(self, link: int, pose: np.ndarray) -> list[np.ndarray]:
        """Return the vectors (3,), in the world, of the arrows at a link at `pose` (4, 4)."""
        of_link = [each for each in self._pushes if each.link == link]
        turned = [part if each.world else pose[:3, :3] @ part for each in of_link for part in np.split(each.wrench, 2)]
        return [vector for vector in turned if vector.any()]

    def set_distance(self, ends: Sequence[distance.End]) -> None:
        """Draw a line with its length between two points, a point alone, or nothing."""
        if ends or self.distance:
            self.distance = tuple(ends)
            self._change()

    def measured(self, poses: np.ndarray) -> np.ndarray:
        """(n, 3): the ends of the measured distance, for links at (links, 4, 4)."""
        second = None if self._second_robot is None else self._second_robot[1]
        return np.array([end.place(poses, self._world, second) for end in self.distance]).reshape(-1, 3)

    def name_robot(self, name: str) -> None:
        """Show a name above the robot, to identify the selected one of a batch; "" for none."""
        if name != self._robot_name:
            self._robot_name = name
            self._change()

    def see_through(self, on: bool) -> None:
        self._through = on
        self._change()

    def wireframe(self, on: bool) -> None:
        self._wireframe = on
        self._change()

    def set_ghost(self, poses: np.ndarray | None, tints: np.ndarray | None = None) -> None:
        """Show a second robot at (links, 4, 4) with link colours (links, 4); None for none."""
        before, self._ghost = self._ghost, None if poses is None or tints is None else (poses, tints)
        if self._ghost is None or before is None:
            changed = before is not self._ghost
        else:
            moved = float(np.abs(self._ghost[0] - before[0]).max(initial=0.0))
            changed = moved > STILL * self._size or float(np.abs(self._ghost[1] - before[1]).max(initial=0.0)) > FAINT
        if changed:
            self._change()
        else:
            self._ghost = before

    def light(self, tints: np.ndarray | None) -> None:
        """Tint the links with colours (links, 4) in addition to their own; None for none."""
        if (tints is None) != (self._lit is None) or (tints is not None and not np.array_equal(tints, self._lit)):
            self._lit = tints
            self._change()

    def _change(self) -> None:
        self._known = None
        self.changed.emit()

    def _trace(self) -> None:
        """Start new trails if the links that leave them have changed."""
        if "trails" not in self.kinds or self._model is None:
            self.trails = None
            return
        links = (self._chosen,) if self._chosen >= 0 else self._explainer.tips
        if self.trails is None or self.trails.links != tuple(links):
            self.trails = Trails(links, self._size, self._explainer.ends)

    def add_to_trails(self, time: float, poses: np.ndarray) -> None:
        """Add the link poses (links, 4, 4) at a time, s, to the trails."""
        if self.trails is not None and self.trails.add(time, poses):
            self._known = None

    def forget_trails(self) -> None:
        """Clear the trails, for another robot."""
        if self.trails is not None:
            self.trails.clear()
            self._change()

    def set_world(self, world: World | None) -> None:
        """Set the ground and the obstacles; None for a flat ground at the robot's lowest point."""
        if world is not self._world:
            self.distance = distance.carried(self.distance, self._world, world)
            self._world = world
            self._change()

    @property
    def world(self) -> World | None:
        """The ground and the obstacles, as set."""
        return self._world

    def move_obstacle(self, number: int, pose: np.ndarray) -> None:
        """Draw an obstacle at `pose` (4, 4), until another world is set."""
        if self._world is not None and self._world.poses is not None:
            poses = self._world.poses.copy()
            poses[number] = pose
            self.set_world(replace(self._world, poses=poses))

    def choose_objects(self, obstacles: Sequence[int], bodies: Sequence[int]) -> None:
        """Highlight obstacles by their numbers, and bodies by their links; each may be empty."""
        if (wanted := (tuple(obstacles), tuple(bodies))) != (self._chosen_obstacles, self._chosen_bodies):
            self._chosen_obstacles, self._chosen_bodies = wanted
            self._change()

    def set_second_robot(
        self, content: Content | None, poses: np.ndarray | None = None, contacts: Contacts | None = None
    ) -> None:
        """Show another robot with links at (links, 4, 4), and its contacts; None for none."""
        before, self.second_contacts = self._second_robot, contacts
        self._second_robot = None if content is None or poses is None else (content, poses)
        if self._second_robot is None and any(end.second >= 0 for end in self.distance):
            self.distance = ()
        if self._second_robot is None or before is None or before[0] is not content:
            changed = self._second_robot is not before
        else:
            changed = float(np.abs(before[1] - poses).max(initial=0.0)) > STILL * self._size
        if changed:
            self._change()
        else:
            self._second_robot = before

    @property
    def second_robot(self) -> tuple[Content, np.ndarray] | None:
        """The second robot's content and link poses."""
        return self._second_robot

    def choose_second_link(self, link: int) -> None:
        """Highlight a link of the second robot, −1 for none."""
        if link != self._chosen_second_link:
            self._chosen_second_link = link
            self._change()

    def with_second_robot(self, box: Box) -> Box:
        """Enlarge a box to include the second robot."""
        lower, upper = box if self._second_robot is None else self._second_robot[0].bounds(self._second_robot[1])
        return np.minimum(box[0], lower), np.maximum(box[1], upper)

    def around(self, box: Box, batch: Batch | None = None) -> Box:
        """Enlarge a box around the robot, or a batch, to include the second robot and the obstacles of each."""
        first, last = (0.0, 0.0) if batch is None else (batch.offsets.min(0), batch.offsets.max(0))
        others = [content.bounds(poses) for content, poses in self._around(alone=batch is not None)]
        boxes = [box, *((lower + first, upper + last) for lower, upper in others)]
        lower, upper = (np.array(corners) for corners in zip(*boxes, strict=True))
        return lower.min(0), upper.max(0)

    def _around(self, alone: bool) -> list[tuple[Content, np.ndarray]]:
        """Return the second robot, unless `alone`, and the obstacles, with the poses of each."""
        others, world = [] if alone or self._second_robot is None else [self._second_robot], self._world
        if world is not None and world.obstacles is not None and world.poses is not None:
            others.append((world.obstacles, world.poses))
        return others

    def seen(self, content: Content, poses: np.ndarray, alone: bool = False) -> tuple[Content, np.ndarray]:
        """Return the content to draw: the robot, the obstacles and, unless `alone`, its ghost and the second robot."""
        ghost, others, links = None if alone else self._ghost, self._around(alone), len(poses)
        if ghost is None and not others:
            return content, poses
        key = (content, ghost is None, *(each for each, _ in others))
        stand = [poses] if ghost is None else [poses, ghost[0]]
        if self._joined is None or self._joined[0] != key:
            joined, count = (content, links) if ghost is None else (with_ghost(content, links), 2 * links)
            for other, where in others:
                joined, count = join_contents(joined, count, other), count + len(where)
            self._joined = key, joined
        return self._joined[1], np.concatenate([*stand, *(where for _, where in others)])

    def seen_batch(self, content: Content, batch: Batch) -> tuple[Content, Batch]:
        """Return what to draw of each robot of a batch: the robot, and the obstacles around it."""
        if not (around := self._around(alone=True)):
            return content, batch
        joined, poses = self.seen(content, batch.links[0].astype(float), alone=True)
        key = batch, around[0][1]
        if self._crowded is None or any(one is not other for one, other in zip(self._crowded[0], key, strict=True)):
            own = batch.links.shape[1]
            others = np.broadcast_to(poses[own:].astype(np.float32), (len(batch), len(poses) - own, 4, 4))
            self._crowded = key, replace(batch, links=np.concatenate([batch.links, others], 1))
        return joined, self._crowded[1]

    def extras(
        self, poses: np.ndarray | None, center: np.ndarray, alone: bool = False, wrench: np.ndarray | None = None,
        selected: bool = True, contacts: Contacts | None = None,
    ) -> Extras:  # fmt: skip
        """Return the extras for links at (links, 4, 4) of a robot drawn at offset `center` (3,); `alone` as in `seen`.

        A robot alone has arrows for `wrench` (links, 6), N m and N along the links' own axes. What is selected is
        highlighted and named, if `selected`. The `contacts` are those of these poses.
        """
        if poses is None or self._model is None:
            return Extras(world=self._world, backdrop=self.backdrop)
        if selected and self._known is not None and self._known[0] is poses:
            return self._known[1]
        acting = pushes.of_links(wrench) if alone else self._pushes
        if not selected:
            return self._made(poses, center, alone, acting, Selected(), contacts)
        chosen = Selected(self._chosen, *self._selected_others(len(poses), alone))
        self._known = poses, self._made(poses, center, alone, acting, chosen, contacts)
        return self._known[1]

    def _selected_others(self, links: int, alone: bool) -> tuple[int, str, tuple[int, ...]]:
        """Return what `Selected` has besides the link: the last one of the selected obstacles is its `beside`."""
        before = links * (2 if self._ghost is not None and not alone else 1)
        second, count = None if alone else self._second_robot, 0 if self._world is None else self._world.count
        first = before + (0 if second is None else len(second[1]))
        drawn = [first + number for number in self._chosen_obstacles if number < count]
        if self._chosen_second_link >= 0 and second is not None:
            drawn.append(before + self._chosen_second_link)
        return drawn[-1] if drawn else -1, self._robot_name, (*drawn[:-1], *self._chosen_bodies)

    def _made(
        self, poses: np.ndarray, center: np.ndarray, alone: bool, acting: Sequence[pushes.Push], selected: Selected,
        contacts: Contacts | None,
    ) -> Extras:  # fmt: skip
        link, beside, robot, others = selected
        tints, ghost = self._lit, None if alone else self._ghost
        if ghost is not None:
            own = np.zeros((len(poses), 4), np.float32) if tints is None else tints
            tints = np.concatenate([own, ghost[1].astype(np.float32)])
        opacity = THROUGH if self._through else 1.0
        appearance = Appearance(
            link if link >= 0 else beside, opacity, self._wireframe, tints, 1.0 if ghost is None else GHOST,
            (*others, beside) if link >= 0 <= beside else others,
        )  # fmt: skip
        reported = tuple((each.link, each.wrench.tobytes(), each.world) for each in acting)
        kinds: tuple[object, ...] = (*sorted(self.kinds), link, self.hidden, self.distance, *reported)
        bare = not self.kinds and link < 0 and not acting and not self.distance
        if bare and (alone or not robot):
            return Extras(appearance, kinds=kinds, world=self._world, backdrop=self.backdrop)
        here = poses.copy()
        here[:, :3, 3] += center
        glyphs = self._explainer.glyphs(sorted(self.kinds), here, self.hidden)
        if self.trails is not None:
            glyphs = _merged(glyphs, self.trails.glyphs(center, self.hidden))
        weight = max(GRAVITY * float(self._model.mass.sum()), 1e-9)
        arrows = pushes.arrows(acting, here, weight, self._size)
        glyphs = _merged(glyphs, {name: Copies(*each) for name, each in pushes.shapes(arrows, self._size).items()})
        line = self.measured(poses) + center
        if len(line):
            color = distance.ON_DARK if self.backdrop is DARK else distance.ON_LIGHT
            glyphs = _merged(glyphs, distance.shapes(line, self._size, color))
        support, weighed = self._supported(poses, center, contacts)
        glyphs = _merged(glyphs, support)
        x, y = map(float, here[0, :2, 3])
        above = [Label(robot, (x, y, float(here[:, 2, 3].max()) + NAMED * self._size), chosen=True)] if robot else []
        labels = (*above, *weighed, *_length(line), *self._labels(here, link), *map(_reported, arrows))
        return Extras(appearance, glyphs, kinds, labels, self._world, self.backdrop)

    def _supported(
        self, poses: np.ndarray, center: np.ndarray, contacts: Contacts | None
    ) -> tuple[dict[str, Copies], tuple[Label, ...]]:
        """Return the glyphs of the support, if it is shown and there is one, with the label of the centre of mass."""
        if "support" not in self.kinds or (mass := self._explainer.center_of_mass(poses)) is None:
            return {}, ()
        if (found := support_of(alone(self._model), contacts, mass, self.gravity)) is None:
            return {}, ()
        below = found.below + center
        made = balance.shapes(
            found.corners + center, mass + center, below, found.pressed + center, found.margin < 0, self._size
        )
        x, y, z = map(float, below)
        return made, (Label(f"CoM {margin_text(found.margin)}", (x, y, z)),)

    def _labels(self, poses: np.ndarray, chosen: int) -> Iterable[Label]:
        if chosen < 0 and "names" not in self.kinds:
            return
        names, anchors = self._explainer.names, self._explainer.anchors
        links = range(len(names)) if "names" in self.kinds else range(0)
        for link in (chosen, *(each for each in links if each != chosen)):
            if link >= 0 and link not in self.hidden and link != self._dragged:
                x, y, z = poses[link, :3, :3] @ anchors[link] + poses[link, :3, 3]
                yield Label(names[link], (float(x), float(y), float(z)), link == chosen, is_name=True)


def _alike(one: Sequence[pushes.Push], other: Sequence[pushes.Push]) -> bool:
    return len(one) == len(other) and all(
        mine.link == yours.link and mine.world == yours.world and np.array_equal(mine.wrench, yours.wrench)
        for mine, yours in zip(one, other, strict=True)
    )


def margin_text(margin: float) -> str:
    """Return such as "42 mm inside" for the distance from a support's edge, m, negative outside."""
    return f"{si_text(abs(margin), 'm')} {'inside' if margin >= 0 else 'outside'}"


def _length(line: np.ndarray) -> Iterable[Label]:
    """Yield the label of a distance between two points (2, 3)."""
    if len(line) == 2:
        x, y, z = map(float, line.mean(0))
        yield Label(si_text(float(np.linalg.norm(line[1] - line[0])), "m"), (x, y, z))


def _reported(arrow: pushes.Arrow) -> Label:
    """Return the label at an arrow's tip."""
    x, y, z = map(float, arrow.end)
    return Label(si_text(arrow.strength, "N m" if arrow.is_moment else "N"), (x, y, z))


def _merged(one: dict[str, Copies], other: dict[str, Copies]) -> dict[str, Copies]:
    """Merge two mappings mesh by mesh, in the order of the first."""
    merged = dict(one)
    for name, copies in other.items():
        before = merged.get(name)
        merged[name] = (
            copies
            if before is None
            else Copies(np.concatenate([before.poses, copies.poses]), np.concatenate([before.colors, copies.colors]))
        )
    return merged
