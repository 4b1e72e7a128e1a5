"""Small meshes with large demands: each is accepted or refused in a sentence, within limits of time and memory.

One child process reads them all; no thread of the program waits for it while holding the interpreter's lock.
"""

import base64
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import trimesh
from lock_delay import allowed, watched
from PIL import Image

import engine
from app.gl import meshfile
from engine.scene import mesh_reader
from engine.scene.cached_hulls import hulls, prepare, with_edges
from engine.scene.hull_faces import edges

if sys.platform != "linux":
    pytest.skip("time and memory of processes are read from /proc", allow_module_level=True)

SECONDS, MEMORY = 2.0, 300 << 20
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 1\nvt 0 1\nvt 1 0\n"
FACES = "f 1/1 3/3 2/2\nf 1/1 2/2 4/4\nf 1/1 4/4 3/3\nf 2/2 3/3 4/4\n"


def collada(before: str = "", nodes: str = '<node><instance_geometry url="#g"/></node>') -> str:
    source = """<source id="p"><float_array id="n" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array><technique_common>
<accessor source="#n" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>"""
    return f"""<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset/><library_geometries><geometry id="g"><mesh>{source}
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh>
</geometry></library_geometries>{before}<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def effects(text: str) -> str:
    return f'<library_effects><effect id="e"><profile_COMMON>{text}</profile_COMMON></effect></library_effects>'


def nested(levels: int) -> str:
    nodes = [f'<node id="n{k}">' + f'<instance_node url="#n{k - 1}"/>' * 10 + "</node>" for k in range(1, levels + 1)]
    library = f'<library_nodes><node id="n0"><instance_geometry url="#g"/></node>{"".join(nodes)}</library_nodes>'
    return collada(library, f'<node><instance_node url="#n{levels}"/></node>')


def gltf(nodes: list[dict], points: dict | None = None, primitives: int = 1) -> str:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "<f4").tobytes()
    content = corners + np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], "<u2").tobytes()
    placed = {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"}
    return json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}] * primitives}],
        "accessors": [points or placed, {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"}],
        "bufferViews": [{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 24}],
        "buffers": [{"byteLength": 72, "uri": f"data:x;base64,{base64.b64encode(content).decode()}"}],
    })  # fmt: skip


def stl(corners: np.ndarray) -> bytes:
    made = np.zeros(len(corners), np.dtype([("n", "<f4", 3), ("corners", "<f4", (3, 3)), ("a", "<u2")]))
    made["corners"] = corners
    return bytes(80) + len(corners).to_bytes(4, "little") + made.tobytes()


def prism(count: int) -> bytes:
    """Triangles between two circles, whose faces Qhull merges in quadratic time."""
    turn = np.linspace(0, 2 * np.pi, count // 2, endpoint=False) + 1e-5 * np.sin(np.arange(count // 2) ** 2)
    low = np.stack([np.cos(turn), np.sin(turn), 0 * turn], 1)
    high = low + np.array([0, 0, 1])
    return stl(
        np.concatenate([np.stack([low, np.roll(low, -1, 0), high], 1), np.stack([high, np.roll(high, -1, 0), low], 1)])
    )


def ball() -> bytes:
    points = np.random.default_rng(1).normal(size=(20_000, 3, 3))
    return stl(points / np.linalg.norm(points, axis=-1, keepdims=True))


def materials(folder: Path, count: int, side: int, mode: str = "RGB") -> str:
    Image.new(mode, (side, side), (200, 10, 10) if mode == "RGB" else 1).save(folder / "paint.png", compress_level=1)
    (folder / "many.mtl").write_text("".join(f"newmtl m{k}\nmap_Kd paint.png\n" for k in range(count)))
    return "mtllib many.mtl\n" + TETRAHEDRON + "".join(f"usemtl m{k}\n{FACES}" for k in range(count))


ROW = "facet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 .5\nendloop\nendfacet\n"
ROUND = [f"{np.cos(t):.4f} {np.sin(t):.4f} {t:.2f}\n" for t in np.linspace(0, 6, 30_000)]
ATTACKS: dict[str, Callable[[Path], str | bytes]] = {
    "nested_nodes.dae": lambda _: nested(9),
    "many_nodes.dae": lambda _: collada(nodes='<node><instance_geometry url="#g"/></node>' * 20_000),
    "textures.dae": lambda _: collada(effects('<texture texture="zz" >' * 40_000)),
    "closed_textures.dae": lambda _: collada(effects('<newparam sid="a"/>' + '<texture texture="zz" />' * 40_000)),
    "parameters.dae": lambda _: collada(effects('<newparam sid="a"><sampler2D><source>q</source>' * 20_000)),
    "unclosed_parameters.dae": lambda _: collada(effects("<newparam" * 100_000)),
    "count.gltf": lambda _: gltf([{"mesh": 0}], {"componentType": 5126, "count": 10**8, "type": "VEC3"}),
    "nested.gltf": lambda _: gltf([{"children": [k + 1], "mesh": 0} for k in range(2999)] + [{"mesh": 0}]),
    "primitives.gltf": lambda _: gltf([{"mesh": 0}], primitives=15_000),
    "brackets.gltf": lambda _: "[" * 1_000_000,
    "thirty_textures.obj": lambda folder: materials(folder, 30, 13_000),
    "one_texture_often.obj": lambda folder: materials(folder, 30, 4096),
    "objects.obj": lambda _: TETRAHEDRON + "".join(f"o p{k}\nf 1/1 3/3 2/2\n" for k in range(38_000)),
    "one_face.obj": lambda _: "v " + "v ".join(ROUND) + "f " + " ".join(map(str, range(1, 30_001))) + "\n",
    "one_face.off": lambda _: "OFF\n30000 1 0\n" + "".join(ROUND) + "30000 " + " ".join(map(str, range(30_000))) + "\n",
    "comment.off": lambda _: "OFF\n" + "#" * 1_000_000,
    "properties.ply": lambda _: "ply\nformat ascii 1.0\n"
    + "element vertex 1\nproperty float x\n" * 20_000 + "end_header\n",
    "solids.stl": lambda _: f"solid a\n{ROW}endsolid\n" * 8000,
    "prism.stl": lambda _: prism(20_000),
    "small_prism.stl": lambda _: prism(2000),
    "ball.stl": lambda _: ball(),
}  # fmt: skip


WHY = {
    "nested_nodes.dae": "it takes more (time|memory) than a file of 3.. kB may; give a simpler mesh",
    "count.gltf": "it takes more memory than a file of 0.. kB may; give a simpler mesh",
    "prism.stl": "it takes more time than a file of 1.0 MB may; give a simpler mesh",
}
"""Files that are refused, and the reasons."""


class Use:
    """The memory used by this thread and the mesh reader from now on, beyond the reader's start."""

    def __init__(self, folder: Path):
        (folder / "first.dae").write_text(collada(), "utf-8")
        engine.read_mesh(folder / "first.dae")  # so that the process runs, and has imported all
        self._reader = mesh_reader.reader().process
        Path(f"/proc/{self._reader.pid}/clear_refs").write_text("5")  # its peak of memory is that from here on
        self._before, self._own, self._room = self._seconds(), time.thread_time(), self._memory()
        self._ended, self._peak = self._of_ended(), 0

    def _seconds(self) -> float:
        words = Path(f"/proc/{self._reader.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def _memory(self) -> int:
        lines = Path(f"/proc/{self._reader.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) << 10

    @staticmethod
    def _of_ended() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    @property
    def seconds(self) -> float:
        now = self._seconds() if self._reader.poll() is None else self._of_ended() - self._ended
        return now - self._before + time.thread_time() - self._own

    def look(self) -> None:
        """Note the memory that the reader has had so far."""
        with suppress(OSError, StopIteration):  # it has ended
            self._peak = max(self._peak, self._memory())

    @property
    def memory(self) -> int:
        """The most bytes that the reader was seen to have."""
        self.look()
        return self._peak - self._room


@pytest.mark.sample(len(ATTACKS))
@pytest.mark.parametrize("read", [hulls, meshfile.read], ids=["touched", "drawn"])
@pytest.mark.parametrize("name", ATTACKS)
def test_a_small_mesh_takes_little(name: str, read: Callable[[str], object], tmp_path: Path) -> None:
    made = ATTACKS[name](tmp_path)
    path = tmp_path / name
    path.write_bytes(made if isinstance(made, bytes) else made.encode())
    assert path.stat().st_size < 1.1e6
    use = Use(tmp_path)
    with watched(use.look) as longest:
        try:
            read(str(path))
            refused = ""
        except ValueError as fault:
            refused = str(fault)
            assert name in refused
            assert refused.isprintable()
            assert len(refused) < 600
    assert longest[0] < allowed(longest[0])
    assert use.seconds < 1.1 * SECONDS  # clocks of processes tick a hundred times a second, on busy machines less
    assert use.memory < MEMORY
    if name in WHY and (read is hulls or name != "prism.stl"):  # only what touches has a hull
        before = "the collision mesh .*" if read is hulls else ""
        assert re.match(f"{before}{name} cannot be read: {WHY[name]}", refused)
    (tmp_path / "next.dae").write_text(collada(), "utf-8")
    assert len(hulls(str(tmp_path / "next.dae"))[0]) == 4


def test_textures_beyond_the_bound_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(materials(tmp_path, 3, 13_000, mode="1"))
    with pytest.raises(ValueError, match=r"its textures have 169 million pixels, and at most .* give smaller pictures"):
        meshfile.read(tmp_path / "a.obj")
    assert len(hulls(str(tmp_path / "a.obj"))) == 3  # no texture touches anything


def test_one_texture_of_many_materials_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(materials(tmp_path, 200, 2048))
    drawn = meshfile.read(tmp_path / "a.obj")
    assert len(drawn.faces) == 800
    np.testing.assert_allclose(drawn.color, np.array([200, 10, 10, 255]) / 255)


def test_parts_that_are_repeated_beyond_what_a_file_holds_are_told(tmp_path: Path) -> None:
    grid = trimesh.creation.icosphere(subdivisions=5)
    scene = trimesh.Scene()
    for k in range(60):
        scene.add_geometry(
            grid, geom_name="ball", node_name=f"n{k}", transform=trimesh.transformations.translation_matrix([k, 0, 0])
        )
    scene.export(tmp_path / "many.glb")
    with pytest.raises(ValueError, match="it repeats its parts up to 1228800 triangles, and at most"):
        engine.read_mesh(tmp_path / "many.glb")


def test_one_process_reads_all_meshes_of_a_robot(tmp_path: Path) -> None:
    pids = set()
    for k in range(40):
        (tmp_path / f"{k}.obj").write_text(TETRAHEDRON + FACES)
        hulls(str(tmp_path / f"{k}.obj"))
        assert len(engine.read_mesh(tmp_path / f"{k}.obj")) == 1
        pids.add(mesh_reader.reader().process.pid)
    assert len(pids) == 1


def test_a_simple_binary_stl_needs_no_process(tmp_path: Path) -> None:
    trimesh.creation.box().export(tmp_path / "box.stl")
    mesh_reader.reader().end()
    assert len(hulls(str(tmp_path / "box.stl"))[0]) == 8
    assert len(engine.read_mesh(tmp_path / "box.stl")[0].triangles) == 12
    assert mesh_reader.reader().process is None


def test_a_process_that_is_killed_while_it_waits_is_started_again(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(TETRAHEDRON + FACES)
    engine.read_mesh(tmp_path / "a.obj")
    mesh_reader.reader().process.kill()
    mesh_reader.reader().process.wait()
    assert len(engine.read_mesh(tmp_path / "a.obj")[0].triangles) == 4


def test_after_ctrl_c_the_next_file_is_not_answered_by_the_last(tmp_path: Path, monkeypatch) -> None:
    for name, scale in (("one", 1), ("two", 2)):
        mesh = trimesh.creation.box((scale, scale, scale))
        mesh.export(tmp_path / f"{name}.obj")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(mesh_reader, "_received", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine.read_mesh(tmp_path / "one.obj")
    (part,) = engine.read_mesh(tmp_path / "two.obj")
    np.testing.assert_allclose(np.ptp(part.vertices, 0), 2)


def test_a_process_that_is_killed_while_it_answers_is_told_and_started_again(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "a.obj").write_text(TETRAHEDRON + FACES)
    received = mesh_reader._received

    def killed(stream: object, *what: object) -> np.ndarray:
        mesh_reader.reader().process.kill()
        mesh_reader.reader().process.wait()
        return received(stream, what[0], [1 << 20])

    with monkeypatch.context() as patched:
        patched.setattr(mesh_reader, "_received", killed)
        with pytest.raises(
            ValueError, match=r"^the collision mesh .*a\.obj cannot be read: the process .* ended early"
        ):
            hulls(str(tmp_path / "a.obj"))
    assert len(hulls(str(tmp_path / "a.obj"))[0]) == 4


SCRIPT = """
import engine, sys
print([len(part.triangles) for part in engine.read_mesh(sys.argv[1])])
"""


def test_a_script_without_a_guard_reads_meshes(tmp_path: Path) -> None:
    """Modules imported again in a child process, as by `multiprocessing`, would start processes without end."""
    (tmp_path / "a.obj").write_text(TETRAHEDRON + FACES)
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(tmp_path / "script.py"), str(tmp_path / "a.obj")], capture_output=True,
        text=True, timeout=120, check=False, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("[4]\n", "", 0)


def test_edges_of_a_large_hull_hold_no_thread() -> None:
    points = np.random.default_rng(2).normal(size=(30_000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    with watched() as longest:
        edge = edges(points)
    assert longest[0] < allowed(longest[0])
    assert len(edge) == 2 * 3 * (len(points) - 2)  # Euler, of a hull of triangles
    assert np.array_equal(edge, edge[np.lexsort((edge[:, 1], edge[:, 0]))])


ROBOT = """<robot name="r"><link name="world"/><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>
<mesh filename="{}"/></geometry></collision></link><joint name="j" type="{}"><parent link="world"/><child link="base"/>
</joint></robot>"""


@pytest.mark.parametrize(("joint", "code", "severity"), [("floating", 1, "error"), ("fixed", 0, "warning")])
def test_check_tells_of_meshes_that_run_refuses(joint, code, severity, tmp_path, capsys) -> None:
    from engine.cli import main

    (tmp_path / "count.gltf").write_text(ATTACKS["count.gltf"](tmp_path))
    (tmp_path / "robot.urdf").write_text(ROBOT.format("count.gltf", joint))
    assert main(["check", str(tmp_path / "robot.urdf"), "--json"]) == code
    (reported,) = json.loads(capsys.readouterr().out)[str(tmp_path / "robot.urdf")]
    assert (reported["severity"], reported["element"]) == (severity, "link 'base'")
    assert "count.gltf cannot be read: it takes more memory" in reported["problem"]
    assert main(["run", str(tmp_path / "robot.urdf"), "--seconds", "0.002"]) == 2 * code


def test_the_process_that_reads_starts_ahead_and_returns_edges(tmp_path: Path) -> None:
    """It starts with the simulation of a robot whose meshes were not read, not again for what was read."""
    reader, file, small = mesh_reader.reader(), tmp_path / "ball.obj", tmp_path / "box.stl"
    trimesh.creation.icosphere(3).export(file)
    trimesh.creation.box().export(small)
    reader.end()
    prepare([None, "not-found.obj", str(small)])
    assert reader.process is None
    prepare([None, str(small), str(file)])
    started = reader.process
    assert started is not None
    ((corners, edge),) = with_edges(str(file))
    assert reader.process is started
    np.testing.assert_array_equal(edge, edges(corners))
    assert len(edge) == 2 * (3 * len(corners) - 6)
    reader.end()
    prepare([str(file)])
    assert reader.process is None
