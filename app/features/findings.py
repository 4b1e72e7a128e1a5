"""What is wrong with the file, its meshes or the run, as the diagnostics dock shows it; it comes back after a run."""

from __future__ import annotations

import sys
from pathlib import Path

from PyQt6.QtWidgets import QDockWidget

import engine
from app.panels.diagnostics import DiagnosticsPanel
from app.simulation.messages import Refused
from app.workbench import Workbench


class FindingsView:
    """Fills the panel of a dock from a workbench."""

    def __init__(self, panel: DiagnosticsPanel, dock: QDockWidget, bench: Workbench):
        self._panel, self._dock, self._bench = panel, dock, bench
        self._of_meshes: list[engine.Diagnostic] = []
        self._run_stopped = False

    def show_file(self, raised: bool) -> None:
        """Show what was found in the file that was read last, the dock only if it is to be `raised`."""
        self._run_stopped = False
        findings = self._bench.findings
        if not findings.refused:
            self._of_meshes = []
        title = Path(findings.path).name + (" was not loaded" if findings.refused else "")
        self._panel.show_file(findings.path, title, findings.diagnostics, self._bench.package_dirs)
        self._panel.show_trust_button(findings.wants_trust)
        self._dock.setVisible(raised)
        if raised:
            self._dock.raise_()

    def add_of_meshes(self, diagnostics: list[engine.Diagnostic]) -> None:
        """What the viewport found while it read the meshes."""
        self._of_meshes = [*self._of_meshes, *diagnostics]
        self._panel.add(diagnostics)

    def show_stop(self, message: str, detail: str) -> None:
        """Show why a run ended by itself; `detail` is the text of a fault in the program."""
        self._run_stopped = True
        cure = "press Reset, then try a smaller time step"
        if detail:
            print(detail, file=sys.stderr)
            cure = "this is a bug in Catena: please report it with the terminal's output"
        diagnostic = engine.Diagnostic("error", None, "simulation", message, cure)
        self._panel.show_file(self._bench.path, "The run stopped", [diagnostic])
        self._dock.show()
        self._dock.raise_()

    def show_refused(self, refused: Refused) -> None:
        """Show why a file that holds no robot was refused, until the next run."""
        self._run_stopped = True
        self._panel.show_file(refused.path, f"{Path(refused.path).name} was not loaded", list(refused.diagnostics))
        self._dock.show()
        self._dock.raise_()

    def show_controller_fault(self, message: str) -> None:
        """Show why a controller drives the robot no more."""
        self._run_stopped = True
        cure = "fix the file and save it: it is reloaded; until then the controller applies no efforts"
        diagnostic = engine.Diagnostic("error", None, "controller", message, cure)
        self._panel.show_file(self._bench.path, "The controller failed", [diagnostic])
        self._dock.show()
        self._dock.raise_()

    def forget_stop(self) -> bool:
        """After a run that ended by itself: show the file's findings again. Answers whether there was such a run."""
        if not self._run_stopped:
            return False
        of_meshes = self._of_meshes
        self.show_file(raised=False)
        self.add_of_meshes(of_meshes)
        return True
