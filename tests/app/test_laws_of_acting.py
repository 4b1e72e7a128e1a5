"""Inputs, parameters and placement of random robots obey the laws of mechanics."""

import math
from dataclasses import replace
from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from random_robots import about_center, jacobians, robot, robots

import engine
from app.acting.configuring import Configuring
from app.acting.coordinates import coordinates
from app.acting.drives import MODES, WAVES, Drive, DriveControls, Drives
from app.acting.forces import EARTH, AppliedForces, SetWrench, Spring, on_link
from app.acting.joint_driving import JointDriving, clamp_drive
from app.acting.loaded_robot import LoadedRobot
from app.acting.undoing import Actions
from app.link_extents import link_points, world_points
from app.simulation import grounds
from app.simulation.batch_spread import BatchSpread, deviations
from app.simulation.grounds import Terrain
from app.simulation.messages import Loaded, Settings
from app.simulation.running import Running, gains_of

DT = 1e-4


def frictionless(model: engine.Model) -> engine.Model:
    """With nothing but what acts from outside."""
    nothing, unlimited = np.zeros(model.nv), np.full(model.nv, np.inf)
    return replace(
        model, friction=nothing, damping=nothing, lower=-unlimited, upper=unlimited, velocity_limit=unlimited,
        effort_limit=unlimited,
    )  # fmt: skip


def running_at(model, rng, batch: int = 3, **settings) -> Running:
    """A batch in states of their own."""
    q, v = model.random(rng, batch), rng.uniform(-0.5, 0.5, (batch, model.nv))
    made = engine.Simulation(model, batch, dt=DT, device="cpu", q=q, v=v, **settings)
    return Running(made, BatchSpread(batch))


def test_a_wrench_accelerates_a_robot_as_its_axes_say(chance, tmp_path):
    """Jᵀ of what was set, by differences of poses, gives forward dynamics the acceleration that a step has."""
    for model in map(frictionless, robots(tmp_path, chance, plain=True)):
        running, forces = running_at(model, chance), AppliedForces()
        running.take_wrenches()
        moving = np.flatnonzero(model.link_body >= 0)
        for link in chance.choice(moving, 3, replace=False).tolist():
            forces.set[link] = SetWrench(link, chance.normal(0, 3, 6), bool(chance.random() < 0.6))
        link, robot_ = int(chance.choice(moving)), int(chance.integers(3))
        size, mass = chance.uniform(0.5, 2), model.mass.sum()
        spring = Spring(robot_, link, chance.normal(0, 0.1, 3), chance.normal(0, 0.5, 3), mass, size)
        for pulled in (False, True):
            forces.spring = spring if pulled else None
            q, v = (x.copy() for x in running.present())
            for count in (200, 1) if pulled else (1,):  # a force that is held for longer must be the softer
                assert forces.before_steps(running, count)
                if pulled:
                    held, _ = spring.force(model, q[robot_], v[robot_], count * DT)
                    np.testing.assert_allclose(forces.force, held, rtol=1e-9, atol=1e-12)
            running.advance(1)
            forces.after_steps(running, 1)
            for k in range(3):
                J, poses = jacobians(model, q[k]), engine.link_poses(model, q[k])
                tau = np.zeros(model.nv)
                for at, each in forces.set.items():
                    turn = np.eye(3) if each.world else poses[at, :3, :3]
                    tau += J[at, :3].T @ (turn @ each.wrench[:3]) + J[at, 3:].T @ (turn @ each.wrench[3:])
                if pulled and k == robot_:
                    arm = poses[link, :3, :3] @ spring.point
                    tau += (J[link, 3:] + np.cross(J[link, :3], arm, axisa=0, axisb=0, axisc=0)).T @ forces.force
                expected = engine.forward_dynamics(model, q[k], v[k], tau)
                found = (running.present()[1][k] - v[k]) / DT
                np.testing.assert_allclose(found, expected, atol=5e-4 * (1 + np.abs(expected).max()))


def test_the_spring_pulls_the_point_to_the_cursor_against_its_motion(chance, tmp_path):
    """A light hand: k (x* − x) − d ẋ for a force that is held for no time, and no more than the size stretches it."""
    for model in robots(tmp_path, chance, plain=True):
        q, v, link = model.random(chance), chance.uniform(-1, 1, model.nv), len(model.link_names) - 1
        point, target, size = chance.normal(0, 0.1, 3), chance.normal(0, 0.6, 3), chance.uniform(0.2, 0.8)
        spring = Spring(0, link, point, target, float(model.mass.sum()), size)
        force, pose = spring.force(model, q, v, 1e-12)
        J, poses = jacobians(model, q)[link], np.asarray(engine.link_poses(model, q))
        np.testing.assert_array_equal(pose, poses[link])
        arm = pose[:3, :3] @ point
        Jx = J[3:] + np.cross(J[:3], arm, axisa=0, axisb=0, axisc=0)
        away, moving = target - pose[:3, 3] - arm, Jx @ v
        away *= min(1.0, size / np.linalg.norm(away))
        mobility = Jx @ np.linalg.solve(engine.mass_matrix(model, q), Jx.T)
        mass = min(model.mass.sum(), 3 / np.trace(mobility))
        k = model.mass.sum() * EARTH / (0.25 * size)
        np.testing.assert_allclose(force, k * away - 2 * math.sqrt(k * mass) * moving, rtol=1e-4, atol=1e-4)
        wrench = on_link(pose, point, force)
        np.testing.assert_allclose(J[:3].T @ pose[:3, :3] @ wrench[:3] + J[3:].T @ pose[:3, :3] @ wrench[3:],
                                   Jx.T @ force, atol=1e-5 * (1 + np.abs(force).max()))  # fmt: skip


def a_drive(rng) -> Drive:
    return Drive(
        MODES[rng.integers(3)], rng.normal(0, 2), WAVES[rng.integers(3)], rng.normal(0, 2), rng.uniform(0.01, 3),
        bool(rng.random() < 0.5), rng.uniform(-3, 3),
    )  # fmt: skip


def test_drives_give_their_waves_and_weights_at_every_time(chance, tmp_path):
    for model in robots(tmp_path, chance, plain=True):
        kd = chance.uniform(0.5, 2, model.nv) * model.constrained
        running, drives = running_at(model, chance, kp=0 * kd, kd=kd), Drives()
        running.simulation.reset(*running.present())
        drives.after_jump(running)
        rows = [row for row in coordinates(model) if row.holdable]
        requested = {row.effort_v: a_drive(chance) for row in rows}
        for v, drive in requested.items():
            drives.set(v, drive, running)
        t = checked = 0.0
        for _ in range(60):
            count = int(chance.integers(1, 40))
            assert drives.before_steps(running, count)
            for k in range(count if drives.varies else 1):
                q = running.present()[0][0].copy()
                if k:
                    drives.before_next(running)
                held_to(model, running, requested, q, t)
                checked += 1
                running.advance(1 if drives.varies else count)
                t += DT if drives.varies else count * DT
            drives.after_steps(running, count)
        assert checked > 5


def test_a_driven_run_repeats_after_a_reset_wherever_it_was_left(chance, tmp_path):
    """To the bit, however its steps are taken together."""
    for model in robots(tmp_path, chance, plain=True):
        kd = chance.uniform(0.5, 2, model.nv) * model.constrained
        running, drives = running_at(model, chance, kp=0 * kd, kd=kd), Drives()
        start, met = running.present()[0][0].copy(), dict[int, np.ndarray]()
        drives.after_jump(running)
        for row in coordinates(model):
            if row.holdable:
                drives.set(row.effort_v, a_drive(chance), running)
        again = 0
        for _ in range(4):
            running.reset(start)
            drives.after_jump(running)
            steps = 0
            while steps < 20 + chance.integers(20):
                count = int(chance.integers(1, 4))
                assert drives.before_steps(running, count)
                running.advance(count, partial(drives.before_next, running) if drives.varies else None)
                drives.after_steps(running, count)
                steps += count
                q = running.present()[0].copy()
                again += steps in met
                np.testing.assert_array_equal(met.setdefault(steps, q), q, f"after {steps} steps")
        assert again > 10


def held_to(model, running, requested, q, t) -> None:
    """The inputs on every robot of the batch are those of the drives at that time."""
    load = engine.inverse_dynamics(model, q, np.zeros(model.nv), np.zeros(model.nv))
    kd = running.simulation.settings.kd[0]
    for v, drive in requested.items():
        turn = (t / drive.period + drive.phase / (2 * math.pi)) % 1.0
        late = drive.amplitude if turn >= 0.5 else 0.0
        wave = {"constant": 0.0, "sine": drive.amplitude * math.sin(2 * math.pi * turn), "step": late}[drive.wave]
        value = drive.value + wave
        effort = {"target": 0.0, "velocity": kd[v] * value, "effort": value}[drive.mode] + drive.weight * load[v]
        near_edge = drive.wave == "step" and min(abs(turn - 0.5), turn, 1 - turn) < 1e-6
        if not near_edge:
            assert running.simulation.tau[:, v] == pytest.approx(effort, rel=1e-6, abs=1e-7)
            if drive.mode == "target":
                assert running.simulation.target[:, v] == pytest.approx(value, rel=1e-6, abs=1e-7)


def joints_of(model, settings, **posted) -> tuple[LoadedRobot, JointDriving]:
    """The robot as a window knows it, and its joints, with a worker that does what is `posted`, by name."""
    worker = SimpleNamespace(**{"change": lambda _: None, "configure": lambda _: 0, **posted})
    robot_ = LoadedRobot(DriveControls(Drives(), worker))
    robot_.update_from(Loaded(model, "", None, model.neutral(), settings, "", "", ""))
    actions = Actions(robot_, SimpleNamespace(wrenches={}))
    configuring = Configuring(robot_, worker, actions)
    return robot_, JointDriving(robot_, configuring, worker, SimpleNamespace(active=False), actions)


def some_settings(model, rng) -> Settings:
    rows = [row.effort_v for row in coordinates(model) if row.holdable]
    driven, by_velocity = (frozenset(v for v in rows if rng.random() < 0.3) for _ in range(2))
    gains = tuple((v, float(rng.uniform(1, 9)), float(rng.uniform(1, 9))) for v in sorted(rows) if rng.random() < 0.4)
    dt, integrator = float(rng.uniform(1e-4, 2e-3)), str(rng.choice(engine.INTEGRATORS))
    held, gravity = bool(rng.random() < 0.8), bool(rng.random() < 0.5)
    return Settings(dt, integrator, gravity, held=held, gains=gains, by_velocity=by_velocity, driven=driven)


def test_a_joint_is_driven_by_what_the_window_says_drives_it(chance, tmp_path):
    """A target has both gains, a velocity kd alone, an effort neither; those typed are those taken."""
    for model in robots(tmp_path, chance):
        for _ in range(8):
            settings = some_settings(model, chance)
            (known, joints), (kp, kd) = joints_of(model, settings), gains_of(model, settings)
            known.newest = SimpleNamespace(target=chance.normal(size=model.nv), tau=chance.normal(size=model.nv))
            for k, row in enumerate(known.coordinates):
                pair = (kp[row.effort_v] > 0, kd[row.effort_v] > 0)
                text = {"": None, "target": (True, True), "velocity": (False, True), "effort": (False, False)}
                mode = known.mode(k)
                assert (mode == "") == (not row.driveable)
                assert not mode or pair == text[mode], row
                assert known.is_held(k) == (mode == "target")
                own = {v: each for v, *each in settings.gains}.get(row.effort_v)
                if mode == "target" and own is not None:
                    assert joints.gains(k) == tuple(own) == (kp[row.effort_v], kd[row.effort_v])
                drive, bounds = a_drive(chance), {
                    "target": (row.lower, row.upper) if row.limited else (-np.inf, np.inf),
                    "velocity": (-row.velocity, row.velocity), "effort": (-row.effort, row.effort),
                }  # fmt: skip
                low, high = bounds[drive.mode]
                kept = clamp_drive(row, drive)
                assert kept == replace(drive, value=float(np.clip(drive.value, low, high)))
                plain = known.drive_of(k)
                shown = {"target": known.newest.target, "effort": known.newest.tau}.get(mode)
                assert plain == Drive(mode or "effort", 0.0 if shown is None else shown[row.effort_v])


def test_one_joint_is_driven_otherwise_and_the_others_as_before(chance, tmp_path):
    for model in robots(tmp_path, chance):
        known, joints = joints_of(model, some_settings(model, chance))
        known.newest = SimpleNamespace(q=known.q, target=np.zeros(model.nv), tau=np.zeros(model.nv))
        rows = [k for k, row in enumerate(known.coordinates) if row.driveable]
        for _ in range(25):
            k, requested = int(chance.choice(rows)), a_drive(chance)
            before, row = [known.mode(j) for j in rows], known.coordinates[k]
            if requested.mode != "effort" and not row.holdable:
                with pytest.raises(ValueError, match="no drive"):
                    joints.set_joint_drive(k, requested)
            else:
                joints.set_joint_drive(k, requested)
                assert known.mode(k) == requested.mode
                assert joints.actions.state.drives[row.name] == clamp_drive(row, requested)
                before[rows.index(k)] = requested.mode
            assert [known.mode(j) for j in rows] == before


def test_joints_that_are_too_weak_for_their_weight_are_told(chance, tmp_path):
    for model in robots(tmp_path, chance):
        model = replace(model, effort_limit=chance.exponential(1.0, model.nv))
        known, _ = joints_of(model, replace(some_settings(model, chance), gravity=True, held=True))
        known.newest, known.playing = SimpleNamespace(q=model.random(chance)), True
        known.check_loads()
        load = np.abs(engine.inverse_dynamics(model, known.newest.q, np.zeros(model.nv), np.zeros(model.nv)))
        heavy = [row.name for k, row in enumerate(known.coordinates)
                 if known.mode(k) == "target" and load[row.effort_v] > model.effort_limit[row.effort_v]]  # fmt: skip
        assert list(known.overloaded) == ([] if known.floats else heavy)


def test_robots_of_a_batch_are_bodies_of_the_same_shape(chance, tmp_path):
    """Masses differ, centres of mass and radii of gyration do not; robot 0 is the robot itself."""
    for model in robots(tmp_path, chance):
        spread = BatchSpread(40, *chance.uniform(0.1, 0.9, 3).tolist(), seed=int(chance.integers(1 << 20)))
        made = spread.parameters(model)
        made.check()
        heavy = np.flatnonzero(model.mass > 0)
        shares = made.mass[:, heavy] / model.mass[heavy]
        assert np.all(shares[0] == 1)
        assert np.abs(shares - 1).max() <= spread.mass + 1e-12
        assert np.abs(shares - 1).max() > 0.9 * spread.mass
        assert len(np.unique(shares[1:])) == shares[1:].size  # each body of each by itself
        for k in chance.integers(0, 40, 3).tolist():
            other = made.robot(k)
            for body in heavy:
                c = other.first_moment[body] / other.mass[body]
                np.testing.assert_allclose(c, model.first_moment[body] / model.mass[body], atol=1e-12)
                np.testing.assert_allclose(
                    about_center(other, body) / other.mass[body],
                    about_center(model, body) / model.mass[body],
                    atol=1e-12,
                )
            rubs = np.stack([other.damping * model.friction, other.friction * model.damping])
            np.testing.assert_allclose(rubs[0], rubs[1], atol=1e-12)
            for name in ("gravity", "effort_limit"):
                np.testing.assert_array_equal(getattr(other, name), getattr(model, name))
        rub = model.friction > 0
        if np.any(rub):
            differ = np.abs(made.friction[:, rub] / model.friction[rub] - 1)
            assert 0.8 * spread.friction < differ.max() <= spread.friction + 1e-12
            assert not differ[0].any()


def test_robots_of_a_batch_start_around_robot_0(chance, tmp_path):
    for model in robots(tmp_path, chance):
        q, spread = model.random(chance), BatchSpread(60, float(chance.uniform(0.1, 2)), seed=int(chance.integers(99)))
        poses = spread.poses(model, q)
        np.testing.assert_array_equal(poses[0], q)
        one = np.flatnonzero(model.q_of_v >= 0)
        at, rest = model.q_of_v[one], np.setdiff1d(np.arange(model.nq), model.q_of_v[one])
        np.testing.assert_array_equal(poses[:, rest], np.broadcast_to(q[rest], (60, len(rest))))
        assert np.abs(poses[:, at] - q[at]).max() <= spread.pose + 1e-12
        assert np.all((poses[:, at] >= model.lower[one]) & (poses[:, at] <= model.upper[one]))
        free = ~np.isfinite(model.lower[one])
        assert np.all(np.ptp(poses[1:, at[free]], axis=0) > spread.pose)  # to both sides
        links = np.asarray(engine.link_poses(model, poses))
        points = link_points(model)
        first = world_points(links[0], points)
        apart = [np.linalg.norm(world_points(each, points) - first, axis=2).max() for each in links]
        np.testing.assert_allclose(deviations(links, points), apart, atol=1e-12)


def test_a_bar_of_a_batch_that_turns_about_its_origin_deviates():
    model = engine.load(engine.find_robot("pendulum"))
    links = np.asarray(engine.link_poses(model, np.array([[0.0], [0.01]])))
    assert np.array_equal(links[0, :, :3, 3], links[1, :, :3, 3])
    assert deviations(links, link_points(model))[1] > 0.01


def lowest(model, q, n) -> float:
    """Return the lowest coordinate along n of any collision shape, by its support function."""
    poses, found = np.asarray(engine.link_poses(model, q)), np.inf
    for shape in model.collisions:
        pose = poses[shape.link] @ shape.pose
        down = pose[:3, :3].T @ -n  # in the shape's frame
        if shape.shape == "box":
            reach = max(np.dot(np.array(signs) * shape.size / 2, down) for signs in product((-1, 1), repeat=3))
        elif shape.shape == "sphere":
            reach = shape.size[0]
        else:
            radius, length = shape.size
            round_ = radius * (1.0 if shape.shape == "capsule" else np.hypot(down[0], down[1]))
            reach = abs(down[2]) * length / 2 + round_
        found = min(found, pose[:3, 3] @ n - reach)
    return found


def test_a_robot_that_is_put_down_just_touches_the_ground(chance, tmp_path):
    """Whatever way its free joint is turned against the world; nothing of it but its place changes."""
    for _ in range(4):
        model = robot(tmp_path, chance, turned=bool(chance.random() < 0.7), free=False)
        model = model if model.joints[0].kind == "floating" else robot(tmp_path, chance, free=True)
        q, n = model.random(chance), chance.normal(0, 0.5, 3) + np.array([0, 0, 1])
        ground = engine.Plane(tuple(n), float(chance.normal()))
        put = engine.put_down(model, engine.Scene(ground), q)
        assert lowest(model, put, np.array(ground.normal)) == pytest.approx(ground.offset, abs=1e-9)
        np.testing.assert_array_equal(put[3:], q[3:])
        before, after = (np.asarray(engine.link_poses(model, x)) for x in (q, put))
        step = after[-1, :3, 3] - before[-1, :3, 3]
        np.testing.assert_allclose(np.cross(step, ground.normal), 0, atol=1e-9)  # along the normal
        corners = robot(tmp_path, chance, turned=True, shapes=("box",))
        field = engine.HeightField(chance.uniform(0, 0.3, (12, 12)), 1.0)
        put = engine.put_down(corners, engine.Scene(field), corners.random(chance))
        links = np.asarray(engine.link_poses(corners, put))
        points = np.concatenate([
            np.array(list(product((-0.5, 0.5), repeat=3))) * each.size @ (links[each.link] @ each.pose)[:3, :3].T
            + (links[each.link] @ each.pose)[:3, 3] for each in corners.collisions
        ])  # fmt: skip
        assert (points[:, 2] - field.height(points[:, :2])).min() == pytest.approx(0, abs=1e-9)


def test_grounds_are_as_large_as_the_robot_asks_for(chance):
    size, front = float(chance.uniform(0.1, 5)), float(chance.uniform(0, 2))
    kinds = {kind: grounds.usual(kind, size, front) for kind in grounds.KINDS}
    boxes = grounds.scene_of(kinds[grounds.STAIRS], size).obstacles
    lower, upper = (np.array([each.pose[:3, 3] + s * np.array(each.size) / 2 for each in boxes]) for s in (-1, 1))
    np.testing.assert_allclose(lower[:, 2], 0, atol=1e-12)  # they stand on the ground, beside one another
    np.testing.assert_allclose(lower[1:, 0], upper[:-1, 0])
    rise, depth = np.diff(upper[:, 2], prepend=0), (upper - lower)[:, 0]
    np.testing.assert_allclose(rise / size, rise[0] / size)
    assert 0 < rise[0] < depth[0] < size
    assert front < lower[0, 0] < front + 0.2 * size
    field = grounds.scene_of(kinds[grounds.ROUGH], size).ground
    assert np.abs(field.heights).max() == pytest.approx(kinds[grounds.ROUGH].values[0])
    middle = field.heights.shape[0] // 2
    near = np.abs(field.heights[middle - 6 : middle + 7, middle - 6 : middle + 7]).max()
    assert near < 0.7 * np.abs(field.heights).max()
    assert field.cell * (len(field.heights) - 1) == pytest.approx(12 * size)


def test_slopes_have_the_numbers_that_are_asked_for(chance):
    steep, uphill = float(chance.uniform(1, 60)), float(chance.uniform(-180, 180))
    plane = grounds.scene_of(Terrain(grounds.SLOPE, (steep, uphill))).ground
    ahead = np.array([np.cos(np.radians(uphill)), np.sin(np.radians(uphill))])
    rise = -(np.array(plane.normal[:2]) @ ahead) / plane.normal[2]  # of the height, for each metre ahead
    assert rise == pytest.approx(np.tan(np.radians(steep)))
    reported = grounds.terrain_of(plane)
    assert (reported.kind, reported.values) == (grounds.SLOPE, pytest.approx((steep, uphill)))


def test_touched_scene_is_the_ground_obstacles_or_itself(chance):
    box = engine.Obstacle("box", (1.0, 1.0, 1.0))
    for on, itself, obstacles in product((False, True), (False, True), ((), (box,))):
        scene = engine.Scene(engine.Plane(offset=float(chance.normal())), obstacles=obstacles, self_collision=itself)
        settings = Settings(ground=on, scene=scene)
        found = settings.touched
        if on:
            assert found is scene
        elif itself or obstacles:
            assert (found.ground, found.obstacles, found.self_collision) == (None, obstacles, itself)
        else:
            assert found is None
            assert replace(settings, composed=True).touched == replace(scene, ground=None)  # parts touch each other
        for other in (True, False):
            again = replace(settings, ground=other).touching(found)
            assert (again.touched, again.scene) == (found, scene)
