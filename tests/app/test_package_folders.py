"""Folders for packages of meshes: given at the start, added and removed in the menu."""

from pathlib import Path

import pytest
import trimesh
from PyQt6.QtCore import QSettings
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QFileDialog
from windows import wait, wait_loaded

import app
import engine
import main
from app.desktop.menus import PackageMenu
from app.features.diagnostics_view import DiagnosticsView
from app.window import Window
from app.workbench import Workbench

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
URDF = f"""<robot name="hand">
  <link name="base">{INERTIAL}
    <visual><geometry><mesh filename="package://hand/meshes/palm.stl"/></geometry></visual></link>
  <link name="finger">{INERTIAL}</link>
  <joint name="knuckle" type="continuous"><parent link="base"/><child link="finger"/><axis xyz="0 1 0"/></joint>
</robot>
"""


@pytest.fixture
def robot(tmp_path, monkeypatch) -> Path:
    """A URDF whose mesh lies in a package elsewhere."""
    for variable in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(variable, raising=False)
    path = tmp_path / "robot" / "hand.urdf"
    path.parent.mkdir()
    path.write_text(URDF, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    """The folder that holds the package."""
    meshes = tmp_path / "src & more" / "hand" / "meshes"
    meshes.mkdir(parents=True)
    trimesh.creation.box((0.2, 0.1, 0.05)).export(meshes / "palm.stl")
    return meshes.parent.parent


def entries(window: Window) -> list[QAction]:
    window.files.package_menu.aboutToShow.emit()
    return [action for action in window.files.package_menu.actions() if not action.isSeparator()]


def add(qtbot, window: Window, monkeypatch, folder: Path | str) -> None:
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    entries(window)[0].trigger()
    wait_loaded(qtbot, window)


def found(window: Window) -> bool:
    return Path(str(window.workbench.robot.model.visuals[0].mesh)).is_file()


def test_a_folder_is_added_and_the_robot_read_again(qtbot, opened, robot, folder, monkeypatch):
    window = opened(robot)
    assert not found(window)
    fix = window.feature(DiagnosticsView).panel.diagnostics[0].fix
    assert fix.startswith("add the folder of hand in File › Package folders, by --package-dir")
    assert [action.text() for action in entries(window)] == ["&Add…", "No folders yet"]
    add(qtbot, window, monkeypatch, folder)
    assert found(window)
    assert window.feature(DiagnosticsView).panel.count == 0
    assert entries(window)[1].text() == str(folder).replace("&", "&&")
    window.run.floating.trigger()
    wait_loaded(qtbot, window)
    assert window.workbench.robot.floats
    assert found(window)


def test_an_added_folder_lasts_until_a_click_forgets_it(qtbot, opened, make_window, robot, folder, monkeypatch):
    window = opened(robot)
    add(qtbot, window, monkeypatch, folder)
    window.close()
    again = make_window()
    again.open(robot)
    wait_loaded(qtbot, again)
    assert found(again)
    listed = entries(again)[1]
    assert again.files.package_menu.toolTipsVisible()
    assert "Click to remove it" in listed.toolTip()
    listed.trigger()
    wait_loaded(qtbot, again)
    assert not found(again)
    assert make_window().files.package_menu.folders == ()


def test_no_folder_and_one_that_is_there_change_nothing(qtbot, opened, robot, folder, monkeypatch):
    window = opened(robot)
    add(qtbot, window, monkeypatch, folder)
    model = window.workbench.robot.model
    for nothing_new in ("", folder):
        add(qtbot, window, monkeypatch, nothing_new)
    assert window.workbench.robot.model is model
    assert window.files.package_menu.folders == (str(folder),)


def test_what_is_given_at_the_start_serves_this_once(qtbot, window, tmp_path, monkeypatch):
    settings = QSettings(str(tmp_path / "menu.ini"), QSettings.Format.IniFormat)
    monkeypatch.chdir(tmp_path)
    menu = PackageMenu(window, settings, ["given"])
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path / "added"))
    menu.aboutToShow.emit()
    menu.actions()[0].trigger()
    assert menu.folders == (str(tmp_path / "given"), str(tmp_path / "added"))
    assert PackageMenu(window, settings).folders == (str(tmp_path / "added"),)
    menu.aboutToShow.emit()
    given = next(action for action in menu.actions() if action.text() == str(tmp_path / "given"))
    with qtbot.waitSignal(menu.changed):
        given.trigger()
    assert menu.folders == (str(tmp_path / "added"),)


def test_a_refused_file_is_the_one_that_is_read_again(qtbot, opened, robot, folder):
    window = opened()
    robot.write_text("<robot/>", encoding="utf-8")
    window.open(robot)
    wait(qtbot, window.docks["Diagnostics"].isVisible)
    robot.write_text(URDF, encoding="utf-8")
    window.workbench.set_package_dirs([str(folder)])
    wait(qtbot, lambda: window.workbench.robot.model.name == "hand")
    assert found(window)


def test_a_ready_model_is_not_read_again():
    bench = Workbench()
    model = engine.chain(2)
    bench.open(model)
    bench.set_package_dirs(["/somewhere"])
    assert bench.opening.loading == model.name
    while bench.opening.loading:
        bench.poll()
    assert bench.robot.model is model
    bench.close()


@pytest.mark.parametrize(
    ("words", "requested"),
    [
        (["--package-dir", "a", "arm7"], ("arm7", ["a"], False, "")),
        (["arm7", "--package-dir", "a", "--package-dir=b"], ("arm7", ["a", "b"], False, "")),
        (["--package-dir=a"], (None, ["a"], False, "")),
        (["--trust-xacro", "robot.xacro"], ("robot.xacro", [], True, "")),
    ],
)
def test_the_option_reaches_the_window(words, requested, monkeypatch):
    shown = []
    monkeypatch.setattr(app, "show_window", lambda *requested: shown.append(requested) or 0)
    assert main.main(words) == 0
    assert shown == [requested]
