"""The ghost: a second simulation from the same state, how far it is from the robot, and how the window shows it."""

import os
import threading
from fractions import Fraction

import numpy as np
import pytest
from pretended_gpu import CUDARuntimeError, PretendedGpu
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QLabel
from test_collision_shapes import pixels
from test_time import play
from test_worker import until
from windows import PATIENCE, name_file, press, wait

import engine
import main
from app.acting.drives import Drive
from app.desktop.numbers import si_text
from app.features.attaching import GhostView, Reloading, RunExports, Sessions, TimeView
from app.panels.ghost import PAST
from app.recording.recorded_ghost import RecordedGhost, read_ghost
from app.simulation.batch_spread import BatchSpread
from app.simulation.ghost import STEPS, GhostSettings
from app.simulation.ghost import make_simulation as ghost_of
from app.simulation.messages import Settings, Stopped
from app.workbench import Workbench

ARM = engine.ROBOTS / "arm7.urdf"


def swinging(bench: Workbench, settings: GhostSettings | None, source: object = ARM) -> Workbench:
    """The robot let go, with a ghost."""
    bench.open(source)
    until(lambda: bench.poll() and not bench.opening.loading)
    bench.joints.set_held(False)
    bench.ghost.set(settings)
    until(lambda: bench.poll() is not None and (frame := bench.frame()) is not None and frame.ghost is not None)
    return bench


def after(bench: Workbench, steps: int):
    """The snapshot that many steps later."""
    time = bench.robot.time + steps * bench.robot.settings.dt
    for _ in range(steps):
        bench.step()
    until(lambda: bench.poll() is not None and bench.frame() is not None and bench.robot.time > time - 1e-9)
    return bench.robot.newest


def test_a_ghost_of_the_same_kind_is_where_the_robot_is_to_the_bit(bench):
    frame = after(swinging(bench, GhostSettings()), 300)
    assert np.array_equal(frame.ghost.link_poses, np.asarray(engine.link_poses(bench.robot.model, frame.q)))
    assert frame.ghost.worst == 0.0
    assert np.ptp(frame.link_poses[-1, :3, 3]) > 0


def test_another_algorithm_differs_by_rounding_alone(bench):
    frame = after(swinging(bench, GhostSettings(algorithm="cfa")), 300)
    assert (bench.computation.algorithm, frame.ghost.algorithm) == ("abia", "cfa")
    assert 0 < frame.ghost.worst < 1e-8
    assert frame.ghost.deviation.max() <= frame.ghost.worst
    assert frame.ghost.deviation[0] == 0.0  # the base


def test_a_smaller_step_differs_by_the_integrators_error(bench):
    bench.configuring.set_integrator("semi-implicit")
    greatest = []
    for step in (Fraction(1, 2), Fraction(2)):
        frame = after(swinging(bench, GhostSettings(integrator="semi-implicit", step=step)), 200)
        assert frame.ghost.dt == pytest.approx(bench.robot.settings.dt * float(step))
        greatest.append(frame.ghost.worst)
    # Of an integrator of first order: half a step less halves the error, twice the step doubles it.
    assert 1.5 < greatest[1] / greatest[0] < 2.6


def test_a_reset_and_a_hand_bring_them_together(bench):
    after(swinging(bench, GhostSettings(step=Fraction(4))), 200)
    assert bench.robot.newest.ghost.worst > 0
    bench.reset()
    until(lambda: bench.poll() is not None and (frame := bench.frame()) is not None and frame.time == 0)
    assert bench.robot.newest.ghost.worst == 0
    after(bench, 100)
    assert bench.robot.newest.ghost.worst > 0
    bench.ghost.reset_to_robot()
    until(lambda: bench.poll() is not None and (frame := bench.frame()) is not None and frame.ghost.worst == 0)
    assert bench.robot.newest.ghost.since == pytest.approx(100 * bench.robot.settings.dt)


def test_a_ghost_that_diverges_says_at_which_time_of_the_run(bench):
    said = []
    bench.ghost.listen(said.append)
    after(swinging(bench, GhostSettings()), 100)
    bench.ghost.reset_to_robot()
    bench.ghost._change(lambda _: bench.ghost._attached._simulation.v.fill(1e200))
    bench.step()
    until(lambda: any("diverged" in each for each in said))
    assert said[-1].startswith(
        f"the ghost: the simulation diverged at {101 * bench.robot.settings.dt:g} s, first in joint"
    )


def test_efforts_and_other_settings_reach_the_ghost(bench):
    swinging(bench, GhostSettings())
    bench.joints.set_drive(1, 20.0)
    frame = after(bench, 200)
    assert frame.tau[1] == 20.0
    assert frame.ghost.worst == 0.0
    bench.configuring.set_gravity(False)
    until(lambda: bench.poll() is not None and (found := bench.frame()) is not None and found.ghost is not None)
    assert after(bench, 200).ghost.worst == 0.0


def test_one_of_many_has_none_and_single_precision_wants_a_gpu(bench):
    said = []
    bench.ghost.listen(said.append)
    swinging(bench, GhostSettings())
    bench.configuring.set_spread(BatchSpread(robots=3))
    until(lambda: bench.poll() is not None and any("one robot alone" in text for text in said))
    bench.configuring.set_spread(BatchSpread())
    if engine.why_no_gpu() is not None:
        bench.ghost.set(GhostSettings(precision="float32"))
        until(lambda: any("single precision" in text for text in said))
        assert after(bench, 3).ghost is None


def test_a_ghost_of_single_precision_stands_on_the_ground(monkeypatch):
    model, scene = engine.load(engine.ROBOTS / "quadruped.urdf"), engine.Scene()
    of = engine.Simulation(model, q=engine.put_down(model, scene, model.neutral())[None], device="cpu", scene=scene)
    asked = {}

    class Answering:
        device = "cuda"

        def __init__(self, *_, **how):
            asked.update(how)

        def step(self, _):
            pass

    monkeypatch.setattr(engine, "why_no_gpu", lambda: None)
    monkeypatch.setattr(engine, "Simulation", Answering)
    assert isinstance(ghost_of(of, GhostSettings(precision="float32")), Answering)
    assert (asked["device"], asked["dtype"], asked["scene"], asked["algorithm"]) == ("cuda", "float32", scene, "abia")
    assert asked["algorithm"] in engine.simulation_algorithms(model, "cuda", scene)


class SinglePrecision(PretendedGpu):
    """A pretended GPU that takes single precision; what it computes is double."""

    def __init__(self, model, *args, dtype="float64", **options):
        super().__init__(model, *args, **options)
        if dtype == "float32":
            self.device = "cuda"


@pytest.mark.usefixtures("pretended_gpu")
@pytest.mark.parametrize("where", ["step", "reset", "array"])
def test_a_ghost_whose_gpu_fails_goes_and_the_robot_plays_on(bench, monkeypatch, where):
    monkeypatch.setattr(engine, "Simulation", SinglePrecision)
    said = []
    bench.ghost.listen(said.append)
    bench.configuring.take_settings(Settings(device="cpu"))
    swinging(bench, GhostSettings(precision="float32"))
    assert (bench.computation.device, bench.robot.newest.ghost.device) == ("cpu", "cuda")
    sound = getattr(SinglePrecision, where)

    def gone(simulation, *args):
        if simulation.device == "cuda":
            raise CUDARuntimeError("cudaErrorDevicesUnavailable: gone\nand more")
        return sound(simulation, *args)

    monkeypatch.setattr(SinglePrecision, where, gone)
    if where == "reset":
        bench.ghost.reset_to_robot()
    bench.step()
    events = []
    until(lambda: events.extend(bench.poll()) is None and "the GPU failed" in said[-1])
    assert said[-1] == "the ghost: the GPU failed (cudaErrorDevicesUnavailable: gone)"
    assert after(bench, 5).ghost is None
    assert not any(isinstance(event, Stopped) for event in events)


@pytest.mark.usefixtures("pretended_gpu")
def test_a_ghost_whose_gpu_fails_as_it_takes_its_place_is_told_of(bench, monkeypatch):
    class Gone(SinglePrecision):
        def reset(self, *args):
            if hasattr(self, "ready"):
                raise CUDARuntimeError("gone")
            super().reset(*args)

        def step(self, *args):
            super().step(*args)
            self.ready = True

    said = []
    bench.ghost.listen(said.append)
    bench.configuring.take_settings(Settings(device="cpu"))
    bench.open(ARM)
    until(lambda: bench.poll() and not bench.opening.loading)
    monkeypatch.setattr(engine, "Simulation", Gone)
    bench.ghost.set(GhostSettings(precision="float32"))
    bench.step()
    until(lambda: not bench.poll() and len(said) == 2)
    assert said == ["", "the ghost: the GPU failed (gone)"]


def test_a_fault_of_the_program_in_making_a_ghost_is_reported(bench, monkeypatch):
    said, reported = [], []
    bench.ghost.listen(said.append)
    bench.open(ARM)
    until(lambda: bench.poll() and not bench.opening.loading)
    monkeypatch.setattr(threading, "excepthook", reported.append)

    def wrong(*_, **__):
        raise RuntimeError("no kernel abia<double>")

    monkeypatch.setattr(engine, "Simulation", wrong)
    bench.ghost.set(GhostSettings())
    until(lambda: bool(reported))
    assert said == ["no kernel abia<double>"]
    assert str(reported[0].exc_value) == said[0]


def test_the_dock_shows_a_ghost_its_numbers_and_takes_it_away(qtbot, opened):
    window = opened(ARM)
    view = window.features[GhostView]
    qtbot.keyClick(window, Qt.Key.Key_G, Qt.KeyboardModifier.ShiftModifier)
    wait(qtbot, view.panel.isVisible)
    wait(qtbot, lambda: window.viewport.reading is None)
    window.run.hold.trigger()
    view.panel.step.setCurrentIndex(len(STEPS) - 1)
    view.panel.integrator.setCurrentIndex(view.panel.integrator.findData("semi-implicit"))
    view.panel.on.click()
    wait(qtbot, lambda: view.panel.by.text() != "–")
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: window.workbench.robot.newest.ghost.worst > 5e-3 and "(" in view.panel.now.text())
    press(qtbot, window, window.run.play)
    wait(qtbot, lambda: si_text(window.workbench.robot.newest.ghost.worst, "m") in view.panel.worst.text())
    window.features[TimeView].back.trigger()
    wait(qtbot, lambda: view.panel.now.text() == PAST)
    window.features[TimeView].last.trigger()
    wait(qtbot, lambda: "(" in view.panel.now.text())
    window.viewport.camera.distance *= 0.4  # some millimetres are to be seen
    with_it = pixels(window)
    links = len(window.workbench.robot.model.link_names)
    assert len(window.viewport.view().poses) == 2 * links
    view.panel.on.click()
    wait(qtbot, lambda: window.workbench.robot.newest.ghost is None and len(window.viewport.view().poses) == links)
    assert (np.abs(pixels(window) - with_it) > 30).mean() > 1e-3
    assert view.panel.now.text() == "–"


@pytest.fixture
def recorded(qtbot, opened, tmp_path):
    """A window with an arm, and the file of a run in which its first joint moved; the arm is at time zero again."""
    window, path = opened(ARM), tmp_path / "saved.npz"
    window.run.gravity.trigger()
    window.workbench.joints.set_joint_drive(0, Drive("velocity", 0.8))
    play(qtbot, window, 0.4)
    exports = window.features[RunExports]
    exports.write(str(path), "npz", interval=0.0)
    wait(qtbot, lambda: not exports.writing.running)
    window.run.reset.trigger()
    window.workbench.joints.set_joint_drive(0, Drive("velocity", 0.0))
    wait(qtbot, lambda: window.workbench.robot.time == 0)
    return window, path


def drawn(window) -> np.ndarray:
    """(links, 4, 4): the ghost's poses in the picture."""
    links = len(window.workbench.robot.model.link_names)
    poses = np.asarray(window.viewport.view().poses)
    assert len(poses) == 2 * links
    return poses[links:]


def test_a_recorded_run_is_the_ghost_beside_the_present_one(qtbot, recorded, monkeypatch):
    window, path = recorded
    view, bench, plain = window.features[GhostView], window.workbench, pixels(window)
    name_file(monkeypatch, path)
    view.recording.trigger()
    run = engine.read_run(path).trajectory
    wait(qtbot, lambda: f"saved.npz, 0.000 to {run.time[-1]:.3f}" in view.panel.by.text())
    assert "Recording" in [label.text() for label in view.panel.findChildren(QLabel)]
    assert view.panel.isVisible()
    assert view.panel.on.isChecked()
    assert not view.panel.algorithm.isEnabled()

    def as_recorded(time: float) -> bool:
        q = run.q[np.searchsorted(run.time, time + 1e-9) - 1]
        return np.allclose(drawn(window), np.asarray(engine.link_poses(bench.robot.model, q)), atol=1e-4)

    assert as_recorded(0.0)
    play(qtbot, window, 0.3)
    wait(qtbot, lambda: as_recorded(bench.robot.time))
    here = bench.robot.newest.link_poses
    assert np.abs(drawn(window) - here).max() > 0.1  # the present run is another
    wait(qtbot, lambda: "mm" in view.panel.worst.text())
    assert (np.abs(pixels(window) - plain) > 30).mean() > 1e-3
    window.features[TimeView].first.trigger()
    wait(qtbot, lambda: as_recorded(0.0))  # a recorded frame has it too
    window.features[TimeView].last.trigger()
    assert "over" not in view.panel.by.text()
    play(qtbot, window, run.time[-1] + 0.2 - bench.robot.time)
    wait(qtbot, lambda: as_recorded(run.time[-1]))  # it stays where it ended, and says so
    over = f"saved.npz, 0.000 to {run.time[-1]:.3f} s; over, the ghost rests where it ended"
    wait(qtbot, lambda: view.panel.by.text() == over)
    window.features[TimeView].first.trigger()
    wait(qtbot, lambda: view.panel.by.text() == over.split(";")[0])
    window.features[TimeView].last.trigger()
    view.panel.on.click()
    assert len(window.viewport.view().poses) == len(here)
    assert view.panel.algorithm.isEnabled()
    assert view.panel.by.text() == "–"
    view.panel.on.click()  # now it is one that is simulated
    wait(qtbot, lambda: "on the CPU" in view.panel.by.text())


def test_the_dock_says_that_a_recording_is_read_again(qtbot, recorded, monkeypatch):
    window, path = recorded
    view, go_on = window.features[GhostView], threading.Event()
    name_file(monkeypatch, path)
    view.recording.trigger()
    wait(qtbot, lambda: "saved.npz" in view.panel.by.text())
    assert not view.panel.reading.isVisible()

    def slow(*words: object) -> RecordedGhost:
        go_on.wait(60)
        return read_ghost(*words)

    monkeypatch.setattr("app.features.ghost_view.read_ghost", slow)
    with qtbot.waitSignal(window.loaded, timeout=PATIENCE):
        window.features[Reloading].reload()
    assert view.panel.by.text() == "–"
    assert view.panel.reading.isVisible()
    assert view.panel.reading.text() == "Reading saved.npz …"
    if folder := os.environ.get("CATENA_PICTURES"):
        window.grab().save(f"{folder}/ghost read.png")
    go_on.set()
    wait(qtbot, lambda: "saved.npz" in view.panel.by.text())
    assert not view.panel.reading.isVisible()
    view.open(str(path.with_name("gone.npz")))
    assert view.panel.reading.text() == "Reading gone.npz …"
    wait(qtbot, lambda: view.panel.refusal.text() != "")
    assert not view.panel.reading.isVisible()


def test_a_recording_of_another_robot_is_refused_in_a_sentence(qtbot, recorded, tmp_path, monkeypatch):
    window, path = recorded
    view, bench = window.features[GhostView], window.workbench
    name_file(monkeypatch, path)
    qtbot.mouseClick(view.panel.recording, Qt.MouseButton.LeftButton)
    wait(qtbot, lambda: view.panel.on.isChecked())
    heavier = tmp_path / "heavier.urdf"  # with the same joints
    heavier.write_text(ARM.read_text("utf-8").replace('mass value="2.397"', 'mass value="3"'), "utf-8")
    pendulum = engine.find_robot("pendulum")
    for robot, why in (
        (pendulum, "its joints are not those of pendulum"),
        (heavier, "arm7.urdf differs from heavier.urdf"),
    ):
        window.open(robot)
        wait(qtbot, lambda robot=robot: bench.path == str(robot) and not bench.opening.loading)
        view.recording.trigger()
        refused = f"saved.npz is a run of another robot: {why}"
        wait(qtbot, lambda refused=refused: view.panel.refusal.text() == refused)
        assert window.statusBar().currentMessage() == refused
        assert not view.panel.on.isChecked()
    shorter = tmp_path / "arm.xacro"
    text = ARM.read_text("utf-8").replace("<robot ", '<robot xmlns:xacro="http://ros.org/wiki/xacro" ', 1)
    text = text.replace('mass value="2.927"', 'mass value="$(arg kg)"')
    shorter.write_text(text.replace("<link ", '<xacro:arg name="kg" default="2.927"/><link ', 1), "utf-8")
    for kg, same in (("9", False), ("2.927", True)):
        assert main.main(["run", str(shorter), f"kg:={kg}", "--seconds", "0.01", "--out", str(path)]) == 0
        if bench.path != str(shorter):
            window.open(shorter)
            wait(qtbot, lambda: bench.path == str(shorter) and not bench.opening.loading)
        view.recording.trigger()
        refused = "saved.npz is a run of another robot: arm7 with kg:=9 has other links than that shown"
        wait(qtbot, view.panel.on.isChecked if same else lambda refused=refused: view.panel.refusal.text() == refused)
    view.open(str(gone := tmp_path / "gone.npz"))
    wait(qtbot, lambda: view.panel.refusal.text() == f"{gone} cannot be read: No such file or directory")
    path.write_bytes(b"PK no run")
    view.recording.trigger()
    wait(qtbot, lambda: view.panel.refusal.text().startswith("saved.npz contains no run"))


def test_another_robot_ends_a_recorded_ghost_without_a_word(qtbot, recorded):
    """The dock and the status bar of the other robot said that the recording was of another one."""
    window, path = recorded
    view, bench, said = window.features[GhostView], window.workbench, []
    view.open(str(path))
    wait(qtbot, view.panel.on.isChecked)
    window.statusBar().messageChanged.connect(said.append)
    window.open(pendulum := engine.find_robot("pendulum"))
    wait(qtbot, lambda: bench.path == str(pendulum) and not bench.opening.loading and not view.path)
    assert not view.panel.on.isChecked()
    assert not view.panel.reading.isVisible()
    assert view.panel.refusal.text() == ""
    assert not any("another robot" in each for each in said)


def test_a_recording_of_a_fixed_base_is_refused_beside_a_floating_one_until_that_is_undone(qtbot, recorded):
    window, path = recorded
    view, bench = window.features[GhostView], window.workbench
    view.open(str(path))
    wait(qtbot, view.panel.on.isChecked)
    window.run.floating.trigger()
    wait(qtbot, lambda: "its base is fixed, and that of arm7 floats; " in view.panel.refusal.text())
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    wait(qtbot, lambda: not bench.robot.floating and not bench.opening.loading)
    wait(qtbot, lambda: view.panel.refusal.text() == "")


def test_a_session_keeps_a_recorded_ghost_and_says_when_its_file_is_gone(qtbot, recorded, tmp_path, make_window):
    window, path = recorded
    window.features[GhostView].open(str(path))
    wait(qtbot, lambda: window.features[GhostView].panel.on.isChecked())
    session = tmp_path / "mine.catena"
    window.features[Sessions].save(str(session))
    wait(qtbot, lambda: not window.features[RunExports].writing.running)
    window.close()
    again = make_window()
    view, said = again.features[GhostView], []
    again.statusBar().messageChanged.connect(said.append)
    again.open(session)
    wait(qtbot, view.panel.on.isChecked)
    assert len(drawn(again)) == len(again.workbench.robot.model.link_names)
    path.unlink()
    again.open(session)
    gone = f"part of the session cannot be read: the file of the ghost is missing: {path}"
    wait(qtbot, lambda: gone in said)
    assert not view.panel.on.isChecked()
    assert view.path == ""


@pytest.mark.gpu
def test_a_ghost_of_single_precision_differs_by_its_rounding(bench):
    frame = after(swinging(bench, GhostSettings(precision="float32")), 300)
    assert frame.ghost.device == "cuda"
    assert 1e-9 < frame.ghost.worst < 1e-2
