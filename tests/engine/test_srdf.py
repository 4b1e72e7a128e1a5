"""SRDF files: disabled link pairs, and diagnostics of invalid files."""

import pickle
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from conftest import EXAMPLE_ROBOTS
from pinocchio_oracle import Oracle

import engine
import main

URDF = """<robot name="r">{links}{joints}</robot>""".format(
    links="".join(f'<link name="{name}"/>' for name in "abcd"),
    joints="".join(
        f'<joint name="{p}{c}" type="fixed"><parent link="{p}"/><child link="{c}"/></joint>'
        for p, c in ("ab", "bc", "cd")
    ),
)


@pytest.fixture
def load(tmp_path):
    """The robot of links a, b, c, d with an SRDF of this text."""

    def load(text: str, name: str = "r.srdf") -> engine.Model:
        (tmp_path / "r.urdf").write_text(URDF)
        (tmp_path / name).write_text(text)
        return engine.load(tmp_path / "r.urdf", srdf=tmp_path / name)

    return load


def pairs(*names: str) -> tuple[tuple[int, int], ...]:
    return tuple(("abcd".index(x), "abcd".index(y)) for x, y in names)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("", ()),
        ('<disable_collisions link1="c" link2="a" reason="Never"/>', pairs("ac")),
        ('<disable_collisions link1="a" link2="b"/><disable_collisions link1="b" link2="a"/>', pairs("ab")),
        ('<disable_default_collisions link="b"/>', pairs("ab", "bc", "bd")),
        ('<enable_collisions link1="b" link2="d"/><disable_default_collisions link="b"/>', pairs("ab", "bc")),
        ('<group name="g"><link name="nobody"/></group><disable_collisions link1=" a " link2="d"/>', pairs("ad")),
    ],
)
def test_it_says_which_links_never_touch(load, message, expected):
    model = load(f'<?xml version="1.0"?>\n<robot name="r">{message}</robot>')
    assert model.disabled_collisions == expected
    assert [entry for entry in model.diagnostics if "srdf" in entry.element] == []


def test_a_link_that_is_none_is_told_once(load):
    model = load(
        '<robot name="r">\n<disable_collisions link1="a" link2="hand"/>\n<disable_collisions link1="hand" link2="b"/>\n'
        '<disable_collisions link1="a" link2="b"/></robot>'
    )
    assert model.disabled_collisions == pairs("ab")
    (reported,) = model.diagnostics
    assert (reported.severity, reported.line) == ("warning", 2)
    assert reported.problem == "the robot has no link 'hand' (named 2 times)"
    assert "r.srdf" in str(reported)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no xml", "the file is text, not XML: it begins with 'no xml'"),
        ("<robot>", "the file ends inside <robot> of line 1, as if it were cut off"),
        ("<urdf/>", "the outermost element is <urdf>; an SRDF is one <robot> element"),
        ('<robot name="r"><disable_collisions link1="a"/></robot>', 'no link2; write link2="…"'),
        ("", "the file is empty"),
    ],
)
def test_a_bad_file_is_refused_with_its_name(load, text, sentence):
    with pytest.raises(engine.ModelError, match=re.escape(sentence)) as refused:
        load(text)
    assert str(refused.value).startswith("r.srdf has ")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    (tmp_path / "r.urdf").write_text(URDF)
    with pytest.raises(engine.ModelError, match=r"none\.srdf: cannot be read"):
        engine.load(tmp_path / "r.urdf", srdf=tmp_path / "none.srdf")


def test_entities_that_grow_are_not_expanded(load):
    text = '<!DOCTYPE r [<!ENTITY a "{}"><!ENTITY b "{}">]><robot name="&b;"/>'.format("x" * 1000, "&a;" * 1000)
    with pytest.raises(engine.ModelError):
        load(text)


def test_a_real_robots_file_disables_what_it_says(example_robots: list[Path]):
    urdf = next(path for path in example_robots if path.name == "panda.urdf")
    path = urdf.parents[1] / "srdf" / "panda.srdf"
    model = engine.load(urdf, srdf=path)
    message = {frozenset((e.get("link1"), e.get("link2"))) for e in ET.parse(path).getroot().iter("disable_collisions")}
    found = {frozenset((model.link_names[i], model.link_names[j])) for i, j in model.disabled_collisions}
    assert found == message
    assert len(found) > 20


BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
ARM = """<robot name="arm"><link name="base">{body}</link><link name="upper">{body}</link>
<link name="hand">{body}</link><link name="finger">{body}</link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="0.2" upper="2" effort="1" velocity="1"/></joint>
<joint name="wrist" type="{wrist}"><parent link="upper"/><child link="hand"/><axis xyz="0 1 0"/></joint>
<joint name="grip" type="prismatic"><parent link="hand"/><child link="finger"/><axis xyz="0 1 0"/>
<limit lower="0" upper="0.1" effort="1" velocity="1"/>{mimic}</joint></robot>"""


@pytest.fixture
def arm(tmp_path):
    """An arm of three joints with an SRDF that holds these elements, beside it."""

    def load(message: str, wrist: str = "continuous", mimic: str = "", **how: object) -> engine.Model:
        (tmp_path / "arm.urdf").write_text(ARM.format(body=BODY, wrist=wrist, mimic=mimic))
        (tmp_path / "arm.srdf").write_text(f'<robot name="arm">\n{message}\n</robot>')
        return engine.load(tmp_path / "arm.urdf", **{"srdf": "beside", **how})

    return load


def state(name: str, group: str = "all", **joints: object) -> str:
    reported = "".join(f'<joint name="{joint}" value="{value}"/>' for joint, value in joints.items())
    return f'<group_state name="{name}" group="{group}">{reported}</group_state>'


def test_it_names_poses_with_the_neutral_one_among_them(arm):
    model = arm(state("home", shoulder=1, wrist=-0.5) + state("open", grip=0.08))
    assert list(model.poses) == ["neutral", "home", "open"]
    np.testing.assert_array_equal(model.poses["neutral"], [0.2, 0, 0])
    np.testing.assert_array_equal(model.poses["home"], [1, -0.5, 0])
    np.testing.assert_array_equal(model.pose("open", [0.7, 0.6, 0.0]), [0.7, 0.6, 0.08])
    with pytest.raises(KeyError, match="arm has no pose 'shut'; its poses are neutral, home, open"):
        model.pose("shut")


def test_poses_are_within_limits_and_of_leaders(arm):
    model = arm(state("far", shoulder=9, wrist=9, grip=-1) + state("turned", shoulder=1 - 4 * np.pi))
    np.testing.assert_array_equal(model.poses["far"], [2, 9, 0])
    np.testing.assert_allclose(model.poses["turned"], [1, 0, 0], atol=1e-12)
    model = arm(state("home", shoulder=1, grip=0.05), mimic='<mimic joint="shoulder" multiplier="0.05"/>')
    np.testing.assert_array_equal(model.poses["home"], [1, 0])
    assert model.diagnostics == ()


def test_two_groups_may_have_a_pose_of_one_name(arm):
    model = arm(state("home", "arm", shoulder=1) + state("home", "hand", grip=0.02) + state("neutral", wrist=2))
    assert list(model.poses) == ["neutral", "home (arm)", "home (hand)"]
    assert model.pose("neutral").tolist() == [0.2, 2, 0]


def test_a_free_base_and_a_ball_are_posed_by_their_coordinates(arm):
    base = '<virtual_joint name="fixed_to" type="floating" parent_frame="world" child_link="base"/>'
    message = base + state("up", fixed_to="1 2 3 0 0 2 0", wrist="0 0.6 0 0.8")
    model = arm(message, wrist="spherical", floating=True)
    np.testing.assert_allclose(model.poses["up"], [1, 2, 3, 0, 0, 1, 0, 0.2, 0, 0.6, 0, 0.8, 0])
    assert arm(message, wrist="spherical").poses["up"].tolist() == [0.2, 0, 0.6, 0, 0.8, 0]
    zero = arm(state("up", shoulder=1, wrist="0 0 0 0"), wrist="spherical", srdf=Path(model.options["srdf"]))
    assert zero.poses["up"].tolist() == [1, 0, 0, 0, 1, 0]
    assert [each.problem for each in zero.diagnostics] == ["its quaternion is zero"]


def test_what_is_wrong_with_a_pose_is_told_and_left_out(arm, tmp_path, capsys):
    message = state("home", shoulder=1, elbow=2) + state("home", wrist=1) + state("bent", wrist="1 2")
    model = arm(message, srdf=tmp_path / "arm.srdf")
    assert list(model.poses) == ["neutral", "home (all)"]
    assert [each.problem for each in model.diagnostics] == [
        "the robot has no joint 'elbow' that moves",
        "a second state 'home (all)'",
        'value="1 2" has 2 numbers',
    ]
    assert all("arm.srdf" in str(each) for each in model.diagnostics)
    (reported,) = arm(message).diagnostics  # of one that nobody has named
    assert str(reported) == (
        "warning: arm.srdf: it has 3 problems: line 2: the robot has no joint 'elbow' that moves; its named poses and"
        " the links that never touch are read without what they concern"
    )
    assert main.main(["check", str(tmp_path / "arm.urdf")]) == 0
    assert str(reported) in capsys.readouterr().out


def test_composed_poses_bear_the_parts_prefixes(arm):
    model = arm(state("home", shoulder=1))
    both = engine.compose(model, engine.Part(model, (1, 0, 0), "second/"))
    assert list(both.poses) == ["neutral", "home", "second/home"]
    np.testing.assert_array_equal(both.poses["second/home"], [0.2, 0, 0, 1, 0, 0])


def test_values_outside_the_limits_are_reported(arm):
    assert not arm(state("near", shoulder=2.0005) + state("turned", shoulder=1 - 4 * np.pi, wrist=9)).diagnostics
    (reported,) = arm(state("far", shoulder=9, grip=-1, wrist=9)).diagnostics
    assert reported.severity == "warning"
    assert reported.problem.startswith("it has 2 problems: line 2: ")
    assert reported.problem.endswith("9 is outside the joint's limits, 0.2 to 2 rad")


def test_poses_stay_with_copies_and_pickles(arm):
    model = pickle.loads(pickle.dumps(arm(state("home", shoulder=1))))
    assert model.with_gravity((0, 0, 0)).poses["home"].tolist() == [1, 0, 0]


@pytest.mark.parametrize("place", ["", "srdf", "../srdf"])
def test_the_file_beside_is_found_by_its_name_or_its_robots(tmp_path, place):
    folder = tmp_path / "urdf"
    (folder / place).mkdir(parents=True)
    (folder / "arm_2.urdf").write_text(ARM.format(body=BODY, wrist="continuous", mimic=""))

    def found() -> str | None:
        srdf = engine.load(folder / "arm_2.urdf", srdf="beside").options["srdf"]
        return srdf and Path(srdf).name

    assert found() is None
    (folder / place / "other.srdf").write_text('<robot name="other"/>')
    assert found() is None
    (folder / place / "with_gripper.srdf").write_text("<!-- one --><robot\nname = 'ARM'/>")
    assert found() == "with_gripper.srdf"
    (folder / place / "arm.srdf").write_text('<robot name="arm"/>')
    assert found() == "arm.srdf"
    (folder / place / "arm_2.srdf").write_text('<robot name="r"/>')
    assert found() == "arm_2.srdf"


def test_a_broken_file_beside_is_left_out_with_a_warning(arm):
    model = arm("<disable_collisions/>")
    (reported,) = model.diagnostics
    assert (reported.severity, reported.element) == ("warning", "arm.srdf")
    assert reported.problem == "it has 2 errors: line 2: no link1"
    assert model.options["srdf"] is None


@pytest.mark.parametrize("path", EXAMPLE_ROBOTS, ids=lambda path: path.stem)
def test_poses_of_real_robots_are_pinocchios(path):
    """Compared for the named joints, up to whole turns, and except for values that no turn brings within limits."""
    model = engine.load(path, floating=True, mimic=False, srdf="beside")
    if not model.group_states:
        pytest.skip("it has no SRDF that names a pose")
    oracle = Oracle(path, model, floating=True)
    pin.loadReferenceConfigurations(oracle.model, model.options["srdf"], False)
    theirs = {entry.key(): entry.data() for entry in oracle.model.referenceConfigurations}
    assert set(model.group_states) == set(theirs)
    compared = 0
    for name, state in model.group_states.items():
        ours = oracle.q(model.poses[name])
        for joint in (model.joint(each) for each in state):
            at = oracle.at(joint)
            x, y = (q[at.idx_q : at.idx_q + at.nq] for q in (theirs[name], ours))
            if joint.kind == "revolute":
                y = x + np.remainder(y - x + np.pi, 2 * np.pi) - np.pi
            limited = joint.type.quaternion is None and joint.kind != "continuous"
            end = limited and model.poses[name][joint.q.start] in (model.lower[joint.v], model.upper[joint.v])
            assert end or np.allclose(x, y, atol=1e-5), joint.name
            compared += not end
    assert compared > 0
