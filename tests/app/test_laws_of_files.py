"""Written files are read back exactly: sessions, settings, scenes, runs, keyframes, tables, and numbers in words."""

import csv
import io
import json
import math
import re
from dataclasses import asdict, replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from random_robots import robot, robots
from test_laws_of_acting import a_drive, joints_of, some_settings
from test_laws_of_time import batch_of, play, tangled

import engine
from app.desktop.numbers import duration, si_text, span
from app.features import session_text
from app.features.camera_views import CameraViews, read_views
from app.features.dragging import force_text
from app.features.ghost_view import GhostView
from app.features.lesson_view import LessonView
from app.features.link_hiding import LinkHiding
from app.features.plots_view import PlotsView
from app.features.second_robot_view import SecondRobotView
from app.features.sessions import Sessions
from app.gl.camera import Camera
from app.panels import bars, inspection
from app.panels.axes import number, ticks
from app.plotting.catalogue import catalogue
from app.plotting.plot_files import table
from app.plotting.series import Series
from app.recording import run_files
from app.simulation.batch_spread import MAX_ROBOTS, BatchSpread
from app.simulation.ghost import GhostSettings
from app.simulation.messages import Settings
from app.simulation.recorder import Recorder
from app.simulation.second_robot import SavedSecondRobot

GHOST = GhostSettings("cfa", "rk4", "float64", Fraction(1, 4))


def a_scene(rng) -> engine.Scene:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = engine.lie.exp(rng.normal(size=6))
    obstacles = [
        engine.Obstacle("box", tuple(rng.uniform(0.1, 2, 3)), pose),
        engine.Obstacle("sphere", (float(rng.uniform(0.1, 2)),), rng.normal(size=3)),
        engine.Obstacle("capsule", tuple(rng.uniform(0.1, 2, 2)), rng.normal(size=3)),
    ]
    plane = engine.Plane(tuple(rng.normal(size=3)), float(rng.normal()))
    field = engine.HeightField(
        rng.normal(size=rng.integers(2, 9, 2)), float(rng.uniform(0.1, 2)), tuple(rng.normal(size=3))
    )
    ground = [plane, field, None][rng.integers(3)]
    chosen = tuple(obstacles[: rng.integers(4)])
    return engine.Scene(ground, float(rng.uniform(0, 2)), float(rng.random()), chosen, bool(rng.random() < 0.5))


def same_scene(one: engine.Scene, other: engine.Scene) -> None:
    assert (one.friction, one.restitution, one.self_collision) == (
        other.friction,
        other.restitution,
        other.self_collision,
    )
    assert type(one.ground) is type(other.ground)
    if isinstance(one.ground, engine.Plane):
        np.testing.assert_allclose((*one.ground.normal, one.ground.offset), (*other.ground.normal, other.ground.offset))
    elif one.ground is not None:
        np.testing.assert_array_equal(one.ground.heights, other.ground.heights)
        assert (one.ground.cell, one.ground.origin) == (other.ground.cell, other.ground.origin)
    assert len(one.obstacles) == len(other.obstacles)
    for mine, yours in zip(one.obstacles, other.obstacles, strict=True):
        assert (mine.shape, mine.size, mine.mesh) == (yours.shape, yours.size, yours.mesh)
        np.testing.assert_array_equal(mine.pose, yours.pose)


def everything(model, rng):
    """A window's settings in every field."""
    spread = BatchSpread(int(rng.integers(1, MAX_ROBOTS)), *rng.random(3).tolist(), seed=int(rng.integers(1_000_000)))
    devices = {device: ("auto", *names) for device, names in engine.SIMULATION_ALGORITHMS.items()}
    device = str(rng.choice(["auto", *devices]))
    algorithm = str(rng.choice(devices.get(device, ("auto",))))
    yes = (rng.random(2) < 0.5).tolist()
    return replace(
        some_settings(model, rng), scene=a_scene(rng), spread=spread, device=device, algorithm=algorithm, ground=yes[0],
        automatic=yes[1],
    )  # fmt: skip


def feature(kind: type, **state) -> SimpleNamespace:
    """Return what has a feature's part of sessions, with this state."""
    return SimpleNamespace(kept=lambda: kind.kept(SimpleNamespace(**state)), restore=kind.restore)


def session_of(model, rng) -> tuple[dict, SimpleNamespace]:
    """Return the session that the window writes of a random state, and the state."""
    robot, _ = joints_of(model, everything(model, rng))
    for row in robot.coordinates:
        if row.driveable and rng.random() < 0.5:
            robot.drives.set(row.effort_v, a_drive(rng))
    robot.newest = SimpleNamespace(q=model.random(rng), target=rng.normal(size=model.nv), tau=rng.normal(size=model.nv))
    robot.floating, robot.initial = bool(rng.random() < 0.5), model.random(rng)
    bench = SimpleNamespace(
        path=model.source, speed=float(rng.uniform(0.1, 10)), controller=SimpleNamespace(path=""), robot=robot,
        opening=SimpleNamespace(xacro_args=lambda path: {"size": path[-3:]}),
    )  # fmt: skip
    camera = Camera(rng.normal(size=3) * 9, *rng.uniform(0.1, 1.5, 3).tolist(), parallel=bool(rng.random() < 0.5))
    kept = SavedSecondRobot(
        tuple(rng.normal(size=3)),
        tuple(rng.normal(size=4)),
        tuple(rng.normal(size=2)),
        str(rng.choice(["auto", "cfa"])),
    )
    two = {"path": model.source, **{name: list(x) if isinstance(x, tuple) else x for name, x in asdict(kept).items()}}
    keys = [[catalogue(model)[int(k)].key for k in rng.integers(0, 40, 3)] for _ in range(2)]
    hidden = [name for name in model.link_names if rng.random() < 0.3]
    lesson = SimpleNamespace(lesson=SimpleNamespace(name="dca"), number=4)
    features = (
        feature(CameraViews, _viewport=SimpleNamespace(camera=camera)),
        feature(PlotsView, panel=SimpleNamespace(layout_keys=keys)),
        feature(LinkHiding, names=hidden),
        feature(LessonView, panel=lesson, _dock=SimpleNamespace(isHidden=lambda: False)),
        feature(GhostView, path="", panel=SimpleNamespace(settings=GHOST)),
        SimpleNamespace(kept=lambda: {"beside": two}, restore=SecondRobotView.restore),
    )
    window = SimpleNamespace(
        features=dict(enumerate(features)),
        saveState=lambda: SimpleNamespace(toBase64=lambda: SimpleNamespace(data=lambda: b"QUJD")),
    )
    parts = SimpleNamespace(_bench=bench, _window=window)
    return Sessions.session(parts), SimpleNamespace(bench=bench, camera=camera, kept=kept, keys=keys, hidden=hidden)


def test_a_session_is_read_as_it_was_written(chance, tmp_path):
    """In every field, whatever the values and the names are, through JSON in a file."""
    for model in robots(tmp_path, chance):
        written, was = session_of(model, chance)
        path, bench = tmp_path / "any ☃.catena", was.bench
        path.write_bytes(json.dumps(written, indent=1).encode())
        session = session_text.read(str(path))
        found = session_text.settings(session, everything(model, chance), model)
        assert replace(found, scene=bench.robot.settings.scene) == bench.robot.settings
        same_scene(found.scene, bench.robot.settings.scene)
        drives, rows = session_text.drives(session), [row for row in bench.robot.coordinates if row.driveable]
        assert drives == {row.name: bench.robot.drive_of(bench.robot.coordinates.index(row)) for row in rows}
        own = np.zeros(model.nq)
        own[[k for _, part in model.quaternions for k in range(part.start, part.stop)]] = 1.0
        np.testing.assert_array_equal(session_text.pose(session, model, own), bench.robot.newest.q)
        camera = session_text.camera(session, Camera())
        assert replace(camera, target=was.camera.target) == replace(was.camera, fov=camera.fov)
        np.testing.assert_array_equal(camera.target, was.camera.target)
        assert session_text.plots(session) == was.keys
        assert session_text.hidden(session) == was.hidden
        assert session_text.lesson(session) == ("dca", 4)
        assert session_text.lesson({}) is None
        assert session_text.second_robot(session) == (model.source, was.kept)
        assert (session_text.speed(session, 1.0), session_text.layout(session)) == (bench.speed, "QUJD")
        assert session_text.simulated_ghost(session) == GHOST
        assert session_text.xacro_args(session) == bench.opening.xacro_args(bench.path)
        assert (session["robot"]["path"], session["robot"]["floating"]) == (bench.path, bench.robot.floating)


OUTSIDE = {
    "settings.dt": (0.0, -1e-3, "fast"), "settings.integrator": ("euler?", 3), "settings.algorithm": ("none", 1.0),
    "settings.device": ("tpu",), "settings.held": ("yes", 1), "settings.gravity": (0, None), "settings.driven": ([3],),
    "settings.gains.*.0": (-1e-9, -5.0, "x", None), "settings.gains.*.1": (-1e-9, -5.0, True),
    "batch.robots": (0, -1, MAX_ROBOTS + 1, 2.5), "batch.pose": (-0.1, "x"), "batch.mass": (-0.1, 1.01),
    "batch.friction": (-1e-3, 1.5), "batch.seed": (-1, 0.5), "drives.*.mode": ("push",), "drives.*.wave": ("saw",),
    "drives.*.period": (0.0, -2.0), "drives.*.value": ("1", None), "camera.distance": (0.0, -1.0, 1e12),
    "camera.target": ([0, 0], [1e12, 0, 0], "here"), "beside.place": ([1e12, 0, 0],), "beside.q": ([1e12],),
    "beside.algorithm": ("none", 3, ["cfa"]), "lesson.name": ("dca?", 3), "lesson.step": ("4", None, [4]),
    "scene.friction": (-0.1,), "scene.restitution": (-0.1, 1.1), "pose.*.0": (1e10, "x"), "plots": ([[3]], "all"),
}  # fmt: skip
"""Session values that no window writes."""
READERS = {
    "settings": lambda s, m: session_text.settings(s, Settings(), m),
    "batch": lambda s, _: session_text.batch(s, BatchSpread()),
    "scene": lambda s, _: session_text.scene(s, run_files.LEVEL),
    "drives": lambda s, _: session_text.drives(s),
    "camera": lambda s, _: session_text.camera(s, Camera()),
    "beside": lambda s, _: session_text.second_robot(s),
    "plots": lambda s, _: session_text.plots(s),
    "lesson": lambda s, _: session_text.lesson(s),
    "pose": lambda s, m: session_text.pose(s, m, m.neutral()),
}


@pytest.mark.parametrize("place", OUTSIDE)
def test_a_session_value_outside_its_range_is_refused(chance, tmp_path, place):
    model = robot(tmp_path, chance)
    for value in OUTSIDE[place]:
        session, _ = session_of(model, chance)
        while place.startswith("settings.gains") and not session["settings"]["gains"]:
            session, _ = session_of(model, chance)
        part, names = session, place.split(".")
        for name in names[:-1]:
            part = part[list(part)[int(chance.integers(len(part)))] if name == "*" else name]
        part[int(names[-1]) if isinstance(part, list) else names[-1]] = value
        with pytest.raises((ValueError, TypeError)):
            READERS[names[0]](session, model)


def test_settings_views_and_moments_come_back_from_files(chance, tmp_path):
    for model in robots(tmp_path, chance):
        settings = everything(model, chance)
        text = json.loads(json.dumps(run_files.describe(settings)))
        assert run_files.understand(text) == replace(settings, scene=run_files.LEVEL)
    views = {f"view {k} &": chance.normal(size=7).tolist() for k in range(5)}
    assert read_views(json.dumps(views)) == views
    reported = [[k, float(t), f"«{k}» Höhe {t:.1f}"] for k, t in enumerate(chance.uniform(0, 99, 9))]
    assert [list(each) for each in run_files.named_keyframes(json.loads(json.dumps(reported)))] == reported


def test_runs_in_parts_are_the_runs_that_were_recorded(chance, tmp_path):
    """With branches of branches, frames that were put by hand, and whatever was dropped before."""
    for turn in range(4):
        recording, model = tangled(chance)
        parts = []
        for run in recording.runs:
            begin = 0
            while run.own <= run.last and begin <= run.last:
                path = tmp_path / f"{turn} {len(parts):04d}.npz"
                parts.append(path)
                last, begin = engine.save_part(path, recording, run, {}, first=begin, most=int(chance.integers(1, 9)))
                begin = max(begin, last + 1)
        again = engine.recording_of_parts([engine.read_run(path) for path in parts], model)
        by_number = {run.number: run for run in again.runs}
        for run in recording.runs:
            if run.own > run.last:
                continue
            other = by_number[run.number]
            for index in range(run.own, run.last + 1):
                one, two = recording.frame(run, index), again.frame(other, index - run.first + other.first)
                assert (one.time, one.begins) == (two.time, two.begins)
                for mine, yours in zip(one.checkpoint[1:6], two.checkpoint[1:6], strict=True):
                    np.testing.assert_array_equal(mine, yours)


def test_a_table_of_a_run_has_each_recorded_number_under_its_name(chance, tmp_path, monkeypatch):
    monkeypatch.setattr("app.simulation.recorder.SPACING", 0.0)
    for model in robots(tmp_path, chance):
        running, recorder = batch_of(model, chance), Recorder()
        recorder.after_jump(running)
        play(running, (recorder,), chance, 6)
        (run,) = recorder.recording.runs
        written, path = engine.recorded_trajectory(recorder.recording, run), tmp_path / "run.csv"
        engine.save_csv(path, model, written, 2)
        head, *lines = list(csv.reader(io.StringIO(path.read_text("utf-8"))))
        assert len(set(head)) == len(head)
        by_kind = {"revolute": "rad", "continuous": "rad", "prismatic": "m"}
        for joint in model.joints:
            if joint.kind in by_kind and joint.leader is None:
                unit = by_kind[joint.kind]
                effort = "N m" if unit == "rad" else "N"
                own = {f"q:{joint.name} [{unit}]", f"v:{joint.name} [{unit}/s]", f"tau:{joint.name} [{effort}]"}
                assert own <= set(head)
        assert len(lines) == len(run)
        for k, line in enumerate(lines):
            names = [name.partition(" [")[0] for name in head]
            frame, row = recorder.recording.frame(run, k), dict(zip(names, map(float, line), strict=True))
            assert row["time"] == frame.time
            for v, name in enumerate(model.coordinate_names):
                assert row[f"v:{name}"] == frame.checkpoint.v[2, v]
                if model.q_of_v[v] >= 0:
                    assert row[f"q:{name}"] == frame.checkpoint.q[2, model.q_of_v[v]]
            for joint in model.joints:
                if joint.kind in ("floating", "spherical"):
                    names = [f"q:{joint.name}.{part}" for part in ("x", "y", "z", "qx", "qy", "qz", "qw")]
                    values = [row[name] for name in names[-(joint.q.stop - joint.q.start) :]]
                    np.testing.assert_array_equal(values, frame.checkpoint.q[2, joint.q])


def test_a_table_of_plots_has_each_sample_at_its_time(chance, tmp_path):
    model = robot(tmp_path, chance)
    every, series, known = catalogue(model), {}, {}
    drift = next(k for k, quantity in enumerate(every) if quantity.relative)
    for k in {drift, *chance.choice(len(every), 8, replace=False).tolist()}:
        line, times = Series(), np.unique(chance.integers(0, 60, 20)) / 8
        values = 10 ** chance.uniform(-9, 9, len(times)) * chance.choice([-1, 1], len(times))
        line.extend(times, values)
        series[every[k]], known[every[k]] = line, dict(zip(times.tolist(), values.tolist(), strict=True))
    head, *rows = list(csv.reader(io.StringIO(table(series))))
    assert head[0] == "time [s]"
    assert [float(row[0]) for row in rows] == sorted({time for line in known.values() for time in line})
    for column, quantity in enumerate(series, 1):
        name, unit = quantity.label, quantity.unit.si
        assert head[column] == (f"{name} [{unit}]" if unit else name)
        found = {float(row[0]): float(row[column]) for row in rows if row[column]}
        first = next(iter(known[quantity].values())) if quantity.relative else 0.0
        assert found == {time: value - first for time, value in known[quantity].items()}, "as it is plotted"


SCALES = {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


def meant(text: str, unit: str) -> float:
    """Return the number that a text with a unit, and possibly a prefix, represents."""
    value, prefix = re.fullmatch(rf"(-?[\d.]+(?:e[-+]?\d+)?) ?([nµmkMG]?){unit}", text).groups()
    return float(value) * SCALES[prefix]


def test_numbers_in_words_are_the_numbers(chance):
    for value in 10 ** chance.uniform(-8.9, 10, 400):
        for sign in (1, -1):
            assert meant(si_text(sign * value, "N m"), "N m") == pytest.approx(sign * value, rel=5.1e-3)
        low, high = span(value / 3, value, "J").split(" … ")
        whole = meant(high, "J")
        assert whole == pytest.approx(value, rel=5.1e-3)
        assert float(low) * whole / float(high.split()[0]) == pytest.approx(value / 3, rel=1.1e-2)
        seconds = value / 1e3 if value < 1e4 else 1.0
        for words in (duration(seconds), bars.duration(seconds)):
            assert meant(words, "s") == pytest.approx(seconds, rel=5.1e-3, abs=5.1e-12)
        assert meant(force_text(np.array([0.6, 0, -0.8]) * value), "N") == pytest.approx(value, rel=5.1e-3)
        assert float(inspection.number_text(-value)) == pytest.approx(-value, rel=5.1e-3, abs=1e-9)
        places = ticks(-value, 2 * value, 7)
        assert 2 <= len(places) <= 8
        assert all(float(number(each)) == pytest.approx(each, rel=1e-5, abs=1e-11) for each in places)
        assert np.ptp(np.diff(places)) < 1e-6 * value
        assert math.isclose(places[0], round(places[0] / np.diff(places)[0]) * np.diff(places)[0], abs_tol=1e-9 * value)
