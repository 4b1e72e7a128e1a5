"""The diagnostics panel's repaired copy."""

from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from windows import name_file, wait

import engine
from app.panels.diagnostics import DiagnosticsPanel

SWING = """<?xml version="0.0"?>
<robot name="swing">
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="{}" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><origin xyz="0, 0, 1"/></joint>
</robot>
"""


@pytest.fixture
def panel(qtbot):
    panel = DiagnosticsPanel()
    qtbot.addWidget(panel)
    panel.show()
    yield panel
    panel.close_thread()


def show(panel: DiagnosticsPanel, path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    panel.show_file(str(path), path.name, engine.check(path))


def press_repair(qtbot, monkeypatch, panel: DiagnosticsPanel, copy: Path) -> None:
    """Press the button, and choose that name."""
    name_file(monkeypatch, copy)
    qtbot.mouseClick(panel.repair_button, Qt.MouseButton.LeftButton)
    wait(qtbot, panel.repair_button.isEnabled)


def test_the_button_writes_a_copy_and_offers_to_open_it(qtbot, monkeypatch, panel, tmp_path):
    path, copy = tmp_path / "swing.urdf", tmp_path / "copy.urdf"
    show(panel, path, SWING.format(1))
    assert panel.summary.text() == "swing.urdf: 2 warnings"
    assert not panel.open_button.isVisible()
    press_repair(qtbot, monkeypatch, panel, copy)
    assert panel.outcome.text() == f"Written: {copy}, with 2 repairs. No problems remain."
    assert copy.read_text() == SWING.format(1).replace("0.0", "1.0").replace("0, 0, 1", "0 0 1")
    assert path.read_text() == SWING.format(1)
    with qtbot.waitSignal(panel.open_copy) as opened:
        qtbot.mouseClick(panel.open_button, Qt.MouseButton.LeftButton)
    assert opened.args == [str(copy)]


def test_what_is_left_is_counted_and_the_original_is_never_written(qtbot, monkeypatch, panel, tmp_path):
    path = tmp_path / "swing.urdf"
    show(panel, path, SWING.format("3"))
    press_repair(qtbot, monkeypatch, panel, tmp_path / "copy.urdf")
    assert panel.outcome.text().endswith("with 2 repairs. 1 warning is left, to be fixed by hand.")
    press_repair(qtbot, monkeypatch, panel, path)
    assert "is the file itself" in panel.outcome.text()
    assert not panel.open_button.isVisible()
    assert path.read_text() == SWING.format("3")


def test_a_fault_of_the_program_is_told_and_the_button_is_back(qtbot, monkeypatch, panel, tmp_path):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a fault made for this test")

    monkeypatch.setattr(engine, "repair", broken)
    show(panel, tmp_path / "swing.urdf", SWING.format(1))
    press_repair(qtbot, monkeypatch, panel, tmp_path / "copy.urdf")
    assert "was not written" in panel.outcome.text()
    assert "a fault made for this test" in panel.outcome.text()
    assert not panel.open_button.isVisible()


def test_a_file_without_anything_to_repair_has_no_button(panel, tmp_path):
    show(panel, tmp_path / "swing.urdf", SWING.format("3").replace("0.0", "1.0").replace("0, 0, 1", "0 0 1"))
    assert panel.summary.text() == "swing.urdf: 1 warning"
    assert not panel.repair_button.isVisible()
