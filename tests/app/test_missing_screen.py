"""Problems with the screen: missing or unreachable."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def started(*words: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
    kept = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name, value in environment.items():
        kept.pop(name, None)
        if value is not None:
            kept[name] = value
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=300, check=False)


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="screens of Linux")


@linux
@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"DISPLAY": None}, "neither DISPLAY nor WAYLAND_DISPLAY is set"),
        ({"DISPLAY": ":4711"}, "could not connect to display :4711"),
        ({"DISPLAY": None, "QT_QPA_PLATFORM": "moon"}, '"moon"'),
        (
            {"DISPLAY": None, "WAYLAND_DISPLAY": "wayland-9", "XDG_RUNTIME_DIR": "/tmp", "QT_QPA_PLATFORM": None},
            "No window can be opened",
        ),
    ],
    ids=["none", "not reached", "no such platform", "no Wayland"],
)
def test_without_a_screen_it_ends_with_a_sentence(environment, words):
    ended = started("main.py", "arm7", **{"WAYLAND_DISPLAY": None, **environment})
    assert (ended.returncode, ended.stdout) == (1, "")
    (reported,) = ended.stderr.splitlines()
    assert words in reported
    assert ".." not in reported
    assert "use run, info, check, generate or render" in reported


@pytest.mark.usefixtures("qapp")
def test_collections_leave_out_what_the_window_consists_of(tmp_path):
    """A hundred thousand objects, which took 60 ms each time, in which the window took no input."""
    script = """
import gc
from PyQt6.QtWidgets import QApplication
import app
QApplication.exec = lambda *_: print(gc.get_freeze_count()) or 0
app.run_app([])
"""
    folders = dict.fromkeys(("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(tmp_path))
    ended = started("-c", script, **folders)
    assert int(ended.stdout.split()[0]) > 50_000, ended.stderr
