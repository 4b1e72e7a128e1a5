"""Simulation › Pose a link: a pose in numbers, to which the joints follow."""

import numpy as np
from PyQt6.QtWidgets import QLabel
from windows import type_in, wait

import engine
from app.features.typed_pose import HELP, TypedPose
from app.features.undo_view import UndoView


def place(window, link: int) -> np.ndarray:
    """(4, 4): where a link is in the newest frame."""
    return np.asarray(engine.link_poses(window.workbench.robot.model, window.workbench.robot.newest.q)[link])


def test_the_hand_goes_where_it_is_typed_and_keeps_its_orientation(qtbot, opened):
    window = opened(engine.find_robot("arm7"))
    bench, view = window.workbench, window.features[TypedPose]
    wait(qtbot, lambda: bench.robot.newest is not None)
    bench.posing.pose(np.array([0.2, 0.5, 0.1, 1.0, 0.2, 0.6, 0.0]))
    wait(qtbot, lambda: bench.robot.newest.q[1] == 0.5)
    hand = bench.robot.model.link_names.index("hand")
    window.selection.choose(hand)
    view.action.trigger()
    form, before = view.form, place(window, hand)
    wait(qtbot, form.isVisible)
    assert form.link.currentText() == "hand"
    shown = [box.value() for box in form.position]
    np.testing.assert_allclose(shown, 1e3 * before[:3, 3], atol=0.006)
    for box, value in zip(form.position, (shown[0] - 60, shown[1] + 40, shown[2] - 80), strict=True):
        type_in(qtbot, box, f"{value:.2f}")
        assert form.outcome.text() == "The link is there."
    wait(qtbot, lambda: np.allclose(1e3 * place(window, hand)[:3, 3], [box.value() for box in form.position], atol=0.6))
    np.testing.assert_allclose(place(window, hand)[:3, :3], before[:3, :3], atol=2e-3)
    assert window.features[UndoView].stack.undoText() == "Pose hand"
    wait(qtbot, lambda: bench.robot.placed is None)
    type_in(qtbot, form.position[0], "5000")
    assert form.outcome.text().startswith("As near as its joints can come: ")
    wait(qtbot, lambda: bench.robot.placed is None)
    assert form.position[0].value() == 5000, "what was typed stays"
    window.features[UndoView].undo.trigger()
    wait(qtbot, lambda: abs(form.position[0].value() - shown[0] + 60) < 1)
    form.turned.click()
    type_in(qtbot, form.position[2], f"{shown[2] - 200:.2f}")
    assert form.outcome.text() == "The link is there."
    assert not form.angles[0].isEnabled()
    window.run.play.trigger()
    wait(qtbot, lambda: not form.position[0].isEnabled())
    assert "Pause the simulation" in form.outcome.text()
    window.selection.choose(0)
    assert form.outcome.text() == "No joint moves this link"


def test_the_form_of_a_links_pose_has_its_help_in_full(qtbot, arm):
    arm.resize(1000, 650)
    arm.feature(TypedPose).action.trigger()
    form = arm.feature(TypedPose).form
    wait(qtbot, form.isVisible)
    (text,) = (label for label in form.findChildren(QLabel) if label.text() == HELP)
    wait(qtbot, lambda: text.height() >= text.heightForWidth(text.width()))
