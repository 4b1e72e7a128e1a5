"""The output of commands agrees with the engine's results for the robot, and determines the exit status."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toys
from PIL import Image
from statuses import called

import engine
from engine import run_command
from engine.bench.suites import cpu
from engine.rollout import Recorder
from engine.selection import capabilities, choice

PACKAGES = ("--package-dir", "elsewhere")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.write(tmp_path_factory.mktemp("answers"))


@pytest.fixture
def folder(written: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the robots, where commands run; rows are on one line each."""
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(written)
    return written


def plain(found: Any) -> Any:
    """Return the values in JSON's types."""
    return json.loads(json.dumps(found))


@pytest.mark.parametrize("options", [(), ("--floating",), ("--no-mimic", *PACKAGES)], ids=str)
@pytest.mark.parametrize("robot", ["toy", "shod", "loose", "arm7", "quadruped", "humanoid"])
def test_info_tells_what_the_model_has(robot: str, options: Sequence[str], folder: Path):
    path = toys.source(robot, folder)
    given = ([x for x in options if x == "elsewhere"], "--floating" in options, "--no-mimic" not in options)
    name = robot if path.parent == engine.ROBOTS else path.name
    if "--floating" in options and robot not in ("toy", "shod", "arm7"):
        assert called("info", name, *options)[0] == 2  # it floats by itself
        return
    model = engine.load(path, *given)
    chosen, unserved, changes = choice.choose(model), capabilities.reasons_against(model), choice.changes(model)
    status, text, errors = called("info", name, *options, "--json")
    found, warnings = json.loads(text), [str(each) for each in model.diagnostics]
    rows = found.pop("joints")
    assert (status, errors.splitlines()) == (0, warnings)
    assert found == plain({
        "robot": model.name, "source": str(path), "links": len(model.link_names), "moving_bodies": len(model.parent),
        "nq": len(model.neutral()), "nv": len(model.lower), "mass_kg": float(np.sum(model.mass)),
        "algorithms": engine.algorithms(model), "algorithm": chosen.algorithm, "why": chosen.why,
        "refused": {name: why for why, names in unserved.items() for name in names},
        "choice_by_links": [change._asdict() for change in changes], "visuals": len(model.visuals),
        "collisions": len(model.collisions), "warnings": [asdict(each) for each in model.diagnostics],
    })  # fmt: skip
    assert [(row["name"], row["type"]) for row in rows] == [(joint.name, joint.kind) for joint in model.joints]
    for what, width in (("q", model.nq), ("v", model.nv)):  # one after the other, without gaps
        ends = [row[what].partition("–") for row in rows if row[what]]
        places = [range(int(first), int(last or first) + 1) for first, _, last in ends]
        assert places == [range(x.start, x.stop) for x in (getattr(j, what) for j in model.joints if not j.leader)]
        assert [i for place in places for i in place] == list(range(width))
    for joint, row in zip(model.joints, rows, strict=True):
        listed = [row[name] for name in ("position", "velocity", "effort", "damping", "friction")]
        if joint.leader:
            assert listed == [f"{joint.multiplier:g} × {joint.leader} {joint.offset:+g}", "", "", "", ""]
            assert not row["q"] + row["v"]
            continue
        for i in range(joint.v.start, joint.v.stop):
            limits = (model.velocity_limit[i], model.effort_limit[i])
            bounds, rest = (model.lower[i], model.upper[i]), (model.damping[i], model.friction[i])
            free = "free" if joint.v.stop - joint.v.start == 1 else ""
            assert listed == [
                f"{bounds[0]:.4g} … {bounds[1]:.4g}" if np.any(np.isfinite(bounds)) else free,
                *(f"{x:.4g}" if np.isfinite(x) else "∞" for x in limits), *(f"{x:.4g}" for x in rest),
            ]  # fmt: skip
    status, text, errors = called("info", name, *options)
    assert (status, errors.splitlines()) == (0, warnings)
    sizes = [f"choice by size, for robots like this one: {choice.describe(changes)}"] if changes else []
    listed, _, table = text.partition("\njoint ")
    assert listed.splitlines() == [
        f"{model.name}: {found['links']} links in {len(model.parent)} moving bodies, {sum(model.mass):.4g} kg moving",
        f"nq {model.nq}, nv {model.nv}, {found['visuals']} shapes to draw, {found['collisions']} that collide",
        chosen.why, *sizes,
        f"served by {', '.join(engine.algorithms(model))}",
        *(f"not by {', '.join(names)}: {why}" for why, names in unserved.items()),
    ]  # fmt: skip
    head, *lines = ("joint " + table).splitlines()
    starts = [*(column.start() for column in re.finditer(r"\S+", head)), None]
    cells = [[line[a:b].strip() for a, b in pairwise(starts)] for line in lines]
    assert cells == [[row[what] for what in ("name", *head.split()[1:])] for row in rows]


def test_generate_writes_the_robot_of_its_arguments(tmp_path: Path, chance: np.random.Generator):
    """To a file or to the standard output; each argument changes the robot."""
    out = tmp_path / "robot.urdf"
    for kind, make in (("chain", engine.chain), ("tree", engine.tree)):
        links, seed = int(chance.integers(3, 20)), int(chance.integers(1, 1000))
        made = set()
        for given in (
            {}, {"seed": seed}, {"seed": seed + 1}, {"seed": seed + 2, "prismatic": 0.6, "spherical": 0.4},
            {"seed": seed, "spherical": 1}, {"seed": seed, "prismatic": 1}, {"straight": True},
        )[: 7 if kind == "chain" else 6]:  # fmt: skip
            model = make(links, **given)
            words = [x for name, value in given.items() for x in (f"--{name}", value) if x is not True]
            assert called("generate", kind, links, *words) == (0, engine.to_urdf(model) + "\n", "")
            status, text, _ = called("generate", kind, links, *words, "--out", out, "--json")
            assert (status, json.loads(text)) == (0, {"robot": model.name, "links": links, "file": str(out)})
            assert called("generate", kind, links, *words, "--out", out) == (0, "", "")
            assert out.read_text() == engine.to_urdf(model)
            made.add(out.read_text())
            read = engine.load(out)
            for name in ("parent", "kind", "home_rotation", "home_position", "mass", "first_moment", "inertia"):
                np.testing.assert_allclose(getattr(read, name), getattr(model, name), atol=1e-12, err_msg=name)
        assert len(made) == (7 if kind == "chain" else 6)
        for share in (0, 0.5):
            assert called("generate", kind, 1, "--prismatic", share, "--spherical", share)[0] == 0
        for wrong in ((0,), (2.5,), (2, "--prismatic", 1.1), (2, "--prismatic", -0.1), (2, "--spherical", 1.1),
                      (2, "--spherical", -0.1), (2, "--seed", -1),
                      (2, "--seed", 0.5), (2, "--prismatic", 0.6, "--spherical", 0.5)):  # fmt: skip
            assert called("generate", kind, *wrong)[0] == 2, wrong


def listed(name: object, found: list[engine.Diagnostic]) -> list[str]:
    """Return the output of `check` for a file."""
    kinds = [each.severity for each in found]
    counts = (f"{kinds.count(x)} {x}{'' if kinds.count(x) == 1 else 's'}" for x in ("error", "warning"))
    return [f"{name}: {', '.join(counts)}", *(f"  {each}" for each in found)]


@pytest.mark.parametrize("options", [(), PACKAGES], ids=str)
@pytest.mark.usefixtures("folder")
def test_check_tells_all_that_the_engine_finds(tmp_path: Path, options: Sequence[str]):
    """The worst of several files decides; with --fix it is what is left of the one."""
    names = ("shod.urdf", "broken.urdf", "arm7", "toy.urdf", "nowhere.urdf")
    paths = {name: engine.find_robot(name) if name == "arm7" else Path(name) for name in names}
    findings = {name: engine.check(path, options[1:]) for name, path in paths.items()}
    errors = {name for name, found in findings.items() if any(each.severity == "error" for each in found)}
    assert errors == {"broken.urdf", "nowhere.urdf"}
    for some in (names, names[::-1], names[::2], names[:2], names[1:3], names[3:], *((name,) for name in names)):
        status, text, _ = called("check", *some, *options)
        assert status == int(bool(errors & set(some)))
        assert text.splitlines() == [line for name in some for line in listed(name, findings[name])]
        status, text, _ = called("check", *some, *options, "--json")
        assert status == int(bool(errors & set(some)))
        assert json.loads(text) == plain({name: [asdict(each) for each in findings[name]] for name in some})
    for name in names[:4]:
        copy, fixed = tmp_path / "copy.urdf", tmp_path / "fixed.urdf"
        count, left = engine.repair(paths[name], copy, options[1:], overwrite=True)
        status, text, _ = called("check", name, "--fix", fixed, "--overwrite", *options)
        assert fixed.read_bytes() == copy.read_bytes()
        assert status == int(any(each.severity == "error" for each in left))
        written = f"{count} repair{'' if count == 1 else 's'} written to"
        assert text.splitlines() == [*listed(name, findings[name]), written, *listed(fixed, left)]
        again = called("check", name, "--fix", fixed, "--overwrite", *options, "--json")
        both = {name: findings[name], str(fixed): left}
        assert (again[0], json.loads(again[1])) == (
            status, plain({name: [asdict(each) for each in found] for name, found in both.items()})
        )  # fmt: skip
        assert called("check", name, "--fix", fixed, *options)[0] == 2


def test_run_tells_the_same_in_words_and_how_long_each_part_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """By a clock that continues in each part alone."""
    clock = [0.0]
    monkeypatch.setattr(run_command, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(Recorder, "phases", lambda _: {"bias": 1.5e-6, "solve": 2e-3})
    takes = {"load": 0.25, "compile": 1.5, "simulate": 0.004, "write": 3.0}

    def slow(owner: Any, name: str, part: str) -> None:
        real = getattr(owner, name)

        def slowed(*words: Any) -> Any:
            clock[0] += takes[part]
            return real(*words)

        monkeypatch.setattr(owner, name, slowed)

    slow(run_command, "load_robot", "load")
    slow(engine.Compilation, "here", "compile")
    slow(Recorder, "run", "simulate")
    slow(run_command, "save_trajectory", "write")
    for batch, out in ((1, tmp_path / "run.npz"), (3, None)):
        words = (
            "run",
            "arm7",
            "--q",
            "random",
            "--batch",
            batch,
            "--seconds",
            0.0204,
            *(("--out", out) if out else ()),
        )
        status, text, _ = called(*words, "--json")
        x = json.loads(text)
        assert (status, x["steps"], x["phases_us"]) == (0, 20, pytest.approx({"bias": 1.5, "solve": 2000}))
        assert x["seconds"] == pytest.approx(takes if out else takes | {"write": 0})
        assert x["trajectory"] == (str(out) if out else None)
        assert x["wall_seconds"] == pytest.approx(0.004)
        assert x["simulated_per_wall_second"] == pytest.approx(0.02 / 0.004)
        assert x["robot_steps_per_second"] == pytest.approx(batch * 20 / 0.004)
        status, text, _ = called(*words)
        assert (status, [line.split() for line in text.splitlines()]) == (0, [line.split() for line in (
            f"arm7: 0.02 s in 0.004 s of wall time, 5 times real time ({x['integrator']}, dt {x['dt']:g} s)", x["why"],
            f"energy: {x['energy_start_J']:.6g} J at the start, {x['energy_end_J']:.6g} J at the end, "
            f"change {x['energy_drift_J']:+.3g} J",
            *["3 robots: 1.5e+04 steps of a robot per second"] * (batch == 3),
            "phase of a step µs", "bias 1.50", "solve 2000.00",
            f"seconds: load 0.25, compile 1.50, simulate 0.00, write {3 if out else 0}.00",
            *[f"trajectory written to {out}"] * bool(out),
        )])  # fmt: skip


@pytest.mark.usefixtures("folder")
def test_repeat_tells_where_a_run_differs_first_and_by_how_much(tmp_path: Path):
    run = tmp_path / "run.npz"
    words = ("--no-mimic", "--floating", "--no-ground", "--gravity", 1, 2, -3, "--v", -0.5, "--every", 4)
    assert called("run", "shod.urdf", *words, *PACKAGES, "--dt", 0.001, "--seconds", 0.02, "--out", run)[0] == 0
    x = {"run": str(run), "robot": "shod", "same": True, "samples": 6, "steps": 20, "first_difference_s": None,
         "difference": 0.0, "device": "cpu", "not_compared": 0, "written_by": engine.__version__,
         "catena": engine.__version__}  # fmt: skip
    status, text, _ = called("repeat", run, "--json")
    assert (status, json.loads(text)) == (0, x)
    assert called("repeat", run) == (0, "run.npz: 6 states after 20 steps, the same to the bit\n", "")
    arrays = dict(np.load(run))
    arrays["v"][3, 5] += 0.5
    arrays["q"][4, 2] += 0.75
    settings = json.loads(str(arrays["settings"]))
    for version in (engine.__version__, "0.0.1", None):
        of = {name: value for name, value in settings.items() if name != "catena"}
        np.savez(run, **arrays | {"settings": json.dumps(of | ({"catena": version} if version else {}))})
        by = version or "an unknown version"
        status, text, _ = called("repeat", run, "--json")
        other = {"same": False, "first_difference_s": 0.012, "difference": pytest.approx(0.5), "written_by": by}
        assert (status, json.loads(text)) == (1, x | other)
        status, text, errors = called("repeat", run)
        assert (status, text) == (1, "")
        assert errors.startswith("run.npz: the state at 0.012 s differs by 0.5; ")
        later = f"; it was written by Catena {by}, and this is {engine.__version__}\n"
        assert errors.endswith(later) == (version != engine.__version__)


def test_a_file_that_asks_for_trust_gets_it_from_the_option_alone(tmp_path: Path):
    """From every command that reads robots, and from `repeat` too, though the run was trusted."""
    pytest.importorskip("xacrodoc")
    (tmp_path / "inner").mkdir()
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "part.xacro").write_text('<robot><link name="a"/></robot>')
    path, run = tmp_path / "inner" / "robot.xacro", tmp_path / "run.npz"
    path.write_text(f"""<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:include filename="{tmp_path}/outer/part.xacro"/></robot>""")
    for words in (("run", path, "--seconds", 0.01, "--out", run), ("repeat", run), ("check", path)):
        assert [called(*words, *option)[0] for option in ((), ("--trust-xacro",))] == [1, 0], words


@pytest.mark.parametrize("command", ["info", "run"])
@pytest.mark.usefixtures("folder")
def test_a_broken_robot_is_told_as_check_tells_it(command: str):
    status, text, errors = called(command, "broken.urdf", "--json")
    found = engine.check("broken.urdf")
    assert (status, json.loads(text)) == (1, plain({"robot": "broken.urdf", "diagnostics": [asdict(x) for x in found]}))
    assert [line.strip() for line in errors.splitlines()[1:]] == [str(x) for x in found if x.severity == "error"]
    assert called(command, "broken.urdf") == (1, "", errors)


@pytest.mark.parametrize(("options", "least", "wrong"), [
    (("--batch", "--every"), 1, (0, -1, 1.5, "x", "")), (("--seed",), 0, (-1, 1.5, "x", "")),
    (("--seconds", "--dt", "--cell"), 0.01, (0, -0.01, "x", "", "nan", "inf")),
])  # fmt: skip
def test_numbers_out_of_range_are_refused(options: Sequence[str], least: float, wrong: Sequence[object]):
    for option in options:
        assert called("run", "arm7", "--seconds", 0.01, option, least)[0] == 0
        assert {called("run", "arm7", "--seconds", 0.01, option, x)[0] for x in wrong} == {2}, option


def test_a_run_that_diverges_says_no_and_why():
    """And null for energies beyond all numbers."""
    words = ("--v", 1e200, "--dt", 0.1, "--integrator", "semi-implicit", "--no-limits")
    for batch in (1, 3):
        status, text, errors = called("run", "double_pendulum", *words, "--batch", batch, "--json")
        assert (status, json.loads(text)["failure"]) == (1, errors.rstrip())
        assert "diverged at " in errors
        assert json.loads(text)["energy_start_J"] is None


def test_json_is_alone_on_the_standard_output_of_a_terminal_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, text, errors = called("run", "arm7", "--seconds", 0.01, "--json")
    assert json.loads(text)["steps"] == 10
    assert "simulating" in errors


@pytest.mark.usefixtures("gl")
def test_render_draws_as_many_pixels_as_asked_for_and_what_each_option_says(tmp_path: Path):
    seen, out = set(), tmp_path / "x.png"
    for options in ((), ("--q", -0.7), ("--azimuth", 100), ("--elevation", 60), ("--transparent",)):
        status, text, _ = called(
            "render", "pendulum", "--out", tmp_path / "x.png", "--size", "48x32", *options, "--json"
        )
        x = {"robot": "pendulum", "picture": str(tmp_path / "x.png"), "width": 48, "height": 32, "diagnostics": []}
        assert (status, json.loads(text)) == (0, x)
        with Image.open(out) as picture:
            assert picture.size == (48, 32)
            seen.add(picture.tobytes())
    assert len(seen) == 5


def test_bench_gives_medians_in_microseconds_and_their_quotients(monkeypatch: pytest.MonkeyPatch):
    times = np.array([[2.0, 9, 3, 4, 5, 1, 6, 8, 7], [4.0, 27, 9, 8, 5, 4, 6, 16, 28]]) * 1e-6
    monkeypatch.setattr(cpu, "alternate", lambda candidates, _: list(times[: len(candidates)]))
    monkeypatch.setattr(cpu, "CASES", cpu.CASES[:1])
    status, text, _ = called("bench", "--json", "--seconds", 3)
    (row,), plan = json.loads(text)["rows"], json.loads(text)["plan"]
    assert (status, plan, row["catena_us"]) == (0, {"suite": "cpu", "seconds": 3}, pytest.approx(5))
    if "pinocchio_us" in row:
        assert row["pinocchio_us"] == pytest.approx(8)
        assert row["ratio"] == pytest.approx(list(np.quantile(times[0] / times[1], (0.25, 0.5, 0.75))))
    assert " 5 " in called("bench", "--seconds", 3)[1]
