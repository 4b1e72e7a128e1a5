"""The worst xacro files of 1 MB: reported within 10 s, and 300 MB beside the process that expands them."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from lock_delay import afresh, allowed
from test_growth import CASES
from test_worst_files import MEGABYTES, SIZE, measured, read_urdf

pytest.importorskip("xacrodoc")

SECONDS = 10.0


MACRO = '<xacro:macro name="{}" params="{}">{}</xacro:macro>'


def xacro(*parts: str) -> bytes:
    return f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{"".join(parts)}</robot>'.encode()


def filled(part: Callable[[int], str]) -> bytes:
    return xacro(*(part(k) for k in range(SIZE // len(part(10**5)))))


def doubling(macro: str, times: int) -> bytes:
    """Macros that call the next one twice each."""
    last = MACRO.format(f"m{times}", "", macro)
    return xacro(*(MACRO.format(f"m{k}", "", f"<xacro:m{k + 1}/>" * 2) for k in range(times)), last, "<xacro:m0/>")


XACROS = {
    "a macro that calls itself": lambda: xacro(MACRO.format("m", "", "<xacro:m/>"), "<xacro:m/>"),
    "macros that call each other": lambda: doubling("<joint/>", 30),
    "joints of nothing, doubled": lambda: doubling("<joint/>" * 64, 11),
    "macros of many parameters": lambda: filled(
        lambda k: MACRO.format(f"m{k}", "n o:=1 p:=${n}", '<link name="l${n}_${o}_${p}"/>') + f'<xacro:m{k} n="{k}"/>'
    ),
    "a file that includes itself": lambda: xacro(
        '<xacro:arg name="me" default="worst.xacro"/>', '<xacro:include filename="$(arg me)"/>'
    ),
    "itself by its name": lambda: xacro('<xacro:include filename="worst.xacro"/>' * 2),
    "names that double": lambda: xacro(
        '<xacro:property name="p0" value="aaaaaaaaaa"/>',
        *(f'<xacro:property name="p{k}" value="${{p{k - 1}}}${{p{k - 1}}}"/>' for k in range(1, 40)),
        '<link name="${p39}"/>',
    ),
    "names as long as they may be": lambda: xacro(
        '<xacro:property name="p" value="${\'a\' * 900000}"/>' + '<link name="${p}"/>' * 35
    ),
    "longer than any": lambda: xacro(
        '<xacro:property name="p" value="${\'a\' * 900000}"/>' + '<link name="${p}"/>' * 60
    ),
    "blocks": lambda: xacro(
        '<xacro:property name="b0">' + "<joint/>" * 100 + "</xacro:property>",
        *(
            f'<xacro:property name="b{k}">' + f'<xacro:insert_block name="b{k - 1}"/>' * 10 + "</xacro:property>"
            for k in range(1, 4)
        ),
        '<xacro:insert_block name="b3"/>',
    ),
    "a name in each of many": lambda: filled(lambda k: f"<link name=\"${{'a' * {k}}}\"/>"),
    "properties": lambda: filled(lambda k: f'<xacro:property name="p{k}" value="{k}"/>'),
    "properties of each other": lambda: filled(
        lambda k: f'<xacro:property name="p{k}" value="${{p{k + 1}}}"/>'
    ).replace(b"</robot>", b"<a b='${p0}'/></robot>"),
    "macros": lambda: filled(lambda k: MACRO.format(f"m{k}", "", "")),
    "arguments": lambda: filled(lambda k: f'<xacro:arg name="a{k}" default=""/>'),
    "conditions": lambda: filled(lambda _: '<xacro:if value="${1 == 2}"/>'),
    "a long expression": lambda: xacro(f'<link name="${{{"1+" * (SIZE // 2)}1}}"/>'),
    "a nested expression": lambda: xacro(f'<link name="${{{"(" * (SIZE // 2)}1}}"/>'),
    "a list that grows": lambda: xacro(
        '<link name="${[0 for a in range(9999) for b in range(9999) for c in range(9)]}"/>'
    ),
    "a loop that does nothing": lambda: xacro(
        '<link name="${len([1 for a in range(999999) for b in range(999999) if a == -1])}"/>'
    ),
    "expressions": lambda: filled(lambda k: f'<a b="${{{k} * 2}}"/>'),
    "expressions in one name": lambda: xacro('<link name="' + "${1}" * (SIZE // 4) + '"/>'),
    "dollars": lambda: xacro(f'<link name="{"$" * SIZE}"/>'),
    "openings": lambda: xacro(f'<link name="{"${" * (SIZE // 2)}"/>'),
    "launch substitutions": lambda: xacro(f'<link name="{"$(" * (SIZE // 2)}"/>'),
    "parameters": lambda: xacro(MACRO.format("m", " ".join(f"p{k}:=1" for k in range(SIZE // 12)), ""), "<xacro:m/>"),
    "a parameter of blanks": lambda: xacro(MACRO.format("m", "p:=" + " " * SIZE, ""), "<xacro:m/>"),
    "depth": lambda: xacro("<a>" * (SIZE // 7) + "</a>" * (SIZE // 7)),
    "text": lambda: xacro("x" * SIZE),
    "joints of nothing": lambda: filled(lambda _: "<joint/>"),
    "attributes": lambda: xacro("<a " + " ".join(f'b{k}=""' for k in range(SIZE // 11)) + "/>"),
    "entities in entities": lambda: CASES["entities in entities"](SIZE).encode(),
    "one long entity": lambda: CASES["entities"](SIZE).encode(),
    "comments": lambda: filled(lambda _: "<!---->"),
    "yaml": lambda: xacro("<xacro:property name='p' value=\"${xacro.load_yaml('worst.xacro')}\"/><a b='${p}'/>"),
    "zeros": lambda: bytes(SIZE),
}


FAST = ("a macro that calls itself", "a file that includes itself", "itself by its name", "names that double",
        "names as long as they may be", "longer than any", "properties", "macros", "a long expression",
        "a nested expression", "dollars", "openings", "a parameter of blanks", "depth", "text",
        "entities in entities", "one long entity", "yaml", "zeros")  # fmt: skip
SLOW = tuple(name for name in XACROS if name not in FAST)
"""The cases that take seconds."""


@pytest.mark.parametrize("names", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=["fast", "slow"])
def test_the_worst_xacro_files_are_told_within_bounds(names: tuple[str, ...], tmp_path: Path) -> None:
    """One process starts those that read: to import the engine takes longer than most files."""
    assert afresh(f"test_worst_xacro.beyond_bounds({names!r}, {str(tmp_path)!r})") == {}


def beyond_bounds(names: tuple[str, ...], folder: str) -> dict[str, str]:
    """Return the measurements of the files that exceed the limits."""
    path, beyond = Path(folder) / "worst.xacro", {}
    for name in names:
        path.write_bytes(XACROS[name]())
        assert path.stat().st_size < 1.1 * SIZE
        for _ in range(4):  # other programs take caches and cores
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            _, megabytes, held, fault = measured(read_urdf, path)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)  # of the reading process, and of the one that expands
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            reported = f"{seconds:.2f} s, {megabytes:.0f} MB, {1000 * held:.0f} ms {fault}"
            if os.environ.get("WORST_TOLD"):
                print(f"{name}: {reported}")
            if not fault and seconds < SECONDS and megabytes < MEGABYTES and held < allowed(held):
                break
        else:
            beyond[name] = reported
    return beyond
