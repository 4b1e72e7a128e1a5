"""What a tour sees that is in a window of its own: menus and dialogs, and who looks at them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tests.app.user import PATIENCE, User


class Visitor(User):
    """One who opens robots, plays them and rests until the picture is whole."""

    def __init__(self, folder: Path, theme: str, size: tuple[int, int]):
        from PyQt6.QtCore import QSettings

        from app.window import Window

        super().__init__(folder, np.random.default_rng(0))
        self.scratch = tempfile.TemporaryDirectory()
        settings = QSettings(str(Path(self.scratch.name) / "settings.ini"), QSettings.Format.IniFormat)
        settings.setValue("theme", theme)
        settings.setValue("measure_at_rest", False)
        self.window = Window(settings)
        self.window.move(0, 0)
        self.window.resize(*size)
        self.window.show()
        self.window.activateWindow()
        self.spin(0.5)
        self.shoot: Callable[[str], None] = lambda _: None
        """Photographs the screen, under that name."""
        self.bench = self.window.workbench

    def robot(self, name: str) -> None:
        import engine

        if self.bench.path != str(engine.find_robot(name)):
            self.load(engine.find_robot(name))
        self.bench.pause()

    def play(self, seconds: float) -> None:
        until = self.bench.time + seconds
        self.bench.play()
        self.spin(PATIENCE, lambda: self.bench.time >= until)

    def rest(self, seconds: float = 1.2) -> None:
        """Until the picture is drawn in full."""
        self.bench.pause()
        self.window.refresh()
        self.spin(seconds)
        viewport, waited = self.window.viewport, 0.0
        while waited < PATIENCE and (viewport._screen.busy or viewport.detail[0] > 1.0):
            self.spin(0.2)
            waited += 0.2

    def dock(self, title: str, on: bool = True) -> None:
        action = self.window.docks[title].toggleViewAction()
        if action.isChecked() != on:
            action.trigger()


class DialogTour(Visitor):
    """One who opens every menu and dialog."""

    def dialogs(self) -> Iterator[None]:
        """Those that are windows of their own, one after the other."""
        from PyQt6.QtWidgets import QApplication

        from app.features.generating import Generating
        from app.features.log_view import LogView
        from app.features.shortcuts_sheet import ShortcutsSheet

        self.robot("arm7")
        for feature in (ShortcutsSheet, LogView, Generating):
            self.window.features[feature].action.trigger()
            self.rest(0.6)
            yield
            for widget in QApplication.topLevelWidgets():
                if widget is not self.window and widget.isVisible():
                    widget.close()

    def menus(self) -> Iterator[None]:
        """Each menu of the bar, with one of its own beside it."""
        from app.features.run_exports import RunExports

        self.robot("arm7")
        self.play(1.0)
        self.rest(0.2)
        window, menus = self.window, self.window.menus
        bar, features = window.menuBar(), window.features
        beside = {
            menus.file: features[RunExports].menu,
            menus.simulation: window.step_menu,
            menus.view: menus.overlays,
        }
        for action in bar.actions():
            menu = action.menu()
            menu.popup(bar.mapToGlobal(bar.actionGeometry(action).bottomLeft()))
            if (second := beside.get(menu)) is not None:
                menu.setActiveAction(second.menuAction())
                second.popup(menu.mapToGlobal(menu.actionGeometry(second.menuAction()).topRight()))
            self.spin(0.4)
            yield
            for each in (second, menu):
                if each is not None:
                    each.close()

    def modal(self) -> Iterator[None]:
        """The dialogs that wait for an answer; each is photographed while it does."""
        from PyQt6.QtCore import QTimer
        from PyQt6.QtWidgets import QApplication

        from app.features.camera_views import CameraViews
        from app.features.controller_view import ControllerView
        from app.features.run_exports import RunExports
        from app.features.time_view import TimeView

        self.robot("arm7")
        self.play(1.0)
        self.rest(0.2)
        features = self.window.features
        exports = features[RunExports]
        for name, action in (
            ("picture", exports.pictures.picture),
            ("video", exports.pictures.film),
            ("save", exports.trajectory),
            ("controller", features[ControllerView].action),
            ("view", features[CameraViews].save),
            ("memory", features[TimeView].memory),
            ("about", self.window.about_action),
        ):

            def take(name: str = name) -> None:
                self.shoot(f"modal-{name}")
                if (dialog := QApplication.activeModalWidget()) is not None:
                    dialog.close()

            QTimer.singleShot(700, take)
            action.trigger()
            self.spin(0.9)
        yield from ()
