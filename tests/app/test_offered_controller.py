"""The controller that a session names is offered by a button, and runs only once that is clicked."""

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QWidget
from windows import wait, wait_loaded

import engine
from app.features.attaching import ControllerView
from app.features.floating_base import HANGS
from app.features.offered_controller import OfferedController
from app.features.sessions import Sessions
from app.picture.note import PictureButton

ROBOT = engine.find_robot("double_pendulum")


@pytest.fixture
def saved(qtbot, opened, tmp_path):
    """A session with a controller, and that file."""
    file, path = tmp_path / "trot.py", tmp_path / "gait.catena"
    file.write_text("def control(t, q, v):\n    return [1.0, 0.0]\n", encoding="utf-8")
    window = opened(ROBOT)
    window.features[ControllerView].load(str(file))
    wait(qtbot, lambda: bool(window.workbench.controller.path))
    window.features[Sessions].save(str(path))
    window.close()
    return path, file


def test_a_click_loads_it(qtbot, saved, make_window):
    path, file = saved
    window = make_window()
    button, controller = window.features[OfferedController].button, window.workbench.controller
    window.features[Sessions].open(str(path))
    wait(qtbot, button.isVisible)
    wait_loaded(qtbot, window)
    assert (button.text(), controller.path) == ("Load trot.py", "")
    assert button.toolTip().startswith(f"{file}: the controller of the session")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: controller.path == str(file))
    assert button.isHidden()


def test_it_leaves_room_for_the_button_of_a_robot_that_is_fixed_in_the_air(qtbot):
    viewport = QWidget()
    qtbot.addWidget(viewport)
    offer, advice = PictureButton(viewport, "Load controller.py"), PictureButton(viewport, HANGS, right=True)
    viewport.resize(567, 470)  # as in a window of 1000 × 650
    viewport.show()
    for button in (offer, advice):
        button.place()
        button.show()
        assert viewport.rect().contains(button.geometry())
    assert not offer.geometry().intersects(advice.geometry())
    viewport.resize(800, 300)
    wait(qtbot, lambda: all(viewport.rect().contains(button.geometry()) for button in (offer, advice)))


def test_it_is_not_offered_with_another_robot_nor_without_its_file(qtbot, saved, make_window):
    path, file = saved
    window = make_window()
    button = window.features[OfferedController].button
    window.features[Sessions].open(str(path))
    wait(qtbot, button.isVisible)
    window.open(engine.find_robot("pendulum"))
    wait(qtbot, button.isHidden)
    file.unlink()
    window.features[Sessions].open(str(path))
    wait(qtbot, lambda: window.workbench.robot.model.name == "double_pendulum")
    wait_loaded(qtbot, window)
    assert button.isHidden()
