"""URDF → `Model`.

The XML is read by `engine.urdf` with its line numbers, and not through yourdfpy, which keeps neither the
lines nor the difference between what a file says and what it leaves out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from engine.model import Diagnostic, Model, ModelError
from engine.urdf.check import examine
from engine.urdf.resources import PathName


def load(
    path: PathName,
    package_dirs: Iterable[PathName] = (),
    floating: bool = False,
    mimic: bool = True,
    trust_xacro: bool = False,
) -> Model:
    """The model of a URDF or xacro file, at rest in the world by its root link.

    Args:
        path: a URDF; a name that ends in ``.xacro`` is expanded first, through xacrodoc, in a process of its own.
        package_dirs: folders in which the packages of ``package://`` names are looked for, after those beside
            the file and those of ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH``.
        floating: put a free joint, ``floating_base``, under the root link.
        mimic: let joints that mimic follow their leader exactly; if not, they move freely.
        trust_xacro: let a xacro file run any Python, as xacro does; if not, it has arithmetic, conditions and the
            documented functions, and reads files of its own folder and of packages only.

    Returns:
        The model, with the file's warnings in `Model.diagnostics`, each naming the number used.

    Raises:
        ModelError: the file has errors; `ModelError.diagnostics` holds everything that was found.
    """
    model, found = examine(path, package_dirs, floating, mimic, trust_xacro)
    errors = [entry for entry in found if entry.severity == "error"]
    if errors or model is None:
        raise ModelError(_report(path, errors), tuple(found))
    return dataclasses.replace(model, diagnostics=tuple(found))


def _report(path: PathName, errors: list[Diagnostic]) -> str:
    count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    return "\n  ".join([f"{Path(path).name} has {count}:", *map(str, errors)])
