"""The headless commands: printed and written output, and exit status."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
import main
from engine.bench.suites import cpu

ROOT = Path(__file__).parents[2]


@pytest.fixture
def call(capsys):
    """Run a command; return its exit code, standard output and standard error."""

    def run(*words):
        try:
            code = main.main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_run_writes_what_it_takes_to_run_again(call, tmp_path):
    out = tmp_path / "fall.npz"
    words = ("run", "arm7", "--seconds", "0.5", "--every", "10", "--q", "random", "--seed", "3", "--json", "--out", out)
    code, text, _ = call(*words)
    assert code == 0
    result = json.loads(text)
    assert result["steps"] == 500
    assert result["simulated_seconds"] == pytest.approx(0.5)
    assert set(result["phases_us"]) == {*engine.PHASES["cpu"]["abia"], "collision", "contact"}
    assert [path.name for path in tmp_path.iterdir()] == ["fall.npz"]
    with np.load(out) as file:
        settings = json.loads(str(file["settings"]))
        assert list(file["joint_names"]) == list(engine.load(settings["robot"]).joint_names)
        again = engine.rollout(
            engine.load(settings["robot"]).with_gravity(settings["gravity"]),
            file["q"][0],
            file["v"][0],
            steps=500,
            dt=settings["dt"],
            integrator=settings["integrator"],
            every=settings["every"],
            scene=engine.Scene(),
        )
        np.testing.assert_array_equal(file["q"], again.q)
        np.testing.assert_array_equal(file["v"], again.v)
        np.testing.assert_allclose(file["time"], again.time)


def test_run_falls_the_way_that_gravity_goes(call, tmp_path):
    """A prismatic joint along x, without limit: way and speed of a free fall along x, and none without gravity."""
    path, out = tmp_path / "slide.urdf", tmp_path / "fall.npz"
    path.write_text(
        '<robot name="slide"><link name="a"/><link name="b"><inertial><mass value="2"/><inertia ixx="1" ixy="0" '
        'ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><joint name="j" type="prismatic"><parent link="a"/>'
        '<child link="b"/><axis xyz="1 0 0"/></joint></robot>',
        "utf-8",
    )
    for x in (3.0, 0.0, -1.5):
        assert call("run", path, "--gravity", x, 0, -9, "--seconds", 1, "--dt", 0.001, "--out", out)[0] == 0
        with np.load(out) as file:
            np.testing.assert_allclose(file["v"][-1], [x], atol=1e-12)


@pytest.mark.parametrize("integrator", ["auto", *engine.INTEGRATORS])
def test_run_holds_a_robot_by_gains_for_its_integrator_and_time_step(call, tmp_path, integrator):
    """This chain diverges within two steps by RK4 under the gains that suit "implicit"."""
    file = tmp_path / "chain.urdf"
    assert call("generate", "chain", 30, "--out", file)[0] == 0
    code, text, _ = call("run", file, "--hold", "--seconds", "0.05", "--integrator", integrator, "--json")
    result = json.loads(text)
    assert (code, result["failure"]) == (0, None)
    assert integrator not in ("auto", "implicit") or (result["integrator"], result["steps"]) == ("implicit", 50)


def test_run_writes_a_table_where_the_name_ends_in_csv(call, tmp_path):
    words = ("run", "arm6", "--seconds", "0.1", "--dt", "0.001", "--every", "10", "--v", "0.5", "--out")
    table, file, again = tmp_path / "e.csv", tmp_path / "e.npz", tmp_path / "again.csv"
    assert [call(*words, path)[0] for path in (table, file)] == [0, 0]
    with np.load(file) as run:
        trajectory = engine.Trajectory(*(run[name] for name in ("time", "q", "v", "tau")))
        engine.save_csv(again, engine.load(engine.find_robot("arm6")), trajectory)
    assert table.read_bytes() == again.read_bytes()
    assert table.read_text("utf-8").startswith("time [s],q:")
    code, _, error = call(*words, table, "--batch", 2)
    assert (code, "a table holds one robot, and --batch is 2" in error) == (2, True)


@pytest.mark.parametrize(("words", "name"), [("CRBA", "jsiia"), ("aba", "abia"), ("dca-aba", "dca"), ("CFA", "cfa")])
def test_algorithms_have_the_windows_names_too(call, words, name):
    code, text, _ = call("run", "arm6", "--seconds", "0.01", "--algorithm", words, "--json")
    assert (code, json.loads(text)["algorithm"]) == (0, name)
    code, text, _ = call("compare", "arm6", "--algorithm", words, "--seconds", "0.01", "--json")
    assert code == 0
    assert f'"{name}"' in text


def test_run_holds_each_robot_of_a_batch_where_it_starts(call, tmp_path):
    out = tmp_path / "held.npz"
    words = ("run", "arm6", "--hold", "--batch", 3, "--q", "random", "--seconds", "0.2", "--every", 200, "--out", out)
    assert call(*words)[0] == 0
    with np.load(out) as file:
        np.testing.assert_allclose(file["q"][:, -1], file["q"][:, 0], atol=0.02)
        assert np.ptp(file["q"][:, 0], 0).min() > 0.1


@pytest.mark.parametrize("words", [("pendulum", "--slope", "5"), ("quadruped", "--no-ground", "--friction", "0.3")])
def test_run_refuses_to_say_how_a_ground_is_that_is_not_there(call, words):
    code, _, error = call("run", *words)
    assert code == 2
    assert f"{words[-2]} is the ground's, and {words[0]} gets none; add --ground" in error


def test_run_reports_speed_drift_and_where_the_time_went(call):
    code, text, _ = call("run", "double_pendulum", "--seconds", "1", "--integrator", "rk4")
    assert code == 0
    for words in ("times real time", "energy:", "inertia recursion", "seconds: load"):
        assert words in text


def test_a_diverged_run_answers_no_and_keeps_what_it_did(call, tmp_path):
    stiff = tmp_path / "stiff.urdf"
    text = (engine.find_robot("arm7")).read_text().replace('damping="', 'damping="90')
    stiff.write_text(text)
    out = tmp_path / "stiff.npz"
    code, _, error = call(
        "run", stiff, "--seconds", "2", "--v", "0.5", "--no-limits", "--out", out, "--integrator", "semi-implicit"
    )
    assert code == 1
    assert "diverged at" in error
    with np.load(out) as file:
        time, v = file["time"], file["v"]
    when = float(error.split("diverged at ")[1].split()[0])
    assert 2 * time[1] < time[-1] == pytest.approx(when - time[1])  # up to the step before
    assert np.all(np.isfinite(v))


def test_robots_of_a_batch_that_diverge_leave_the_others_alone(call, tmp_path):
    chain, out = tmp_path / "chain.urdf", tmp_path / "chains.npz"
    assert call("generate", "chain", 12, "--out", chain)[0] == 0
    words = ("run", chain, "--batch", 12, "--q", "random", "--v", 10, "--dt", 0.0015)
    integrator = "--integrator", "semi-implicit"
    code, text, error = call(*words, *integrator, "--seconds", 0.75, "--out", out, "--json")
    message = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert code == 1
    assert message["steps"] == 500
    lost = int(message["failure"].split(" of 12 robots diverged and stay as they were before: ")[0])
    assert 0 < lost < 12
    assert message["failure"].count("the simulation diverged at") == min(lost, 3)
    assert "of robot" in error
    with np.load(out) as file:
        still = np.all(file["q"][:, -1] == file["q"][:, -2], 1)
        assert np.all(np.isfinite(file["q"]))
    assert np.count_nonzero(still) == lost


def test_a_long_chain_runs_at_the_step_that_suits_it(call, tmp_path):
    """With semi-implicit Euler and 1 ms it diverges after 0.86 s."""
    path = tmp_path / "chain.urdf"
    assert call("generate", "chain", "1000", "--out", path)[0] == 0
    code, result, error = call("run", path, "--seconds", "0.02", "--json")
    assert code == 0, error
    message = json.loads(result)
    assert (message["dt"], message["integrator"]) == engine.suggested_step(engine.load(path))[:2]
    assert message["dt"] < 1e-3


def test_controls_from_a_file_drive_the_robot(call, tmp_path):
    path, out = tmp_path / "tau.npy", tmp_path / "out.npz"
    tau = np.tile([0.3], (100, 1))
    np.save(path, tau)
    assert call("run", "pendulum", "--seconds", "0.1", "--controls", path, "--out", out)[0] == 0
    with np.load(out) as file:
        model = engine.load(engine.find_robot("pendulum"))
        integrator = engine.suggested_step(model).integrator
        expected = engine.rollout(model, file["q"][0], controls=tau, integrator=integrator)
        np.testing.assert_array_equal(file["q"], expected.q)
        np.testing.assert_array_equal(file["tau"], expected.tau)
        np.testing.assert_array_equal(file["controls"], tau)
    path.write_text("no numbers")
    assert "is not an .npy file of numbers" in call("run", "pendulum", "--controls", path)[2]
    np.save(path, tau[:50])
    code, _, error = call("run", "pendulum", "--seconds", "0.1", "--controls", path)
    assert code == 2
    assert "expected (1,) or (100, 1)" in error


def test_numbers_that_begin_with_a_minus_are_values(call, tmp_path):
    out = tmp_path / "run.npz"
    words = ("--q", "-0.3,0.2", "--v", "-1e-3", "--gravity", 0, 0, "-1e1", "--seconds", 0.01, "--out", out)
    assert call("run", "double_pendulum", *words)[0] == 0
    with np.load(out) as file:
        np.testing.assert_array_equal(file["q"][0], [-0.3, 0.2])
        np.testing.assert_array_equal(file["v"][0], [-1e-3, -1e-3])


def test_info_names_what_the_robot_is_made_of(call):
    code, text, _ = call("info", "quadruped", "--json")
    facts = json.loads(text)
    assert code == 0
    assert (facts["nq"], facts["nv"]) == (19, 18)
    assert facts["joints"][0]["type"] == "floating"
    assert call("info", "quadruped")[1].startswith("quadruped")


def test_check_answers_no_to_a_broken_file_and_yes_to_a_sound_one(call, tmp_path):
    broken = tmp_path / "broken.urdf"
    broken.write_text('<robot name="x"><link name="a"/><link name="a"/></robot>')
    assert call("check", "arm6")[0] == 0
    code, text, _ = call("check", "arm6", broken, "--json")
    assert code == 1
    reports = json.loads(text)
    assert reports["arm6"] == []
    assert any(found["severity"] == "error" and found["line"] == 1 for found in reports[str(broken)])
    code, text, error = call("run", broken, "--json")
    assert code == 1
    assert json.loads(text)["diagnostics"]
    assert "error" in error


def test_check_writes_a_repaired_copy_and_never_in_the_place_of_another_file_unasked(call, tmp_path):
    file, copy = tmp_path / "swing.urdf", tmp_path / "copy.urdf"
    file.write_text('<?xml version="0.0"?>\n<robot name="x"><link name="a"/></robot>')
    code, text, _ = call("check", file, "--fix", copy)
    assert code == 0
    assert text.splitlines()[2:] == ["1 repair written to", f"{copy}: 0 errors, 0 warnings"]
    assert copy.read_text() == file.read_text().replace("0.0", "1.0")
    code, _, error = call("check", file, "--fix", copy)
    assert code == 2
    assert "give the copy another name, or say to overwrite it" in error
    assert call("check", file, copy, "--fix", tmp_path / "two.urdf")[0] == 2
    code, text, _ = call("check", file, "--fix", copy, "--overwrite", "--json")
    reports = json.loads(text)
    assert [found["repair"] for found in reports[str(file)]] == [
        [{"start": 0, "end": 21, "text": '<?xml version="1.0"?>'}]
    ]
    assert reports[str(copy)] == []


def test_generate_makes_a_urdf_that_loads_as_the_same_model(call, tmp_path, rng):
    for words, model in (
        (("chain", 30, "--prismatic", 0.3), engine.chain(30, prismatic=0.3)),
        (("tree", 20), engine.tree(20)),
    ):
        path = tmp_path / f"{words[0]}.urdf"
        assert call("generate", *words, "--out", path)[0] == 0
        loaded = engine.load(path)
        assert loaded.joint_names == model.joint_names
        assert loaded.diagnostics == ()
        for name in ("lower", "upper", "velocity_limit", "effort_limit"):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name), err_msg=name)
        q, v, tau = model.random(rng), rng.uniform(-1, 1, model.nv), rng.uniform(-1, 1, model.nv)
        expected = engine.forward_dynamics(model, q, v, tau)
        answer = engine.forward_dynamics(loaded, q, v, tau)
        assert np.linalg.norm(answer - expected) < 1e-9 * np.linalg.norm(expected)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "nowhere"), "there is no file 'nowhere'; give a URDF or xacro file, or one of the robots that ship"),
        (("run", "arm7", "--dt", "-1"), "-1 is not a positive number"),
        (("run", "arm7", "--q", "1,2"), "--q has 2 numbers; this robot takes 7"),
        (("run", "arm7", "--q", "bent"), "--q is 'bent'; expected 7 numbers"),
        (("run", "arm7", "--seconds", "0.0001"), "leave no step to keep"),
        (("run", "arm7", "--every", "0"), "0 is not a whole number of 1 or more"),
        (
            ("run", "arm7", "--seconds", "1e8", "--out", "far.npz"),
            "keep 100,000,000,001 states, too many for the memory",
        ),
        (("run", "arm7", "--out", "no/such/folder/x.npz"), "which is not a folder; make it first"),
        (("run", "arm7", "--out", "e.txt"), "--out is 'e.txt'; end the name with .npz, or with .csv for a table"),
        (("unpack", "run.npz", "e.csv"), "NEW.npz is 'e.csv'; end the name with .npz"),
        (("generate", "chain", "0"), "got 0 links"),
        (("fly",), "'fly' is neither a command nor a robot; commands: run, "),
    ],
)
def test_a_wrong_call_says_what_came_and_what_was_expected(call, words, message):
    code, text, error = call(*words)
    assert code == 2
    assert message in error
    assert text == ""


@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["an arm", "every case"])
def test_bench_measures_every_case_beside_pinocchio(call, monkeypatch, few):
    if few:
        monkeypatch.setattr(cpu, "CASES", cpu.CASES[:2])
    code, text, _ = call("bench", "--seconds", "0.05", "--json")
    assert code == 0
    rows = json.loads(text)["rows"]
    assert len(rows) == len(cpu.CASES) >= (2 if few else 6)
    assert all(row["catena_us"] > 0 and row["pinocchio_us"] > 0 and len(row["ratio"]) == 3 for row in rows)


def test_all_commands_are_named_where_a_word_is_none(call):
    table = (ROOT / "docs" / "shell.md").read_text("utf-8").partition("\n\n## ")[0]
    names = set(re.findall(r"^\| `main\.py (\w+)", table, re.MULTILINE))
    (listed,) = re.findall(r"commands: ([\w, ]+);", call("rollout", "arm7")[2])
    assert set(listed.split(", ")) == names
    assert "In the window: view, connect, lesson; each has --help." in call("--help")[1]


def test_a_reader_that_leaves_early_is_no_fault():
    words = [sys.executable, main.__file__, "generate", "chain", "3"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        program.stdout.close()
        assert program.stderr.read() == ""
    assert program.returncode == 1


def test_info_shows_the_first_joints_of_a_long_chain(tmp_path, capsys):
    path = tmp_path / "chain.urdf"
    assert main.main(["generate", "chain", "1200", "--out", str(path)]) == 0
    assert main.main(["info", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "joint1000 " in shown
    assert "joint1001 " not in shown
    assert "and 200 more joints; --json lists them all" in shown
