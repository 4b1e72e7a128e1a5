"""Measured rows in files: stored as they arrive, continued, compared with earlier ones; none is lost or overwritten."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import main
from engine.bench import facts
from engine.bench.compare.result import AlgorithmResult
from engine.bench.results import Results, read
from engine.bench.suites import against, batches, command, cpu, first_answers, gpu, lengths, threads
from engine.cuda.runtime import device
from engine.selection import capabilities
from tests.bench import accuracy, growth
from tests.bench import command as ours

ROOT = Path(__file__).parents[2]
MACHINE = {"processor": "one", "cores": 2, "python": "3", "numpy": "2", "packages": {}, "commit": "c", "gpu": None}
PLAN = {"suite": "cpu", "seconds": 1.0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


@pytest.fixture
def machine(monkeypatch):
    """A constant machine description, whatever is being edited meanwhile."""
    monkeypatch.setattr(facts, "collect", lambda: dict(MACHINE))


def fill(path, rows, plan=PLAN, machine=MACHINE):
    with Results(path, plan, machine) as results:
        for row in rows:
            results.add(row)


def test_rows_are_kept_and_gone_on_from(path):
    fill(path, [{"key": "a", "us": 1.5, "low": float("nan")}])
    with Results(path, PLAN, {**MACHINE, "clocks": "others"}) as results:
        assert results.rows == {"a": {"key": "a", "us": 1.5, "low": None}}
        results.add({"key": "b", "at": (1, 2)})
        with pytest.raises(ValueError, match="a row 'b' already"):
            results.add({"key": "b"})
    header, rows = read(path)
    assert header == {"machine": MACHINE, "plan": PLAN}
    assert rows == {"a": {"key": "a", "us": 1.5, "low": None}, "b": {"key": "b", "at": [1, 2]}}


def test_each_row_is_on_the_disk_before_it_is_said_to_be_kept(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda _handle: synced.append(path.read_bytes().count(b"\n")))
    fill(path, [{"key": "a"}, {"key": "b"}])
    assert synced == [1, 2, 3]


@pytest.mark.parametrize("cut", [1, 5, 13])
def test_a_line_that_was_cut_short_costs_no_other(path, cut):
    fill(path, [{"key": "a", "us": 1.5}, {"key": "b", "us": 2.5}])
    path.write_bytes(path.read_bytes()[:-cut])
    kept = {"a"} if cut > 1 else {"a", "b"}
    assert read(path)[1].keys() == kept
    fill(path, [{"key": "c"}])
    assert read(path)[1].keys() == kept | {"c"}


def header():
    return json.dumps({"machine": MACHINE, "plan": PLAN}) + "\n"


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ("half a header", "is damaged at line 1 (it is not a header)"),
        (header() + '{"key": "a"}\n{"key": \n{"key": "c"}\n', "is damaged at line 3"),
    ],
)
def test_a_damaged_file_is_told_and_left_as_it_is(path, content, output):
    """Damage of other kinds is in tests/broken."""
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match="mend it, move it, or name another file") as error:
        Results(path, PLAN, MACHINE)
    assert output in str(error.value)
    assert path.read_bytes() == content.encode("latin-1")


@pytest.mark.parametrize(
    ("plan", "machine", "output"),
    [
        ({**PLAN, "seconds": 2.0}, MACHINE, "another plan (seconds: 1.0 there, 2.0 here)"),
        ({"suite": "cpu"}, MACHINE, "another plan (seconds: 1.0 there, None here)"),
        *(
            (PLAN, {**MACHINE, name: {"other": 1}}, f"another machine ({name}: {mine!r} there, {{'other': 1}} here)")
            for name, mine in MACHINE.items()
        ),
    ],
)
def test_rows_of_another_plan_or_machine_are_not_mixed_with(path, plan, machine, output):
    fill(path, [{"key": "a"}])
    before = path.read_bytes()
    with pytest.raises(ValueError, match="name another file, or measure as that one was") as error:
        Results(path, plan, machine)
    assert output in str(error.value)
    assert path.read_bytes() == before


@pytest.mark.usefixtures("machine")
def test_bench_goes_on_where_it_was_interrupted(capsys, monkeypatch, path):
    measured = []

    def run(_seconds, finished):
        for key in "abcd":
            if key not in finished:
                measured.append(key)
            yield finished.get(key) or {"key": key, "us": 1.0}
            if measured == ["a", "b"] and not finished:
                raise KeyboardInterrupt

    monkeypatch.setitem(command.SUITES, "cpu", command.Suite(run, 4, lambda rows: f"{len(rows)} rows"))
    assert main.main(["bench", "--rows", str(path)]) == 130
    captured = capsys.readouterr()
    assert "2 rows" in captured.out
    assert "interrupted after 2 rows; the same call continues from there" in captured.err
    assert main.main(["bench", "--rows", str(path)]) == 0
    assert measured == ["a", "b", "c", "d"]
    assert "4 rows" in capsys.readouterr().out
    path.write_text("precious")
    assert main.main(["bench", "--rows", str(path)]) == 2
    assert "is damaged at line 1" in capsys.readouterr().err
    assert path.read_text() == "precious"


SUITES = {
    "cpu": [title for title, *_ in cpu.CASES],
    "threads": [f"links-{n}" for n in threads.LINKS],
    "batches": [*(f"{robot}-{batch}" for robot, batch in batches.CASES), batches.ROLLOUT],
    "algorithms": [f"links-{n}" for n in lengths.LINKS],
    "gpu": [*(work.key for work in gpu.WORKS), "race", "simulation", "first-answer"],
}
"""The keys of the suites' rows."""


@pytest.mark.parametrize("suite", SUITES)
def test_what_is_finished_is_answered_as_it_is_and_not_measured(suite, monkeypatch):
    monkeypatch.setattr(device, "why_not", lambda: None)
    *keys, final = SUITES[suite]
    found = {**command.SUITES, **ours.SUITES}[suite]
    assert found.most == len(keys) + 1
    for module, name in ((cpu, "_measure"), (threads, "_measure"), (lengths, "_measure")):
        monkeypatch.setattr(module, name, lambda *_: {"measured": True})
    monkeypatch.setattr(batches, "_rollout", lambda _seconds: {"measured": True})
    monkeypatch.setattr(first_answers, "run", lambda _seconds: {"measured": True})
    rows = {key: {"key": key} for key in keys}
    *kept, measured = found.run(0.01, rows)
    assert kept == list(rows.values())
    assert measured["key"] == final
    assert measured.get("measured")


def test_finished_residuals_are_answered_as_they_are(monkeypatch):
    monkeypatch.setattr(accuracy, "LENGTHS", (3,))
    rows = list(ours.SUITES["accuracy"].run(1.0, {}))
    assert len(rows) == ours.ROWS_A_LENGTH
    few = {row["key"]: {**row, "residual": -1.0} for row in rows[:5]}
    assert [row["residual"] for row in ours.SUITES["accuracy"].run(1.0, few)][:6] == [-1] * 5 + [rows[5]["residual"]]
    monkeypatch.setattr(accuracy, "residuals", lambda _: pytest.fail("it was measured again"))
    assert list(ours.SUITES["accuracy"].run(1.0, {row["key"]: row for row in rows})) == rows


def test_finished_points_of_growth_are_answered_as_they_are(monkeypatch):
    monkeypatch.setattr(device, "why_not", lambda: None)
    monkeypatch.setattr(growth, "state", lambda *_: pytest.fail("it was measured again"))
    keys = [
        (axis, size, name)
        for axis, sizes in (("links", growth.LINKS), ("batch", growth.BATCHES))
        for size in sizes
        for name in (*capabilities.ALGORITHMS, *growth.PEERS)
        if name not in growth.PEERS or size in growth.PEERS[name][1][axis]
        if name != "jsiia" or axis == "batch" or size <= capabilities.ALGORITHMS[name].largest
    ]
    point = {"us": 1.0, "call_us": 1.0, "links": 1, "batch": 1}
    rows = {"-".join(map(str, key)): {"axis": key[0], "candidate": key[2], **point} for key in keys}
    rows = {key: {"key": key, **row} for key, row in rows.items()}
    *kept, findings = growth.run(0.01, rows)
    assert sorted(map(str, kept)) == sorted(map(str, rows.values()))
    assert findings["key"] == "findings"
    assert len(rows) < growth.MAX_ROWS


TWO_PROCESSES = """import sys
import main
from engine.bench.compare import command, comparison, scaling
comparison.PROCESSES = command.PROCESSES = scaling.PROCESSES = 2
sys.exit(main.main(sys.argv[1:]))
"""
"""`main.py` as with the fixture `two_processes`."""


@pytest.mark.usefixtures("two_processes")
def test_a_process_that_is_killed_loses_no_finished_measurement(path, capsys):
    words = ["--over", "links", "--sizes", "2,3,4,5,6", "--algorithm", "abia", "--seconds", "0.3", "--rows", str(path)]
    victim = subprocess.Popen(
        [sys.executable, "-c", TWO_PROCESSES, "compare", *words], cwd=ROOT, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (path.exists() and path.read_bytes().count(b"\n") >= 3):
        assert victim.poll() is None, victim.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.01)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    before = path.read_bytes()
    assert 2 <= len(read(path)[1]) < 5
    assert main.main(["compare", *words, "--json"]) == 0
    assert path.read_bytes().startswith(before[: before.rindex(b"\n") + 1])
    assert list(read(path)[1]) == [f"links-{n}" for n in (2, 3, 4, 5, 6)]
    results = json.loads(capsys.readouterr().out)["results"]
    assert [row["size"] for row in results] == [2, 3, 4, 5, 6]
    assert [row["host"] for row in results] == [row["results"][0]["host"] for row in read(path)[1].values()]


@pytest.mark.usefixtures("ctrl_c_is_heard", "two_processes")
def test_ctrl_c_ends_a_comparison_whose_users_function_hangs_and_shows_what_it_has(path, tmp_path, capsys):
    mine, table = tmp_path / "mine.py", tmp_path / "table.csv"
    mine.write_text(
        "import engine\n\n\ndef hangs(model, q, v, tau):\n    while model.nv > 2:\n        pass\n"
        "    return engine.forward_dynamics(model, q, v, tau)\n"
    )
    words = ["compare", "chain:2", "chain:3", "--algorithm", "abia", "--algorithm", f"{mine}:hangs"]
    words += ["--seconds", "0.02", "--rows", str(path)]
    victim = subprocess.Popen(
        [sys.executable, "-c", TWO_PROCESSES, *words, "--csv", str(table), "--json"], cwd=ROOT, stdout=subprocess.PIPE
    )
    until = time.monotonic() + 60
    while not (path.exists() and path.read_bytes().count(b"\n") >= 2):
        assert victim.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    victim.send_signal(signal.SIGINT)
    answer = json.loads(victim.communicate(timeout=120)[0])
    assert victim.returncode == 130
    assert answer["interrupted"]
    assert [row["verdict"] for row in answer["results"][:2]] == ["ok", "ok"]
    assert list(read(path)[1]) == ["chain2"]
    assert table.read_text().count("chain2") == 2
    mine.write_text(mine.read_text() + "\n")
    assert main.main(words) == 2
    assert "contains rows of another plan (files:" in capsys.readouterr().err


def test_rows_of_comparisons_in_one_process_are_read_still():
    kept = {
        "model": "arm7", "algorithm": "abia", "device": "cpu", "dtype": "float64", "batch": 1, "verdict": "ok",
        "reason": "", "residual": 8e-15, "first": 0.1, "turns": 99, "host": 2e-6, "host_interval": [1e-6, 2e-6, 3e-6],
        "on_device": None, "ratio": [1.0, 1.0, 1.0], "level": True, "winner": True,
    }  # fmt: skip
    found = AlgorithmResult.of(kept)
    assert (found.host_interval.high, found.host_runs) == (3e-6, ())
    assert AlgorithmResult.of(found.plain()) == found


def row(key, low, middle, high):
    return {"key": key, "spread": {"us": [low, middle, high]}}


BEFORE = [row("same", 1, 2, 3), row("slow", 1, 2, 3), row("fast", 4, 5, 6), row("near", 1.0, 1.01, 1.02)]
NOW = [row("same", 2.5, 3, 3.5), row("slow", 3.5, 4, 5), row("fast", 1, 2, 3), row("near", 1.03, 1.04, 1.05)]


@pytest.mark.usefixtures("machine")
def test_what_got_slower_beyond_noise_is_said_and_answers_no(capsys, monkeypatch, path):
    fill(path, BEFORE)
    suite = command.Suite(lambda _seconds, _finished: iter(now), 4, lambda _rows: "shown")
    monkeypatch.setitem(command.SUITES, "cpu", suite)
    now = NOW
    assert main.main(["bench", "--against", str(path)]) == 1
    output = capsys.readouterr().err
    assert "slow, us: 2.00 times slower, 4 after 2" in output
    assert "fast, us: 2.50 times faster, 2 after 5" in output
    assert output.endswith("1 slower and 1 faster beyond noise, of 4 shared rows\n")
    monkeypatch.setitem(
        command.SUITES, "cpu", suite._replace(run=lambda _seconds, finished: iter(NOW if not finished else BEFORE))
    )
    assert main.main(["bench", "--against", str(path)]) == 0
    assert "0 slower and 1 faster" in capsys.readouterr().err
    monkeypatch.setitem(command.SUITES, "cpu", suite)
    now = [NOW[0], *NOW[2:]]
    assert main.main(["bench", "--against", str(path)]) == 0
    assert main.main(["bench", "--json"]) == 0
    printed = path.with_suffix(".json")
    capsys.readouterr()
    assert main.main(["bench", "--json"]) == 0
    printed.write_text(capsys.readouterr().out)
    assert main.main(["bench", "--against", str(printed)]) == 0
    assert "0 slower and 0 faster" in capsys.readouterr().err
    now = [row("other", 1, 2, 3)]
    assert main.main(["bench", "--against", str(path)]) == 2
    assert "has no row of this suite" in capsys.readouterr().err


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("form", ["--rows", "--json"])
def test_results_of_another_suite_are_refused_before_anything_is_measured(capsys, monkeypatch, path, form):
    def measured(_seconds, _finished):
        raise AssertionError("nothing is measured")

    for name, run in (("threads", lambda _seconds, _finished: iter(NOW)), ("cpu", measured)):
        monkeypatch.setitem(command.SUITES, name, command.Suite(run, 4, lambda _rows: "shown"))
    assert main.main(["bench", "--suite", "threads", form, *[str(path)] * (form == "--rows")]) == 0
    if form == "--json":
        path.write_text(capsys.readouterr().out)
    assert main.main(["bench", "--against", str(path)]) == 2
    assert "has rows of the suite 'threads', and not of 'cpu'" in capsys.readouterr().err


def test_another_machines_results_are_no_measure(path):
    fill(path, BEFORE)
    there, rows = against.read(path, "cpu")
    assert list(rows) == ["same", "slow", "fast", "near"]
    against.require_comparable(path, {**MACHINE, "python": "4"}, there)
    with pytest.raises(ValueError, match="measured on another machine") as error:
        against.require_comparable(path, {**MACHINE, "gpu": {"name": "G"}}, there)
    assert "(one, 2 cores, no GPU; this is one, 2 cores, G)" in str(error.value)


def test_times_on_the_gpu_are_judged_by_the_middle_half_of_the_rounds():
    before = {"a": {"key": "a", "device_us": 10.0, "device_us_quartiles": [9.9, 10.1]}}
    now = {"a": {"key": "a", "device_us": 12.0, "device_us_quartiles": [11.9, 12.1]}}
    assert against.changes(before, now) == [("a", "device_us", 10.0, 12.0)]
    assert against.changes(before, before) == []


@pytest.mark.parametrize("rows", ["3", "[1]", "[{}]"])
def test_a_table_without_rows_is_told(tmp_path, rows):
    path = tmp_path / "table.json"
    path.write_text(f'{{"machine": {{}}, "rows": {rows}}}')
    with pytest.raises(ValueError, match="contains no rows"):
        against.read(path, "cpu")
