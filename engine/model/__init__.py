"""The robot model: the immutable `Model`, its joints and shapes, and the array layout for compiled kernels."""

from engine.model.coupling import Coupling
from engine.model.diagnostic import Diagnostic, Edit, ModelError
from engine.model.joints import FREE, PRISMATIC, REVOLUTE, SPHERICAL, Joint, JointKind
from engine.model.model import EARTH, WORLD, Model
from engine.model.shapes import Collision, Shape, Visual

__all__ = [
    "EARTH", "FREE", "PRISMATIC", "REVOLUTE", "SPHERICAL", "WORLD", "Collision", "Coupling", "Diagnostic", "Edit",
    "Joint", "JointKind", "Model", "ModelError", "Shape", "Visual",
]  # fmt: skip
