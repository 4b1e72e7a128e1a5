"""The picture of a lesson that README and docs/lessons.md show: `python -m tests.app.lesson_picture`, on a screen.

A stage of DCA's scan on arm7 in the window, the tree beside the robot, written to `resources/pictures/lesson.webp`.
"""

from io import BytesIO
from pathlib import Path

from PIL import Image

import engine
from tests.app.frames import LONG, Bench, make_application

FILE = Path(__file__).resolve().parents[2] / "resources/pictures/lesson.webp"
LESSON, STAGE, ROBOT = "dca", "apply of beyond", "arm7"
QUALITY = 80


def main() -> None:
    from PyQt6.QtCore import QBuffer, QIODevice
    from PyQt6.QtWidgets import QMainWindow

    application = make_application()
    from app.features.lesson_view import LessonView

    bench = Bench()
    window: QMainWindow = bench.window
    window.resize(1280, 800)
    bench.load(str(engine.find_robot(ROBOT)))
    view = bench.window.features[LessonView]
    bench.window.viewport.fit()
    view.open(LESSON)
    bench.spin(LONG, lambda: view.panel.lesson is not None)
    steps = view.panel.lesson.steps
    view.panel.go(next(k for k, step in enumerate(steps) if step.section.keys.get("stage") == STAGE))
    bench.spin(5.0)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    window.screen().grabWindow(window.winId()).save(buffer, "PNG")
    Image.open(BytesIO(bytes(buffer.data()))).convert("RGB").save(FILE, quality=QUALITY, method=6)
    bench.close()
    del application


if __name__ == "__main__":
    main()
