"""The mass of the selected link, typed in place of its file's: Edit › Mass of selected link, and its context menu."""

from __future__ import annotations

from typing import Any

from PyQt6.QtWidgets import QMenu

import engine
from app.desktop.actions import MESSAGE, make_action, offer
from app.desktop.context_menus import LINK, Clicked
from app.desktop.dialogs import ask_number
from app.features import session_text
from app.features.window_type import Window
from app.panels.number_box import NumberBox
from app.simulation.batch_spread import masses_by_link, with_masses

UNSELECTED = "select a link first"
MASSLESS = "the link is fixed to the world, or has no mass in its file"
RANGE = 1e-6, 1e6  # kg
TIP = "Set the mass of the selected link for simulation, with its inertia in proportion; the file stays as it is"
TITLE = "Mass of {}"
ASKED = "Mass in kg, of all links that fixed joints hold together; its inertia changes in proportion:"


class LinkMasses:
    """Asks for a link's mass; a session keeps those that were set, by the links' names."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        self.action = make_action(window, "&Mass of selected link…", self._ask_of_selected, tip=TIP)
        window.menus.edit.put(self.action, apart=True)
        window.refreshed.connect(self._refresh)
        window.selection.changed.connect(lambda _: self._refresh())
        window.menus.context.offer("act", self._put_entries, LINK)

    def _refresh(self) -> None:
        link = self._window.selection.link
        offer(self.action, (link >= 0, UNSELECTED), (link < 0 or self._body(link) >= 0, MASSLESS))

    def _body(self, link: int) -> int:
        """Return the body of a link whose mass can be set; −1 if there is none."""
        model = self._bench.robot.model
        if model is None or link >= len(model.link_names):
            return -1
        body = int(model.link_body[link])
        return body if body >= 0 and model.mass[body] > 0 else -1

    def _put_entries(self, menu: QMenu, link: Clicked) -> None:
        body = self._body(link.number)
        menu.addAction("&Mass…", lambda: self._ask(link.number)).setEnabled(body >= 0)
        if body in dict(self._bench.robot.settings.masses):
            menu.addAction("Mass of the &file", lambda: self._set(body, None))

    def _ask_of_selected(self) -> None:
        self._ask(self._window.selection.link)

    def _ask(self, link: int) -> None:
        model, body, box = self._model, self._body(link), NumberBox(*RANGE, 6)
        box.setSuffix(" kg")
        box.setValue(float(model.mass[body]))
        title = TITLE.format(model.link_names[link])
        if (mass := ask_number(self._window, title, f"{title}. {ASKED}", box)) is not None:
            self._set(body, mass)

    def _set(self, body: int, mass: float | None) -> None:
        replay = self._bench.replay
        if replay.active:
            text = f"{replay.reason}; to set masses {replay.ways_on}"
            self._window.statusBar().showMessage(text, MESSAGE)
        else:
            self._bench.configuring.set_mass(body, mass)
            self._window.refresh()

    @property
    def _model(self) -> engine.Model:
        """The robot with the masses that were set."""
        return with_masses(self._bench.robot.model, self._bench.robot.settings.masses)

    def kept(self) -> dict[str, Any]:
        """Return the masses that were set, kg, for a session, each by the name of its body's first link."""
        robot = self._bench.robot
        return {"masses": {} if robot.model is None else masses_by_link(robot.model, robot.settings.masses)}

    def restore(self, session: dict[str, Any]) -> None:
        """Set a session's masses; a run that is shown has its own. Raises ValueError for what is no mass."""
        model, masses = self._bench.robot.model, session_text.masses(session)
        if model is None or self._bench.replay.active:
            return
        links = {name: link for link, name in enumerate(model.link_names)}
        for name, mass in masses.items():
            if name in links and (body := self._body(links[name])) >= 0:
                self._bench.configuring.set_mass(body, mass)
