"""The diagnostics of a file in detail: truncated lists, guessed names, and limits."""

import numpy as np
import pytest
from urdf_parts import joint, link, robot

import engine
from engine.model.joints import JOINT_TYPES, PRISMATIC, REVOLUTE, JointType
from engine.urdf import joints, spelling, substitution

LINK = '<link name="{}"/>'


def faults(tmp_path, *lines):
    path = tmp_path / "r.urdf"
    path.write_text('<robot name="r">\n' + "\n".join(lines) + "\n</robot>\n", encoding="utf-8")
    return [(each.line, each.problem) for each in engine.check(path)]


@pytest.mark.parametrize(("count", "end"), [(6, "'l5'"), (7, "'l5' …")])
def test_six_roots_are_named_and_more_are_hinted_at(tmp_path, count, end):
    names = [f"l{i}" for i in range(count)]
    (message,) = [fault for _, fault in faults(tmp_path, *map(LINK.format, names)) if "roots" in fault]
    assert message == f"there are {count} roots: " + ", ".join(map(repr, names[:5])) + f", {end}"


def test_hyphens_at_either_end_of_a_comment_are_seen(tmp_path):
    for comment in ("<!---- a -->", "<!-- a --->"):
        assert (2, '"--" inside a comment') in faults(tmp_path, comment, LINK.format("a"))
    assert faults(tmp_path, "<!-- a - b -->", LINK.format("a")) == faults(tmp_path, "<!---->", LINK.format("a"))


def test_of_few_names_each_is_tried_and_of_many_those_that_begin_or_end_alike():
    few = [f"{chr(97 + k % 26)}{k:02}_joint" for k in range(4 * spelling.NEIGHBOURS - 1)]
    wanted = "shoulder_pitch"
    assert spelling.Spelling([*few, wanted], "joint").fix("xshoulder_pitchx") == f"did you mean {wanted!r}?"
    many = [f"{chr(97 + k % 26)}{k:03}_joint" for k in range(500)]
    guesses = spelling.Spelling([*many, wanted], "joint")
    assert guesses.fix("shoulder_pitxh") == guesses.fix("zhoulder_pitch") == f"did you mean {wanted!r}?"


def test_a_file_has_so_many_expressions_and_no_more():
    substitute = substitution.Substitution()
    assert {substitute.text("${1 + 1}") for _ in range(substitution.MAX_EXPRESSIONS)} == {"2"}
    with pytest.raises(substitution.Refused, match="there are more than 10000 expressions"):
        substitute.text("${1 + 1}")


def test_a_joint_of_two_elementary_ones_is_a_row_of_the_table(tmp_path, monkeypatch, rng):
    """A cylindrical joint slides along its axis and turns about it, as the two joints do one after the other."""
    monkeypatch.setitem(JOINT_TYPES, "cylindrical", JointType((PRISMATIC, REVOLUTE), ("along", "angle"), (1.0, 3.0)))
    monkeypatch.setattr(joints, "TYPES", (*joints.TYPES, "cylindrical"))
    monkeypatch.setattr(joints, "SEVERAL", (*joints.SEVERAL, "cylindrical"))
    axis, place = '<axis xyz="0.6 0 0.8"/>', '<origin xyz="0 0.1 0.5" rpy="0.3 0.2 0.1"/>'
    far = '<limit lower="-9" upper="9" effort="1000" velocity="1000"/>'
    last = link("c") + joint("k", "b", "c", inside=axis + place)
    one = robot(link("a"), link("b"), joint("j", "a", "b", "cylindrical", axis + place), last)
    slides = joint("slides", "a", "m", "prismatic", axis + place + far)
    two = robot(link("a"), link("m", ""), link("b"), slides, joint("turns", "m", "b", inside=axis), last)
    models = []
    for name, text in (("one", one), ("two", two)):
        (tmp_path / f"{name}.urdf").write_text(text)
        models.append(engine.load(tmp_path / f"{name}.urdf"))
    reported = [(x.name, x.type.nq, x.type.nv, x.type.angular) for x in models[0].joints]
    assert reported == [("j", 2, 2, (False, True)), ("k", 1, 1, (True,))]
    q, v, tau = rng.normal(size=(3, 3))
    found, expected = (engine.forward_dynamics(model, q, v, tau, "abia", "cpu") for model in models)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    poses = [engine.link_poses(model, q)[-1] for model in models]
    np.testing.assert_allclose(*poses, atol=1e-13)


def test_a_limit_too_large_to_be_one_is_reported_unless_it_is_a_power_of_ten(tmp_path):
    def about(effort: str) -> list[str]:
        limit = f'<limit lower="-1" upper="1" effort="{effort}" velocity="1e16"/>'
        return [
            problem for _, problem in faults(tmp_path, link("a"), link("b"), joint("j", "a", "b", "revolute", limit))
        ]

    assert about("1e10") == about("1000000000") == about("9.9e8") == []
    assert about("4.096e11") == ["effort 4.096e+11 is read as no limit, as from 1e+09 on"]
