"""Seconds of the window's first start with empty caches, as JSON: on screen, robot drawn, moving after Space.

Run it on an idle machine: ``xvfb-run -a python tests/app/first_start.py [robot]``. Times count from the start of this
process's child, which has a cache folder of its own.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 300.0  # s
CHILD = """
import json, os, sys, time
began = float(sys.argv[1])
from PyQt6.QtCore import QTimer
from PyQt6.QtWidgets import QApplication
import app
seen = {}
pressed = []
def look():
    from app.window import Window
    window = next((each for each in QApplication.topLevelWidgets() if isinstance(each, Window)), None)
    now = time.time() - began
    if window is None or not window.windowHandle() or not window.windowHandle().isExposed():
        return
    seen.setdefault("on screen", now)
    bench = window.workbench
    if bench.robot.model is not None and not pressed:
        pressed.append(window.viewport.drawn.connect(lambda *_: seen.setdefault("drawn", time.time() - began)))
        seen["compiling at first"] = bench.computation.compiling
        window.run.play.trigger()  # as Space does; without a window manager no window has the keyboard
    if bench.robot.time > 0 and "drawn" in seen:
        seen["moving"] = now
        window.close()
started = []
execute = QApplication.exec
def exec_watched(*_):
    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(10)
    started.append(timer)
    return execute()
QApplication.exec = exec_watched
app.run_app([sys.argv[2]])
print(json.dumps({name: round(value, 2) for name, value in seen.items()}))
"""


def main() -> int:
    """Start the window once; its figures on standard output."""
    robot = sys.argv[1] if len(sys.argv) > 1 else "arm7"
    with tempfile.TemporaryDirectory() as cache:
        folders = dict.fromkeys(("XDG_CACHE_HOME", "CATENA_CACHE_DIR", "XDG_CONFIG_HOME", "NUMBA_CACHE_DIR"), cache)
        command = [sys.executable, "-c", CHILD, str(time.time()), robot]
        return subprocess.run(command, env={**os.environ, **folders}, cwd=ROOT, timeout=PATIENCE).returncode


if __name__ == "__main__":
    sys.exit(main())
