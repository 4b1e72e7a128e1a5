"""A picture of every feature in both themes, at 1000 × 650, 1280 × 800, 1920 × 1080 and scale 2, to be looked at.

`xvfb-run -a -s "-screen 0 2000x1300x24" python -m tests.app.tour FOLDER` presses what a user presses and writes a PNG
for each feature and look; `--look dark-1920x1080` and `--only ghost` narrow it.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tests.app.frames import make_application
from tests.app.tour_dialogs import DialogTour
from tests.app.user import PATIENCE

LOOKS = {
    f"{theme}-{name}": (theme, size, scale)
    for theme in ("dark", "light")
    for name, size, scale in (
        ("1000x650", (1000, 650), 1),
        ("1280x800", (1280, 800), 1),
        ("1920x1080", (1920, 1080), 1),
        ("scale-2", (1000, 650), 2),
    )
}
BROKEN = """<robot name="broken">
  <link name="base"/>
  <link name="arm"><inertial><mass value="-1.5"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><geometry><mesh filename="package://a_package_that_is_nowhere/meshes/visual/upper_arm.dae"/></geometry></visual>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 0"/>
    <limit lower="2" upper="-2" effort="x" velocity="1"/></joint>
</robot>
"""


class Tour(DialogTour):
    """A simulated user who looks at every feature, each in a state that shows it."""

    # The features, in the order of a tour. What each leaves behind it takes away itself.

    def empty(self) -> Iterator[None]:
        self.spin(PATIENCE, lambda: self.window.viewport.detail[0] == 1.0)
        self.rest()
        yield

    def diagnostics(self) -> Iterator[None]:
        path = Path(self.scratch.name) / "broken.urdf"
        path.write_text(BROKEN, encoding="utf-8")
        self.window.open(path)
        self.spin(PATIENCE, self.window.docks["Diagnostics"].isVisible)
        self.rest()
        yield
        self.dock("Diagnostics", False)

    def held(self) -> Iterator[None]:
        self.robot("arm7")
        self.play(0.5)
        self.rest()
        yield

    def drive(self) -> Iterator[None]:
        from app.acting.drives import Drive
        from app.features.drive_view import DriveView

        self.robot("arm7")
        form = self.window.features[DriveView]
        form.choose(3)
        self.bench.joints.set_joint_drive(3, Drive("target", 0.6, "sine", 0.4, 2.0))
        self.window.refresh()
        self.play(1.2)
        self.rest()
        yield
        self.bench.joints.set_held(True)
        form.form.away.click()

    def pull(self) -> Iterator[None]:
        self.robot("arm7")
        self.bench.play()
        self.spin(0.4)
        x, y = self._on_robot()
        self._drag(x, y, 0.14, -0.10, "RightButton", 0.08)
        yield
        self.mouse("MouseButtonRelease", x + 0.14, y - 0.10, "RightButton", False)
        self.rest(0.1)

    def pose(self) -> Iterator[None]:
        from app.features.hand_posing import HandPosing
        from app.picture.handles import ARROW, RING, Handle

        self.robot("arm7")
        self.bench.posing.pose(np.array([0.2, 0.5, 0.1, 1.0, 0.2, 0.6, 0.0]))
        self.window.selection.choose(len(self.bench.robot.model.link_names) - 1)
        self.spin(0.3)
        self.window.viewport.fit()
        self.rest()
        yield
        handles, viewport = self.window.features[HandPosing].handles, self.window.viewport
        for handle in (Handle(RING, 0), Handle(ARROW, 0)):
            near = np.flatnonzero(~handles.shape.behind.get(handle, np.zeros(2, bool)))
            x, y = handles.shape.lines[handle][near[-1]] / [viewport.width(), viewport.height()]
            self.mouse("MouseMove", x, y, "NoButton", False)
            self._drag(x, y, 0.09, 0.05, "LeftButton", 0.05)
            yield
            self.mouse("MouseButtonRelease", x, y, "LeftButton", False)
            self.rest(0.1)
        x, y = self._on_robot()
        self._drag(x, y, 0.3, -0.1, "RightButton", 0.05)
        yield
        self.mouse("MouseButtonRelease", x + 0.3, y - 0.1, "RightButton", False)
        self.window.selection.choose(-1)

    def _drag(self, x: float, y: float, across: float, down: float, button: str, pause: float) -> None:
        self.mouse("MouseButtonPress", x, y, button, True)
        for share in np.linspace(0, 1, 6):
            self.mouse("MouseMove", x + across * share, y + down * share, button, True)
            self.spin(pause)

    def _on_robot(self) -> tuple[float, float]:
        """Return the last link's position, relative to the picture's width and height."""
        viewport, last = self.window.viewport, len(self.bench.robot.model.link_names) - 1
        for link in range(last, 0, -1):
            for y in np.linspace(0.05, 0.95, 60):
                for x in np.linspace(0.05, 0.95, 60):
                    hit = viewport.under(x * viewport.width(), y * viewport.height())
                    if hit is not None and hit.link == link:
                        return float(x), float(y)
        raise LookupError("no link is in sight")

    def forces(self) -> Iterator[None]:
        self.robot("arm7")
        self.dock("Forces")
        from app.features.wrench_view import WrenchView

        panel = self.window.features[WrenchView].panel
        panel.force[1].setValue(25.0)
        panel.act.click()
        self.play(0.4)
        self.rest()
        yield
        panel.clear.click()
        self.dock("Forces", False)

    def link(self) -> Iterator[None]:
        self.robot("arm7")
        for title in ("Robot", "Forces"):  # both follow the link that is chosen
            self.dock(title)
        self.window.selection.choose(4)
        for kind in ("frames", "masses"):
            self.window.viewport.overlays.show(kind, True)
        from app.features.wrench_view import WrenchView

        panel = self.window.features[WrenchView].panel
        panel.force[1].setValue(60.0)
        panel.act.click()
        self.rest()
        yield
        panel.clear.click()
        for kind in ("frames", "masses"):
            self.window.viewport.overlays.show(kind, False)
        self.window.selection.choose(-1)
        for title in ("Robot", "Forces"):
            self.dock(title, False)

    def glass(self) -> Iterator[None]:
        self.robot("humanoid")
        overlays = self.window.viewport.overlays
        overlays.see_through(True)
        for kind in ("inertias", "axes", "names"):
            overlays.show(kind, True)
        self.rest()
        yield
        overlays.see_through(False)
        for kind in ("inertias", "axes", "names"):
            overlays.show(kind, False)

    def plots(self) -> Iterator[None]:
        from app.features.ghost_view import GhostView
        from app.features.plots_view import PlotsView

        self.robot("double_pendulum")
        self.dock("Plots")
        panel = self.window.features[PlotsView].panel
        panel.plot_group("robot", ("energy drift",))
        self.bench.joints.set_held(False)
        self.bench.joints.set_coordinate(0, 1.2)
        self.play(4.0)
        self.rest()
        yield
        panel.plot_group("joint", ("position",))
        self.window.run.reset.trigger()
        self.spin(1.0)
        self.bench.joints.set_coordinate(0, 1.0)
        self.play(3.0)
        self.window.features[GhostView].show_run(self.bench.replay.runs[0])
        self.rest()
        yield
        self.window.features[GhostView].end_recording()
        panel.set_plots([])
        self.dock("Plots", False)

    def recording(self) -> Iterator[None]:
        from app.features.time_view import TimeView

        self.robot("arm7")
        self.play(2.0)
        self.bench.pause()
        view = self.window.features[TimeView]
        self.spin(0.3)
        view.bar.track.seek_requested.emit(0.8)
        self.key("K")
        view.bar.track.seek_requested.emit(1.2)
        self.rest()
        yield
        view.branch.trigger()
        self.play(0.5)
        self.rest()
        yield

    def contact(self) -> Iterator[None]:
        from app.features.ground_view import GroundView

        self.robot("quadruped")
        self.window.features[GroundView].shapes[2].trigger()
        self.window.docks["Timing"].raise_()
        self.play(1.0)
        self.rest()
        yield
        self.window.docks["Joints"].raise_()
        self.window.features[GroundView].shapes[0].trigger()
        self.spin(0.5)

    def ghost(self) -> Iterator[None]:
        from app.features.ghost_view import GhostView

        self.robot("double_pendulum")
        from app.panels.ghost import SAME

        view = self.window.features[GhostView]
        self.dock("Ghost")
        view.panel.on.click()
        self.spin(PATIENCE, lambda: view.panel.by.text() != "–")  # its code may have to be compiled
        self.rest()
        yield
        view.panel.integrator.setCurrentIndex(view.panel.integrator.findData("semi-implicit"))
        view.panel.step.setCurrentIndex(view.panel.step.count() - 1)
        self.bench.joints.set_held(False)
        self.bench.joints.set_coordinate(0, 2.2)
        self.spin(PATIENCE, lambda: "4 ms" in view.panel.by.text())
        self.play(6.0)
        self.rest()
        yield
        view.panel.on.click()
        for box in (view.panel.integrator, view.panel.step):
            box.setCurrentIndex(box.findText(SAME))
        self.dock("Ghost", False)

    def second_robot(self) -> Iterator[None]:
        import engine
        from app.features.second_robot_view import SecondRobotView

        self.robot("arm7")
        view = self.window.features[SecondRobotView]
        view.open(engine.find_robot("arm6"))
        self.spin(PATIENCE, lambda: self.window.viewport.overlays.second_robot is not None)
        self.play(0.5)
        self.rest()
        yield
        view.close()
        self.dock("Second robot", False)

    def batch(self) -> Iterator[None]:
        from app.simulation.batch_spread import BatchSpread

        self.robot("arm6")
        self.dock("Batch")
        self.bench.configuring.set_spread(BatchSpread(16, 0.4, 0.1, 0.1))
        self.spin(1.0)
        self.play(0.6)
        self.rest(2.0)
        yield
        self.bench.configuring.set_spread(BatchSpread())
        self.dock("Batch", False)
        self.spin(0.5)

    def compare(self) -> Iterator[None]:
        from app.features.compare_view import CompareView

        self.robot("arm7")
        compare = self.window.feature(CompareView).panel
        self.window.docks["Compare"].toggleViewAction().trigger()
        compare.start()
        self.spin(120, lambda: not compare.running)
        self.rest(0.5)
        yield
        self.window.docks["Compare"].toggleViewAction().trigger()

    def timing(self) -> Iterator[None]:
        self.robot("humanoid")
        self.window.docks["Timing"].raise_()
        self.play(3.0)
        self.rest()
        yield
        self.window.docks["Joints"].raise_()

    def trails(self) -> Iterator[None]:
        """Show the remaining overlays: trails, axes, collision shapes, wireframe."""
        self.robot("double_pendulum")
        overlays = self.window.viewport.overlays
        self.bench.joints.set_held(False)
        for kind in ("trails", "axes"):
            overlays.show(kind, True)
        self.bench.joints.set_coordinate(0, 2.0)
        self.play(2.0)
        self.window.view_controls.fit.trigger()  # it swings above where it began
        self.rest()
        yield
        for kind in ("trails", "axes"):
            overlays.show(kind, False)
        self.robot("quadruped")
        self.window.view_controls.collisions.trigger()
        self.rest()
        yield
        self.window.view_controls.collisions.trigger()
        overlays.wireframe(True)
        self.rest()
        yield
        overlays.wireframe(False)

    def full(self) -> Iterator[None]:
        """All docks away."""
        self.robot("scara")
        for title in ("Joints", "Timing"):
            self.dock(title, False)
        self.key("3")
        self.rest()
        yield
        for title in ("Joints", "Timing"):
            self.dock(title)
        self.key("0")

    def scene(self) -> Iterator[None]:
        """Things around the robot, one of which is chosen; the palette; a link's menu; and all taken back."""
        from app.desktop.context_menus import LINK, Clicked
        from app.features.palette import PaletteView
        from app.features.scene_view import SceneView
        from app.features.undo_view import UndoView

        self.robot("arm7")
        self.dock("Scene")
        view = self.window.features[SceneView]
        view.add("cylinder", False)
        view.add("box", True)
        self.spin(PATIENCE, lambda: len(self.bench.robot.parts) == 1 and not self.bench.opening.loading)
        self.rest()
        yield
        palette = self.window.features[PaletteView]
        palette.show()
        palette.palette.line.setText("pl")
        self.spin(0.3)
        yield
        palette.palette.close()
        menu = self.window.menus.context.of(
            Clicked(LINK, "cube/body", self.bench.robot.model.link_names.index("cube/body"))
        )
        menu.popup(self.window.viewport.mapToGlobal(self.window.viewport.rect().center()))
        self.spin(0.3)
        yield
        menu.close()
        stack = self.window.features[UndoView].stack
        while stack.canUndo():
            stack.undo()
            self.spin(PATIENCE, lambda: not self.bench.opening.loading)
        self.dock("Scene", False)

    def groups(self) -> Iterator[None]:
        """Many curves in several plots, and what the pointer reads."""
        from app.features.plots_view import PlotsView

        self.robot("arm7")
        self.dock("Plots")
        panel = self.window.features[PlotsView].panel
        panel.plot_group("robot", ("kinetic energy", "potential energy", "total energy"))
        panel.plot_group("joint", ("position",))
        self.bench.joints.set_held(False)
        self.play(1.5)
        self.rest()
        yield
        panel.set_plots([])
        self.bench.joints.set_held(True)
        self.dock("Plots", False)


FEATURES = (
    "empty", "diagnostics", "held", "drive", "pull", "pose", "forces", "link", "glass", "trails", "plots", "groups",
    "recording", "contact", "scene", "ghost", "lesson", "study", "second_robot", "batch", "compare", "timing", "full",
    "crowd", "full_screen", "controller", "menus", "hiding_and_distance", "submenus", "modal", "dialogs",
)  # fmt: skip


def photograph(folder: Path, look: str, only: list[str]) -> None:
    """Every feature in one look."""
    theme, size, _ = LOOKS[look]
    application = make_application()
    tour = Tour(folder, theme, size)

    def shoot(name: str) -> None:
        path = folder / f"{name}-{look}.png"
        frame = tour.window.frameGeometry()
        tour.window.screen().grabWindow(0, *frame.getRect()).save(str(path))
        print(path, flush=True)

    tour.shoot = shoot
    for name in only or FEATURES:
        show: Callable[[], Iterator[None]] = getattr(tour, name)
        for number, _ in enumerate(show()):
            shoot(f"{name}{number or ''}")
    tour.window.close()
    tour.scratch.cleanup()
    del application


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--look", choices=tuple(LOOKS))
    parser.add_argument("--only", nargs="*", default=[], choices=FEATURES)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.look:
        photograph(args.folder, args.look, args.only)
        return 0
    failed = 0
    for look, (_, _, scale) in LOOKS.items():
        words = [sys.executable, "-m", "tests.app.tour", str(args.folder), "--look", look]
        words += ["--only", *args.only] if args.only else []
        failed += subprocess.run(words, env={**os.environ, "QT_SCALE_FACTOR": str(scale)}, check=False).returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
