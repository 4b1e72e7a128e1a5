"""The desktop application.

It starts in this order, for these reasons:

1. Check for a screen before Qt: without one, Qt ends the process with a page of plugin names. It also ends it if the
   screen cannot be reached; only Qt's last message gives the reason.
2. Set OpenGL 3.3 core as the default format and shared contexts, which Qt accepts only before the application object.
3. Create the application object. Now Qt's platform is known, and so whether its OpenGL contexts come from GLX or EGL;
   PyOpenGL is configured before it is imported.
4. Start a process for compiling, before anything is compiled; then the theme, then the window, whose modules import
   PyOpenGL and the engine.
5. Set up crash reports and recovery: errors leave a report, and the data of a run that ended badly are offered.
6. Ctrl-C, or the end of the desktop session, closes the window as its button does, so that the simulation thread
   ends too. The window's timer lets Python process the signal.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PyQt6.QtWidgets import QApplication

HEADLESS = "Without one, use run, info, check, generate or render, see --help."
SWITCH_INTERVAL = 5e-4  # s; the window acquires the interpreter's lock many times per picture


def run_app(argv: Sequence[str]) -> int:
    """Open the window with the robot, run or session in `argv`, if any; return the exit status when it is closed."""
    parser = argparse.ArgumentParser(prog="catena", description="Open the simulator's window.")
    what = (
        "a URDF file to open, a xacro file with its arguments NAME:=VALUE, the name of a robot that ships, "
        "a run (.npz), which plays, or a session (.catena, or .zip with its robot) that File › Save session wrote"
    )
    parser.add_argument("robot", nargs="?", help=what)
    _add_sources(parser)
    return _open(_parsed(parser, argv), "")


def view(argv: Sequence[str]) -> int:
    """`main.py view`: open the window with a run, and play it."""
    text = "Play a run that `main.py run … --out FILE.npz` wrote, or that was exported from the window."
    parser = argparse.ArgumentParser(prog="catena view", description=text)
    parser.add_argument("robot", metavar="RUN.npz", help="the run")
    parser.add_argument("--robot", dest="of", default="", metavar="FILE", help="the file of its robot, if it has moved")
    _add_sources(parser)
    args = _parsed(parser, argv)
    if not Path(args.robot).exists():
        print(
            f"catena view: there is no file {args.robot!r}; give a run that `main.py run … --out` wrote",
            file=sys.stderr,
        )
        return 2
    return _open(args, args.of)


def connect(argv: Sequence[str]) -> int:
    """`main.py connect`: open the window with the simulation of a script that called `engine.show`."""
    text = "Watch the simulation of a Python script that runs and has called engine.show(simulation, window=False)."
    parser = argparse.ArgumentParser(prog="catena connect", description=text)
    what = "link.folder of the script; by default of the one that called engine.show last"
    parser.add_argument("link", nargs="?", default="", help=what)
    _add_sources(parser)
    args = _parsed(parser, argv)
    import engine

    try:
        args.robot = str(engine.LiveReader(args.link or None).run_file)
    except (OSError, ValueError) as error:
        print(f"catena connect: {error}", file=sys.stderr)
        return 1
    return _open(args, "")


def lesson(argv: Sequence[str]) -> int:
    """`main.py lesson`: open the window with a lesson on a robot."""
    import engine

    names = engine.Lesson.names()
    parser = argparse.ArgumentParser(prog="catena lesson", description="Open the window with a lesson on a robot.")
    parser.add_argument(
        "name", type=engine.Lesson.present_name, choices=names, metavar="NAME", help=f"one of {', '.join(names)}"
    )
    parser.add_argument("--stage", type=int, default=1, metavar="N", help="the step to begin with, from 1 (default 1)")
    what = "a URDF or xacro file, or the name of a robot that ships (default arm7)"
    parser.add_argument("--robot", default="arm7", metavar="FILE", help=what)
    _add_sources(parser)
    args = _parsed(parser, argv)
    if args.stage < 1:
        parser.error(f"--stage is {args.stage}; expected the number of a step, 1 or more")
    return _open(args, "", (args.name, args.stage - 1))


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--package-dir", action="append", default=[], metavar="DIR", help="where package:// is looked for"
    )
    parser.add_argument("--trust-xacro", action="store_true", help="let that xacro file run any Python, as xacro does")


def _parsed(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """Parse words, among which NAME:=VALUE are arguments of a xacro file."""
    matches = [re.fullmatch(r"([A-Za-z_]\w*):=(.*)", word, re.DOTALL) for word in argv]
    args = parser.parse_args([word for word, match in zip(argv, matches, strict=True) if match is None])
    args.xacro_args = {match[1]: match[2] for match in matches if match is not None}
    return args


def _open(args: argparse.Namespace, robot_of_run: str, lesson: tuple[str, int] | None = None) -> int:
    if no_screen():
        print(f"There is no screen: neither DISPLAY nor WAYLAND_DISPLAY is set. {HEADLESS}", file=sys.stderr)
        return 1
    more = (lesson, args.xacro_args) if args.xacro_args else (lesson,) if lesson else ()
    return show_window(args.robot, args.package_dir, args.trust_xacro, robot_of_run, *more)


def no_screen() -> bool:
    """Whether Linux has neither a display nor a platform of Qt that needs none."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return sys.platform.startswith("linux") and not any(os.environ.get(name) for name in names)


def _application() -> QApplication:
    """Return the application object. Qt dumps core if it cannot reach the screen while creating it.

    Here such a process ends with a sentence and status 1.
    """
    from PyQt6.QtCore import QtMsgType, qInstallMessageHandler
    from PyQt6.QtWidgets import QApplication

    wording: list[str] = []

    def handle_message(kind: QtMsgType, _: object, text: str | None) -> None:
        if kind == QtMsgType.QtFatalMsg:
            reason = (wording or [text or "Qt gives no reason"])[0].strip().rstrip(".")
            print(f"No window can be opened on this screen: {reason}. {HEADLESS}", file=sys.stderr, flush=True)
            os._exit(1)
        wording.append(text or "")

    before = qInstallMessageHandler(handle_message)
    application = QApplication(sys.argv[:1])
    qInstallMessageHandler(before)
    for text in wording:
        print(text, file=sys.stderr)
    return application


def set_opengl_defaults() -> None:
    """Set what Qt must know of OpenGL before there is an application object."""
    from PyQt6.QtCore import QCoreApplication, Qt
    from PyQt6.QtGui import QSurfaceFormat

    surface = QSurfaceFormat()
    surface.setVersion(3, 3)
    surface.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    surface.setDepthBufferSize(24)
    QSurfaceFormat.setDefaultFormat(surface)
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)


def show_window(
    robot: str | None,
    package_dirs: Sequence[str],
    trust_xacro: bool,
    robot_of_run: str,
    lesson: tuple[str, int] | None = None,
    xacro_args: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Show the window until it is closed; return the exit code."""
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # our processes run no Python file of the current folder
    from PyQt6.QtCore import QSettings

    set_opengl_defaults()
    application = _application()
    application.setApplicationName("Catena")
    application.setOrganizationName("Catena")
    if sys.platform.startswith("linux"):
        os.environ.setdefault("PYOPENGL_PLATFORM", "glx" if application.platformName() == "xcb" else "egl")

    import engine
    from app.desktop import theme
    from app.features import autosaved_runs, recovery, text_size
    from app.features.lesson_view import LessonView
    from app.window import Window

    engine.Compilation.stand_by()
    text_size.apply(application, QSettings())
    theme.apply(application)
    sys.setswitchinterval(SWITCH_INTERVAL)
    care = recovery.begin()
    window = Window(QSettings(), package_dirs)
    window.show()
    runs = autosaved_runs.AutosavedRuns(window, autosaved_runs.place())
    recovery.Recovery(window, care.reports, care.left, runs)
    if robot:
        with suppress(FileNotFoundError):  # a missing file: the window reports it
            robot = str(engine.find_robot(robot))
        window.workbench.opening.set_xacro_args(robot, xacro_args)
        if robot_of_run:
            window.workbench.opening.set_robot_of_run(robot, robot_of_run)
        window.open(robot, trust_xacro=trust_xacro)
    if lesson:
        window.feature(LessonView).open(*lesson)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: window.end())
    gc.freeze()  # each full collection would look through all that the window consists of, and stop it for 60 ms
    return application.exec()
