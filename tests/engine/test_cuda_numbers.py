"""Numbers that a Python module and a CUDA header both have are equal: layouts of contacts, kinds of steps."""

import re

from engine.cuda.constraints import contacts
from engine.cuda.runtime import compiler
from engine.cuda.stepping import robot_stepper
from engine.kernels.contact import workspace


def layout(file: str, name: str) -> dict[str, int]:
    """The constants of a header's namespace."""
    text = (compiler.FOLDER / file).read_text("utf-8")
    (body,) = re.findall(rf"namespace {name} \{{\s*constexpr int ([^;]+);", text)
    found: dict[str, int] = {}
    for each in body.split(","):
        key, value = each.split("=")
        found[key.strip()] = eval(value, {}, found)
    return found


def test_the_layout_of_a_contact() -> None:
    assert layout("collision/contact_workspace.cuh", "contact")["NUMBERS"] == contacts._CONTACT
    assert layout("collision/contact_workspace.cuh", "memory")["NUMBERS"] == contacts._REMEMBERED


def test_the_layout_of_a_reported_contact() -> None:
    seen = layout("stepping/contact_report.cuh", "seen")
    names = "PLACE", "NORMAL", "GAP", "IMPULSE", "SLIP", "WRENCH"
    assert [seen[name] for name in names] == [getattr(workspace, name) for name in names]
    assert seen["NUMBERS"] == workspace.SEEN


def test_the_kinds_of_steps() -> None:
    text = (compiler.FOLDER / "stepping/limb_step.cuh").read_text("utf-8")
    (kinds,) = re.findall(r"enum Kind : int \{(.+?)\};", text, re.DOTALL)
    names = re.findall(r"^ *(\w+)", kinds, re.MULTILINE)
    assert names.index("KINDS") == len(names) - 1 == robot_stepper._KINDS
