"""Problems while opening: files that change while loading, odd paths, pipes, vanishing meshes, odd drops."""

import os
import sys
import threading
import time
from itertools import product

import pytest
from PyQt6.QtCore import QMimeData, QPointF, Qt, QUrl
from PyQt6.QtGui import QColor, QDragEnterEvent, QDropEvent, QGuiApplication
from PyQt6.QtWidgets import QApplication
from test_scene_view import entry, settled
from windows import case, name_file, wait, wait_loaded

import engine
from app.features import reloading
from app.features.attaching import DiagnosticsView, RunExports, SceneView, Sessions
from app.features.study_view import LOW, StudyView
from app.simulation.messages import Loaded, Refused

KEPT = '[[vary]]\nwhat = "damping"\nof = "all"\nvalues = [0.0, 0.5]\n[[keep]]\nquantity = "shoulder position"\n'
PENDULUM = engine.find_robot("double_pendulum")


def findings(window) -> str:
    return "\n".join(map(str, window.feature(DiagnosticsView).panel.diagnostics))


def said(window) -> str:
    return findings(window) + window.statusBar().currentMessage()


def unsaid(window):
    """The window, once nothing is said in it of what was opened before."""
    window.statusBar().clearMessage()
    assert not said(window)
    return window


def test_a_robot_whose_file_changes_many_times_a_second_plays_on_and_is_read_in_the_end(
    qtbot, opened, tmp_path, monkeypatch
):
    whole = PENDULUM.read_text()
    path = tmp_path / "robot.urdf"
    path.write_text(whole)
    window = opened(path)
    monkeypatch.setattr(reloading, "POLL_INTERVAL", 10)
    monkeypatch.setattr(reloading, "LASTING", 1e9)  # however slow the machine is, the recording stops no reading
    watching = window.features[reloading.Reloading]
    watching._timer.setInterval(10)
    window.run.play.trigger()
    texts = (whole[: len(whole) // 2], "", whole.replace("<link", "<lynk"), whole, "\0\0", whole.replace("1", "x"))
    over, changes, readings = threading.Event(), [], []
    window.happened.connect(lambda event: readings.append(event) if isinstance(event, Loaded | Refused) else None)

    def change() -> None:
        while not over.is_set():
            count = len(changes) + 1
            if count % 7:
                path.write_text(texts[count % len(texts)])
            else:
                path.unlink(missing_ok=True)
            changes.append(count)
            time.sleep((0.002, 0.02, 0.04)[count % 3])

    thread = threading.Thread(target=change)
    thread.start()
    try:
        wait(qtbot, lambda: len(changes) > 70 and len(readings) > 4)
    finally:
        over.set()
        thread.join()
    path.write_text(whole.replace("</robot>", '<link name="last"/>\n</robot>'))
    path.write_text(whole.replace('name="double_pendulum"', 'name="mended"'))
    wait(qtbot, lambda: window.workbench.robot.model.name == "mended" and not window.workbench.opening.loading)
    window.run.play.trigger() if not window.workbench.robot.playing else None
    wait(qtbot, lambda: window.workbench.robot.time > 0.05)
    assert not [each for each in window.feature(DiagnosticsView).panel.diagnostics if each.severity == "error"]


NAMES = [
    "ünïcödé rö bot", "日本", "line\nbreak", "  blanks  ", "$(touch x)", "a'b\"c", "-dash", "x" * 200, "%41", "a&b<b>",
    "tab\t", "#hash?", ".hidden", "sur\udcffrogate",
]  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="names that other systems do not take")
def test_odd_names_are_opened_saved_and_opened_again(qtbot, opened, tmp_path, monkeypatch):
    window = opened(PENDULUM)
    exports, sessions = window.features[RunExports], window.features[Sessions]
    for name in NAMES:
        path = tmp_path / f"{name}.urdf"
        path.write_text(PENDULUM.read_text().replace('name="double_pendulum"', 'name="here"'))
        window.open(path)
        wait_loaded(qtbot, window)
        assert window.workbench.path == str(path)
        window.run.step.trigger()
        wait(qtbot, lambda: window.workbench.robot.time > 0)
        monkeypatch.setattr("app.features.sessions.ask_path", lambda *_, name=name: str(tmp_path / f"{name}.catena"))
        sessions.save_as.trigger()
        wait(qtbot, lambda: not exports.writing.running)
        for suffix in (".catena", ".catena.npz"):
            assert (tmp_path / f"{name}{suffix}").exists(), window.statusBar().currentMessage()
        before = window.workbench.robot.model
        window.open(tmp_path / f"{name}.catena")
        wait(qtbot, lambda before=before: window.workbench.robot.model is not before)
        wait_loaded(qtbot, window)
        assert not [each for each in window.feature(DiagnosticsView).panel.diagnostics if each.severity == "error"]
    window.files.recent_menu.aboutToShow.emit()
    window.close()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices of Unix")
def test_a_pipe_or_a_device_is_refused_and_nothing_waits_for_it(qtbot, opened, tmp_path):
    for kind, suffix in product(("pipe", "device"), (".urdf", ".npz", ".catena")):
        window = unsaid(opened(PENDULUM))
        path = tmp_path / f"{kind}{suffix}"
        os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
        with case(path.name):
            window.run.play.trigger()
            wait(qtbot, lambda window=window: window.workbench.robot.time > 0)
            window.open(path)
            wait(qtbot, lambda window=window: not window.workbench.opening.loading)
            wait(qtbot, lambda window=window: "a pipe or a device" in said(window))
            window.run.play.trigger()  # paused, since how far it plays between reset and step is the machine's
            window.run.reset.trigger()
            window.run.step.trigger()
            wait(qtbot, lambda window=window: 0 < window.workbench.robot.time < 0.01)


def test_what_is_no_file_is_told_and_the_robot_stays(qtbot, opened):
    for name in ("", ".", "nothing.urdf", "nothing.npz", "nothing.catena", "\0", "x" * 5000, "~no_such_user/x"):
        window = unsaid(opened(PENDULUM))
        with case(repr(name)):
            window.open(name)
            wait_loaded(qtbot, window)
            wait(qtbot, lambda window=window: bool(said(window)))
            assert window.workbench.robot.model.name == "double_pendulum"
            assert "Traceback" not in findings(window)


def test_a_mesh_that_goes_while_it_is_looked_at_is_told_when_it_is_read_again(qtbot, opened, tmp_path):
    import trimesh

    mesh, path = tmp_path / "part.stl", tmp_path / "robot.urdf"
    trimesh.creation.box((0.3, 0.3, 0.3)).export(mesh)
    text = PENDULUM.read_text()
    begin = text.index("<geometry>")
    end = text.index("</geometry>")
    path.write_text(f'{text[:begin]}<geometry><mesh filename="part.stl"/>{text[end:]}')
    window = opened(path)
    window.run.play.trigger()
    mesh.unlink()
    before = window.workbench.robot.time
    wait(qtbot, lambda: window.workbench.robot.time > before + 0.1)
    assert not window.viewport.failed
    window.features[reloading.Reloading].reload()
    wait(qtbot, lambda: "part.stl is not found" in findings(window))
    before = window.workbench.robot.time
    wait(qtbot, lambda: window.workbench.robot.playing and window.workbench.robot.time > before)


def drop(window, data: QMimeData) -> None:
    where, none = QPointF(300, 300), Qt.KeyboardModifier.NoModifier
    action, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    enter = QDragEnterEvent(where.toPoint(), action, data, left, none)
    QApplication.sendEvent(window, enter)
    if enter.isAccepted():
        QApplication.sendEvent(window, QDropEvent(where, action, data, left, none))


def test_odd_things_that_are_dropped_or_on_the_clipboard_do_no_harm(qtbot, opened, tmp_path):
    window = opened(PENDULUM)
    (tmp_path / "folder.urdf").mkdir()
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n")
    kinds = [
        [], [""], ["nothing://here"], ["https://example.org/robot.urdf"], ["file://elsewhere/share/robot.urdf"],
        [(tmp_path / "folder.urdf").as_uri()], [(tmp_path / "picture.png").as_uri()], ["file:///"], ["file:///%00"],
        [(tmp_path / "nothing.urdf").as_uri()] * 300,
    ]  # fmt: skip
    for urls in kinds:
        data = QMimeData()
        data.setUrls([QUrl(each) for each in urls])
        drop(window, data)
        wait_loaded(qtbot, window)
        assert window.workbench.robot.model.name == "double_pendulum"
        assert len(window.statusBar().currentMessage()) < 500
    data = QMimeData()
    data.setText("<robot/>" * 100_000)
    data.setColorData(QColor("red"))
    data.setData("application/x-odd", b"\0" * 10**6)
    drop(window, data)
    QGuiApplication.clipboard().setText("\0\u202e1e999" * 1000)
    for key in (Qt.Key.Key_V, Qt.Key.Key_C, Qt.Key.Key_X):
        qtbot.keyClick(window, key, Qt.KeyboardModifier.ControlModifier)
    QGuiApplication.clipboard().clear()
    assert window.workbench.robot.model.name == "double_pendulum"


@pytest.mark.parametrize("robot", [False, True])
def test_what_is_still_being_read_comes_beside_a_body_that_was_added_meanwhile(
    qtbot, arm, monkeypatch, tmp_path, robot
):
    """The body has the robot put together again, which is no reason to drop the file."""
    scene, bench = arm.features[SceneView], arm.workbench
    path = tmp_path / "tetrahedron.obj"
    path.write_text("v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n", encoding="utf-8")
    name_file(monkeypatch, engine.find_robot("pendulum") if robot else path)
    entry(scene, "Robot on a fixed base…" if robot else "Obstacle: mesh…")
    entry(scene, "Free body: cube")
    assert bench.opening.loading  # the cube, before the file is there
    wait(qtbot, lambda: len(scene.objects) == 2)
    settled(qtbot, scene)
    assert (len(scene.obstacles), len(bench.robot.parts)) == (not robot, 1 + robot)


def test_what_is_wrong_with_a_studys_file_is_listed_before_it_is_run(qtbot, arm, tmp_path):
    """In the status bar, on one line, is the first problem of many."""
    window, view, path = arm, arm.features[StudyView], tmp_path / "own.toml"
    path.write_text('robot = "double_pendulum"\nseconds = -1\n' + "".join(f"word{k} = 1\n" for k in range(9)) + KEPT)
    window.open(path)
    wait(qtbot, lambda: view.panel.summary.text().endswith("(and 9 more, listed in Diagnostics)"))
    panel = window.features[DiagnosticsView].panel
    assert panel.isVisible()
    assert panel.summary.text() == "own.toml was not loaded: 10 errors"
    assert tuple(panel.diagnostics) == told(path).diagnostics
    assert "seconds = -1" in panel.excerpt.toPlainText()
    qtbot.wait(200)
    assert panel.height() > 1.5 * LOW  # as high as its rows ask, not as the message in the Study panel
    first = window.statusBar().currentMessage()
    assert first.startswith("the study was not opened: own.toml: line 2: error: seconds: it is -1")
    assert "\n" not in first
    path.write_text('robot = "double_pendulum"\nseconds = 1.0\n' + KEPT)
    engine.Study.read(path).run(tmp_path / "own.results", processes=0)
    window.open(path)
    wait(qtbot, lambda: view.panel.results is not None)
    assert not panel.isVisible()
    assert panel.summary.text() == "arm7.urdf: no problems"


def told(path) -> engine.StudyError:
    with pytest.raises(engine.StudyError) as found:
        engine.Study.read(path)
    return found.value
