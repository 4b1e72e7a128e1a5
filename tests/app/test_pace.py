"""The rate of the simulation thread's snapshots: lower if nothing moves, or nobody looks."""

import time
from collections.abc import Iterator

import numpy as np
import pytest

from app.simulation import pace
from app.simulation.messages import Latest, Loaded, Settings
from app.simulation.motion_watch import REST_TIME
from app.simulation.pace import RESTING, TICK, UNSEEN, Pace
from app.simulation.worker import Worker

PATIENCE = 60.0  # s
LOOKS = 20  # where other programs may take the processor


HANGING = """<robot name="pendulum">
  <link name="base"/>
  <link name="bob"><inertial><origin xyz="0 0 -1"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint>
</robot>"""


@pytest.fixture
def swinging(tmp_path) -> Iterator[tuple[Worker, Latest]]:
    """A pendulum without motors, paused."""
    path = tmp_path / "pendulum.urdf"
    path.write_text(HANGING, encoding="utf-8")
    worker = Worker()
    worker.open(str(path), Settings())
    end, events = time.monotonic() + PATIENCE, []
    while not any(isinstance(event, Loaded) for event in events):
        assert time.monotonic() < end
        time.sleep(0.002)
        events += worker.events()
    yield worker, next(event.frames for event in events if isinstance(event, Loaded))
    worker.close()


def test_at_most_two_ticks_of_a_backlog_are_simulated(monkeypatch):
    """After ten seconds in which nothing could be simulated, as much is owed as at two ticks, and paid at once."""
    now, dt, owing = 100.0, 1e-3, Pace()
    monkeypatch.setattr(pace.time, "perf_counter", lambda: now)
    owing.speed = 2.0
    owing.restart()
    now += 10.0
    owing.begin_tick(dt)
    owing.learn(1e-9)
    steps = owing.steps(dt, 1.0)
    assert 1 < steps <= 2 * 2 * TICK / dt + 1
    owing.pay(steps * dt)
    assert owing.steps(dt, 1.0) <= 1


def time_after(frames: Latest, least: float = -1.0) -> float:
    """The simulated time of the next snapshot that is later than `least` s."""
    end = time.monotonic() + PATIENCE
    while (frame := frames.take()) is None or frame.time <= least:
        assert time.monotonic() < end, "no snapshot came"
        time.sleep(0.002)
    return frame.time


def looked_at(frames: Latest, seconds: float) -> tuple[int, float, float]:
    """Return the number of snapshots in `seconds` of simulated time, with their simulated and wall times."""
    first = time_after(frames)
    begun, now, count = time.perf_counter(), first, 0
    while now < first + seconds:
        now = time_after(frames)
        count += 1
    return count, now - first, time.perf_counter() - begun


def test_what_nobody_sees_keeps_its_speed_and_is_told_less_often(swinging):
    worker, frames = swinging
    worker.set_coordinate(0, (0,), 1.0)
    worker.play()
    time_after(frames, 0.1)
    worker.seen = False
    looked_at(frames, 0.2)
    for _ in range(LOOKS):
        count, simulated, wall = looked_at(frames, 1.0)
        assert count <= 1.1 * max(1.0, wall) / UNSEEN
        worker.seen = True
        _, as_seen, in_wall = looked_at(frames, 0.2)
        worker.seen = False
        if simulated / wall > 0.95 * min(1.0, as_seen / in_wall):
            break
    else:
        pytest.fail("it is slower than real time, and than what is seen")
    worker.seen = True
    assert any(looked_at(frames, 0.5)[0] > 0.5 / RESTING for _ in range(LOOKS))


def test_what_does_not_move_is_told_less_often_and_moves_at_once(swinging):
    worker, frames = swinging  # it hangs straight down, and so stays
    worker.play()
    time_after(frames, 2 * REST_TIME)
    count, _, wall = looked_at(frames, 1.0)
    assert count <= 1.1 * max(1.0, wall) / RESTING
    worker.reset(np.array([1.0]))  # which leaves it playing
    assert any(looked_at(frames, 0.5)[0] > 0.5 / RESTING for _ in range(LOOKS))
