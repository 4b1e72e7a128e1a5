"""Convert command-line words to robots, and robots to the words that load them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

from engine import files
from engine.model import Model, ModelError, generate
from engine.urdf.load import load
from engine.urdf.mesh_paths import PathName

GENERATED: Mapping[str, Callable[[int], Model]] = {"chain": generate.chain, "tree": generate.tree}


def model_named(
    words: str,
    package_dirs: Iterable[PathName] = (),
    floating: bool = False,
    mimic: bool = True,
    trust_xacro: bool = False,
    xacro_args: Mapping[str, str] | None = None,
) -> Model:
    """Return the model of a robot's file, of one that ships, or of N links by chain:N and tree:N.

    Raises FileNotFoundError, ModelError or ValueError.
    """
    kind, colon, links = words.partition(":")
    if colon and kind in GENERATED:
        if not links.isdecimal() or int(links) < 1:
            raise ValueError(f"robot {words!r}: expected a number of links of 1 or more, such as {kind}:200")
        return GENERATED[kind](int(links))
    return load(files.find_robot(words), package_dirs, floating, mimic, trust_xacro, xacro_args=xacro_args)


@lru_cache(maxsize=64)
def words(model: Model) -> tuple[str, ...]:
    """Return a model's command-line words, with the options with which it was loaded.

    Raises ValueError for one that was created in Python and has no file.
    """
    if model.source is not None:
        path = Path(model.source)
        ships = path.resolve().parent == files.ROBOTS and path.suffix == ".urdf"
        xacro_args = model.options.get("xacro_args", {})
        command = [path.stem if ships else os.fspath(path), *(f"{name}:={value}" for name, value in xacro_args.items())]
        for floating, mimic in product((False, True), (True, False)):
            with suppress(ModelError):
                again = load(path, floating=floating, mimic=mimic, xacro_args=xacro_args)
                if (again.nq, again.nv) == (model.nq, model.nv):
                    command += ["--floating"] * floating + ["--no-mimic"] * (not mimic)
                    break
        return tuple(command)
    for kind, make in GENERATED.items():
        links = model.name.removeprefix(kind)
        if model.name.startswith(kind) and links.isdecimal() and int(links) >= 1:
            again = make(int(links))
            if np.array_equal(again.kind, model.kind) and np.array_equal(again.home_rotation, model.home_rotation):
                return (f"{kind}:{links}",)
    raise ValueError(f"{model.name} is in no file, so that no command can name it; write it with engine.to_urdf")
