"""OpenGL missing, too old, lost or failing: the window opens, continues, and says so."""

import numpy as np
import pytest
from PyQt6.QtCore import QTimer
from PyQt6.QtWidgets import QWidget
from test_missing_screen import linux, started
from test_viewport import colors, shown
from windows import screen_of, wait

import engine
from app.gl.context import NoOpenGL, why_too_old
from app.gl.renderer import Renderer
from app.picture import drawing_problem
from app.picture.drawing_problem import OPEN_AGAIN, UPDATE, DrawingProblem, problem_and_fix

PROGRAM = """
import sys
from PyQt6.QtCore import QSettings, QTimer
from PyQt6.QtWidgets import QApplication
from app import set_opengl_defaults
set_opengl_defaults()
app = QApplication([])
import engine
from app.picture.drawing_problem import DrawingProblem
from app.window import Window
window = Window(QSettings(sys.argv[1], QSettings.Format.IniFormat))
window.show()
window.open(engine.find_robot("double_pendulum"))
bench, viewport = window.workbench, window.viewport
told = []
viewport.diagnostics.connect(told.extend)
def look():
    if bench.robot.model is not None and not bench.opening.loading and not bench.robot.playing:
        window.run.play.trigger()
    if viewport.findChild(DrawingProblem).isVisible() and told and bench.robot.time > 0.1:
        findings = [(each.problem, each.fix) for each in told]
        print(viewport.findChild(DrawingProblem).text().replace("\\n", " "), findings, sep="|", flush=True)
        image = window.grab().toImage()
        print(len({image.pixel(x, 40) for x in range(0, image.width(), 3)}) > 3, flush=True)
        window.close()
timer = QTimer()
timer.timeout.connect(look)
timer.start(20)
QTimer.singleShot(60000, lambda: app.exit(3))
sys.exit(app.exec())
"""


@linux
@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"QT_XCB_GL_INTEGRATION": "none"}, "it gives no OpenGL 3.3 core context"),
        ({"MESA_GL_VERSION_OVERRIDE": "2.1"}, "it gives no OpenGL 3.3 core context"),
    ],
    ids=["none", "too old"],
)
def test_without_opengl_the_window_works_and_says_so(tmp_path, environment, words):
    ended = started("-c", PROGRAM, str(tmp_path / "settings.ini"), **environment)
    assert ended.returncode == 0, ended.stderr
    reported, colourful = ended.stdout.splitlines()
    sentence, findings = reported.split("|")
    assert words in sentence
    assert "Simulation, plots and files work" in sentence
    assert UPDATE in sentence
    assert findings == f"[({words!r}, {UPDATE!r})]"
    assert colourful == "True"


@pytest.mark.parametrize(
    ("version", "old"), [("2.1 Mesa 22.3.6", True), ("3.3.0 NVIDIA 550", False), ("4.6", False), ("", False)]
)
def test_a_version_that_is_too_old_is_told(version, old):
    assert bool(why_too_old(version)) == old


@pytest.mark.parametrize(
    ("error", "words", "fix"),
    [
        (NoOpenGL("its OpenGL is 2.1, and 3.3 is needed"), "its OpenGL is 2.1, and 3.3 is needed", UPDATE),
        (RuntimeError("the context was lost"), "the context was lost", OPEN_AGAIN),
        (MemoryError(), "it does not fit into memory", OPEN_AGAIN),
        (ArithmeticError(), "ArithmeticError", OPEN_AGAIN),
    ],
)
def test_only_a_driver_without_opengl_is_to_be_updated(error, words, fix):
    assert problem_and_fix(error) == (words, fix)


def test_opengl_that_is_too_old_is_told_as_none_is(monkeypatch):
    def fail(_):
        raise ArithmeticError

    monkeypatch.setattr(Renderer, "_initialize", fail)
    monkeypatch.setattr("app.gl.renderer._string", lambda _: "2.1 Mesa 22.3.6")
    with pytest.raises(NoOpenGL, match=r"its OpenGL is 2\.1"):
        Renderer().initialize()


@pytest.fixture(params=[False, True], ids=["as here", "as by a card"])
def viewport(qtbot, monkeypatch, request):
    if request.param:
        monkeypatch.setattr("app.picture.viewport.processor_draws", lambda: False)
    made = shown(qtbot)
    with qtbot.waitSignal(made.drawn):
        made.set_model(engine.load(engine.find_robot("double_pendulum")))
    yield made
    made.setParent(None)
    made.close()


def test_a_fault_while_drawing_is_told_and_the_picture_comes_back(qtbot, viewport, monkeypatch):
    before, draw, reported = colors(viewport), Renderer.pieces, []
    viewport.diagnostics.connect(reported.extend)
    left = [2]

    def fail(*arguments):
        left[0] -= 1
        if left[0] < 0:
            return draw(*arguments)
        raise RuntimeError("the context was lost")

    monkeypatch.setattr(Renderer, "pieces", fail)
    viewport.camera.orbit(0.5, 0.0)
    viewport.see(viewport.camera)
    wait(qtbot, lambda: viewport.failed)
    assert "the context was lost" in viewport.findChild(DrawingProblem).text()
    wait(qtbot, lambda: not viewport.failed and left[0] < 0)
    viewport.camera.orbit(-0.5, 0.0)
    viewport.see(viewport.camera)
    assert np.abs(colors(viewport) - before).max() < 8
    assert not reported


def test_a_fault_that_lasts_is_told_once_and_not_tried_for_ever(qtbot, viewport, monkeypatch):
    monkeypatch.setattr(drawing_problem, "PAUSES", (10, 20))
    reported, attempts, painted, pieces = [], [], [], Renderer.pieces
    viewport.diagnostics.connect(reported.append)

    def fail(*_):
        attempts.append(1)
        raise MemoryError("no room for it")

    monkeypatch.setattr(Renderer, "pieces", fail)
    viewport.see(viewport.camera)
    wait(qtbot, lambda: bool(reported))
    count = len(attempts)
    screen_of(viewport).painted.connect(lambda: painted.append(1))
    for so_far in range(3):
        viewport.camera.orbit(0.1, 0.0)
        viewport.see(viewport.camera)
        screen_of(viewport).update()
        wait(qtbot, lambda so_far=so_far: len(painted) > so_far)
    assert (len(reported), len(attempts)) == (1, count)
    assert not viewport.findChild(DrawingProblem).findChild(QTimer).isActive()
    assert viewport.failed
    monkeypatch.setattr(Renderer, "pieces", pieces)
    with qtbot.waitSignal(viewport.drawn):
        viewport.set_model(engine.load(engine.find_robot("double_pendulum")))
    assert not viewport.failed


def test_another_window_around_it_makes_the_picture_anew(qtbot, viewport):
    """Floating docks and full screens do so: a context belongs to the window."""
    before, others = colors(viewport), []
    for _ in range(2):
        other = QWidget()
        others.append(other)
        other.resize(330, 250)
        viewport.setParent(other)
        viewport.resize(320, 240)
        with qtbot.waitExposed(other):
            other.show()
        viewport.show()
        wait(qtbot, lambda: colors(viewport).shape == before.shape)
        assert np.abs(colors(viewport) - before).max() < 8
        assert not viewport.failed
    viewport.setParent(None)
    for other in others:
        other.close()
