"""Files as found in practice: the diagnostic of each oddity, the values read, and the repaired copy.

`dialect_files` has the files, each with one oddity, and `dialects/expected.toml` the expected diagnostics.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dialect_files
import numpy as np
import pytest
from dialect_files import EXPECTED

import engine
from engine import Model, ModelError

LOADED = [name for name in EXPECTED if "read" in EXPECTED[name]]

READ: dict[str, Callable[[Model], Any]] = {
    "lower": lambda model: model.lower[0],
    "upper": lambda model: model.upper[0],
    "velocity": lambda model: model.velocity_limit[0],
    "effort": lambda model: model.effort_limit[0],
    "damping": lambda model: model.damping[0],
    "mass": lambda model: model.mass[0],
    "first_moment": lambda model: model.link_rotation[1].T @ model.first_moment[0],
    "position": lambda model: model.home_position[0],
    "axis": lambda model: model.home_rotation[0][:, 2],
    "yaw": lambda model: math.atan2(*engine.link_poses(model, model.neutral())[1, [1, 0], 0]),
    "gravity": lambda model: model.gravity,
    "size": lambda model: model.visuals[0].size,
    "color": lambda model: model.visuals[0].color,
    "multipliers": lambda model: [joint.multiplier for joint in model.joints],
    "kind": lambda model: model.joints[0].kind,
    "name": lambda model: model.name,
}
"""The values that were read, by their names in expected.toml."""


def same(a: Model, b: Model) -> bool:
    """Whether two models move alike."""
    names = ("parent", "kind", "home_rotation", "home_position", "mass", "first_moment", "inertia", "link_body")
    names += ("lower", "upper", "velocity_limit", "effort_limit", "damping", "friction")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def mended(name: str) -> bool:
    """Whether `engine.repair` has something to do."""
    return EXPECTED[name].get("repaired", EXPECTED[name].get("said", "").split()[2:3] == ["warning:"])


@pytest.fixture(scope="module")
def dialects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files."""
    return dialect_files.write(tmp_path_factory.mktemp("robots"))


def test_every_file_has_its_entry() -> None:
    assert sorted(EXPECTED) == list(dialect_files.contents())
    assert not [
        name for name in EXPECTED if "change" in EXPECTED[name] and (dialect_files.FOLDER / f"{name}.urdf").exists()
    ]
    assert len(EXPECTED) >= 120


@pytest.mark.parametrize("name", EXPECTED)
def test_a_dialect_gives_its_diagnostic_and_model(dialects: Path, name: str) -> None:
    expected, path = EXPECTED[name], dialects / f"{name}.urdf"
    found = engine.check(path)
    assert len(found) == ("said" in expected)
    for entry in found:
        before, parser, after = expected["said"].partition("…; ")  # its words differ from version to version
        message = str(entry)
        assert message.startswith(before) and message.endswith(after) if parser else message == before
        assert bool(entry.repair) == mended(name)
    if "read" not in expected:
        with pytest.raises(ModelError) as refused:
            engine.load(path)
        assert list(refused.value.diagnostics) == found
        return
    model = engine.load(path)
    assert list(model.diagnostics) == found
    for key, value in expected["read"].items():
        came = READ[key](model)
        assert came == value if isinstance(value, str) else np.allclose(came, value, rtol=0, atol=1e-6), key


@pytest.mark.parametrize("name", LOADED)
def test_the_repaired_copy_moves_alike_and_has_nothing_left_to_repair(
    dialects: Path, name: str, tmp_path: Path
) -> None:
    path, copy = dialects / f"{name}.urdf", tmp_path / "dialects" / f"{name}.urdf"
    copy.parent.mkdir()
    (copy.parent / "plate.obj").write_bytes((dialects / "plate.obj").read_bytes())
    before = path.read_bytes()
    count, left = engine.repair(path, copy)
    assert path.read_bytes() == before
    assert count == mended(name)
    assert left == engine.check(copy)
    assert len(left) == ("said" in EXPECTED[name] and not mended(name))
    assert not any(entry.repair for entry in left)
    assert same(engine.load(path), engine.load(copy))
    if count == 0:
        assert copy.read_bytes() == before


# each problem on a line of its own, in the layout of another's hand
UNTIDY = """<!-- arm, 2019 -->
<?xml version='0.0'?>\r
<robot name='r'>\t<!-- <origin xyz="1, 2, 3"/> -->
<link name="a"/><link
   name = "b"
 ><inertial><origin xyz = '0.1, 0,\t0'/>  <mass value='2.'/> <!-- kg -->
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link >
   <joint name="j > k" type='revolute' ><parent link="a"/> <child link="b"></child>
      <axis  xyz='0,0,2' />

      <limit upper="-1"
             lower="1"/>
      <axis xyz="1 0 0"></axis>
   </joint>
</robot>
"""
TIDY = """<?xml version="1.0"?>\r
<!-- arm, 2019 -->
<robot name='r'>\t<!-- <origin xyz="1, 2, 3"/> -->
<link name="a"/><link
   name = "b"
 ><inertial><origin xyz = '0.1 0 0'/>  <mass value='2.'/> <!-- kg -->
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link >
   <joint name="j > k" type='continuous' ><parent link="a"/> <child link="b"></child>
      <axis  xyz='0 0 1' />

      <limit velocity="1e10" effort="1e10"/>
   </joint>
</robot>
"""


def test_only_the_faulty_places_change(tmp_path: Path) -> None:
    path, copy = tmp_path / "untidy.urdf", tmp_path / "tidy.urdf"
    path.write_bytes(UNTIDY.encode())
    _, left = engine.repair(path, copy)
    assert copy.read_bytes().decode() == TIDY
    assert left == []
    assert same(engine.load(path), engine.load(copy))


@pytest.mark.parametrize("codec", ["iso-8859-1", "utf-8-sig", "utf-16"])
def test_a_copy_keeps_its_encoding(codec: str, tmp_path: Path) -> None:
    text = dialect_files.contents()["commas_alone"].decode().replace("a swing", "une balançoire")
    declared = text.replace('"1.0"?', f'"1.0" encoding="{codec.removesuffix("-sig")}"?')
    path, copy = tmp_path / "r.urdf", tmp_path / "copy.urdf"
    path.write_bytes(declared.encode(codec))
    assert engine.repair(path, copy) == (1, [])
    assert copy.read_bytes() == declared.replace("0,0,1.5", "0 0 1.5").encode(codec)


def test_a_copy_never_takes_the_place_of_anything_unasked(tmp_path: Path) -> None:
    path, copy = tmp_path / "r.urdf", tmp_path / "copy.urdf"
    path.write_bytes(dialect_files.contents()["commas_alone"])
    copy.write_text("kept")
    with pytest.raises(FileExistsError, match="overwrite"):
        engine.repair(path, copy)
    assert copy.read_text() == "kept"
    with pytest.raises(ValueError, match="is the file itself"):
        engine.repair(path, path, overwrite=True)
    with pytest.raises(ValueError, match="is a xacro file"):
        engine.repair(tmp_path / "r.urdf.xacro", copy)
    assert engine.repair(path, copy, overwrite=True) == (1, [])
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["copy.urdf", "r.urdf"]


@pytest.mark.parametrize(
    "oddity",
    [
        "<link name='{}'><visual><origin xyz='0,0,1'/></visual></link>",
        "<link name='${{{}+1}}'/>",
        "<joint name='{}' type='Fixed'><parent link='a'/><child link='b'/><origin/><origin/></joint>",
        "<!-- {} -- -->",
    ],
)
def test_checking_and_repairing_take_time_in_proportion_to_the_text(oddity: str, tmp_path: Path) -> None:
    """All on one line: four times as much takes no sixteen times as long."""
    path, copy = tmp_path / "r.urdf", tmp_path / "copy.urdf"

    def taken(count: int) -> float:
        path.write_text(f"<robot name='r'>{''.join(map(oddity.format, range(count)))}</robot>", encoding="utf-8")
        began = time.process_time()
        repairs, _ = engine.repair(path, copy, overwrite=True)
        assert repairs >= count
        return time.process_time() - began

    brief = min(taken(500) for _ in range(3))
    assert any(taken(2000) < 9 * brief for _ in range(3))
