"""SRDF files: which links they say never touch each other, and what is said of bad ones."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import engine

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
    ("said", "expected"),
    [
        ("", ()),
        ('<disable_collisions link1="c" link2="a" reason="Never"/>', pairs("ac")),
        ('<disable_collisions link1="a" link2="b"/><disable_collisions link1="b" link2="a"/>', pairs("ab")),
        ('<disable_default_collisions link="b"/>', pairs("ab", "bc", "bd")),
        ('<enable_collisions link1="b" link2="d"/><disable_default_collisions link="b"/>', pairs("ab", "bc")),
        ('<group name="g"><link name="nobody"/></group><disable_collisions link1=" a " link2="d"/>', pairs("ad")),
    ],
)
def test_it_says_which_links_never_touch(load, said, expected):
    model = load(f'<?xml version="1.0"?>\n<robot name="r">{said}</robot>')
    assert model.disabled_collisions == expected
    assert [entry for entry in model.diagnostics if "srdf" in entry.element] == []


def test_a_link_that_is_none_is_told_once(load):
    model = load(
        '<robot name="r">\n<disable_collisions link1="a" link2="hand"/>\n<disable_collisions link1="hand" link2="b"/>\n'
        '<disable_collisions link1="a" link2="b"/></robot>'
    )
    assert model.disabled_collisions == pairs("ab")
    (told,) = model.diagnostics
    assert (told.severity, told.line) == ("warning", 2)
    assert told.fault == "the robot has no link 'hand' (named 2 times)"
    assert "r.srdf" in str(told)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no xml", "the file is not XML"),
        ("<robot>", "malformed XML"),
        ("<urdf/>", "the outermost element is <urdf>; an SRDF is one <robot> element"),
        ('<robot name="r"><disable_collisions link1="a"/></robot>', 'no link2; write link2="…"'),
        ("", "the file is not XML"),
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
    said = {frozenset((e.get("link1"), e.get("link2"))) for e in ET.parse(path).getroot().iter("disable_collisions")}
    found = {frozenset((model.link_names[i], model.link_names[j])) for i, j in model.disabled_collisions}
    assert found == said
    assert len(found) > 20
