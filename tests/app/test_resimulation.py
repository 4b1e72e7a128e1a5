"""A run in the workbench, dragged, driven by a file and by hand: from any frame it runs again to the bit."""

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest
from test_worker import until

import engine
from app.simulation.batch_spread import BatchSpread
from app.simulation.messages import Configured, Loaded
from app.workbench import Workbench

DEEDS, APART, FRAMES = 12, 0.1, 20
"""The user's actions, the seconds of simulation between them, and the frames that are computed again."""
CONTROLLER = """
import numpy as np

RATE = 20

def control(t, q, v):
    return 0.4 * np.sin(9 * t + np.arange({nv})) * (np.arange({nv}) >= {free}) - 0.02 * v
"""
COMPARED = ("q", "v", "tau", "target", "wrench")


def wait_for(bench, kind):
    """The events up to the first of a kind."""
    found = []
    until(lambda: found.extend(bench.poll()) or any(isinstance(event, kind) for event in found))


def drag_about(bench, rng):
    """Play while a hand pulls at links, lets go, and moves targets, each in its turn, however late it comes."""
    links = [k for k, body in enumerate(bench.robot.model.link_body) if body >= 0]
    bench.play()
    bench.forces.grab(links[-1], np.zeros(3), np.array([0.3, 0.0, 0.4]), 1.0)
    until(lambda: not bench.poll() and (frame := bench.frame()) is not None and frame.pull is not None)  # there is code
    bench.set_speed(2.0)
    for deed in range(DEEDS):
        place, due = rng.normal(size=3) * 0.3 + [0.0, 0.0, 0.4], bench.robot.time + APART
        match ("drive", "pull", "let go", "drive", "grab")[deed % 5]:
            case "drive":
                row = int(rng.choice([k for k, each in enumerate(bench.robot.coordinates) if each.holdable]))
                bench.joints.set_drive(row, float(rng.uniform(-0.4, 0.4)))
            case "pull":
                bench.forces.pull(place)
            case "let go":
                bench.forces.release()
            case "grab":
                bench.forces.grab(int(rng.choice(links)), 0.02 * rng.normal(size=3), place, 1.0)
        until(
            lambda due=due: (
                not bench.poll() and bench.robot.playing and bench.frame() is not None and bench.robot.time >= due
            )
        )
    bench.pause()
    for _ in range(2):  # the second is obeyed once the recording has what a GPU had under way
        obeyed = threading.Event()
        bench._worker.command(obeyed.set)
        until(lambda obeyed=obeyed: obeyed.is_set() and not bench._worker._loop.changeover.running.waits_for_frame)


@pytest.mark.parametrize(
    ("name", "robots", "device"),
    [("quadruped", 1, "cpu"), ("quadruped", 3, "cpu"), ("arm7", 1, "cuda")],
    ids=["contact", "batch with contact", "GPU"],
)
def test_any_frames_of_a_run_are_computed_again_to_the_bit(name, robots, device, rng, tmp_path, request, monkeypatch):
    if device == "cuda":
        monkeypatch.setattr("engine.recording.setup.Simulation", request.getfixturevalue("pretended_gpu"))
    bench = Workbench()
    try:
        bench.open(engine.find_robot(name))
        wait_for(bench, Loaded)
        bench.configuring.take_settings(
            replace(bench.robot.settings, device=device, spread=BatchSpread(robots, pose=0.05, mass=0.1))
        )
        wait_for(bench, Configured)
        file = tmp_path / "controller.py"
        file.write_text(CONTROLLER.format(nv=bench.robot.model.nv, free=6 if bench.robot.floats else 0))
        bench.controller.load(str(file))
        drag_about(bench, rng)
        recording = bench.replay.recording
        (run,) = recording.runs
        assert recording.span(run)[1] >= DEEDS * APART
        frames = [recording.frame(run, index) for index in range(run.first, run.last + 1)]
        assert frames[-1].setup.device == device
    finally:
        bench.close()
    pulled = [frame for frame in frames if frame.checkpoint.wrench is not None and np.any(frame.checkpoint.wrench)]
    assert len(pulled) > FRAMES
    assert len({frame.checkpoint.tau.tobytes() for frame in frames}) > FRAMES
    assert len({frame.checkpoint.target.tobytes() for frame in frames}) > 5
    assert (name == "arm7") or sum(frame.contacts is not None for frame in frames) > FRAMES
    assert frames[-1].checkpoint.q.shape[0] == robots
    chosen = rng.choice(np.arange(len(frames) - 1), FRAMES, replace=False)
    for number, index in enumerate(chosen.tolist()):
        again = recording.resimulate(run, index + run.first)
        for where, computed in again if number < 2 else itertools.islice(again, 4):
            for part in COMPARED:
                one, other = getattr(computed, part), getattr(frames[where - run.first].checkpoint, part)
                assert (one is None) == (other is None)
                np.testing.assert_array_equal(one, other, err_msg=f"{part} of frame {where} from {index}")
