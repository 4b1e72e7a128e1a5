"""The protocol of workbench and simulation thread: settings, holding, compilation, and closing."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_worker import SWINGING, Listener, opened, until

import engine
from app.simulation import compiling
from app.simulation.compiling import Compiler
from app.simulation.messages import Compiling, Configured, Loaded, Settings, Stopped
from app.simulation.worker import Worker
from engine.files import ROBOTS

ENDLESS = (
    """<robot name="long" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="m0"><a/></xacro:macro>"""
    + "".join(f'<xacro:macro name="m{k + 1}"><xacro:m{k}/><xacro:m{k}/></xacro:macro>' for k in range(40))
    + "<xacro:m40/></robot>"
)
EXPANDING = """
import sys, threading, time
from pathlib import Path
from engine.urdf.xacro import sandbox
threading.Thread(target=sandbox.expand, args=(sys.argv[1],), daemon=True).start()
end = time.monotonic() + 200
while not (found := [path.read_text() for path in Path("/proc/self/task").glob("*/children") if path.read_text()]):
    assert time.monotonic() < end
print(found[0])
"""


@pytest.fixture
def heard() -> Iterator[Listener]:
    worker = Worker()
    yield Listener(worker)
    worker.close()


@pytest.fixture
def swinging(tmp_path) -> str:
    path = tmp_path / "swinging.urdf"
    path.write_text(SWINGING, encoding="utf-8")
    return str(path)


class Processes:
    """In place of compilers: processes that run until they are ended, or end at once."""

    def __init__(self, program: str):
        self.program = program
        self.begun: list[subprocess.Popen[bytes]] = []
        self._popen = subprocess.Popen

    def __call__(self, _: object, **options: object) -> subprocess.Popen[bytes]:
        self.begun.append(self._popen([sys.executable, "-S", "-c", self.program], **options))
        return self.begun[-1]

    @property
    def alive(self) -> int:
        return sum(process.poll() is None for process in self.begun)


@pytest.fixture
def compilers(monkeypatch, tmp_path) -> Callable[[str], Processes]:
    """Have everything taken for not compiled yet, and such processes begun."""
    monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(engine.Compilation, "needed", True)
    monkeypatch.setattr(compiling, "LATER", 0.0)
    monkeypatch.setattr(engine.Compilation, "stand_by", lambda **_: None)

    def patch(program: str = "import sys; sys.stdin.read()") -> Processes:
        processes = Processes(program)
        monkeypatch.setattr(engine.compilation.subprocess, "Popen", processes)
        return processes

    return patch


def simulation(integrator: str = "semi-implicit", links: int = 2) -> engine.Simulation:
    return engine.Simulation(engine.chain(links), integrator=integrator)


def test_settings_meant_for_the_robot_before_are_not_given_to_the_next(heard):
    heard.worker.open(engine.chain(5), Settings())
    heard.wait_for(Loaded)
    heard.worker.open(engine.chain(2), Settings())
    heard.worker.configure(Settings(held=True, driven=frozenset({4})))
    heard.wait_for(Loaded, 2)
    last = heard.worker.configure(Settings(gravity=False))
    assert [event.number for event in heard.wait_for(Configured)] == [last]
    assert heard.count_of(Stopped) == 0


def test_an_answer_to_earlier_settings_does_not_undo_later_ones(bench, swinging, monkeypatch):
    opened(bench, swinging)
    waiting, events = [], bench._worker.events

    def one() -> list:
        waiting.extend(events())
        return [waiting.pop(0)] if waiting else []

    monkeypatch.setattr(bench._worker, "events", one)
    bench.joints.set_held(True)
    bench.joints.set_held(False)
    answers = 0
    while answers < 2:
        answers += sum(isinstance(event, Configured) for event in bench.poll())
        assert not bench.robot.settings.held
    bench.configuring.set_dt(2e-4)
    bench._worker.configure(Settings(dt=5e-4))  # not the last that was asked for
    bench.configuring.set_gravity(False)
    until(lambda: any(isinstance(event, Configured) and not event.settings.gravity for event in bench.poll()))
    assert (bench.robot.settings.dt, bench.robot.settings.gravity) == (2e-4, False)


def test_a_robot_with_motors_starts_held_also_under_a_step_of_ones_own(bench):
    opened(bench, ROBOTS / "arm7.urdf")
    bench.configuring.set_dt(5e-4)
    bench.joints.set_held(False)
    opened(bench, ROBOTS / "scara.urdf")
    assert bench.robot.settings.held
    assert bench.robot.settings.dt == 5e-4


def test_a_joint_moved_during_play_goes_there_held_until_it_is_released(bench, swinging):
    opened(bench, swinging)
    bench.play()
    bench.joints.set_coordinate(0, 1.0)
    assert bench.robot.is_held(0)
    seen = [0.0]
    until(lambda: (frame := bench.frame()) and (seen.append(frame.q[0]) or abs(frame.q[0] - 1.0) < 0.01))
    assert any(0.1 < q < 0.9 for q in seen), "it was put there at once"
    bench.joints.release(0)
    assert not bench.robot.settings.held
    until(lambda: (frame := bench.frame()) and frame.q[0] < 0.0)


def test_a_joint_driven_by_an_effort_is_held_by_its_slider_and_stays_so_if_it_was_held(bench):
    opened(bench, ROBOTS / "arm7.urdf")
    bench.joints.drive(1, by_effort=True)
    bench.play()
    bench.joints.set_coordinate(1, 0.3)
    assert bench.robot.drives_now.held_rows == frozenset(range(7))
    bench.joints.release(1)
    assert bench.robot.drives_now.held_rows == frozenset(range(7)) - {1}
    bench.joints.set_coordinate(2, 0.3)
    bench.joints.release(2)
    assert bench.robot.is_held(2)


def test_what_no_gains_can_hold_is_not_moved_during_play(bench):
    opened(bench, ROBOTS / "quadruped.urdf")
    bench.play()
    free = next(index for index, row in enumerate(bench.robot.coordinates) if not row.driveable and row.leader is None)
    with pytest.raises(ValueError, match="pause to set it"):
        bench.joints.set_coordinate(free, 0.5)
    bench.pause()
    bench.joints.set_coordinate(free, 0.5)
    until(lambda: (frame := bench.frame()) and 0.5 in frame.q)


def test_a_first_step_that_fails_is_told_once_and_the_robot_lives_on(heard, compilers, monkeypatch):
    compilers("pass")

    def broken(*_: object) -> None:
        raise RuntimeError("a fault made for this test")

    with monkeypatch.context() as patch:
        patch.setattr(engine.Simulation, "step", broken)
        heard.worker.open(engine.chain(2), Settings())
        heard.wait_for(Stopped)
        assert heard.wait_for(Compiling, 2)[1].seconds == 0
    frames = heard.wait_for(Loaded)[0].frames
    heard.worker.step(3)
    until(lambda: (frame := frames.take()) and frame.time > 0)
    assert heard.count_of(Stopped) == 1


def test_a_compiler_goes_on_where_other_settings_need_the_same_code(compilers):
    processes, compiler = compilers(), Compiler()
    assert compiler.begin(simulation()) > 0
    assert compiler.begin(simulation(links=3)) > 0
    assert (len(processes.begun), processes.alive) == (1, 1)
    assert compiler.begin(simulation("rk4")) > 0
    assert (len(processes.begun), processes.alive) == (2, 1)
    assert compiler.waiting
    compiler.close()
    assert processes.alive == 0


@pytest.mark.parametrize(("cores", "left"), [(2, 0), (8, 1)])
def test_two_cores_are_left_to_play_and_with_more_it_is_compiled_on(compilers, monkeypatch, cores, left):
    monkeypatch.setattr(compiling.os, "cpu_count", lambda: cores)
    processes, compiler = compilers("pass"), Compiler()
    compiler.begin(simulation(), wrenches=True)
    until(lambda: not compiler.waiting)
    processes.program = "import sys; sys.stdin.read()"
    compiler.compile_next(playing=True)
    assert processes.alive == left
    compiler.compile_next(playing=False)
    assert (len(processes.begun), processes.alive) == (2, 1)
    compiler.compile_next(playing=True)
    assert processes.alive == left
    compiler.compile_next(playing=False)
    assert (len(processes.begun), processes.alive) == (3 - left, 1)
    compiler.close()


def test_the_code_of_pulls_is_made_first_also_while_it_plays(compilers, monkeypatch):
    monkeypatch.setattr(compiling.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(compiling, "SOON", 0.0)
    processes, compiler = compilers("pass"), Compiler()
    compiler.begin(simulation())
    until(lambda: not compiler.waiting)
    processes.program = "import sys; sys.stdin.read()"
    for playing in (True, False, True):
        compiler.compile_next(playing)
        assert (len(processes.begun), processes.alive) == (2, 1), "and nothing else meanwhile"
    pulls = engine.Compilation(simulation(), wrenches=True)
    assert compiler._pulls.makes_the_same_as(pulls)
    compiler.cancel_duplicate(engine.Compilation(simulation("rk4"), wrenches=True))
    assert processes.alive == 1
    compiler.cancel_duplicate(pulls)
    assert processes.alive == 0
    compiler.compile_next(playing=True)
    assert len(processes.begun) == 2
    compiler.compile_next(playing=False)
    assert len(processes.begun) == 3, "the rest follows"
    compiler.close()
    assert processes.alive == 0


def test_a_process_gets_ready_for_the_next_code_after_some_was_waited_for(compilers, monkeypatch):
    monkeypatch.setattr(compiling, "SOON", 0.0)
    compilers("pass")
    compiler, ready = Compiler(), []
    monkeypatch.setattr(engine.Compilation, "stand_by", lambda always: ready.append(always))
    compiler.begin(simulation())
    compiler.compile_next(playing=False)
    assert not ready
    until(lambda: not compiler.waiting)
    for playing in (True, False):
        compiler.compile_next(playing)
    assert ready == [True]
    compiler.close()


def test_the_code_of_pulls_goes_on_where_other_settings_need_it(compilers, monkeypatch):
    monkeypatch.setattr(compiling, "SOON", 0.0)
    processes, compiler = compilers(), Compiler()
    monkeypatch.setattr(engine.Compilation, "needed", property(lambda self: self._code.wrenches))
    assert compiler.begin(simulation()) is None
    compiler.compile_next(playing=True)
    assert (len(processes.begun), processes.alive) == (1, 1)
    compiler.begin(simulation(links=3))
    compiler.compile_next(playing=True)
    assert (len(processes.begun), processes.alive) == (1, 1)
    compiler.begin(simulation("rk4"))
    compiler.compile_next(playing=True)
    assert (len(processes.begun), processes.alive) == (2, 1)
    compiler.close()
    assert processes.alive == 0


def test_the_time_of_a_compiler_that_stood_back_is_not_remembered(compilers, tmp_path):
    compilers("pass")
    remembered = tmp_path / "cache" / "compile-seconds.json"
    for nice, kept in ((19, False), (0, True)):
        compilation = engine.Compilation(simulation())
        compilation.start(nice)
        assert compilation.wait(300)
        assert remembered.exists() == kept


def test_closing_waits_for_no_file():
    gate = threading.Event()
    loading = threading.Event()

    def load(*_: object, **__: object) -> engine.Model:
        loading.set()
        gate.wait(60)
        return engine.chain(2)

    worker = Worker(load)
    worker.open("long.urdf.xacro", Settings())
    assert loading.wait(60)
    closer = threading.Thread(target=worker.close)
    began = time.monotonic()
    closer.start()
    closer.join(30)
    seconds = time.monotonic() - began
    gate.set()
    closer.join()
    assert seconds < 20


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="how a process's children are found is Linux's own")
def test_a_xacro_files_expansion_ends_with_the_program(tmp_path):
    pytest.importorskip("xacrodoc")
    path = tmp_path / "long.urdf.xacro"
    path.write_text(ENDLESS, encoding="utf-8")
    printed = subprocess.check_output([sys.executable, "-c", EXPANDING, str(path)], text=True, timeout=300)
    status = Path("/proc") / printed.split()[0] / "stat"
    end = time.monotonic() + 60
    while status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < end, "it works on without its parent"
        time.sleep(0.01)


def test_what_was_held_by_hand_has_no_effort_left(bench, swinging):
    opened(bench, swinging)
    bench.joints.set_drive(0, 3.0)
    until(lambda: (frame := bench.frame()) and frame.tau[0] == 3.0)
    bench.joints.set_held(True)
    until(lambda: (frame := bench.frame()) and frame.tau[0] == 0.0)
    np.testing.assert_array_equal(bench.robot.newest.target, bench.robot.newest.q)


def test_settings_with_another_ground_move_where_a_second_reset_puts_the_robot(bench):
    opened(bench, str(ROBOTS / "quadruped.urdf"))
    assert bench.robot.settings.ground
    scene = engine.Scene(engine.Plane((0.0, 0.0, 1.0), 0.5))
    bench.configuring.take_settings(replace(bench.robot.settings, scene=scene))
    bench.reset()
    robot = bench.robot
    np.testing.assert_array_equal(robot.initial, engine.put_down(robot.model, scene, robot.model.neutral()))
    assert robot.initial[2] > 0.4
