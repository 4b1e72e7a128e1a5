"""The backdrop in both palettes: its colours are as named, and contrast with what is drawn before it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from test_gl import project

import engine
from app.desktop import theme
from app.features.appearance import Appearance
from app.gl import contact_marks, context, glyphs, offscreen, pushes
from app.gl.backdrop import DARK, KNEE, LIGHT
from app.gl.camera import Camera
from app.gl.extras import Extras
from app.gl.scene import Scene
from app.gl.view import View

BACKDROPS = {"dark": DARK, "light": LIGHT}
GROUNDS = ("zenith", "horizon", "floor")


def named(color) -> str:
    return "#" + "".join(f"{round(255 * min(part, 1.0)):02x}" for part in color[:3])


@pytest.mark.parametrize("name", list(BACKDROPS))
def test_what_is_drawn_over_robots_is_told_from_the_backdrop(name):
    """WCAG 2.1, 1.4.11 asks 3 to 1 of marks; the floor, the sky and their border are all behind them."""
    backdrop = BACKDROPS[name]
    over = [glyphs.X, glyphs.Y, glyphs.Z, glyphs.REVOLUTE_COLOR, glyphs.PRISMATIC_COLOR, glyphs.MASS, glyphs.WHOLE]
    over += [(*glyphs.TRAIL, 1.0), pushes.PUSH, *contact_marks.COLORS.values()]
    least = min(
        theme.contrast(named(color), getattr(backdrop, ground))
        for color, ground in itertools.product(backdrop.inked(np.array(over)), GROUNDS)
    )
    assert least >= 2.95, least


@pytest.mark.parametrize("name", list(BACKDROPS))
def test_the_grid_is_seen_and_does_not_shout(name):
    backdrop = BACKDROPS[name]
    floor, line = (
        np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) for color in (backdrop.floor, backdrop.line)
    )
    cover = 0.24 * backdrop.strength
    mixed = named((cover * line + (1 - cover) * floor) / 255)
    assert 1.15 <= theme.contrast(mixed, backdrop.floor) <= 2.6


def picture(studio_view, backdrop) -> np.ndarray:
    from app.gl import context
    from app.gl.renderer import Renderer

    with context.offscreen():
        renderer = Renderer(fine=True)
        renderer.initialize()
        for _ in renderer.pieces(replace(studio_view, extras=replace(studio_view.extras, backdrop=backdrop))):
            pass
        pixels = renderer.pixels()[..., 2::-1]
        renderer.release()
    return pixels


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("name", list(BACKDROPS))
def test_a_picture_has_the_colours_that_the_backdrop_names(name):
    backdrop = BACKDROPS[name]
    model = engine.load(engine.find_robot("pendulum"))
    scene = Scene(model).read()
    poses = np.asarray(engine.link_poses(model, model.neutral()))
    level = Camera(distance=6.0, elevation=0.0)  # looks along the ground: the horizon is in the middle
    up = Camera(distance=6.0, elevation=-1.5)  # from below, at the sky
    for camera, ground in ((level, "horizon"), (up, "zenith")):
        seen = picture(View(scene.content, poses, camera, -50.0, (160, 120), extras=Extras()), backdrop)
        corner = np.median(seen[58:62, :6].reshape(-1, 3), 0)
        wanted = [int(getattr(backdrop, ground)[k : k + 2], 16) for k in (1, 3, 5)]
        np.testing.assert_allclose(corner, wanted, atol=14)


BALL = """<robot name="ball"><link name="a"><visual><geometry><sphere radius="1"/></geometry>
<material name="m"><color rgba="{0}"/></material></visual></link></robot>"""


@pytest.mark.usefixtures("gl")
def test_a_black_robot_is_set_off_the_dark_ground_and_a_bright_one_keeps_its_colours(tmp_path):
    def drawn(rgba: str, backdrop) -> np.ndarray:
        path = tmp_path / "ball.urdf"
        path.write_text(BALL.format(rgba))
        model = engine.load(path)
        poses = np.asarray(engine.link_poses(model, model.neutral()))
        view = View(Scene(model).read().content, poses, Camera(distance=4.0), -1.0, (160, 120), extras=Extras())
        return picture(view, backdrop)[20:100, 40:120].astype(int)

    black, before = (drawn("0.02 0.02 0.02 1", each) for each in (DARK, replace(DARK, sheen=0.0)))
    lighter = (black - before).mean(2)
    assert lighter.max() > 50  # along the outline
    assert np.median(lighter) > 8
    assert np.array_equal(*(drawn("0.9 0.6 0.1 1", each) for each in (DARK, replace(DARK, sheen=0.0))))
    assert LIGHT.sheen == 0.0


def test_radiance_and_the_shader_agree_on_the_knee():
    text = (theme.RESOURCES / "shaders" / "light.glsl").read_text()
    assert f"KNEE = {KNEE}" in text


def test_the_viewport_follows_the_theme(opened):
    window = opened()
    for name, backdrop in BACKDROPS.items():
        window.features[Appearance].actions[name].trigger()
        assert window.viewport.view_of((320, 240)).extras.backdrop is backdrop
        image = window.viewport.picture()
        corner = image.pixelColor(4, 4).lightnessF()
        assert (corner > 0.6) if name == "light" else (corner < 0.4)
    window.features[Appearance].actions["dark"].trigger()


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("detail", [0, 1])
def test_a_shadow_on_the_ground_has_a_soft_edge(detail):
    """Also on a software renderer that has to be fast: several texels of the shadow map wide, and nowhere else gray."""
    from OpenGL import GL

    from app.gl.renderer import Renderer

    box = engine.free_body("box", (0.4, 0.4, 0.4), 1.0, "box")
    camera, width, height, seen = Camera(np.array([-0.5, 0.0, 0.0]), 0.1, -np.pi / 2, np.pi / 2 - 1e-3), 600, 300, []
    with context.canvas(width, height):
        renderer = Renderer()
        renderer.initialize()
        content = Scene(box).read().content
        GL.glPixelStorei(GL.GL_PACK_ALIGNMENT, 1)
        for x in (50.0, 0.0):  # without the shadow, then with it
            poses = engine.link_poses(box, [x, 0, 0.2, 0, 0, 0, 1])
            renderer.draw(View(content, poses, camera, 0.0, (width, height)), detail)
            pixels = np.empty((height, width, 3), np.uint8)
            GL.glReadPixels(0, 0, width, height, GL.GL_RGB, GL.GL_UNSIGNED_BYTE, pixels)
            seen.append(pixels[height // 2 - 5 : height // 2 + 5].mean(axis=(0, 2)))
        texel = renderer._texel
        renderer.release()
    away = seen[0] - seen[1]
    ends = [project(camera, np.array([x, 0.0, 0.0]), width / height)[0] for x in (-0.5, -0.49)]
    pixel = 0.01 / ((ends[1] - ends[0]) / 2 * width)  # m
    shade = away / np.median(away[-50:])
    edge = np.count_nonzero((shade > 0.1) & (shade < 0.9)) * pixel / texel
    assert 5.0 < edge < 11.0


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("detail", [0, 1])
def test_the_shadow_of_what_is_translucent_is_lighter_and_even(tmp_path, detail):
    """Of a board above a camera that looks at the ground: half the samples of its shadow map, or three quarters."""
    camera, seen = Camera(np.array([-0.75, 0.15, 0.0]), 0.5, -np.pi / 2, np.pi / 2 - 1e-3), {}
    for opacity in (0.2, 0.6, 0.8, 1.0):
        path = tmp_path / f"{opacity}.urdf"
        path.write_text(
            '<robot name="board"><link name="board"><visual><origin xyz="0 0 1"/><geometry><box size="1 1 0.02"/>'
            f'</geometry><material name="m"><color rgba="1 1 1 {opacity}"/></material></visual></link></robot>',
            "utf-8",
        )
        model = engine.load(path)
        poses = engine.link_poses(model, model.neutral())
        seen[opacity] = offscreen.draw(Scene(model), poses, 120, 90, camera, detail=detail)[..., :3].astype(float)
    away = {opacity: (seen[0.2] - drawn)[20:70, 30:90] for opacity, drawn in seen.items()}
    dark = np.median(away[1.0])
    assert dark > 15
    for opacity, share in ((0.6, 0.5), (0.8, 0.75), (1.0, 1.0)):
        assert np.median(away[opacity]) / dark == pytest.approx(share, abs=0.1), opacity
        assert away[opacity].mean(2).std() < 0.1 * dark, opacity


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("detail", [1, 2, 3])
def test_a_draft_of_what_is_translucent_is_not_chequered(tmp_path, detail):
    """Every other pixel of it is left out, and in a lower resolution those were seen one by one."""
    path = tmp_path / "board.urdf"
    path.write_text(
        '<robot name="board"><link name="board"><visual><geometry><box size="2 2 2"/></geometry>'
        '<material name="m"><color rgba="0.9 0.5 0.2 0.4"/></material></visual></link></robot>',
        "utf-8",
    )
    model = engine.load(path)
    camera = Camera(np.zeros(3), 2.2, -np.pi / 2, 0.0)  # at one side
    drawn = offscreen.draw(Scene(model), engine.link_poses(model, model.neutral()), 240, 180, camera, detail=detail)
    red = drawn[60:120, 80:160, 0].astype(float)
    assert red.mean() > 60
    assert np.abs(np.diff(red, axis=1)).max() < 0.15 * red.mean()


def test_the_bars_of_a_link_whose_mesh_is_read_are_opaque(tmp_path):
    """Else they are dotted where a pixel has one sample, above a full shadow."""
    path = tmp_path / "waiting.urdf"
    path.write_text(
        '<robot name="waiting"><link name="a"><visual><geometry><mesh filename="none.stl"/></geometry></visual></link>'
        '<link name="b"/><joint name="j" type="fixed"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/></joint>'
        "</robot>",
        "utf-8",
    )
    content = Scene(engine.load(path)).content
    assert len(content.instances.color)
    assert np.all(content.instances.color[:, 3] == 1.0)
