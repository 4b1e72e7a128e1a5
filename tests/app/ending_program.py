"""A program with the window, that ends in a given state: python ending_program.py STATE FOLDER, with PYTHONPATH."""

import faulthandler
import os
import signal
import sys
import time
from pathlib import Path

from PyQt6.QtCore import QCoreApplication, QSettings, Qt, QTimer
from PyQt6.QtGui import QSurfaceFormat
from PyQt6.QtWidgets import QApplication

import engine
from app.features import autosaved_runs, recovery
from app.features.attaching import CompareView, ControllerView, RunExports
from app.panels.picture_dialogs import FilmOrder
from app.recording import autosave
from app.window import Window
from main import end_process


class Ending:
    """Brings the window into the state, and closes it there; "killed" is ended by the system instead."""

    def __init__(self, state: str, folder: Path):
        self.state, self.folder = state, folder
        care = recovery.begin(folder / "reports")
        self.window = window = Window(QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat))
        window.show()
        window.kept = autosaved_runs.AutosavedRuns(window, folder / "runs")
        recovery.Recovery(window, care.reports, care.left)
        window.closing.connect(lambda: faulthandler.enable())  # reports have ended; a later crash is printed
        self.begun: list[str] = []
        robot = engine.find_robot("arm7")
        if state == "loading":
            robot = folder / "heavy.urdf"
            robot.write_text(engine.to_urdf(engine.chain(4000)))
        window.open(robot)
        self.timer = QTimer()
        self.timer.timeout.connect(self.look)
        self.timer.start(20)

    def close(self) -> None:
        """Print the seconds that it takes, of this thread's work and on the wall."""
        self.timer.stop()
        work, began = time.thread_time(), time.perf_counter()
        self.window.end()
        print(time.thread_time() - work, time.perf_counter() - began, flush=True)

    def once(self, what: str) -> bool:
        self.begun.append(what)
        return self.begun.count(what) == 1

    def look(self) -> None:
        bench = self.window.workbench
        if self.state == "loading":
            if bench.opening.loading:
                self.close()
            return
        if bench.robot.model is None or bench.opening.loading:
            return
        if self.state == "controller" and self.once("controller"):
            self.window.features[ControllerView].load(str(self.folder / "loop.py"))
        if not bench.robot.playing and self.once("play"):
            self.window.run.play.trigger()
        if self.state == "controller":
            if (self.folder / "started").exists():
                self.close()
        elif bench.robot.time >= 0.5:
            self.while_it_plays()

    def while_it_plays(self) -> None:
        window = self.window
        if self.state == "killed":
            if len(list((self.folder / "runs").rglob("*.npz"))) > 1:
                os.kill(os.getpid(), signal.SIGKILL)
        elif self.state == "film":
            if self.once("film"):
                order = FilmOrder((1280, 720), 60.0, 0.1, 0.0, 0.5)
                window.features[RunExports].pictures.save_film(str(self.folder / "film.mp4"), order)
            elif "frames" in window.statusBar().currentMessage():
                self.close()
        elif self.state == "compare":
            if self.once("compare"):
                window.docks["Compare"].show()
                window.feature(CompareView).panel.start_button.click()
            elif window.feature(CompareView).panel.running:
                self.close()
        else:
            self.close()


def main(state: str, folder: Path) -> int:
    form = QSurfaceFormat()
    form.setVersion(3, 3)
    form.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    QSurfaceFormat.setDefaultFormat(form)
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    application = QApplication(sys.argv[:1])
    autosave.PERIOD = 0.05
    ending = Ending(state, folder)
    code = application.exec()
    del ending
    return code


if __name__ == "__main__":
    end_process(main(sys.argv[1], Path(sys.argv[2])))
