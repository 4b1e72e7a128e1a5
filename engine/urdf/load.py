"""Load a URDF as a `Model`, and report all problems of the file in one pass, each with its line and its fix.

`engine.urdf` parses the XML itself rather than through yourdfpy, which keeps neither line numbers nor the difference
between a value that is given and a default.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from engine import files
from engine.model import Diagnostic, Model, ModelError
from engine.urdf import physical_checks
from engine.urdf.assembly import assemble
from engine.urdf.markup import Document, TooMany, texts
from engine.urdf.mesh_paths import PathName, Resources
from engine.urdf.reading import read
from engine.urdf.srdf import Semantics, find_srdf
from engine.urdf.srdf import read as read_srdf
from engine.urdf.topology import connect, lock_joints

BESIDE = "beside"
"""Value of `srdf`: use the SRDF next to the robot's file."""


def load(
    path: PathName,
    package_dirs: Iterable[PathName] = (),
    floating: bool = False,
    mimic: bool = True,
    trust_xacro: bool = False,
    srdf: PathName | None = None,
    xacro_args: Mapping[str, str] | None = None,
) -> Model:
    """The model of a URDF or xacro file, at rest in the world by its root link.

    - `path`: a URDF; a name that ends in ``.xacro`` is expanded first, through xacrodoc, in a process of its own.
    - `package_dirs`: folders in which the packages of ``package://`` names are looked for, after those beside the file
      and those of ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH``.
    - `floating`: put a free joint, ``floating_base``, under the root link.
    - `mimic`: let joints that mimic follow their leader exactly; if not, they move freely.
    - `trust_xacro`: let a xacro file run any Python, as xacro does; if not, it has arithmetic, conditions and the
      documented functions, and reads files of its own folder and of packages only.
    - `srdf`: MoveIt's description of the same robot, an SRDF; the links of its ``disable_collisions`` never touch each
      other, see `Model.disabled_collisions`, and its ``group_state`` elements name poses, see `Model.poses`. "beside":
      the one of this robot that stands beside the file, in its folder or in a folder ``srdf``, if there is one; of its
      problems, which may be those of another variant of the robot, one warning says how many they are, or that it was
      left out.
    - `xacro_args`: values for a xacro file's ``<xacro:arg>``, by their names.

    Returns the model, with the file's warnings in `Model.diagnostics`, each naming the number used.

    Raises ModelError where the file has errors; `ModelError.diagnostics` holds everything that was found.
    """
    package_dirs = (package_dirs,) if isinstance(package_dirs, str | os.PathLike) else tuple(package_dirs)
    model, diagnostics = examine(path, package_dirs, floating, mimic, trust_xacro, xacro_args=xacro_args)
    errors = [entry for entry in diagnostics if entry.severity == "error"]
    if errors or model is None:
        raise ModelError(_report(path, errors), tuple(diagnostics))
    semantics = None
    if srdf == BESIDE:
        srdf, semantics, srdf_diagnostics = read_beside(path, model, package_dirs)
        diagnostics += srdf_diagnostics
    elif srdf is not None:
        semantics = _read_srdf(srdf, model, package_dirs, trust_xacro)
        diagnostics += semantics.diagnostics
        if errors := [entry for entry in semantics.diagnostics if entry.severity == "error"]:
            raise ModelError(_report(srdf, errors), tuple(diagnostics))
    options = {
        "floating": floating, "mimic": mimic, "package_dirs": [str(Path(folder).absolute()) for folder in package_dirs],
        "srdf": None if semantics is None else str(Path(srdf or "").absolute()), "xacro_args": texts(xacro_args),
    }  # fmt: skip
    pairs, states = (semantics.pairs, semantics.states) if semantics is not None else ((), {})
    return dataclasses.replace(
        model, diagnostics=tuple(diagnostics), disabled_collisions=pairs, group_states=states, options=options
    )


def read_beside(
    path: PathName, model: Model, package_dirs: Iterable[PathName]
) -> tuple[Path | None, Semantics | None, list[Diagnostic]]:
    """Find and read the SRDF of a robot beside its file; return its path and content, and at most one warning.

    One with errors is left out; without one, path and content are None.
    """
    srdf = find_srdf(path, model.name)
    if srdf is None:
        return None, None, []
    semantics = _read_srdf(srdf, model, package_dirs)
    errors = [entry for entry in semantics.diagnostics if entry.severity == "error"]
    if errors:
        many = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        problem = f"it has {many}: line {errors[0].line}: {errors[0].problem}"
        fix = "the robot is read without it; correct it, for its named poses and the links that never touch"
        return srdf, None, [Diagnostic("warning", None, srdf.name, problem, fix)]
    if not (warnings := semantics.diagnostics):
        return srdf, semantics, []
    many = "1 problem" if len(warnings) == 1 else f"{len(warnings)} problems"
    problem = f"it has {many}: line {warnings[0].line}: {warnings[0].problem}"
    fix = "its named poses and the links that never touch are read without what they concern"
    return srdf, semantics, [Diagnostic("warning", None, srdf.name, problem, fix)]


def _read_srdf(srdf: PathName, model: Model, package_dirs: Iterable[PathName], trust_xacro: bool = False) -> Semantics:
    limits = model.lower, model.upper
    return read_srdf(srdf, model.link_names, model.joints, package_dirs, trust_xacro, limits)


def check(
    path: PathName,
    package_dirs: Iterable[PathName] = (),
    trust_xacro: bool = False,
    xacro_args: Mapping[str, str] | None = None,
) -> list[Diagnostic]:
    """Everything that is wrong with a URDF or xacro file, in the order of its lines; empty if nothing is.

    - `path`: the file.
    - `package_dirs`: folders in which the packages of ``package://`` names are looked for, after those beside the file
      and those of ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH``.
    - `trust_xacro`: let a xacro file run any Python, as xacro does.
    - `xacro_args`: values for a xacro file's ``<xacro:arg>``, by their names.
    """
    return examine(path, package_dirs, trust_xacro=trust_xacro, xacro_args=xacro_args)[1]


def examine(
    path: PathName,
    package_dirs: Iterable[PathName] = (),
    floating: bool = False,
    mimic: bool = True,
    trust_xacro: bool = False,
    content: bytes | None = None,
    xacro_args: Mapping[str, str] | None = None,
) -> tuple[Model | None, list[Diagnostic]]:
    """Return the model of a file, as far as one can be built, and all diagnostics; use the model only without errors.

    `content`, if given, is examined instead of the file's content.
    """
    document = Document(path, package_dirs, trust_xacro, content, xacro_args)
    with files.nothing_collected():
        try:
            return _examined(document, package_dirs, floating, mimic)
        except TooMany:
            return None, document.all_diagnostics()


def _examined(
    document: Document, package_dirs: Iterable[PathName], floating: bool, mimic: bool
) -> tuple[Model | None, list[Diagnostic]]:
    description = read(document, Resources(document.path, package_dirs))
    if description is None:
        return None, document.all_diagnostics()
    topology = connect(document, description, floating, mimic)
    model = assemble(description, topology, str(document.path.absolute()))
    model = dataclasses.replace(model, declared_args=document.declared, included=document.files)
    physical_checks.inertias(document, description.links, physical_checks.impossible(model))
    physical_checks.masses(document, description, topology)
    idle = physical_checks.joints_to_lock(document, topology, model)
    if idle:
        locked = assemble(description, lock_joints(topology, idle), model.source)
        model = dataclasses.replace(locked, declared_args=model.declared_args, included=model.included)
    return model, document.all_diagnostics()


def _report(path: PathName, errors: list[Diagnostic]) -> str:
    count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    return "\n  ".join([f"{Path(path).name} has {count}:", *map(str, errors)])
