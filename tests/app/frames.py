"""Performance of the window: frames per second, longest event-loop delay, processor time when idle.

`python -m tests.app.frames` on a screen (`xvfb-run -a -s "-screen 0 1920x1200x24"`) prints one JSON object. Rows:

- `playing`: a moving robot: frames per second, processor time of a frame, the largest divisor of the resolution
  (shadows are in every picture);
- `answer`: the longest time that the event loop left a timer waiting, ms;
- `rest`: share of one core while nothing moves: paused, playing, minimised;
- `chain`: how fast a chain of 1000 links plays at 0.1 ms beside what its steps alone would allow.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

BEAT = 5  # ms between two looks at whether the window responds
SIZE = 1280, 800
LONG = 120.0  # s to wait for a robot

FALL = 2.5  # s in which what falls has not come to rest yet


class Bench:
    """A window whose viewport is 1280 × 800, and what was measured of it."""

    def __init__(self) -> None:
        from PyQt6.QtCore import QSettings, Qt, QTimer

        from app.window import Window

        self._folder = tempfile.TemporaryDirectory()
        settings = QSettings(str(Path(self._folder.name) / "settings.ini"), QSettings.Format.IniFormat)
        self.window = Window(settings)
        self.window.show()
        self.spin(0.3)
        gc.freeze()  # as in production
        viewport = self.window.viewport
        grow = [want - have for want, have in zip(SIZE, (viewport.width(), viewport.height()), strict=True)]
        self.window.resize(self.window.width() + grow[0], self.window.height() + grow[1])
        self.frames, self.coarsest = 0, (1.0, 0)
        viewport.drawn.connect(self._count)
        self.longest, self._last = 0.0, time.perf_counter()
        self.waits: list[float] = []
        """s, of which each was a time in which the loop handled nothing, since `answer` began last."""
        self._beat = QTimer()
        self._beat.setTimerType(Qt.TimerType.PreciseTimer)
        self._beat.timeout.connect(self._look)

    def _count(self) -> None:
        self.frames += 1
        self.coarsest = max(self.coarsest, self.window.viewport.detail)

    def _look(self) -> None:
        now = time.perf_counter()
        waited = now - self._last - BEAT / 1000
        self.longest, self._last = max(self.longest, waited), now
        self.waits.append(max(0.0, waited))

    def spin(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Let the event loop run so long, or until something is true."""
        from PyQt6.QtCore import QEventLoop, QTimer

        loop, timer = QEventLoop(), QTimer()
        end = time.perf_counter() + seconds
        timer.timeout.connect(lambda: loop.quit() if until() or time.perf_counter() > end else None)
        timer.start(20)
        loop.exec()

    def answer(self, seconds: float, until: Callable[[], bool] = lambda: False) -> float:
        """The longest wait in the loop while it runs so long, ms."""
        self.longest, self._last = 0.0, time.perf_counter()
        self.waits.clear()
        self._beat.start(BEAT)
        self.spin(seconds, until)
        self._look()
        self._beat.stop()
        return round(1e3 * self.longest, 1)

    def load(self, robot: Any) -> float:
        """Open a robot; return the longest event-loop delay until all meshes and levels of detail are loaded, ms."""
        bench, viewport = self.window.workbench, self.window.viewport
        bench.open(robot)

        def there() -> bool:
            return not bench.opening.loading and viewport.reading is None

        def simple() -> bool:
            return not any(thread.name == "mesh loader" for thread in threading.enumerate())

        waited = self.answer(LONG, there)
        return max(waited, self.answer(3.0), self.answer(LONG, simple))

    def playing(self, seconds: float) -> dict[str, Any]:
        """Frames while the robot falls from a pose in which it cannot stay."""
        bench = self.window.workbench
        bench.joints.set_held(False)
        for index, row in enumerate(bench.robot.coordinates):
            if row.leader is None:
                bench.joints.set_coordinate(index, 0.4)
        bench.play()
        self.spin(0.5)
        self.coarsest = (1.0, 0)
        frames, cpu, wall = self.frames, time.process_time(), time.perf_counter()
        longest = self.answer(min(seconds, FALL))
        frames, cpu, wall = self.frames - frames, time.process_time() - cpu, time.perf_counter() - wall
        bench.pause()
        return {
            "frames_per_second": round(frames / wall, 1),
            "cpu_ms_per_frame": round(1e3 * cpu / max(frames, 1), 1),
            "cores": round(cpu / wall, 2),
            "coarsest_divisor": self.coarsest[0],
            "answer_ms": longest,
        }

    def cpu(self, seconds: float) -> float:
        """Per cent of one core."""
        cpu, wall = time.process_time(), time.perf_counter()
        self.spin(seconds)
        return round(100 * (time.process_time() - cpu) / (time.perf_counter() - wall), 2)

    def rest(self, seconds: float) -> dict[str, float]:
        """Per cent of one core while nothing moves."""
        bench = self.window.workbench
        bench.reset()
        self.spin(3.0)
        shares = {"paused": self.cpu(seconds)}
        bench.configuring.set_gravity(False)
        bench.play()
        self.spin(3.0)
        shares["playing"] = self.cpu(seconds)
        self.window.showMinimized()
        self.spin(1.0)
        shares["minimised"] = self.cpu(seconds)
        self.window.showNormal()
        bench.pause()
        bench.configuring.set_gravity(True)
        return shares

    def orbit(self) -> float:
        """The longest wait during an orbit and after it, ms."""
        from PyQt6.QtCore import QEvent, QPointF, Qt
        from PyQt6.QtGui import QMouseEvent
        from PyQt6.QtWidgets import QApplication

        viewport = self.window.viewport
        left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
        keys = Qt.KeyboardModifier.NoModifier
        middle = QPointF(viewport.rect().center())

        def send(kind: QEvent.Type, at: QPointF, button: Qt.MouseButton, held: Qt.MouseButton) -> None:
            QApplication.sendEvent(viewport, QMouseEvent(kind, at, viewport.mapToGlobal(at), button, held, keys))

        send(QEvent.Type.MouseButtonPress, middle, left, left)
        waited = 0.0
        for step in range(20):
            send(QEvent.Type.MouseMove, middle + QPointF(4.0 * step, 0), none, left)
            waited = max(waited, self.answer(0.03))
        send(QEvent.Type.MouseButtonRelease, middle + QPointF(80.0, 0), left, none)
        return max(waited, self.answer(3.0))

    def chain(self, seconds: float) -> dict[str, float]:
        """1000 links at 0.1 ms: simulated seconds per wall second in the window, and of steps alone."""
        import engine

        model = engine.chain(1000)
        bench = self.window.workbench
        self.load(model)
        bench.configuring.set_dt(1e-4)
        alone = engine.Simulation(model, dt=1e-4, integrator=bench.robot.settings.integrator)
        alone.step(100)

        def possible() -> float:
            began = time.perf_counter()
            alone.step(1000)
            return 0.1 / (time.perf_counter() - began)

        before = possible()
        bench.play()
        self.spin(1.0)
        frames, simulated, wall = self.frames, bench.robot.time, time.perf_counter()
        longest = self.answer(seconds)
        wall, simulated = time.perf_counter() - wall, bench.robot.time - simulated
        bench.pause()
        return {
            "steps_alone": round((before + possible()) / 2, 3),
            "in_window": round(simulated / wall, 3),
            "frames_per_second": round((self.frames - frames) / wall, 1),
            "answer_ms": longest,
        }

    def picture(self, path: Path) -> None:
        """Store what the screen shows of the window."""
        self.window.screen().grabWindow(self.window.winId()).save(str(path))

    def close(self) -> None:
        self.window.close()
        self._folder.cleanup()


def talos() -> str:
    """The path of Talos, which example-robot-data ships."""
    files = metadata.files("example-robot-data") or []
    return next(str(file.locate()) for file in files if file.name == "talos_full_v2.urdf")


def measure(seconds: float, pictures: Path | None) -> dict[str, Any]:
    """All rows."""
    import engine

    bench = Bench()
    report: dict[str, Any] = {"cores": os.cpu_count(), "load_before": os.getloadavg()[0], "playing": {}, "answer": {}}
    for name, robot in (("talos", talos()), ("arm7", str(engine.find_robot("arm7")))):
        report["answer"][f"loading {name}"] = bench.load(robot)
        report["playing"][name] = bench.playing(seconds)
        if pictures:
            bench.picture(pictures / f"{name}.png")
        report["answer"][f"orbiting {name}"] = bench.orbit()
    report["rest"] = bench.rest(seconds)
    report["chain"] = bench.chain(seconds)
    report["answer"]["chain of 1000"] = report["chain"].pop("answer_ms")
    report["load_after"] = os.getloadavg()[0]
    bench.close()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="of each row (default 5)")
    parser.add_argument("--pictures", type=Path, help="a folder for what the screen showed")
    args = parser.parse_args()
    application = make_application()
    print(json.dumps(measure(args.seconds, args.pictures), indent=2))
    del application


def make_application() -> object:
    """Create the application as in production, but without the window."""
    from PyQt6.QtWidgets import QApplication

    from app import SWITCH_INTERVAL, set_opengl_defaults
    from app.desktop import theme

    set_opengl_defaults()
    application = QApplication(sys.argv[:1])
    if sys.platform.startswith("linux"):
        os.environ.setdefault("PYOPENGL_PLATFORM", "glx" if application.platformName() == "xcb" else "egl")
    theme.apply(application)
    sys.setswitchinterval(SWITCH_INTERVAL)
    return application


if __name__ == "__main__":
    main()
