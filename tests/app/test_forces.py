"""External forces: the spring's force by itself, and both kinds in the simulation's thread."""

import numpy as np
import pytest
from test_worker import until
from windows import in_simulation

import engine
from app.acting.forces import on_link, spring_force
from app.workbench import Workbench


def opened(bench: Workbench, source) -> Workbench:
    bench.open(source)
    until(lambda: bench.poll() is not None and bench.robot.model is not None and not bench.computation.compiling)
    return bench


def frames(bench: Workbench, condition) -> list:
    """Copies (time, q, pull) of frames, until one of them is as is wanted."""
    seen = []

    def look() -> bool:
        bench.poll()
        if (frame := bench.frame()) is not None:
            seen.append((frame.time, frame.q.copy(), None if frame.pull is None else frame.pull.copy()))
            return bool(condition(frame))
        return False

    until(look)
    return seen


@pytest.mark.parametrize("h", [1e-3, 1e-2, 0.3])
@pytest.mark.parametrize("share", [1.0, 0.01])
def test_the_spring_is_stable_however_long_a_force_is_held(h, share):
    """A point of 10 g on a robot of 50 kg; its mobility may be smaller than known."""
    mass, known = 50.0, 100.0 * np.eye(3)
    k, x, v = 4 * mass * 9.81, np.array([0.3, 0.0, 0.0]), np.array([0.5, -0.2, 0.0])
    for _ in range(max(round(5 / h), 3000)):
        f = spring_force(-x, v, known, k, mass, h)
        x, v = x + h * v + h * h / 2 * share * known @ f, v + h * share * known @ f
        assert np.abs(x).max() < 3
    assert np.abs(x).max() < 1e-3


def test_a_pendulum_is_pulled_to_the_cursor_while_it_plays(bench):
    """At rest the spring's moment about the pivot is that of the weight."""
    opened(bench, engine.find_robot("pendulum"))
    bench.joints.set_held(False)
    model, link = bench.robot.model, len(bench.robot.model.link_names) - 1
    poses = engine.link_poses(model, model.neutral())
    point = np.array([1.0, 0.0, 0.0])
    bench.play()
    bench.forces.grab(link, point, poses[link, :3, 3] + [0.5, 0.0, 1.0], 1.0)
    begun = frames(bench, lambda frame: frame.pull is not None)[-1][0]
    seen = []

    def at_rest(frame) -> bool:
        """For half a second of its own time, and pulled alike, whatever a machine takes for each force."""
        seen.append((frame.time, frame.q[0], frame.pull.copy()))
        seen[:] = [each for each in seen if each[0] >= frame.time - 0.5]
        lately = np.array([each[2] for each in {each[0]: each for each in seen}.values()][-6:])
        still = np.ptp([each[1] for each in seen]) < 5e-4 and np.ptp(lately, axis=0).max() < 0.01 * lately.max()
        return frame.time > begun + 3 and len(lately) > 5 and still

    _, q, pull = frames(bench, at_rest)[-1]
    assert abs(q[0]) > 0.3
    pose = engine.link_poses(model, q)[link]
    load = engine.inverse_dynamics(model, q, [0.0], [0.0])
    own = -engine.inverse_dynamics(
        model.with_gravity((0, 0, 0)), q, [0.0], [0.0], external=_alone(model, link, pose, point, pull)
    )
    np.testing.assert_allclose(own, load, rtol=0.02)
    bench.forces.release()
    frames(bench, lambda frame: frame.pull is None)


def _alone(model, link, pose, point, force) -> np.ndarray:
    external = np.zeros((len(model.link_names), 6))
    external[link] = on_link(pose, point, force)
    return external


def test_a_set_wrench_moves_the_robot_as_the_engine_does(bench):
    opened(bench, engine.find_robot("arm7"))
    bench.joints.set_held(False)
    bench.configuring.set_gravity(False)
    model, link = bench.robot.model, len(bench.robot.model.link_names) - 1
    wrench = np.array([0.1, -0.2, 0.3, 1.0, 2.0, -3.0])
    bench.forces.set(link, wrench, world=False)
    until(lambda: in_simulation(bench, lambda running: running.wrench is not None))
    for _ in range(20):
        bench.step()
    seen = frames(bench, lambda frame: frame.time > 19.5 * bench.robot.settings.dt)
    alone = engine.Simulation(
        model.with_gravity((0, 0, 0)),
        dt=bench.robot.settings.dt,
        integrator=bench.robot.settings.integrator,
        q=bench.robot.initial,
    )
    alone.wrench[0, link] = wrench
    alone.step(20)
    np.testing.assert_array_equal(seen[-1][1], alone.q[0])


def test_axes_of_the_world_stay_as_the_link_turns(bench):
    """A moment about the hinge, which a reset takes away."""
    opened(bench, engine.find_robot("pendulum"))
    bench.joints.set_held(False)
    bench.configuring.set_gravity(False)
    link = len(bench.robot.model.link_names) - 1
    bench.forces.set(link, np.array([0, 0.05, 0, 0, 0, 0]), world=True)
    bench.set_speed(4.0)
    bench.play()
    frames(bench, lambda frame: frame.time > 1 and abs(frame.q[0]) > 0.2)
    bench.pause()
    bench.reset()
    assert not bench.forces.wrenches
    seen = frames(bench, lambda frame: frame.time == 0)
    np.testing.assert_array_equal(seen[-1][1], bench.robot.initial)
    bench.play()
    seen = frames(bench, lambda frame: frame.time > 0.3)
    np.testing.assert_allclose(seen[-1][1], bench.robot.initial, atol=1e-12)  # nothing pushes after a reset


def test_settings_change_under_a_pull(bench):
    opened(bench, engine.find_robot("arm7"))
    link = len(bench.robot.model.link_names) - 1
    bench.play()
    bench.forces.grab(link, np.zeros(3), np.array([1.0, 0.0, 1.0]), 1.0)
    frames(bench, lambda frame: frame.pull is not None)
    bench.configuring.set_dt(2e-3)
    frames(bench, lambda frame: frame.pull is not None and frame.time > 1)
    assert bench.robot.settings.dt == 2e-3


def test_a_run_after_a_reset_begins_without_the_force_of_the_run_before(bench):
    """The steps already take wrenches, and no step has replaced the one that was removed."""
    opened(bench, engine.find_robot("arm7"))
    bench.forces.set(len(bench.robot.model.link_names) - 1, np.array([0, 0, 0, 0, 60.0, 0]), world=True)
    until(lambda: in_simulation(bench, lambda running: running.wrench is not None))
    acted = []
    for _ in range(2):
        bench.play()
        frames(bench, lambda frame: frame.time > 0.05)
        bench.pause()
        run = in_simulation(bench, lambda _: bench.replay.recording.runs[-1])
        acted.append(engine.recorded_trajectory(*engine.resample(bench.replay.recording, run)).wrench_links)
        bench.forces.clear()
        bench.reset()
        frames(bench, lambda frame: frame.time == 0)
    assert acted == [(bench.robot.model.link_names[-1],), ()]
