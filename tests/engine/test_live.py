"""A live link delivers complete data to its reader, whatever happens to the script."""

import importlib.util
import os
import time
from pathlib import Path

import numpy as np
import pytest
import shown_script

import engine
from engine.live import places, records
from engine.recording import Recording, Run
from engine.recording.recording import MAX_RUNS

pytestmark = pytest.mark.usefixtures("runtime")


def opened(folder: Path) -> tuple[engine.LiveReader, Recording, Run]:
    """Open a link as the window does: the run of its file, followed by the window's own."""
    reader = engine.LiveReader(folder)
    saved = engine.read_run(reader.run_file)
    model = engine.robot_of_text(saved, engine.load) or engine.load(saved.settings["robot"])
    recording = engine.recording_of(saved, model)
    (run,) = recording.runs
    recording.begin(engine.Simulation(model))
    return reader, recording, run


def read_to_the_end(reader: engine.LiveReader, recording: Recording, run: Run) -> Run:
    until = time.perf_counter() + 60
    while not reader.ended and time.perf_counter() < until:
        run = reader.read_into(recording, run)
        time.sleep(0.005)
    assert reader.ended
    return run


@pytest.mark.parametrize("robot", ["arm7", "quadruped", "composed", "chain"])
def test_states_are_the_scripts_to_the_bit(start, robot: str) -> None:
    _, folder = start(robot, 300, "states")
    reader, recording, run = opened(folder)
    assert read_to_the_end(reader, recording, run) is run
    frames = [recording.frame(run, k) for k in range(run.first, run.last + 1)]
    steps = [frame.checkpoint.steps for frame in frames]
    assert (steps[0], steps[-1], steps) == (0, 300, sorted(set(steps)))
    assert len(steps) > 3
    with np.load(folder.with_suffix(".npz")) as states:
        for frame in frames[1:]:
            for name in "qv":
                own = states[f"{name}{frame.checkpoint.steps}"]
                assert np.array_equal(getattr(frame.checkpoint, name).view("u8"), own.view("u8"))


def test_from_a_frame_steps_go_on_as_the_scripts_did(start) -> None:
    _, folder = start("quadruped", 300, "states", "steady")
    reader, recording, run = opened(folder)
    read_to_the_end(reader, recording, run)
    middle = recording.frame(run, run.last // 2)
    simulation = middle.setup.simulation()
    simulation.restore(middle.checkpoint)
    with np.load(folder.with_suffix(".npz")) as states:
        while simulation.steps < 300:
            simulation.step()
            assert np.array_equal(simulation.q.view("u8"), states[f"q{simulation.steps}"].view("u8"))


def test_numbers_that_the_script_logs_come_along() -> None:
    simulation = shown_script.simulation_of("arm7")
    link = engine.show(simulation, window=False)
    for name, number in (("error [m]", 0.25), ("phase", float("nan"))):
        simulation.log(name, number)
    simulation.step(20)
    link.close()
    reader, recording, run = opened(link.folder)
    run = read_to_the_end(reader, recording, run)
    assert run.logged_names == ("error [m]", "phase")
    logged = recording.frame(run, run.last).logged
    assert logged["error [m]"] == 0.25
    assert np.isnan(logged["phase"])


def test_contacts_wrenches_and_inputs_come_along() -> None:
    simulation = shown_script.simulation_of("quadruped")
    link = engine.show(simulation, window=False)
    simulation.wrench[0, 3, 5] = 2.0
    simulation.target[0, 7] += 0.1
    simulation.step(200)
    link.close()
    reader, recording, run = opened(link.folder)
    read_to_the_end(reader, recording, run)
    frame = recording.frame(run, run.last)
    own, contacts = simulation.checkpoint(), simulation.contacts
    for name in ("q", "v", "tau", "target", "wrench"):
        assert np.array_equal(getattr(frame.checkpoint, name), getattr(own, name))
    number = int(contacts.number[0])
    assert number == int(frame.contacts.number[0]) > 0
    for ours, theirs in zip(frame.contacts, contacts, strict=True):
        assert np.array_equal(ours, theirs if theirs.ndim == 1 else theirs[:, :number])


def test_robots_of_a_batch_come_along_with_those_that_diverged() -> None:
    model = engine.load(engine.find_robot("double_pendulum"))
    simulation = engine.Simulation(model, 3, on_divergence="freeze")
    link = engine.show(simulation, robot=2, window=False)
    simulation.v[1] = 1e300
    simulation.step(100)
    assert simulation.diverged.tolist() == [False, True, False]
    link.close()
    reader, recording, run = opened(link.folder)
    read_to_the_end(reader, recording, run)
    at = recording.frame(run, run.last).checkpoint
    assert reader.robot == 2
    assert at.frozen.tolist() == [False, True, False]
    assert np.array_equal(at.q, simulation.q)


@pytest.mark.parametrize("freezes", [True, False])
def test_a_robot_that_is_no_longer_finite_comes_as_it_was_before(freezes: bool) -> None:
    model = engine.load(engine.find_robot("double_pendulum"))
    simulation = engine.Simulation(model, 2, on_divergence="freeze" if freezes else "raise")
    link = engine.show(simulation, window=False)
    simulation.step(20)
    link.send()
    before = simulation.state()
    reader, recording, run = opened(link.folder)
    run = reader.read_into(recording, run)
    simulation.v[1, 1] = simulation.tau[0, 0] = np.nan
    link.send()
    run = reader.read_into(recording, run)
    at = recording.frame(run, run.last).checkpoint
    for ours, known in zip((at.q, at.v), before, strict=True):
        np.testing.assert_array_equal(ours, known)
    np.testing.assert_array_equal(at.tau, 0.0)
    np.testing.assert_array_equal(at.divergences, [[0, 20], [0, 1]])
    given = (
        f"the simulation diverged at 0.02 s, first in {model.coordinate_names[1]} of robot 1; halve dt (it is 0.001 s)"
    )
    assert (reader.divergence and str(reader.divergence)) == (None if freezes else given)
    simulation.tau[:] = 0
    simulation.reset()
    simulation.step(1)
    link.close()
    run = read_to_the_end(reader, recording, run)
    assert reader.divergence is None
    np.testing.assert_array_equal(recording.frame(run, run.last).checkpoint.q, simulation.q)


@pytest.mark.parametrize("batch", [1, 3])
def test_a_glance_is_what_a_checkpoint_has_without_zeros_at_its_end(
    batch: int, rng: np.random.Generator, quadruped: engine.Model
) -> None:
    """In flight, as it lands with ever more contacts, and lying; what it is read into gives the same frame."""
    q = np.repeat(quadruped.neutral()[None], batch, 0)
    q[:, quadruped.joint("floating_base").q.start + 2] += rng.uniform(0.02, 0.1, batch)
    simulation, most = engine.Simulation(quadruped, batch, q=q, scene=engine.Scene(), integrator="implicit"), []
    for _ in range(8):
        (divergences, memory), whole = simulation.glance(), simulation.checkpoint()
        assert np.array_equal(divergences, whole.divergences)
        for part, full in zip(memory, whole.contact, strict=True):
            padded = np.zeros_like(full)
            padded[:, : part.shape[1]] = part
            assert np.array_equal(padded, full)
        most.append(memory[-1].shape[1])
        simulation.step(60)
    if batch == 1:
        assert most[0] == 0 < max(most) < whole.contact[-1].shape[1]


def test_a_closed_link_writes_nothing_more(capsys: pytest.CaptureFixture[str]) -> None:
    simulation = engine.Simulation(engine.load(engine.find_robot("double_pendulum")))
    link = engine.show(simulation, window=False)
    simulation.step(3)
    link.close()
    written = link.frames
    simulation.step(3)
    link.send()
    link.close()
    assert (link.frames, link.problem, capsys.readouterr().err) == (written, "", "")


def test_a_script_that_rests_is_seen_where_it_rests(start) -> None:
    process, folder = start("double_pendulum", 57, "fast", "waits")
    reader, recording, run = opened(folder)
    until = time.perf_counter() + 60
    while recording.frame(run, run.last).checkpoint.steps < 57 and time.perf_counter() < until:
        run = reader.read_into(recording, run)
    assert recording.frame(run, run.last).checkpoint.steps == 57
    assert (process.poll(), reader.ended) == (None, False)


def test_a_script_that_is_killed_ends_its_link(start) -> None:
    process, folder = start("double_pendulum", 10**9, "forever")
    reader, recording, run = opened(folder)
    until = time.perf_counter() + 60
    while len(run) < 5 and time.perf_counter() < until:
        run = reader.read_into(recording, run)
    assert engine.LiveReader().folder == folder
    process.kill()
    process.wait()
    assert read_to_the_end(reader, recording, run) is run
    with pytest.raises(ValueError, match=r"no script runs that has called engine\.show"):
        engine.LiveReader()


def test_each_reset_begins_a_run_and_the_oldest_of_many_go() -> None:
    simulation = engine.Simulation(engine.load(engine.find_robot("double_pendulum")))
    link = engine.show(simulation, window=False)
    reader, recording, run = opened(link.folder)
    for episode in range(150):
        simulation.reset()
        simulation.step(episode + 1)
        link.send()
    link.close()
    run = read_to_the_end(reader, recording, run)
    *shown, own = recording.runs
    assert recording.frame(run, run.last).checkpoint.steps == 150
    assert shown[-1] is run
    assert len(shown) == MAX_RUNS - 1
    assert len({each.number for each in (*shown, own)}) == MAX_RUNS


def test_where_the_recording_is_full_the_oldest_frames_of_the_run_go() -> None:
    simulation = engine.Simulation(engine.load(engine.find_robot("double_pendulum")))
    link = engine.show(simulation, window=False)
    reader, recording, run = opened(link.folder)
    recording.budget = 100_000
    for _ in range(500):
        simulation.step()
        link.send()
    assert reader.read_into(recording, run) is run
    assert recording.bytes <= 100_000
    assert run.first > 100
    assert recording.frame(run, run.last).checkpoint.steps == 500
    link.close()


def test_of_many_frames_the_newest_stay_for_who_comes_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_BYTES", 10_000)
    simulation = engine.Simulation(engine.load(engine.find_robot("double_pendulum")))
    link = engine.show(simulation, window=False)
    reader, recording, run = opened(link.folder)
    for _ in range(10):  # one reads while they are written, and misses none
        for _ in range(20):
            simulation.step()
            link.send()
        assert reader.read_into(recording, run) is run
    assert [recording.frame(run, k).checkpoint.steps for k in range(len(run))] == list(range(201))
    assert len(list(link.folder.glob("frames-*"))) == records.FILES
    late, recording, run = opened(link.folder)
    late.read_into(recording, run)
    steps = [recording.frame(run, k).checkpoint.steps for k in range(1, len(run))]
    assert steps == list(range(steps[0], 201))
    assert 20 < len(steps) < 150
    link.close()


def test_what_is_shown_takes_little_of_the_scripts_time() -> None:
    shown, alone = (shown_script.simulation_of("arm7") for _ in range(2))
    link = engine.show(shown, window=False)
    for simulation in (shown, alone):
        simulation.step(10)
    ratios: list[float] = []
    while len(ratios) < 5 and not any(ratio < 1.1 for ratio in ratios):  # other programs make it larger by chance
        seconds = {shown: 0.0, alone: 0.0}
        taken, began = link.seconds, time.perf_counter()
        for _ in range(100):
            for simulation in seconds:
                before = time.thread_time()
                for _ in range(100):
                    simulation.step()
                seconds[simulation] += time.thread_time() - before
        assert link.seconds - taken < 0.02 * (time.perf_counter() - began)
        ratios.append(seconds[shown] / seconds[alone])
    assert min(ratios) < 1.1
    link.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_shows_nothing_and_the_script_goes_on() -> None:
    simulation = engine.Simulation(engine.load(engine.find_robot("double_pendulum")))
    link = engine.show(simulation, window=False)
    simulation.step(5)
    if not (child := os.fork()):
        simulation.step(1000)
        link.send()
        link.close()
        os._exit(0)
    os.waitpid(child, 0)
    simulation.step(5)
    link.close()
    reader, recording, run = opened(link.folder)
    run = read_to_the_end(reader, recording, run)
    assert recording.frame(run, run.last).checkpoint.steps == 10


def test_without_room_the_script_goes_on_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    simulation = engine.Simulation(engine.load(engine.find_robot("double_pendulum")))
    link = engine.show(simulation, window=False)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for _ in range(3):
            simulation.step()
            link.send()
    assert link.problem == "frames no longer reach the window: [Errno 28] No space left on device"
    assert capsys.readouterr().err == f"{link.problem}\n"
    assert simulation.steps == 3
    link.close()


def test_links_are_for_this_user_only_and_those_of_old_scripts_go(runtime: Path) -> None:
    model = engine.load(engine.find_robot("double_pendulum"))
    simulations = [engine.Simulation(model) for _ in range(6)]
    folders = []
    for simulation in simulations:
        link = engine.show(simulation, window=False)
        folders.append(link.folder)
        assert link.folder.stat().st_mode & 0o777 == 0o700
        link.close()
    assert (runtime / "catena").stat().st_mode & 0o777 == 0o700
    assert sorted(each for each in folders if each.exists()) == sorted(folders[-places.KEPT - 1 :])


@pytest.mark.parametrize(
    ("missing", "given"),
    [
        ("screen", "there is no screen, neither DISPLAY nor WAYLAND_DISPLAY is set"),
        ("PyQt6", "PyQt6 is not installed here"),
    ],
)
def test_where_no_window_can_be_opened_show_says_why(monkeypatch: pytest.MonkeyPatch, missing: str, given: str) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    if missing == "PyQt6":
        monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    simulation = engine.Simulation(engine.load(engine.find_robot("double_pendulum")))
    with pytest.raises(RuntimeError) as refusal:
        engine.show(simulation)
    assert str(refusal.value) == (
        f"no window can be opened: {given}; engine.show(simulation, window=False) goes without one"
    )
    with pytest.raises(ValueError, match="robot is 1 and the batch 1"):
        engine.show(simulation, robot=1, window=False)


def test_what_is_no_frame_is_told(runtime: Path) -> None:
    simulation = engine.Simulation(engine.load(engine.find_robot("double_pendulum")))
    link = engine.show(simulation, window=False)
    reader, recording, run = opened(link.folder)
    with (link.folder / "frames-000000").open("ab") as file:
        file.write((2).to_bytes(8, "little") + (0).to_bytes(8, "little") + b"{}")
    with pytest.raises(ValueError, match="contains no frames of a live link"):
        reader.read_into(recording, run)
    link.close()
    with pytest.raises(ValueError, match="is not a live link"):
        engine.LiveReader(runtime)
