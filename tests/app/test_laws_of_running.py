"""Simulations in the window: taken over, reset, changed by hand, rewound, and accompanied."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt
from random_robots import robot, robots
from test_laws_of_acting import joints_of
from test_laws_of_time import batch_of, play
from windows import wait

import engine
from app.acting.coordinates import coordinates
from app.features.dragging import Dragging
from app.gl.camera import Camera
from app.link_extents import link_points, world_points
from app.picture.studio import times
from app.simulation import ghost as second
from app.simulation import second_robot
from app.simulation.batch_spread import BatchSpread
from app.simulation.ghost import STEPS, Ghost, GhostSettings
from app.simulation.messages import Settings, Snapshot
from app.simulation.recorded_settings import resume
from app.simulation.recorder import Recorder
from app.simulation.running import running_of
from app.simulation.second_robot import SecondRobot, SecondRobotRequest


def alike(one, other) -> None:
    """Both are in the same state, to the bit."""
    for mine, yours in zip(one.simulation.state(), other.simulation.state(), strict=True):
        np.testing.assert_array_equal(mine, yours)
    np.testing.assert_array_equal(one.tau, other.tau)
    np.testing.assert_array_equal(one.target, other.target)
    assert one.state()[0] == pytest.approx(other.state()[0], abs=1e-12)


def test_a_snapshot_is_the_state_of_the_robot_that_is_looked_at(chance, tmp_path):
    for model in robots(tmp_path, chance):
        kp = np.where(model.q_of_v >= 0, chance.uniform(0.1, 1, model.nv), 0)
        running = batch_of(model, chance, kp=kp, kd=0.1 * kp)
        play(running, (), chance)
        running.select_robot(int(chance.integers(3)))
        running.select_robot(99)  # a robot that does not exist
        k, frame = running.robot, Snapshot(model)
        running.collect(frame)
        q, v = running.simulation.state()
        assert (frame.robot, frame.time) == (k, pytest.approx(running.simulation.time))
        np.testing.assert_array_equal(frame.q, q[k])
        np.testing.assert_array_equal(frame.v, v[k])
        np.testing.assert_allclose(frame.link_poses, engine.link_poses(model, q[k]), atol=1e-12)
        pulled = kp * (running.target - np.where(model.q_of_v >= 0, q[k][model.q_of_v], 0)) - 0.1 * kp * v[k]
        limit = model.effort_limit
        np.testing.assert_allclose(frame.effort, np.clip(running.tau + pulled, -limit, limit), atol=1e-9)
        np.testing.assert_array_equal((frame.tau, frame.target), (running.tau, running.target))
        own = [running.simulation.parameters.robot(j) for j in range(3)]
        energies = [sum(engine.energy(own[j], q[j], v[j])) for j in range(3)]
        np.testing.assert_allclose(frame.batch.energy, energies, rtol=1e-9, atol=1e-9)
        there = np.stack([world_points(poses, link_points(model)) for poses in np.asarray(engine.link_poses(model, q))])
        apart = np.linalg.norm(there - there[:1], axis=3).max((1, 2))
        np.testing.assert_allclose(frame.batch.deviation, apart, atol=1e-5)
        np.testing.assert_array_equal(running.own_model.mass, own[k].mass)


def test_another_simulation_takes_over_where_the_one_before_is(chance, tmp_path):
    for model in robots(tmp_path, chance):
        settings = Settings(device="cpu", spread=BatchSpread(3, 0.2, 0.1, 0.1, 4))
        running = running_of(model, settings)
        running.take_wrenches()
        play(running, (), chance)
        running.select_robot(2)
        other = running_of(model, replace(settings, dt=2e-3, held=True, gravity=False))
        running.refresh()
        other.carry_on(running)
        alike(other, running)
        assert other.robot == 2
        np.testing.assert_array_equal(other.wrench, running.wrench)
        few = running_of(model, replace(settings, spread=BatchSpread(2, 0.2, seed=4)))
        few.carry_on(running)
        np.testing.assert_array_equal(few.simulation.q[0], running.simulation.q[0])
        np.testing.assert_array_equal(few.simulation.q, BatchSpread(2, 0.2, seed=4).poses(model, running.q[0]))
        assert few.robot == 1


def test_what_is_put_by_hand_moves_nothing_else_and_a_reset_holds_all(chance, tmp_path):
    for model in robots(tmp_path, chance):
        running = batch_of(model, chance)
        play(running, (), chance)
        rows = [row for row in coordinates(model) if row.leader is None and row.component is None]
        row = rows[int(chance.integers(len(rows)))]
        (q, v), value = (x.copy() for x in running.simulation.state()), float(chance.normal())
        running.place(partial(row.put, value=value), row.v)
        there, speed = running.simulation.state()
        q[:, row.q], v[:, list(row.v)] = value, 0.0
        np.testing.assert_array_equal(there, q)
        np.testing.assert_array_equal(speed, v)
        start = model.random(chance)
        running.reset(start)
        np.testing.assert_array_equal(running.simulation.q[0], start)
        assert not running.simulation.v.any()
        assert running.state()[0] == 0
        scalar = model.q_of_v >= 0
        np.testing.assert_array_equal(
            running.simulation.target[:, scalar], np.tile(start[model.q_of_v[scalar]], (3, 1))
        )
        put = int(model.q_of_v[scalar][0])
        running.place(lambda state, put=put: state.__setitem__(put, 0.3), (0,))  # before any step all spread from there
        np.testing.assert_array_equal(running.simulation.q, running._spread.poses(model, running.simulation.q[0]))


def test_from_any_recorded_moment_a_run_goes_on_as_it_went(chance, tmp_path, monkeypatch):
    monkeypatch.setattr("app.simulation.recorder.SPACING", 0.0)
    for model in robots(tmp_path, chance):
        running, recorder = batch_of(model, chance), Recorder()
        running.take_wrenches()
        recorder.after_jump(running)
        play(running, (recorder,), chance)
        (run,) = recorder.recording.runs
        index = int(chance.integers(run.first + 1, run.last))
        frame = recorder.recording.frame(run, index)
        resumed = resume(frame, running_of(model, Settings(device="cpu")))
        assert resumed.state()[0] == pytest.approx(frame.time)
        np.testing.assert_array_equal(resumed.simulation.q, frame.checkpoint.q)
        np.testing.assert_array_equal(resumed.tau, frame.checkpoint.tau[0])
        assert not resumed.wrench.any()  # the hand that pulled then
        later = dict(recorder.recording.resimulate(run, index))
        for k, checkpoint in later.items():
            np.testing.assert_array_equal(checkpoint.q, recorder.recording.frame(run, k).checkpoint.q)


def test_a_ghost_is_compared_at_moments_that_both_share(chance, tmp_path):
    for step in (*STEPS, STEPS[2]):
        model = robot(tmp_path, chance, 6, plain=True)
        running, ghost = running_of(model, Settings(device="cpu", dt=1e-3)), Ghost()
        settings = GhostSettings(step=step)
        made = second.make_simulation(running.simulation, settings)
        ghost._settings, ghost._of = settings, running.simulation
        ghost._accept(running.simulation, settings, made, running)
        frame = Snapshot(model)
        for _ in range(9):
            for name in ("tau", "target"):
                running.set_all(name, chance.normal(0, 0.3, model.nv))
            count = min(int(chance.integers(1, 9)), ghost.most_steps(running) or 99)
            running.advance(count)
            ghost.after_steps(running, count)
            ghost.show(frame)
            assert running.simulation.time - made.time == pytest.approx(float(ghost._ahead) * 1e-3, abs=1e-9)
            if not ghost._ahead:
                here, there = (np.asarray(engine.link_poses(model, x.q[0])) for x in (running.simulation, made))
                np.testing.assert_allclose(frame.ghost.link_poses, there, atol=1e-12)
                points = link_points(model)
                apart = np.linalg.norm(world_points(there, points) - world_points(here, points), axis=2).max(1)
                np.testing.assert_allclose(frame.ghost.deviation, apart, atol=1e-12)
                assert frame.ghost.worst >= apart.max() - 1e-12
                assert (apart.max() == 0) == (step == 1)


def test_a_robot_beside_moves_as_it_would_alone(chance, tmp_path):
    for free in (False, True):
        one, two = robot(tmp_path, chance, 4, plain=True), robot(tmp_path, chance, 5, free=free, plain=True)
        running, there = running_of(one, Settings(device="cpu", dt=1e-3)), SecondRobot()
        place = chance.normal(size=3) * (1, 1, 0)
        requested = SecondRobotRequest(two, place)
        there._requested, there._like = requested, second_robot.dependencies(running)
        made = second_robot.make_simulation(requested, running.settings, None, 1e-3, running.simulation.integrator)
        there._accept(requested, there._like, made, running)
        q = two.neutral()
        if free:
            q[:3] += place
        alone = engine.Simulation(two, dt=1e-3, q=q, device="cpu", integrator=running.simulation.integrator)
        frame = Snapshot(one)
        for _ in range(5):
            count = int(chance.integers(1, 20))
            there.after_steps(running, count)
            alone.step(count)
            there.show(frame)
            np.testing.assert_allclose(frame.second_robot.q, alone.q[0], atol=1e-9)
            poses = np.asarray(engine.link_poses(two, alone.q[0])).copy()
            poses[:, :3, 3] += 0 if free else place
            np.testing.assert_allclose(frame.second_robot.link_poses, poses, atol=1e-9)
            assert frame.second_robot.time == pytest.approx(alone.time)


def test_a_joint_is_put_within_its_limits_and_at_time_zero_for_good(chance, tmp_path):
    for model in robots(tmp_path, chance):
        for time in (0.0, 1.0):
            there, rest = model.neutral(), []

            def told(q, v, value, there=there, rest=rest):
                there[q], rest[:] = value, v

            def put(place, v, there=there, rest=rest):
                place(there)
                rest[:] = v

            known, joints = joints_of(model, Settings(), set_coordinate=told, set_rotation=put)
            known.time = time
            for k, row in enumerate(known.coordinates):
                value = float(chance.normal(0, 3))
                if row.leader is not None:
                    with pytest.raises(ValueError, match="follows"):
                        joints.set_coordinate(k, value)
                    continue
                joints.set_coordinate(k, value)
                expected = float(np.clip(value, row.lower, row.upper)) if row.limited else value
                assert tuple(rest) == row.v
                if row.direct:
                    assert there[row.q] == expected
                    assert known.initial[row.q] == (expected if time == 0 else model.neutral()[row.q])
                elif row.component is None:
                    assert row.value(there) == pytest.approx(expected, abs=1e-12)


def test_a_film_shows_a_run_at_its_speed_from_its_first_moment_to_its_last(chance):
    for _ in range(50):
        start, length = chance.uniform(0, 9, 2)
        rate, speed = chance.uniform(5, 60), 10 ** chance.uniform(-1, 1)
        found = times(start, start + length, rate, speed)
        assert found[0] == start
        np.testing.assert_allclose(np.diff(found), speed / rate)
        assert found[-1] <= start + length + 1e-9 < found[-1] + speed / rate + 2e-9


def test_the_window_picks_and_pulls_what_is_under_the_mouse(chance, tmp_path, qtbot, opened):
    """A point that is seen at a place is the one that is found there, alone and in a batch."""
    model = robot(tmp_path, chance, free=True)
    window = opened(model)
    viewport, bench = window.viewport, window.workbench
    wait(qtbot, lambda: viewport.reading is None and bench.robot.newest is not None)
    for many in (False, True):
        if many:
            bench.configuring.set_spread(BatchSpread(4, 0.2))
            bench.select_robot(3)
            wait(qtbot, lambda: viewport.view().batch is not None and bench.robot.newest.robot == 3)
            assert np.linalg.norm(viewport.center) > 0.1
        lower, upper = viewport.robot_bounds
        camera = Camera(azimuth=float(chance.uniform(-3, 3)), elevation=float(chance.uniform(-1, 1)))
        camera.fit(lower + viewport.center, upper + viewport.center)
        viewport.see(camera)
        found = 0
        for x, y in chance.uniform(0.2, 0.8, (40, 2)) * (viewport.width(), viewport.height()):
            hit = viewport.under(x, y)
            if hit is None:
                continue
            at = viewport.place(hit.point)
            assert (at.x(), at.y()) == (pytest.approx(x, abs=0.1), pytest.approx(y, abs=0.1))
            content, poses = viewport.view().content, bench.robot.newest.link_poses
            own = content.hulls[content.instances.link == hit.link].reshape(-1, 3)
            local = np.linalg.inv(poses[hit.link]) @ np.append(hit.point, 1)
            assert np.all(local[:3] > own.min(0) - 0.03)
            assert np.all(local[:3] < own.max(0) + 0.03)
            found += 1
            if found == 1 and model.link_body[hit.link] >= 0:
                pulled(window, qtbot, hit, QPoint(round(x), round(y)))
        assert found > 0


def pulled(window, qtbot, hit, place: QPoint) -> None:
    """The point that was grabbed is pulled to where the cursor is, as far away as it was."""
    viewport, drag, right = window.viewport, window.features[Dragging], Qt.MouseButton.RightButton
    window.workbench.robot.playing = True  # as far as the window knows: else it poses, and nothing is to move
    qtbot.mousePress(viewport, right, pos=place)
    depth = viewport.camera.depth(hit.point + viewport.center)
    for by in (QPoint(40, 25), QPoint(-70, -30)):
        qtbot.mouseMove(viewport, place + by)
        at = viewport.place(drag.hold.target)
        assert (at.x(), at.y()) == (pytest.approx((place + by).x(), abs=1), pytest.approx((place + by).y(), abs=1))
        assert viewport.camera.depth(drag.hold.target + viewport.center) == pytest.approx(depth, rel=0.02)
    qtbot.mouseRelease(viewport, right, pos=place)
    window.workbench.robot.playing = False


def test_whatever_changes_the_robot_beside_has_it_made_anew(chance, tmp_path):
    one, two = (robot(tmp_path, chance, k, plain=True) for k in (3, 4))
    before = Settings(device="cpu", dt=1e-3)
    other = {"dt": 2e-3, "integrator": "rk4", "gravity": False, "ground": True, "held": True}
    for name, value in other.items():
        after = replace(before, **{name: value})
        made = [
            second_robot.make_simulation(
                SecondRobotRequest(two, np.zeros(3)), x, x.touched, x.dt, x.integrator
            ).settings
            for x in (before, after)
        ]
        alike = second_robot.dependencies(running_of(one, before)) == second_robot.dependencies(running_of(one, after))
        assert _same(*made) or not alike, name


def _same(one, other):
    """Whether steps are made for the same."""
    numbers = (one.kp, other.kp), (one.kd, other.kd), (one.model.gravity, other.model.gravity)
    return (one.dt, one.integrator, one.scene) == (other.dt, other.integrator, other.scene) and all(
        np.array_equal(x, y) for x, y in numbers
    )
