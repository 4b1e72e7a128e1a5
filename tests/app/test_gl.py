"""The renderer: camera, scene, shaders, and pictures drawn without a window."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

import engine
from app.gl import context, mesh, meshfile, offscreen, scene, shaders, skeleton
from app.gl.camera import UPRIGHT, Camera
from app.gl.scene import Scene
from app.gl.view import View

DATA = Path(__file__).parent / "data"
SIZE = 320, 240
ARM = """<robot name="arm">
  <material name="blue"><color rgba="0.15 0.35 0.8 1"/></material>
  <material name="glass"><color rgba="0.9 0.5 0.1 0.4"/></material>
  <link name="base">
    <visual><origin xyz="0 0 0.1"/><geometry><box size="0.3 0.3 0.2"/></geometry></visual>
  </link>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <visual><origin xyz="0 0 0.25"/><geometry><cylinder radius="0.06" length="0.5"/></geometry>
      <material name="blue"/></visual>
    <visual><origin xyz="0 0 0.55"/><geometry><sphere radius="0.1"/></geometry><material name="glass"/></visual>
  </link>
  <joint name="hinge" type="continuous">
    <parent link="base"/><child link="arm"/><origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
  </joint>
</robot>
"""
MESHES = """<robot name="meshes">
  <link name="base">
    <visual><geometry><mesh filename="{file}" scale="2 1 1"/></geometry></visual>
    <visual><origin xyz="0 0 1"/><geometry><mesh filename="{file}"/></geometry></visual>
    <visual><origin xyz="0 3 0"/><geometry><mesh filename="missing.stl" scale="0.001 0.001 0.001"/></geometry></visual>
  </link>
</robot>
"""


@pytest.fixture
def arm(tmp_path) -> engine.Model:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    return engine.load(path)


@pytest.fixture
def load(tmp_path):
    """Loads a robot with the given mesh file twice, and with one that is missing."""

    def load(file: str) -> engine.Model:
        path = tmp_path / "meshes.urdf"
        path.write_text(MESHES.format(file=file), encoding="utf-8")
        return engine.load(path)

    return load


def project(camera: Camera, point, aspect: float = 1.0) -> np.ndarray:
    """Project a point of the world to the picture: x and y in -1…1, and depth."""
    clip = camera.projection(aspect) @ camera.view() @ np.append(point, 1.0)
    return clip[:3] / clip[3]


# The camera.


def test_orbit_goes_round_and_stops_short_of_the_poles():
    camera = Camera()
    eye = camera.eye
    camera.orbit(np.pi, 0)
    camera.orbit(np.pi, 0)
    np.testing.assert_allclose(camera.eye, eye, atol=1e-9)
    camera.orbit(0, 10)
    assert camera.elevation == UPRIGHT
    camera.orbit(0, -20)
    assert camera.elevation == -UPRIGHT


# Meshes.


@pytest.mark.parametrize(
    ("made", "extent", "area"),
    [
        (mesh.box(0.2, 0.4, 0.6), (0.2, 0.4, 0.6), 0.88),
        (mesh.box(0.2, 0.4, 0.6, 0), (0.2, 0.4, 0.6), 0.88),
        (mesh.cylinder(0.1, 0.5), (0.2, 0.2, 0.5), 0.377),
        (mesh.cylinder(0.1, 0.5, steps=0), (0.2, 0.2, 0.5), 0.377),
        (mesh.capsule(0.1, 0.5), (0.2, 0.2, 0.7), 0.440),
        (mesh.sphere(0.3), (0.6, 0.6, 0.6), 1.131),
    ],
)
def test_shapes_have_their_size_and_face_outwards(made, extent, area):
    np.testing.assert_allclose(np.ptp(made.vertices, 0), extent, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(made.normals, axis=1), 1, atol=1e-5)
    assert np.einsum("ij,ij->i", made.vertices, made.normals).min() > 0
    corners = made.vertices[made.faces].astype(float)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.linalg.norm(across, axis=1).sum() / 2 == pytest.approx(area, rel=0.05)
    assert np.einsum("ij,ij->i", across, made.normals[made.faces].mean(1)).min() > -1e-12


def test_normals_are_smooth_where_the_surface_is_and_sharp_at_edges():
    ball, cube = trimesh.creation.icosphere(3), trimesh.creation.box()
    made = mesh.from_triangles(ball.vertices, ball.faces, None)
    assert len(made.vertices) == len(ball.vertices)
    assert np.einsum("ij,ij->i", made.normals, made.vertices).min() > 0.999
    made = mesh.from_triangles(cube.vertices, cube.faces, None)
    assert len(made.vertices) == 24
    assert np.abs(made.normals).max(1).min() == pytest.approx(1)


def test_a_vertex_in_a_crowd_of_faces_still_has_its_normal():
    disk = trimesh.creation.cylinder(radius=1, height=0.2, sections=3 * mesh.CROWDED)
    made = mesh.from_triangles(disk.vertices, disk.faces, None)
    tip = np.abs(made.vertices[:, :2]).max(1) < 1e-6
    np.testing.assert_allclose(np.abs(made.normals[tip, 2]), 1, atol=1e-6)


def test_colours_of_parts_are_kept_and_one_colour_gives_way_to_the_robots(tmp_path):
    red, green = trimesh.creation.box(), trimesh.creation.icosphere()
    red.visual.face_colors, green.visual.face_colors = (255, 0, 0, 255), (0, 255, 0, 255)
    trimesh.Scene([red, green]).export(tmp_path / "two.ply")
    red.export(tmp_path / "one.ply")
    two, one = meshfile.read(tmp_path / "two.ply"), meshfile.read(tmp_path / "one.ply")
    assert two.painted
    assert {tuple(color[:3]) for color in two.colors.tolist()} == {(255, 0, 0), (0, 255, 0)}
    assert not one.painted
    assert one.color == (1, 0, 0, 1)


def test_a_collada_file_in_centimetres_with_a_broken_texture_is_drawn_in_metres(tmp_path):
    cube = trimesh.creation.box(extents=(10, 20, 30))
    text = trimesh.exchange.dae.export_collada(cube).decode()
    text = text.replace("<asset>", '<asset><unit name="centimeter" meter="0.01"/>')
    broken = '<diffuse><texture texture="nowhere" texcoord="UV"/></diffuse>'
    start, end = text.index("<diffuse>"), text.index("</diffuse>") + len("</diffuse>")
    path = tmp_path / "cube.dae"
    path.write_text(text[:start] + broken + text[end:], encoding="utf-8")
    made = meshfile.read(path)
    np.testing.assert_allclose(np.ptp(made.vertices, 0), (0.1, 0.2, 0.3), rtol=1e-5)


# Scenes.


def test_the_scene_of_an_arm(arm):
    built = Scene(arm)
    assert built.ready
    assert len(built.meshes) == 3
    assert built.instances.start.tolist() == [0, 1, 2, 3]
    assert [arm.link_names[link] for link in built.instances.link] == ["base", "arm", "arm"]
    np.testing.assert_allclose(built.instances.color[1], [0.15, 0.35, 0.8, 1])
    lower, upper = built.bounds(engine.link_poses(arm, [0.0]))
    np.testing.assert_allclose([lower, upper], [[-0.15, -0.15, 0], [0.15, 0.15, 0.85]], atol=5e-3)
    lower, upper = built.bounds(engine.link_poses(arm, [np.pi / 2]))
    np.testing.assert_allclose([lower, upper], [[-0.15, -0.15, 0], [0.65, 0.15, 0.3]], atol=5e-3)
    assert built.ground(engine.link_poses(arm, [np.pi])) == pytest.approx(-0.45, abs=5e-3)


def test_alike_shapes_share_a_mesh_and_crowds_are_stretched():
    chain = engine.chain(3, straight=True)
    few = Scene(chain)
    assert len(few.meshes) < len(few.instances.mesh)
    crowd = Scene(engine.chain(1000))
    assert len(crowd.meshes) == 2
    poses = engine.link_poses(engine.chain(1000), engine.chain(1000).neutral())
    assert crowd.matrices(poses).shape == (len(crowd.instances.mesh), 4, 4)


def test_a_robot_that_shows_nothing_is_drawn_as_its_skeleton(arm):
    bare = replace(arm, visuals=(), first_moment=np.array([[0.0, -0.5, 0.0]]))
    built = Scene(bare)
    kinds = [visual.shape for visual in skeleton.visuals(bare)]
    assert sorted(kinds) == ["cylinder", "cylinder", "sphere", "sphere"]
    center = engine.link_poses(bare, [0.0])[1, :3, :3].T @ (bare.link_rotation[1].T @ [0.0, -0.5, 0.0])
    for angle in (0.0, 1.0):
        poses = engine.link_poses(bare, [angle])
        matrices = built.matrices(poses)[:, :3, 3]
        shown = sorted(matrices.tolist())
        tip = poses[1, :3, :3] @ center / 2 + [0, 0, 0.2]
        np.testing.assert_allclose(shown, sorted([[0, 0, 0], [0, 0, 0.1], [0, 0, 0.2], tip.tolist()]), atol=1e-6)


def test_what_shows_nothing_has_its_skeleton_also_beside_others(arm):
    bare, ball = replace(arm, visuals=()), engine.free_body("sphere", (0.1,), 1.0)
    for parts in ((bare, ball), (ball, bare), (bare, ball, engine.Part(bare, prefix="again/"))):
        made, model = Scene(engine.compose(*parts)).content.instances, engine.compose(*parts)
        counts = [np.count_nonzero(model.part_of_link[made.link] == k) for k in range(len(parts))]
        assert counts == [1 if each is ball else len(skeleton.visuals(bare)) for each in parts]


def test_a_skeleton_has_no_bar_across_a_floating_joint():
    floating = engine.load(engine.find_robot("quadruped"))
    assert "world" in floating.link_names
    assert {visual.link for visual in skeleton.visuals(floating)} == set(np.flatnonzero(floating.link_body >= 0))


def test_meshes_are_read_once_in_the_background(load, tmp_path, monkeypatch):
    trimesh.creation.box().export(tmp_path / "cube.stl")
    reads: list[tuple[str, str]] = []
    read = meshfile.read

    def counted(path):
        reads.append((Path(path).name, threading.current_thread().name))
        return read(path)

    monkeypatch.setattr(meshfile, "read", counted)
    model = load("cube.stl")
    built, reported = Scene(model), []
    assert (built.meshes, built.progress) == ([], (0, 2))
    built.load(lambda: reported.append(built.ready))
    built.wait()
    assert built.ready
    assert reads == [("cube.stl", "mesh loader")]
    assert (len(reported), built.progress) == (2, (2, 2))
    assert built.meshes[0].faces.shape == (12, 3)
    np.testing.assert_allclose(built.instances.local[0][:3, :3], np.diag([2, 1, 1]))


def test_bars_of_the_skeleton_stand_for_links_whose_meshes_are_still_read(tmp_path):
    links = "".join(
        f'<link name="l{k}"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        f'<visual><geometry><mesh filename="{k}.stl"/></geometry></visual></link>'
        for k in range(3)
    )
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="0 0 0.5"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for k in range(2)
    )
    for k in range(3):
        trimesh.creation.box(extents=(0.1, 0.1, 0.1)).export(tmp_path / f"{k}.stl")
    path = tmp_path / "three.urdf"
    path.write_text(f'<robot name="three">{links}{joints}</robot>', encoding="utf-8")
    built, stages = Scene(model := engine.load(path)), []
    poses = engine.link_poses(model, model.neutral())

    def looked() -> None:
        built.update()
        bars = np.all(built.instances.color == np.float32(scene.OUTLINE), axis=1)
        stages.append((built.progress[0], sorted(built.instances.link[bars]), sorted(built.instances.link[~bars])))

    looked()
    lower, upper = built.bounds(poses)
    assert (lower[2], upper[2]) == pytest.approx(
        (0.0, 1.0), abs=0.05
    )  # so the camera stands right before a mesh has come
    built.load(looked)
    built.wait()
    assert stages == [(0, [0, 1], []), (1, [1], [0]), (2, [], [0, 1]), (3, [], [0, 1, 2])]
    built.close()
    (tmp_path / "1.stl").unlink()
    stages.clear()
    built = Scene(engine.load(path)).read()
    looked()
    assert stages == [(3, [1], [0, 1, 2])]  # a cross alone would not say where the link is
    built.close()


def test_a_missing_mesh_is_a_cross_and_a_broken_one_is_told_too(load, tmp_path):
    (tmp_path / "broken.obj").write_bytes(b"\x00\x01 no mesh")
    built, later = Scene(model := load("broken.obj")), Scene(model)
    built.read()
    assert built.meshes == [scene.MISSING, scene.MISSING]
    faults = {found.element: found.problem for found in built.diagnostics}
    assert set(faults) == {"mesh broken.obj"}  # engine.load has reported the other
    lower, upper = built.bounds(engine.link_poses(model, []))
    assert upper[1] == pytest.approx(3 + scene.PLACEHOLDER / 2)
    assert lower[2] == pytest.approx(-scene.PLACEHOLDER / 2)
    (tmp_path / "broken.obj").unlink()
    later.read()
    assert [found.problem for found in later.diagnostics] == [f"there is no file {tmp_path / 'broken.obj'}"]


def test_closing_ends_the_loader(load, tmp_path):
    trimesh.creation.icosphere(5).export(tmp_path / "ball.stl")
    built = Scene(load("ball.stl"))
    built.load()
    built.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "mesh loader"]


# Shaders and pictures.


def test_includes_are_put_in_with_their_lines(tmp_path):
    (tmp_path / "part.glsl").write_text("float one;\n")
    (tmp_path / "main.frag").write_text('#version 330 core\n#include "part.glsl"\nvoid main() {}\n')
    text, files = shaders.source(tmp_path / "main.frag", {"TAPS": 3})
    assert [path.name for path in files] == ["main.frag", "part.glsl"]
    assert text.splitlines() == [
        "#version 330 core", "#define TAPS 3", "#line 2 0", "#line 1 1", "float one;", "#line 3 0", "void main() {}",
    ]  # fmt: skip


@pytest.mark.parametrize("log", ["1:7(5): error: no", "1(7) : error C1: no", "ERROR: 1:7: no"])
def test_errors_of_every_driver_name_file_and_line(log):
    assert shaders.explain(log, [Path("robot.frag"), Path("light.glsl")]).startswith("light.glsl:7:")


@pytest.mark.usefixtures("gl")
def test_a_shader_that_does_not_compile_says_where(tmp_path):
    (tmp_path / "bad.vert").write_text("#version 330 core\nvoid main() { gl_Position = vec4(0.0); }\n")
    (tmp_path / "light.glsl").write_text("float fine() { return 1.0; }\nfloat wrong() { return nothing; }\n")
    (tmp_path / "bad.frag").write_text('#version 330 core\nout vec4 c;\n#include "light.glsl"\nvoid main() {}\n')
    with context.offscreen(), pytest.raises(shaders.ShaderError, match=r"bad\.frag does not compile") as caught:
        shaders.program(tmp_path / "bad.vert", tmp_path / "bad.frag")
    assert "light.glsl:2:" in str(caught.value)


def picture(model, q, size=SIZE, camera=None):
    poses = engine.link_poses(model, model.neutral() if q is None else q)
    return offscreen.draw(Scene(model).read(), poses, *size, camera)


@pytest.mark.usefixtures("gl")
def test_the_picture_of_an_arm_is_the_stored_one(arm):
    drawn = picture(arm, [0.6])
    assert drawn.shape == (240, 320, 3)
    assert drawn.dtype == np.uint8
    stored = np.asarray(Image.open(DATA / "arm.png"))
    away = np.abs(drawn.astype(int) - stored)
    # Drivers differ along edges, and by a shade elsewhere.
    assert away.mean() < 2
    assert (away.max(-1) > 40).mean() < 0.01


@pytest.mark.usefixtures("gl")
def test_moving_a_joint_changes_the_picture_where_the_link_was_and_is(arm):
    camera = Camera(np.array([0, 0, 0.4]), 3.0, -np.pi / 2, 0.2)
    upright, tilted = (picture(arm, [q], camera=camera).astype(int) for q in (0.0, 0.9))

    def changed(point) -> int:
        x, y, _ = project(camera, point, SIZE[0] / SIZE[1])
        column, row = int((x + 1) / 2 * SIZE[0]), int((1 - y) / 2 * SIZE[1])
        return int(np.abs(upright[row, column] - tilted[row, column]).max())

    assert changed([0, 0, 0.6]) > 30
    assert changed([0.3 * np.sin(0.9), 0, 0.2 + 0.3 * np.cos(0.9)]) > 30
    assert changed([0, -0.15, 0.1]) < 4
    assert np.abs(upright - tilted)[:20].max() < 4


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("detail", [0, 1])
def test_a_body_far_away_leaves_the_robots_shadow_as_sharp_as_it_was(arm, detail):
    model = engine.compose(engine.Part(arm, prefix=""), engine.free_body("box", (0.1, 0.1, 0.1), 1.0, "cube"))
    camera, pictures = Camera(), []
    camera.fit(*Scene(arm).bounds(engine.link_poses(arm, [0.3])))
    camera.zoom(0.5)
    for x in (-30.0, -100.0, -5000.0):
        poses = engine.link_poses(model, [0.3, x, -5 * abs(x), 0.05, 0.0, 0.0, 0.0, 1.0])
        pictures.append(offscreen.draw(Scene(model), poses, 400, 300, camera, detail=detail).astype(int))
    alone = offscreen.draw(Scene(arm), engine.link_poses(arm, [0.3]), 400, 300, camera, detail=detail)
    for drawn in pictures:
        assert np.abs(drawn - alone).max() < 8


@pytest.mark.usefixtures("gl")
def test_a_caller_keeps_its_own_context(arm):
    from OpenGL import GL

    with context.offscreen():
        buffer = int(GL.glGenBuffers(1))
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, buffer)
        picture(arm, None, (64, 48))
        assert GL.glGetIntegerv(GL.GL_ARRAY_BUFFER_BINDING) == buffer


@pytest.mark.usefixtures("gl")
def test_the_renderer_leaves_the_state_as_qpainter_expects_it(arm):
    from OpenGL import GL

    from app.gl.renderer import DETAILS, Renderer

    with context.offscreen():
        target = target_of(*SIZE)
        renderer = Renderer()
        renderer.initialize()
        view = View(Scene(arm).content, engine.link_poses(arm, [0.3]), Camera(), 0.0, SIZE)
        for detail in range(len(DETAILS)):
            renderer.draw(view, detail)
            assert GL.glGetIntegerv(GL.GL_DRAW_FRAMEBUFFER_BINDING) == target
            for name in (GL.GL_CURRENT_PROGRAM, GL.GL_VERTEX_ARRAY_BINDING, GL.GL_TEXTURE_BINDING_2D):
                assert GL.glGetIntegerv(name) == 0
            for name in (GL.GL_DEPTH_TEST, GL.GL_BLEND, GL.GL_POLYGON_OFFSET_FILL, GL.GL_SAMPLE_ALPHA_TO_COVERAGE):
                assert not GL.glIsEnabled(name)
            assert np.all(GL.glGetBooleanv(GL.GL_COLOR_WRITEMASK))
            assert GL.glGetIntegerv(GL.GL_VIEWPORT).tolist() == [0, 0, *SIZE]
            assert 0 < renderer.upload_seconds <= renderer.draw_seconds
        renderer.release()


@pytest.mark.usefixtures("gl")
def test_a_renderer_draws_again_in_a_new_context(arm):
    from app.gl.renderer import Renderer

    renderer, pictures = Renderer(), []
    robot = View(Scene(arm).content, engine.link_poses(arm, [0.3]), Camera(), 0.0, SIZE)
    for _ in range(2):
        with context.offscreen():
            target_of(*SIZE)
            renderer.initialize()
            renderer.draw(robot)
            pictures.append(pixels_of(*SIZE))
            renderer.draw(View(None, None, Camera(), 0.0, SIZE))
            pictures.append(pixels_of(*SIZE))
    np.testing.assert_array_equal(pictures[0], pictures[2])
    np.testing.assert_array_equal(pictures[1], pictures[3])
    assert np.abs(pictures[0].astype(int) - pictures[1]).max() > 60


@pytest.mark.usefixtures("gl")
def test_a_thousand_links_are_drawn():
    model = engine.chain(1000)
    drawn = picture(model, None)
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 200


def target_of(width: int, height: int) -> int:
    """A framebuffer of that size, bound."""
    from OpenGL import GL

    framebuffer, color = int(GL.glGenFramebuffers(1)), int(GL.glGenRenderbuffers(1))
    GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, color)
    GL.glRenderbufferStorage(GL.GL_RENDERBUFFER, GL.GL_RGBA8, width, height)
    GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
    GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, GL.GL_RENDERBUFFER, color)
    return framebuffer


def pixels_of(width: int, height: int) -> np.ndarray:
    from OpenGL import GL

    pixels = np.empty((height, width, 4), np.uint8)
    GL.glReadPixels(0, 0, width, height, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, pixels)
    return pixels
