"""Unintended arguments are refused in a sentence at once, in the shell and from Python, or accepted as they are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
import main
from engine import validation

ROOT = Path(__file__).parents[2]
unix = pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")


@pytest.fixture
def call(capsys, tmp_path):
    """A command's exit code and all that it printed."""
    np.save(tmp_path / "h.npy", np.zeros((4, 4)))

    def run(words):
        try:
            code = main.main([word.replace("HEIGHTS", str(tmp_path / "h.npy")) for word in words.split()])
        except SystemExit as end:
            code = end.code
        return code, "".join(capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ("run pendulum --seconds 1e300", "are 1e+303 steps; expected at most 1e+12"),
        ("run pendulum --dt 1e-300", "are 1e+301 steps; expected at most 1e+12"),
        ("run pendulum --seconds 1e-299 --dt 1e-300", "dt is 1e-300; expected a positive number of seconds, 1e-12"),
        ("run pendulum --v -inf", "v[0] is -inf; every number must be finite"),
        ("run pendulum --gravity 0 0 -Infinity", "gravity is three finite numbers"),
        ("run quadruped --terrain HEIGHTS --cell 1e300", "goes as far as 4e+300 m; expected cells"),
        ("run quadruped --terrain HEIGHTS --cell 1e-300", "a height field of cells of 1e-300 m"),
        ("compare chain:3 --seed -3", "argument --seed: -3 is not a whole number of 0 or more"),
        ("compare chain:3 --batch -3", "batch is -3; expected a whole number of 1 or more"),
        ("compare chain:3 --seconds nan", "seconds is nan; expected a positive number"),
        ("generate chain 3 --prismatic nan", "a prismatic share of nan"),
        ("generate chain 3 --spherical 1.5", "got a prismatic share of 0 and a spherical one of 1.5; expected 0 to 1"),
        (
            "run double_pendulum --q 0.3 -0.3",
            "catena run: error: unrecognized arguments: -0.3; numbers after --q have commas",
        ),
        ("info pendulum more", "catena info: error: unrecognized arguments: more\n"),
        ("lessons --out HEIGHTS", "h.npy' cannot be a folder (it is a file); name another"),
        ("generate chain -5", "got -5 links; expected 1 or more\n"),
    ],
)
def test_a_command_tells_what_it_cannot_mean(call, words, reported):
    code, message = call(words)
    assert code == 2
    assert reported in message
    assert "Traceback" not in message


@pytest.mark.parametrize("number", ["-9.81e0", "-9.81E+00", "-.981e1", "-9.81"])
def test_negative_numbers_are_no_options_however_they_are_written(call, number):
    code, message = call(f"run pendulum --seconds 0.01 --gravity 0 0 {number} --v {number} --q {number} --json")
    assert code == 0, message
    assert call(f"run quadruped --seconds 0.01 --slope {number} --json")[0] == 0


def test_texts_of_numpy_are_texts():
    model, text = engine.chain(3), np.str_
    simulation = engine.Simulation(
        model, integrator=text("implicit"), algorithm=text("abia"), device=text("cpu"), dtype=text("float64"),
        on_divergence=text("freeze"),
    )  # fmt: skip
    simulation.step(3)
    assert {type(x) for x in (simulation.integrator, simulation.algorithm, simulation.device, simulation.dtype)} == {
        str
    }
    q, v = model.neutral(), np.zeros(3)
    expected = engine.forward_dynamics(model, q, v, v, "jsiia", "cpu")
    np.testing.assert_array_equal(engine.forward_dynamics(model, q, v, v, text("jsiia"), text("cpu")), expected)
    dynamics = engine.ForwardDynamics(model, 1, text("abia"), text("cpu"), np.dtype("float64"))
    np.testing.assert_allclose(dynamics(q, v, v), expected)
    made = engine.rollout(model, q, steps=2, integrator=text("rk4"), algorithm=text("abia"), device=text("cpu"))
    assert np.all(np.isfinite(made.q))
    for gains in zip(*(engine.holding_gains(model, 1e-3, kind("rk4")) for kind in (str, text)), strict=True):
        np.testing.assert_array_equal(*gains)
    assert engine.algorithms(model, text("cpu")) == engine.algorithms(model, "cpu")
    for bad in (["implicit"], np.array(["implicit", "rk4"]), b"implicit", 1, None):
        with pytest.raises(ValueError, match=r"integrator is .*; expected one of 'semi-implicit'"):
            engine.Simulation(model, integrator=bad)


def test_steps_without_end_are_refused_at_once():
    model = engine.chain(2)
    simulation = engine.Simulation(model, device="cpu")
    for n in (10**20, validation.MAX_STEPS + 1, np.uint64(2**63)):
        with pytest.raises(ValueError, match=r"n is .*; expected at most 1e\+12, which take days"):
            simulation.step(n)
        with pytest.raises(ValueError, match=r"steps is .*; expected at most 1e\+12"):
            engine.rollout(model, model.neutral(), steps=n)
    assert simulation.steps == 0
    for dt in (1e-300, 1e-13, 0, -1, np.nan, np.inf, 1 + 0j, np.complex128(1), "1", None):
        for made in (lambda dt=dt: engine.Simulation(model, dt=dt), lambda dt=dt: engine.holding_gains(model, dt)):
            with pytest.raises(ValueError, match="expected a positive number of seconds, 1e-12 or more"):
                made()


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"dt": 1e-12}, "declares 1 steps from each state to the next, and its times of 1000000000 steps of 1e-12 s"),
        ({"dt": 1e-300}, "its time step is 1e-300"),
        ({"dt": 1e-12, "every": 10**9}, r"has 1e\+11 steps; at most 1e\+10 can be repeated"),
    ],
)
def test_a_run_that_tells_of_steps_without_end_is_not_repeated(call, tmp_path, changed, reported):
    out = tmp_path / "run.npz"
    assert call(f"run pendulum --seconds 0.1 --dt 0.001 --out {out}")[0] == 0
    with np.load(out) as file:
        arrays = dict(file)
    setup, settings = (json.loads(str(arrays[name])) for name in ("setup", "settings"))
    arrays["setup"] = np.array(json.dumps({**setup, "dt": changed["dt"]}))
    arrays["settings"] = np.array(json.dumps({**settings, **changed}))
    np.savez(out, **arrays)
    code, message = call(f"repeat {out}")
    assert code == 2
    assert reported.replace("\\", "") in message


NAME = "r\u202eevil\x1b]0;x\x07\u2066\u200f&#10;error: none"


def test_names_that_command_a_terminal_are_shown_as_they_are_written(call, tmp_path):
    name = NAME.replace("\x1b", "").replace("\x07", "")  # which XML has no way to write
    inertial = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    folder = tmp_path / "\x1b[31m\u202ered"
    folder.mkdir()
    robot, out = folder / "r.urdf", folder / "run.npz"
    robot.write_text(
        f'<robot name="{name}"><link name="a"/><link name="{name}">{inertial}</link><joint name="{name}" '
        f'type="continuous"><parent link="a"/><child link="{name}"/></joint></robot>',
        "utf-8",
    )
    marks = {"\u202e", "\u2066", "\u200f", "\x1b"}
    for words in (f"info {robot}", f"check {robot}", f"run {robot} --seconds 0.01 --out {out}", f"repeat {out}",
                  f"compare {robot} --seconds 0.001 --algorithm abia"):  # fmt: skip
        code, message = call(words)
        assert code == 0, message
        assert not marks & set(message), words
        assert not any(line.startswith("error: none") for line in message.splitlines()), words
    robot.write_text(robot.read_text("utf-8").replace('link="a"', 'link="\u202eb"'), "utf-8")
    for words in (f"info {robot}", f"check {robot}", f"run {robot}"):
        code, message = call(words)
        assert code == 1
        assert "\\u202e" in message
        assert not marks & set(message), words


@unix
@pytest.mark.parametrize("words", ["run pendulum --seconds 0.01 --json", "info pendulum --json", "generate chain 2"])
def test_an_answer_that_nobody_can_read_is_told(words):
    command = f"'{sys.executable}' main.py {words}"
    done = subprocess.run(["sh", "-c", f"{command} >&-"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("standard output, which the result goes to, is closed; leave it open\n")
    assert subprocess.run(["sh", "-c", f"{command} >/dev/null"], cwd=ROOT, check=False).returncode == 0
