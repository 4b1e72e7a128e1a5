"""Robot files: entries of the File menu that open them, and files dropped on the window."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from PyQt6.QtCore import QSettings, Qt, QTimer
from PyQt6.QtGui import QDropEvent, QKeySequence
from PyQt6.QtWidgets import QMenu

import engine
from app.desktop import dialogs
from app.desktop.actions import MESSAGE, make_action
from app.desktop.menus import Menus, PackageMenu, RecentMenu
from app.desktop.settings import setting
from app.features.window_type import Window
from app.recording.run_files import KEPT_SUFFIX
from app.simulation.messages import Loaded
from app.workbench import Workbench

RECENT_FILES = "recent"  # the settings' key
RELOADING = "Reload the robot"
ROBOTS = ".urdf", ".xacro", ".xml"
OPENED = *ROBOTS, ".npz"
NO_KIND = "no robot, run, session or mesh has such a name"
BESIDE = ": File › Open second robot (Ctrl+Alt+O) has one beside it"
NAMED = 3  # ignored files of a drop that the message names


class RobotFiles:
    """Opens the user's files on a workbench; `refresh` is called after each change."""

    def __init__(
        self,
        window: Window,
        bench: Workbench,
        menus: Menus,
        settings: QSettings,
        package_dirs: Iterable[str],
        refresh: Callable[[], None],
    ):
        self._window, self._bench, self._settings, self._refresh = window, bench, settings, refresh
        self.others: dict[str, Callable[[str], None]] = {}
        """Functions that open other kinds of files, by suffix."""
        self.dropped: dict[str, Callable[[str], None]] = {}
        """Functions that take dropped files of further kinds while a robot is open, by suffix in small letters."""
        self.with_robot: set[str] = set()
        """Those of these suffixes that are taken together with a robot, once it is open; meshes are often its own."""
        self.hold_back: Callable[[Callable[[], None], str], bool] = lambda *_: False
        """Whether `start` has to wait for an answer of the user; then its arguments are kept."""
        self.recent_menu = RecentMenu(window, lambda: bench.recent)
        self.package_menu = PackageMenu(window, settings, package_dirs)
        bench.opening.package_dirs = self.package_menu.folders
        self.robots_menu = QMenu("Ro&bots", window)
        for path in sorted(engine.ROBOTS.glob("*.urdf")):
            action = self.robots_menu.addAction(path.stem.replace("_", " "))
            action.triggered.connect(lambda _, path=path: self.open(path))
        keys = QKeySequence.StandardKey
        self.open_action = make_action(window, "&Open…", self._ask, keys.Open, icon="open", tip="Open a robot")
        menus.file.put(self.open_action, self.recent_menu, self.robots_menu, self.package_menu)
        menus.file.addAction(make_action(window, "&Quit", window.close, keys.Quit))
        self._left = ""  # message on dropped files that were not opened
        self._dropped_too: tuple[str, str] | None = None  # a dropped robot's file, and another, opened after it
        window.loaded.connect(self._open_dropped_too)
        window.refreshed.connect(self._show_others)
        window.refreshed.connect(self._keep_recent)
        self.recent_menu.chosen.connect(self.open)
        self.package_menu.changed.connect(self._set_package_dirs)

    def open(self, path: str | Path, floating: bool = False, trust_xacro: bool = False) -> None:
        """Load a robot's file without blocking the window. `trust_xacro` lets a xacro file run any Python."""
        self.start(partial(self._open, path, floating, trust_xacro))

    def _open_dropped(self, path: str) -> None:
        """Open a file, or the robot in a folder, of several the one that the user selects."""
        robots = robots_in(Path(path))
        if len(robots) > 1:
            QTimer.singleShot(0, partial(self._select, Path(path), robots))  # a drop waits for no answer
        else:
            self.open(robots[0] if robots else path)

    def _select(self, folder: Path, robots: list[Path]) -> None:
        names = [str(path.relative_to(folder)) for path in robots]
        if name := dialogs.ask_one(self._window, f"Robots in {folder.name}", "Open:", names):
            self.open(folder / name)

    def start(self, act: Callable[[], None], doing: str = "Open another robot") -> None:
        """Call `act`, which replaces the robot, unless something is in the way of which the user is asked first.

        `doing` says in the question what `act` does.
        """
        self._dropped_too = None
        if not self.hold_back(act, doing):
            act()

    def _open(self, path: str | Path, floating: bool, trust_xacro: bool) -> None:
        if (opener := self.others.get(Path(path).suffix)) is not None:
            opener(str(path))
            return
        self._window.statusBar().clearMessage()
        self._bench.open(path, floating, trust_xacro)
        self._refresh()

    def trust(self, path: str) -> None:
        """Open a xacro file that may run any Python."""
        self.open(path, self._bench.opening.floating, trust_xacro=True)

    def drop(self, event: QDropEvent) -> None:
        """Open the first dropped robot, run or session; without one, take files that belong to the robot that is open.

        Files of other kinds are named; only where there is nothing else is the first of them opened, to say what it is.
        """
        accept_copy(event)
        files = [(path, self._taker(path)) for path in dropped_files(event)]
        taken = [path for path, take in files if take is not None]
        others = sorted((path for path, take in files if take is None), key=self._opens, reverse=True)
        if others and (self._opens(others[0]) or not taken):
            first, *left = others + taken
            self._open_dropped(first)
            belongs = self.with_robot if Path(first).suffix.lower() in ROBOTS else ()
            if second := next((path for path in left if Path(path).suffix.lower() in belongs), ""):
                self._dropped_too = first, second
                left.remove(second)
            if left and not self._opens(first):
                self._left = _not_taken(left)
                self._window.statusBar().showMessage(self._left, MESSAGE)
            elif left:
                self._left = f"{Path(first).name} opens, {_named(left)} did not"
                if any(map(self._opens, left)):
                    robots = all(Path(path).suffix.lower() in ROBOTS for path in (first, *filter(self._opens, left)))
                    self._left = f"one {'robot ' * robots}at a time: {self._left}{BESIDE * robots}"
                elif all(Path(path).suffix.lower() in self.dropped for path in left):
                    self._left = f"{self._left}: drop {'it' if len(left) == 1 else 'them'} again beside the robot"
                self._window.statusBar().showMessage(self._left, MESSAGE)
            return
        for path, take in files:
            if take is not None:
                take(path)
        if others:
            self._window.statusBar().showMessage(_not_taken(others), MESSAGE)

    def offer(self, event: QDropEvent) -> str:
        """Accept a drag of local files over the window; return what letting go would do, empty for other drags."""
        if not (files := dropped_files(event)):
            return ""
        accept_copy(event)
        first, taken = max(files, key=self._opens), [path for path in files if self._taker(path) is not None]
        opens = self._opens(first) or not taken
        return f"Release to {'open' if opens else 'add'} {Path(first).name if opens else _named(taken)}"

    def _open_dropped_too(self, event: Loaded) -> None:
        """Take the file that was dropped with the robot which is open now."""
        pair, self._dropped_too = self._dropped_too, None
        if pair is not None and event.path == str(Path(pair[0]).resolve()):
            QTimer.singleShot(0, partial(self._take_dropped_too, pair[1], self._left))

    def _take_dropped_too(self, path: str, left: str) -> None:
        self.dropped[Path(path).suffix.lower()](path)
        self._left = left
        QTimer.singleShot(0, self._show_others)  # also beside what that says

    def _opens(self, path: str) -> bool:
        """Return whether a file's name, or a folder, is that of what can be opened."""
        return Path(path).is_dir() or Path(path).suffix.lower() in (*OPENED, *self.others)

    def _taker(self, path: str) -> Callable[[str], None] | None:
        return None if self._bench.robot.model is None else self.dropped.get(Path(path).suffix.lower())

    def _show_others(self) -> None:
        """Repeat the message once the robot is open, since opening clears the status bar; before what that has said."""
        if self._left and not self._bench.opening.loading:
            bar, left, self._left = self._window.statusBar(), self._left, ""
            wording = bar.currentMessage()
            bar.showMessage(wording if wording.startswith(left) else f"{left}; {wording}".removesuffix("; "), MESSAGE)

    def _keep_recent(self) -> None:
        """Save the list of recent files when it changes, since a program that is killed saves nothing at its end."""
        if self._bench.recent != setting(self._settings, RECENT_FILES, []):
            self._settings.setValue(RECENT_FILES, self._bench.recent)

    def _ask(self) -> None:
        folder = str(Path(self._bench.path).parent) if self._bench.path else str(engine.ROBOTS)
        if path := dialogs.ask_file(self._window, "Open a robot", folder):
            self.open(path)

    def _set_package_dirs(self) -> None:
        folders = self._bench.opening.package_dirs = self.package_menu.folders
        self.start(partial(self._bench.set_package_dirs, folders), RELOADING)
        self._refresh()


def robots_in(folder: Path) -> list[Path]:
    """Return the URDFs in a folder or its subfolders, sorted; without one, the xacro files.

    None of a file, of a kept run, which is a folder, and of the root, whose subfolders are no robot's.
    """
    if not folder.is_dir() or folder.suffix == KEPT_SUFFIX or folder == folder.parent:
        return []
    found = ([*folder.glob(f"*{end}"), *folder.glob(f"*/*{end}")] for end in (".urdf", ".xacro"))
    return sorted(next(filter(None, found), []))


def accept_copy(event: QDropEvent) -> None:
    """Accept dragged files as copies: after a move, the program that they come from might delete them."""
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()


def _not_taken(files: list[str]) -> str:
    return f"{_named(files)} {'was' if len(files) == 1 else 'were'} not taken: {NO_KIND}"


def _named(files: list[str]) -> str:
    names = ", ".join(Path(path).name for path in files[:NAMED])
    return names + f" and {len(files) - NAMED} more" * (len(files) > NAMED)


def dropped_files(event: QDropEvent) -> list[str]:
    """Return the local files of a drop."""
    return [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
