"""The menu bar, and its dynamic menus: recent files and package folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from PyQt6.QtCore import QSettings, pyqtSignal
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QFileDialog, QMainWindow, QMenu, QWidget

from app.desktop.actions import say_empty
from app.desktop.context_menus import ContextMenus
from app.desktop.settings import setting

LASTING = "package_dirs"  # the settings' key
ADD_TIP = "Search for the meshes of package:// names in one more folder, and reload the robot"
FORGET_TIP = "{}\nClick to remove it and reload the robot"


class TopMenu(QMenu):
    """A menu of the bar. `put` inserts above a separator; `addAction` and the like add below it."""

    def __init__(self, title: str, parent: QWidget):
        super().__init__(title, parent)
        self.setToolTipsVisible(True)
        self._line = self.addSeparator()

    def put(self, *entries: QAction | QMenu, apart: bool = False) -> None:
        """Insert actions and menus; with `apart`, after a separator."""
        if apart:
            self.insertSeparator(self._line)
        for entry in entries:
            if isinstance(entry, QMenu):
                self.insertMenu(self._line, entry)
            else:
                self.insertAction(self._line, entry)


class Menus:
    """The menu bar of a window; features put their entries into its menus."""

    def __init__(self, window: QMainWindow):
        self.file, self.edit, self.simulation, self.view, self.help = (
            TopMenu(title, window) for title in ("&File", "&Edit", "&Simulation", "&View", "&Help")
        )
        for menu in (self.file, self.edit, self.simulation, self.view, self.help):
            window.menuBar().addMenu(menu)
        self.overlays, self.panels = TopMenu("&Overlays", window), TopMenu("&Panels", window)
        """Toggles for everything drawn on a robot besides its shape, and for the docks."""
        self.context = ContextMenus(window)


class RecentMenu(QMenu):
    """Recently opened files by name, with their folders where two names are alike; tooltips show their paths."""

    chosen = pyqtSignal(str)

    def __init__(self, parent: QWidget, recent: Callable[[], list[str]]):
        super().__init__("Open &recent", parent)
        self._recent = recent
        self.setToolTipsVisible(True)
        self.aboutToShow.connect(self._fill)

    def _fill(self) -> None:
        self.clear()
        for path, name in short_names(self._recent()).items():
            action = self.addAction(_literal(name))
            action.setToolTip(path)
            action.triggered.connect(lambda _, path=path: self.chosen.emit(path))
        if self.isEmpty():
            say_empty(self, "No files yet")


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return each file's name by its path, with as many of its folders as distinguish it from others of that name."""
    parts = {path: Path(path).parts for path in paths}
    names = {}
    for path, path_parts in parts.items():
        others = [each for other, each in parts.items() if other != path]
        count = next(
            (k for k in range(1, len(path_parts)) if all(each[-k:] != path_parts[-k:] for each in others)),
            len(path_parts),
        )
        names[path] = str(Path(*path_parts[-count:]))
    return names


class PackageMenu(QMenu):
    """The folders that hold packages: those given at the start, for this session only, and saved ones added here."""

    changed = pyqtSignal()

    def __init__(self, parent: QWidget, settings: QSettings, given: Iterable[str] = ()):
        super().__init__("&Package folders", parent)
        self._settings = settings
        self._lasting: list[str] = setting(settings, LASTING, [])
        self._given = [str(Path(folder).expanduser().resolve()) for folder in given]
        self.setToolTipsVisible(True)
        self.aboutToShow.connect(self._fill)

    @property
    def folders(self) -> tuple[str, ...]:
        """All package folders, absolute, without duplicates."""
        return tuple(dict.fromkeys([*self._given, *self._lasting]))

    def _fill(self) -> None:
        self.clear()
        add = self.addAction("&Add…", self.ask)
        add.setToolTip(ADD_TIP)
        self.addSeparator()
        for folder in self.folders:
            action = self.addAction(_literal(folder))
            action.setToolTip(FORGET_TIP.format(folder))
            action.triggered.connect(lambda _, folder=folder: self.forget(folder))
        if not self.folders:
            say_empty(self, "No folders yet")

    def ask(self) -> None:
        """Ask the user for a folder and add it."""
        title, near = "Add a folder that holds packages", self.folders[-1] if self.folders else ""
        folder = QFileDialog.getExistingDirectory(self.parentWidget(), title, near)
        if folder and (folder := str(Path(folder).resolve())) not in self.folders:
            self._change(self._given, [*self._lasting, folder])

    def forget(self, folder: str) -> None:
        """Remove a folder."""
        given, lasting = ([each for each in kept if each != folder] for kept in (self._given, self._lasting))
        self._change(given, lasting)

    def _change(self, given: list[str], lasting: list[str]) -> None:
        self._given, self._lasting = given, lasting
        self._settings.setValue(LASTING, lasting)
        self.changed.emit()


def _literal(text: str) -> str:
    """Escape &, which would underline the next letter in a menu."""
    return text.replace("&", "&&")
