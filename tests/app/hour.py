"""An hour in the window, compressed: it plays, drags, scrubs, switches, opens and closes, and memory stays flat.

`xvfb-run -a -s "-screen 0 1600x1000x24" python -m tests.app.hour --rounds 40` prints the resident memory after each
round, and exits with 1 where the second half of them grows by more than `GROWTH` in all. A round is what a user does
in some minutes: another robot, play, a drag, a joint, a drive, another algorithm, scrubbing, a branch, a reset, a
batch, a ghost, plots, another theme, a picture, a session saved and opened, and the window closed and opened again.
"""

import argparse
import ctypes
import gc
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from tests.app.frames import make_application
from tests.app.user import PATIENCE, User

GROWTH = 40.0
"""MB: what the second half of the rounds may grow by, beside the recording's own memory."""
ROBOTS = ("arm7", "quadruped", "humanoid", "snake50", "scara", "double_pendulum")
BUDGET = 16  # MB of recording, so that it is full within the hour


def resident() -> float:
    """MB of memory that the process has."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise OSError("this system does not tell its memory")


class Hour(User):
    """A simulated user whose choices come from a seed."""

    def __init__(self, folder: Path, seed: int):
        super().__init__(folder, np.random.default_rng(seed))
        self.open_window()

    def open_window(self) -> None:
        from PyQt6.QtCore import QSettings

        from app.window import Window

        settings = QSettings(str(self.folder / "settings.ini"), QSettings.Format.IniFormat)
        settings.setValue("recording_megabytes", BUDGET)
        settings.setValue("measure_at_rest", False)
        self.window = Window(settings)
        self.window.resize(1200, 800)
        self.window.show()
        self.spin(0.3)

    def close_window(self) -> None:
        self.window.close()
        self.window.deleteLater()
        self.window = None
        self.spin(0.2)

    def round(self, number: int) -> None:
        """Perform a user's actions of some minutes."""
        import engine
        from app.acting.drives import Drive
        from app.features.appearance import Appearance
        from app.features.sessions import Sessions
        from app.features.simulation_choices import SimulationChoices
        from app.features.time_view import TimeView
        from app.simulation.batch_spread import BatchSpread
        from app.simulation.ghost import GhostSettings

        window, bench = self.window, self.window.workbench
        self.load(engine.find_robot(ROBOTS[number % len(ROBOTS)]))
        window.run.play.trigger()
        self.spin(0.6)
        self.drag("RightButton")
        self.drag("LeftButton")
        rows = [k for k, row in enumerate(bench.robot.coordinates) if row.driveable and row.holdable]
        if rows:
            joint = int(self.rng.choice(rows))
            bench.joints.set_joint_drive(joint, Drive("target", 0.1, "sine", 0.1, 1.0))
            bench.joints.set_coordinate(rows[0], 0.05)
        algorithms = [action for action in window.feature(SimulationChoices).algorithms.actions() if action.isEnabled()]
        algorithms[number // len(ROBOTS) % 2].trigger()  # not more: each that is new is code that stays
        self.spin(0.4)
        plots = window.docks["Plots"].toggleViewAction()
        plots.trigger()
        bench.ghost.set(GhostSettings(integrator="rk4"))
        self.spin(0.4)
        bench.ghost.set(None)
        window.run.play.trigger()
        view = window.features[TimeView]
        start, end = view.bar.track.start, view.bar.track.end
        for share in self.rng.uniform(0, 1, 12):
            view.bar.track.seek_requested.emit(start + share * (end - start))
            self.spin(0.02)
        view.branch.trigger()
        window.run.play.trigger()
        self.spin(0.3)
        window.run.reset.trigger()
        bench.configuring.set_spread(BatchSpread(4, 0.05))
        self.spin(0.4)
        bench.configuring.set_spread(BatchSpread())
        window.features[Appearance].actions["light" if number % 2 else "dark"].trigger()
        plots.trigger()
        window.viewport.picture()
        bench.pause()
        path = self.folder / "hour.catena"
        window.features[Sessions].save(str(path))
        self.spin(PATIENCE, self.written)
        self.load(path)
        self.spin(0.2)

    def written(self) -> bool:
        from app.features.run_exports import RunExports

        return not self.window.features[RunExports].writing.running


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40, help="how many (default 40)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    application = make_application()
    with tempfile.TemporaryDirectory() as folder:
        hour, taken = Hour(Path(folder), args.seed), []
        for number in range(args.rounds):
            hour.round(number)
            hour.close_window()
            taken.append(resident())
            hour.open_window()
            print(f"round {number + 1:3}: {taken[-1]:7.1f} MB", flush=True)
        hour.close_window()
    half = taken[len(taken) // 2 :]
    slope = float(np.polyfit(np.arange(len(half)), half, 1)[0]) if len(half) > 2 else 0.0
    growth = slope * len(half)
    print(f"the second half grew by {growth:.1f} MB in {len(half)} rounds; up to {GROWTH:g} MB is held flat")
    del application
    return 0 if growth <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
