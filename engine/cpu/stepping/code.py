"""`Code`: the machine code that the steps of some settings need, whether it exists, and compiling it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from engine.compile.entry import sort_of
from engine.cpu.accelerations import algorithm_named, example
from engine.cpu.rigid_body.aba_batch import LOOP_UP_TO
from engine.cpu.rigid_body.rnea import all_finite
from engine.cpu.rigid_body.workspace import EIGHT, ONE
from engine.cpu.rigid_body.wrenches import Links
from engine.cpu.stepping import integrators
from engine.cpu.stepping.integrators import BlockRun, Divergences, OwnParameters, Recording, Wrenches, scratch
from engine.cpu.trees import dca as trees
from engine.kernels.collision import surfaces
from engine.kernels.collision.surfaces import Kind
from engine.kernels.collision.touching_pairs import touching_pairs
from engine.kernels.contact import workspace
from engine.kernels.contact.mimics import mimics
from engine.kernels.joint_rows import JointRows
from engine.kernels.step_state import Robots
from engine.scene.pairs import NO_PAIRS
from engine.step_settings import Rotations, StepSettings

_MATRIX = (("array", "float64", 2),)


class Code(NamedTuple):
    """The machine code of the steps of some settings: an integrator, an algorithm and a number of lanes.

    `wrenches`: external wrenches act. `contact`: the kind of ground, "" without contact. `own`: robots have their own
    parameters. `pairs`: shapes touch shapes. `mimic`: mimic joints take part in contact.
    """

    integrator: str
    algorithm: str
    lanes: int
    wrenches: bool = False
    contact: Kind | Literal[""] = ""
    own: bool = False
    pairs: bool = False
    mimic: bool = False

    @classmethod
    def of(cls, settings: StepSettings) -> Code:
        """Return the code for these settings; blocks of eight robots step together where all are alike, and more than a
        few."""
        alike = len(settings.joints) == 1 and settings.parameters is None
        algorithm = settings.algorithm
        if algorithm_named(algorithm).is_shared and not trees.pays(settings.model):
            algorithm = "abia"
        model, scene = settings.model, settings.scene
        ground = None if scene is None else scene.ground
        shape_pairs = NO_PAIRS if scene is None else touching_pairs(model, scene)[0]
        pairs = shape_pairs.capacity > 0
        contact: Kind | Literal[""] = surfaces.kind(ground) if ground is not None else "plane" if pairs else ""
        together = settings.batch > LOOP_UP_TO and algorithm == "abia" and alike and not contact
        lanes = len(EIGHT if together else ONE)
        own = not alike and not algorithm_named(algorithm).is_shared
        mimic = bool(contact and mimics(model))
        return cls(settings.integrator, algorithm, lanes, settings.wrenches, contact, own, pairs, mimic)

    @property
    def seconds(self) -> float:
        """The time to compile it quickly on a core of 2023, with a process's start."""
        seconds = 0.9 + 0.2 * (self.lanes > 1) + algorithm_named(self.algorithm).seconds
        return seconds + 1.7 * bool(self.contact) + 0.8 * self.pairs

    def kept(self) -> bool:
        """Whether it is loaded, or on disk."""
        if not (integrators.run.is_compiled(self._sorts()) and all_finite.is_compiled(_MATRIX)):
            return False
        return not algorithm_named(self.algorithm).is_shared or trees.is_compiled()

    def compile(self) -> None:
        """Compile it, or read it from disk."""
        self.steps()
        all_finite.specialised(_MATRIX)
        if algorithm_named(self.algorithm).is_shared:
            trees.make_code()

    def steps(self) -> Callable[..., int]:
        """`integrators.run` for these steps, compiled or read from disk."""
        return integrators.run.specialised(self._sorts())

    def _contact_state(self) -> workspace.ContactState | tuple[()]:
        if not self.contact:
            return ()
        return workspace.example(self.contact, self.pairs, self.mimic)

    def _sorts(self) -> tuple[Any, ...]:
        """The types of the arguments that `integrators.run` is called with."""
        real, whole = np.zeros(1), np.zeros(1, np.int64)
        matrix, cube, table = real[None], real[None, None], whole[None]
        place = scratch(1, 1, 1)
        wrenches: Wrenches | tuple[()] = ()
        if self.wrenches:
            place, wrenches = place._replace(wrenches=matrix), Wrenches(cube, Links(whole, matrix, matrix))
        arguments = (
            BlockRun(
                Robots(*(matrix,) * 4), wrenches, self.integrator, JointRows(1e-3, False, False, whole, matrix),
                Rotations(table, table), place, example(self.algorithm, (0,) * self.lanes), whole,
                Divergences(whole, whole), self._contact_state(), OwnParameters(cube, cube) if self.own else (),
            ),
            cube, Recording(cube, cube, 1), 1, 0, False,
        )  # fmt: skip
        return tuple(map(sort_of, arguments))
