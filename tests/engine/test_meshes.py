"""Collision meshes: one hull, or several if the file has convex parts; meshes without volume are refused."""

import numpy as np
import pytest
import trimesh

import engine
from engine.scene.cached_hulls import hulls

TABLE = """<robot name="table"><link name="table">
<inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><mesh filename="{mesh}" scale="1 1 {scale}"/></geometry></collision></link></robot>"""


def box(size, at) -> trimesh.Trimesh:
    mesh = trimesh.creation.box(extents=size)
    mesh.apply_translation(at)
    return mesh


TOP = box([0.6, 0.4, 0.02], [0, 0, 0.21])
LEGS = [box([0.02, 0.02, 0.2], [x, y, 0.1]) for x in (-0.29, 0.29) for y in (-0.19, 0.19)]
BALL = trimesh.creation.icosphere(subdivisions=1, radius=0.1)


def save(meshes, path, names: bool = True) -> str:
    """Meshes in an .obj of several objects, with vertices of their own; or in one of any other kind."""
    if path.suffix != ".obj":
        (trimesh.Scene(meshes) if path.suffix == ".glb" else trimesh.util.concatenate(meshes)).export(path)
        return str(path)
    lines, before = [], 1
    for number, mesh in enumerate(meshes):
        lines += [f"o part{number}"] if names else []
        lines += [f"v {x} {y} {z}" for x, y, z in mesh.vertices]
        lines += [f"f {a} {b} {c}" for a, b, c in mesh.faces + before]
        before += len(mesh.vertices)
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.parametrize("kind", ["objects.obj", "plain.obj", "scene.glb", "soup.stl"])
def test_each_convex_part_has_a_hull(tmp_path, kind):
    apart = [box([0.1, 0.2, 0.3], [k, 0, 0]) for k in range(3)] + [BALL.copy().apply_translation([0, 1, 0])]
    found = hulls(save(apart, tmp_path / kind, names=kind.startswith("objects")))
    assert sorted(map(len, found)) == [8, 8, 8, len(BALL.vertices)]
    middles = sorted(tuple(np.round((corners.min(0) + corners.max(0)) / 2, 6)) for corners in found)
    assert middles == [(0, 0, 0), (0, 1, 0), (1, 0, 0), (2, 0, 0)]


@pytest.mark.parametrize("kind", ["objects.obj", "scene.glb"])
def test_parts_that_touch_stay_parts(tmp_path, kind):
    assert len(hulls(save([TOP, *LEGS], tmp_path / kind))) == 5


def test_a_part_that_is_hollow_or_open_leaves_one_hull(tmp_path):
    cup = trimesh.creation.annulus(0.05, 0.1, 0.2).apply_translation([1, 0, 0])
    open_ = trimesh.Trimesh(TOP.vertices, TOP.faces[:-1], process=False)
    sheet = trimesh.Trimesh([[2, 0, 0], [3, 0, 0], [2, 1, 0]], [[0, 1, 2]], process=False)
    for number, other in enumerate((cup, open_, sheet)):
        (corners,) = hulls(save([BALL, other], tmp_path / f"{number}.obj"))
        assert np.max(corners, 0) == pytest.approx(np.max([BALL.bounds[1], other.bounds[1]], 0), abs=1e-6)


def test_a_single_mesh_has_its_hull(tmp_path):
    for number, mesh in enumerate((BALL, trimesh.creation.annulus(0.05, 0.1, 0.2))):
        (corners,) = hulls(save([mesh], tmp_path / f"{number}.stl"))
        np.testing.assert_allclose(np.ptp(corners, 0), np.ptp(mesh.vertices, 0), atol=1e-6)


@pytest.mark.parametrize("text", ["v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 3 4\n", "v 0 0 0\n", ""])
def test_a_mesh_without_a_volume_is_refused_in_one_sentence(tmp_path, text):
    path = tmp_path / "sheet.obj"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"sheet\.obj") as refused:
        hulls(str(path))
    assert "\n" not in str(refused.value)


def test_a_table_of_five_boxes_stands_on_its_legs_and_leaves_room_below(tmp_path):
    """Its hull would be a block: a ball rolls between the legs, and the top carries what lies on it."""
    path = tmp_path / "table.urdf"
    path.write_text(TABLE.format(mesh=save([TOP, *LEGS], tmp_path / "table.obj"), scale=2))
    model = engine.load(path, floating=True)
    below = engine.Obstacle("sphere", (0.1,), (0.0, 0.0, 0.15))
    scene = engine.Scene(obstacles=(below,))
    simulation = engine.Simulation(model, q=engine.put_down(model, scene, model.neutral()), scene=scene)
    simulation.step(50)
    number = simulation.contacts.number[0]
    assert number == 16
    np.testing.assert_allclose(simulation.contacts.point[0, :number, 2], 0, atol=1e-6)
    assert simulation.q[0, 2] == pytest.approx(0, abs=1e-6)


def test_a_table_lies_on_an_obstacle_between_its_legs(tmp_path):
    path = tmp_path / "table.urdf"
    path.write_text(TABLE.format(mesh=save([TOP, *LEGS], tmp_path / "table.obj"), scale=1))
    model = engine.load(path, floating=True)
    scene = engine.Scene(obstacles=(engine.Obstacle("box", (0.3, 0.2, 0.3), (0.0, 0.0, 0.15)),))
    q = model.neutral()
    q[2] = 0.101
    simulation = engine.Simulation(model, q=q, scene=scene)
    simulation.step(200)
    assert simulation.contacts.number[0] == 4
    assert simulation.q[0, 2] == pytest.approx(0.1, abs=1e-5)


def test_a_mesh_in_words_may_begin_with_a_byte_order_mark(tmp_path):
    cube = trimesh.creation.box((1, 2, 3))
    path = tmp_path / "marked.stl"
    path.write_bytes(b"\xef\xbb\xbf" + trimesh.exchange.stl.export_stl_ascii(cube).encode())
    (corners,) = hulls(str(path))
    np.testing.assert_allclose(np.ptp(corners, axis=0), (1, 2, 3))
