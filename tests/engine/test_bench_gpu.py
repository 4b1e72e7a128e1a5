"""The suites of `main.py bench` that measure the GPU: their verdicts, slopes and words, and the peers they ask."""

import json
import math
from time import perf_counter
from xml.etree import ElementTree

import numpy as np
import pytest

import engine
import main
from engine import figures
from engine.bench import curves, gpu_timing
from engine.bench.peers import jaxsim, peer, pinocchio
from engine.bench.peers.mujoco import mujoco_model
from engine.bench.states import state
from engine.bench.suites import first_answers, gpu, swarm
from engine.bench.suites.command import SUITES, Suite
from engine.cuda.runtime import clock, device
from tests.bench import command, growth, mujoco_steps, pictures, step_growth, steps


def power(factor, exponent, sizes):
    return {size: factor * size**exponent for size in sizes}


def rows_of(axis, **curves):
    return [
        {"key": f"{axis}-{size}-{name}", "axis": axis, "candidate": name, axis: size, "us": us, "call_us": us + waits}
        for name, (curve, waits) in curves.items()
        for size, us in curve.items()
    ]


GROWN = [
    *rows_of("links", dca=(power(10, 0.1, growth.LINKS), 5), abia=(power(1, 1, growth.LINKS), 5)),
    *rows_of("links", pinocchio=(power(2, 1, growth.LINKS[:9]), 0)),
    *rows_of("batch", abia=(power(10, 0.5, growth.BATCHES), 0), dca=(power(5, 1, growth.BATCHES), 0)),
]


@pytest.mark.parametrize(
    ("goal", "value", "met"),
    [
        (gpu.Goal("rate", 2.0, 4.0), 4.0, "aim"),
        (gpu.Goal("rate", 2.0, 4.0), 2.5, "must"),
        (gpu.Goal("rate", 2.0, 4.0), 1.9, "nothing"),
        (gpu.Goal("device_us", 4.0, 2.0), 1.9, "aim"),
        (gpu.Goal("device_us", 4.0, 2.0), 4.0, "must"),
        (gpu.Goal("device_us", 4.0, 2.0), 4.1, "nothing"),
        (gpu.Goal("device_us", 4.0, 2.0), None, "nothing"),
    ],
)
def test_a_goal_is_met_at_its_bound_and_not_beyond(goal, value, met):
    assert goal.verdict({goal.quantity: value})["met"] == met


def test_the_rows_of_the_suite_have_keys_of_their_own():
    assert len({work.key for work in gpu.WORKS}) == len(gpu.WORKS)


def test_a_race_is_won_from_where_all_longer_ones_are():
    assert gpu.overtakes([(2, True), (4, False), (8, True), (16, True)]) == 8
    assert gpu.overtakes([(2, True), (4, False)]) is None


def test_slopes_and_crossings_are_those_of_the_curves():
    found = growth.findings(GROWN)
    assert found["slopes"]["links"] == pytest.approx({"dca": 0.1, "abia": 1, "pinocchio": 1})
    where = 10 ** (1 / 0.9)
    assert curves.crossing(*(power(*law, growth.LINKS) for law in ((10, 0.1), (1, 1)))) == (pytest.approx(where), True)
    assert f"dca is faster than abia from {where:.3g} links on" in found["crossings"][0]
    assert "dca is faster than pinocchio from " in found["crossings"][1]
    assert found["crossings"][1].endswith("launch and wait included")
    assert "abia is faster than dca from 4 robots of 10 links on" in found["crossings"][-1]


def test_curves_that_never_cross_are_named_as_such():
    rows = rows_of("links", abia=(power(1, 1, growth.LINKS), 0), cfa=(power(3, 1, growth.LINKS), 0))
    assert growth.findings(rows)["crossings"] == ["abia is faster than cfa at all of 1 to 4096 links, 3 × at 4096"]
    assert curves.crossing({1: 1.0}, {1: 2.0}) is None


def test_the_picture_and_the_tables_of_growth_name_candidates_slopes_and_crossings(tmp_path):
    rows = [*GROWN, {"key": "findings", **growth.findings(GROWN)}]
    figures.save(pictures.grown(rows), tmp_path / "grown.svg")
    text = (tmp_path / "grown.svg").read_text("utf-8")
    for words in ("dca, slope 0.10", "abia, slope 1.00", "pinocchio, slope 1.00", "4096"):
        assert words in text
    reported = growth.markdown(rows)
    assert reported.count("| slope |") == 2
    assert reported.endswith(f"- {rows[-1]['crossings'][-1]}\n")


def test_a_row_says_what_was_asked_met_and_who_ran_beside():
    times = {"algorithm": "abia", "device_us": 9.0, "call_us": 20.0, "rate": 1.1e8}
    beside = {"pinocchio": {"ratio": 40.0, "ratio_call": 18.0}, "mjx": {"missing": "JAX is not installed"}}
    row = {"key": "chains", **times, "peers": beside, "goal": gpu.Goal("device_us", 15, 8).verdict(times)}
    message = gpu.line(row)
    assert message.startswith("chains by abia: 9 µs on the device")
    for words in ("must 15, aim 8: must met", "pinocchio: ratio 40 ×, ratio_call 18 ×", "mjx: JAX is not installed"):
        assert words in message
    assert gpu.line({"key": "race", "failure": "MemoryError: no"}) == "race: failed: MemoryError: no"
    assert gpu.table([row]).row_count == 1


def test_a_step_s_growth_has_a_curve_for_each_device_and_the_best_of_both(tmp_path):
    laws = {"dca on cuda": (40, 0.2), "abia on cuda": (9, 1), "abia on cpu": (2, 1), "dca on cpu": (4, 0.8)}
    rows = [
        row
        for axis, sizes in step_growth.SIZES.items()
        for row in rows_of(axis, **{name: (power(*law, sizes), 0) for name, law in laws.items()})
    ]
    found = step_growth.findings(rows)
    assert found["slopes"]["links"]["dca on cpu"] == pytest.approx(0.8)
    first = next(words for words in found["crossings"] if words.startswith("dca on cuda is faster than abia on cuda"))
    assert f"from {(40 / 9) ** (1 / 0.8):.3g} links on" in first
    assert found["crossings"][-1].startswith("the best on cuda is faster than the best on cpu from ")
    assert sum("cuda" in words and "cpu" in words for words in found["crossings"]) == 2
    figures.save(pictures.steps_grown([*rows, {"key": "findings"}]), tmp_path / "grown.svg")
    assert "abia on cpu, slope 1.00" in (tmp_path / "grown.svg").read_text("utf-8")
    assert step_growth.markdown(rows).count("| slope |") == 2


def test_a_step_s_growth_follows_no_curve_beyond_what_takes_long(monkeypatch):
    monkeypatch.setattr(device, "why_not", lambda: None)
    monkeypatch.setattr(step_growth, "_measured", lambda model, *_: {"us": 1e3 * model.nv})
    *rows, findings = step_growth.run(1)
    assert findings["key"] == "findings"
    followed = [row["links"] for row in rows if row["candidate"] == "abia on cpu" and row["axis"] == "links"]
    assert followed == [n for n in step_growth.LINKS if n <= 300]
    monkeypatch.setattr(step_growth, "_measured", lambda *_: pytest.fail("it was measured again"))
    assert [*step_growth.run(1, {row["key"]: row for row in rows})][:-1] == rows


def test_a_row_of_steps_says_times_peers_and_what_is_met():
    row = {"key": "steps-50x1", "us": {"dca on cuda": 13.2}, "apart": {"dca on cuda": 2e-13}}
    row["peers"] = {"mujoco": {"us": 35.6, "ratio": 2.7}, "mujoco-warp": {"missing": "MuJoCo Warp is not installed"}}
    row["goal"] = steps.GOALS["steps-50x1"].verdict({"us": 13.2})
    message = steps.line(row)
    for words in (
        "dca on cuda 13.2; mujoco 35.6",
        "MuJoCo Warp is not installed",
        "2e-13",
        "aim met of must 24, aim 16",
    ):
        assert words in message
    assert "cfa on cuda: MemoryError: no" in steps.line({**row, "failures": {"cfa on cuda": "MemoryError: no"}})
    launched = {"key": "launched-quadruped", "rate": 7e8, "step_us": 93.6, "enqueued_us": 8.0}
    assert steps.line(launched) == "launched-quadruped: 700 M steps/s, 93.6 µs a step of all, 8 µs of the host's"


def test_mujoco_steps_the_very_same_chain(rng):
    pytest.importorskip("mujoco")
    model, q = steps.chain(12, False), rng.uniform(-0.2, 0.2, (2, 12))
    _, ours = steps.timed_steps(model, q, "abia", "cpu")
    theirs = mujoco_steps.steps_on_one_core(model, q, steps.DT, steps.WALKED)
    np.testing.assert_allclose(theirs.v, ours, rtol=0, atol=1e-11 * np.abs(ours).max())
    assert 0 < theirs.seconds(0.01) < 1e-3


def test_threads_step_a_long_chain_as_one_core_does(monkeypatch):
    monkeypatch.setattr(steps, "THREADED", 70)
    monkeypatch.setattr(steps, "WALKED", 5)
    row = steps.threads_row()
    assert {"abia, 1", "cfa, 1", "jsiia, 1", "dca, 1"} <= row["us"].keys()
    assert max(row["apart"].values()) < 1e-10
    assert row["speedup"]["abia, 1"] == 1


@pytest.fixture
def on_the_cpu(monkeypatch):
    """Run the GPU work of the step suites on the CPU, timed by its clock."""

    def simulation(*arguments, **settings):
        settings |= {"device": "cpu", "dtype": "float64"}
        settings["algorithm"] = settings["algorithm"].replace("dca", "abia")  # whose threads take long to compile
        return engine.Simulation(*arguments, **settings)

    def device_seconds(call):
        began = perf_counter()
        call()
        return perf_counter() - began

    monkeypatch.setattr(device, "why_not", lambda: None)
    monkeypatch.setattr(clock, "synchronize", lambda: None)
    monkeypatch.setattr(clock, "device_seconds", device_seconds)
    for suite in (steps, step_growth):
        monkeypatch.setattr(suite, "Simulation", simulation)
    for name, few in {"STEPS": 4, "WALKED": 2, "RUNS": 1, "ROBOTS": 3, "THREADED": 70}.items():
        monkeypatch.setattr(steps, name, few)


@pytest.mark.usefixtures("on_the_cpu")
def test_the_suite_of_steps_has_all_its_rows(monkeypatch):
    monkeypatch.setattr(steps, "CHAINS", ((1, 50, False), (1, 50, True), (2, 7, False)))
    monkeypatch.setattr(steps, "TREES", (("binary", 15), ("snake", 9)))
    rows = {row["key"]: row for row in steps.run(0.01)}
    assert {*rows} == {
        "steps-50x1", "steps-50x1-held", "steps-7x2", "steps-binary-15", "steps-binary-15-held", "steps-snake-9",
        "steps-snake-9-held", "threads-70", "batch-quadruped", "launched-quadruped", "batch-humanoid",
        "launched-humanoid",
    }  # fmt: skip
    assert not [steps.line(row) for row in rows.values() if "failure" in row or "failures" in row]
    assert set(steps.PEERS) == rows["steps-50x1"]["peers"].keys()
    assert "goal" in rows["steps-50x1-held"]
    assert rows["launched-quadruped"]["rate"] > 0
    assert [*steps.run(0.01, rows)] == [*rows.values()]


@pytest.mark.usefixtures("on_the_cpu")
def test_a_step_s_growth_is_measured_from_end_to_end(monkeypatch):
    monkeypatch.setattr(step_growth, "SIZES", {"links": (1, 3), "batch": (1, 4)})
    monkeypatch.setattr(step_growth, "FOR_A_RUN", 1e-3)
    *rows, findings = step_growth.run(1)
    assert not [row for row in rows if not row.get("us", 0) > 0]
    assert {row["candidate"] for row in rows} >= {"abia on cpu", "dca on cpu", "abia on cuda", "dca on cuda"}
    assert findings["crossings"]


@pytest.mark.parametrize("suite", ["gpu", "growth", "steps", "step-growth"])
def test_without_a_gpu_one_sentence_says_why(capsys, monkeypatch, suite):
    monkeypatch.setattr(device, "why_not", lambda: "CUDA finds no device")
    if suite in SUITES:
        assert main.main(["bench", "--suite", suite, "--json"]) == 1
    else:
        assert command.main(["--suite", suite, "--json"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "CUDA finds no device" in captured.err


def test_rows_are_written_as_they_come_and_a_failed_one_is_told(capsys, monkeypatch, tmp_path):
    path = tmp_path / "rows.jsonl"

    def run(_seconds, _finished):
        yield {"key": "one", "residual": math.inf, "parts": [1, math.nan]}
        assert path.read_text("utf-8").splitlines()[1:] == ['{"key": "one", "residual": null, "parts": [1, null]}']
        yield {"key": "two", "failure": "it broke"}

    monkeypatch.setitem(SUITES, "gpu", Suite(run, 2, gpu.table, None, gpu.line))
    assert main.main(["bench", "--suite", "gpu", "--json", "--rows", str(path)]) == 1
    captured = capsys.readouterr()
    assert "two: failed: it broke" in captured.err
    answer = json.loads(captured.out)
    assert [row["key"] for row in answer["rows"]] == ["one", "two"]
    assert {"commit", "command", "gpu", "clocks", "packages"} <= set(answer["machine"])
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert lines[0]["machine"].items() >= {k: v for k, v in answer["machine"].items() if k != "clocks"}.items()
    assert lines[1:] == answer["rows"]


def test_pinocchio_on_all_cores_computes_the_same(rng):
    pytest.importorskip("pinocchio")
    model = engine.chain(6, prismatic=1 / 3)
    at = state(model, rng, 40)
    for timing in (pinocchio.one_core(model, at, 0.01), pinocchio.all_cores(model, at, 0.01)):
        assert timing.residual < 1e-12
        assert 1e-6 < timing.seconds < 1
        assert timing.first > 0


def test_mujoco_is_given_the_very_same_robot(rng):
    mujoco = pytest.importorskip("mujoco")
    model = engine.chain(8, prismatic=1 / 3)
    q, v, tau = (x[0] for x in state(model, rng))
    theirs = mujoco_model(model)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
    mujoco.mj_forward(theirs, data)
    np.testing.assert_allclose(data.qacc, engine.forward_dynamics(model, q, v, tau), rtol=1e-8, atol=1e-8)


def test_jaxsim_is_given_the_very_same_robot(rng):
    model = engine.chain(6, prismatic=1 / 3)
    robot = ElementTree.fromstring(jaxsim.sdf(model))
    masses = [float(found.text) for found in robot.iterfind(".//link[@name!='base']/inertial/mass")]
    np.testing.assert_array_equal(masses, model.mass)
    with pytest.raises(peer.Missing, match="free joints"):
        jaxsim.sdf(engine.tree(3, floating=True))
    pytest.importorskip("jaxsim")
    timing = jaxsim.on_jaxsim(model, state(model, rng, 3), 0.01)
    assert timing.residual < 1e-3


def test_a_peer_that_is_not_installed_says_so(monkeypatch):
    monkeypatch.setattr(peer, "find_spec", lambda _name: None)
    with pytest.raises(peer.Missing, match="MuJoCo is not installed"):
        mujoco_model(engine.chain(2))


def test_a_fresh_process_is_timed_to_its_first_line(tmp_path):
    assert 0 < first_answers.time_fresh_process("print(1)", str(tmp_path)) < 60
    with pytest.raises(RuntimeError, match="ValueError: no answer"):
        first_answers.time_fresh_process("raise ValueError('no answer')", str(tmp_path))


@pytest.mark.gpu
def test_forward_dynamics_on_the_gpu_is_timed_and_checked(rng):
    model = engine.chain(5)
    at = state(model, rng, 100)
    found = gpu_timing.time_algorithm(gpu_timing.OnDevice.of(model, at, "float64"), "abia", 0.05)
    assert found.residual < 1e-11
    assert found.captured
    assert 0 < found.device <= found.call
    assert all(seconds > 0 for seconds in gpu_timing.copies(at, "float64"))


@pytest.mark.gpu
def test_what_waits_for_the_gpu_is_not_captured():
    assert clock.capture_graph(clock.synchronize) is None


@pytest.mark.gpu
def test_arms_in_single_precision_keep_their_energy_as_on_the_cpu():
    row = swarm.run(0, robots=512, steps=200)
    assert row["apart_from_cpu_rad"] < 1e-3
    assert row["energy_drift_difference_J"] < 0.1 * row["energy_drift_cpu_J"] + 1e-3
    assert row["steps_per_second"] > 0


def test_a_row_that_fails_leaves_the_others(monkeypatch):
    def broken(_model, at, _dtype):
        raise MemoryError(f"{len(at.q)} robots")

    monkeypatch.setattr(device, "why_not", lambda: None)
    monkeypatch.setattr(gpu, "WORKS", gpu.WORKS[2:4])
    monkeypatch.setattr(gpu.OnDevice, "of", broken)
    monkeypatch.setattr(swarm, "run", lambda _seconds: {"robots": 3})
    monkeypatch.setattr(first_answers, "run", lambda _seconds: {"cold_s": 1.0})
    rows = list(gpu.run(0.01))
    assert [row["key"] for row in rows] == [*(work.key for work in gpu.WORKS), "race", "simulation", "first-answer"]
    assert [row.get("failure") for row in rows] == [*["MemoryError: 1 robots"] * 3, None, None]
