"""The suite `contact`: its evaluation of residuals and goals."""

import numpy as np
import pytest
from cuda_on_host import compiled_for_host, cuda_on_host, needs_compiler  # noqa: F401 - fixtures

import engine
from engine.bench.peers.peer import Missing
from engine.bench.suites import gpu
from engine.cuda.runtime import clock
from engine.scene import Scene, put_down
from engine.urdf.load import load
from tests.bench import (
    command,
    contact,
    contact_cases,
    contact_gpu,
    contact_scenes,
    prepared_robots,
    real_robots,
    real_robots_gpu,
)
from tests.bench.command import SUITES


def test_a_histogram_counts_every_step_in_its_bin_up_to_the_bound():
    found = contact_cases.histogram([0.0, 1e-9, 1.1e-9, 1e-8, 1e-5, 3.0])
    assert list(found["histogram"].values()) == [2, 2, 0, 1, 1]
    assert found["steps"] == 6
    assert found["worst"] == 3.0
    assert found["share ≤ 1e-8, %"] == pytest.approx(400 / 6)


def test_a_must_says_what_of_it_is_met():
    most, least = contact.Must(1e-7, 1e-9), contact.Must(99.9, 100.0, least=True)
    assert [most.met(x) for x in (1e-10, 1e-8, 1e-6, np.nan)] == ["aim", "must", "nothing", "nothing"]
    assert [least.met(x) for x in (100.0, 99.95, 99.0)] == ["aim", "must", "nothing"]
    assert (str(most), str(least)) == ("≤ 1e-07", "≥ 99.9")


def test_what_is_finished_is_answered_as_it_is_and_what_falls_short_is_told(monkeypatch):
    def missing(_seconds):
        raise Missing("MuJoCo is not installed")

    monkeypatch.setattr(contact_cases, "speed", lambda _seconds: {"quadruped, µs a step": 9.0})
    monkeypatch.setitem(contact.PEERS, "speed", missing)
    keys = list(contact.TITLES)
    rows = {key: {"key": key} for key in keys if key != "speed"}
    *kept, measured = SUITES["contact"].run(0.01, rows)
    assert [row["key"] for row in (*kept, measured)] == keys
    assert len(keys) == SUITES["contact"].most
    assert kept == list(rows.values())
    assert measured["musts"]["quadruped, µs a step"]["met"] == "nothing"
    assert measured["peers"] == {"mujoco": {"missing": "MuJoCo is not installed"}}
    assert "FALLS SHORT in quadruped, µs a step" in SUITES["contact"].line(measured)
    shown = SUITES["contact"].show([measured])
    assert "| standing, on one core: quadruped, µs a step | 9 | ≤ 8 | **no** | MuJoCo is not installed |" in shown


def test_what_a_case_measures_is_measured():
    """The two shortest cases themselves: what they find is what was asked."""
    found = contact_cases.bounces()
    assert set(found) == set(contact.MUSTS["bounces"])
    assert max(found.values()) <= 1.0
    for name, must in contact.MUSTS["ramp-box"].items():
        assert must.met(contact_cases.ramp("box", 0.8)[name]) == "aim"


@needs_compiler
@pytest.mark.usefixtures("cuda_on_host")
def test_the_suite_of_the_gpu_measures_and_judges_batches(monkeypatch):
    monkeypatch.setattr(contact_gpu, "WORKS", tuple(work._replace(batch=3) for work in contact_gpu.WORKS[:5]))
    monkeypatch.setattr(contact_gpu, "BATCHES", (7,))
    monkeypatch.setattr(contact_gpu, "GOALS", {"quadruped-standing-3-float32": gpu.Goal("rate", 1e9, 1e10)})
    for name, count in (("SETTLE", 20), ("STEPS", 20), ("RUNS", 2), ("ALIKE", 20)):
        monkeypatch.setattr(contact_gpu, name, count)
    monkeypatch.setattr(clock, "synchronize", lambda: None)
    monkeypatch.setattr(clock, "device_seconds", lambda call: call() or 1e-3)
    rows = list(SUITES["contact-gpu"].run(1.0, {}))
    assert [row for row in rows if "failure" in row] == []
    assert rows[0]["rate"] == pytest.approx(3 * 20 / 1e-3)
    assert rows[0]["contacts"] == 4
    assert rows[0]["goal"]["met"] == "nothing"
    assert rows[-1]["robots that differ"] == {"float32": 0, "float64": 0}
    assert all(SUITES["contact-gpu"].line(row) for row in rows)
    assert SUITES["contact-gpu"].show(rows).row_count == len(rows)


@pytest.mark.usefixtures("example_robots")
def test_robots_of_others_are_measured_each_way_and_one_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr(real_robots, "ROBOTS", {"A1": real_robots.ROBOTS["A1"], "none": "no/such.urdf"})
    monkeypatch.setattr(real_robots, "STEPS", 50)
    *measured, _, _, missing = SUITES["real-robots"].run(1.0, {})
    assert [row["key"] for row in measured] == [f"A1, {way}" for way in real_robots.WAYS]
    assert all(0 <= row["worst"] <= 1e-8 and row["us"] > 0 and not row["diverged"] for row in measured)
    assert measured[0]["contacts"] == 4
    assert "example-robot-data" in missing["failure"]
    rows = [*measured, missing]
    assert [*real_robots.run(1.0, {row["key"]: row for row in rows})][:3] == measured
    assert all(SUITES["real-robots"].line(row) for row in rows)
    assert SUITES["real-robots"].show(rows).row_count == len(rows)


@pytest.mark.usefixtures("example_robots")
def test_a_robot_is_written_anew_as_it_was_but_for_what_has_no_mass(tmp_path):
    path = real_robots.file_of("Solo12")
    model, plain = load(path, floating=True), load(real_robots.write_plain(path, tmp_path))
    v, tau = np.random.default_rng(0).standard_normal((2, model.nv))
    q = model.random(np.random.default_rng(0))
    np.testing.assert_allclose(
        engine.forward_dynamics(plain, q, v, tau), engine.forward_dynamics(model, q, v, tau), rtol=1e-6, atol=1e-6
    )
    assert len(plain.collisions) == len(model.collisions)
    scene = Scene()
    assert put_down(plain, scene, q)[2] == pytest.approx(put_down(model, scene, q)[2], abs=1e-9)


def test_bodies_move_as_theory_says():
    found, musts = contact_scenes.off(contact_scenes.ours), contact.MUSTS["scenes"]
    assert len(found) >= 10
    assert {name: must.met(found[name]) for name, must in musts.items()} == dict.fromkeys(found, "must")


def test_what_moves_otherwise_is_seen():
    """A body that no friction holds is off in all that friction decides."""
    found = contact_scenes.off(lambda case: contact_scenes.ours(case._replace(mu=0.0)))
    missed = {name for name, must in contact.MUSTS["scenes"].items() if must.met(found[name]) == "nothing"}
    assert len(missed) == len(found) - 2
    assert not missed & {"box at rest, its depth, m", "rod falling on ice, its speed, %"}


@pytest.mark.usefixtures("example_robots")
def test_batches_of_robots_of_others_are_measured_in_processes_of_their_own(tmp_path):
    real_robots_gpu.prepare(tmp_path, ("Solo12",))
    plan = real_robots_gpu.Plan(("Solo12", "Bolt"), ("falling",), (4,), folder=tmp_path, steps=25, device="cpu")
    suite = SUITES["real-robots-gpu"]
    measured, missing = real_robots_gpu.run(1.0, {}, plan)
    assert measured["key"] == "Solo12, falling, 4"
    assert measured["rate"] == pytest.approx(np.median(measured["rates"]))
    assert 0 <= measured["worst"] <= 1e-8
    assert measured["over"] == measured["over_together"] == measured["diverged"] == 0
    assert measured["contacts"] > 0
    assert {"rate", "missing"} & measured["peer"].keys()
    assert "holds no Bolt" in missing["failure"]
    rows = [measured, missing]
    assert [*real_robots_gpu.run(1.0, {row["key"]: row for row in rows}, plan)] == rows
    assert all(suite.line(row) for row in rows)
    assert suite.show(rows).row_count == len(rows)
    (late, _) = real_robots_gpu.run(1.0, {}, plan._replace(limit=1e-3, peers=False))
    assert late["failure"] == "it took more than 0.001 s"


@needs_compiler
@pytest.mark.usefixtures("cuda_on_host", "example_robots")
@pytest.mark.parametrize("way", ["falling", "walking"])
def test_a_batch_of_robots_of_others_is_measured_on_the_gpu(monkeypatch, tmp_path, way):
    real_robots_gpu.prepare(tmp_path, ("A1",))
    monkeypatch.setattr(real_robots_gpu, "SETTLE", {"falling": 100, "walking": 25})
    monkeypatch.setattr(clock, "synchronize", lambda: None)
    monkeypatch.setattr(clock, "device_seconds", lambda call: call() or 1e-3)
    (row,) = real_robots_gpu.ours(real_robots_gpu.RobotCase("A1", way, 3, 25, "cuda"), tmp_path)
    assert row["rates"] == [pytest.approx(3 * 25 / 1e-3)] * real_robots_gpu.WINDOWS
    assert 0 < row["contacts"] <= 12
    assert 0 < row["worst"] < 1e-2
    assert row["diverged"] == 0
    assert 0.05 < row["heights"][0] <= row["heights"][1] < 0.5


@pytest.mark.usefixtures("example_robots")
def test_a_prepared_robot_is_the_one_that_its_file_tells_of(tmp_path):
    robot = prepared_robots.read("Solo12", prepared_robots.prepare("Solo12", tmp_path).parent)
    reported = load(robot.path)
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    again = prepared_robots.read("Solo12", moved)
    rng = np.random.default_rng(0)
    q, v, tau = reported.random(rng), rng.standard_normal(reported.nv), rng.standard_normal(reported.nv)
    expected = engine.forward_dynamics(reported, q, v, tau)
    for model in (robot.model, again.model):
        np.testing.assert_array_equal(engine.forward_dynamics(model, q, v, tau), expected)
    scene = Scene(friction=real_robots.FRICTION)
    np.testing.assert_array_equal(put_down(again.model, scene, again.model.neutral()), robot.q)
    starts = prepared_robots.starts(again, "falling", 600)
    np.testing.assert_array_equal(starts, np.resize(starts[: prepared_robots.FEW], starts.shape))
    np.testing.assert_allclose(np.linalg.norm(starts[:, 3:7], axis=1), 1.0)
    walking = prepared_robots.targets(again, "walking", 3, 2)
    off = np.abs(walking - again.posture)
    assert walking.shape == (2, 3, reported.nv)
    assert np.all(off[..., 6:] > 0)
    assert off.max() <= real_robots.SWING


def test_options_of_the_suite_of_batches_are_read_and_refused_elsewhere(capsys):
    parser = command.parser()
    words = "--suite real-robots-gpu --robots go2,Simple-Humanoid --ways falling --batches 7 --no-peers --steps 50"
    plan = real_robots_gpu.plan(parser.parse_args(words.split()))
    assert plan == real_robots_gpu.Plan(("Go2", "simple humanoid"), ("falling",), (7,), peers=False, steps=50)
    assert [work.key for work in plan.works] == ["Go2, falling, 7", "simple humanoid, falling, 7"]
    assert real_robots_gpu.plan(parser.parse_args(words.split()[:2])) == real_robots_gpu.Plan()
    with pytest.raises(ValueError, match="--no-peers goes with --suite real-robots-gpu"):
        command.run(parser.parse_args(["--suite", "steps", "--no-peers"]))
    for wrong in ("--robots rx", "--ways flying", "--batches 0", "--steps 30"):
        with pytest.raises(SystemExit):
            parser.parse_args(words.split()[:2] + wrong.split())
        assert f"argument {wrong.split()[0]}: " in capsys.readouterr().err


@pytest.mark.usefixtures("example_robots")
def test_feet_that_sliding_relieves_of_their_load_come_off(tmp_path):
    """Between sticking and coming off such a foot has no velocity; of Solo12, nudged while it stands, some feet do."""
    case, batch = real_robots.case_named("Solo12", "standing", tmp_path), 100
    rng = np.random.default_rng(2026)
    simulation = engine.Simulation(
        case.model, batch, real_robots.DT, "implicit", "abia", scene=engine.Scene(friction=real_robots.FRICTION),
        q=np.tile(case.q, (batch, 1)), v=0.05 * rng.standard_normal((batch, case.model.nv)), kp=case.kp, kd=case.kd,
        timed=False,
    )  # fmt: skip
    residuals = []
    for _ in range(40):
        simulation.step()
        residuals.append(simulation.contacts.residual)
    assert np.mean(np.array(residuals) <= 1e-8) >= 0.9995
