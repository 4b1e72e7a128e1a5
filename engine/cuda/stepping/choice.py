"""What steps a batch of robots on the GPU."""

from __future__ import annotations

from engine.cuda.stepping import scene_stepper, written_out_stepper
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


def stepper(
    settings: StepSettings,
) -> type[RobotStepper | WrittenOutStepper | SceneStepper | ChainStepper | GroupStepper | TreeStepper | StillStepper]:
    """The class of it: chains have steppers of their own, where these are faster."""
    model, algorithm = settings.model, settings.algorithm
    if not len(model.parent):
        return StillStepper
    serial = features.serial(model)
    if algorithm == "dca":
        return ChainStepper if serial else TreeStepper
    if algorithm == "abia" or not serial or settings.scene is not None:
        if scene_stepper.serves(settings):
            return SceneStepper
        return WrittenOutStepper if written_out_stepper.serves(settings) else RobotStepper
    return RobotStepper if algorithm == "jsiia" and in_threads(model, settings.batch) else GroupStepper
