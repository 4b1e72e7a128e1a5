"""Studies with a user's controller: its parameters vary, and no bit depends on which samples went before."""

from pathlib import Path

import numpy as np
import pytest
from small_studies import named, same

import engine
from engine.study.controlling import Program

pytest.importorskip("pyarrow", reason="pyarrow is not installed; studies' results are Parquet")
CONTROL = """import random
import numpy as np
KP, KD = 4.0, 0.5
PERIOD = 0.02
STEADY = 1
total = 0.0


def start(model):
    global robot
    robot = model


def control(t, q, v):
    global total
    assert total < 1e3
    total += 0.001 * (0.3 - q[0])
    noise = 0.01 * (random.random() + np.random.rand()) / STEADY
    return np.array([KP * (0.3 - q[0]) - KD * v[0] + total + noise, -0.1 * v[1]])
"""
STUDY = """
robot = "double_pendulum"
controller = "control.py"
seconds = 0.2
dt = 0.005
seed = 4
trajectories = [5]
[[vary]]
what = "parameter"
of = "KP"
values = [0.0, 20.0]
[[vary]]
what = "parameter"
of = "PERIOD"
values = [0.005, 0.02]
[[vary]]
what = "mass"
of = "all"
factor = true
uniform = [0.5, 2.0]
[[keep]]
quantity = "shoulder position"
[[keep]]
quantity = "shoulder torque"
take = "mean"
"""


def written(folder: Path, text: str = STUDY, control: str = CONTROL) -> engine.Study:
    (folder / "control.py").write_text(control, "utf-8")
    return engine.Study.read(named(folder, "samples = 3" + text))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """Each sample in a process of its own."""
    folder = tmp_path_factory.mktemp("alone")
    written(folder).run(folder / "r", processes=0, batch=1)
    return engine.Study.results(folder / "r")


@pytest.mark.parametrize(("processes", "batch"), [(0, None), (2, 3)])
def test_no_bit_depends_on_batches_or_processes(
    processes: int, batch: int | None, alone: dict[str, np.ndarray], tmp_path: Path
) -> None:
    made = written(tmp_path)
    assert made.run(tmp_path / "r", processes=processes, batch=batch).done == 12
    found = engine.Study.results(tmp_path / "r")
    assert same(found, alone)
    assert list(found)[1:4] == ["KP", "PERIOD", "mass"]
    assert len(np.unique(found["shoulder position"])) == 12
    (file,) = (tmp_path / "r").glob("*.npz")
    kept, again = engine.read_run(file).trajectory, made.trajectory(5)
    assert kept.q.tobytes() == again.q.tobytes()


def test_a_sample_is_what_its_controller_makes_of_it(alone: dict[str, np.ndarray], tmp_path: Path) -> None:
    """Sample 11, by hand, with the parameters written into the file, and the same chance."""
    seed = int(np.random.SeedSequence((4, 11)).generate_state(1)[0])
    control = CONTROL.replace("4.0, 0.5", "20.0, 0.5") + f"\nrandom.seed({seed})\nnp.random.seed({seed})\n"
    (tmp_path / "own.py").write_text(control)
    model = engine.load(engine.find_robot("double_pendulum"))
    parameters = engine.Parameters(model, 1)
    for x in (parameters.mass, parameters.first_moment, parameters.inertia):
        x *= alone["mass"][11]
    simulation = engine.Simulation(model, 1, 0.005, "implicit", "abia", parameters=parameters)
    efforts = []
    with engine.Controller(tmp_path / "own.py", model) as controller:
        for step in range(40):
            if step % 2 == 0:
                efforts.append(simulation.effort[0, 0])
            if step % 4 == 0:
                simulation.tau[0] = controller(simulation.time, simulation.q[0], simulation.v[0])
            simulation.step()
    assert (alone["KP"][11], alone["PERIOD"][11]) == (20.0, 0.02)
    assert alone["shoulder position"][11] == pytest.approx(simulation.q[0, 0], rel=1e-12)
    efforts.append(simulation.effort[0, 0])
    assert alone["shoulder torque mean"][11] == pytest.approx(np.mean(efforts), rel=1e-12)
    tau = written(tmp_path).trajectory(11).tau
    assert tau[1:, 0] == pytest.approx(np.array(efforts[1:]), rel=1e-12)


def test_a_file_that_exits_prints_and_forks_ends_no_study(tmp_path: Path, alone: dict[str, np.ndarray]) -> None:
    forks = "    import os\n    print('to nobody')\n    os.fork() if t == 0 and hasattr(os, 'fork') else None\n"
    written(tmp_path, control=CONTROL.replace("    global total\n", "    global total\n" + forks)).run(
        tmp_path / "r", processes=2, batch=4
    )
    assert same(engine.Study.results(tmp_path / "r"), alone)
    made = written(tmp_path, control=CONTROL.replace("total = 0.0", "raise SystemExit('enough')"))
    with pytest.raises(RuntimeError, match=r"sample \d+: control\.py, line 6: SystemExit: enough"):
        made.run(tmp_path / "other", processes=1)


@pytest.mark.parametrize("processes", [0, 1])
def test_a_controller_that_fails_is_told_with_its_sample_and_line(processes: int, tmp_path: Path) -> None:
    other = written(tmp_path, control=CONTROL.replace("assert total < 1e3", "assert KP < 1 or t < 0.1"))
    line = 1 + CONTROL.splitlines().index("    assert total < 1e3")
    with pytest.raises(RuntimeError, match=rf"sample 6: control\.py, line {line}: AssertionError \(assert KP") as shown:
        other.run(tmp_path / "other", processes=processes, batch=2)
    assert "\n" not in str(shown.value)
    assert engine.Study.results(tmp_path / "other")["sample"].tolist() == [0, 1, 2, 3, 4, 5]


def test_results_of_another_controller_are_refused(tmp_path: Path) -> None:
    written(tmp_path).run(tmp_path / "r", processes=0)
    with pytest.raises(ValueError, match=r"another study \(robots\.control\.py: '[0-9a-f]{16}' there"):
        written(tmp_path, control=CONTROL + "\n").run(tmp_path / "r", processes=0)


def test_a_robot_that_diverges_under_its_controller_is_a_result(tmp_path: Path) -> None:
    push = '[[vary]]\nwhat = "velocity"\nof = "shoulder"\nvalues = [0.0, 1e9]\n'
    text = STUDY.replace('[[vary]]\nwhat = "mass"\nof = "all"\nfactor = true\nuniform = [0.5, 2.0]\n', push)
    (tmp_path / "control.py").write_text(CONTROL)
    made = engine.Study.read(named(tmp_path, text))
    assert made.run(tmp_path / "r", processes=0).diverged == 4
    assert engine.Study.results(tmp_path / "r")["diverged"].tolist() == [False, True] * 4


def test_the_file_goes_to_where_it_is_not(tmp_path: Path) -> None:
    written(tmp_path)
    program = Program.read(tmp_path / "control.py")
    with program.placed() as path:
        assert path == tmp_path / "control.py"
    (tmp_path / "control.py").write_text("KP = 1")
    with program.placed() as path:
        assert path.name == "control.py" != path.parent
        assert path.read_text() == CONTROL
    assert not path.exists()


FAULTS = [
    (STUDY.replace('"KP"', '"kp_"'), CONTROL, "line 10: error: vary.1.of: control.py assigns no 'kp_' at its top "
     "level; use one of KP, KD, PERIOD, STEADY, total"),
    (STUDY.replace('"control.py"', '"a.py"'), CONTROL, "line 3: error: controller: there is no file 'a.py'; "
     "name a Python file with a function control(t, q, v)"),
    (STUDY, "def control(t, q v):\n", "line 3: error: controller: control.py, line 1: SyntaxError: "),
    (STUDY, "\0", "line 3: error: controller: control.py"),
    (STUDY, "KP, PERIOD = 1.0, 0.1\n", "line 3: error: controller: control.py has no function control(t, q, v); "),
    (STUDY.replace("dt = 0.005", "dt = 0.004"), CONTROL, "line 5: error: dt: control.py: PERIOD is 0.005 s, which is "
     "not a whole number of time steps of 0.004 s; choose a time step that divides it, or another PERIOD"),
    (STUDY.replace('"PERIOD"\nvalues = [0.005, 0.02]', '"KD"\nvalues = [1.0]\n[[vary]]\nwhat = "dt"\n'
     "values = [0.004, 0.05]"), CONTROL, "line 18: error: vary.3.values: control.py: PERIOD is 0.02 s, which is not"),
    (STUDY.replace('controller = "control.py"\n', ""), CONTROL, "line 7: error: vary.1: there is no controller; "),
    (STUDY.replace('of = "KP"\n', ""), CONTROL, "line 8: error: vary.1: it does not say whose parameter; give of, a "),
]  # fmt: skip


@pytest.mark.parametrize(("text", "control", "words"), FAULTS, ids=range(len(FAULTS)))
def test_a_fault_with_a_controller_gives_its_sentence(text: str, control: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(engine.StudyError) as shown:
        written(tmp_path, text, control)
    assert str(shown.value).startswith(f"s.toml: {words}"), str(shown.value)


def test_what_is_no_number_is_not_replaced(tmp_path: Path) -> None:
    made = written(tmp_path, control=CONTROL.replace("KP, KD = 4.0, 0.5", 'KP, KD = "4.0", 0.5'))
    with pytest.raises(
        RuntimeError, match=r"sample 0: control\.py: ValueError: the parameter KP is not a number; assign"
    ):
        made.run(tmp_path / "r", processes=0)


def test_a_file_is_not_run_before_its_study_is(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    control = f"open({str(mark)!r}, 'w')\n" + CONTROL
    made = written(tmp_path, control=control)
    assert not mark.exists()
    made.run(tmp_path / "r", processes=0)
    assert mark.exists()
