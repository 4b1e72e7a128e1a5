"""Comparisons: winners, users' algorithms, and timers."""

import csv
import dataclasses
import io
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import engine
import main
from engine import robot_words
from engine.bench import intervals
from engine.bench.compare import candidate, record, result
from engine.child_process import Children

EXAMPLE = Path(__file__).parents[2] / "docs" / "own_algorithm.py"
OWN = """
import os
import time
import engine


def slow(model, q, v, tau):
    time.sleep(0.002)
    return engine.forward_dynamics(model, q, v, tau)


def wrong(model, q, v, tau):
    return engine.forward_dynamics(model, q, v, tau) * (1 + 1e-9)


def scribbles(model, q, v, tau):
    q[0] = 1


def short(model, q, v, tau):
    return tau[:, 1:]


def leaves(model, q, v, tau):
    raise SystemExit("over")


def turns_wrong(model, q, v, tau, calls=[]):
    calls.append(1)
    return engine.forward_dynamics(model, q, v, tau) * (1 if len(calls) < 9 else 2)


def hangs(model, q, v, tau):
    while True:
        pass


def hangs_later(model, q, v, tau, calls=[]):
    calls.append(1)
    while len(calls) > 1200:
        pass
    return engine.forward_dynamics(model, q, v, tau)


def crashes(model, q, v, tau):
    os._exit(3)


def interrupts(model, q, v, tau):
    raise KeyboardInterrupt
"""


@pytest.fixture
def users(tmp_path):
    """A file of a user's."""
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    return path


@pytest.fixture
def busy():
    """Both cores of a small machine have other work."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    yield
    for other in others:
        other.kill()
        other.wait()


@pytest.fixture(scope="module")
def children():
    """Three processes, started once, for comparisons that end none: the interval of two is very wide."""
    with Children(3) as processes:
        yield processes


def last(comparison, **options):
    return list(comparison.run(**options))[-1]


def by_name(report):
    return {row.algorithm: row for row in report.rows}


@pytest.mark.parametrize("n", [7, 11, 50, 500])
def test_the_interval_of_a_median_holds_it_as_often_as_it_says(rng, n):
    samples = np.exp(rng.standard_cauchy((2000, n)).clip(-50, 50))
    held = [found.low <= 1 <= found.high for found in map(intervals.of_median, samples)]
    assert np.mean(held) >= (0.97 if n < 11 else 0.9965)
    assert intervals.of_median(samples[0][:6]) is None


@pytest.mark.parametrize(("processes", "spread"), [(5, 0.002), (5, 0.03), (3, 0.05)])
def test_the_interval_of_some_processes_holds_what_as_many_others_find(rng, processes, spread):
    medians = np.exp(spread * rng.standard_normal((2000, 2, processes)))
    pairs = [(intervals.of_runs(one), intervals.of_runs(other)) for one, other in medians]
    assert np.mean([one.low <= other.middle <= one.high for one, other in pairs]) > 0.98
    assert intervals.of_runs(medians[0, 0, :0]) is None
    one = intervals.of_runs(np.ones(5))  # that they agree is chance
    assert 1.01 < one.high < 1.02


def test_paired_ratios_see_five_percent_through_noise_that_both_share(rng):
    noise = np.exp(rng.exponential(1, 400))
    own_noise = np.exp(0.02 * rng.standard_normal((2, 400)))
    found = intervals.of_ratio(1.05 * noise * own_noise[0], noise * own_noise[1])
    assert 1.03 < found.low < found.middle < found.high < 1.07
    gaps = np.where(np.arange(400) % 2, np.nan, noise)
    assert intervals.of_ratio(2 * gaps, noise) == (2, 2, 2)


@pytest.mark.usefixtures("busy")
def test_on_a_busy_machine_a_winner_wins_each_time_and_an_algorithm_never_against_itself():
    same = engine.Comparison(["arm7"], ["abia", "abia"], seconds=0.05)
    others = engine.Comparison([engine.chain(400)], ["jsiia", "abia"], seconds=0.2)
    with Children(3) as children:
        for _ in range(4):
            twice = last(same, children=children)
            assert [row.algorithm for row in twice.rows] == ["abia", "abia (2)"]
            assert not any(row.winner for row in twice.rows)
            assert "no difference of more than 5 % was found between" in twice.findings()[0]
        decided = 0
        for _ in range(10):  # undecided where the machine is so busy that the processes differ many times over
            found = by_name(last(others, children=children))
            assert not found["jsiia"].winner
            assert found["abia"].ratio == (1, 1, 1)
            assert found["jsiia"].host_interval.low <= found["jsiia"].host <= found["jsiia"].host_interval.high
            assert [len(row.host_runs) for row in found.values()] == [3] * 2
            if found["abia"].winner:
                assert not found["jsiia"].level
                assert 1 < found["jsiia"].ratio.low <= found["jsiia"].ratio.high
                decided += 1
            if decided == 2:
                break
        assert decided == 2


def test_every_algorithm_is_timed_or_says_why_not(children):
    comparison = engine.Comparison(["quadruped", engine.chain(4)], seconds=0.03, devices=["cpu"])
    found = last(comparison, children=children)
    rows = {(row.model, row.algorithm): row for row in found.rows}
    assert len(rows) == 10
    for (model, name), row in rows.items():
        if model == "chain4" or name in ("abia", "dca", "jsiia"):
            assert (row.verdict, row.reason) == ("ok", "")
            assert row.residual < 1e-11
            assert row.turns >= intervals.MIN_TURNS
            assert row.host > 0
            assert row.on_device is None
        else:
            assert row.verdict == "refused"
            assert "is free" in row.reason
            assert row.host is None
    assert {row.batch for row in rows.values()} == {1}
    assert np.median([row.first / row.host for row in rows.values() if row.host]) > 1


def test_the_fastest_is_the_one_that_wins_within_rounds():
    """The machine halves its pace; one that has its turns after that alone has the worse median, and no blame."""
    model = engine.chain(2)
    often, seldom, slow = (
        record.Record(candidate.Candidate(model, "chain2", name, name, "cpu", "float64", 1, True), "ok", residual=1e-15)
        for name in ("abia", "dca", "jsiia")
    )
    pace = np.repeat([1.0, 2.0], (10, 20))
    often.host, slow.host = [0.9e-6 * pace] * 5, [5e-6 * pace] * 5
    seldom.host = [np.where(np.arange(30) < 12, 1e-6 * pace, np.nan)] * 5
    assert seldom.medians[0] < often.medians[0]
    rows = record.results([slow, seldom, often])
    assert [row.winner for row in rows] == [False, False, True]
    assert rows[1].ratio.middle == pytest.approx(1 / 0.9)
    assert rows[1].ratio_runs == pytest.approx([1 / 0.9] * 5)
    said = result.ComparisonResult(tuple(rows), 1, 0, "").findings()[0]
    assert said.startswith("chain2, float64: abia on cpu is the fastest; dca on cpu takes 1.111 times as long")


def test_a_joint_whose_limits_are_nought_and_minus_nought_is_no_obstacle(children):
    model = engine.chain(2)
    stuck = dataclasses.replace(model, lower=np.zeros(2), upper=np.array([-0.0, 1.0]))
    assert last(engine.Comparison([stuck], ["abia"], ["cpu"], seconds=0.001), children=children).rows[0].verdict == "ok"


def test_what_nobody_asked_for_is_left_out_where_it_would_take_too_long(monkeypatch, children):
    comparison = engine.Comparison([engine.chain(513)], seconds=0.01, devices=["cpu"])
    found = by_name(last(comparison, children=children))
    assert found["jsiia"].reason.startswith("it is recommended up to 512 links")
    monkeypatch.setattr(candidate, "MAX_SECONDS", 1e-9)
    model = engine.chain(3)
    few = candidate.Candidate(model, "chain3", "abia", "abia", "cpu", "float64", 20, requested=False)
    few.attempt(lambda: few.prepare(candidate.sample_states(model, 20, 0)))
    assert "one call would take about" in few.reason
    asked = last(engine.Comparison(["arm7"], ["abia"], ["cpu"], ["float32"], batch=20, seconds=0.01), children=children)
    assert asked.rows[0].verdict == "ok"


def test_users_own_algorithms_stand_beside_ours_with_their_faults(users, children):
    names = ["slow", "wrong", "scribbles", "short", "leaves", "turns_wrong", "nothing"]
    words = ["abia", *(f"{users}:{name}" for name in names)]
    report = last(engine.Comparison(["arm7"], words), children=children)
    found = {row.algorithm.removeprefix("mine.py:"): row for row in report.rows}
    assert found["abia"].winner
    assert found["slow"].verdict == "ok"
    assert found["slow"].ratio.middle > 10
    for name in names[1:]:
        assert (found[name].host, found[name].ratio, found[name].winner) == (None, None, False)
    assert {name: found[name].verdict for name in names[1:]} == {
        "wrong": "wrong", "scribbles": "failed", "short": "wrong", "leaves": "failed", "turns_wrong": "wrong",
        "nothing": "failed",
    }  # fmt: skip
    assert 1e-10 < found["wrong"].residual < 1e-8
    assert "allowed in float64: 1e-11" in found["wrong"].reason
    assert "read-only (mine.py, line 17: q[0] = 1)" in found["scribbles"].reason
    assert found["short"].reason == "its result has the shape (1, 6); expected (1, 7)"
    assert found["leaves"].reason == 'SystemExit: over (mine.py, line 25: raise SystemExit("over"))'
    assert "mine.py has no function 'nothing'; it has slow, wrong" in found["nothing"].reason


def test_a_file_is_read_anew_and_a_slip_in_it_is_shown(users, children):
    comparison = engine.Comparison(["arm7"], ["abia", f"{users}:wrong"], seconds=0.01)
    assert by_name(last(comparison, children=children))["mine.py:wrong"].verdict == "wrong"
    users.write_text("import engine\n\ndef wrong(model, q, v, tau:\n    return tau\n")
    row = by_name(last(comparison, children=children))["mine.py:wrong"]
    assert row.verdict == "failed"
    assert "(mine.py, line 3: def wrong(model, q, v, tau:)" in row.reason
    users.write_text("import engine\nraise RuntimeError('not now')\n")
    assert (
        "RuntimeError: not now (mine.py, line 2: raise"
        in by_name(last(comparison, children=children))["mine.py:wrong"].reason
    )
    users.unlink()
    assert by_name(last(comparison, children=children))["abia"].verdict == "ok"


def test_the_example_that_ships_is_right_for_every_robot_that_ships(children):
    ships = sorted(path.stem for path in engine.ROBOTS.glob("*.urdf"))
    comparison = engine.Comparison(ships, [f"{EXAMPLE}:by_columns"], batch=3, seconds=0.001)
    found = last(comparison, children=children)
    assert {row.verdict for row in found.rows} == {"ok"}
    assert [row.model for row in found.rows] == ships


@pytest.mark.usefixtures("two_processes")
def test_it_can_be_stopped_at_any_time_with_what_it_has():
    comparison = engine.Comparison(["arm7"], ["abia", "jsiia"], seconds=30)
    seen = []
    seen.extend(comparison.run(stop=lambda: bool(seen) and seen[-1].rows[1].turns > 30))
    assert seen[-1].doing == "stopped"
    assert all(row.turns > 0 for row in seen[-1].rows)
    assert seen[0].done <= seen[3].done <= seen[-2].done < 0.5
    assert seen[-2].left > 1
    running = comparison.run()
    closed = next(now for now in running if now.rows[0].verdict == "ok")
    running.close()
    assert closed.rows[1].verdict == "waiting"


@pytest.mark.usefixtures("two_processes")
@pytest.mark.parametrize(
    ("name", "verdict", "said"),
    [("hangs", "waiting", "it was being prepared when all was stopped"), ("hangs_later", "ok", "")],
)
def test_stop_ends_a_users_function_that_hangs(users, name, verdict, said, monkeypatch):
    monkeypatch.setattr("engine.bench.compare.comparison.LONG", 0.6)
    comparison = engine.Comparison(["arm7"], ["abia", f"{users}:{name}"], seconds=5.0)
    asked = []  # when, in s

    def stop():
        return bool(asked)

    for now in comparison.run(stop):
        if not asked and " s · process" in now.doing:  # it has been silent for a while
            assert ("preparing arm7: mine.py:hangs on cpu" in now.doing) == (name == "hangs")
            asked.append(time.perf_counter())
    assert time.perf_counter() - asked[0] < 20
    rows = by_name(now)
    assert rows["abia"].verdict == "ok"
    assert (rows["abia"].host is not None) == (name == "hangs_later")
    assert (rows[f"mine.py:{name}"].verdict, rows[f"mine.py:{name}"].reason) == (verdict, said)


@pytest.mark.usefixtures("two_processes")
def test_a_users_function_that_ends_its_process_ends_no_other(users):
    names = ["abia", f"{users}:crashes", f"{users}:interrupts"]
    rows = by_name(last(engine.Comparison(["arm7"], names, seconds=0.05)))
    assert rows["abia"].verdict == "ok"
    assert len(rows["abia"].host_runs) == 2
    assert rows["mine.py:crashes"].reason == "its process ended itself with the exit code 3"
    assert rows["mine.py:interrupts"].reason.startswith("KeyboardInterrupt (mine.py, line")


@pytest.mark.usefixtures("two_processes")
def test_curves_over_links_cross_where_one_overtakes_the_other():
    scaling = engine.Scaling("links", (2, 64), algorithms=("abia-hybrid", "jsiia", "abia"), seconds=0.01)
    *_, found = scaling.run()
    curves = found.curves()
    assert list(curves) == [("abia-hybrid", "cpu"), ("jsiia", "cpu"), ("abia", "cpu")]
    assert all(list(curve) == [2, 64] for curve in curves.values())
    rows = list(csv.DictReader(io.StringIO(found.csv())))
    assert [(row["axis"], row["size"], row["algorithm"]) for row in rows[::3]] == [
        ("links", "2", "abia-hybrid"), ("links", "64", "abia-hybrid"),
    ]  # fmt: skip
    size = engine.Growth("links", _points({"a": {1: 1.0, 4: 4.0}, "b": {1: 2.0, 4: 2.0}}), 1, 0, "").crossings()
    at = pytest.approx(2)
    assert size == (engine.Crossing(at, ("b", "cpu"), ("a", "cpu"), at, at),)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (None, None, "about 350 (the smallest to beyond the largest)"), (301, 412, "about 350 (300 to 410)"),
        (None, 412, "about 350 (the smallest to 410)"), (349, 352, "about 350"),
    ],
)  # fmt: skip
def test_a_crossing_is_told_with_its_band_in_two_digits(low, high, words):
    assert engine.Crossing(351, "dca", "abia", low, high).words() == words


def _points(curves):
    blank = ("m", "cpu", "float64", 1, "ok", "", 0.0, 0.0, 9)
    return tuple(
        engine.Point(
            size, engine.AlgorithmResult("m", name, *blank[1:], host, None, None, engine.Interval(1, 1, 1), True, False)
        )
        for name, curve in curves.items()
        for size, host in curve.items()
    )


@pytest.mark.usefixtures("two_processes")
def test_the_command_measures_the_same_again(capsys, users, tmp_path):
    file = tmp_path / "two hands.urdf"
    file.write_text(engine.find_robot("arm6").read_text())
    models = [engine.load(engine.find_robot("arm7")), engine.chain(5), engine.load(file)]
    comparison = engine.Comparison(models, ["abia", f"{users}:wrong"], ["cpu"], ["float32"], 2, 0.01, 4)
    words = shlex.split(comparison.command())
    assert words[:5] == ["main.py", "compare", "arm7", "chain:5", str(file)]
    assert main.main([*words[1:], "--json"]) == 0  # an error that single precision would make as well
    answer = json.loads(capsys.readouterr().out)
    assert answer["command"] == comparison.command()
    assert [(row["model"], row["batch"], row["dtype"]) for row in answer["results"][::2]] == [
        ("arm7", 2, "float32"), ("chain5", 2, "float32"), ("arm6", 2, "float32"),
    ]  # fmt: skip
    floating = engine.load(engine.find_robot("arm6"), floating=True)
    assert robot_words.words(floating) == ("arm6", "--floating")
    assert robot_words.words(engine.load(engine.find_robot("quadruped"))) == ("quadruped",)
    with pytest.raises(ValueError, match="is in no file, so that no command can name it"):
        robot_words.words(engine.chain(5, seed=7))


@pytest.mark.usefixtures("two_processes")
def test_table_data_and_picture_of_one_call(capsys, users, tmp_path):
    table, picture = tmp_path / "results.csv", tmp_path / "results.svg"
    words = ["compare", "arm7", "--algorithm", "abia", "--algorithm", f"{users}:wrong", "--seconds", "0.02"]
    assert main.main([*words, "--csv", str(table), "--picture", str(picture)]) == 1
    told = capsys.readouterr().out
    for said in ("abia", "mine.py:wrong", "WRONG", "its residual is 1e-09; allowed in float64: 1e-11"):
        assert said in told
    one, other = csv.DictReader(io.StringIO(table.read_text("utf-8")))
    assert float(one["host_low"]) <= float(one["host"]) <= float(one["host_high"])
    assert (other["algorithm"], other["verdict"], other["host"]) == ("mine.py:wrong", "wrong", "")
    drawn = picture.read_text("utf-8")
    assert "wrong: its residual is 1e-09" in drawn
    assert "abia, cpu" in drawn
    assert (
        main.main(["compare", "--over", "batch", "--sizes", "1,4", "--seconds", "0.01", "--picture", str(picture)]) == 0
    )
    assert "robots" in picture.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "there is no file 'nowhere'"),
        ((), "models is empty; name at least one robot"),
        (("chain:none",), "robot 'chain:none': expected a number of links of 1 or more"),
        (("arm7", "--algorithm", "quick"), "algorithm 'quick' is unknown; expected abia, dca"),
        (("arm7", "--algorithm", "none.py:f"), "there is no file 'none.py' to take 'f' from"),
        (("arm7", "--algorithm", "none.py"), "'none.py' names no function; give it as none.py:name"),
        (("arm7", "--device", "tpu"), "device is 'tpu'; expected one of 'cpu', 'cuda'"),
        (("arm7", "--batch", "0"), "batch is 0; expected a whole number of 1 or more"),
        (("arm7", "--seconds", "-1"), "seconds is -1.0; expected a positive number"),
        (("arm7", "--sizes", "1"), "--sizes goes with --over"),
        (("arm7", "--over", "links"), "--over links makes its own chains; leave out arm7"),
        (("arm7", "--csv", "no/such/folder.csv"), "make it first"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_measured(capsys, words, said):
    try:
        code = main.main(["compare", *words])
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    assert code == 2
    assert said in captured.err
    assert captured.out == ""
