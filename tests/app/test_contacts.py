"""Contacts in the window: their markers, the menu entry that shows them, and the residuals shown."""

import numpy as np
import pytest
from test_collision_shapes import choose, pixels
from windows import wait

import engine
from app.features.contact_view import READ, ContactView
from app.features.status import LOW_NOTE, LOW_TIP, Status
from app.gl import contact_marks
from app.gl.contact_marks import LENGTH, MAX_LENGTH, distance, lengths, marks
from app.simulation.batch_spread import BatchSpread
from app.simulation.contacts import contacts_of
from app.simulation.messages import Settings, Snapshot
from app.simulation.running import for_new, running_of

QUADRUPED = engine.ROBOTS / "quadruped.urdf"
UP = np.array([0.0, 0.0, 1.0])
HANGING = """<robot name="hanging"><link name="world"/>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 -0.2"/><geometry><box size="0.1 0.1 0.4"/></geometry></collision></link>
<joint name="hinge" type="continuous"><parent link="world"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
GREEN = 40  # by which a green pixel is greener than red


def made(force, state="stick", size=2.0, weight=100.0):
    """The marks of one contact in the origin of a robot of 2 m and 100 N."""
    return marks(np.zeros((1, 3)), UP[None], np.array(force, float)[None], np.array([state]), weight, size)


def corners(mesh, pose):
    """Return the positions of a copy's vertices."""
    return mesh.vertices @ pose[:3, :3].T + pose[:3, 3]


def test_a_longer_arrow_is_a_larger_force_and_none_is_longer_than_the_robot_is_high():
    share = np.concatenate([[0.0], np.geomspace(1e-3, 1e6, 400)])
    found = lengths(share)
    assert np.all(np.diff(found) > 0)
    assert np.all(found < MAX_LENGTH)
    np.testing.assert_allclose(found[share <= 1], LENGTH * share[share <= 1], rtol=1e-12)
    assert MAX_LENGTH <= 1.0
    assert made([0.0, 0.0, 1e6]).ends[1, 0, 2] == pytest.approx(2.0 * MAX_LENGTH, rel=1e-3)


def test_a_fixed_robot_that_reaches_below_the_ground_is_told_of(qtbot, opened, tmp_path):
    path = tmp_path / "hanging.urdf"
    path.write_text(HANGING)
    window = opened(path)
    note = window.feature(Status).note_label
    assert note.text() == ""
    window.run.ground.trigger()
    wait(qtbot, lambda: note.text() == LOW_NOTE)
    assert note.toolTip() == LOW_TIP
    window.run.ground.trigger()
    wait(qtbot, lambda: note.text() != LOW_NOTE)
    window = opened(engine.find_robot("arm7"))
    assert window.workbench.robot.settings.ground
    assert note.text() != LOW_NOTE


def test_a_short_arrow_keeps_its_shape():
    short = made([0.0, 0.0, 0.1])
    head = corners(contact_marks.HEAD, short.heads[0])
    assert head[:, 2].min() >= 0.5 * short.ends[1, 0, 2] - 1e-9
    assert np.all(np.isfinite(short.rods))


def test_marks_are_apart_by_what_moved_or_changed():
    one = made([0.0, 0.0, 25.0])
    assert distance(one, one) == distance(None, None) == 0.0
    assert distance(one, made([0.0, 0.0, 50.0])) == pytest.approx(0.3)
    assert distance(one, made([0.0, 0.0, 25.0], "slip")) == distance(one, None) == np.inf


def test_the_order_of_contacts_moves_no_mark(rng):
    point, force = rng.standard_normal((5, 3)), 50 * rng.standard_normal((5, 3))
    state = np.array(["stick", "slip", "open", "stick", "slip"])
    normal, turned = np.tile(UP, (5, 1)), rng.permutation(5)
    one = marks(point, normal, force, state, 100.0, 1.0)
    other = marks(point[turned], normal, force[turned], state[turned], 100.0, 1.0)
    assert distance(one, other) == 0.0
    force[2, 0] += 10.0
    assert distance(one, marks(point, normal, force, state, 100.0, 1.0)) > 0.01
    assert distance(one, marks(point, normal, force, np.where(state == "open", "slip", state), 100.0, 1.0)) == np.inf


def settled(steps: int = 300):
    """The quadruped on its feet, as the window simulates it."""
    model = engine.load(QUADRUPED)
    running = running_of(model, for_new(model, Settings(device="cpu", automatic=True)))
    running.advance(steps)
    return running


def test_a_snapshot_has_the_forces_that_carry_the_robot():
    running = settled()
    model, frame = running.simulation.model, Snapshot(running.simulation.model)
    running.collect(frame)
    assert frame.contacts.force.sum(0) == pytest.approx([0, 0, 9.81 * model.mass.sum()], abs=2.0)
    assert list(frame.contacts.state) == ["stick"] * 4
    assert np.abs(frame.contacts.point[:, 2]).max() < 1e-3
    before = frame.contacts.point.copy()
    running.advance(1)
    assert np.array_equal(frame.contacts.point, before)  # a copy, which the simulation does not write


def test_a_robot_that_was_moved_by_hand_touches_nothing_until_it_steps():
    running = settled()
    frame = Snapshot(running.simulation.model)

    def lift(q):
        q[2] += 0.001

    running.place(lift, tuple(range(6)))
    running.collect(frame)
    assert frame.contacts is None
    running.advance(40)
    running.collect(frame)
    assert frame.contacts is not None
    running.reset(running.simulation.model.neutral())
    running.collect(frame)
    assert frame.contacts is None


def test_no_step_between_two_snapshots_hides_its_residual():
    running = settled(1)
    frame = Snapshot(running.simulation.model)
    running.collect(frame)
    alone = settled(1).simulation
    residuals = []
    for _ in range(20):
        alone.step()
        residuals.append(alone.contacts.residual[0])
    running.advance(12)
    running.advance(8)
    running.collect(frame)
    assert frame.residual == max(residuals) > residuals[-1]
    running.collect(frame)
    assert frame.residual == 0.0
    assert contacts_of(engine.Simulation(engine.load(engine.find_robot("arm7"))).contacts, 1e-3, 0) is None


def stand(qtbot, window) -> None:
    """Play until the robot carries its weight, and pause."""
    window.run.play.trigger()
    wait(qtbot, lambda: window.workbench.robot.time > 0.3 and window.workbench.shown.contacts is not None)
    window.run.play.trigger()
    wait(qtbot, lambda: np.isnan(window.workbench.robot.newest.factor))  # the last one, of the pause


def picture(window) -> np.ndarray:
    """(height, width, 3): what the viewport shows, drawn in full."""
    flat = pixels(window)
    return flat.reshape(len(flat), -1, 3)


def seen(window, point: np.ndarray) -> tuple[int, int]:
    """The pixel, (row, column), in which a point of the world is seen."""
    width, height = window.viewport.view().size
    camera = window.viewport.camera
    x, y, _, w = camera.projection(width / height) @ camera.view() @ np.append(point, 1.0)
    return round((0.5 - 0.5 * y / w) * height), round((0.5 + 0.5 * x / w) * width)


def test_the_view_menu_shows_and_hides_the_arrows_under_the_feet(qtbot, opened):
    window = opened(QUADRUPED)
    action = window.features[ContactView].action
    assert action in window.menus.overlays.actions()
    assert action.isChecked()
    wait(qtbot, lambda: window.viewport.reading is None)
    stand(qtbot, window)
    shown = picture(window)
    choose(qtbot, window, action)
    assert not action.isChecked()
    hidden = picture(window)
    turned = (shown[..., 1] - shown[..., 0] > GREEN) & (np.abs(shown - hidden).max(2) > 20)
    points = window.workbench.shown.contacts.point
    assert len(points) == 4
    for point in points:
        row, column = seen(window, point + 0.02 * UP)
        assert turned[row - 4 : row + 5, column - 4 : column + 5].any()
    assert not turned[: turned.shape[0] // 3].any()
    choose(qtbot, window, action)
    assert np.abs(picture(window) - shown).max() < 20


def test_marks_do_not_hide_a_small_body(qtbot, opened):
    """Discs of 30 mm, as of the robot's size, covered the sides of a cube of 50 mm."""
    place = np.eye(4)
    place[:3, 3] = (0.4, 0.2, 0.0251)
    cube = engine.free_body("box", (0.05, 0.05, 0.05), 0.1, "cube")
    window = opened(engine.compose(engine.load(engine.find_robot("arm7")), engine.Part(cube, place, "cube/")))
    window.workbench.configuring.set_ground(True)
    stand(qtbot, window)
    contacts, marks = window.workbench.shown.contacts, window.viewport.view().marks
    assert set(contacts.link) == {window.workbench.robot.model.link_names.index("cube/cube")}
    discs, pins = np.split(np.linalg.norm(marks.rods[: 2 * len(contacts.link), :3, 0], axis=1), 2)
    assert 0.004 < discs.max() < 0.01
    assert pins.max() < 0.0015


def test_without_ground_there_are_none(qtbot, opened):
    window = opened(QUADRUPED)
    stand(qtbot, window)
    assert window.viewport.view().marks is not None
    window.run.ground.trigger()
    wait(qtbot, lambda: window.workbench.shown.contacts is None)
    window.run.play.trigger()
    time = window.workbench.robot.time
    wait(qtbot, lambda: window.workbench.robot.time > time + 0.05)
    assert window.viewport.view().marks is None
    window.run.play.trigger()
    shown = picture(window)
    choose(qtbot, window, window.features[ContactView].action)
    assert np.abs(picture(window) - shown).max() < 20


def test_in_a_batch_they_stand_at_the_robot_that_is_looked_at(qtbot, opened):
    window = opened(QUADRUPED)
    window.workbench.configuring.set_spread(BatchSpread(robots=4))
    window.workbench.select_robot(3)
    stand(qtbot, window)
    viewport = window.viewport
    assert len(viewport.view().batch) == 4
    offset = viewport.view().batch.offsets[3]
    assert np.linalg.norm(offset) > 0.1
    assert np.allclose(viewport.view().marks.ends[0], window.workbench.shown.contacts.point + offset)
    assert np.linalg.norm(window.workbench.shown.contacts.point, axis=1).max() < 1.0


def test_the_choice_is_remembered(qtbot, make_window):
    window = make_window()
    choose(qtbot, window, window.features[ContactView].action)
    window.close()
    assert not make_window().features[ContactView].action.isChecked()


def test_a_residual_above_the_tolerance_is_told_for_a_while(opened, monkeypatch):
    window = opened(QUADRUPED)
    now = [100.0]
    monkeypatch.setattr("app.features.contact_view.time.perf_counter", lambda: now[0])
    frame = Snapshot(window.workbench.robot.model)
    frame.time, frame.residual = 1.0, 0.5 * engine.CONTACT_TOLERANCE
    window.features[ContactView].show(frame)
    assert window.features[ContactView].label.text() == ""
    frame.residual = 3e-6
    window.features[ContactView].show(frame)
    assert window.features[ContactView].label.text() == "contact residual 3e-06"
    assert "3.0e-06" in window.features[ContactView].label.toolTip()
    frame.residual = 0.0
    now[0] += 0.5 * READ
    window.features[ContactView].show(frame)
    assert window.features[ContactView].label.text() != ""
    now[0] += READ
    window.features[ContactView].show(frame)
    assert window.features[ContactView].label.text() == ""
