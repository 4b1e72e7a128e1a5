"""Numbers and defaults in `main.py COMMAND --help` are the program's."""

import re

import page_text
import pytest
from page_text import g
from statuses import statuses

import engine
from engine import timestep
from engine.bench.compare import command as compare
from engine.bench.compare import comparison
from engine.scene import Scene


def rise() -> float:
    """The distance of a straight chain's joints, all above each other, m."""
    chain = engine.chain(3, straight=True)
    heights = engine.link_poses(chain, chain.neutral()[None])[0, :, 2, 3]
    (up,) = {round(float(x), 12) for x in heights[1:] - heights[:-1]} - {0.0}
    return up


MAX_STEP = g(timestep.MAX_STEP)
SAYS = {
    "run dt": f"at most {MAX_STEP}; with --controls {MAX_STEP})",
    "run device": f"default: the {page_text.defaults('run')['device'].upper()};",
    "run gravity": f"(default {' '.join(f'{x:g}' for x in page_text.defaults('run')['gravity'])})",
    "run friction": f"(default {Scene().friction:g})",
    "generate prismatic": "joints, 0 to 1",
    "generate spherical": "joints, 0 to 1",
    "generate straight": f"every joint {rise():g} m above the one before",
    "bench suite": f"({page_text.defaults('bench')['suite']}, the default)",
    "bench against": f"exit with {statuses()[1]} if any did",
    "compare dtype": f"default: {comparison.DTYPES[0]}",
    "compare seconds": f"(default {compare.ALONE:g}; with --over {compare.AT_A_SIZE:g})",
    "render size": f"(default {'{}x{}'.format(*page_text.defaults('render')['size'])})",
}
"""What help says of an option's numbers; of others "(default VALUE)", or in words where the parser has no value."""


@pytest.mark.parametrize("command", page_text.commands())
def test_the_numbers_and_defaults_of_help_are_the_programs(command: str) -> None:
    for action in page_text.actions(page_text.commands()[command]):
        text, named, default = action.help or "", f"{command} {action.dest}", action.default
        if named in SAYS:
            assert SAYS[named] in text, text
        elif "default: " in text:
            assert default in (None, "auto"), text
        elif "default" in text:
            shown = f"{default:g}" if isinstance(default, float) else str(default)
            assert f"(default {shown})" in text
        else:
            assert not re.search(page_text.TOLD, text), text
