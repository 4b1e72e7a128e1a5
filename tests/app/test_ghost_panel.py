"""What the ghost's panel shows while there is no ghost."""

from app.panels.ghost import COMING, GhostPanel


def test_a_ghost_that_is_still_to_come_is_told(qtbot):
    panel = GhostPanel()
    qtbot.addWidget(panel)
    panel.show_state(None, (), COMING)
    assert panel.now.text() == "–"  # none was asked for
    panel.on.click()
    panel.show_state(None, (), COMING)
    assert panel.now.text() == COMING
    panel.show_state(None, ())
    assert panel.now.text() == "–"
    panel.show_state(None, (), COMING)
    panel.refusal.setText("there is no GPU")
    panel.show_state(None, (), COMING)
    assert panel.now.text() == "–"
