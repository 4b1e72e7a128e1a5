"""The simulation's thread and the workbench that drives it, without Qt."""

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import engine
from app.simulation.messages import Event, Latest, LimitsReached, Loaded, Reading, Refused, Settings, Stopped
from app.simulation.worker import Worker
from app.workbench import Workbench

PATIENCE = 60.0  # s, for the first compilation of the engine

PENDULUM = """<robot name="pendulum">
  <link name="base"/>
  <link name="bob"><inertial><origin xyz="0 0 -1"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="hinge" type="{kind}"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>{more}</joint>
</robot>"""
SWINGING = PENDULUM.format(kind="continuous", more="")
LIMITED = PENDULUM.format(kind="revolute", more='<limit lower="-2" upper="0.5" effort="100" velocity="50"/>')
STIFF = PENDULUM.format(kind="continuous", more='<dynamics damping="1e5"/>')
FOLLOWER = """
  <link name="tip"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="follower" type="prismatic"><parent link="bob"/><child link="tip"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="hinge" multiplier="-0.5" offset="0.1"/></joint>
"""


@pytest.fixture
def urdf(tmp_path) -> Callable[[str], str]:
    """Writes a robot to a file of its own, and gives its path."""
    numbers = itertools.count()

    def write(text: str) -> str:
        path = tmp_path / f"robot{next(numbers)}.urdf"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


class Listener:
    """A worker with everything it has said."""

    def __init__(self, worker: Worker):
        self.worker = worker
        self.events: list[Event] = []

    def wait_for(self, kind: type, count: int = 1) -> list:
        until(lambda: self.count_of(kind) >= count)
        return [event for event in self.events if isinstance(event, kind)]

    def count_of(self, kind: type) -> int:
        self.events += self.worker.events()
        return sum(isinstance(event, kind) for event in self.events)


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.002)


@pytest.fixture
def heard() -> Iterator[Listener]:
    worker = Worker()
    yield Listener(worker)
    worker.close()


def copy(frame) -> tuple[float, np.ndarray, np.ndarray]:
    return frame.time, frame.q.copy(), frame.v.copy()


def wait_for_frame(frames: Latest, condition: Callable[[object], bool] = lambda _: True) -> tuple:
    found = []

    def look() -> bool:
        frame = frames.take()
        if frame is not None and condition(frame):
            found.append(copy(frame))
        return bool(found)

    until(look)
    return found[0]


def test_the_latest_snapshot_wins_and_its_buffers_are_used_again():
    frames = Latest(engine.chain(2))
    assert frames.take() is None
    seen = set()
    for number in range(12):
        frames.back.time = float(number)
        frames.publish()
        if number % 3 == 2:
            frame = frames.take()
            assert frame.time == number
            assert frames.take() is None
            seen.add(id(frame))
    assert len(seen) <= 3


def test_a_snapshot_being_read_is_never_written():
    frames = Latest(engine.chain(2))
    frames.publish()
    read = frames.take()
    for number in range(5):
        assert frames.back is not read
        frames.back.time = 1.0 + number
        frames.publish()
    assert read.time == 0.0


def test_steps_are_the_engines_own(heard, urdf):
    path = urdf(SWINGING)
    heard.worker.open(path, Settings(dt=2e-3, integrator="rk4"))
    loaded = heard.wait_for(Loaded)[0]
    heard.worker.set_coordinate(0, (0,), 1.0)
    heard.worker.step(25)
    now, q, v = wait_for_frame(loaded.frames, lambda frame: frame.time > 0)
    alone = engine.Simulation(engine.load(path), dt=2e-3, integrator="rk4", q=[1.0])
    alone.step(25)
    assert now == pytest.approx(0.05, abs=1e-12)
    np.testing.assert_array_equal(q, alone.q[0])
    np.testing.assert_array_equal(v, alone.v[0])


def test_playing_keeps_to_the_asked_speed(heard, urdf):
    heard.worker.set_speed(4.0)
    heard.worker.open(urdf(SWINGING), Settings())
    frames = heard.wait_for(Loaded)[0].frames
    begun = time.perf_counter()
    heard.worker.play()
    now, _, _ = wait_for_frame(frames, lambda frame: frame.time > 1.0)
    elapsed = time.perf_counter() - begun
    assert now <= 4.0 * elapsed + 1e-3


def test_a_model_too_slow_for_its_speed_falls_behind_and_still_listens(heard, urdf, monkeypatch):
    class Slow(engine.Simulation):
        def step(self, n: int = 1) -> None:
            time.sleep(3e-3 * n)
            super().step(n)

    monkeypatch.setattr(engine, "Simulation", Slow)
    heard.worker.open(urdf(SWINGING), Settings())
    frames = heard.wait_for(Loaded)[0].frames
    heard.worker.play()
    factors = []
    wait_for_frame(frames, lambda frame: factors.append(frame.factor) or frame.time > 0.15)
    measured = [factor for factor in factors if np.isfinite(factor)]
    assert measured
    assert max(measured) < 0.5
    heard.worker.pause()
    before, _, _ = wait_for_frame(frames, lambda frame: np.isnan(frame.factor))
    heard.worker.step()
    after, _, _ = wait_for_frame(frames)
    assert after - before == pytest.approx(1e-3, abs=1e-9), "the debt from before the pause was paid after it"


def test_a_coordinate_set_by_hand_comes_to_rest_there(heard, urdf):
    heard.worker.open(urdf(SWINGING), Settings())
    frames = heard.wait_for(Loaded)[0].frames
    heard.worker.set_coordinate(0, (0,), 1.0)
    heard.worker.step(100)
    assert wait_for_frame(frames, lambda frame: frame.time > 0)[2][0] != 0
    heard.worker.set_coordinate(0, (0,), -0.25)
    _, q, v = wait_for_frame(frames)
    assert (q[0], v[0]) == (-0.25, 0.0)


def test_other_settings_keep_state_and_time(heard, urdf):
    heard.worker.open(urdf(SWINGING), Settings())
    frames = heard.wait_for(Loaded)[0].frames
    heard.worker.set_coordinate(0, (0,), 1.0)
    heard.worker.step(100)
    before = wait_for_frame(frames, lambda frame: frame.time > 0)
    heard.worker.configure(Settings(dt=5e-4, integrator="rk4", gravity=False))
    after = wait_for_frame(frames)
    assert after[0] == pytest.approx(before[0], abs=1e-12)
    np.testing.assert_array_equal(after[1], before[1])
    heard.worker.step(10)
    now, _, v = wait_for_frame(frames, lambda frame: frame.time > after[0])
    assert now == pytest.approx(0.105, abs=1e-12)
    np.testing.assert_allclose(v, before[2], rtol=1e-12)  # without gravity nothing turns it any more


def test_of_several_files_the_last_asked_for_is_loaded(urdf):
    gate = threading.Event()
    loads = []

    def load(path: str, floating: bool, **_: object) -> engine.Model:
        gate.wait(PATIENCE)
        loads.append(path)
        return engine.load(path, floating=floating)

    worker = Worker(load)
    listener = Listener(worker)
    first, second, third = urdf(SWINGING), urdf(LIMITED), urdf(SWINGING)
    for path in (first, second, third):
        worker.open(path, Settings())
    gate.set()
    until(lambda: listener.count_of(Loaded) and loads[-1] == third)
    worker.close()
    assert second not in loads


def test_what_was_meant_for_the_robot_before_is_not_done_to_the_next(heard):
    heard.worker.open(engine.chain(5), Settings())
    heard.wait_for(Loaded)
    heard.worker.open(engine.chain(2), Settings())
    heard.worker.set_coordinate(4, (4,), 1.0)
    heard.worker.reset(np.zeros(5))
    heard.worker.play()
    frames = heard.wait_for(Loaded, 2)[1].frames
    heard.worker.step(7)
    now, q, _ = wait_for_frame(frames, lambda frame: frame.time > 0)
    assert now == pytest.approx(7e-3, abs=1e-12)
    assert len(q) == 2
    assert heard.count_of(Stopped) == 0


def test_events_come_in_order(heard, urdf):
    good, bad = urdf(SWINGING), urdf("<robot name='none'/>")
    for path, count in ((bad, 1), (good, 3), (bad, 4)):
        heard.worker.open(path, Settings())
        until(lambda count=count: heard.count_of(object) == count)
    assert [type(event) for event in heard.events] == [Refused, Reading, Loaded, Refused]
    assert heard.events[0].diagnostics


def test_a_file_that_is_not_there_is_refused_with_a_cure(heard, tmp_path):
    heard.worker.open(str(tmp_path / "absent.urdf"), Settings())
    refused = heard.wait_for(Refused)[0]
    assert refused.diagnostics[0].severity == "error"
    assert refused.diagnostics[0].fix


def test_reaching_a_limit_is_told_once(heard, urdf):
    heard.worker.set_speed(10.0)
    heard.worker.open(urdf(LIMITED), Settings())
    heard.wait_for(Loaded)
    heard.worker.configure(Settings())  # let go of its motor
    heard.worker.set_coordinate(0, (0,), -1.5)  # it swings from there to past its upper limit
    heard.worker.play()
    assert heard.wait_for(LimitsReached)[0].names == ("hinge",)


def test_a_diverged_run_stops_and_a_reset_revives_it(heard, urdf):
    heard.worker.open(urdf(STIFF), Settings())
    frames = heard.wait_for(Loaded)[0].frames
    heard.worker.set_coordinate(0, (0,), 1.0)
    heard.worker.play()
    assert "diverged" in heard.wait_for(Stopped)[0].problem
    heard.worker.reset(np.array([0.5]))
    now, q, v = wait_for_frame(frames, lambda frame: frame.q[0] == 0.5)
    assert (now, q[0], v[0]) == (0.0, 0.5, 0.0)


def test_a_divergence_after_a_change_of_settings_is_told_at_the_time_of_the_run(heard, urdf):
    heard.worker.open(urdf(SWINGING), Settings())
    frames = heard.wait_for(Loaded)[0].frames
    heard.worker.step(500)
    wait_for_frame(frames, lambda frame: frame.time == 0.5)
    heard.worker.configure(Settings(gravity_vector=(1e300, 0.0, 0.0), automatic=False))
    heard.worker.step(2)
    assert "the simulation diverged at 0.501 s, first in hinge" in heard.wait_for(Stopped)[0].problem


def test_a_fault_of_the_program_is_told_with_its_traceback_and_the_thread_lives_on(heard, urdf, monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("a fault made for this test")

    heard.worker.open(urdf(SWINGING), Settings())
    heard.wait_for(Loaded)
    with monkeypatch.context() as patch:
        patch.setattr(engine.Simulation, "step", broken)
        heard.worker.step()
        stopped = heard.wait_for(Stopped)[0]
    assert "a fault made for this test" in stopped.problem
    assert "Traceback" in stopped.detail
    heard.worker.open(urdf(LIMITED), Settings())
    heard.wait_for(Loaded, 2)


@pytest.mark.parametrize("playing", [False, True])
def test_closing_leaves_no_thread(urdf, playing):
    before = set(threading.enumerate())
    worker = Worker()
    listener = Listener(worker)
    worker.open(urdf(SWINGING), Settings())
    listener.wait_for(Loaded)
    if playing:
        worker.play()
    worker.close()
    assert set(threading.enumerate()) == before


def opened(bench: Workbench, source: object, floating: bool = False) -> Workbench:
    bench.open(source, floating)
    until(lambda: bench.poll() and not bench.opening.loading)
    return bench


def test_a_refused_file_leaves_the_robot_there(bench, urdf):
    opened(bench, urdf(SWINGING))
    model = bench.robot.model
    opened(bench, urdf("<robot name='broken'><link name='a'/><link name='a'/></robot>"))
    assert bench.robot.model is model
    assert bench.findings.refused
    assert any(each.severity == "error" for each in bench.findings.diagnostics)


def test_reset_goes_back_to_the_pose_set_at_time_zero_and_then_to_neutral(bench, urdf):
    opened(bench, urdf(SWINGING))
    bench.joints.set_coordinate(0, 1.0)
    bench.step()
    until(lambda: bench.frame() and bench.robot.time > 0)
    bench.reset()
    until(lambda: (frame := bench.frame()) and frame.time == 0 and frame.q[0] == 1.0)
    bench.reset()
    until(lambda: (frame := bench.frame()) and frame.q[0] == 0.0)


def test_gravity_starts_off_where_nothing_would_stop_the_fall(bench, urdf):
    solid = '<inertial><mass value="5"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    path = urdf(SWINGING.replace('<link name="base"/>', f'<link name="base">{solid}</link>'))
    opened(bench, path)
    assert bench.robot.settings.gravity
    opened(bench, path, floating=True)
    assert bench.robot.floats
    assert not bench.robot.settings.gravity
    bench.step()
    until(lambda: (frame := bench.frame()) and frame.time > 0 and not np.any(frame.v))
    bench.configuring.set_gravity(True)
    bench.step()
    until(lambda: (frame := bench.frame()) and np.any(frame.v))


def test_recent_files_are_the_newest_first_without_repeats(bench, urdf):
    first, second = urdf(SWINGING), urdf(LIMITED)
    for path in (first, second, first):
        opened(bench, path)
    assert bench.recent == [first, second]


ARM = PENDULUM.format(kind="revolute", more='<limit lower="-2" upper="2" effort="100" velocity="5"/>')


def test_motors_hold_a_robot_and_a_joint_set_during_play_goes_there_by_its_gains(bench, urdf):
    opened(bench, urdf(ARM))
    assert bench.robot.settings.held
    assert bench.robot.is_held(0)
    seen = []

    def at(q: float) -> bool:
        frame = bench.frame()
        if frame is not None:
            seen.append(frame.q[0])
        return bool(seen) and abs(seen[-1] - q) < 0.01

    bench.play()
    until(lambda: bench.frame() and bench.robot.time > 0.1)
    bench.joints.set_coordinate(0, 1.0)
    until(lambda: at(1.0))
    assert any(0.1 < q < 0.9 for q in seen), "it was put there at once"
    bench.joints.drive(0, by_effort=True)
    assert not bench.robot.is_held(0)
    bench.joints.set_drive(0, -20.0)
    until(lambda: at(-2.0))
    bench.joints.drive(0, by_effort=False)
    bench.joints.set_drive(0, 0.5)
    until(lambda: at(0.5))


def test_a_robot_without_motors_swings_and_one_is_let_go_and_held_where_it_is(bench, urdf):
    opened(bench, urdf(SWINGING))
    assert not bench.robot.settings.held
    bench.joints.set_coordinate(0, 1.0)
    bench.step()
    until(lambda: (frame := bench.frame()) and frame.v[0] != 0)
    bench.joints.set_held(True)
    bench.play()
    until(lambda: (frame := bench.frame()) and frame.time > 0.5)
    assert bench.robot.newest.q[0] == pytest.approx(1.0, abs=0.02)


FIRST_START = """
import sys, time
from app.workbench import Workbench
bench = Workbench()
bench.open(sys.argv[1])
while bench.robot.model is None:
    bench.poll(), time.sleep(0.01)
assert bench.computation.compiling > 0
while bench.frame() is None:
    bench.poll(), time.sleep(0.01)
assert bench.computation.compiling > 0
bench.play()
began = time.monotonic()
bench.close()
assert time.monotonic() - began < 20, time.monotonic() - began
"""


def test_the_robot_is_there_before_its_code_and_closing_ends_the_compiler(urdf, tmp_path):
    environment = {**os.environ, "CATENA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", FIRST_START, urdf(SWINGING)]
    done = subprocess.run(
        command, env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "cache" / "compile-seconds.json").exists(), "it was let come to its end"


def test_the_speed_stays_within_its_range(bench):
    for requested, given in ((0.001, 0.1), (3.0, 3.0), (50.0, 10.0)):
        bench.set_speed(requested)
        assert bench.speed == given


def test_a_joint_that_mimics_is_shown_and_not_moved(bench, urdf):
    opened(bench, urdf(SWINGING.replace("</robot>", FOLLOWER + "</robot>")))
    row = next(row for row in bench.robot.coordinates if row.name == "follower")
    assert row.value(np.array([0.4])) == pytest.approx(-0.1)
    with pytest.raises(ValueError, match="follows hinge"):
        bench.joints.set_coordinate(bench.robot.coordinates.index(row), 0.2)
