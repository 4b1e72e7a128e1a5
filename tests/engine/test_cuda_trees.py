"""DCA-ABA for trees on the GPU: the schedule, the absence of races, and the kernel's results."""

from collections import Counter

import numpy as np
import pytest

import engine
from engine.bench.states import State, residual, state
from engine.cuda.trees import dca
from engine.cuda.trees.contraction import Costs
from engine.cuda.trees.schedule import TASK_BITS, Schedule, Task, schedule
from tests.shaped_trees import SHAPES, shaped

TOLERANCE = {"float64": 1e-11, "float32": 1e-3}
H200 = {"multiProcessorCount": 132, "major": 9}
CHEAP, DEAR = Costs(absorb=100.0), Costs(absorb=0.01)  # stretches wherever there is one, and hardly any


def of_all_shapes(n: int) -> list[engine.Model]:
    shapes = [shaped(shape, n, prismatic=0.3, floating=shape == "legs") for shape in SHAPES]
    snakes = [engine.tree(n, branching=0, floating=True), engine.chain(n, spherical=1.0)]
    return [*shapes, *snakes, *(engine.tree(n, prismatic=0.3, floating=True, spherical=share) for share in (0.0, 0.4))]


class Run:
    """A schedule walked through round by round: what is written where, and by whom."""

    def __init__(self, tree: Schedule, warps: int, kind: np.ndarray):
        self.tree, self.warps, self.kind = tree, warps, kind[tree.body]
        self.known: dict[tuple[str, int], tuple[int, int]] = {}  # the round and the warp that wrote a number last
        self.read: dict[tuple[str, int], tuple[int, set[int]]] = {}  # the last round in which it was read, and by whom
        self.done: Counter[str] = Counter()
        self.shares = [tree.shares[a:b].tolist() for a, b in zip(tree.first_share, tree.first_share[1:], strict=False)]
        ends = [*tree.first_step[1:], len(tree.program)]
        programs = [tree.program[a:b].tolist() for a, b in zip(tree.first_step, ends, strict=True)]
        self.round = 0
        at = [0] * warps
        while True:
            last = set()
            for warp, program in enumerate(programs):
                while (task := Task(program[at[warp]][0] % (1 << TASK_BITS))) not in (Task.MEET, Task.END):
                    self.carry_out(warp, task, program[at[warp]][0] >> TASK_BITS, program[at[warp]][1:])
                    at[warp] += 1
                last.add(task)
                at[warp] += 1
            self.round += 1
            assert len(last) == 1, "warps meet different numbers of times"
            if last == {Task.END}:
                break
        assert at == [len(program) for program in programs]

    def needs(self, warp: int, *numbers: tuple[str, int]) -> None:
        for number in numbers:
            when, who = self.known[number]
            assert when < self.round or who == warp, (number, "may not be there yet")
            before = self.read.get(number, (-1, set()))
            self.read[number] = self.round, {warp} | (before[1] if before[0] == self.round else set())

    def writes(self, warp: int, *numbers: tuple[str, int]) -> None:
        for number in numbers:
            when, who = self.read.get(number, (-1, {warp}))
            assert when < self.round or who == {warp}, (number, "is still being read")
            when, by = self.known.get(number, (-1, warp))
            assert when < self.round or by == warp, (number, "is written twice")
            self.known[number] = self.round, warp
            self.done[number[0]] += 1

    def carry_out(self, warp: int, task: Task, count: int, rest: list[int]) -> None:
        tree, (x, y, z) = self.tree, rest
        places = [] if task in (Task.SUM, Task.JOIN, Task.JOIN_MAPS) else list(range(x, x + count))
        if task in (Task.REDUCE, Task.ARTICULATE, Task.ACCELERATE_CHUNK):
            assert 0 < count <= 32
            places = [int(code) // 4 for code in dict.fromkeys(tree.links[x : x + count] // 4 * 4)]
        above = [int(tree.parent[i]) for i in places]
        if task == Task.START:
            self.writes(warp, *(("travel 0", i) for i in places), *(("pose", i) for i in places))
        elif task == Task.DOUBLE:
            far = [int(j) for i in places for j in tree.ancestors[y, :, i] if j >= 0]
            self.needs(warp, *((f"travel {y}", i) for i in (*places, *far)))
            self.writes(warp, *((f"travel {y + 1}", i) for i in places))
        elif task == Task.SUM:
            self.needs(warp, *(("share", i) for i in self.shares[x]))
            self.writes(warp, ("share", x))
        elif task in (Task.ABSORB, Task.REDUCE, Task.ARTICULATE):
            self.needs(warp, *((f"travel {len(tree.ancestors)}", i) for i in (*places, *above) if i >= 0))
            self.needs(warp, *(("share", j) for i in places for j in self.shares[i]), *(("pose", i) for i in places))
            if task == Task.REDUCE:
                self.writes(warp, ("element", y))
            else:
                self.writes(warp, *(("gain", i) for i in places), *(("pose", i) for i in places))
                self.writes(warp, *(("share", i) for i in (places if task == Task.ABSORB else places[:1])))
            if task == Task.ARTICULATE:
                self.needs(warp, *([("element", y)] if y >= 0 else []))
                self.writes(warp, ("map", z))
        elif task in (Task.JOIN, Task.JOIN_MAPS):
            name = "element" if task == Task.JOIN else "map"
            self.needs(warp, (name, x), (name, y))
            self.writes(warp, (name, z))
        else:
            above = above if task == Task.ACCELERATE else [z]
            self.needs(warp, *(("gain", i) for i in places), *(("acceleration", i) for i in above if i >= 0))
            self.needs(warp, *([("map", y)] if task == Task.ACCELERATE_CHUNK and y >= 0 else []))
            self.writes(warp, *(("acceleration", i) for i in places))


@pytest.mark.parametrize("n", [1, 2, 7, 33, 200])
@pytest.mark.parametrize("warps", [8, 32])
@pytest.mark.parametrize("costs", [Costs(), CHEAP, DEAR])
def test_nothing_is_read_before_it_is_there_and_every_body_is_served(n, warps, costs):
    for model in of_all_shapes(n):
        tree = schedule(model.parent, model.kind, warps, costs)
        assert sorted(tree.body) == list(range(n))
        run = Run(tree, warps, model.kind)
        assert run.round == tree.rounds
        assert run.done["gain"] == run.done["acceleration"] == n


@pytest.mark.parametrize("n", [1, 2, 33, 200])
def test_a_program_may_go_on_behind_the_poses_and_behind_the_twists(n):
    for model in of_all_shapes(n):
        tree, warps = schedule(model.parent, model.kind, 16), 16
        ends = [*tree.first_step[1:], len(tree.program)]
        twists = len(tree.ancestors)
        for warp in range(warps):
            task = tree.program[:, 0] % (1 << TASK_BITS)
            first, poses, contraction = tree.first_step[warp], tree.after(1)[warp], tree.after(1 + twists)[warp]
            assert set(task[first : poses - 1]) <= {Task.START}
            assert set(task[poses:contraction]) <= {Task.DOUBLE, Task.MEET}
            assert not {Task.START, Task.DOUBLE} & set(task[contraction : ends[warp]])
            assert np.sum(task[first:contraction] == Task.MEET) == 1 + twists
            inward, following = (task[a:b] for a, b in ((contraction, ends[warp]), (ends[warp] - 1, ends[warp])))
            assert following == Task.END
            met = np.cumsum(inward == Task.MEET) - (inward == Task.MEET)
            assert np.all(met[np.isin(inward, [Task.ABSORB, Task.ARTICULATE, Task.REDUCE])] < tree.inward)


def test_rounds_grow_as_the_docstring_says():
    def rounds(model: engine.Model, costs: Costs | None = None) -> int:
        return schedule(model.parent, model.kind, 128, costs).rounds

    assert rounds(shaped("binary", 4095)) == (1 + 2) + 2 * 2 - 1
    assert rounds(shaped("star", 4096)) <= 8
    assert rounds(engine.tree(4096, branching=0, floating=True)) <= (1 + 6) + 2 * 8 + 4
    assert rounds(shaped("caterpillar", 4096)) <= (1 + 6) + 2 * 8 + 4
    assert rounds(shaped("comb", 4096)) <= 20
    assert rounds(engine.tree(10000)) <= 30


def test_blocks_are_as_many_as_pay():
    assert dca.blocks(30, 1, 132, clusters=True) == 1
    assert dca.blocks(4096, 1, 132, clusters=True) == 16
    assert dca.blocks(4096, 20, 132, clusters=True) == 4
    assert dca.blocks(4096, 1, 108, clusters=False) == 1


def solved(model: engine.Model, at: State, dtype: str) -> np.ndarray:
    import cupy

    arguments = [cupy.asarray(x.astype(dtype)) for x in at]
    out = cupy.full(at.v.shape, np.nan, dtype)
    dca.Dca(model, dtype)(*arguments, out)
    return out.get()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("n", [1, 2, 10, 33, 64, 257, 1000, 4096])
def test_trees_of_all_shapes_get_the_aba_s_accelerations(n, dtype, rng):
    for model in of_all_shapes(n):
        at = state(model, rng, 2)
        qdd = solved(model, at, dtype)
        assert np.max(residual(model, at, qdd)) <= TOLERANCE[dtype], model.name
        if dtype == "float64" and n <= 64:
            np.testing.assert_allclose(qdd, engine.forward_dynamics(model, *at), rtol=1e-7, atol=1e-7)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "floating"),
    [("humanoid", False), ("quadruped", False), ("arm7", True), ("scara", True), ("snake50", True)],
)
def test_robots_get_the_aba_s_accelerations(name, floating, rng):
    model = engine.load(engine.ROBOTS / f"{name}.urdf", floating=floating)
    at = state(model, rng, 5)
    assert np.max(residual(model, at, solved(model, at, "float64"))) <= TOLERANCE["float64"]


@pytest.mark.gpu
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", ["talos_full_v2", "anymal", "tiago_dual", "g1_29dof_with_hand_rev_1_0"])
def test_real_robots_get_the_aba_s_accelerations(name, floating, rng, example_robots):
    path = next(path for path in example_robots if path.stem == name)
    model = engine.load(path, floating=floating, mimic=False)
    at = state(model, rng, 5)
    qdd = solved(model, at, "float64")
    assert np.max(residual(model, at, qdd)) <= TOLERANCE["float64"]
    expected = engine.forward_dynamics(model, *at)
    assert np.max(np.abs(qdd - expected)) <= 1e-7 * np.max(np.abs(expected))


@pytest.mark.gpu
def test_the_largest_trees_are_right(rng):
    for model in (engine.tree(30000), shaped("caterpillar", 20000)):
        at = state(model, rng)
        assert np.max(residual(model, at, solved(model, at, "float64"))) <= TOLERANCE["float64"], model.name


@pytest.mark.gpu
def test_a_robot_gets_the_same_bits_again_and_anywhere_in_a_batch(rng):
    model = engine.tree(300, floating=True)
    at = State(*(np.concatenate([x, x[::-1]]) for x in state(model, rng, 100)))
    first, again = (solved(model, at, "float64") for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first[:100], first[:99:-1])


@pytest.mark.gpu
def test_dca_serves_trees_by_its_name(rng):
    model = engine.load(engine.ROBOTS / "humanoid.urdf")
    at = state(model, rng)
    fd = engine.ForwardDynamics(model, algorithm="dca", device="cuda")
    assert residual(model, at, fd(*(x[0] for x in at))[None])[0] <= TOLERANCE["float64"]
