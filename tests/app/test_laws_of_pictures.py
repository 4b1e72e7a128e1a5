"""Random robots are drawn where mechanics puts them, and a click selects what is drawn there."""

from itertools import product

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, QPointF, Qt
from PyQt6.QtGui import QImage, QMouseEvent, QPainter
from random_robots import about_center, bodies, center_of, moved, robots
from test_laws_of_files import meant

import engine
from app.desktop import theme
from app.gl import glyphs, skeleton
from app.gl.camera import Camera
from app.gl.extras import Extras, Label
from app.gl.glyphs import Explainer
from app.gl.picking import pick, ray
from app.gl.pushes import Push, arrows, of_links, shapes
from app.gl.scene import Scene
from app.gl.view import View
from app.picture import labels
from app.picture.overlays import Overlays
from app.picture.steering import SteeredView

MOVED = np.array([3.0, -2.0, 1.0])


def a_camera(rng, around: np.ndarray | None = None) -> Camera:
    target = rng.normal(size=3) if around is None else around
    return Camera(
        target, float(rng.uniform(1, 6)), float(rng.uniform(-3, 3)), float(rng.uniform(-1.4, 1.4)),
        float(rng.uniform(0.3, 1.2)), bool(rng.random() < 0.4),
    )  # fmt: skip


def placed(camera: Camera, size, points: np.ndarray) -> np.ndarray:
    """(N, 3): where points (N, 3) are seen, in pixels from the upper left corner, and clip space's w."""
    clip = (
        np.c_[points, np.ones(len(points))]
        @ (camera.projection(size[0] / size[1]).astype(float) @ camera.view().astype(float)).T
    )
    x, y, _, w = clip.T
    return np.stack([(0.5 + 0.5 * x / w) * size[0], (0.5 - 0.5 * y / w) * size[1], w], 1)


def test_a_camera_sees_as_a_pinhole_does(chance):
    """By similar triangles; as wide across the shorter side as its angle of view; what is level stays level."""
    for _ in range(40):
        camera, size = a_camera(chance), chance.integers(200, 1500, 2)
        right, up, backward = camera.axes()
        np.testing.assert_allclose(camera.axes() @ camera.axes().T, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(np.cross(right, up), backward, atol=1e-12)
        assert (abs(right[2]) < 1e-12, up[2] > 0) == (True, True)
        lean = [np.cos(camera.elevation) * np.cos(camera.azimuth), np.cos(camera.elevation) * np.sin(camera.azimuth)]
        np.testing.assert_allclose(backward, [*lean, np.sin(camera.elevation)], atol=1e-12)
        points = camera.target + chance.normal(0, 0.3, (20, 3)) * camera.distance
        depth = (camera.eye - points) @ backward
        points, depth = points[depth > 0.1 * camera.distance], depth[depth > 0.1 * camera.distance]
        span = camera.distance * np.tan(camera.fov / 2)  # at the target, from the middle to the shorter side's edge
        pixels = min(size) / 2 / span * (camera.away if camera.parallel else camera.distance) / depth
        away = (points - camera.target) @ np.stack([right, -up], 1)
        expected = size / 2 + pixels[:, None] * away
        np.testing.assert_allclose(placed(camera, size, points)[:, :2], expected, atol=0.4 if camera.parallel else 0.05)
        np.testing.assert_allclose([camera.depth(point) for point in points], depth, rtol=1e-9)
        for place, point in zip(expected, points, strict=True):
            eye, way = ray(camera, tuple(size), tuple(place))
            along = (point - eye) / np.linalg.norm(point - eye)
            np.testing.assert_allclose(way, along, atol=1e-6)


def test_a_hand_moves_the_camera_as_it_moves_the_picture(chance):
    for _ in range(40):
        camera, size = a_camera(chance), chance.integers(200, 1500, 2)
        x, y = chance.uniform(-0.3, 0.3, 2)
        held, before = camera.target.copy(), camera.distance
        camera.pan(-x, -y)
        there = placed(camera, size, held[None])[0, :2]
        np.testing.assert_allclose(there, size / 2 + np.array([x, -y]) * min(size), atol=0.3)
        factor = chance.uniform(0.5, 2)
        camera.zoom(factor)
        assert camera.distance == pytest.approx(before / factor)
        camera.elevation, azimuth = 0.2, camera.azimuth
        camera.orbit(0.1, 0.3)
        assert np.cos(camera.azimuth - azimuth - 0.1) == pytest.approx(1)
        assert camera.elevation == pytest.approx(0.5)
        corners = np.array(list(product(*np.sort(chance.normal(size=(3, 2)), 1))))
        camera.fit(corners.min(0), corners.max(0))
        seen = placed(camera, size, corners)
        away = np.abs(seen[:, :2] - size / 2).max(0) / min(size)
        assert np.all(seen[:, 2] > 0)
        edge = np.tan(0.46 * camera.fov) / np.tan(camera.fov / 2) / 2
        assert away.max() <= edge + 1e-5 if camera.parallel else away.max() == pytest.approx(edge, abs=1e-5)


def test_what_is_pressed_moves_with_the_mouse(chance, qtbot):
    view = SteeredView()
    qtbot.addWidget(view)
    for _ in range(15):
        size = chance.integers(200, 900, 2)
        view.resize(*size.tolist())
        view.camera = a_camera(chance)
        held, start = view.camera.target.copy(), QPointF(*(0.5 * size))
        by = QPointF(*chance.integers(-80, 80, 2).tolist())
        middle, none = Qt.MouseButton.MiddleButton, Qt.KeyboardModifier.NoModifier
        view.mousePressEvent(QMouseEvent(QEvent.Type.MouseButtonPress, start, start, middle, middle, none))
        view.mouseMoveEvent(QMouseEvent(QEvent.Type.MouseMove, start + by, start + by, middle, middle, none))
        there = placed(view.camera, size, held[None])[0, :2]
        np.testing.assert_allclose(there - size / 2, (by.x(), by.y()), atol=0.6)
        left = Qt.MouseButton.LeftButton
        view.camera.elevation = 0.1
        view.mousePressEvent(QMouseEvent(QEvent.Type.MouseButtonPress, start, start, left, left, none))
        near = view.camera.target + 0.1 * view.camera.distance * view.camera.axes()[2]  # towards the eye
        view.mouseMoveEvent(QMouseEvent(QEvent.Type.MouseMove, start + by, start + by, left, left, none))
        turned = placed(view.camera, size, np.array([near, view.camera.target]))
        step = turned[0, :2] - turned[1, :2]
        for axis, moved_by in enumerate((by.x(), by.y())):
            assert step[axis] * moved_by > 0 or abs(moved_by) < 9  # what is in front goes along


def test_a_name_stands_at_what_it_names(chance, qapp):
    for _ in range(15):
        camera, size = a_camera(chance), (600, 400)
        point = camera.target + 0.15 * camera.distance * chance.normal(size=3)
        x, y, _ = placed(camera, size, point[None])[0]
        if not (20 < x < 500 and 50 < y < 380):
            continue
        image = QImage(*size, QImage.Format.Format_RGB32)
        image.fill(0)
        painter = QPainter(image)
        view = View(None, None, camera, 0.0, size, extras=Extras(labels=(Label("a name", tuple(point), chosen=True),)))
        labels.paint(painter, view, 1.0, qapp.font())
        painter.end()
        found = image.pixelColor(round(x), round(y)).getRgb()[:3]
        np.testing.assert_allclose(found, theme.color("accent").getRgb()[:3], atol=60)


def all_triangles(content, poses) -> tuple[np.ndarray, np.ndarray]:
    """(F, 3, 3) in the world, and the link of each."""
    parts = [
        (content.meshes[m].vertices[content.meshes[m].faces].astype(float) @ pose[:3, :3].T + pose[:3, 3], link)
        for m, link, pose in zip(content.instances.mesh, content.instances.link, content.matrices(poses), strict=True)
    ]
    return np.concatenate([part for part, _ in parts]), np.concatenate([np.full(len(part), k) for part, k in parts])


def met(corners: np.ndarray, eye: np.ndarray, way: np.ndarray) -> np.ndarray:
    """(F,): how far along a ray it meets each triangle, infinite where it does not, by its plane and its edges."""
    a, b, c = np.moveaxis(corners, 1, 0)
    normal = np.cross(b - a, c - a)
    with np.errstate(all="ignore"):
        t = ((a - eye) * normal).sum(1) / (normal @ way)
        point = eye + t[:, None] * way
        sides = [(np.cross(q - p, point - p) * normal).sum(1) for p, q in ((a, b), (b, c), (c, a))]
    return np.where(np.all(np.array(sides) >= 0, 0) & (t > 0), t, np.inf)


def test_what_is_clicked_is_the_link_that_is_seen_there(chance, tmp_path):
    """The pixel of a random point of a random link's surface gives that link, or the one in front of it."""
    own = 0
    for model in robots(tmp_path, chance):
        poses, content = np.asarray(engine.link_poses(model, model.random(chance))), Scene(model).content
        corners, links = all_triangles(content, poses)
        lower, upper = content.bounds(poses)
        np.testing.assert_allclose(corners.reshape(-1, 3).min(0), lower, atol=0.02)
        np.testing.assert_allclose(corners.reshape(-1, 3).max(0), upper, atol=0.02)
        camera, size = a_camera(chance), (900, 700)
        camera.fit(lower, upper)
        for face in chance.integers(0, len(links), 15):
            point = chance.dirichlet(np.ones(3)) @ corners[face]
            eye, way = ray(camera, size, tuple(placed(camera, size, point[None])[0, :2]))
            hit, away = pick(content, poses, eye, way), met(corners, eye, way)
            first = int(np.argmin(away))
            if not np.isfinite(away[first]):
                continue  # it is seen exactly from the side
            assert hit.distance == pytest.approx(away[first], abs=1e-4)
            assert hit.link == links[first] or np.sort(away)[1] - away[first] < 1e-4
            np.testing.assert_allclose(hit.point, eye + away[first] * way, atol=1e-4)
            own += hit.link == links[face]
        assert pick(content, poses, camera.eye, camera.axes()[2]) is None  # behind the eye
        assert pick(content, poses, *ray(camera, size, (-9000, -9000))) is None  # beside the picture
    assert own > 5


def explained(model, rng):
    q = model.random(rng)
    poses = np.asarray(engine.link_poses(model, q))
    return q, poses, Explainer(model, float(rng.uniform(0.1, 3))), bodies(model, poses)


def ends(copies, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of z = low and z = high of each copy's mesh."""
    z, p = copies.poses[:, :3, 2].astype(float), copies.poses[:, :3, 3].astype(float)
    return p + low * z, p + high * z


def test_frames_centres_and_ellipsoids_stand_where_the_masses_are(chance, tmp_path):
    for model in robots(tmp_path, chance):
        _, poses, explainer, frames = explained(model, chance)
        begin, end = ends(explainer.glyphs(("frames",), poses)["rod"], -0.5, 0.5)
        for axis, ways in enumerate(np.split(end - begin, 3)):
            np.testing.assert_allclose(begin[axis * len(poses) : (axis + 1) * len(poses)], poses[:, :3, 3], atol=1e-6)
            unit = ways / np.linalg.norm(ways, axis=1, keepdims=True)
            np.testing.assert_allclose(unit, poses[:, :3, axis], atol=1e-5)
        heavy = [body for body in sorted(frames) if model.mass[body] > 0]
        centers = np.array([(frames[body] @ np.append(center_of(model, body), 1))[:3] for body in heavy])
        balls = explainer.glyphs(("masses",), poses)["ball"].poses[:, :3, 3]
        whole = model.mass[heavy] @ centers / model.mass[heavy].sum()
        np.testing.assert_allclose(balls, [*centers, whole], atol=1e-6)
        stretched = Explainer(model, 1e-9).glyphs(("inertias",), poses)["ball"].poses.astype(float)
        for pose, body, center in zip(stretched, heavy, centers, strict=True):
            spread = model.mass[body] / 5 * pose[:3, :3] @ pose[:3, :3].T  # ∫ x xᵀ dm of a uniform ellipsoid
            R = frames[body][:3, :3]
            world = R @ about_center(model, body) @ R.T
            np.testing.assert_allclose(np.trace(spread) * np.eye(3) - spread, world, atol=1e-4 * np.abs(world).max())
            np.testing.assert_allclose(pose[:3, 3], center, atol=1e-6)
        anchors = np.einsum("lij,lj->li", poses[:, :3, :3], explainer.anchors) + poses[:, :3, 3]
        for body, center in zip(heavy, centers, strict=True):
            np.testing.assert_allclose(anchors[np.flatnonzero(model.link_body == body)[0]], center, atol=1e-9)


def test_axes_are_those_that_joints_turn_about_and_slide_along(chance, tmp_path):
    """By a small motion of each joint: points of a rotating axis stay, and what slides moves along its own."""
    for model in robots(tmp_path, chance):
        q, poses, explainer, _ = explained(model, chance)
        copies = explainer.glyphs(("axes",), poses)["rod"]
        begin, end = (x.astype(float) for x in ends(copies, -0.5, 0.5))
        turning = np.all(copies.colors[:, :3] == np.float32(glyphs.REVOLUTE_COLOR[:3]), 1)
        joints = {True: [], False: []}
        for joint in model.joints:
            if joint.kind in ("revolute", "continuous", "planar", "prismatic"):
                joints[joint.kind != "prismatic"].append(joint)
        assert (turning.sum(), (~turning).sum()) == (len(joints[True]), len(joints[False]))
        for turns, those in joints.items():
            for joint, a, b in zip(those, begin[turning == turns], end[turning == turns], strict=True):
                if joint.leader is not None:
                    continue
                link = int(np.flatnonzero(model.link_body == joint.bodies.stop - 1)[0])
                there = np.asarray(engine.link_poses(model, moved(model, q, np.eye(model.nv)[joint.v.stop - 1], 1e-4)))
                step = there[link] @ np.linalg.inv(poses[link])
                for point in (a, b):
                    move = (step @ np.append(point, 1))[:3] - point
                    along = (b - a) / np.linalg.norm(b - a)
                    np.testing.assert_allclose(move, 0 * along if turns else 1e-4 * along, atol=1e-9)
                if turns:
                    w = np.array([step[2, 1], step[0, 2], step[1, 0]]) / 1e-4
                    np.testing.assert_allclose(w, along, atol=1e-4)


def test_a_skeleton_joins_links_to_those_that_they_carry(chance, tmp_path):
    for model in robots(tmp_path, chance, shapes=()):
        poses = np.asarray(engine.link_poses(model, model.neutral()))
        origins = poses[:, :3, 3]
        tips = [(frame @ np.append(center_of(model, body), 1))[:3] for body, frame in bodies(model, poses).items()
                if model.mass[body]]  # fmt: skip
        for shown in skeleton.visuals(model):
            pose = poses[shown.link] @ shown.pose
            np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-9)
            if shown.shape == "sphere":
                np.testing.assert_allclose(pose[:3, 3], origins[shown.link])
                continue
            half = shown.size[1] / 2 * pose[:3, 2]
            np.testing.assert_allclose(pose[:3, 3] - half, origins[shown.link], atol=1e-9)
            assert np.linalg.norm(np.array([*origins, *tips]) - pose[:3, 3] - half, axis=1).min() < 1e-9


@pytest.mark.usefixtures("qapp")
def test_names_stand_at_the_masses_of_their_links(chance, tmp_path):
    for model in robots(tmp_path, chance):
        _, poses, _, frames = explained(model, chance)
        overlays, chosen = Overlays(), int(chance.integers(len(poses)))
        overlays.set_robot(model, 1.0)
        overlays.show("names", True)
        overlays.choose(chosen)
        reported = overlays.extras(poses, MOVED).labels
        assert sorted(name for name, *_ in reported) == sorted(model.link_names)
        assert [name for name, _, marked, _ in reported if marked] == [model.link_names[chosen]] == [reported[0][0]]
        at = {name: np.array(place) - MOVED for name, place, *_ in reported}
        for body, frame in frames.items():
            if model.mass[body]:
                name = model.link_names[int(np.flatnonzero(model.link_body == body)[0])]
                center = (frame @ np.append(center_of(model, body), 1))[:3]
                np.testing.assert_allclose(at[name], center, atol=1e-9)


@pytest.mark.usefixtures("qapp")
def test_arrows_are_the_forces_and_moments_along_the_worlds_axes(chance, tmp_path):
    """Wrenches are set in link or world axes, or recorded; also for a robot drawn elsewhere, with labels."""
    for model in robots(tmp_path, chance):
        _, poses, *_ = explained(model, chance)
        overlays, acting, expected = Overlays(), [], []
        overlays.set_robot(model, 1.3)
        for link in chance.choice(len(poses), 4, replace=False).tolist():
            wrench, world = chance.normal(0, 5, 6), bool(chance.random() < 0.5)
            acting.append(Push(link, wrench, world))
            turn = np.eye(3) if world else poses[link, :3, :3]
            expected += [(link, turn @ wrench[3:], False), (link, turn @ wrench[:3], True)]
        overlays.set_pushes(acting)
        weight = 9.81 * model.mass.sum()
        here = poses.copy()
        here[:, :3, 3] += MOVED
        made = arrows(acting, here, weight, 1.3)
        extras = overlays.extras(poses, MOVED)
        rods, heads = extras.glyphs["rod"], extras.glyphs["head"]
        begin, tip = ends(rods, -0.5, 0.5)[0], ends(heads, 0.0, 1.0)[1]
        assert len(made) == len(expected) == len(rods.poses)
        for k, (arrow, (link, vector, moment)) in enumerate(zip(made, expected, strict=True)):
            way = arrow.end - arrow.start
            np.testing.assert_allclose(arrow.start, poses[link, :3, 3] + MOVED)
            np.testing.assert_allclose(way / np.linalg.norm(way), vector / np.linalg.norm(vector), atol=1e-9)
            np.testing.assert_allclose(begin[k], arrow.start, atol=1e-5)
            np.testing.assert_allclose(tip[k], arrow.end, atol=1e-5)
            name, place, *_ = extras.labels[k]
            assert meant(name, "N m" if moment else "N") == pytest.approx(np.linalg.norm(vector), rel=5.1e-3)
            np.testing.assert_allclose(place, arrow.end)
        assert len(heads.poses) == len(expected) + sum(moment for *_, moment in expected)
        whole = np.zeros((len(poses), 6))
        for link, wrench, world in acting:
            turn = poses[link, :3, :3].T if world else np.eye(3)
            whole[link] = np.concatenate([turn @ wrench[:3], turn @ wrench[3:]])
        again = arrows(of_links(whole), here, weight, 1.3)  # as a recorded frame has them
        found, known = (np.array(sorted([*each.end, each.strength] for each in some)) for some in (again, made))
        np.testing.assert_allclose(found, known, rtol=1e-9)
        assert shapes((), 1.0) == {}
