"""Lessons: the observer of the algorithms, the counts, and the agreement of the text with the results."""

import time

import numpy as np
import pytest

import engine
from engine.algorithms import abia, cfa, dca, inverse
from engine.algorithms.chain import Chain
from engine.blocks import bidiagonal, scan, stages, tridiagonal
from engine.lessons.counting import Counter
from engine.lessons.lesson import Lesson
from engine.lessons.trace import marked, trace

TEXTS = {
    "abia": abia.forward_dynamics,
    "inverse": inverse.inverse_dynamics,
    "dca": dca.forward_dynamics,
    "dca of chunks": lambda *given: dca.forward_dynamics(*given, chunk=3),
    "cfa": lambda *given: cfa.refined(*given, 2).qdd,
}
SIZES = (2, 3, 7, 8, 9, 16, 33)


def state(model: engine.Model, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("n", SIZES)
def test_watching_changes_no_bit(text: str, n: int, rng: np.random.Generator) -> None:
    model = engine.chain(n)
    chain, (q, v, x) = Chain.of(model), state(model, rng)
    alone = TEXTS[text](chain, q[None], v[None], x[None])[0]
    watched = trace(TEXTS[text], chain, q, v, x)
    assert watched.result.tobytes() == alone.tobytes()
    assert watched.stages


def test_nobody_is_called_who_does_not_watch() -> None:
    seen = []
    with stages.watched(lambda name, places, values: seen.append((name, list(places), len(values)))):
        stages.stage("one", range(3), np.zeros(3))
    stages.stage("two", range(3))
    assert seen == [("one", [0, 1, 2], 1)]


def test_a_stage_costs_nothing_where_nobody_watches() -> None:
    """Beside one product of 6 × 6 matrices, of which each stage of each text does several."""
    A = np.eye(6)[None, None]

    def seconds(of) -> float:
        start = time.process_time()
        for _ in range(20000):
            of()
        return time.process_time() - start

    calls = min(seconds(lambda: stages.stage("join", range(1), A, A)) for _ in range(5))
    products = min(seconds(lambda: A @ A) for _ in range(5))
    assert calls < products


def test_operations_are_counted() -> None:
    counter = Counter()
    A, x = (counter.counted(np.ones(shape)) for shape in ((2, 4, 3), (2, 3, 5)))
    steps = (
        (lambda: A @ x, 2 * 4 * 5 * (2 * 3 - 1)), (lambda: A + 1.0, 24), (lambda: np.sum(A, -1), 24 - 8),
        (lambda: A[:, 1:], 0), (lambda: np.concatenate([A, A], 1), 0), (lambda: np.cos(A) * A, 48),
        (lambda: np.ones((2, 4, 4)) @ A, 2 * 4 * 3 * 7), (lambda: np.swapaxes(A, 1, 2) > 0, 0),
        (lambda: np.linalg.solve(np.eye(3) + 0 * x[..., :3], x), 2 * (2 * 27 / 3 + 2 * 9 * 5) + 2 * 2 * 9),
    )  # fmt: skip
    for step, operations in steps:
        before = counter.operations
        step()
        assert counter.operations - before == operations
    for made in (
        np.concatenate([np.ones((2, 1, 3)), A], 1),
        np.stack([A, A]),
        np.where(A > 0, A, 0.0),
        np.zeros_like(A),
    ):
        before = counter.operations
        made + 1.0
        assert counter.operations - before == made.size
    y = counter.counted(np.ones((2, 3)))
    before = counter.operations
    y[:, 1:] -= 2.0
    assert counter.operations - before == 4
    assert np.array_equal(y, [[1, -1, -1], [1, -1, -1]])


@pytest.mark.parametrize("n", SIZES)
def test_elimination_takes_the_logarithm_of_the_rows(n: int, rng: np.random.Generator) -> None:
    """⌈log₂ n⌉ steps over all rows, after each of which what couples rows lies twice as far off."""
    D, U, R = rng.normal(size=(1, n, 5, 5)), rng.normal(size=(1, n - 1, 5, 5)), rng.normal(size=(1, n, 5))
    D = D @ np.swapaxes(D, -1, -2) + 50 * np.eye(5)
    seen: list[tuple[str, int, tuple[int, ...]]] = []

    def watcher(name, places, values) -> None:
        seen.append((name, len(places), values[-1].shape))

    with stages.watched(watcher):
        tridiagonal.solve(D, U, R)
    steps = int(np.ceil(np.log2(n)))
    eliminated = [(1, max(n - 2 ** (k + 1), 0), 5, 5) for k in range(steps)]
    assert [shape for name, _, shape in seen if name == "eliminate"] == eliminated
    assert [name for name, *_ in seen] == ["eliminate"] * steps + ["substitute"] * steps + ["solve"]
    assert {tasks for _, tasks, _ in seen} == {n}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, *SIZES])
def test_a_scan_makes_each_state_known_once(n: int, reverse: bool, rng: np.random.Generator) -> None:
    """Each apply comes from a state that is known; n − 1 joins at most, in ⌈log₂ n⌉ levels at most each way."""
    A, b = rng.normal(size=(1, n, 3, 3)), rng.normal(size=(1, n, 3))
    solve = bidiagonal.solve_transposed if reverse else bidiagonal.solve
    expected = solve(A, b)[0]
    known: set[int] = set()
    seen: list[str] = []

    def watcher(name, places, values) -> None:
        seen.append(name)
        if name == "join":
            return
        if name == "apply":
            assert all(place - places.step // 2 in known for place in places)
        assert known.isdisjoint(places) or name == "first"
        known.update(places)
        np.testing.assert_array_equal(values[0][0, ..., 0], expected[list(places)])

    with stages.watched(watcher):
        solve(A, b)
    assert known == set(range(n))
    levels = int(np.ceil(np.log2(n)))
    assert seen.count("join") <= levels
    assert seen.count("apply") <= levels


def test_the_loop_says_the_same_link_by_link(rng: np.random.Generator) -> None:
    A, b, seen = rng.normal(size=(1, 5, 3, 3)), rng.normal(size=(1, 5, 3)), []
    with stages.watched(lambda name, places, _: seen.append((name, *places))):
        bidiagonal.solve(A, b, scan.loop)
    assert seen == [("first", 0), *(("apply", i) for i in range(1, 5))]


def test_the_aba_is_serial(rng: np.random.Generator) -> None:
    """Articulated inertias from the tip, accelerations from the base, one link at a time."""
    model = engine.chain(6)
    made = trace(abia.forward_dynamics, Chain.of(model), *state(model, rng))
    assert [stage.links for stage in made.of("articulated inertia")] == [(i,) for i in reversed(range(6))]
    assert [stage.links for stage in made.of("acceleration")] == [(i,) for i in range(6)]
    # No processor beyond the first helps either pass.
    for stage in made.of("articulated inertia", "acceleration"):
        assert stage.seconds(1024) == stage.operations


def test_processors_share_the_tasks_of_a_stage(rng: np.random.Generator) -> None:
    model = engine.chain(33)
    made = trace(dca.forward_dynamics, Chain.of(model), *state(model, rng))
    times = [made.time(p) for p in (1, 2, 3, 32, 33, 1024)]
    assert times[0] == pytest.approx(made.work)
    assert times == sorted(times, reverse=True)
    assert times[-1] == times[-2] == pytest.approx(sum(s.operations / s.tasks for s in made.stages))
    wide = next(stage for stage in made.stages if stage.tasks == 33 and stage.operations)
    assert wide.seconds(16) == pytest.approx(3 * wide.operations / 33)  # 33 tasks: two rounds of 16, and one


def test_depth_grows_with_the_logarithm(rng: np.random.Generator) -> None:
    """From 16 to 256 links: the ABA's depth sixteenfold, but for one; each scan's by four levels each way."""
    depths = {}
    for n in (16, 256):
        model = engine.chain(n)
        chain, given = Chain.of(model), state(model, rng)
        depths[n] = [trace(TEXTS[text], chain, *given).depth for text in ("abia", "inverse", "dca")]
    (aba, inverse_steps, dca_steps), (aba_long, inverse_long, dca_long) = depths[16], depths[256]
    assert aba_long - aba == 3 * 240  # velocities, inertias, accelerations
    assert inverse_long - inverse_steps == 3 * 2 * 4
    assert dca_long - dca_steps == 3 * 2 * 4


@pytest.mark.parametrize("n", [8, 32, 64])
def test_a_chain_twice_as_long_takes_dca_six_steps_more_and_the_aba_twice_as_many(n: int, rng) -> None:
    """The lesson on DCA says so; and with more processors than links nothing becomes faster."""
    made = [
        [trace(TEXTS[text], Chain.of(model), *state(model, rng)) for text in ("abia", "dca")]
        for model in (engine.chain(n), engine.chain(2 * n))
    ]
    (aba, dca), (aba_long, dca_long) = made
    assert dca_long.depth - dca.depth == 6
    assert (aba.depth, aba_long.depth) == (3 * n + 2, 6 * n + 2)
    assert dca.time(n) == dca.time(1024)
    assert aba.time(2) == pytest.approx(aba.work, rel=0.2)


def test_the_lines_of_a_stage_are_those_above_its_call(rng: np.random.Generator) -> None:
    model = engine.chain(4)
    made = trace(TEXTS["cfa"], Chain.of(model), *state(model, rng))
    first = made.of("eliminate")[0]
    text, here = marked(first)
    lines = [text[i].strip() for i in here]
    assert lines[0].startswith("E = t(symmetric.solve(")
    assert lines[-1] == "steps.append((E, K))"
    assert text[0].startswith("def eliminate(")


@pytest.mark.parametrize("name", Lesson.names())
@pytest.mark.parametrize("n", [2, 7, 16, 64])
def test_each_lesson_is_the_engine_s_own_numbers(name: str, n: int, rng: np.random.Generator) -> None:
    model = engine.chain(n)
    if reason := engine.Lesson.refusal(name, model):
        assert n < 3, reason
        pytest.skip(reason)
    lesson = engine.Lesson(name, model, *state(model, rng))
    assert lesson.error < 1e-6
    assert any(step.question for step in lesson.steps)
    for step in lesson.steps:
        assert step.title
        assert step.words
        assert "{" not in "".join(step.words)
        assert len(step.lit) == len(model.link_names)


def test_what_is_refused_says_what_serves() -> None:
    model = engine.load(engine.ROBOTS / "humanoid.urdf")
    with pytest.raises(ValueError, match=r"floating_base.*open arm7, or a chain by File › Generate"):
        engine.Lesson("elimination", model, model.neutral(), np.zeros(model.nv), np.zeros(model.nv))
    assert "floating_base" in engine.Lesson.refusal("elimination", model)
    arm = engine.load(engine.ROBOTS / "arm7.urdf")
    assert engine.Lesson.refusal("elimination", arm) == ""
    with pytest.raises(ValueError, match="there is no lesson 'none'; the lessons are elimination"):
        engine.Lesson("none", arm, arm.neutral(), np.zeros(7), np.zeros(7))
    pendulum = engine.load(engine.ROBOTS / "pendulum.urdf")
    with pytest.raises(ValueError, match="needs 2 links or more that move; pendulum has 1"):
        engine.Lesson("elimination", pendulum, [0], [0], [0])
