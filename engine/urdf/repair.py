"""Write a repaired copy of a robot's file in which only the invalid places are changed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from engine import files
from engine.model import Diagnostic
from engine.urdf import source
from engine.urdf.load import examine
from engine.urdf.mesh_paths import PathName

ROUNDS = 10
"""A repair may uncover a problem behind it, such as numbers with commas that then are no unit axis."""


def repair(
    path: PathName, out: PathName, package_dirs: Iterable[PathName] = (), overwrite: bool = False
) -> tuple[int, list[Diagnostic]]:
    """Write a copy of a URDF in which each invalid value with only one possible meaning is written in a valid form.

    Comments and layout stay; the file itself is never changed.

    - `path`: the URDF.
    - `out`: where the copy goes; it is written beside its target and renamed.
    - `package_dirs`: as `engine.load` takes them.
    - `overwrite`: replace an existing file.

    Returns how many places were repaired, and the problems of the copy that only its author can repair.

    Raises ValueError for a xacro file, or if `out` is the file itself; FileExistsError if `out` exists and `overwrite`
    is not given; OSError if the file cannot be read or the copy cannot be written.
    """
    original, target = Path(path), Path(out)
    if original.suffix == ".xacro":
        raise ValueError(f"{original.name} is a xacro file, which has no text to repair; repair the URDF it expands to")
    content = files.content(original)
    if target.exists() and target.samefile(original):
        raise ValueError(f"{os.fspath(out)!r} is the file itself; give the copy another name")
    if target.exists() and not overwrite:
        raise FileExistsError(f"{os.fspath(out)!r} is there; give the copy another name, or say to overwrite it")
    directories = [package_dirs] if isinstance(package_dirs, str | os.PathLike) else list(package_dirs)
    count, codec = 0, source.Source(content).codec
    for _ in range(ROUNDS):
        mended = [entry for entry in examine(original, directories, content=content)[1] if entry.repair]
        if not mended:
            break
        edits = source.without_overlaps([edit for entry in mended for edit in entry.repair])
        text = source.apply(source.Source(content).data, edits).decode()
        content = text.encode(codec, "xmlcharrefreplace")
        made = set(edits)
        count += sum(made.issuperset(entry.repair) for entry in mended)
    with files.replacing(target) as file:
        file.write(content)
    return count, examine(target, directories)[1]
