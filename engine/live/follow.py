"""`LiveReader`: a window's recording of a script's live link."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.divergence import Diverged, described
from engine.live import places
from engine.live.records import Reader
from engine.recording import Recording, Run
from engine.recording.frames import StoredFrame
from engine.recording.setup import Setup


class LiveReader:
    """Reader of one live link, by default that of the running script which called `show` last.

    Raises ValueError with one sentence if there is none or it has another version, and OSError if links cannot exist.
    """

    def __init__(self, folder: str | Path | None = None):
        from engine import __version__

        if folder is None and not (scripts := places.running()):
            raise ValueError("no script runs that has called engine.show(simulation, window=False)")
        self.folder = scripts[-1] if folder is None else Path(folder)
        try:
            about = places.description(self.folder)
            version, self.script, self.robot = str(about["catena"]), str(about["script"]), int(str(about["robot"]))
        except (OSError, LookupError, ValueError) as problem:
            raise ValueError(f"{self.folder} is not a live link ({problem}); engine.show makes one") from None
        if version != __version__:
            raise ValueError(
                f"{self.script} runs Catena {version}, and this window is of {__version__}; use one version for both"
            )
        self.run_file = self.folder / places.ROBOT
        """The run file with the robot, its scene and the first frame."""
        self.ended = False
        """Whether the script has ended or closed the link, and everything was read."""
        self.divergence: Diverged | None = None
        """When the simulation diverged, in which joint first, and what to do; None where it did not.

        A batch that freezes robots diverges with the last one.
        """
        self._reader, self._number = Reader(self.folder), 0

    def read_into(self, recording: Recording, run: Run) -> Run:
        """Append new frames to a run of a recording; return the latest run, which changes after a reset.

        Raises ValueError if the frames cannot be read.
        """
        if self.ended:
            return run
        runs = places.is_running(self.folder)  # checked before the last frames are read
        setup = run.setups[0]
        for number, frame in self._reader.take(setup):
            run = recording.receive(run, [frame], new_run=number != self._number)
            self._number, self.divergence = number, _divergence(frame, setup)
        self.ended = not runs
        return run


def _divergence(frame: StoredFrame, setup: Setup) -> Diverged | None:
    if frame.divergences is None or (setup.settings.freezes and not frame.divergences[0].all()):
        return None
    steps, velocity = frame.divergences
    robot = int(np.argmin(np.where(steps > 0, steps, np.inf)))
    return described(setup.settings, robot, int(steps[robot]), int(velocity[robot]))
