"""The entries of View › Overlays: each toggles one overlay; choices are remembered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PyQt6.QtGui import QAction

from app.desktop.actions import make_action
from app.desktop.settings import setting
from app.features.window_type import Window
from app.simulation.messages import Snapshot

KEY = "overlays"  # the settings' key
ENTRIES = (
    ("names", "&Names", "The links' names"),
    ("frames", "Link &frames", "The frame of each link: x red, y green, z blue"),
    ("axes", "Joint &axes", "The axis of each joint: yellow revolute, cyan prismatic"),
    ("masses", "Centres of &mass", "The centre of mass of each body, orange, and of the whole robot, pink"),
    (
        "support",
        "&Support polygon",
        "The hull of the contacts that carry the robot, seen along gravity; each link's centre of pressure, yellow;\n"
        "and the centre of mass projected onto it, with its distance from the edge: red outside, where it tips",
    ),
    ("inertias", "&Inertia ellipsoids", "For each body the uniform ellipsoid of the same mass and moments of inertia"),
    ("trails", "&Trails", "The path of the selected link, or of the ends of all limbs"),
)
APPEARANCES = (
    ("through", "&Transparent", "Draw the robot transparent", "Shift+T"),
    ("wireframe", "&Wireframe", "Draw the edges of the triangles only", "Shift+W"),
)


class OverlayView:
    """Turns the viewport's overlays on and off."""

    def __init__(self, window: Window):
        self._settings, self._bench, self._overlays = window.settings, window.workbench, window.viewport.overlays
        self._robot = 0  # the robot of a batch whose trails are drawn
        self.actions: dict[str, QAction] = {}
        shown: set[str] = set(setting(self._settings, KEY, []))
        menu = window.menus.overlays
        for kind, text, tip in ENTRIES:
            self._add(window, kind, text, tip, partial(self._overlays.show, kind))
        menu.put(*self.actions.values())
        for (kind, text, tip, key), slot in zip(
            APPEARANCES, (self._overlays.see_through, self._overlays.wireframe), strict=True
        ):
            self._add(window, kind, text, tip, slot, key)
        menu.put(*(self.actions[kind] for kind, *_ in APPEARANCES), apart=True)
        for kind, action in self.actions.items():
            action.setChecked(kind in shown)
        window.menus.view.put(menu)
        window.framed.connect(self._trace)

    def _add(self, window: Window, kind: str, text: str, tip: str, slot: Callable[[bool], object], *keys: str) -> None:
        action = make_action(window, text, slot, *keys, tip=tip, checkable=True)
        action.toggled.connect(self._remember)
        self.actions[kind] = action

    def _remember(self) -> None:
        self._settings.setValue(KEY, [kind for kind, action in self.actions.items() if action.isChecked()])

    def _trace(self, frame: Snapshot) -> None:
        self._overlays.gravity = frame.model.gravity
        if frame.robot != self._robot:
            self._robot = frame.robot
            self._overlays.forget_trails()
        self._overlays.add_to_trails(frame.time, frame.link_poses)
