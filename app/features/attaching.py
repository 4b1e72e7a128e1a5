"""The list of features that are attached to the window.

A feature is a class constructed with the window. It makes its actions (`actions.make_action`), puts them into menus
(`window.menus`) and into the tool bar (`window.toolbar`), adds its docks (`window.docks.add`), and connects to the
window's signals `loaded`, `framed`, `happened`, `refreshed` and `closing`. Its class is its key:
`window.feature(ContactView)`, which serves those after it in the list while the window is being built.
"""

from __future__ import annotations

from collections.abc import Callable

from app.features.angle_units import AngleUnits
from app.features.appearance import Appearance
from app.features.batch_view import BatchView
from app.features.camera_views import CameraViews
from app.features.compare_view import CompareView
from app.features.contact_view import ContactView
from app.features.controller_output import ControllerOutput
from app.features.controller_view import ControllerView
from app.features.copying import Copying
from app.features.diagnostics_view import DiagnosticsView
from app.features.distance_view import DistanceView
from app.features.dragging import Dragging
from app.features.drift_view import DriftView
from app.features.drive_view import DriveView
from app.features.floating_base import FloatingBase
from app.features.frame_rate import FrameRate
from app.features.gallery_view import GalleryView
from app.features.generating import Generating
from app.features.ghost_view import GhostView
from app.features.gravity_view import GravityView
from app.features.ground_view import GroundView
from app.features.hand_posing import HandPosing
from app.features.idle_measuring import IdleMeasuring
from app.features.lesson_view import LessonView
from app.features.link_hiding import LinkHiding
from app.features.link_masses import LinkMasses
from app.features.live_view import LiveView
from app.features.log_view import LogView
from app.features.offered_controller import OfferedController
from app.features.out_of_view import OutOfView
from app.features.overlay_view import OverlayView
from app.features.palette import PaletteView
from app.features.placing import Placing
from app.features.plots_view import PlotsView
from app.features.pose_menu import PoseMenu
from app.features.preferences import Preferences
from app.features.reloading import Reloading
from app.features.robot_view import RobotView
from app.features.run_exports import RunExports
from app.features.scene_view import SceneView
from app.features.second_robot_view import SecondRobotView
from app.features.self_collision_view import SelfCollisionView
from app.features.session_archive_view import SessionArchiveView
from app.features.sessions import Sessions
from app.features.shortcuts_sheet import ShortcutsSheet
from app.features.simulation_choices import SimulationChoices
from app.features.status import Status
from app.features.study_view import StudyView
from app.features.text_size import TextSize
from app.features.time_view import TimeView
from app.features.timing_view import TimingView
from app.features.trajectory_drives import TrajectoryDrives
from app.features.typed_pose import TypedPose
from app.features.undo_view import UndoView
from app.features.waiting import Waiting
from app.features.window_type import Window
from app.features.wrench_view import WrenchView
from app.features.xacro_arguments import XacroArguments

FEATURES: tuple[Callable[[Window], object], ...] = (
    SimulationChoices,
    IdleMeasuring,
    TimingView,
    CompareView,
    DiagnosticsView,
    BatchView,
    Status,
    UndoView,
    ContactView,
    OverlayView,
    CameraViews,
    GalleryView,
    RobotView,
    LinkHiding,
    LinkMasses,
    Dragging,
    HandPosing,
    TypedPose,
    PoseMenu,
    Copying,
    DriveView,
    TrajectoryDrives,
    ControllerView,
    OfferedController,
    ControllerOutput,
    WrenchView,
    TimeView,
    RunExports,
    GhostView,
    SecondRobotView,
    PlotsView,
    SceneView,
    GroundView,
    GravityView,
    Placing,
    DistanceView,
    SelfCollisionView,
    Appearance,
    AngleUnits,
    FrameRate,
    TextSize,
    Reloading,
    XacroArguments,
    Generating,
    Sessions,
    SessionArchiveView,
    Preferences,
    PaletteView,
    LessonView,
    StudyView,
    ShortcutsSheet,
    LogView,
    LiveView,
    Waiting,
    DriftView,
    OutOfView,
    FloatingBase,
)
"""All features, in the order of their menu entries."""
