"""Whole scenes: contacts' marks, crowds, ghosts, obstacles, shadows and levels of detail, over random robots."""

import numpy as np
import pytest
from random_robots import robot, robots
from test_laws_of_pictures import a_camera, all_triangles, ends, placed

import engine
from app.features.second_robot_view import shift_beyond
from app.gl import frame, levels, proxies
from app.gl.batch import Tiers, choose
from app.gl.camera import Camera
from app.gl.contact_marks import ARROW, COLORS, DISC, PIN_LENGTH, Marks, lengths, marks
from app.gl.extras import CHOSEN, Appearance, Copies
from app.gl.glyphs import Trails
from app.gl.scene import Scene, with_ghost
from app.gl.view import View
from app.gl.world import join_contents, world_of
from app.panels.ghost import SCALE, scale_of, tints
from app.picture.crowd import (
    ARRANGEMENTS,
    COLORINGS,
    DEVIATION,
    DIVERGED,
    GAP,
    OWN,
    SELECTED_COLOR,
    STOPS,
    Crowd,
    ramp,
    shares,
)
from app.picture.overlays import Overlays


def touched(rng, count: int = 9) -> tuple[tuple[np.ndarray, ...], Marks, float, float]:
    way = rng.normal(size=(count, 3))
    point, normal = rng.normal(size=(count, 3)), way / np.linalg.norm(way, axis=1, keepdims=True)
    state = rng.choice(list(COLORS), count)
    force = np.where(
        (state == "open")[:, None], 0.0, rng.normal(size=(count, 3)) * 10 ** rng.uniform(-1, 3, (count, 1))
    )
    weight, size = 10 ** rng.uniform(0, 3), rng.uniform(0.1, 5)
    return (point, normal, force, state), marks(point, normal, force, state, weight, size), weight, size


def test_marks_of_contacts_are_their_points_normals_and_forces(chance):
    """An arrow from the point along the force, as long as it is strong; a disc across the normal, a pin along it."""
    for _ in range(20):
        (point, normal, force, state), made, weight, size = touched(chance)
        strength = np.linalg.norm(force, axis=1)
        length = size * lengths(strength / weight)
        pressing = strength > 1e-6 * weight
        count, (begin, end) = len(point), ends(Copies(made.rods, made.rod_colors), -0.5, 0.5)
        tips = ends(Copies(made.heads, made.head_colors), 0.0, 1.0)
        np.testing.assert_allclose((begin + end)[:count] / 2, point, atol=1e-5)
        np.testing.assert_allclose(np.cross((end - begin)[:count], normal), 0, atol=1e-5)
        across = made.rods[:count, :3, :2].transpose(0, 2, 1)
        np.testing.assert_allclose(np.linalg.norm(across, axis=2), DISC * size, rtol=1e-5)
        np.testing.assert_allclose(begin[count : 2 * count], point, atol=1e-5)
        np.testing.assert_allclose(end[count : 2 * count], point + PIN_LENGTH * size * normal, atol=1e-5)
        np.testing.assert_allclose(begin[2 * count :], point[pressing], atol=1e-5)
        np.testing.assert_allclose(tips[0], end[2 * count :], atol=1e-5)
        arrow = (length / np.maximum(strength, 1e-30))[:, None] * force
        np.testing.assert_allclose(tips[1], (point + arrow)[pressing], atol=1e-5 * (1 + size))
        assert np.all(np.linalg.norm(made.rods[2 * count :, :3, 0], axis=1) <= ARROW * size * (1 + 1e-5))
        np.testing.assert_allclose(
            made.ends, np.stack([point, point + np.where(pressing[:, None], arrow, 0)]), atol=1e-9
        )
        colors = np.array([COLORS[each] for each in state], np.float32)
        np.testing.assert_array_equal(made.rod_colors[:count], colors)
        np.testing.assert_array_equal(made.head_colors, colors[pressing])


def crowd_of(rng, robots_: int = 11, links: int = 3):
    crowd = Crowd(str(rng.choice(ARRANGEMENTS)), str(rng.choice(COLORINGS)))
    upper = rng.uniform(0.1, 2, 3)
    crowd.set_size(np.zeros(3), upper)
    crowd.selected_robot = int(rng.integers(robots_))
    poses = np.tile(np.eye(4, dtype=np.float32), (robots_, links, 1, 1))
    poses[..., :3, 3] = rng.uniform(0, upper, (robots_, links, 3))
    energy, deviation = rng.normal(size=robots_), rng.random(robots_)
    diverged = rng.random(robots_) < 0.2
    energy[diverged] = np.nan
    return crowd, upper, (poses, energy, deviation, diverged)


def test_robots_of_a_crowd_stand_apart_in_colours_that_tell_their_numbers(chance):
    for _ in range(20):
        crowd, upper, (poses, energy, deviation, diverged) = crowd_of(chance)
        batch = crowd.batch(poses, energy, deviation, diverged)
        offsets, reported = batch.offsets.astype(float), {OWN: None, DEVIATION: deviation}.get(crowd.coloring, energy)
        np.testing.assert_array_equal(offsets[0], 0)
        gap = np.abs(offsets[:, None] - offsets).max(2)[~np.eye(len(offsets), dtype=bool)]
        if crowd.arrangement == ARRANGEMENTS[0]:
            assert gap.min() == pytest.approx(GAP * max(upper[0], upper[1], upper[2] / 2), rel=1e-5)
            assert np.ptp(offsets[:, 0]) <= np.ptp(offsets[:, 1]) + 1e-6  # about as deep as wide, away from who looks
            assert np.all(offsets[:, 0] <= 0)
        else:
            assert not offsets.any()
        np.testing.assert_allclose(batch.origins, poses[:, :, :3, 3] + offsets[:, None], atol=1e-6)
        low, high = batch.bounds(0.2)
        np.testing.assert_allclose(low, batch.origins.min((0, 1)) - 0.2, atol=1e-5)
        np.testing.assert_allclose(high, batch.origins.max((0, 1)) + 0.2, atol=1e-5)
        assert crowd.values(energy, deviation) is (energy if reported is energy else deviation)
        plain = ~diverged
        np.testing.assert_allclose(batch.tints[crowd.selected_robot, :3], SELECTED_COLOR, atol=1e-6)
        plain[crowd.selected_robot] = False
        diverged = diverged & (np.arange(len(diverged)) != crowd.selected_robot)
        np.testing.assert_allclose(batch.tints[diverged, :3] - DIVERGED, 0, atol=1e-6)
        if reported is None:
            assert not batch.tints[plain].any()
            continue
        lightness = batch.tints[:, :3] @ (0.2126, 0.7152, 0.0722)
        order = np.flatnonzero(plain)[np.argsort(reported[plain])]
        assert np.all(np.diff(lightness[order]) > 0)
        known = np.isfinite(reported) & ~np.isnan(energy)
        part, least, most = shares(reported, known)
        assert (least, most) == (reported[known].min(), reported[known].max())
        np.testing.assert_allclose(least + part[known] * (most - least), reported[known])


def test_ramps_go_through_their_colours_in_order(chance):
    at = np.sort(chance.random(50))
    assert np.all(np.diff(ramp(at) @ (0.2126, 0.7152, 0.0722)) > 0)
    np.testing.assert_allclose(ramp(np.array([0.0, 1.0])), STOPS[[0, -1]])
    size = float(chance.uniform(0.1, 9))
    deviation = size * 10 ** np.array([-np.inf, -9, -6, -3.5, -1, 0.0])
    found = tints(deviation, scale_of(0.1 * size, size, recorded=False))[:, :3]
    np.testing.assert_allclose(found, [SCALE[0], SCALE[0], SCALE[0], SCALE[1], SCALE[2], SCALE[2]], atol=1e-6)


def test_a_click_picks_the_robot_of_a_batch_that_is_there(chance):
    for _ in range(15):
        crowd, _, parts = crowd_of(chance)
        crowd.arrangement = ARRANGEMENTS[0]
        batch, size = crowd.batch(*parts), (int(chance.integers(400, 1200)), int(chance.integers(400, 1200)))
        camera = a_camera(chance)
        camera.fit(*batch.bounds(0.1))
        every = batch.origins.reshape(-1, 3).astype(float)
        where = placed(camera, size, every)
        for k in chance.integers(0, len(every), 8):
            chosen = batch.nearest(camera, size, tuple(where[k, :2]), 0.05)
            beside_ = np.linalg.norm(where[:, :2] - where[k, :2], axis=1).reshape(len(batch), -1).min(1)
            assert beside_[chosen] < 1e-2
        assert batch.nearest(camera, size, (-1e5, -1e5), 0.05) is None


def test_each_robot_in_sight_is_drawn_once_and_near_ones_whole(chance, tmp_path):
    model = robot(tmp_path, chance)
    tiers, poses = (
        Tiers(Scene(model).content),
        np.asarray(engine.link_poses(model, model.random(chance, 30)), np.float32),
    )
    for _ in range(10):
        crowd = Crowd()
        crowd.set_size(np.zeros(3), np.ones(3))
        batch = crowd.batch(poses, np.zeros(30), np.zeros(30), np.zeros(30, bool))
        camera, size = a_camera(chance), (800, 600)
        camera.fit(*batch.bounds(0.3, np.arange(int(chance.integers(1, 30)))))
        found = choose(batch, tiers, camera, size, int(10 ** chance.uniform(3, 7)), 100)
        spans = sorted({(part.first, part.robots, part.tier) for part in found.picture})
        drawn = [k for first, count, _ in spans for k in range(first, first + count)]
        assert drawn == list(range(len(found.order)))
        assert [tier for *_, tier in spans] == sorted(tier for *_, tier in spans)
        middles = (batch.boxes[0] + batch.boxes[1]) / 2
        depth = [camera.depth(middles[k]) for k in found.order]
        assert np.all(np.diff(depth) >= -1e-3)
        seen = placed(camera, size, batch.origins.reshape(-1, 3).astype(float)).reshape(30, -1, 3)
        inside = np.all((seen[..., :2] > 0) & (seen[..., :2] < size), 2) & (seen[..., 2] > 0)
        assert set(np.flatnonzero(inside.any(1))) <= set(found.order.tolist())


def triangles_of(content, poses):
    corners, _ = all_triangles(content, poses)
    return np.array(sorted(corners.reshape(len(corners), 9).round(5).tolist()))


@pytest.mark.usefixtures("qapp")
def test_joined_contents_have_the_triangles_of_each(chance, tmp_path):
    """A robot, its ghost, another robot and obstacles in one content are the triangles of each by itself."""
    one, two = (robot(tmp_path, chance, 6) for _ in range(2))
    first, second = Scene(one).content, Scene(two).content
    here, there = (np.asarray(engine.link_poses(one, one.random(chance))) for _ in range(2))
    other = np.asarray(engine.link_poses(two, two.random(chance)))
    scene = engine.Scene(obstacles=(engine.Obstacle("box", (1, 2, 3), chance.normal(size=3)),))
    world, overlays = world_of(scene), Overlays()
    overlays.set_robot(one, 1.0)
    overlays.set_ghost(there, np.zeros((len(there), 4)))
    overlays.set_second_robot(second, other)
    overlays.set_world(world)
    content, poses = overlays.seen(first, here)
    parts = [(first, here), (first, there), (second, other), (world.obstacles, world.poses)]
    apart_ = np.concatenate([all_triangles(*part)[0] for part in parts])
    np.testing.assert_allclose(
        triangles_of(content, poses), np.array(sorted(apart_.reshape(len(apart_), 9).round(5).tolist())), atol=2e-5
    )
    start, mesh = content.instances.start, content.instances.mesh
    np.testing.assert_array_equal(mesh, np.repeat(np.arange(len(content.meshes)), np.diff(start)))
    alone = overlays.seen(first, here, alone=True)
    assert len(all_triangles(*alone)[0]) == sum(len(all_triangles(*parts[k])[0]) for k in (0, 3))
    lower, upper = overlays.around(first.bounds(here))
    ends = np.array([each.bounds(at) for each, at in (parts[0], *parts[2:])])  # not of the ghost
    np.testing.assert_allclose((lower, upper), (ends[:, 0].min(0), ends[:, 1].max(0)))
    chosen, opacity = int(chance.integers(len(here))), 0.4
    color, tint = Appearance(chosen, opacity, ghost=0.3).colors(content)
    link, links = content.instances.link, len(here)
    np.testing.assert_allclose(tint[link == chosen], np.tile(CHOSEN, ((link == chosen).sum(), 1)), atol=1e-6)
    assert not tint[link != chosen].any()
    share = color[:, 3] / np.maximum(content.instances.color[:, 3], 1e-9)
    expected = np.where(link < links, opacity, np.where(link < 2 * links, 0.3, 1.0))
    np.testing.assert_allclose(share, expected, atol=1e-6)
    assert with_ghost(first, links).parts == (links, 2 * links)
    assert join_contents(first, links, second).parts == (links, links)


def test_what_stands_for_a_robot_is_where_it_is_and_no_larger(chance, tmp_path):
    for model in robots(tmp_path, chance):
        content, poses = Scene(model).content, np.asarray(engine.link_poses(model, model.random(chance)))
        corners, links = all_triangles(content, poses)
        for proxy in proxies.proxies(content):
            made, of = all_triangles(proxy, poses)
            for link in np.unique(links):
                own = np.linalg.inv(poses[link])
                mine, its = (
                    x.reshape(-1, 3) @ own[:3, :3].T + own[:3, 3] for x in (corners[links == link], made[of == link])
                )
                np.testing.assert_allclose(its.min(0), mine.min(0), atol=0.02)
                np.testing.assert_allclose(its.max(0), mine.max(0), atol=0.02)
        camera, size = a_camera(chance, poses[-1, :3, 3]), (700, 500)
        camera.distance = float(chance.uniform(0.3, 3))
        seen, pixels = levels.visibility(content, poses, camera, size)
        for mesh in range(len(content.meshes)):
            of = content.instances.mesh == mesh
            points = np.concatenate([
                content.meshes[mesh].vertices @ pose[:3, :3].T + pose[:3, 3] for pose in content.matrices(poses)[of]
            ])  # fmt: skip
            at = placed(camera, size, points.astype(float))
            inside = np.all((at[:, :2] > 0) & (at[:, :2] < size), 1) & (at[:, 2] > 0)
            assert seen[mesh] or not inside.any()
            if inside.any():
                nearest = camera.distance if camera.parallel else max(at[inside, 2].min(), 0.01 * camera.distance)
                assert pixels[mesh] > 0.8 * min(size) / 2 / np.tan(camera.fov / 2) / nearest


def test_the_lights_view_and_the_shadow_hold_all_that_is_there(chance):
    for _ in range(30):
        low, high = np.sort(chance.normal(0, 3, (2, 3)), axis=0)
        corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
        matrix, texel = frame.light_view(low, high, 1024)
        clip = np.c_[corners, np.ones(8)] @ matrix.T
        assert np.abs(clip[:, :3]).max() <= 1 + 1e-9
        towards = (matrix @ np.append(corners[0] + frame.KEY, 1) - matrix @ np.append(corners[0], 1))[:3]
        np.testing.assert_allclose(towards[:2], 0, atol=1e-12)
        assert towards[2] < 0  # nearer to the light
        assert texel == pytest.approx(2 / 1024 / np.linalg.norm(matrix[0, :3]))
        n = chance.normal(0, 0.3, 3) + np.array([0, 0, 1])
        plane = np.append(n / np.linalg.norm(n), chance.normal())
        lower, upper = frame.shadow_region(low, high, plane, 0.0)
        u, v = frame.directions(plane)
        t = (plane[3] - corners @ plane[:3]) / (frame.KEY @ plane[:3])
        fallen = corners + t[:, None] * frame.KEY
        np.testing.assert_allclose(fallen @ plane[:3], plane[3], atol=1e-9)
        places = np.stack([fallen @ u, fallen @ v], 1)
        np.testing.assert_allclose((lower, upper), (places.min(0), places.max(0)), atol=1e-9)


def test_shadows_are_of_all_that_a_fitted_camera_shows_and_of_what_is_joined_to_it(tmp_path, chance):
    for model in robots(tmp_path, chance):
        content, poses = Scene(model).content, engine.link_poses(model, model.random(chance))
        bounds, camera = content.bounds(poses), a_camera(chance, poses[-1, :3, 3])
        camera.fit(*bounds)
        np.testing.assert_allclose(frame.casters(content, poses, camera), bounds)
        camera.target = camera.target + 1e3 * camera.distance  # nothing is near
        np.testing.assert_allclose(frame.casters(content, poses, camera), bounds)


def test_trails_join_where_links_have_been(chance):
    at, been, links = chance.normal(size=(3, 3)), {0: [], 2: []}, np.tile(np.eye(4), (3, 1, 1))
    trails = Trails((0, 2), 1.0, at)
    for k in range(30):
        links[:, :3, 3] += chance.normal(0, 0.02, (3, 3))
        trails.add(0.01 * k, links)
        for link, points in been.items():
            here = links[link, :3, 3] + at[link]
            if not points or np.linalg.norm(here - points[-1]) >= 0.006:
                points.append(here)
    center = chance.normal(size=3)
    begin, end = ends(trails.glyphs(center)["rod"], -0.5, 0.5)
    np.testing.assert_allclose(begin, np.concatenate([x[:-1] for x in been.values()]) + center, atol=1e-5)
    np.testing.assert_allclose(end, np.concatenate([x[1:] for x in been.values()]) + center, atol=1e-5)
    alpha = trails.glyphs()["rod"].colors[: len(been[0]) - 1, 3]
    assert np.all(np.diff(alpha) > 0)
    trails.add(0.0, links)
    assert not trails.glyphs()


def test_robots_side_by_side_do_not_touch_whichever_way_they_are_seen(chance):
    for _ in range(20):
        one, two = (tuple(np.sort(chance.normal(size=(2, 3)), axis=0)) for _ in range(2))
        right = a_camera(chance).axes()[0]
        place = shift_beyond(one, two, right) * right
        corners = [np.array(np.meshgrid(*zip(*box, strict=True))).reshape(3, -1).T @ right for box in (one, two)]
        gap = (corners[1] + place @ right).min() - corners[0].max()
        assert gap == pytest.approx(0.12 * max((box[1] - box[0]).max() for box in (one, two)))


def test_a_view_differs_by_as_many_pixels_as_what_is_seen_has_moved(chance, tmp_path):
    for model in robots(tmp_path, chance):
        content, q = Scene(model).content, model.random(chance)
        poses = np.asarray(engine.link_poses(model, q))
        camera, size = Camera(), (900, 600)
        camera.fit(*content.bounds(poses))
        other = poses.copy()
        other[:, :3, 3] += chance.normal(0, 1e-3, (len(poses), 3))
        points = [all_triangles(content, each)[0].reshape(-1, 3) for each in (poses, other)]
        moved_by = np.linalg.norm(np.subtract(*(placed(camera, size, each)[:, :2] for each in points)), axis=1).max()
        views = [View(content, each, camera, 0.0, size) for each in (poses, other)]
        reported = views[1].pixels_from(views[0])
        assert 0.3 * moved_by < reported < 6 * moved_by
