"""Catena's engine: models, dynamics and simulation of articulated robots.

>>> import engine
>>> model = engine.load("robots/arm7.urdf")
>>> fd = engine.ForwardDynamics(model)
>>> a = fd(model.neutral(), [0] * model.nv, [0] * model.nv)

Conventions, stated once in `engine.lie` and `engine.model`: twists are (ω, v) and wrenches (n, f) in the
body's own frame; SI units; z up; arrays are batch first, and one state gives a result without a
batch axis.

`INTEGRATORS` are the names that `Simulation` accepts, the default first. `SIMULATION_ALGORITHMS` are those
that a simulation can use, by device, and `ALGORITHM_NAMES` the field's names for them. `PHASES` are the timed parts of
a step, by device and algorithm; `PHASE_MEANINGS` describes each. `CONTACT_TOLERANCE` is the residual at which contacts
count as solved, and `POSE_ROUNDING`, rad or m, how far beyond a limit the rounding of files puts a value of a pose.
`ROBOTS` is the folder of the robots that ship.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine.checkpoint import Checkpoint
from engine.compilation import Compilation
from engine.compile import finish_compiling
from engine.configuration import difference, integrate
from engine.controller import Controller, ControllerError
from engine.cuda.runtime.device import gpu_failed
from engine.dynamics import (
    ForwardDynamics,
    bias,
    energy,
    forward_dynamics,
    inverse_dynamics,
    inverse_mass_matrix,
    link_poses,
    link_twists,
    mass_matrix,
    momentum,
    point_mobility,
)
from engine.files import ROBOTS, find_robot, read_json, refuse_endless, replacing, require_place
from engine.files import content as file_content
from engine.frame import Frame, FrameReader
from engine.holding import holding_gains, static_loads
from engine.inverse_kinematics import IKResult, inverse_kinematics
from engine.lie import quaternion_from_rotation, rotation_from_rpy, rpy_from_rotation
from engine.live.follow import LiveReader
from engine.live.show import LiveLink, show
from engine.live.windows import FreeWindow
from engine.model import Collision, Diagnostic, Edit, Joint, Model, ModelError, Visual
from engine.model.composition import Part, compose
from engine.model.generate import chain, free_body, tree
from engine.model.urdf_text import urdf as to_urdf
from engine.parameters import Parameters
from engine.phases import MEANINGS as PHASE_MEANINGS
from engine.phases import PHASES
from engine.recording import RecordedFrame, Recording, Run, Setup
from engine.recording.files import SavedRun, read_run, recording_of, save_run
from engine.recording.parts import recording_of_parts, save_part
from engine.recording.resampling import Resampled, resample
from engine.recording.resampling import first_of as first_resampled
from engine.recording.robot_text import parts_of_text, robot_as_text, robot_of_text
from engine.recording.tables import save_csv
from engine.recording.trajectories import trajectory as recorded_trajectory
from engine.rollout import Trajectory, rollout
from engine.scene import (
    Contacts,
    HeightField,
    Obstacle,
    Plane,
    Scene,
    put_down,
    rough_ground,
    slope,
    stairs,
    stairs_among,
    stands,
)
from engine.scene.contact_tolerances import RESIDUAL_TOLERANCE as CONTACT_TOLERANCE
from engine.scene.mesh_parts import MeshPart
from engine.scene.mesh_reader import mesh_being_read, read_mesh
from engine.selection.capabilities import ALGORITHM_NAMES, algorithms
from engine.selection.choice import why_no_gpu
from engine.selection.steppers import ALGORITHMS as SIMULATION_ALGORITHMS
from engine.selection.steppers import simulation_algorithms, simulation_refusal
from engine.selection.timings import measured
from engine.simulation import INTEGRATORS, Diverged, Simulation
from engine.timestep import SuggestedStep, suggested_step
from engine.urdf.gathering import gather as gather_robot
from engine.urdf.group_states import POSE_ROUNDING
from engine.urdf.load import check, load
from engine.urdf.repair import repair
from engine.urdf.xacro.sandbox import expand as expand_xacro

if TYPE_CHECKING:
    from engine.bench.compare import AlgorithmResult, Comparison, ComparisonResult, Crossing, Growth, Point, Scaling
    from engine.bench.intervals import Interval
    from engine.bench.suites.measure import measure_algorithms
    from engine.figures import algorithm_color
    from engine.lessons.lesson import Lesson, LessonMarks, LessonPart, LessonQuestion, LessonStep
    from engine.study.study import Study, StudyProgress
    from engine.study.study_results import StudyResults
    from engine.study.tables import StudyError

__version__ = "0.1.0"
_LATER = {
    **dict.fromkeys(
        ("Comparison", "Crossing", "Growth", "Point", "Scaling", "AlgorithmResult", "ComparisonResult"),
        "engine.bench.compare",
    ),
    "Interval": "engine.bench.intervals",
    "algorithm_color": "engine.figures",
    "measure_algorithms": "engine.bench.suites.measure",
    **dict.fromkeys(("Lesson", "LessonMarks", "LessonPart", "LessonQuestion", "LessonStep"), "engine.lessons.lesson"),
    "Study": "engine.study.study",
    "StudyProgress": "engine.study.study",
    "StudyResults": "engine.study.study_results",
    "StudyError": "engine.study.tables",
}
"""Names imported on first use, by module, so that `import engine` stays fast."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value


__all__ = [
    "ALGORITHM_NAMES", "CONTACT_TOLERANCE", "INTEGRATORS", "PHASES", "PHASE_MEANINGS", "POSE_ROUNDING", "ROBOTS",
    "SIMULATION_ALGORITHMS", "AlgorithmResult", "Checkpoint", "Collision", "Comparison", "ComparisonResult",
    "Compilation", "Contacts", "Controller", "ControllerError", "Crossing", "Diagnostic", "Diverged", "Edit",
    "ForwardDynamics", "Frame", "FrameReader", "FreeWindow", "Growth", "HeightField", "IKResult", "Interval", "Joint",
    "Lesson", "LessonMarks", "LessonPart", "LessonQuestion", "LessonStep", "LiveLink", "LiveReader", "MeshPart",
    "Model", "ModelError", "Obstacle", "Parameters", "Part", "Plane", "Point", "RecordedFrame", "Recording",
    "Resampled", "Run", "SavedRun", "Scaling", "Scene", "Setup", "Simulation", "Study", "StudyError", "StudyProgress",
    "StudyResults", "SuggestedStep", "Trajectory", "Visual", "algorithm_color", "algorithms", "bias", "chain", "check",
    "compose", "difference", "energy", "expand_xacro", "file_content", "find_robot", "finish_compiling",
    "first_resampled", "forward_dynamics", "free_body", "gather_robot", "gpu_failed", "holding_gains", "integrate",
    "inverse_dynamics", "inverse_kinematics", "inverse_mass_matrix", "link_poses", "link_twists", "load", "mass_matrix",
    "measure_algorithms", "measured", "mesh_being_read", "momentum", "parts_of_text", "point_mobility", "put_down",
    "quaternion_from_rotation", "read_json", "read_mesh", "read_run", "recorded_trajectory", "recording_of",
    "recording_of_parts", "refuse_endless", "repair", "replacing", "require_place", "resample", "robot_as_text",
    "robot_of_text", "rollout", "rotation_from_rpy", "rough_ground", "rpy_from_rotation", "save_csv", "save_part",
    "save_run", "show", "simulation_algorithms", "simulation_refusal", "slope", "stairs", "stairs_among", "stands",
    "static_loads", "suggested_step", "to_urdf", "tree", "why_no_gpu",
]  # fmt: skip
