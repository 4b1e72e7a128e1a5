"""`engine.check`: every problem is found, at its line, on its element, with its fix, in one pass."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from urdf_parts import joint, link, robot

import engine
from engine import Diagnostic, Model, ModelError

LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'


def one_joint(inside: str, kind: str = "continuous") -> str:
    """Links a and b on lines 2 and 3, joint j on line 4."""
    return robot(link("a"), link("b"), joint("j", "a", "b", kind, inside))


def one_link(inside: str) -> str:
    """Link b on line 3 is the one in question; it moves."""
    return robot(link("a"), link("b", inside), joint("j", "a", "b"))


def inertial(mass: str = "2", **moments: str) -> str:
    six = {"ixx": "0.1", "ixy": "0", "ixz": "0", "iyy": "0.1", "iyz": "0", "izz": "0.1"} | moments
    given_moments = " ".join(f'{name}="{value}"' for name, value in six.items())
    return f'<inertial><mass value="{mass}"/><inertia {given_moments}/></inertial>'


def mimic(leader: str, kind: str = "revolute") -> str:
    """A chain of three whose first joint mimics `leader`; j2 is of the kind given."""
    first = joint("j1", "a", "b", "revolute", LIMIT + f'<mimic joint="{leader}"/>')
    return robot(link("a"), link("b"), link("c"), first, joint("j2", "b", "c", kind, LIMIT))


THREE = link("a") + link("b") + link("c")
GOOD = one_joint(LIMIT, "revolute")

# severity, line, words of element, problem and fix, the file; most problems are in dialects/
FAULTS: dict[str, tuple[str, int | None, str, str]] = {
    "no child": ("error", 4, "'j' no <child>", GOOD.replace('<child link="b"/>', "")),
    "two parent elements": ("error", 4, "<parent> second", GOOD.replace("<child", '<parent link="a"/><child')),
    "cycle": ("error", 5, "cycle b", robot(THREE, joint("j", "c", "b"), joint("k", "b", "c"))),
    "slightly negative": (
        "warning", 3, "<inertia> positive definite these numbers used", one_link(inertial(iyy="-0.01", ixy="0.001")),
    ),
    "zero principal moment": ("warning", 3, "<inertia> positive definite 0, 0.1, 0.1", one_link(inertial(iyy="0"))),
    "moving without mass": ("warning", 3, "'b' mass <inertial>", robot(THREE.replace(link("b"), link("b", "")),
                            joint("j", "a", "b"), joint("k", "b", "c"))),
    "nothing resists": ("error", 4, "joint 'j' 'b' inertia", one_link("")),
    "nothing resists a hand": (
        "warning", 7, "'k' held at 0 'c'", robot(link("a"), link("b"), link("c", ""), link("d", ""),
        joint("j", "a", "b"), joint("k", "b", "c"), joint("l", "c", "d", "fixed")),
    ),
    "free without inertia": ("error", 4, "'j' 'b' inertia", one_link("").replace("continuous", "floating")),
    "infinite effort": (
        "warning", 4, "<limit> inf effort",
        one_joint('<limit lower="0" upper="1" effort="inf" velocity="1"/>', "prismatic"),
    ),
    "mimic out of range": (
        "warning", 5, "<mimic> limits 'j2' used", mimic("j2").replace('joint="j2"/>', 'joint="j2" offset="5"/>'),
    ),
    "ball joint without inertia": ("error", 4, "'j' 'b' inertia", one_link("").replace("continuous", "spherical")),
    "ball joint that mimics": (
        "warning", 4, "<mimic> spherical not used", one_joint('<mimic joint="k"/>', "spherical"),
    ),
}  # fmt: skip


def write(path: Path, text: str) -> Path:
    file = path / "bad.urdf"
    file.write_text(text, encoding="utf-8")
    return file


def is_reported(found: list[Diagnostic], severity: str, line: int | None, words: str) -> bool:
    """Whether one diagnostic of that severity and line holds all the words."""
    return any(
        entry.severity == severity and entry.line == line and all(word in str(entry) for word in words.split())
        for entry in found
    )


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_found_where_it_stands(name: str, tmp_path: Path) -> None:
    severity, line, words, text = FAULTS[name]
    path = write(tmp_path, text)
    found = engine.check(path)
    assert is_reported(found, severity, line, words), "\n".join(map(str, found))
    assert all(entry.element and entry.problem and entry.fix for entry in found)
    if severity == "error":
        with pytest.raises(ModelError) as refused:
            engine.load(path)
        assert list(refused.value.diagnostics) == found
    else:
        assert list(engine.load(path).diagnostics) == found


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        one_joint('<axis xyz="0.7071 0 0.7071"/>'),
        one_joint("", "floating"),
        one_joint("", "planar"),
        one_joint("", "spherical"),
        robot(link("a"), link("frame", ""), joint("j", "a", "frame", "fixed", '<axis xyz="0 0 0"/>')),
        one_joint("").replace("<robot ", '<robot xmlns="http://example.org/urdf" xmlns:gazebo="http://g" '),
        '<?xml version="1.0"?>\n<!-- <link> of <joint> -->\n' + GOOD,
    ],
)
def test_sound_files_have_no_faults(text: str, tmp_path: Path) -> None:
    assert engine.check(write(tmp_path, text)) == []


def test_all_faults_of_one_file_are_found_in_one_pass(tmp_path: Path) -> None:
    text = robot(
        link("a"),
        link("b", inertial("-1", ixy="1,5") + '<visual><geometry><mesh filename="x.stl"/></geometry></visual>'),
        link("b"),
        link("c", inertial(ixx="0.3")),
        link("far"),
        joint("j1", "a", "b", "revolute", '<axis xyz="0 0 0"/><limit lower="2" upper="1" effort="1" velocity="1"/>'),
        joint("j2", "b", "c", "hinge", '<origin xyz="1 2"/>'),
        joint("j2", "a", "nobody", "continuous", '<mimic joint="j9"/>'),
        joint("j3", "c", "b", "continuous", '<dynamics damping="nan"/>'),
        joint("j4", "c", "far", "continuous", '<mimic joint="j4"/>'),
    )
    found = engine.check(write(tmp_path, text))
    expected = [
        ("error", 3, "<mass> -1"),
        ("error", 3, "<inertia> ixy 1,5"),
        ("warning", 3, "<mesh> x.stl"),
        ("error", 4, "link 'b' taken"),
        ("warning", 5, "triangle"),
        ("error", 7, "<axis> zero"),
        ("warning", 7, "<limit> above"),
        ("error", 8, "hinge"),
        ("error", 8, "<origin> 2 numbers"),
        ("error", 9, "joint 'j2' taken"),
        ("error", 9, "<child> nobody"),
        ("error", 10, "two parents cycle"),
        ("error", 10, "<dynamics> nan"),
        ("error", 11, "<mimic> cycle j4"),
    ]
    missed = [fault for fault in expected if not is_reported(found, *fault)]
    assert missed == []
    assert [entry.line for entry in found] == sorted(entry.line or 0 for entry in found)


def test_faults_after_malformed_xml_are_found_too(tmp_path: Path) -> None:
    text = GOOD.replace("</joint>\n", '</jont>\n<link name="c"><inertial><mass value="-1"/></inertial></link>\n')
    found = engine.check(write(tmp_path, text))
    assert is_reported(found, "error", 4, "malformed")
    assert is_reported(found, "error", 5, "<mass> 'c' -1 kg")


@pytest.mark.parametrize(
    ("end", "where"),
    [
        ('<joint name="k"', "inside <joint> of line 10"),
        ('<joint name="k" type="rev', "inside <joint> of line 10"),
        ('<joint name="k" type="fixed">\n', "inside <joint> of line 10"),
        ("</rob", "inside <robot> of line 1"),
    ],
)
def test_a_file_that_is_cut_off_is_told_as_such(tmp_path: Path, end: str, where: str) -> None:
    text = GOOD[: GOOD.rindex("</robot>")].rstrip()
    found = engine.check(write(tmp_path, text + "\n" * (9 - text.count("\n")) + end))
    reported = [str(entry) for entry in found if entry.element == "XML"]
    assert len(reported) == 1
    assert where in reported[0]
    assert "cut off; get the whole file" in reported[0]
    assert "later problems" not in reported[0]
    assert found[0].element == "XML"  # before what may follow from it


def test_a_fault_has_no_followers(tmp_path: Path) -> None:
    """An invalid inertial, an unknown parent and a bad mimic cause no further diagnostics."""
    text = robot(
        link("a"), link("b", inertial("x")), joint("j", "nobody", "b", "revolute", LIMIT + '<mimic joint=""/>')
    )
    found = engine.check(write(tmp_path, text))
    assert [entry.element for entry in found] == [
        "<mass> of <inertial> of link 'b'",
        "<mimic> of joint 'j'",
        "<parent> of joint 'j'",
    ]


def test_the_line_is_that_on_which_a_tag_begins(tmp_path: Path) -> None:
    text = GOOD.replace('<limit lower="-1"', '\n<limit\n  lower="3"\n ')
    assert is_reported(engine.check(write(tmp_path, text)), "warning", 5, "<limit> above")


def test_the_report_names_the_file_and_every_error(tmp_path: Path) -> None:
    path = write(tmp_path, one_joint('<axis xyz="0 0 0"/><origin xyz="1,5 0 0"/>'))
    with pytest.raises(ModelError) as refused:
        engine.load(path)
    first, *rest = str(refused.value).splitlines()
    assert first == "bad.urdf has 2 errors:"
    assert len(rest) == 2
    assert all(line.startswith("  line 4: error: <") for line in rest)


@pytest.mark.parametrize("name", ["missing.urdf", "missing.urdf.xacro", ""])
def test_a_file_that_cannot_be_read_is_a_fault(name: str, tmp_path: Path) -> None:
    found = engine.check(tmp_path / name)
    assert [entry.severity for entry in found] == ["error"]
    assert "cannot be read" in found[0].problem
    with pytest.raises(ModelError, match="cannot be read"):
        engine.load(tmp_path / name)


ANYTHING = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.integers(-(10**400), 10**400).map(str),
    st.sampled_from(["", " ", "0", "-0", "1,5", "1e308", "-1e-320", "1 2 3", "0 0 1", "nan", "٣", "1e15", "x" * 50]),
    st.text(
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co"), exclude_characters='<>&"'), max_size=8
    ),
)
PLACES = (
    "mass",
    "ixx",
    "xyz",
    "rpy",
    "axis",
    "lower",
    "upper",
    "effort",
    "damping",
    "multiplier",
    "offset",
    "size",
    "rgba",
)
TEMPLATE = """<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="{xyz}"/><mass value="{mass}"/>
<inertia ixx="{ixx}" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><geometry><box size="{size}"/></geometry><material name=""><color rgba="{rgba}"/></material></visual></link>
<link name="c"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>
<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="1"/><dynamics damping="{damping}"/></joint>
<joint name="k" type="prismatic"><parent link="b"/><child link="c"/><limit lower="{lower}" upper="1" effort="1"
velocity="1"/><mimic joint="j" multiplier="{multiplier}" offset="{offset}"/></joint></robot>"""
SOUND = dict.fromkeys(PLACES, "1") | {"xyz": "0 0 1", "rpy": "0 0 0", "axis": "0 1 0", "lower": "-1", "offset": "0"}
SOUND |= {"size": "1 1 1", "rgba": "1 1 1 1"}


def loaded_or_refused(path: Path, floating: bool = False, mimic: bool = True) -> Model | None:
    """The model; None if the file was refused for an error that is named. Nothing else may be raised."""
    try:
        return engine.load(path, floating=floating, mimic=mimic)
    except ModelError as error:
        refusal = error
    assert any(entry.severity == "error" for entry in refusal.diagnostics)
    return None


def all_finite(model: Model) -> bool:
    arrays = (model.home_rotation, model.home_position, model.mass, model.first_moment, model.inertia, model.damping)
    return all(math.isfinite(value) for array in arrays for value in array.ravel())


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(PLACES), ANYTHING, min_size=1, max_size=3))
def test_no_number_does_worse_than_a_refusal(tmp_path_factory: pytest.TempPathFactory, garbage: dict[str, str]) -> None:
    path = write(tmp_path_factory.getbasetemp(), TEMPLATE.format(**(SOUND | garbage)))
    model = loaded_or_refused(path)
    if model is not None:
        assert all_finite(model)
        assert all(model.lower <= model.upper)


NAMES = st.sampled_from(["", "a", "b", "c", "d"])
KINDS = st.sampled_from(["revolute", "fixed", "planar", "floating", "spherical", "?"])
JOINTS = st.tuples(NAMES, NAMES, NAMES, KINDS, NAMES)


@settings(max_examples=150, deadline=None)
@given(st.lists(NAMES, max_size=5), st.lists(JOINTS, max_size=6), st.booleans(), st.booleans())
def test_no_tangle_of_links_does_worse_than_a_refusal(
    tmp_path_factory: pytest.TempPathFactory,
    links: list[str],
    joints: list[tuple[str, str, str, str, str]],
    floating: bool,
    follow: bool,
) -> None:
    parts = [link(name) for name in links]
    parts += [
        joint(name, parent, child, kind, LIMIT + (f'<mimic joint="{leader}"/>' if leader else ""))
        for name, parent, child, kind, leader in joints
    ]
    path = write(tmp_path_factory.getbasetemp(), robot(*parts))
    model = loaded_or_refused(path, floating, follow)
    if model is not None:
        assert set(model.link_names) == set(links)


@settings(max_examples=75, deadline=None)
@given(st.data())
def test_no_damage_to_the_text_does_worse_than_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = TEMPLATE.format(**SOUND).encode()
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(start + 40, len(whole))))
    path = tmp_path_factory.getbasetemp() / "damaged.urdf"
    path.write_bytes(whole[:start] + data.draw(st.binary(max_size=6)) + whole[end:])
    model = loaded_or_refused(path)
    if model is not None:
        assert all_finite(model)
