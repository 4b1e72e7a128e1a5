"""Parts of a chain by their two handles, selected in a lesson; and the effect of a pull, stage by stage."""

import numpy as np
import pytest
from lxml import etree

import engine
from engine.algorithms.chain import Chain
from engine.lessons import drawing, handles, pages
from engine.lessons.lesson import Lesson


def lesson(model: engine.Model, name: str = "dca") -> Lesson:
    rng = np.random.default_rng(1)
    return Lesson(name, model, model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv))


def state(model: engine.Model) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    return model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)


def bars(picture: str) -> list[etree._Element]:
    """The runs of a tree."""
    return [box for box in etree.fromstring(picture).iter("{*}rect") if box.get("height") == "14.0"]


@pytest.mark.parametrize("n", [2, 7, 9, 16])
@pytest.mark.parametrize("name", ["dca", "chunks"])
def test_both_equations_hold_for_every_part(name: str, n: int) -> None:
    """With the motion that the engine's accelerations cause, by Newton and Euler."""
    model = engine.chain(n)
    if engine.Lesson.refusal(name, model):
        pytest.skip("too short")
    made = lesson(model, name)
    q, v, tau = state(model)
    qdd = engine.forward_dynamics(model, q, v, tau, device="cpu")
    accelerations, forces = handles.motion(Chain.of(model), q, v, qdd)
    np.testing.assert_allclose(accelerations[0], [0, 0, 0, 0, 0, 9.81], atol=1e-12)
    found = handles.parts(made.trace, len(made.trace.stages) - 1)
    assert {part.first for part in found} >= ({*range(1, n)} if name == "dca" else {-(-n // 4)})
    assert any(part.last == n - 1 for part in found)
    for part in found:
        ends = handles.ends(part, accelerations, forces)
        scale = max(np.abs(forces).max(), np.abs(accelerations).max())
        np.testing.assert_allclose(ends.F_first, forces[part.first], atol=1e-9 * scale)
        np.testing.assert_allclose(ends.a_last, accelerations[part.last + 1], atol=1e-9 * scale)


def test_a_part_is_picked_where_its_bar_is() -> None:
    made = lesson(engine.chain(9))
    joins = [step for step in made.steps if step.section.keys.get("stage") == "join of beyond"]
    for step in joins:
        parts = step.parts
        assert len({(part.first, part.last) for part in parts}) == len(parts)
        bars = [
            bar for bar in etree.fromstring(step.picture(pages.DARK)).iter("{*}rect") if bar.get("height") == "14.0"
        ]
        hit = []
        for bar in bars:
            x, y, width = (float(bar.get(key)) for key in ("x", "y", "width"))
            part = step.part_at(x + width / 2, y + 7)
            if part is not None:
                hit.append((part.first, part.last))
                marked = step.picture(pages.DARK, engine.LessonMarks(part=(part.first, part.last)))
                framed = [
                    b
                    for b in etree.fromstring(marked).iter("{*}rect")
                    if f"stroke:{pages.DARK['text']}" in b.get("style")
                ]
                assert [(b.get("x"), b.get("y")) for b in framed] == [(bar.get("x"), bar.get("y"))]
                lit = step.lights(engine.LessonMarks(part=(part.first, part.last)))
                bodies = made.model.link_body[np.flatnonzero(lit == drawing.NOW)]
                assert set(bodies.tolist()) == {*range(part.first, part.last + 1)}
        assert sorted(hit) == sorted((part.first, part.last) for part in parts)
        assert step.part_at(-5, 30) is None
        assert step.part_at(100, 1000) is None
    assert joins[0].part_of(len(made.model.link_names) - 1).last == 8
    assert (joins[-1].part_of(3).first, joins[-1].part_of(3).last) == (1, 8)
    assert not made.steps[0].parts
    assert not lesson(engine.chain(9), "inverse").steps[5].parts


def test_what_is_told_of_a_part_are_its_equations_in_numbers() -> None:
    made = lesson(engine.chain(7))
    step = next(step for step in made.steps if step.section.keys.get("stage") == "join of beyond")
    part = next(part for part in step.parts if (part.first, part.last) == (3, 4))
    found = made.handles(part)
    assert found.links == "Links 4 to 5"
    assert [whose for *_, whose in found.rows] == ["of link 3", "to link 6", "in the joint of link 4", "of link 5"]
    tip = next(part for part in step.parts if part.last == 6)
    assert made.handles(tip).rows[1][2] == "nothing lies beyond"
    q, v, _ = state(made.model)
    accelerations, _ = handles.motion(Chain.of(made.model), q, v, made.trace.result)
    equation, numbers, _ = found.rows[3]
    assert equation == "a_last = Φ a − Y F_next + b"
    assert numbers == ", ".join(f"{x:.3g}".replace("-", "−") for x in accelerations[5])
    assert lesson(engine.chain(7), "abia").handles(part) is None


@pytest.mark.parametrize("n", [7, 8, 16, 32])
def test_a_pull_at_the_root_goes_through_the_second_tree_to_all_leaves(n: int) -> None:
    made = lesson(engine.chain(n))
    changed = made.pulled(0).changed
    assert made.pulled(0) == made.pulled(0)
    for stage, marks in zip(made.trace.stages, changed, strict=True):
        if stage.part in ("transforms", "velocities", "bias", "beyond"):
            assert not any(marks)
        elif stage.part == "joints" or stage.name == "maps":
            assert marks == (True, *(False,) * (stage.tasks - 1))
        elif stage.name == "join":
            assert marks == tuple(first == 0 for first, _ in stage.runs)
        else:
            assert all(marks)
    assert made.facts["pull_beyond"] == "0"
    assert made.facts["pull_links"] == str(n)


def test_a_chain_twice_as_long_takes_a_pull_two_steps_more() -> None:
    steps = [int(lesson(engine.chain(n)).facts["pull_steps"]) for n in (8, 16, 32)]
    assert np.diff(steps).tolist() == [2, 2]


@pytest.mark.parametrize("n", [7, 9, 16])
def test_a_pull_at_the_tip_changes_one_part_in_each_step_and_then_all(n: int) -> None:
    made = lesson(engine.chain(n))
    up, rest = [], []
    for stage, marks in zip(made.trace.stages, made.pulled(n - 1).changed, strict=True):
        if stage.part == "beyond":
            (up if stage.name in ("reduce", "join") else rest).append(marks)
            if stage.name in ("reduce", "join"):
                assert marks == tuple(last == n - 1 for _, last in stage.runs)
        elif stage.part == "joints":
            rest.append(marks)
    assert all(all(marks) for marks in rest)
    assert made.facts["tip_parts"] == str(sum(map(sum, up))) == str(len(up))
    assert made.facts["all_parts"] == str(sum(map(len, up)))
    assert int(made.facts["left_parts"]) == (n - 1).bit_count()


def test_what_a_pull_changed_is_orange_in_the_tree_and_on_the_robot() -> None:
    made = lesson(engine.chain(7))
    marks = made.pulled(0)
    for step in (step for step in made.steps if step.index >= 0):
        stage = made.trace.stages[step.index]
        lit = step.lights(marks)
        touched = set(made.model.link_body[np.flatnonzero(lit == drawing.TOUCHED)].tolist())
        here = {
            link
            for other, changes in zip(made.trace.stages[: step.index + 1], marks.changed, strict=False)
            if other.part == stage.part and (other is stage or other.name not in ("join", "reduce", "maps"))
            for (first, last), change in zip(other.runs, changes, strict=True)
            if change
            for link in range(first, last + 1)
        }
        assert touched == here
        picture = step.picture(pages.DARK, marks)
        assert "changed by the pull" in picture
        orange = [bar for bar in bars(picture) if pages.DARK["warning"] in bar.get("style")]
        assert bool(orange) == (stage.part == "ends")


@pytest.mark.parametrize("n", [7, 12])
def test_the_tree_of_what_lies_beyond_begins_with_the_second_link(n: int) -> None:
    made = lesson(engine.chain(n))
    index = next(k for k, stage in enumerate(made.trace.stages) if stage.name == "join" and stage.part == "beyond")
    drawn = bars(drawing.tree(made.trace, index, pages.DARK))
    lowest = max(float(bar.get("y")) for bar in drawn)
    assert sum(float(bar.get("y")) == lowest for bar in drawn) == n - 1
    assert drawing.run_at(made.trace, index, 12.0, lowest + 7.0) is None
    assert drawing.run_at(made.trace, index, 400.0, lowest + 7.0) is not None


@pytest.mark.parametrize("n", [7, 9, 16, 40])
def test_lit_links_begin_the_parts_that_reach_the_tip(n: int) -> None:
    made = lesson(engine.chain(n))
    for step in (step for step in made.steps if step.section.keys.get("stage") == "apply of beyond"):
        known = {
            link
            for stage in made.trace.stages[: step.index + 1]
            if stage.part == "beyond" and stage.name in ("first", "apply")
            for link in stage.links
        }
        listed, _, more = step.facts["lit_links"].partition(" and ")
        assert [int(x) for x in listed.split(", ")] == sorted(link + 1 for link in known)[:16]
        assert bool(more) == (len(known) > 16)
        assert step.facts["known"] == str(len(known))
