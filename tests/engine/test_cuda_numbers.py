"""Numbers that a Python module and a CUDA header both have are equal: layouts of contacts, kinds of steps."""

from __future__ import annotations

import re

import pytest

from engine.cuda.constraints import contacts
from engine.cuda.runtime import compiler
from engine.cuda.stepping import robot_stepper
from engine.kernels.contact import workspace


def layout(file: str, name: str, **given: int) -> dict[str, int]:
    """The constants of a header's namespace, with values for the names of its preamble."""
    text = (compiler.FOLDER / file).read_text("utf-8")
    (body,) = re.findall(rf"namespace {name} \{{\s*constexpr int ([^;]+);", text)
    found = dict(given)
    for each in body.split(","):
        key, value = each.split("=")
        found[key.strip()] = eval(value, {}, found)
    return found


@pytest.mark.parametrize("pairs", [0, 1])
@pytest.mark.parametrize("own", [0, 1])
def test_the_layout_of_a_contact(pairs: int, own: int) -> None:
    given = {"ANY_PAIRS": pairs, "OWN_PAIRS": pairs * own}
    contact = layout("collision/contact_room.cuh", "contact", **given)
    more = contacts._FEATURE * pairs + contacts._OTHER * pairs * own
    assert contact["NUMBERS"] == contacts._CONTACT + more
    memory = layout("collision/contact_room.cuh", "memory", **given)
    assert memory["NUMBERS"] == contacts._REMEMBERED + contacts._FEATURE * pairs
    assert layout("collision/contact_room.cuh", "near")["NUMBERS"] == contacts._SPHERE_PLACE
    assert layout("collision/contact_room.cuh", "placed")["NUMBERS"] == contacts._PLACED


@pytest.mark.parametrize("other", [0, 1])
def test_the_layout_of_a_reported_contact(other: int) -> None:
    seen = layout("stepping/contact_report.cuh", "seen", TELLS_OTHER=other)
    names = "PLACE", "NORMAL", "GAP", "IMPULSE", "SLIP", "WRENCH"
    assert [seen[name] for name in names] == [getattr(workspace, name) for name in names]
    assert (seen["OTHER"], seen["NUMBERS"]) == (contacts.OTHER, contacts.OTHER + 6 * other)


def test_the_kinds_of_steps() -> None:
    text = (compiler.FOLDER / "stepping/limb_step.cuh").read_text("utf-8")
    (kinds,) = re.findall(r"enum Kind : int \{(.+?)\};", text, re.DOTALL)
    names = re.findall(r"^ *(\w+)", kinds, re.MULTILINE)
    assert names.index("KINDS") == len(names) - 1 == robot_stepper._KINDS
