"""A note in the viewport that names a moving link of a robot that should be at rest, and its speed."""

from __future__ import annotations

from app.desktop.numbers import si_text
from app.features.log_view import LogView
from app.features.window_type import Window
from app.picture.note import PictureNote
from app.simulation.drift import Drift, DriftWatch
from app.simulation.messages import Loaded, Snapshot


class DriftView:
    """Watches each displayed state, live or recorded."""

    def __init__(self, window: Window):
        self._window, self._bench = window, window.workbench
        self.note = PictureNote(window.viewport)
        self._watch: DriftWatch | None = None
        window.loaded.connect(self._on_loaded)
        window.framed.connect(self._check_drift)

    def _on_loaded(self, event: Loaded) -> None:
        self._watch = DriftWatch(event.model, event.model.part_of_link == 0)
        self.note.say("")

    def _check_drift(self, frame: Snapshot) -> None:
        if self._watch is None:
            return
        before = self._watch.drift
        if self._driven():
            self._watch.forget()
        else:
            self._watch.add_state(frame)
        if self._watch.drift == before:
            return
        text = "" if self._watch.drift is None else sentence(self._watch.drift, self._bench.robot.model.link_names)
        self.note.say(text)
        if before is None:
            self._window.feature(LogView).add(text)

    def _driven(self) -> bool:
        """Return whether anything besides position setpoints moves the joints, so that the robot need not rest."""
        bench = self._bench
        rows = [k for k, row in enumerate(bench.robot.coordinates) if row.driveable]
        if bench.replay.active and bench.replay.frame is not None:
            kp = bench.replay.frame.setup.settings.kp[0]
            return not all(kp[bench.robot.coordinates[k].effort_v] > 0 for k in rows)
        return bool(bench.controller.path) or not all(bench.robot.mode(k) == "target" for k in rows)


def sentence(drift: Drift, names: tuple[str, ...]) -> str:
    """Describe the drift, and why it should not occur."""
    speed = si_text(drift.speed, "m/s", digits=2)
    return f"{names[drift.link]} moves at {speed} although its contacts stick and its setpoints are constant"
