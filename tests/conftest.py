"""Fixtures that all tests share, and the reasons for which some are skipped."""

from __future__ import annotations

import gc
import importlib.metadata
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

# Window tests and offscreen pictures share one process, and PyOpenGL can look up contexts in one way only:
# both Qt's xcb platform and the surfaceless renderer go through EGL. Set before the first import of either.
if sys.platform.startswith("linux"):
    os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
    os.environ.setdefault("QT_XCB_GL_INTEGRATION", "xcb_egl")
# A test process per core has none to spare for NumPy's threads, which wait for one another by spinning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Most of a run from empty caches went into making kernels fast that take a few steps. `.ci/slow` has it done.
os.environ.setdefault("CATENA_OPTIMISATION", "0")
# Where Python is set to keep no compiled modules, each of some hundred processes would compile all of them again, half
# of its start. They are kept in pytest's cache, and the sources' folders stay as they are.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(Path(__file__).parents[1] / ".pytest_cache/d/modules")

import numpy as np
import pytest

import engine
from engine.compile import background, machine
from tests import sampling
from tests.own_code import own_code  # noqa: F401 - a fixture
from tests.seeds import OTHER, SEED
from tests.shipped_robots import arm7, quadruped  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from PyQt6.QtWidgets import QApplication
    from pytestqt.qtbot import QtBot

    from app.features.lesson_view import LessonView
    from app.window import Window
    from app.workbench import Workbench

PATIENCE = 60_000  # ms for a window, and for the first compilation of the engine
SLOW = 4 * 3600  # s that a slow test has; others have pyproject.toml's
UNREADABLE = {"ur3.urdf"}
"""Files of example-robot-data that are broken, and which Pinocchio does not read either."""


def _example_robots() -> list[Path]:
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(file.locate())) for file in files if file.suffix == ".urdf" and file.name not in UNREADABLE)


EXAMPLE_ROBOTS = _example_robots()
"""Every URDF of example-robot-data that is sound, sorted by path, for parameters of tests; empty without it."""


@pytest.fixture(scope="session")
def example_robots() -> list[Path]:
    """`EXAMPLE_ROBOTS`. No such package, no test."""
    if not EXAMPLE_ROBOTS:
        pytest.skip("example-robot-data is not installed; it is part of the dev group (not on Windows)")
    return EXAMPLE_ROBOTS


@pytest.fixture
def rng() -> np.random.Generator:
    """Equal numbers in every run, with a stream of its own for every test."""
    return np.random.default_rng(SEED)


@pytest.fixture
def chance() -> np.random.Generator:
    """For laws of any material: other numbers with another `CATENA_SEED`."""
    print(f"CATENA_SEED={OTHER}")
    return np.random.default_rng(OTHER)


@pytest.fixture
def ctrl_c_is_heard() -> Iterator[None]:
    """Here, and in the programs that the test starts: a script's background job is born with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def unmeasured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Choose algorithms as on a machine without measurements, with the user's compiled code."""
    os.umask(0o022)  # what a group may write to is no cache
    folder = tmp_path_factory.mktemp("cache")
    code = engine.files.writable_cache() / "code"
    code.mkdir(exist_ok=True)
    (folder / "catena").mkdir()
    with suppress(OSError):  # Windows lets few users make links
        (folder / "catena" / "code").symlink_to(code, target_is_directory=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield


@pytest.fixture
def no_modules_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that leave files no room: Python keeps what it wrote of a compiled module, and fails to import it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


@pytest.fixture
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No temporary cache yet, and no warning about caches: other tests of this process may have left code there."""
    monkeypatch.setattr(engine.files, "temporary_cache", lru_cache(maxsize=1)(engine.files.temporary_cache.__wrapped__))
    monkeypatch.setattr(engine.files, "_warned", threading.Event())


@pytest.fixture(autouse=True)
def looped_aba(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the ABA with loops over the bodies in calls, except in tests marked `written_out`.

    The written-out ABA takes some seconds of compilation for each shape of robots.
    """
    if not request.node.get_closest_marker("written_out"):
        monkeypatch.setattr("engine.cpu.rigid_body.aba_batch.MAX_BODIES", 0)


@pytest.fixture(params=["loops", pytest.param("written out", marks=pytest.mark.written_out)])
def each_form() -> None:
    """For tests of calls of the ABA that want both of its forms."""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the compiled code."""
    monkeypatch.setattr(background, "request", lambda *_: None)  # for another process, and at any time
    texts: list[str] = []
    original = machine.compiled
    monkeypatch.setattr(machine, "compiled", lambda text, *how: texts.append(text) or original(text, *how))
    return texts


@pytest.fixture
def place() -> Iterator[Path]:
    """A new folder of this user's that all may enter."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder).resolve()


@pytest.fixture
def cache(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that is missing yet, nor the one above it."""
    monkeypatch.setattr(background, "request", lambda *_: None)  # what is made fast may be kept at any time
    monkeypatch.setenv("CATENA_CACHE_DIR", str(place / "above" / "cache"))
    return place / "above" / "cache"


@pytest.fixture
def runtime(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime folder of the test's own, in which live links lie."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    return place


@pytest.fixture
def start(runtime: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], Path]]]:
    """Starts the script that shows its simulation; its process, and the folder of its link."""
    processes = []

    def begin(*words: object) -> tuple[subprocess.Popen[str], Path]:
        script, environment = Path(__file__).parent / "engine" / "shown_script.py", {"XDG_RUNTIME_DIR": str(runtime)}
        process = subprocess.Popen(
            [sys.executable, str(script), *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | environment | {"PYTHONPATH": str(engine.ROBOTS.parent)},
        )  # fmt: skip
        processes.append(process)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def nothing_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of its own, without measurements but with the code that is compiled already."""
    folder = tmp_path / "cache" / "catena"
    folder.mkdir(parents=True)
    with suppress(OSError):  # Windows lets few users make links
        (folder / "code").symlink_to(engine.files.writable_cache() / "code", target_is_directory=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent))
    return folder


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine code is read from disk, and none is written there."""
    monkeypatch.setattr("engine.compile.cache.read", lambda _: None)
    monkeypatch.setattr("engine.compile.cache.write", lambda *_: None)


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons measure in two processes instead of five, each of which must start and load all code."""
    for module in ("comparison", "command", "scaling"):
        monkeypatch.setattr(f"engine.bench.compare.{module}.PROCESSES", 2)


@pytest.fixture(scope="session")
def qapp_cls() -> type[QApplication]:
    """The application class, once OpenGL has the defaults that the application itself sets before it starts."""
    from PyQt6.QtWidgets import QApplication

    from app import set_opengl_defaults

    set_opengl_defaults()
    return QApplication


@pytest.fixture
def qtbot(qtbot: QtBot) -> QtBot:
    """pytest-qt's `qtbot` with a longer timeout than 5 s: other programs may use the processor."""
    for name in ("waitUntil", "waitSignal", "waitExposed", "waitActive"):
        setattr(qtbot, name, partial(getattr(qtbot, name), timeout=PATIENCE))
    return qtbot


@pytest.fixture
def make_window(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Callable[[], Window]]:
    """Create windows with the keyboard focus, all with the same settings, and close them.

    They are destroyed even if referenced: each leftover window would slow down later theme changes.
    """
    from PyQt6.QtCore import QSettings

    from app.desktop import theme
    from app.window import Window

    if not qapp.styleSheet() or not theme.is_dark():  # to style all again takes as long as to load a robot
        theme.apply(qapp)
    windows: list[Window] = []

    def make() -> Window:
        window = Window(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
        windows.append(window)
        with qtbot.waitActive(window):
            window.show()
            window.activateWindow()
        return window

    yield make
    for window in windows:
        window.close()
        window.deleteLater()


@pytest.fixture
def window(make_window: Callable[[], Window]) -> Window:
    return make_window()


@pytest.fixture
def opened(qtbot: QtBot, window: Window) -> Callable[..., Window]:
    """Open a robot in the window, by default the double pendulum, and wait until it is loaded."""
    from tests.app.windows import wait_loaded

    def open_robot(source: object = engine.find_robot("double_pendulum")) -> Window:
        if isinstance(source, engine.Model):
            window.workbench.open(source)
        else:
            window.open(source)
        wait_loaded(qtbot, window)
        return window

    return open_robot


@pytest.fixture
def second(qtbot: QtBot, opened: Callable[..., Window]) -> tuple[Window, Callable[..., object]]:
    """An arm, and what puts another robot beside it and waits until it is drawn."""
    from app.features.second_robot_view import SecondRobotView

    window = opened(engine.find_robot("arm7"))
    view = window.features[SecondRobotView]

    def put(name: str | Path) -> SecondRobotView:
        path = engine.find_robot(name)
        view.open(path)
        qtbot.waitUntil(lambda: view.model is not None and view.model.name == path.stem, timeout=PATIENCE)
        qtbot.waitUntil(lambda: window.viewport.overlays.second_robot is not None, timeout=PATIENCE)
        return view

    return window, put


@pytest.fixture
def shown(qtbot: QtBot, opened: Callable[..., Window]) -> Callable[..., Window]:
    """Open a robot as `opened` does, and wait until a state of it has been seen and its picture can be drawn."""

    def show(*source: object) -> Window:
        window = opened(*source)
        robot, view = window.workbench.robot, window.viewport
        qtbot.waitUntil(lambda: robot.newest is not None and view.reading is None, timeout=PATIENCE)
        return window

    return show


@pytest.fixture
def arm(shown: Callable[..., Window]) -> Window:
    """A window that shows the arm7."""
    return shown(engine.find_robot("arm7"))


@pytest.fixture
def bench() -> Iterator[Workbench]:
    """A workbench without a window."""
    from app.workbench import Workbench

    bench = Workbench()
    yield bench
    bench.close()


@pytest.fixture
def taught(qtbot: QtBot, opened: Callable[..., Window]) -> Callable[..., LessonView]:
    """Opens a lesson on a robot, and waits until it is there."""

    def teach(name: str, robot: object, step: int = 0) -> LessonView:
        from app.features.lesson_view import LessonView

        view = (window := opened(robot)).features[LessonView]
        qtbot.waitUntil(lambda: window.workbench.shown is not None, timeout=PATIENCE)
        view.open(name, step)
        qtbot.waitUntil(lambda: view.panel.lesson is not None, timeout=PATIENCE)
        return view

    return teach


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Collect a test's windows when it is over: one that dies while another paints takes OpenGL's context along.

    What is left, such as modules that it has imported, stays, and no later collection has to look at it again.
    """
    answer = yield
    if _uses_windows(item):
        _destroy_what_is_closed()
        gc.collect()
        gc.freeze()
    return answer


def _destroy_what_is_closed() -> None:
    """Delete now what was scheduled for deletion: its timers would continue, and theme changes would restyle it."""
    from PyQt6.QtCore import QCoreApplication, QEvent
    from PyQt6.QtWidgets import QApplication

    if QCoreApplication.instance() is not None:
        for widget in QApplication.topLevelWidgets():
            if not widget.isVisible() and type(widget).__name__ == "Window":  # which a test made and closed
                widget.deleteLater()
        for _ in range(2):  # PyQt deletes the proxies of a widget's slots after it
            QCoreApplication.processEvents()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture(scope="session")
def gl() -> None:
    """There is a way to draw without a window."""
    from app.gl import context

    try:
        with context.offscreen():
            return
    except context.NoOpenGL as missing:
        pytest.skip(f"needs an offscreen OpenGL context: {missing}")


def _reason_against_gpu() -> str | None:
    if importlib.util.find_spec("cupy") is None:
        return "needs a GPU: CuPy is not installed (extra cuda12 or cuda13)"
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"needs a GPU: {error}"
    return None if count else "needs a GPU: CUDA finds no device"


def _uses_windows(item: pytest.Item) -> bool:
    return bool({"qapp", "qtbot"} & set(getattr(item, "fixturenames", ())))


def _reason_against_windows() -> str | None:
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if screen or not sys.platform.startswith("linux"):
        return None
    return "needs a screen: there is no display, and no Xvfb to make one (Debian package xvfb)"


def pytest_collection_finish() -> None:
    """Freeze the objects that exist before the first test, to speed up garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this machine cannot run, with a reason; mark slow tests, and set their timeouts."""
    sampling.leave_to_the_night(items)
    for item in items:
        if item.get_closest_marker("slow_on_host") and "compiled for the host" in item.name:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW))
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    with_window = [item for item in items if _uses_windows(item)]
    for group, reason_against in ((on_gpu, _reason_against_gpu), (with_window, _reason_against_windows)):
        reason = reason_against() if group else None
        for item in group if reason else []:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def pretended_gpu(monkeypatch: pytest.MonkeyPatch) -> type:
    """This machine has the GPU of `tests/app/pretended_gpu.py`."""
    from pretended_gpu import PretendedGpu

    monkeypatch.setattr(engine, "Simulation", PretendedGpu)
    monkeypatch.setattr(engine, "why_no_gpu", lambda **_: None)
    for name, value in (("lag", 1e-3), ("cost", 1e-5), ("fault", None), ("fault_in_flight", None), ("launches", [])):
        monkeypatch.setattr(PretendedGpu, name, value)
    return PretendedGpu
