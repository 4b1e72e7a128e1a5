"""The automatic choice: from artificial tables with a known result, and from a real, small measurement."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from test_capabilities import LINK, MIMIC

import engine
import main
from engine import files
from engine.bench.suites import measure
from engine.cpu.runtime.cores import cores
from engine.selection import capabilities, choice, shipped, timings
from engine.selection.timings import Case, Measurements, Row


@pytest.fixture(autouse=True)
def cache(nothing_measured, monkeypatch, tmp_path):
    """The cache folder of a user who never measured anything, with no table that ships."""
    monkeypatch.setattr(shipped, "FILE", tmp_path / "ships.json")
    shipped.table.cache_clear()
    yield nothing_measured
    shipped.table.cache_clear()


POWERS = {"abia": (1e-6, 1.0), "dca": (8e-6, 0.5), "jsiia": (2e-6, 2.0)}
"""Made-up times in s: a factor, and the power of the number of links. abia meets dca at 64 links."""
LENGTHS = (1, 10, 100, 1000)


def table(times=None, residuals=None, batches=(1, 64), shapes=("chain", "tree"), dtypes=("float64", "float32")):
    times, residuals = times or POWERS, residuals or {}
    return Measurements(
        timings.table_path(),
        tuple(
            Row(
                shape,
                n,
                batch,
                dtype,
                name,
                factor * n**power * batch**0.5,
                residuals.get(name, lambda _: 1e-14)(n),
                work,
            )
            for work in ("call", "step")
            for shape in shapes
            for dtype in dtypes
            for batch in batches
            for n in LENGTHS
            for name, (factor, power) in times.items()
        ),
    )


def test_never_measured_takes_the_default_at_once_and_offers_the_measurement(cache):
    name, why = choice.choose(engine.chain(5000))
    assert name == "abia"
    assert re.fullmatch(
        r"abia: the default, O\(n\) for n links, where nothing was measured; `main.py bench --measure.*", why
    )
    assert choice.changes(engine.chain(5)) == ()
    assert engine.ForwardDynamics(engine.chain(3)).why == why
    assert not list(cache.glob("choice-*"))


@pytest.mark.parametrize(
    ("links", "batch", "words"),
    [
        (
            10,
            1,
            "abia: 10 µs beside 25.3 µs for dca on up to {cores} threads, measured for 10-link chains on this machine",
        ),
        (
            1000,
            1,
            "dca on up to {cores} threads: 253 µs beside 1 ms for abia, measured for 1000-link chains on this machine",
        ),
        (
            25,
            1,
            "abia: 25 µs beside 40 µs for dca on up to {cores} threads, interpolated from chains of 10 and 100 links",
        ),
        (4000, 1, "dca on up to {cores} threads: 506 µs beside 4 ms for abia, extrapolated from chains of 1000 links"),
        (
            100,
            4,
            "dca on up to {cores} threads: 160 µs beside 283 µs for abia for a batch of 4, "
            "interpolated from chains of 100 links in batches of 1 and 64",
        ),
        (
            100,
            128,
            "dca on up to {cores} threads: 1.28 ms beside 1.6 ms for abia for a batch of 128, "
            "extrapolated from chains of 100 links in batches of 64",
        ),
    ],
)
def test_the_fastest_is_chosen_and_why_holds_the_figures(links, batch, words):
    table().save()
    name, why = choice.choose(engine.chain(links), batch=batch)
    assert why.startswith(words.format(cores=cores()))
    assert why.startswith(name)
    assert why.endswith(" on this machine")


def test_a_small_gain_changes_nothing():
    table({"abia": (1.04e-6, 1.0), "jsiia": (1e-6, 1.0)}).save()
    small = "10 µs for jsiia, too small a gain to prefer the latter, measured for 10-link trees on this machine"
    assert choice.choose(engine.tree(10)) == ("abia", f"abia: 10.4 µs beside {small}")
    assert choice.choose(engine.tree(10), work="step").why == f"abia: 10.4 µs a step beside {small}"
    table({"abia": (1.06e-6, 1.0), "jsiia": (1e-6, 1.0)}).save()
    assert choice.choose(engine.tree(10)).algorithm == "jsiia"


def test_the_sizes_at_which_the_choice_changes():
    table().save()
    changes = choice.changes(engine.chain(3))
    assert [change.algorithm for change in changes] == ["abia", "dca"]
    assert changes[0].links == 1
    crossing = changes[1].links
    assert choice.choose(engine.chain(crossing - 1)).algorithm == "abia"
    assert choice.choose(engine.chain(crossing)).algorithm == "dca"
    assert 64 < crossing < 64 * 1.06**2  # where dca has gained 5 %
    assert choice.describe(changes) == f"abia below {crossing} links, dca from {crossing} on"
    assert choice.changes(engine.tree(9)) == changes


def test_an_inaccurate_algorithm_is_never_offered():
    residuals = {"dca": lambda n: 2e-6 * n, "abia": lambda n: 1e-8 * n}
    table(residuals=residuals).save()
    name, why = choice.choose(engine.chain(1000), dtype="float32")
    assert name == "abia"
    assert f"(dca on up to {cores()} threads would leave a relative residual of 0.002)" in why
    assert choice.choose(engine.chain(400), dtype="float32").algorithm == "dca"
    assert choice.choose(engine.chain(600), dtype="float32").algorithm == "abia"
    assert [change.algorithm for change in choice.changes(engine.chain(2), dtype="float32")] == ["abia", "dca", "abia"]


def test_double_precision_is_held_to_more():
    table(residuals={"dca": lambda n: 1e-13 * n}).save()
    assert choice.choose(engine.chain(90)).algorithm == "dca"
    assert choice.choose(engine.chain(200)).algorithm == "abia"
    assert choice.choose(engine.chain(200), dtype="float32").algorithm == "dca"


def test_where_none_is_accurate_the_number_type_is_refused():
    table(residuals={name: lambda n: 1e-5 * n for name in ("abia", "dca", "jsiia")}).save()
    model = engine.tree(500)
    with pytest.raises(ValueError, match=r"accurate enough in float32 for the 500 bodies .*take dtype=\"float64\""):
        engine.ForwardDynamics(model, dtype="float32")
    assert engine.ForwardDynamics(model, algorithm="abia", dtype="float32").algorithm == "abia"


def test_an_algorithm_beyond_its_largest_sensible_size_is_no_candidate():
    table({"abia": (1e-3, 1.0), "jsiia": (1e-9, 1.0)}).save()
    largest = capabilities.ALGORITHMS["jsiia"].largest
    assert choice.choose(engine.tree(largest)).algorithm == "jsiia"
    assert choice.choose(engine.tree(largest + 1)).algorithm == "abia"


def test_the_only_algorithm_that_serves_needs_no_measurement(tmp_path):
    table().save()
    (tmp_path / "mimic.urdf").write_text(MIMIC.format(links=LINK.format("a") + LINK.format("b")))
    name, why = choice.choose(engine.load(tmp_path / "mimic.urdf"))
    assert name == "jsiia"
    assert why == "jsiia: the only algorithm here that serves mimic, since joint 'follow' mimics 'lead'"


def test_what_was_asked_for_is_taken_or_refused():
    assert choice.choose(engine.chain(4), "cfa") == ("cfa", "cfa: chosen by you")
    with pytest.raises(ValueError, match=r"cfa does not support tree12: link .* carries several branches; use abia"):
        choice.choose(engine.tree(12), "cfa")


def test_a_simulation_chooses_among_what_it_steps_with():
    table().save()
    model = engine.chain(1000)
    assert choice.choose(model).algorithm == "dca"
    assert engine.Simulation(model, device="cpu").algorithm == "dca"
    assert {name for names in engine.SIMULATION_ALGORITHMS.values() for name in names} <= set(capabilities.ALGORITHMS)
    with pytest.raises(
        ValueError, match=r"abia-hybrid does not step chain1000 on cpu, .*; use abia or jsiia or cfa or dca"
    ):
        engine.Simulation(model, algorithm="abia-hybrid")


def test_interpolation_keeps_measured_points_and_powers():
    measured = table()
    for row in measured.rows:
        assert measured.seconds(
            row.algorithm, Case(row.shape, row.links, row.batch, row.dtype, row.work)
        ) == pytest.approx(row.seconds, rel=1e-12)
    for links in (3, 77, 5000):
        assert measured.seconds("jsiia", Case("chain", links, 8, "float64")) == pytest.approx(
            2e-6 * links**2 * 8**0.5, rel=1e-12
        )
    assert measured.seconds("cfa", Case("chain", 3, 1, "float64")) is None


def test_robots_that_go_through_lanes_count_as_whole_blocks():
    measured = table()
    times = [measured.seconds("abia", Case("chain", 10, batch, "float64")) for batch in (2, 3, 4, 8, 9, 16)]
    assert times == pytest.approx([1e-5 * robots**0.5 for robots in (2, 3, 8, 8, 16, 16)], rel=1e-12)
    assert measured.seconds("jsiia", Case("chain", 10, 9, "float64")) == pytest.approx(2e-4 * 3, rel=1e-12)


def test_an_algorithm_unmeasured_near_a_batch_size_is_no_candidate():
    every = table(batches=(1, 8, 64)).rows
    without = tuple(row for row in every if (row.algorithm, row.batch) != ("dca", 8))
    measured = Measurements(timings.table_path(), without)
    times = [measured.seconds("dca", Case("chain", 100, batch, "float64")) for batch in (1, 2, 8, 32, 64, 100)]
    assert [time is None for time in times] == [False, True, True, True, False, False]
    measured.save()
    assert choice.choose(engine.chain(1000), batch=8).algorithm == "abia"
    assert choice.choose(engine.chain(1000), batch=64).algorithm == "dca"


def test_a_table_comes_back_from_disk_as_it_was():
    measured = table()
    measured.save()
    assert timings.load() == measured
    assert [path.name for path in measured.path.parent.iterdir() if path.is_file()] == [measured.path.name]


DAMAGED = {
    "cut off": lambda text: text[: len(text) // 2],
    "empty": lambda _: "",
    "another object": lambda _: '{"rows": 3}',
    "a list": lambda _: "[]",
    "lists without end": lambda _: "[" * 10**4,
    "no rows": lambda _: '{"key": {}}',
    "a row of numbers": lambda _: '{"rows": [[1, 2]]}',
    "a field too few": lambda text: text.replace('"batch"', '"bunch"'),
    "no time": lambda text: re.sub(r'"seconds": [^,]*', '"seconds": 0.0', text),
    "not a number": lambda text: re.sub(r'"seconds": [^,]*', '"seconds": NaN', text),
    "text for a number": lambda text: re.sub(r'"links": [^,]*', '"links": "10"', text),
    "half a link": lambda text: re.sub(r'"links": [^,]*', '"links": 0.5', text),
    "a list for a name": lambda text: text.replace('"abia"', '["abia"]'),
    "every row twice": lambda text: json.dumps({"rows": 2 * json.loads(text)["rows"]}),
    "not text": lambda _: b"\xff\xfe\x00",
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_table_is_as_none_and_says_so_until_it_is_rebuilt(damage):
    measured = table()
    measured.save()
    broken = DAMAGED[damage](measured.path.read_text())
    measured.path.write_bytes(broken if isinstance(broken, bytes) else broken.encode())
    name, why = choice.choose(engine.tree(10))
    assert name == "abia"
    assert f"{measured.path} is damaged (" in why
    assert "bench --measure-choice" in why
    assert choice.changes(engine.tree(10)) == ()
    table().save()
    assert "measured for 10-link trees" in choice.choose(engine.tree(10)).why


def test_other_versions_devices_or_kernels_ask_for_a_new_measurement(monkeypatch):
    table().save()
    assert timings.load().rows
    for entry in ("device", "cores", "python", "numpy", "llvmlite", "kernels"):
        with monkeypatch.context() as patch:
            changed = {**timings.machine_key(), entry: "another"}
            patch.setattr(timings, "machine_key", lambda changed=changed: changed)
            assert timings.load().rows == ()
            assert timings.load().damage is None


def test_each_platform_has_its_cache_folder(monkeypatch, tmp_path):
    assert files.cache_folder() == tmp_path / "cache" / "catena"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    for system, expected in {"linux": ".cache/catena", "darwin": "Library/Caches/catena"}.items():
        monkeypatch.setattr(files.sys, "platform", system)
        assert files.cache_folder() == tmp_path / expected
    monkeypatch.setattr(files.sys, "platform", "win32")
    assert files.cache_folder() == tmp_path / "local" / "catena" / "cache"


@pytest.fixture
def small_plan(monkeypatch):
    powers = {"chain": range(4), "tree": range(4)}
    monkeypatch.setattr(measure, "PLANS", {"cpu": measure.SuitePlan(powers, (1, 8), 1 << 16)})
    monkeypatch.setattr(measure, "SECONDS", 0.001)


@pytest.mark.usefixtures("small_plan")
def test_a_measurement_holds_every_candidate_and_is_chosen_from(monkeypatch):
    powers = {"chain": (0, 3), "tree": (0, 3)}  # each size of robots takes code of its own
    monkeypatch.setattr(measure, "PLANS", {"cpu": measure.SuitePlan(powers, (1, 8), 1 << 16)})
    done = []
    measured = engine.measure_algorithms(lambda count, total: done.append((count, total)))
    every = len(measure.code()) + len(measure.plan())
    assert done[0] == (0, every)
    assert done[-1] == (every, every)
    assert done == sorted(done)
    assert {count for count, _ in done} >= set(range(len(measure.code()), every + 1))
    assert timings.load() == measured
    for shape, model in {"chain": engine.chain(8), "tree": engine.tree(8, branching=1)}.items():
        rows = [row for row in measured.rows if (row.shape, row.links, row.batch) == (shape, 1, 1)]
        assert {row.algorithm for row in rows} == set(choice.candidates(model))
        assert "measured for 8-link" in choice.choose(model, batch=8).why
    for row in measured.rows:
        assert 1e-8 < row.seconds < 1
        assert row.residual < (1e-12 if row.dtype == "float64" else 1e-4)


@pytest.mark.usefixtures("small_plan")
def test_a_hopeless_algorithm_is_measured_no_further(monkeypatch):
    cost = {
        "abia": lambda n: 1e-6 * n,
        "dca": lambda n: 1e-6 * n,
        "jsiia": lambda n: 1e-6 * n**3,
        "cfa": lambda n: 5e-6 * n,
    }
    current = []

    class Timed(measure.ForwardDynamics):
        def __init__(self, model, batch, algorithm, device, dtype):
            super().__init__(model, batch, algorithm, device, dtype)
            current.append(cost[algorithm](len(model.parent)))

    def fake_timer(candidates, _seconds, rounds, _before):
        return np.tile(np.array(current[-len(candidates) :])[:, None], rounds)

    monkeypatch.setattr(measure, "ForwardDynamics", Timed)
    monkeypatch.setattr(measure, "advancing", lambda _: {"cpu": ()})
    monkeypatch.setattr(measure.timer, "alternate", fake_timer)
    measured = [row for found in measure._measured(measure.plan(), "cpu") for row in found]
    Measurements(timings.table_path(), tuple(measured)).save()
    assert {row.links for row in measured if row.algorithm == "abia"} == {1, 2, 4, 8}
    assert {row.links for row in measured if row.algorithm == "jsiia"} == {1, 2, 4}  # 16 times abia's at 4
    for n in (4, 8):
        assert choice.choose(engine.tree(n, branching=1)).why == (
            f"abia: {n} µs beside {n} µs for dca on up to {cores()} threads, "
            f"measured for {n}-link trees on this machine"
        )


@pytest.mark.usefixtures("small_plan")
def test_an_algorithm_with_a_slow_start_is_measured_on_and_one_given_up_is_not_extrapolated():
    def rows(jsiia):
        return [
            Row("tree", n, 1, "float64", name, seconds, 1e-14)
            for name, times in {"abia": (1e-6, 2e-6, 4e-6, 8e-6), "jsiia": jsiia}.items()
            for n, seconds in zip((1, 2, 4, 8), times, strict=False)
        ]

    Measurements(timings.table_path(), tuple(rows((2e-5, 2e-5, 2e-5, 2e-5)))).save()
    assert choice.choose(engine.tree(200)).algorithm == "jsiia"
    Measurements(timings.table_path(), tuple(rows((2e-5, 2e-5)))).save()
    assert choice.choose(engine.tree(200)).algorithm == "abia"


@pytest.mark.usefixtures("small_plan")
def test_an_interrupted_measurement_leaves_the_old_one():
    table().save()
    before = timings.table_path().read_bytes()

    def interrupt(done, _total):
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.measure_algorithms(interrupt)
    assert timings.table_path().read_bytes() == before
    assert [each.name for each in timings.table_path().parent.iterdir() if each.is_file()] == [
        timings.table_path().name
    ]
    done = []
    assert engine.measure_algorithms(lambda *now: done.append(now), stop=lambda: len(done) > 1) is None
    assert timings.table_path().read_bytes() == before


@pytest.mark.usefixtures("small_plan")
def test_the_command_line_measures_and_info_reports(capsys, monkeypatch):
    monkeypatch.setattr(
        measure, "PLANS", {"cpu": measure.SuitePlan({"chain": range(0, 5, 4), "tree": range(0, 5, 4)}, (1,), 1 << 16)}
    )
    monkeypatch.setattr(measure, "PROCESSES", {"cpu": 1})
    assert main.main(["info", "arm7", "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    assert before["choice_by_links"] == []
    assert "where nothing was measured" in before["why"]
    assert main.main(["bench", "--measure-choice", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (table,) = report["tables"]
    assert table["device"] == "cpu"
    assert Path(table["file"]).is_file()
    assert len(table["rows"]) == len(timings.load().rows)
    assert main.main(["bench", "--measure-choice"]) == 0
    assert "chains, batch 1, float64: " in capsys.readouterr().out
    assert main.main(["info", "arm7", "--json"]) == 0
    after = json.loads(capsys.readouterr().out)
    assert after["choice_by_links"][0]["links"] == 1
    assert after["algorithm"] in engine.algorithms(engine.load("robots/arm7.urdf"))
    assert main.main(["info", "quadruped"]) == 0
    text = capsys.readouterr().out
    assert "choice by size, for robots like this one: " in text
    assert "cfa: joint 'floating_base' is free" in text
