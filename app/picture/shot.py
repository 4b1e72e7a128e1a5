"""`Shot`: the content, camera and overlays of a picture, which makes views of states."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.gl.batch import Batch
from app.gl.camera import Camera
from app.gl.contact_marks import Marks, joined, marks
from app.gl.scene import Content
from app.gl.view import View
from app.picture.overlays import Overlays
from app.simulation.contacts import Contacts
from app.simulation.messages import Snapshot


@dataclass(frozen=True, eq=False)
class Shot:
    """What a picture shows besides the state of the robot."""

    content: Content | None
    camera: Camera
    overlays: Overlays
    floor: float
    """The height of the ground that is drawn where the overlays have no world, m."""
    marked: tuple[float, float] | None
    """The robot's weight, N, and size, m, for the marks of contacts; None for no marks."""
    followed: tuple[int, NDArray[np.float64]] | None
    """The link that the camera follows, and its place (3,); None if it stands still."""

    def still(self) -> Shot:
        """Return a copy that no later change of the camera, the overlays or the theme affects."""
        return replace(self, camera=replace(self.camera), overlays=self.overlays.still())

    def _marks(self, contacts: Contacts | None, center: NDArray[np.float64]) -> Marks | None:
        """Return the marks of the contacts of links that are not hidden, of a robot drawn at offset `center` (3,)."""
        if contacts is None or self.marked is None:
            return None
        shown = ~np.isin(contacts.link, list(self.overlays.hidden))
        if not shown.any():
            return None
        point, normal, force, state = (
            x[shown] for x in (contacts.point, contacts.normal, contacts.force, contacts.state)
        )
        return marks(point + center, normal, force, state, *self.marked, self._bodies(contacts)[shown])

    def _bodies(self, contacts: Contacts) -> NDArray[np.float64]:
        """Return the radius, m, of the smaller link at each contact; infinite for links that are not drawn."""
        radii = np.append(np.zeros(0) if self.content is None else self.content.radii, np.inf)
        links = np.stack([contacts.link, contacts.other])
        return np.asarray(radii[np.where((links >= 0) & (links < len(radii)), links, -1)].min(0))

    def view_of(self, frame: Snapshot, size: tuple[int, int], batch: Batch | None = None) -> View:
        """Return a view of the robot alone in a state; of a batch, `batch` is drawn."""
        center, poses = np.zeros(3) if batch is None else batch.offsets[frame.robot], np.array(frame.link_poses)
        view = self.view(poses, size, batch, center, frame.contacts, True, frame.wrench)
        if self.followed is not None:
            link, place = self.followed
            view.camera.target = view.camera.target + poses[link, :3, 3] + center - place
        return view

    def view(
        self, poses: NDArray[np.float64] | None, size: tuple[int, int], batch: Batch | None,
        center: NDArray[np.float64], contacts: Contacts | None, alone: bool = False,
        wrench: NDArray[np.float64] | None = None, selected: bool = False,
    ) -> View:  # fmt: skip
        """Return the view of links at poses (links, 4, 4), with their contacts; arguments as of `Overlays.extras`."""
        content, extras = self.content, self.overlays.extras(poses, center, alone, wrench, selected, contacts)
        if content is not None and poses is not None:
            if batch is None:
                content, poses = self.overlays.seen(content, poses, alone)
            else:
                content, batch = self.overlays.seen_batch(content, batch)
        own, beside = self._marks(contacts, center), None if alone else self._marks_beside()
        both = joined(own, beside) if own is not None and beside is not None else own or beside
        return View(content, poses, replace(self.camera), self.floor, size, batch, both, extras)

    def _marks_beside(self) -> Marks | None:
        """Return the marks of the second robot's contacts, whose arrows are as long for a force as the first's."""
        of = self.overlays.second_contacts
        return (
            None if of is None or self.marked is None else marks(of.point, of.normal, of.force, of.state, *self.marked)
        )
