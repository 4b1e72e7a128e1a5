"""Problems of the file, its meshes or the run, shown in the diagnostics dock and named in the status bar."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import engine
from app.desktop.docks import BOTTOM, Dock
from app.features.window_type import Window
from app.jobs.expanding import expander
from app.panels.diagnostics import WHOLE, DiagnosticsPanel
from app.simulation.messages import ControllerChanged, Event, Refused, Stopped

PLAYS_WITHOUT = "{} has failed: no efforts of it act; fix and save it, or press Simulation › Stop controller"


class DiagnosticsView:
    """Fills the panel of a dock from a workbench.

    A dock that opens also replaces the message of the status bar, which else would speak of something earlier.
    """

    def __init__(self, window: Window):
        self._window, self._bench, self._bar, self.panel = window, window.workbench, window.bar, DiagnosticsPanel()
        dock = Dock("Diagnostics", self.panel, BOTTOM, beside="Compare", height=self.panel.height_needed, whole=WHOLE)
        self.action = window.docks.add(dock)
        self._dock = window.docks["Diagnostics"]
        self._of_meshes: list[engine.Diagnostic] = []
        self._of_second: list[engine.Diagnostic] = []
        self._run_stopped = False
        self._wording = ""
        self.panel.open_copy.connect(window.files.open)
        self.panel.trusted.connect(window.files.trust)
        window.viewport.diagnostics.connect(self._add_of_meshes)
        window.run.begun.connect(self._begin)
        window.loaded.connect(lambda _: self.show_file(raised=False))
        window.happened.connect(self._on_event)
        window.closing.connect(self.panel.close_thread)

    def _on_event(self, event: Event) -> None:
        match event:
            case Refused():
                self.show_file(raised=True)
            case Stopped():
                self._show_stop(event)

    def show_file(self, raised: bool) -> None:
        """Show the problems of the file read last; show its dock only if `raised`."""
        self._run_stopped = False
        findings = self._bench.findings
        if not findings.refused:
            self._of_meshes = []
        title = self._list()
        if raised:
            self._open(_named(title, findings.diagnostics))
        else:
            self._dock.hide()

    def _list(self) -> str:
        """List the problems of the file read last, and of a second robot beside it; return their title."""
        findings = self._bench.findings
        title = Path(findings.path).name + (" was not loaded" if findings.refused else "")
        second = [] if findings.refused else self._of_second
        both = f"{title} and second robot" if second else title
        opening = self._bench.opening
        expand = expander(findings.path, opening.package_dirs, opening.xacro_args(findings.path))
        self.panel.show_file(findings.path, both, findings.diagnostics, opening.package_dirs, expand)
        self.panel.show_trust_button(findings.wants_trust)
        if not findings.refused:
            self.panel.add([*self._of_meshes, *second])
        return title

    def _open(self, sentence: str) -> None:
        """Show the dock, and the sentence in the status bar."""
        self._window.docks.open_refilled("Diagnostics")
        self._wording = " ".join(sentence.split())
        self._bar.showMessage(self._wording)

    def _add_of_meshes(self, diagnostics: list[engine.Diagnostic]) -> None:
        """Add problems that the viewport found in the meshes."""
        self._of_meshes = [*self._of_meshes, *diagnostics]
        self.panel.add(diagnostics)
        self._window.refresh()

    def set_of_second(self, diagnostics: Sequence[engine.Diagnostic]) -> bool:
        """Set the problems of the second robot, listed below those of the first; return whether they changed."""
        before, self._of_second = self._of_second, [_of_second(each) for each in diagnostics]
        changed = before != self._of_second
        if changed and not self._run_stopped:
            self._list()
        return changed

    def _show_stop(self, stop: Stopped) -> None:
        """Show why a run stopped by itself."""
        element, driver = "simulation", self._bench.controller
        fix = f"press Reset, then select a time step below {1e3 * self._bench.robot.settings.dt:g} ms"
        fix += ", or the implicit integrator, which is stable for any damping and gains" * stop.damped
        if driver.drives:
            element = "controller"
            fix = f"check the efforts of {Path(driver.path).name}, which drives the joints; or {fix}"
        if stop.detail:
            print(stop.detail, file=sys.stderr)
            element, fix = "simulation", "this is a bug in Catena: please report it with the terminal's output"
        self._show_one("The run stopped", element, stop.problem, fix, stop.problem)

    def show_script_stop(self, script: str, stop: engine.Diverged, sentence: str) -> None:
        """Show why a script's simulation diverged; the status bar has `sentence`."""
        self._show_one(f"The run of {script} stopped", script, stop.problem, f"in the script, {stop.fix}", sentence)

    def _show_one(
        self, title: str, element: str, problem: str, fix: str, sentence: str, path: str = "", line: int | None = None
    ) -> None:
        """Show one problem of a run, until the next one; of the robot's file, unless another `path` is given."""
        self._run_stopped = True
        diagnostic = engine.Diagnostic("error", line, element, problem, fix)
        self.panel.show_file(path or self._bench.path, title, [diagnostic])
        self._open(sentence)

    def show_refused(self, refused: Refused) -> None:
        """Show why a file without a robot was rejected, until the next run; the status bar already says so."""
        self._run_stopped = True
        self.panel.show_file(refused.path, f"{Path(refused.path).name} was not loaded", list(refused.diagnostics))
        self._open(self._bar.currentMessage())
        self._window.refresh()

    def show_controller_problem(self, event: ControllerChanged) -> None:
        """Show why a controller stopped driving the robot, with the line of its file."""
        fix = "fix the file and save it, or reset: it is reloaded; until then the controller applies no efforts"
        title = "The controller failed"
        said = f"{title}: {event.problem}"
        self._show_one(title, "controller", event.problem, fix, said, event.path, event.line)

    def _begin(self) -> None:
        """Forget why the last run stopped; not of a controller that has failed, without whose efforts this one is."""
        driver = self._bench.controller
        if driver.path and driver.problem:
            self._wording = PLAYS_WITHOUT.format(Path(driver.path).name)
            self._bar.showMessage(self._wording)
        else:
            self.forget_stop()

    def forget_stop(self) -> bool:
        """Show the file's problems again after a run stopped by itself; return whether one had."""
        if self._bar.currentMessage() == self._wording:
            self._bar.clearMessage()
        if not self._run_stopped:
            return False
        self._run_stopped = False
        self._list()
        self._dock.hide()
        return True


def _of_second(diagnostic: engine.Diagnostic) -> engine.Diagnostic:
    """Return a problem in the second robot's file, without what the panel would look for in the first one's."""
    line = f"line {diagnostic.line}, " if diagnostic.line else ""
    return replace(diagnostic, line=None, element=f"second robot: {line}{diagnostic.element}", repair=())


def _named(title: str, diagnostics: Sequence[engine.Diagnostic]) -> str:
    """Return the title with the first error and its place in the file."""
    first = next((each for each in diagnostics if each.severity == "error"), None)
    if first is None:
        return title
    return f"{title}: {f'line {first.line}, {first.element}: ' if first.line else ''}{first.problem}"
