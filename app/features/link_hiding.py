"""Hide links of the robot: in their context menus, by the eyes of the tree, and View › Show all links."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from PyQt6.QtCore import QEvent, QObject
from PyQt6.QtWidgets import QMenu, QPushButton

from app.acting.loaded_robot import alone
from app.desktop.actions import make_action, offer
from app.desktop.context_menus import LINK, SPACE, Clicked
from app.features import session_text
from app.features.robot_view import RobotView
from app.features.undo_view import UndoView
from app.features.window_type import Window
from app.panels.robot import LinkTree
from app.simulation.messages import Loaded

HIDES = "Hide the selected link in the picture and in videos; it is simulated as before"
HIDES_REST = "Hide all links but the selected one in the picture and in videos; they are simulated as before"
UNCHOSEN = "select a link first"
MARGIN = 16  # px from the viewport's edges


class LinkHiding(QObject):
    """The hidden links; they stay hidden when the robot is loaded again, and a session keeps them."""

    def __init__(self, window: Window):
        super().__init__(window)
        self._window, self._viewport = window, window.viewport
        self.hidden: frozenset[int] = frozenset()
        self._names: tuple[str, ...] = ()  # of the robot's links
        self._path = ""
        self._robot: tuple[str, tuple[str, ...]] = "", ()  # its name, and its own links
        self.hide_chosen = make_action(window, "&Hide selected link", self._hide_chosen)
        tip = "Show the links that are hidden"
        self.show_all = make_action(window, "Show &all links", self._show_all, "Shift+H", tip=tip)
        self.hide_rest = make_action(window, "Hide &others", lambda: self.hide_others(window.selection.link))
        window.menus.view.put(self.hide_chosen, self.hide_rest, self.show_all, apart=True)
        self.button = QPushButton(self._viewport, objectName="note", toolTip=self.show_all.toolTip())
        self.button.clicked.connect(self.show_all.trigger)
        self.button.clicked.connect(self._viewport.setFocus)
        self.button.hide()
        self._viewport.installEventFilter(self)
        window.loaded.connect(self._on_loaded)
        window.refreshed.connect(self._refresh)
        window.selection.changed.connect(lambda _: self._refresh())
        window.menus.context.offer("hide", self._put_entries, LINK, SPACE)

    def _put_entries(self, menu: QMenu, clicked: Clicked) -> None:
        if (link := clicked.number) >= 0:
            menu.addAction("S&how" if link in self.hidden else "&Hide", lambda: self.toggle(link))
            menu.addAction("Hide &others", lambda: self.hide_others(link))
        if self.hidden:
            menu.addAction(self.show_all)

    @property
    def _tree(self) -> LinkTree:
        return self._window.feature(RobotView).panel.tree

    @property
    def names(self) -> list[str]:
        """The names of the hidden links."""
        return [self._names[link] for link in sorted(self.hidden)]

    def hide(self, links: Iterable[int]) -> None:
        """Hide these links, and show all others."""
        self.hidden = frozenset(links)
        self._viewport.hide_links(self.hidden)
        if self._window.selection.link in self.hidden:
            self._window.selection.choose(-1)
        self._tree.show_hidden(self.hidden)
        self._refresh()
        self._place()

    def hide_named(self, names: Iterable[str]) -> None:
        """Hide the links with these names, and show all others; names that the robot lacks are ignored."""
        kept = set(names)
        self.hide(link for link, name in enumerate(self._names) if name in kept)

    def kept(self) -> dict[str, Any]:
        """Return the hidden links, for a session."""
        return {"hidden": self.names}

    def restore(self, session: dict[str, Any]) -> None:
        """Hide a session's links."""
        self.hide_named(session_text.hidden(session))

    def toggle(self, link: int) -> None:
        """Hide a link, or show it again."""
        self._change(self.hidden ^ {link}, f"{'Show' if link in self.hidden else 'Hide'} {self._names[link]}")

    def hide_others(self, link: int) -> None:
        """Show this link only."""
        others = frozenset(range(len(self._names))) - {link}
        self._change(others, f"Hide all links but {self._names[link]}")

    def _hide_chosen(self) -> None:
        self.toggle(self._window.selection.link)  # one that is hidden is not selected

    def _show_all(self) -> None:
        self._change(frozenset(), "Show all links")

    def _change(self, links: frozenset[int], text: str) -> None:
        """Hide these links by an action that can be undone."""
        before = self.names
        self.hide(links)
        if self.names != before:
            again = partial(self._put, self.names)
            self._window.feature(UndoView).add(text, partial(self._put, before), again)

    def _put(self, names: list[str]) -> bool:
        self.hide_named(names)
        return True

    def _on_loaded(self, event: Loaded) -> None:
        """Hide the links of the same names if the same file was loaded again, or the same robot, as from a script."""
        if not self._names:
            self._tree.eye_pressed.connect(self.toggle)
        robot = alone(event.model).name, alone(event.model).link_names
        kept = self.names if event.path == self._path or robot == self._robot else []
        self._names, self._path, self._robot = event.model.link_names, event.path, robot
        self.hide_named(kept)

    def _refresh(self) -> None:
        chosen = self._window.selection.link >= 0
        for action, name, tip in (
            (self.hide_chosen, "&Hide selected link", HIDES),
            (self.hide_rest, "Hide &others", HIDES_REST),
        ):
            offer(action, (chosen, UNCHOSEN))
            action.setText(name if chosen else f"{name}\t{UNCHOSEN}")  # beside it in the menu
            action.setToolTip(tip)
        offer(self.show_all, (self.hidden, "no link is hidden"))

    def _place(self) -> None:
        self.button.setVisible(bool(self.hidden))
        if self.hidden:
            self.button.setText(f"{len(self.hidden)} of {len(self._names)} links hidden: show all")
            self.button.adjustSize()
            self.button.move(MARGIN, self._viewport.height() - self.button.height() - MARGIN)
            self.button.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.hidden:
            self._place()
        return super().eventFilter(watched, event)
