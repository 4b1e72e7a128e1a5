"""Batches of robots in a picture: placement, colours, level of detail, and picking."""

import numpy as np
import pytest

import engine
from app.gl import batch, frame, offscreen
from app.gl.batch import BOXES, HULLS, WHOLE, Batch, Tiers
from app.gl.camera import Camera
from app.gl.scene import Scene
from app.gl.view import View

SIZE = 320, 240


@pytest.fixture(scope="module")
def arm() -> engine.Model:
    return engine.load(engine.find_robot("arm7"))


def grid(model: engine.Model, count: int, spacing: float = 1.6) -> Batch:
    """So many robots at rest side by side, in rows along y."""
    links = np.repeat(engine.link_poses(model, model.neutral())[None], count, 0).astype(np.float32)
    side = int(np.ceil(np.sqrt(count)))
    offsets = np.zeros((count, 3), np.float32)
    offsets[:, 0], offsets[:, 1] = spacing * (np.arange(count) // side), spacing * (np.arange(count) % side)
    return Batch(links, offsets, np.zeros((count, 4), np.float32))


def facing(robots: Batch, scene: Scene) -> Camera:
    camera = Camera(azimuth=np.radians(-60.0), elevation=np.radians(35.0))
    camera.fit(*robots.bounds(scene.content.reach))
    return camera


def draw(scene: Scene, robots: Batch, camera: Camera, detail: int = 0) -> np.ndarray:
    return offscreen.draw(scene, robots.links[0], *SIZE, camera, robots, detail).astype(int)


def place(camera: Camera, point: np.ndarray) -> tuple[int, int]:
    """Column and row of the pixel that shows a point."""
    clip = camera.projection(SIZE[0] / SIZE[1]) @ camera.view() @ np.append(point, 1.0)
    x, y = clip[:2] / clip[3]
    return round((0.5 + 0.5 * x) * SIZE[0]), round((0.5 - 0.5 * y) * SIZE[1])


@pytest.mark.usefixtures("gl")
def test_one_near_robot_of_a_batch_looks_like_the_robot_alone(arm):
    scene = Scene(arm)
    robots = grid(arm, 1)
    camera = facing(robots, scene)
    alone = offscreen.draw(scene, robots.links[0], *SIZE, camera).astype(int)
    assert np.abs(draw(scene, robots, camera) - alone).mean() < 1.0
    assert np.abs(alone - alone[0, 0]).max() > 60


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("detail", [0, 3])
def test_each_robot_is_drawn_in_its_place_and_colour(arm, detail):
    scene, robots = Scene(arm), grid(arm, 9)
    robots.tints[:] = np.where(np.arange(9)[:, None] % 2 == 0, (1.0, 0.1, 0.1, 1.0), (0.1, 0.1, 1.0, 1.0))
    camera = facing(robots, scene)
    picture = draw(scene, robots, camera, detail)
    for k in range(9):
        x, y = place(camera, robots.origins[k, 3])
        patch = picture[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3).mean(0)
        red_over_blue = patch[0] - patch[2]
        assert red_over_blue > 40 if k % 2 == 0 else red_over_blue < -40


@pytest.mark.usefixtures("gl")
def test_a_batch_casts_shadows_of_all_its_robots(arm):
    scene, robots = Scene(arm), grid(arm, 4, spacing=3.0)
    camera = Camera(elevation=np.radians(80.0))
    camera.fit(*robots.bounds(scene.content.reach))
    lifted = Batch(robots.links, robots.offsets + np.float32([0, 0, 50]), robots.tints)  # out of the picture
    difference = draw(scene, lifted, camera) - draw(scene, robots, camera)
    for k in range(4):
        high = robots.origins[k, 4].astype(float)
        x, y = place(camera, high - frame.KEY * high[2])
        assert difference[y - 1 : y + 2, x - 1 : x + 2].mean() > 8


def test_detail_follows_size_and_the_budget_bounds_it(arm):
    tiers, robots = Tiers(Scene(arm).content), grid(arm, 400)
    camera = Camera(azimuth=np.radians(-135.0), elevation=np.radians(8.0))
    camera.target, camera.distance = robots.origins[0, 3].astype(float), 3.0
    rich = batch.choose(robots, tiers, camera, (1600, 1000), 10**9, 400)
    assert {part.tier for part in rich.picture} >= {WHOLE, HULLS}
    levels = [part.level for part in rich.picture if part.tier == WHOLE and part.mesh == 0]
    assert levels == sorted(levels)  # from the nearest band on coarser and coarser
    for limit in (400_000, 60_000):
        choice = batch.choose(robots, tiers, camera, (1600, 1000), limit, 0)
        assert choice.triangles <= max(limit, len(choice.order) * 108)
        assert choice.shadow == []
        shown = np.zeros(len(choice.order), int)
        for tier in (WHOLE, HULLS, BOXES):
            for first, count in {(part.first, part.robots) for part in choice.picture if part.tier == tier}:
                shown[first : first + count] += 1
        assert np.all(shown == 1)


def test_robots_outside_the_picture_are_left_out(arm):
    robots = grid(arm, 100, spacing=4.0)
    camera = Camera(distance=3.0)
    camera.target = robots.origins[55, 2].astype(float)
    order = batch.choose(robots, Tiers(Scene(arm).content), camera, SIZE, 10**6, 0).order
    assert 55 in order
    assert len(order) < 60
    depth = np.linalg.norm(robots.origins[order].mean(1) - camera.eye, axis=1)
    assert np.all(np.diff(depth) > -1.0)  # nearest first


@pytest.mark.usefixtures("gl")
def test_robots_whose_poses_are_not_finite_spoil_no_picture(arm):
    scene, robots = Scene(arm), grid(arm, 4)
    camera = facing(robots, scene)
    robots.links[2] = np.nan
    broken = Batch(robots.links, robots.offsets, robots.tints)
    picture = draw(scene, broken, camera)
    x, y = place(camera, robots.origins[0, 3])
    assert np.abs(picture[y - 3 : y + 4, x - 3 : x + 4] - picture[0, 0]).max() > 40


@pytest.mark.usefixtures("gl")
def test_drafts_that_took_long_are_followed_by_simpler_ones(arm):
    from app.gl import context
    from app.gl.renderer import Renderer

    scene, robots = Scene(arm), grid(arm, 100)
    camera = facing(robots, scene)
    with context.offscreen():
        renderer = Renderer()
        view = View(scene.content, robots.links[0], camera, 0.0, (1280, 960), robots)
        triangles = []
        for seconds in (0.01, *[1.0] * 12, *[0.001] * 40):
            for _ in renderer.pieces(view, 3):
                pass
            triangles.append(renderer.triangles)
            renderer.adapt(seconds)
        renderer.release()
    if renderer.software:
        assert triangles[12] < 0.5 * triangles[0]
        assert triangles[-1] == triangles[0]


@pytest.mark.parametrize("form", [HULLS, BOXES])
def test_small_robots_keep_the_outline_of_a_pedestal(form):
    """One box around the foot and the post of the double pendulum hid what swings before them."""
    model = engine.load(engine.find_robot("double_pendulum"))
    whole, simple = (Tiers(Scene(model).content).contents[k] for k in (WHOLE, form))
    base = 0
    volumes = []
    for content in (whole, simple):
        own = content.hulls[content.instances.link == base]
        volumes.append(np.prod(np.ptp(own, axis=1), axis=1).sum())
    assert volumes[1] < 2 * volumes[0]
    assert np.count_nonzero(simple.instances.link == base) <= 4
