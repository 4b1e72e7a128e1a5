"""Parts of comparisons in this process: loading a user's file, taking turns, and names in a command."""

import time

import numpy as np
import pytest

import engine
from engine import robot_words
from engine.bench import states, timer
from engine.bench.compare import block, candidate, record, user_algorithms
from engine.child_process import Children, Silence

TEXT = """
DEVICES = ("cpu", "cuda")
SIZE = 3
_hidden = len

def first(model, q, v, tau):
    return tau

class Second:
    pass
"""


def test_a_users_file_gives_the_function_and_its_devices(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(TEXT)
    loaded = user_algorithms.load(user_algorithms.FunctionName(file, "first"))
    assert (loaded.function(0, 1, 2, 3), loaded.devices) == (3, ("cpu", "cuda"))
    for name in ("third", "SIZE"):
        with pytest.raises(AttributeError, match=rf"^mine.py has no function '{name}'; it has first, Second$"):
            user_algorithms.load(user_algorithms.FunctionName(file, name))
    file.write_text("_hidden = len\n")
    with pytest.raises(AttributeError, match=r"it has none$"):
        user_algorithms.load(user_algorithms.FunctionName(file, "first"))
    file.write_text("def first(): pass\n")
    assert user_algorithms.load(user_algorithms.FunctionName(file, "first")).devices == ("cpu",)


def test_seconds_of_those_that_take_turns_are_per_robot_and_call():
    def lasting(seconds):
        def repeat(count):
            end = time.perf_counter() + count * seconds
            while time.perf_counter() < end:
                pass

        return repeat

    found = timer.alternate([(lasting(1e-4), 1), (lasting(1e-4), 10)], 0.05, rounds=5)
    assert found.shape == (2, 5)
    assert 1e-4 <= found[0].min() < 2e-3
    assert 1e-5 <= found[1].min() < 2e-4


def test_a_state_is_of_one_robot_unless_more_are_asked_for(rng):
    model = engine.chain(4)
    assert [x.shape for x in states.state(model, rng)] == [(1, 4)] * 3
    assert [x.shape for x in states.state(model, rng, 3)] == [(3, 4)] * 3
    np.testing.assert_array_equal(states.some_rows(7, 3), [0, 3, 6])
    np.testing.assert_array_equal(states.some_rows(2, 5), [0, 1])


@pytest.fixture
def abia():
    model = engine.chain(3)
    found = candidate.Candidate(model, "chain3", "abia", "abia", "cpu", "float64", 2, requested=True)
    found.attempt(lambda: found.prepare(candidate.sample_states(model, 2, 0)))
    return found


def test_a_turn_has_a_time_and_an_answer_whose_worst_residual_is_kept(abia):
    assert (abia.verdict, abia.reason) == ("ok", "")
    host, on_device = abia.time_turn()
    assert 0 < host < 1
    assert np.isnan(on_device)
    abia.check()
    first = abia.residual
    assert 0 <= first < 1e-12
    abia.result = abia.result * (1 + 1e-13)
    abia.check()
    worse = abia.residual
    assert worse > first
    abia.time_turn()
    abia.check()
    assert (abia.verdict, abia.residual) == ("ok", worse)
    abia.result = abia.result * (1 + 1e-9)
    abia.check()
    assert abia.verdict == "wrong"


def test_a_call_that_takes_long_is_timed_to_its_end(abia):
    assert 0.02 <= abia.timed(lambda: time.sleep(0.02)) < 10


def test_a_robot_is_named_as_it_was_loaded(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(engine.find_robot("arm6").read_text())
    for options, text in (({}, ()), ({"floating": True}, ("--floating",))):
        assert robot_words.words(engine.load(file, **options)) == (str(file), *text)
    hand = tmp_path / "hand.urdf"
    follower = '<mimic joint="j1" multiplier="2"/>'
    links = "".join(
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link>"
        for k in range(3)
    )
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k - 1}"/><child link="l{k}"/><axis xyz="0 0 1"/>'
        f"{follower if k == 2 else ''}</joint>"
        for k in (1, 2)
    )
    hand.write_text(f'<robot name="hand">{links}{joints}</robot>')
    assert robot_words.words(engine.load(hand)) == (str(hand),)
    assert robot_words.words(engine.load(hand, mimic=False)) == (str(hand), "--no-mimic")
    assert robot_words.words(engine.chain(1)) == ("chain:1",)


def test_a_failed_candidate_has_no_times():
    of = candidate.Candidate(engine.chain(2), "chain2", "abia", "abia", "cpu", "float64", 1, True)
    (failed,) = record.results([record.Record(of, "failed", "why")])
    assert (failed.verdict, failed.reason, failed.turns, failed.host, failed.host_interval) == (
        "failed",
        "why",
        0,
        None,
        None,
    )
    timed = record.Record(of, "ok", residual=0.0)
    timed.host = [np.array([1.0, 2.0, np.nan])] * 3
    (found,) = record.results([timed])
    assert (found.turns, found.on_device) == (6, None)
    assert found.host == pytest.approx(1.5)


def test_the_progress_of_a_measurement_grows_to_its_end(abia):
    found = list(block.measure_block([abia], 0, 0, 0.02))
    done = [progress.done for progress in found]
    assert done == sorted(done)
    assert done[-2:] == pytest.approx([1.0, 1.0])
    turns = np.concatenate([progress.host[0] for progress in found])
    assert np.count_nonzero(turns > 0) >= 3
    assert abia.verdict == "ok"


def test_a_process_that_is_silent_says_so_and_one_that_is_stopped_ends():
    reported: list[Silence] = []
    with Children(1) as children:
        with pytest.raises(RuntimeError, match="'NoneType' object is not iterable"):
            list(children[0].work(time.sleep, 0.01))
        assert list(children[0].work(range, 3)) == [0, 1, 2]
        for silence in children[0].work(time.sleep, 60.0, stop=lambda: bool(reported)):
            assert isinstance(silence, Silence)
            reported.append(silence)
        assert len(reported) == 1
        assert 0.3 < reported[0].seconds < 50
        assert children[0]._process.poll() is not None


def test_work_is_shared_between_processes_until_it_is_done_or_fails():
    with Children(2) as children:
        *_, done = children.share(range, [(k,) for k in range(5)], lambda: False)
        assert done == 5
        with pytest.raises(RuntimeError, match="'int' object is not iterable"):
            list(children.share(iter, [("some",), (3,), ("more",)], lambda: False))
