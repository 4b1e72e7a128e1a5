"""Names that look like HTML are shown letter by letter, in labels, tooltips and questions."""

import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtWidgets import QApplication, QLabel, QToolTip
from windows import wait

import engine
from app.desktop.dialogs import ask
from app.features.attaching import DiagnosticsView, SecondRobotView, StudyView
from app.features.wrench_view import WrenchView
from app.panels.compare import ComparePanel
from app.panels.ghost import GhostPanel
from app.panels.study import StudyPanel

NAME = "<b>&fall</b>"
WRITTEN = "&lt;b&gt;&amp;fall&lt;/b&gt;"


@pytest.fixture
def arm(opened, tmp_path):
    """A window with a robot whose name, links and file look like HTML."""
    text = engine.find_robot("double_pendulum").read_text()
    for name in ("double_pendulum", "base"):
        text = text.replace(f'"{name}"', f'"{WRITTEN}{name}"')
    (tmp_path / "<b>arm<").mkdir()
    path = tmp_path / "<b>arm<" / "b>.urdf"
    path.write_text(text)
    return opened(path)


def is_plain(label: QLabel) -> bool:
    return label.textFormat() == Qt.TextFormat.PlainText


def test_no_label_of_the_window_reads_a_name_as_html(qtbot, arm):
    arm.features[SecondRobotView].open(arm.workbench.source)
    wait(qtbot, lambda: arm.workbench.robot.newest.second_robot is not None)
    named = [label for label in arm.findChildren(QLabel) if NAME in label.text()]
    assert any(label.text() == f"{NAME}double_pendulum" for label in named)
    assert [label.text() for label in named if not is_plain(label)] == []
    study, findings = arm.features[StudyView].panel, arm.features[DiagnosticsView].panel
    wrenches = arm.features[WrenchView].panel
    for label in (study.title, study.summary, study.note, findings.summary, findings.outcome, wrenches.acting):
        assert is_plain(label)
    for panel, names in ((ComparePanel, ("status", "findings")), (GhostPanel, ("now", "worst", "by", "reading"))):
        made = arm.findChild(panel)
        assert all(is_plain(getattr(made, name)) for name in names)
    assert arm.findChild(StudyPanel) is study


def test_no_tooltip_reads_a_name_as_html(arm):
    QToolTip.showText(QPoint(10, 10), NAME, arm)
    (tip,) = (each for each in QApplication.topLevelWidgets() if each.inherits("QTipLabel"))
    assert tip.text() == NAME
    assert is_plain(tip)


def test_no_question_reads_a_name_as_html(window):
    question = ask(window, f"Replace {NAME}?", {})
    assert question.textFormat() == Qt.TextFormat.PlainText
    question.close()
