"""The Diagnostics panel: whole sentences, however narrow it is."""

from __future__ import annotations

from PyQt6.QtCore import QRect, Qt
from PyQt6.QtWidgets import QApplication, QTreeWidget
from windows import wait

import engine
from app.panels.diagnostics import DiagnosticsPanel


def shown_in_full(tree: QTreeWidget) -> bool:
    """Whether every cell is wide and high enough for all its words."""
    for row in range(tree.topLevelItemCount()):
        item = tree.topLevelItem(row)
        for column in range(tree.columnCount()):
            cell = tree.visualItemRect(item)
            width = tree.columnWidth(column) - 12
            words = tree.fontMetrics().boundingRect(
                QRect(0, 0, width, 9999), Qt.TextFlag.TextWordWrap, item.text(column)
            )
            if words.height() > cell.height() or (column and words.width() > width):
                return False
    return True


def test_faults_and_cures_are_read_in_full_however_narrow(qtbot):
    panel = DiagnosticsPanel()
    qtbot.addWidget(panel)
    fault = "mesh package://a_package_of_a_long_name/meshes/visual/left_hand/finger_tip_simplified.dae is not found"
    cure = "add the folder of a_package_of_a_long_name in File › Package folders, or by --package-dir"
    panel.show_file("arm.urdf", "arm.urdf", [engine.Diagnostic("warning", 27, "<mesh> of link 'tip'", fault, cure)])
    panel.show()
    item = panel.list.topLevelItem(0)
    for width in (1200, 700, 520):
        panel.resize(width, 300)
        wait(qtbot, lambda: shown_in_full(panel.list))
    assert panel.list.visualItemRect(item).height() > 3 * panel.list.fontMetrics().height()
    assert item.toolTip(2) == fault
    panel.copy()
    assert fault in QApplication.clipboard().text()
