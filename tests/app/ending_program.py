"""A program with the window, that ends in a given state: python ending_program.py STATE FOLDER, with PYTHONPATH."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from PyQt6.QtCore import QCoreApplication, QSettings, Qt, QTimer
from PyQt6.QtGui import QSurfaceFormat
from PyQt6.QtWidgets import QApplication


def main(state: str, folder: Path) -> int:
    """In the end the seconds that closing took are printed."""
    form = QSurfaceFormat()
    form.setVersion(3, 3)
    form.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    QSurfaceFormat.setDefaultFormat(form)
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    application = QApplication(sys.argv[:1])
    import engine
    from app.features import kept_runs, recovery
    from app.features.controller_view import ControllerView
    from app.features.run_exports import RunExports
    from app.panels.picture_dialogs import FilmOrder
    from app.recording import keeping
    from app.window import Window

    keeping.PERIOD = 0.05
    care = recovery.begin(folder / "reports")
    window = Window(QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat))
    window.show()
    window.kept = kept_runs.KeptRuns(window, folder / "runs")
    recovery.Recovery(window, care.reports, care.left)
    bench, exports = window.workbench, window.features[RunExports]
    if state == "loading":
        heavy = folder / "heavy.urdf"
        heavy.write_text(engine.to_urdf(engine.chain(4000)))
        window.open(heavy)
    else:
        window.open(engine.find_robot("arm7"))
    begun: list[str] = []

    def close() -> None:
        timer.stop()
        began = time.perf_counter()
        window.close()
        print(time.perf_counter() - began, flush=True)

    def once(what: str) -> bool:
        begun.append(what)
        return begun.count(what) == 1

    def look() -> None:
        if state == "loading":
            if bench.loading:
                close()
            return
        if bench.model is None or bench.loading:
            return
        if state == "controller" and once("controller"):
            window.features[ControllerView].load(str(folder / "loop.py"))
        if not bench.playing and once("play"):
            window.run.play.trigger()
        if state == "controller":
            if (folder / "started").exists():
                close()
        elif bench.time < 0.5:
            return
        elif state == "killed":
            if len(list((folder / "runs").rglob("*.npz"))) > 1:
                os.kill(os.getpid(), signal.SIGKILL)
        elif state == "film":
            if once("film"):
                order = FilmOrder((1280, 720), 60.0, 0.1, 0.0, 0.5)
                exports.pictures.save_film(str(folder / "film.mp4"), order)
            elif "pictures" in window.statusBar().currentMessage():
                close()
        elif state == "compare":
            if once("compare"):
                window.docks["Compare"].show()
                window.compare.start_button.click()
            elif window.compare.running:
                close()
        else:
            close()

    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(20)
    return application.exec()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
