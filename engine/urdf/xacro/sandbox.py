"""Expand xacro files in a child process with time and memory limits.

xacro evaluates expressions with Python's eval, which gives a file access to the whole program. Untrusted files are
therefore expanded with another evaluator, in `engine.urdf.xacro.sandbox_child`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from engine.files import regular
from engine.text import in_one_line
from engine.urdf.mesh_paths import PathName

BOUNDS = {False: (8, 1024), True: (60, 4096)}
"""Maximum CPU seconds and megabytes of memory of an expansion, by whether the file is trusted."""
MAX_NAMED, MAX_CHARACTERS = 3, 40  # arguments, and characters of each, that a message names

_CHILD = """\
import os, sys, threading, types
def end_with_parent():
    os.read(0, 1)
    os._exit(1)
threading.Thread(target=end_with_parent, daemon=True).start()
engine = sys.modules["engine"] = types.ModuleType("engine")  # what the engine's package imports is not needed here
engine.__path__ = [sys.argv[1]]
from engine.urdf.xacro.sandbox_child import main
main(*sys.argv[2:])
"""
"""The child's program; when the parent ends in any way, its standard input closes."""


class XacroError(Exception):
    """A xacro file cannot be expanded: the message is the reason, `fix` what to do, `line` the line or None."""

    def __init__(self, problem: str, fix: str, line: int | None = None):
        super().__init__(problem)
        self.fix, self.line = fix, line


class Expansion(NamedTuple):
    """The `text` of the URDF, the values of the `arguments` that the file declares, and the `files` it includes."""

    text: bytes
    arguments: dict[str, str]
    files: list[str]


def expand(
    path: PathName,
    package_dirs: Iterable[PathName] = (),
    trust: bool = False,
    arguments: Mapping[str, str] | None = None,
) -> Expansion:
    """Return the URDF that the xacro file `path` expands to.

    Packages of ``$(find …)`` are looked for in `package_dirs`, beside the folders around the file and those of
    ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH``. `trust` lets the file run any Python, as xacro does. `arguments`
    are values for the file's ``<xacro:arg>``, by their names; those of a trusted file call nothing: they may come from
    the file of a run.

    Raises OSError if the file cannot be read, and XacroError if xacrodoc is not installed, the file cannot be expanded,
    or it needs to be trusted.
    """
    path = Path(path).absolute()
    with regular(path):
        pass
    if importlib.util.find_spec("xacrodoc") is None:
        problem = "xacro files need the package xacrodoc, which is not installed"
        raise XacroError(problem, "pip install xacrodoc, or expand the file to a URDF first")
    if trust and (calls := [name for name, value in (arguments or {}).items() if "(" in value]):
        problem = f"the argument {calls[0]} has a bracket (, and {path.name} may run any Python"
        raise XacroError(problem, "give it a value without brackets, or do not trust the file")
    folders = [package_dirs] if isinstance(package_dirs, str | Path) else list(package_dirs)
    seconds, megabytes = BOUNDS[trust]
    command = [sys.executable, "-P", "-X", "utf8", "-c", _CHILD, str(Path(__file__).parents[2]), str(path)]
    command += [
        "yes" if trust else "no",
        str(seconds),
        str(megabytes),
        json.dumps({**(arguments or {})}),
        *(str(Path(entry).absolute()) for entry in folders),
    ]
    reading, writing = os.pipe()  # never written; closes when this process ends
    try:
        done = subprocess.run(
            command, stdin=reading, capture_output=True, timeout=3 * seconds,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise XacroError(*_too_long(path, seconds, trust)) from None
    finally:
        os.close(reading)
        os.close(writing)
    header, _, text = done.stdout.partition(b"\n")
    if done.returncode < 0 and -done.returncode in (getattr(signal, "SIGXCPU", 0), getattr(signal, "SIGKILL", 0)):
        raise XacroError(*_too_long(path, seconds, trust))
    if done.returncode or not header:
        wording = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        problem = f"xacro cannot expand {path.name}: its process ended early ({wording})"
        raise XacroError(problem, _correct(arguments))
    answer = json.loads(header)
    if "problem" not in answer:
        return Expansion(text, answer["arguments"], answer["files"])
    same_file = Path(answer["file"]) == path
    place = "" if same_file else f" ({answer['file']}, line {answer['line']})"
    line = (answer["line"] or None) if same_file else None
    if answer["forbidden"]:
        fix = "write it in another way; or, if you know where the file comes from, trust it with --trust-xacro"
        problem = f"{path.name} uses something forbidden in untrusted xacro files{place}: {answer['problem']}"
        raise XacroError(problem, f"{fix} (trust_xacro=True in Python)", line)
    lacks = _LACKS.match(answer["problem"])
    fix = f"give it by {lacks[1]}:=VALUE, or add a default to the file" if lacks else _correct(arguments)
    raise XacroError(f"xacro cannot expand {path.name}{place}: {answer['problem']}", fix, line)


def _correct(arguments: Mapping[str, str] | None) -> str:
    """Return the fix for a file that cannot be expanded, with the arguments that were given."""
    given = [in_one_line(f"{name}:={value[:MAX_CHARACTERS]}") for name, value in (arguments or {}).items()]
    more = f" and {len(given) - MAX_NAMED} more" if len(given) > MAX_NAMED else ""
    return f"correct {', '.join(given[:MAX_NAMED])}{more}, or the xacro file" if given else "correct the xacro file"


_LACKS = re.compile(r"Undefined substitution argument (\w+)")


def _too_long(path: Path, seconds: int, trust: bool) -> tuple[str, str]:
    fix = "look for macros that call each other without end"
    return f"expanding {path.name} takes more than {seconds} s", fix + (
        "" if trust else ", or trust it (--trust-xacro)"
    )
