"""Pictures of lessons: well-formed, each other than the one before, and with what is known and when."""

from itertools import pairwise

import numpy as np
import pytest
from lxml import etree
from test_lesson_pages import NAMES, SEEN, lesson

import engine
from engine.lessons import drawing, pages, text
from engine.lessons.lesson import Lesson

pytestmark = pytest.mark.written_out  # as the folder of all tests is made, before any of them


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [2, 16, 80])
def test_pictures_are_well_formed_and_differ(name: str, n: int) -> None:
    made, seen = lesson(name, engine.chain(max(n, int(text.read(name).keys.get("least", 2))))), []
    for step in made.steps:
        for draw, has in ((step.picture, step.has_picture), (step.clock, step.has_clock)):
            drawn = draw(pages.DARK)
            assert bool(drawn) == has
            if has:
                root = etree.fromstring(drawn)
                _, _, width, height = map(float, root.get("viewBox").split())
                for box in root.iter("{*}rect"):
                    x, y, w, h = (float(box.get(key)) for key in ("x", "y", "width", "height"))
                    assert -1 <= x <= x + w <= width + 1
                    assert -1 <= y <= y + h <= height + 1
        if step.index >= 0 and not step.is_continuation:
            seen.append(step.picture(pages.DARK))
    # What little rows that are far apart change is not seen; three links have one inertia, two joints the same errors.
    assert (
        n > SEEN
        or name in ("composition", "precision", "contact")
        or all(one != other for one, other in pairwise(each for each in seen if each))
    )


def test_a_matrix_shows_what_is_coupled() -> None:
    made = lesson("elimination", engine.chain(8))
    for number, step in enumerate(
        s for s in made.steps if s.section.keys.get("stage") == "eliminate" and not s.is_continuation
    ):
        root = etree.fromstring(step.picture(pages.DARK))
        tinted = [box for box in root.iter("{*}rect") if pages.DARK["warning"] in box.get("style").split(";stroke")[0]]
        zeros = list(root.iter("{*}circle"))
        couplings, key = 2 * max(8 - 2 ** (number + 1), 0), 1 if number < 2 else 0
        assert len(tinted) == couplings + key
        assert len(zeros) == 2 * (8 - 2**number) + 1


def test_the_bar_of_a_link_has_the_colour_of_the_link() -> None:
    made, several = lesson("abia", engine.chain(7)), False
    for step in (step for step in made.steps if step.has_picture):
        root = etree.fromstring(step.picture(pages.DARK))
        if not any("magnitude, the largest" in "".join(each.itertext()) for each in root.iter("{*}text")):
            continue
        shown = {}
        for kind in ("circle", "rect"):  # the dots, from base to tip, and the bars among boxes of 10 px
            found = [each for each in root.iter(f"{{*}}{kind}") if each.get("height") not in ("10", "10.0")]
            shown[kind] = [each.get("style").split("fill:")[1].split(";")[0] for each in found]
        known = [each for each in shown["circle"] if each in (pages.DARK["accent"], pages.DARK["good"])]
        assert sorted(shown["rect"]) == sorted(known)
        several |= len(set(known)) == 2
    assert several


@pytest.mark.parametrize(
    ("name", "arrows"), [("inverse", {"apply"}), ("abia", {"articulated inertia", "acceleration"})]
)
def test_arrows_come_from_links_that_are_known(name: str, arrows: set[str]) -> None:
    made, drawn = lesson(name, engine.chain(7)), set()
    for step in (step for step in made.steps if step.has_picture):
        stage = made.trace.stages[step.index]
        found = len(list(etree.fromstring(step.picture(pages.DARK)).iter("{*}path")))
        first_of_all = stage is made.trace.of(stage.name)[0]
        assert found == (stage.tasks if stage.name in arrows and not (first_of_all and name == "abia") else 0)
        drawn |= {stage.name} if found else set()
    assert drawn == arrows


def test_known_links_are_lit_and_stay() -> None:
    made = lesson("inverse", engine.chain(9))
    known: dict[str, set[int]] = {}
    for index, stage in enumerate(made.trace.stages):
        lit = drawing.lights(made.trace, index, 9)
        if stage.name in ("first", "apply"):
            here = set(np.flatnonzero(lit >= drawing.KNOWN).tolist())
            assert known.get(stage.part, set()) <= here
            assert set(stage.links) <= here
            known[stage.part] = here
        elif stage.name == "join":
            assert (lit == drawing.TOUCHED).sum() == stage.tasks * stage.span
    assert set(known) == {"velocities", "accelerations", "forces"}
    assert all(len(links) == 9 for links in known.values())


def test_what_is_zero_is_said_and_rounding_is_not_drawn() -> None:
    model = engine.load(engine.ROBOTS / "arm7.urdf")
    zero = np.zeros(7)
    message = {}
    for step in Lesson("inverse", model, model.neutral(), zero, zero).steps:
        if step.has_picture:
            message[step.section.title.partition(":")[0]] = step.picture(pages.DARK)
    assert "the robot is at rest" in message["Velocities"]
    assert "for a moment" in message["Velocities"]
    assert "but for rounding" in message["The torques"]
    assert "magnitude, the largest" in message["Accelerations"]
    join = next(
        step for step in lesson("inverse", model).steps if step.section.keys.get("stage") == "join of velocities"
    )
    assert "No magnitude is known yet" in join.picture(pages.DARK)


@pytest.mark.parametrize("name", NAMES)
def test_the_time_of_the_aba_stands_beside_what_finds_the_same(name: str) -> None:
    made = lesson(name, engine.chain(5))
    clocks = [step.clock(pages.DARK) for step in made.steps if step.has_clock]
    compared = {"elimination", "dca", "abia", "chunks"}
    assert all(("ABA: " in clock) == (name in compared) for clock in clocks)


def test_times_over_links_can_be_read_at_lines_of_powers_of_ten() -> None:
    made = lesson("crossing", engine.chain(5))
    svg = etree.fromstring(next(step for step in made.steps if step.has_picture).picture(pages.DARK))
    texts = [(each.text, float(each.get("y"))) for each in svg.iter("{*}text")]
    lines = {words: y - 4 for words, y in texts if words.startswith("10") and len(words) == 3}
    assert list(lines) == ["10⁴", "10⁵"]
    dots = [float(each.get("cy")) for each in svg.iter("{*}circle")]
    unit = lines["10⁴"] - lines["10⁵"]
    read = 10 ** (4 + (lines["10⁴"] - np.array(dots)) / unit)
    np.testing.assert_allclose(read, made.trace.of("abia over links")[0].values[0], rtol=0.01)


def test_links_are_lit_where_a_stage_is_about_links() -> None:
    model = engine.load(engine.ROBOTS / "arm7.urdf")
    assert not any(step.lit.any() for name in ("crossing", "precision") for step in lesson(name, model).steps)
    assert all(step.lit.any() for step in lesson("dca", model).steps if step.has_picture)


@pytest.mark.parametrize("name", ["crossing", "contact"])
def test_a_question_about_the_last_picture_shows_it(name: str) -> None:
    *_, last, requested = lesson(name, engine.chain(5)).steps
    assert requested.question is not None
    assert requested.picture(pages.DARK) == last.picture(pages.DARK) != ""
    assert not requested.lit.any()


def test_what_is_zero_in_a_matrix_has_neither_colour() -> None:
    made = Lesson("composition", model := engine.load(engine.ROBOTS / "arm7.urdf"), model.neutral(), *np.zeros((2, 7)))
    svg = etree.fromstring(next(step for step in made.steps if step.has_picture).picture(pages.DARK))
    boxes = [box.get("style") for box in svg.iter("{*}rect")]
    numbers = [each.text for each in svg.iter("{*}text")][1:-1]
    assert len(boxes) == len(numbers) == 36
    assert numbers.count("0") > 10
    for style, number in zip(boxes, numbers, strict=True):
        assert (pages.DARK["edge"] in style) == (number == "0")


def test_heights_are_named_beside_the_box() -> None:
    made = lesson("contact", engine.chain(5))
    svg = etree.fromstring(
        next(s for s in made.steps if s.section.keys.get("picture") == "heights").picture(pages.DARK)
    )
    left = min(float(box.get("x")) for box in svg.iter("{*}rect"))
    names = [float(each.get("x")) for each in svg.iter("{*}text") if each.get("text-anchor") == "end"]
    assert len(names) == 3
    assert max(names) < left


def test_what_is_to_come_has_a_rim_that_is_seen_on_the_ground() -> None:
    steps = [step for step in lesson("bidiagonal", engine.chain(8)).steps if step.has_picture]
    for draw in (steps[0].picture, steps[0].clock):
        svg = etree.fromstring(draw(pages.DARK))
        shapes = [each.get("style") for each in svg.iter("{*}rect", "{*}circle")]
        unknown = [style for style in shapes if f"fill:{pages.DARK['edge']}" in style]
        assert len(unknown) > 2
        assert all(f"stroke:{pages.DARK['faint']}" in style for style in unknown)
