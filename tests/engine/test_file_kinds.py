"""Files that are given as a URDF and are not XML are identified."""

import io
import zipfile

import numpy as np
import pytest
import trimesh
from PIL import Image

import engine
from engine.urdf import non_xml


def _zip() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("robot.urdf", "<robot/>")
    return held.getvalue()


def _saved(form: str) -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (4, 4)).save(held, form)
    return held.getvalue()


def _array() -> bytes:
    held = io.BytesIO()
    np.save(held, np.zeros(3))
    return held.getvalue()


BOX = trimesh.creation.box()
FILES = {
    "nothing": (b"", "is empty", "path of a URDF"),
    "blanks": (b"\xef\xbb\xbf \n\t", "is empty", "path of a URDF"),
    "zip": (_zip(), "is a ZIP archive", "unpack it"),
    "array": (_array(), "is an array of NumPy", ".npz"),
    **{form: (_saved(form), "is a picture", "path of a URDF") for form in ("PNG", "JPEG", "GIF", "WEBP")},
    **{
        form: (trimesh.exchange.export.export_mesh(BOX, None, form), "is a mesh", "URDF that names it")
        for form in ("stl", "stl_ascii", "ply", "glb", "off")
    },
    "obj": (trimesh.exchange.export.export_mesh(BOX, None, "obj").encode(), "is a mesh", "URDF that names it"),
    "table": (b"time [s],q:joint1 [rad]\n0.0,0.0\n", "is the table of a run", ".npz"),
    "usd": (b'#usda 1.0\ndef Xform "World" {}\n', "is a scene in USD", "made from"),
    "json": (b' {"robot": 3}', """is JSON, not XML: it begins with '{"robot": 3}'""", "path of a URDF"),
    "text": (
        "Grüße aus dem Labor, lang und breit".encode(),
        "text, not XML: it begins with 'Grüße aus",
        "path of a URDF",
    ),
    "utf-16": ("Grüße".encode("utf-16"), "text, not XML: it begins with 'Grüße'", "path of a URDF"),
    "a vertex alone": (b"v one two", "text, not XML: it begins with 'v one two'", "path of a URDF"),
    "bytes": (bytes(range(256)), "is binary data, not XML", "path of a URDF"),
    "latin": (b"caf\xe9 und noch mehr", "is binary data, not XML", "path of a URDF"),
    "a bracket": (b"<", "is not XML: ", "path of a URDF"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_xml_is_called_what_it_is(name, tmp_path):
    content, fault, cure = FILES[name]
    path = tmp_path / "robot.urdf"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (found,) = engine.check(path)
    assert (found.severity, found.line) == ("error", 1)
    assert fault in found.problem
    assert found.problem.startswith("the file is ")
    assert cure in found.fix


def test_a_stl_is_known_by_its_length():
    whole = FILES["stl"][0]
    assert non_xml.explain_non_xml(whole, whole, "")[0] == "the file is a mesh"
    assert non_xml.explain_non_xml(whole[:-1], whole[:-1], "")[0] == "the file is binary data, not XML"


def test_of_a_folder_the_robots_in_it_are_named(tmp_path):
    (empty,) = engine.check(tmp_path)
    assert (empty.problem, empty.fix) == ("cannot be read: it is a folder", "give a URDF file in it")
    (tmp_path / "urdf").mkdir()
    for name in ("urdf/b.urdf", "a.urdf", "c.txt"):
        (tmp_path / name).write_text("")
    assert engine.check(tmp_path)[0].fix == "give a URDF file in it: a.urdf, b.urdf"
    for name in ("d.urdf", "e.urdf"):
        (tmp_path / name).write_text("")
    assert engine.check(tmp_path)[0].fix == "give a URDF file in it: a.urdf, b.urdf, d.urdf, …"


@pytest.mark.parametrize(
    ("content", "mesh"),
    [
        ("v 0 0 0", True),
        ("# made by hand\n\no box\nv 0 0 0\nv 0 1 0\nusem", True),  # the last line may be cut
        ("v 0 0 0\nhello there\nv 0 0 1\n", False),
        ("hello 1 2 3\nf 1 2 3\n", False),
        ("f 1 2 3\nf 2 3 4\n", False),
        ("v 0 0\nf 1 2 3\n", False),
        ("o " + "a" * 5000 + "\nv 0 0 0\n", False),  # the beginning alone is looked at
    ],
)
def test_an_obj_is_known_by_its_first_lines(content, mesh):
    fault, _ = non_xml.explain_non_xml(content.encode(), content.encode(), "")
    assert (fault == "the file is a mesh") is mesh


def test_as_much_of_a_text_is_quoted_as_has_room():
    for length, shown in ((24, "x" * 24), (25, "x" * 24 + "…"), (500, "x" * 24 + "…")):
        text = b"x" * length
        assert non_xml.explain_non_xml(text, text, "")[0].endswith(f"it begins with '{shown}'")


def test_an_stl_has_triangles():
    for size, reported in ((83, "binary data, not XML"), (84, "binary data, not XML")):
        assert non_xml.explain_non_xml(bytes(size), bytes(size), "")[0] == f"the file is {reported}"


def test_a_root_whose_bracket_is_missing_is_told_at_its_line(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text('<?xml version="1.0"?>\n<!-- an arm -->\n\nrobot name="arm">\n  <link name="base"/>\n</robot>\n')
    with pytest.raises(engine.ModelError) as refusal:
        engine.load(path)
    (reported,) = refusal.value.diagnostics
    assert reported.line == 4
    assert "malformed XML: Start tag expected" in reported.problem
