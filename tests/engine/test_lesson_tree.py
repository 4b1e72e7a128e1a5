"""The lesson on DCA for branching robots: its paths, the order of results, and agreement with the engine."""

import re

import numpy as np
import pytest
from lxml import etree

import engine
from engine.algorithms import dca_tree
from engine.algorithms.tree import Tree, paths
from engine.lessons import drawing, pages, text
from engine.lessons.lesson import Lesson

ROBOTS = ("humanoid", "quadruped", 20, 1)


def robot(name: str | int) -> engine.Model:
    if isinstance(name, int):
        return engine.tree(name) if name > 1 else engine.load(engine.find_robot("arm7"), floating=True)
    return engine.load(engine.find_robot(name))


def lesson(name: str | int) -> Lesson:
    model, rng = robot(name), np.random.default_rng(1)
    return Lesson("dca", model, model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv))


@pytest.mark.parametrize("name", ROBOTS)
def test_bodies_become_known_path_by_path_and_the_numbers_are_the_engine_s(name: str | int) -> None:
    made = lesson(name)
    model, tree = made.model, Tree.of(made.model)
    assert made.error < 1e-9
    expected = [set(level.places) for level in tree.levels]
    for part, order in (("velocities", expected), ("paths", expected[::-1]), ("outwards", expected)):
        stages = [stage for stage in made.trace.stages if stage.name == part]
        assert [set(stage.links) for stage in stages] == order
        known: set[int] = set()
        for stage in stages:
            lit = drawing.lights(made.trace, made.trace.stages.index(stage), len(model.parent))
            assert set(np.flatnonzero(lit == drawing.NOW).tolist()) == set(stage.links)
            assert set(np.flatnonzero(lit == drawing.KNOWN).tolist()) == known
            known |= set(stage.links)
            assert all(len(value) == len(stage.links) for value in stage.values)
        assert known == set(range(len(model.parent)))
    # What a body feels of all beyond: J alone at the tips, and in a part of the tree nothing is missing.
    tips = set(range(len(model.parent))) - set(model.parent.tolist())
    for stage in made.trace.of("paths"):
        for body, inertia in zip(stage.links, stage.values[0], strict=True):
            if body in tips:
                np.testing.assert_allclose(inertia, model.J[body], rtol=1e-12, atol=1e-12)
            else:
                assert np.linalg.eigvalsh(inertia - model.J[body]).min() > -1e-9 * np.abs(inertia).max()


@pytest.mark.parametrize("name", ROBOTS)
def test_watching_changes_no_bit(name: str | int) -> None:
    made, model, rng = lesson(name), robot(name), np.random.default_rng(1)
    state = model.random(rng)[None], rng.normal(size=(1, model.nv)), rng.normal(size=(1, model.nv))
    alone = dca_tree.forward_dynamics(Tree.of(model), *state)[0]
    assert made.trace.result.tobytes() == alone.tobytes()


@pytest.mark.parametrize("n", [2, 20, 300])
def test_paths_halve_what_is_carried(n: int) -> None:
    parent = engine.tree(n).parent
    carried = np.ones(n, int)
    for body in reversed(range(n)):
        if parent[body] >= 0:
            carried[parent[body]] += carried[body]
    levels = paths(parent)
    for level in levels:
        for body, above in zip(level.bodies[:, 0], level.parent, strict=True):
            assert above < 0 or 2 * carried[body] < carried[above]
    assert len(levels) <= np.log2(n) + 1


def test_facts_are_those_of_the_robot() -> None:
    made = lesson("humanoid")
    levels = Tree.of(made.model).levels
    rows = [row[row >= 0] for level in levels for row in level.bodies]
    assert made.facts["paths"] == str(len(rows)) == "5"
    assert made.facts["longest_path"] == str(max(map(len, rows)))
    assert made.facts["levels_of_paths"] == str(len(levels)) == made.steps[-1].question.answer
    assert made.facts["levels_of_many_paths"] == str(int(np.log2(int(made.facts["many"]))) + 1)
    named = set(re.findall(r"\{(\w+)\}", (text.FOLDER / f"dca{text.OF_TREES}").read_text("utf-8")))
    assert named <= {fact for step in made.steps for fact in step.facts}
    long = lesson(1)  # a chain with a free base
    assert (long.facts["paths"], long.facts["deepest"]) == ("1", "8")


@pytest.mark.parametrize("name", ROBOTS)
def test_the_picture_has_each_body_once_and_a_line_from_its_parent(name: str | int) -> None:
    made = lesson(name)
    n, seen = len(made.model.parent), []
    for step in (step for step in made.steps if step.has_picture):
        root = etree.fromstring(step.picture(pages.DARK))
        dots = list(root.iter("{*}circle"))
        assert len(dots) == n
        assert len({(dot.get("cx"), dot.get("cy")) for dot in dots}) == n
        assert len(list(root.iter("{*}line"))) == n
        _, _, width, height = map(float, root.get("viewBox").split())
        for dot in dots:
            assert 0 <= float(dot.get("cx")) <= width
            assert 0 <= float(dot.get("cy")) <= height
        shown = sum(pages.DARK["accent"] in dot.get("style") for dot in dots)
        assert shown == len(made.trace.stages[step.index].links)
        seen.append(step.picture(pages.DARK))
    assert seen


def test_words_for_chains_stay_those_of_chains() -> None:
    assert text.read("dca").title == engine.Lesson.title_of("dca")
    assert lesson("humanoid").title != text.read("dca").title
    mimic = engine.Lesson.refusal("abia", robot("humanoid"))
    assert "open arm7" in mimic
    assert engine.Lesson.refusal("dca", robot("humanoid")) == ""


def test_work_is_counted_for_all_paths_side_by_side() -> None:
    made = lesson("humanoid")
    assert made.serial is None
    joins = [stage for stage in made.trace.stages if (stage.name, stage.part) == ("join", "paths")]
    outermost = Tree.of(made.model).levels[-1]
    assert joins[0].rows == len(outermost.bodies)
    assert joins[0].tasks == len(outermost.bodies) * ((outermost.bodies.shape[1] - 1) // 2)
    times = [made.trace.time(p) for p in (1, 2, 31, 1024)]
    assert times[0] == pytest.approx(made.trace.work)
    assert times == sorted(times, reverse=True)
    assert "ABA" not in made.steps[-2].clock(pages.DARK)
