"""The choice of a GPU stepper for a batch: the first row whose condition its settings meet."""

from __future__ import annotations

from engine.cuda.stepping import robot_stepper, written_out_stepper
from engine.cuda.stepping.chain_group_stepper import ChainGroupStepper
from engine.cuda.stepping.dca_chain_stepper import DcaChainStepper
from engine.cuda.stepping.dca_tree_stepper import DcaTreeStepper
from engine.cuda.stepping.robot_stepper import RobotStepper
from engine.cuda.stepping.scene_stepper import SceneStepper
from engine.cuda.stepping.stepper import StillStepper
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
    Row(("dca",), DcaChainStepper, in_scene=False, takes=_serial),
    Row(("dca",), DcaTreeStepper, in_scene=False),
    Row(("jsiia", "cfa"), ChainGroupStepper, in_scene=False, takes=_in_groups),
    Row(("abia", "jsiia"), RobotStepper, takes=robot_stepper.serves),
    Row(("abia", "jsiia"), SceneStepper),
)
