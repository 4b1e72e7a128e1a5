"""The windows of a tour besides the main one: menus and dialogs."""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

import engine
from tests.app.user import PATIENCE, User


class Visitor(User):
    """A simulated user who opens robots, plays them and waits until the picture is complete."""

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

    def hiding_and_distance(self) -> Iterator[None]:
        from PyQt6.QtCore import QPointF, Qt
        from PyQt6.QtTest import QTest

        from app.features.distance_view import DistanceView
        from app.features.link_hiding import LinkHiding

        self.robot("arm7")
        hiding, view = self.window.features[LinkHiding], self.window.features[DistanceView]
        self.dock("Robot", True)
        hiding.hide({3, 4})
        viewport = self.window.viewport
        self.rest()
        seen = [(x, y) for y in range(4, viewport.height(), 12) for x in range(4, viewport.width(), 12)]
        on_links = [at for at in seen if viewport.under(*at) is not None]
        view.action.trigger()
        for at in (QPointF(*on_links[0]), QPointF(*on_links[-1]) + QPointF(90, 0)):
            QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at.toPoint())
        self.rest()
        yield
        view.remove()
        hiding.hide(())
        self.dock("Robot", False)

    def robot(self, name: str) -> None:
        import engine

        if self.bench.path != str(engine.find_robot(name)):
            self.load(engine.find_robot(name))
        self.bench.pause()

    def play(self, seconds: float) -> None:
        until = self.bench.robot.time + seconds
        self.bench.play()
        self.spin(PATIENCE, lambda: self.bench.robot.time >= until)

    def rest(self, seconds: float = 1.2) -> None:
        """Until the picture is drawn in full."""
        from tests.app.windows import screen_of

        self.bench.pause()
        self.window.refresh()
        self.spin(seconds)
        viewport, waited = self.window.viewport, 0.0
        while waited < PATIENCE and (screen_of(viewport).busy or viewport.detail[0] > 1.0):
            self.spin(0.2)
            waited += 0.2

    def dock(self, title: str, on: bool = True) -> None:
        if not on:
            self.window.docks[title].hide()
        elif not (action := self.window.docks[title].toggleViewAction()).isChecked():
            action.trigger()


class DialogTour(Visitor):
    """A simulated user who opens every menu and dialog."""

    def crowd(self) -> Iterator[None]:
        """Show all docks at once, then each in front of those beside it."""
        from PyQt6.QtWidgets import QDockWidget

        self.robot("arm7")
        self.spin(0.3)
        docks = [dock.windowTitle() for dock in self.window.findChildren(QDockWidget)]
        shown = {title for title in docks if not self.window.docks[title].isHidden()}
        for title in docks:
            self.dock(title)
            self.spin(0.1)
        self.rest()
        yield
        for title in docks:
            self.window.docks[title].raise_()
            self.spin(0.3)
            yield
        for title in docks:
            self.dock(title, title in shown)

    def dialogs(self) -> Iterator[None]:
        """Show the dialogs that are windows, one after another."""
        from PyQt6.QtWidgets import QApplication

        from app.features.generating import Generating
        from app.features.log_view import LogView
        from app.features.preferences import Preferences
        from app.features.shortcuts_sheet import ShortcutsSheet

        self.robot("arm7")
        for feature in (ShortcutsSheet, LogView, Generating, Preferences):
            self.window.features[feature].action.trigger()
            self.rest(0.6)
            yield
            for widget in QApplication.topLevelWidgets():
                if widget is not self.window and widget.isVisible():
                    widget.close()

    def menus(self) -> Iterator[None]:
        """Each menu of the bar, with one of its own beside it."""
        from app.features.run_exports import RunExports
        from app.features.simulation_choices import SimulationChoices

        self.robot("arm7")
        self.play(1.0)
        self.rest(0.2)
        window, menus = self.window, self.window.menus
        bar, features = window.menuBar(), window.features
        beside = {
            menus.file: features[RunExports].menu,
            menus.simulation: window.feature(SimulationChoices).step_menu,
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

    def submenus(self) -> Iterator[None]:
        """Show submenus that `menus` has not opened, and context menus, side by side over the picture."""
        from app.features.appearance import Appearance
        from app.features.camera_views import CameraViews
        from app.features.ground_view import GroundView
        from app.features.simulation_choices import SimulationChoices
        from app.features.time_view import TimeView

        self.robot("quadruped")
        self.play(0.5)
        self.rest(0.2)
        window, features = self.window, self.window.features
        self.key("K")
        features[CameraViews].keep("from the left")
        time, files, choices = features[TimeView], window.files, features[SimulationChoices]
        (standard,) = (each.menu() for each in window.menus.view.actions() if each.text() == "Standard &views")
        for menus in (
            (features[GroundView].menu, choices.algorithm_menu, choices.device_menu),
            (standard, features[CameraViews].menu, features[Appearance].menu),
            (files.recent_menu, files.robots_menu, files.package_menu),
            (time.keyframes, window.joints.mode_menu(8)),
        ):
            left = window.mapToGlobal(window.rect().topLeft())
            left.setX(left.x() + 10)
            left.setY(left.y() + 90)
            for menu in menus:
                menu.popup(left)
                left.setX(left.x() + menu.sizeHint().width() + 10)
            self.spin(0.4)
            yield
            for menu in reversed(menus):
                menu.close()
        time.keyframes.restore(self.bench.replay.recording, ())

    def full_screen(self) -> Iterator[None]:
        """F11, and back; a bare X server has no window manager that would grant it."""
        self.robot("arm7")
        self.key("F11")
        self.spin(0.5)
        self.rest()
        yield
        self.key("F11")
        self.spin(0.5)

    def lesson(self) -> Iterator[None]:
        """Each lesson: the first step of each of its sections, and those with pictures again for a lecture."""
        from app.features.lesson_view import LessonView

        self.robot("arm7")
        view = self.window.features[LessonView]
        for name in engine.Lesson.names():
            view.open(name)
            self.spin(PATIENCE, lambda name=name: view.panel.lesson is not None and view.panel.lesson.name == name)
            steps = view.panel.lesson.steps
            first = [k for k, step in enumerate(steps) if step.section is not steps[k - 1].section]
            for large in (False, True):
                view.large.setChecked(large)
                for number in (k for k in first if not large or steps[k].has_picture):
                    view.panel.go(number)
                    self.rest()
                    yield
            view.large.setChecked(False)
        self.dock("Lesson", False)

    def study(self) -> Iterator[None]:
        """Each kind of chart of a small study, and the run of a sample."""
        import engine
        from app.features.study_view import StudyView
        from app.panels.study_kinds import KINDS

        folder = Path(self.scratch.name)
        if not (folder / "pushed.results").exists():
            text = (engine.ROBOTS.parent / "docs" / "studies" / "pushed_quadruped.toml").read_text("utf-8")
            text = text.replace("grid = [0.0, 359.0, 360]", "uniform = [0.0, 360.0]")
            (folder / "pushed.toml").write_text(f"samples = 60\n{text}", "utf-8")
            engine.Study.read(folder / "pushed.toml").run(folder / "pushed.results", processes=0)
        self.robot("arm7")
        view = self.window.features[StudyView]
        view.open(str(folder / "pushed.toml"))
        self.spin(PATIENCE, lambda: view.panel.results is not None)
        for kind in KINDS:
            view.panel.kind_box.setCurrentText(kind)
            view.panel.color_box.setCurrentText("friction" if kind == "Success rate" else "stands")
            self.rest()
            yield
        view.panel.kind_box.setCurrentText("Scatter")
        view.panel.y_box.setCurrentText("trunk position z")
        view.panel.sample.setValue(130)
        view.panel.open_run.click()
        self.spin(PATIENCE, lambda: self.bench.robot.model.name == "quadruped" and self.bench.replay.opened)
        self.rest()
        yield
        self.dock("Study", False)

    def controller(self) -> Iterator[None]:
        """Show a controller that drives the joints, and one with a reported error."""
        from app.features.controller_view import ControllerView

        self.robot("arm7")
        view, path = self.window.features[ControllerView], Path(self.scratch.name) / "reach.py"
        path.write_text("def control(t, q, v):\n    return -20 * (q - 0.4) - 4 * v\n", encoding="utf-8")
        view.load(str(path))
        self.play(0.8)
        self.rest()
        yield
        path.write_text("def control(t, q, v):\n    return -20 * (q - goal)\n", encoding="utf-8")
        self.bench.play()
        self.spin(PATIENCE, lambda: bool(self.bench.controller.problem))
        self.rest()
        yield
        view.end_action.trigger()
        self.dock("Diagnostics", False)
        self.bench.joints.set_held(True)

    def _wait_with(self, name: str, ask: Callable[[], object]) -> None:
        """Photograph the question that `ask` opens, and leave it unanswered."""
        from PyQt6.QtCore import QTimer
        from PyQt6.QtWidgets import QApplication

        def take() -> None:
            self.shoot(f"modal-{name}")
            if (dialog := QApplication.activeModalWidget()) is not None:
                dialog.close()

        QTimer.singleShot(700, take)
        ask()
        self.spin(0.9)

    def modal(self) -> Iterator[None]:
        """Photograph the modal dialogs."""
        from PyQt6.QtGui import QAction

        from app.desktop.crash import CrashedRun, Reports
        from app.features.camera_views import CameraViews
        from app.features.controller_view import ControllerView
        from app.features.recovery import Recovery
        from app.features.run_exports import RunExports
        from app.features.time_view import TimeView

        self.robot("arm7")
        self.play(1.0)
        self.rest(0.2)
        self.key("K")  # before a dialog takes the focus
        features = self.window.features
        exports, keyframes = features[RunExports], features[TimeView].keyframes
        for name, action in (
            ("open", self.window.files.open_action),
            ("picture", exports.pictures.picture),
            ("video", exports.pictures.film),
            ("save", exports.trajectory),
            ("controller", features[ControllerView].action),
            ("view", features[CameraViews].save),
            ("memory", features[TimeView].memory),
            ("about", self.window.about_action),
        ):
            self._wait_with(name, action.trigger)
        keyframes.aboutToShow.emit()
        rename: QAction = keyframes.actions()[0].menu().actions()[2]
        self._wait_with("rename", rename.trigger)
        folder = Path(self.scratch.name)
        left = CrashedRun({"robot": self.bench.path}, folder / "report-2026-11-22-18-07-31.txt")
        self._wait_with("recovery", partial(Recovery, self.window, Reports(folder), left))
        yield from ()
