"""A simulated user of a window without pytest: waits, opens, drags and presses keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PATIENCE = 60.0  # s


class User:
    """A simulated user of `window`, an `app.window.Window`."""

    def __init__(self, folder: Path, rng: np.random.Generator):
        self.folder, self.rng = folder, rng
        self.window: Any = None

    def spin(self, seconds: float, until: Callable[[], bool] | None = None) -> None:
        """Let the event loop run so long, or until something is true."""
        from PyQt6.QtCore import QEventLoop, QTimer

        loop, timer, end = QEventLoop(), QTimer(), QTimer()
        end.setSingleShot(True)
        end.timeout.connect(loop.quit)
        end.start(round(1e3 * seconds))
        if until is not None:
            timer.timeout.connect(lambda: loop.quit() if until() else None)
            timer.start(10)
        loop.exec()
        if until is not None and not until():
            raise TimeoutError(f"waited {seconds:g} s in vain")

    def load(self, path: Path | str) -> None:
        bench = self.window.workbench
        before = bench.robot.model
        self.window.open(path)
        self.spin(
            PATIENCE,
            lambda: bench.robot.model is not before and not bench.opening.loading and not bench.computation.compiling,
        )
        self.spin(PATIENCE, lambda: bench.robot.newest is not None or bench.replay.active)

    def mouse(self, kind: str, x: float, y: float, button: str, held: bool) -> None:
        from PyQt6.QtCore import QEvent, QPointF, Qt
        from PyQt6.QtGui import QMouseEvent
        from PyQt6.QtWidgets import QApplication

        viewport, buttons = self.window.viewport, Qt.MouseButton
        at = QPointF(x * viewport.width(), y * viewport.height())
        which = getattr(buttons, button)
        changed, down = buttons.NoButton if kind == "MouseMove" else which, which if held else buttons.NoButton
        keys = Qt.KeyboardModifier.NoModifier
        event = QMouseEvent(getattr(QEvent.Type, kind), at, viewport.mapToGlobal(at), changed, down, keys)
        QApplication.sendEvent(viewport, event)

    def drag(self, button: str) -> None:
        """Drag from the middle of the picture to another place."""
        x, y = self.rng.uniform(0.3, 0.7, 2)
        self.mouse("MouseButtonPress", 0.5, 0.5, button, True)
        for share in np.linspace(0, 1, 8):
            self.mouse("MouseMove", 0.5 + share * (x - 0.5), 0.5 + share * (y - 0.5), button, True)
            self.spin(0.02)
        self.mouse("MouseButtonRelease", x, y, button, False)

    def key(self, key: str) -> None:
        """Press a key, such as "Ctrl+B", in the window."""
        from PyQt6.QtGui import QKeySequence
        from PyQt6.QtTest import QTest

        (pressed,) = (QKeySequence(key)[k] for k in range(1))
        QTest.keyClick(self.window, pressed.key(), pressed.keyboardModifiers())
