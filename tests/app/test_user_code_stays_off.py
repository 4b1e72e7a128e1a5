"""User code runs only when the user loads it: nothing that a robot, a session, a run or settings name is executed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import QSettings
from test_damaged_settings import SETTINGS
from windows import wait, wait_loaded

import engine
from app.features.attaching import DiagnosticsView, Sessions
from app.window import Window
from engine import cli

ROOT = Path(__file__).parents[2]
PENDULUM = engine.find_robot("double_pendulum")
TRAP = """open({marker!r}, "w").close()
PERIOD = 0.01
def control(t, q, v):
    return [0.0, 0.0]
"""


class Pickled:
    """Touches a file where it is unpickled."""

    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def marker(tmp_path):
    """A file that exists once the trap has run; it must not exist at the end."""
    path = tmp_path / "ran"
    yield path
    assert not path.exists()


@pytest.fixture
def trap(tmp_path, marker) -> Path:
    path = tmp_path / "trap.py"
    path.write_text(TRAP.format(marker=str(marker)))
    return path


def play(qtbot, window) -> None:
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.playing and window.workbench.robot.time > 0.05)
    window.close()


def test_a_session_that_names_a_controller(qtbot, opened, make_window, trap, tmp_path):
    window = opened(PENDULUM)
    path = tmp_path / "session.catena"
    session = window.features[Sessions].session()
    for name in ("controller", "algorithm", "module", "script"):
        session[name] = session["settings"][name] = session["robot"][name] = str(trap)
    session["settings"]["algorithm"] = f"{trap}:control"
    path.write_text(json.dumps(session))
    window = make_window()
    window.open(path)
    wait(qtbot, lambda: window.workbench.robot.model is not None)
    wait_loaded(qtbot, window)
    assert window.workbench.controller.path == ""
    play(qtbot, window)


def test_a_run_that_was_made_with_a_controller(qtbot, window, trap, marker, tmp_path, capsys):
    path = tmp_path / "run.npz"
    words = ["run", "double_pendulum", "--seconds", "0.1", "--controller", str(trap), "--out", str(path)]
    assert cli.main(words) == 0
    marker.unlink()  # which was asked for
    with np.load(path) as found:
        assert str(trap) in str(found["settings"])
    assert cli.main(["repeat", str(path)]) == 0
    capsys.readouterr()
    window.open(path)
    wait(qtbot, lambda: window.workbench.replay.active)
    window.workbench.branch()
    wait(qtbot, lambda: not window.workbench.replay.active)
    assert window.workbench.controller.path == ""
    play(qtbot, window)


@pytest.mark.parametrize("suffix", [".urdf", ".urdf.xacro", ".xml"])
def test_a_robot_with_plugins_and_expressions(qtbot, window, trap, marker, tmp_path, suffix):
    text = PENDULUM.read_text()
    more = f"""<gazebo><plugin name="trap" filename="{trap}"/></gazebo><plugin filename="{trap}"/>
<?python exec(open("{trap}").read())?><script>{trap}</script><transmission name="t"><type>{trap}</type></transmission>
</robot>"""
    path = tmp_path / f"robot{suffix}"
    path.write_text(text.replace("</robot>", more))
    window.open(path)
    wait_loaded(qtbot, window)
    panel, robot = window.feature(DiagnosticsView).panel, window.workbench.robot
    wait(qtbot, lambda: robot.model is not None or bool(panel.diagnostics))
    expressions = (
        f"__import__('os').mkdir('{marker}')", f"open('{marker}','w')", f"load_yaml('{trap}')",
        f"().__class__.__base__.__subclasses__()[0].__init__.__globals__['mkdir']('{marker}')",
    )  # fmt: skip
    for expression in expressions:
        path.write_text(text.replace('mass value="', f'mass value="${{{expression}}}', 1))
        window.open(path)
        wait(qtbot, lambda: not window.workbench.opening.loading)
        wait_loaded(qtbot, window)
        assert any(each.severity == "error" for each in window.feature(DiagnosticsView).panel.diagnostics), expression


def test_modules_that_lie_beside_a_robot(trap, marker, tmp_path):
    folder = tmp_path / "robot"
    folder.mkdir()
    for name in ("numpy", "json", "engine", "app", "xacrodoc", "trimesh", "sitecustomize", "usercustomize", "cupy"):
        (folder / f"{name}.py").write_text(trap.read_text())
    for name in ("robot.urdf", "robot.urdf.xacro"):
        (folder / name).write_text(PENDULUM.read_text())
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    main = str(ROOT / "main.py")
    for words in (["info", "robot.urdf.xacro"], ["run", "robot.urdf", "--seconds", "0.01"]):
        command = [sys.executable, main, *words]
        done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert not marker.exists(), words


@pytest.mark.parametrize("name", ["run.npz", "session.catena.npz"])
def test_pickles_in_the_place_of_a_run(qtbot, opened, marker, tmp_path, name):
    window = opened(PENDULUM)
    path = tmp_path / name
    arrays = {key: np.array([Pickled(marker)], object) for key in ("time", "q", "v", "tau", "settings", "setup")}
    np.savez(path, **arrays, allow_pickle=True)
    if name.startswith("session"):
        session = window.features[Sessions].session() | {"recording": name}
        path = tmp_path / "session.catena"
        path.write_text(json.dumps(session))
    window.open(path)
    wait_loaded(qtbot, window)
    panel, bar = window.feature(DiagnosticsView).panel, window.statusBar()
    wait(qtbot, lambda: bool(panel.diagnostics) or bool(bar.currentMessage()))
    assert window.workbench.robot.model.name == "double_pendulum"
    assert not marker.exists()


def test_pickles_in_the_settings(qtbot, marker, tmp_path):
    path = str(tmp_path / "settings.ini")
    settings = QSettings(path, QSettings.Format.IniFormat)
    for key in SETTINGS:
        settings.setValue(key, Pickled(marker))
    settings.sync()
    assert "PyQt_PyObject" in Path(path).read_text()
    window = Window(QSettings(path, QSettings.Format.IniFormat))
    window.open(PENDULUM)
    wait_loaded(qtbot, window)
    window.close()
    assert not marker.exists()
