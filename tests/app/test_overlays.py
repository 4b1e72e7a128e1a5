"""Overlays and views of a robot: selected in the View menu, checked in pictures."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import QSettings, Qt
from PyQt6.QtGui import QImage, QPainter
from PyQt6.QtWidgets import QInputDialog
from test_collision_shapes import choose, pixels
from windows import screen_of, wait

import engine
from app.features.attaching import BatchView, CameraViews, RobotView, UndoView
from app.features.overlay_view import ENTRIES, OverlayView
from app.gl import context
from app.gl.camera import Camera
from app.gl.extras import Appearance, Extras, Label
from app.gl.glyphs import POINTS, Explainer, Trails
from app.gl.picking import ray
from app.gl.scene import Scene, with_ghost
from app.gl.view import View
from app.link_extents import ends, link_points, world_points
from app.picture import labels
from app.picture.crowd import SELECTED_COLOR
from app.picture.labels import LabelLayer
from app.simulation.batch_spread import BatchSpread

ARM = engine.ROBOTS / "arm7.urdf"


def test_every_entry_shows_and_hides_what_it_says(qtbot, arm):
    plain = pixels(arm)
    others = "trails", "names", "support"  # each by a test of its own
    for kind in (*(kind for kind, *_ in ENTRIES if kind not in others), "through"):
        action = arm.features[OverlayView].actions[kind]
        choose(qtbot, arm, action)
        assert action.isChecked()
        assert (np.abs(pixels(arm) - plain) > 30).mean() > 2e-4, kind
        choose(qtbot, arm, action)
    assert np.abs(pixels(arm) - plain).max() < 20, "all are off again"


def test_wireframe_shows_the_ground_through_the_robot(qtbot, arm):
    plain = pixels(arm)
    choose(qtbot, arm, arm.features[OverlayView].actions["wireframe"])
    robot = plain.max(axis=1) > 0
    assert robot.any()
    assert (np.abs(pixels(arm) - plain) > 30).mean() > 0.01


def test_names_stand_over_the_picture_and_in_what_is_taken_of_it(qtbot, arm):
    plain = pixels(arm)
    choose(qtbot, arm, arm.features[OverlayView].actions["names"])
    assert (np.abs(pixels(arm) - plain) > 60).mean() > 1e-3
    wait(qtbot, lambda: arm.viewport.findChild(LabelLayer).isVisible())
    found = arm.viewport.view().extras.labels
    assert [name for name, *_ in found] == list(arm.workbench.robot.model.link_names)
    choose(qtbot, arm, arm.features[OverlayView].actions["names"])
    wait(qtbot, lambda: not arm.viewport.findChild(LabelLayer).isVisible())


def test_of_names_that_would_cover_each_other_the_nearest_is_written(arm, monkeypatch):
    view, written = arm.viewport.view(), []
    eye, target = view.camera.eye, view.camera.target
    monkeypatch.setattr(labels, "_write", lambda *given: written.append(given[1:4:2]))

    def told(*given: Label) -> list[str]:
        written.clear()
        picture = QImage(*view.size, QImage.Format.Format_RGB32)
        painter = QPainter(picture)
        labels.paint(painter, replace(view, extras=Extras(labels=given)), 1.0, arm.font())
        painter.end()
        return [text for text, _ in written]

    def along(share: float, **how: bool) -> Label:
        """A label on the line of sight, at that share of the target's distance."""
        return Label(f"at {share}", tuple(eye + share * (target - eye)), **how)

    far, near = along(1.2, is_name=True), along(0.8, is_name=True)
    assert told(far, near) == ["at 0.8"]
    assert told(far, near, along(1.1)) == ["at 1.1"]  # a number
    assert told(far, near, along(1.1), along(1.3, chosen=True)) == ["at 1.3"]
    other = near._replace(text="beside", place=tuple(target + 0.5 * np.array(view.camera.axes()[0])))
    assert told(far, near, other) == ["at 0.8", "beside"]
    boxes = [box for _, box in written]
    assert not boxes[0].intersects(boxes[1])


def test_trails_follow_the_tips_or_the_chosen_link_and_end_with_a_reset(qtbot, arm):
    overlays = arm.viewport.overlays
    choose(qtbot, arm, arm.features[OverlayView].actions["trails"])
    assert overlays.trails.links == (len(arm.workbench.robot.model.link_names) - 1,)
    arm.run.hold.trigger()
    arm.run.play.trigger()
    wait(qtbot, lambda: "rod" in overlays.trails.glyphs())
    arm.selection.choose(6)
    assert overlays.trails.links == (6,)
    wait(qtbot, lambda: "rod" in overlays.trails.glyphs())
    arm.run.play.trigger()
    arm.run.reset.trigger()
    wait(qtbot, lambda: "rod" not in overlays.trails.glyphs())


def test_the_choice_is_remembered(qtbot, make_window):
    window = make_window()
    choose(qtbot, window, window.features[OverlayView].actions["axes"])
    window.close()
    again = make_window()
    checked = [kind for kind, action in again.features[OverlayView].actions.items() if action.isChecked()]
    assert checked == ["axes"]
    assert again.viewport.overlays.kinds == {"axes"}


def test_nothing_is_sent_while_all_is_off(arm):
    extras = arm.viewport.view().extras
    assert extras.glyphs == {}
    assert extras.labels == ()
    assert extras.appearance.solid
    assert arm.viewport.view().extras is extras


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_glyphs_are_as_large_as_the_robot(scale):
    model = engine.chain(7)
    explainer = Explainer(model, scale)
    poses = np.array(engine.link_poses(model, model.neutral()))
    found = explainer.glyphs(("frames",), poses)["rod"].poses
    length = np.linalg.norm(found[:, :3, 2], axis=1)
    assert np.all((length > 0.029 * scale) & (length < 0.141 * scale))


def test_in_a_batch_they_stand_at_the_robot_that_is_looked_at(qtbot, arm):
    actions = arm.features[OverlayView].actions
    choose(qtbot, arm, actions["frames"])
    choose(qtbot, arm, actions["trails"])
    arm.workbench.configuring.set_spread(BatchSpread(robots=4, pose=0.1))
    arm.workbench.select_robot(3)
    arm.run.play.trigger()
    overlays = arm.viewport.overlays
    wait(qtbot, lambda: arm.workbench.robot.newest.robot == 3 and "rod" in overlays.trails.glyphs())
    arm.run.play.trigger()
    offset = arm.viewport.view().batch.offsets[3]
    assert np.linalg.norm(offset) > 0.1
    rods = arm.viewport.view().extras.glyphs["rod"].poses
    links = len(arm.workbench.robot.model.link_names)
    # The middles of the frames' three axes, then of the trails' pieces.
    origins = arm.viewport.view().poses[:, :3, 3] + offset
    assert np.abs(rods[:links, :3, 3] - origins).max() < 0.1
    assert np.linalg.norm(rods[3 * links :, :3, 3] - offset, axis=1).max() < 2.0
    arm.workbench.select_robot(1)
    wait(qtbot, lambda: arm.workbench.robot.newest.robot == 1)
    assert overlays.trails.glyphs() == {}


def robots_named(window) -> list[str]:
    """The names of robots in the picture."""
    return [label.text for label in window.viewport.view().extras.labels if not label.is_name]


def test_the_robot_of_a_batch_that_is_looked_at_is_named_and_orange(qtbot, arm):
    overlays, bench = arm.viewport.overlays, arm.workbench
    assert robots_named(arm) == []
    bench.configuring.set_spread(BatchSpread(4, 0.1))
    wait(qtbot, lambda: robots_named(arm) == ["robot 0"])
    bench.select_robot(2)
    wait(qtbot, lambda: robots_named(arm) == ["robot 2"])
    frame = bench.robot.newest
    (label,) = overlays.extras(frame.link_poses.copy(), np.zeros(3)).labels
    assert label[0] == "robot 2"
    assert label[1][2] > frame.link_poses[:, 2, 3].max()
    tints = arm.feature(BatchView).batch_of(frame).tints
    np.testing.assert_allclose(tints[2, :3], SELECTED_COLOR, atol=1e-6)
    bench.configuring.set_spread(BatchSpread())
    wait(qtbot, lambda: robots_named(arm) == [])


def test_trails_are_bounded():
    trails = Trails([0], 1.0, np.zeros((1, 3)))
    poses = np.eye(4)[None].repeat(1, 0)
    for k in range(3 * POINTS):
        poses[0, 0, 3] = 0.01 * k
        trails.add(1e-3 * k, poses)
    assert len(trails.glyphs()["rod"].poses) == POINTS - 1


def test_points_of_a_link_are_those_of_the_box_with_its_inertia(tmp_path):
    a, b, c = 0.1, 0.2, 0.3  # half lengths
    text = f"""<robot name="box"><link name="base"/><link name="bar"><inertial><origin xyz="0 0 {c}"/><mass value="2"/>
      <inertia ixx="{2 * (b * b + c * c) / 3}" iyy="{2 * (a * a + c * c) / 3}" izz="{2 * (a * a + b * b) / 3}"
       ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/></joint></robot>"""
    path = tmp_path / "box.urdf"
    path.write_text(text, "utf-8")
    model = engine.load(path)
    points = link_points(model)
    assert not points[0].any()
    np.testing.assert_allclose(ends(points)[1], (0, 0, 2 * c), atol=1e-9)
    here, there = (engine.link_poses(model, [angle]) for angle in (0.0, 0.1))
    apart = np.linalg.norm(world_points(there, points) - world_points(here, points), axis=2).max(1)
    np.testing.assert_allclose(apart, (0, 2 * np.sin(0.05) * 2 * c), atol=1e-9)


def test_a_ghost_stands_beside_the_robot_in_every_mesh():
    model = engine.load(ARM)
    content = Scene(model).content
    links = len(model.link_names)
    both = with_ghost(content, links)
    start = both.instances.start
    for mesh in range(len(content.meshes)):
        here = both.instances.link[start[mesh] : start[mesh + 1]]
        own = content.instances.link[content.instances.start[mesh] : content.instances.start[mesh + 1]]
        assert sorted(here) == sorted([*own, *(own + links)])
    color, _ = Appearance(ghost=0.4, opacity=0.5).colors(both)
    ghost = both.instances.link >= links
    np.testing.assert_allclose(color[ghost, 3], 0.4 * both.instances.color[ghost, 3])
    np.testing.assert_allclose(color[~ghost, 3], 0.5 * both.instances.color[~ghost, 3])


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("parallel", [False, True])
def test_a_ghost_that_coincides_with_the_robot_leaves_no_speckles(rng, parallel):
    from app.gl.renderer import Renderer

    model, scene = engine.load(ARM), Scene(engine.load(ARM))
    links, poses = len(model.link_names), np.asarray(engine.link_poses(model, model.neutral()), float)
    camera = Camera(parallel=parallel)
    camera.fit(*scene.bounds(poses))
    near, far = poses.copy(), poses.copy()
    near[:, :3, 3] += rng.uniform(-1e-6, 1e-6, (links, 3))
    far[:, 2, 3] += 0.3
    red = np.tile(np.float32([1, 0, 0, 1]), (2 * links, 1)) * (np.arange(2 * links) >= links)[:, None]
    pictures = []
    with context.offscreen():
        renderer = Renderer()
        renderer.initialize()
        for ghost in (poses, near, far):
            both, extras = np.concatenate([poses, ghost]), Extras(Appearance(tints=red, ghost=0.45))
            view = View(with_ghost(scene.content, links), both, camera, 0.0, (320, 240), extras=extras)
            for _ in renderer.pieces(view):
                pass
            pictures.append(renderer.pixels().astype(int))
        for _ in renderer.pieces(View(scene.content, poses, camera, 0.0, (320, 240))):
            pass
        plain = renderer.pixels()
        renderer.release()
    same, shifted, apart = (int((np.abs(picture - plain).max(-1) > 30).sum()) for picture in pictures)
    assert apart > 500
    assert max(same, shifted) < 50


# From where it is seen.


def test_a_key_turns_the_camera_to_a_standard_view(qtbot, arm):
    before, viewport = arm.viewport.camera, arm.viewport
    for key, right, up in ((1, (0, 1, 0), (0, 0, 1)), (3, (1, 0, 0), (0, 0, 1)), (7, (1, 0, 0), (0, 1, 0))):
        qtbot.keyClick(viewport, str(key))
        np.testing.assert_allclose(viewport.camera.axes()[:2], [right, up], atol=1e-12, err_msg=str(key))
        assert viewport.camera.distance == before.distance
        wait(qtbot, lambda: (view := screen_of(viewport).view) and view.camera.azimuth == viewport.camera.azimuth)


def test_typing_a_number_turns_no_camera(qtbot, arm):
    before = arm.viewport.camera.azimuth
    arm.features[RobotView].action.trigger()
    search = arm.features[RobotView].panel.search
    search.setFocus()
    qtbot.keyClicks(search, "137")
    assert search.text() == "137"
    assert arm.viewport.camera.azimuth == before


def test_without_perspective_what_is_parallel_looks_so(qtbot, arm):
    wide, high = arm.viewport.width(), arm.viewport.height()
    qtbot.keyClick(arm.viewport, Qt.Key.Key_5)
    camera = arm.viewport.camera
    assert camera.parallel
    clip = camera.projection(wide / high) @ camera.view()

    def seen(point: np.ndarray) -> np.ndarray:
        x, y, _, w = clip @ np.append(point, 1.0)
        return np.array([x / w * wide, y / w * high]) / 2

    way, aside = camera.axes()[2] * 0.5 * camera.distance, camera.axes()[0] * 0.2
    near, far = (
        (seen(camera.target + way + aside) - seen(camera.target + way)),
        (seen(camera.target - way + aside) - seen(camera.target - way)),
    )
    assert abs(near[0] - far[0]) < 0.5  # px
    eye, direction = ray(camera, (wide, high), (0.25 * wide, 0.75 * high))
    point = eye + direction * camera.away
    np.testing.assert_allclose(seen(point), (-0.25 * wide, -0.25 * high), atol=0.5)
    other = Camera(camera.target, camera.distance, camera.azimuth, camera.elevation)
    other_clip = other.projection(wide / high) @ other.view()
    at = other_clip @ np.append(camera.target + aside, 1.0)
    assert abs(at[0] / at[3] * wide / 2 - seen(camera.target + aside)[0]) < 0.5  # as large at the target
    assert pixels(arm).std() > 5


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '{"a": 3}',
        '{"a": ["b", 1, 1, 1, 1, 1, 1]}',
        '{"a": [1]}',
        '{"a": [NaN, 1, 1, 1, 1, 1, 1]}',
        "[" * 10**4,
    ],
)
def test_views_that_are_damaged_are_none(make_window, tmp_path, text):
    QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat).setValue("views", text)
    menu = make_window().features[CameraViews].menu
    menu.aboutToShow.emit()
    assert menu.actions()[-1].text() == "No views yet"


def test_a_view_is_saved_by_name_and_found_again(qtbot, arm, make_window, monkeypatch):
    views = arm.features[CameraViews]
    arm.viewport.see(Camera(np.array([0.1, 0.2, 0.3]), 1.5, 0.4, 0.5, parallel=True))
    monkeypatch.setattr(QInputDialog, "getText", lambda *_, **__: ("from the left & above", True))
    told = arm.statusBar().currentMessage
    views.save.trigger()
    assert told() == "view saved: View › Saved views › from the left & above"
    views.save.trigger()
    assert told() == "view replaced: View › Saved views › from the left & above"
    qtbot.keyClick(arm.viewport, Qt.Key.Key_7)
    arm.close()
    again = make_window()
    menu = again.features[CameraViews].menu
    menu.aboutToShow.emit()
    next(each for each in menu.actions() if each.text() == "from the left && above").trigger()
    camera = again.viewport.camera
    np.testing.assert_allclose(camera.target, (0.1, 0.2, 0.3))
    assert (camera.distance, camera.azimuth, camera.elevation, camera.parallel) == (1.5, 0.4, 0.5, True)
    assert again.features[CameraViews].parallel.isChecked()
    menu.actions()[-1].menu().actions()[0].trigger()
    menu.aboutToShow.emit()
    assert [each.text() for each in menu.actions() if not each.isSeparator()][1:] == ["No views yet"]


def test_a_view_is_renamed_unless_the_name_is_taken(arm, monkeypatch):
    views, told = arm.features[CameraViews], arm.statusBar().currentMessage
    for name in ("left", "right"):
        views.keep(name)

    asked, answers = [], [" right ", " ", " above "]

    def answer(_parent: object, _title: str, label: str, text: str) -> tuple[str, bool]:
        asked.append((label, text))
        return answers.pop(0), True

    views.menu.aboutToShow.emit()
    (renames,) = [each.menu() for each in views.menu.actions() if each.text() == "&Rename"]
    monkeypatch.setattr(QInputDialog, "getText", answer)
    renames.actions()[0].trigger()
    assert asked == [
        ("Name of the view:", "left"),
        ("There is a view 'right' already; type another name, or forget it first.\nName of the view:", " right "),
        ("A view needs a name; type at least one letter.\nName of the view:", " "),
    ]
    assert told() == "view renamed: View › Saved views › above"
    views.menu.aboutToShow.emit()
    assert [each.text() for each in views.menu.actions()[2:4]] == ["above", "right"]


def test_a_change_of_saved_views_is_undone_and_redone(qtbot, arm):
    views, told = arm.features[CameraViews], arm.statusBar().currentMessage
    ctrl = Qt.KeyboardModifier.ControlModifier

    def saved() -> dict[str, float]:
        views.menu.aboutToShow.emit()
        stored = json.loads(arm.settings.value("views"))
        assert ("No views yet" in [each.text() for each in views.menu.actions()]) == (not stored)
        return {name: view[3] for name, view in stored.items()}

    for distance in (1.0, 2.0):
        arm.viewport.see(replace(arm.viewport.camera, distance=distance))
        views.keep("left & up")
    views.menu.aboutToShow.emit()
    (forget,) = [each.menu() for each in views.menu.actions() if each.text() == "&Forget"]
    forget.actions()[0].trigger()
    assert told() == "view forgotten: left & up; Undo brings it back"
    assert saved() == {}
    assert arm.features[UndoView].undo.text() == "&Undo Forget view left && up"
    qtbot.keyClick(arm, Qt.Key.Key_Z, ctrl)
    assert told() == "Undone: Forget view left & up"
    assert saved() == {"left & up": 2.0}
    qtbot.keyClick(arm, Qt.Key.Key_Z, ctrl)  # what the second one replaced
    assert saved() == {"left & up": 1.0}
    qtbot.keyClick(arm, Qt.Key.Key_Y, ctrl)
    qtbot.keyClick(arm, Qt.Key.Key_Y, ctrl)
    assert saved() == {}
    assert told() == "Redone: Forget view left & up"


def test_f11_fills_the_screen_and_goes_back(qtbot, arm):
    qtbot.keyClick(arm, Qt.Key.Key_F11)
    wait(qtbot, arm.isFullScreen)
    qtbot.keyClick(arm, Qt.Key.Key_F11)
    wait(qtbot, lambda: not arm.isFullScreen())


def test_a_maximised_window_is_so_again_after_it_had_the_whole_screen(arm):
    action = arm.features[CameraViews].full_screen
    arm.showMaximized()
    for full in (True, False):
        action.trigger()
        assert (arm.isFullScreen(), action.isChecked()) == (full, full)
    assert arm.isMaximized()
    arm.showFullScreen()  # by a key of the desktop
    arm.menus.view.aboutToShow.emit()
    assert action.isChecked()
    action.trigger()
    assert not arm.isFullScreen()
