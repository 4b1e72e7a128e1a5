"""Robot files that are large in one way each: reading them takes time in proportion, and never overflows a stack."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import engine

LINK = '<link name="a"/>'
JOINT = '<joint name="j{0}" type="fixed"><parent link="{1}{0}"/><child link="{1}{2}"/></joint>'
LARGE: dict[str, Callable[[int], str]] = {
    "attributes": lambda n: '<link name="a" ' + " ".join(f'a{k}="1"' for k in range(n)) + "/>",
    "one attribute again and again": lambda n: '<link name="a" ' + 'a="1" ' * n + "/>",
    "children": lambda n: '<link name="a">' + "<visual/>" * n + "</link>",
    "origins": lambda n: '<link name="a"><visual>' + "<origin/>" * n + "</visual></link>",
    "depth": lambda n: LINK + "<gazebo>" * n + "</gazebo>" * n,
    "comments": lambda n: LINK + "<!-- -- -->" * n,
    "a chain": lambda n: (
        "".join(f'<link name="l{k}"/>' for k in range(n + 1)) + "".join(JOINT.format(k, "l", k + 1) for k in range(n))
    ),
    "joints of links that are not there": lambda n: LINK + "".join(JOINT.format(k, "x", -k) for k in range(n)),
    "numbers": lambda n: '<link name="a"><visual><origin xyz="' + "1," * n + '"/></visual></link>',
    "digits": lambda n: '<link name="a"><inertial><mass value="' + "1" * n + '"/></inertial></link>',
    "frictions": lambda n: LINK + '<gazebo reference="a"><mu1>x</mu1></gazebo>' * n,
}


@pytest.mark.parametrize("way", LARGE)
def test_time_grows_with_the_size(way: str, tmp_path: Path) -> None:
    path = tmp_path / "large.urdf"

    def taken(count: int) -> float:
        path.write_text(f'<robot name="r">{LARGE[way](count)}</robot>', encoding="utf-8")
        began = time.process_time()
        found = engine.check(path)
        assert all(len(str(entry)) < 3000 for entry in found)
        return time.process_time() - began

    brief = min(taken(2000) for _ in range(3))
    assert any(taken(8000) < 10 * brief + 0.025 for _ in range(3))


def test_an_element_that_lies_deep_is_named_in_a_few_words(tmp_path: Path) -> None:
    path = tmp_path / "deep.urdf"
    inside = "<visual>" * 200 + '<mass value="${x}"/>' + "</visual>" * 200
    path.write_text(f'<robot name="r"><link name="a">{inside}</link></robot>', encoding="utf-8")
    found = [entry for entry in engine.check(path) if entry.element.startswith("<mass> of <visual>")]
    assert found
    assert all(len(entry.element) <= 1000 for entry in found)
