"""What is said of a file, down to where lists are cut, where names are guessed and where bounds lie."""

import pytest

import engine
from engine.urdf import spelling, substitution

LINK = '<link name="{}"/>'


def faults(tmp_path, *lines):
    path = tmp_path / "r.urdf"
    path.write_text('<robot name="r">\n' + "\n".join(lines) + "\n</robot>\n", encoding="utf-8")
    return [(each.line, each.fault) for each in engine.check(path)]


@pytest.mark.parametrize(("count", "end"), [(6, "'l5'"), (7, "'l5' …")])
def test_six_roots_are_named_and_more_are_hinted_at(tmp_path, count, end):
    names = [f"l{i}" for i in range(count)]
    (said,) = [fault for _, fault in faults(tmp_path, *map(LINK.format, names)) if "roots" in fault]
    assert said == f"there are {count} roots: " + ", ".join(map(repr, names[:5])) + f", {end}"


def test_hyphens_at_either_end_of_a_comment_are_seen(tmp_path):
    for comment in ("<!---- a -->", "<!-- a --->"):
        assert (2, '"--" inside a comment') in faults(tmp_path, comment, LINK.format("a"))
    assert faults(tmp_path, "<!-- a - b -->", LINK.format("a")) == faults(tmp_path, "<!---->", LINK.format("a"))


def test_of_few_names_each_is_tried_and_of_many_those_that_begin_or_end_alike():
    few = [f"{chr(97 + k % 26)}{k:02}_joint" for k in range(4 * spelling.NEIGHBOURS - 1)]
    wanted = "shoulder_pitch"
    assert spelling.Spelling([*few, wanted], "joint").cure("xshoulder_pitchx") == f"did you mean {wanted!r}?"
    many = [f"{chr(97 + k % 26)}{k:03}_joint" for k in range(500)]
    guesses = spelling.Spelling([*many, wanted], "joint")
    assert guesses.cure("shoulder_pitxh") == guesses.cure("zhoulder_pitch") == f"did you mean {wanted!r}?"


def test_a_file_has_so_many_expressions_and_no_more():
    substitute = substitution._Substitution()
    assert {substitute.text("${1 + 1}") for _ in range(substitution.MOST)} == {"2"}
    with pytest.raises(substitution.Refused, match="there are more than 10000 expressions"):
        substitute.text("${1 + 1}")
