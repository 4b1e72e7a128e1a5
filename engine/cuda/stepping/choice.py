"""The choice of a GPU stepper for a batch: the first row whose condition its settings meet."""

from __future__ import annotations

from engine.cuda.stepping import robot_stepper, written_out_stepper
from engine.cuda.stepping.chain_stepper import ChainStepper
from engine.cuda.stepping.group_stepper import GroupStepper
from engine.cuda.stepping.robot_stepper import RobotStepper
from engine.cuda.stepping.scene_stepper import SceneStepper
from engine.cuda.stepping.stepper import StillStepper
from engine.cuda.stepping.tree_stepper import TreeStepper
from engine.cuda.stepping.written_out_stepper import WrittenOutStepper
from engine.cuda.trees.jsiia import in_threads
from engine.model import features
from engine.step_settings import StepSettings
from engine.stepper import Row


def _still(settings: StepSettings) -> bool:
    return not len(settings.model.parent)


def _serial(settings: StepSettings) -> bool:
    return features.serial(settings.model)


def _in_groups(settings: StepSettings) -> bool:
    """Whether a chain's links are distributed over threads, rather than many small chains over a group by JSIIA."""
    return _serial(settings) and (settings.algorithm != "jsiia" or not in_threads(settings.model, settings.batch))


STEPPERS = (
    Row(("abia", "jsiia"), StillStepper, takes=_still),
    Row(("abia",), WrittenOutStepper, in_scene=False, takes=written_out_stepper.serves),
    Row(("dca",), ChainStepper, in_scene=False, takes=_serial),
    Row(("dca",), TreeStepper, in_scene=False),
    Row(("jsiia", "cfa"), GroupStepper, in_scene=False, takes=_in_groups),
    Row(("abia", "jsiia"), RobotStepper, takes=robot_stepper.serves),
    Row(("abia", "jsiia"), SceneStepper),
)
