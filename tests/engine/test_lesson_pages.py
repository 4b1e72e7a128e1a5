"""The statements of lessons are computed or shown here, and their pages are self-contained."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from lxml import html

import engine
from engine import cli
from engine.algorithms import abia, dca
from engine.algorithms.chain import Chain
from engine.blocks import bidiagonal, stages, tridiagonal
from engine.lessons import drawing, pages, subjects, text
from engine.lessons.lesson import Lesson, LessonQuestion, LessonStep
from engine.lessons.trace import trace
from engine.selection import capabilities, shipped, timings

NAMES = Lesson.names()
SEEN = 16  # links, of which each stage changes something in the picture

pytestmark = pytest.mark.written_out  # as the folder of all tests is made, before any of them


def lesson(name: str, model: engine.Model, seed: int = 1) -> Lesson:
    rng = np.random.default_rng(seed)
    return Lesson(name, model, model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv))


def stages_of(call) -> list[str]:
    seen: list[str] = []
    with stages.watched(lambda name, *_: seen.append(name)):
        call()
    return seen


# The words.


@pytest.mark.parametrize("path", sorted(text.FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_words_have_no_number_that_is_not_computed(path: Path) -> None:
    """But small ones in equations, and numbers of rows that a block has by what a joint is."""
    for section in text.parse(path.stem, path.read_text("utf-8")).sections:
        for words in (section.title, *section.paragraphs):
            if not words.startswith("    "):
                assert re.findall(r"\d+", re.sub(r"\$[^$]+\$|\{\w+\}", "", words)) == [], words


def test_facts_that_no_lesson_names_are_gone() -> None:
    named = {
        fact for name in NAMES for fact in re.findall(r"\{(\w+)\}", (text.FOLDER / f"{name}.md").read_text("utf-8"))
    }
    made = [lesson(name, engine.chain(4)) for name in NAMES]
    known = {fact for each in made for step in each.steps for fact in step.facts}
    assert named <= known
    assert known - named <= {"number", "count"}, "of which titles are made"


@pytest.mark.parametrize("n", [2, 5, 8, 13])
def test_elimination_of_twice_the_rows_takes_one_step_more(n: int, rng: np.random.Generator) -> None:
    def steps(rows: int) -> int:
        D = 10 * np.eye(2) + np.zeros((1, rows, 2, 2))
        U = rng.normal(size=(1, rows - 1, 2, 2))
        return stages_of(lambda: tridiagonal.eliminate(D, U)).count("eliminate")

    assert steps(2 * n) == steps(n) + 1
    assert str(steps(1000)) == lesson("elimination", engine.chain(3)).steps[-1].question.answer


def test_a_block_has_five_rows_and_columns() -> None:
    made = lesson("elimination", engine.chain(6))
    D, U = made.trace.of("blocks")[0].values
    assert D.shape == (6, 5, 5)
    assert U.shape == (5, 5, 5)
    left = [step.facts["left"] for step in made.steps if step.index >= 0 and "left" in "".join(step.words)]
    assert left[:3] == ["4", "2", "0"]  # above the diagonal, 6 − 2, 6 − 4, and none
    couplings = [len(stage.values[1]) for stage in made.trace.of("eliminate")]
    assert couplings == [4, 2, 0]


def test_a_scan_of_1024_has_ten_levels_of_joins() -> None:
    A, b = np.zeros((1, 1024, 1, 1)), np.zeros((1, 1024, 1))
    joins = stages_of(lambda: bidiagonal.solve(A, b)).count("join")
    made = lesson("inverse", engine.chain(16))
    question = made.steps[-1].question
    assert str(joins) == question.answer
    levels = [stage.tasks for stage in made.trace.of("join") if stage.part == "velocities"]
    assert levels == [8, 4, 2, 1], "half as many as on the level below, as it is drawn"
    assert "half as many runs as the one below it" in question.hint


@pytest.mark.parametrize("n", [2, 7, 16, 40])
def test_the_recursion_does_less_work_and_the_scan_fewer_steps(n: int) -> None:
    made = lesson("bidiagonal", engine.chain(n))
    facts = {name: value for name, value in made.facts.items() if name not in ("robot", "verdict", "error")}
    number = {name: float(value.replace(",", "")) for name, value in facts.items()}
    assert number["recursion_work"] < number["scan_work"]
    assert number["recursion_depth"] == n
    assert number["scan_depth"] <= 2 * np.ceil(np.log2(n))
    assert number["scan_depth"] < n or n < 8
    assert number["scan_joins"] == sum(n >> level for level in range(1, n.bit_length()))
    assert made.steps[-1].question.is_right("the recursion")
    assert not made.steps[-1].question.is_right("the scan")


@pytest.mark.parametrize("n", [3, 8])
def test_the_inertias_of_twice_the_links_take_twice_the_steps(n: int) -> None:
    made, long = (lesson("abia", engine.chain(links)) for links in (n, 2 * n))
    assert made.steps[-1].question.answer == long.facts["inertia_depth"] == str(2 * n)
    inertias = made.trace.of("articulated inertia")
    assert all(stage.tasks == 1 and stage.seconds(1000) == stage.seconds(1) for stage in inertias)


def test_parts_grow_with_the_chain_and_joins_do_not() -> None:
    short, long = (lesson("chunks", engine.chain(n)) for n in (16, 64))
    for name in ("join", "apply"):
        few, more = ([stage for stage in made.trace.of(name) if stage.part == "beyond"] for made in (short, long))
        assert [stage.tasks for stage in few] == [stage.tasks for stage in more]
    assert len(long.trace.of("reduce")) == 4 * len(short.trace.of("reduce")) == 16
    assert float(short.facts["four_faster"]) < float(long.facts["four_faster"])
    for made in (short, long):
        two, four, eight = (float(made.facts[f"{count}_faster"]) for count in ("two", "four", "eight"))
        assert two < 1
        assert two < four < eight
    reduced = sum(stage.operations for stage in long.trace.of("reduce")) / 48
    assert 1.5 < reduced / (sum(stage.operations for stage in long.trace.of("joints")) / 64) < 2.5
    serial = trace(abia.forward_dynamics, Chain.of(long.model), *(np.zeros(64),) * 3)
    one = float(long.facts["one_time"].replace(",", ""))
    link = long.trace.of("joints")[-1].operations / 4
    assert serial.work < one < serial.work + 1.1 * link, "with one part it is the ABA, with all links treated alike"


def test_a_part_of_several_links_is_lit_whole() -> None:
    made = lesson("chunks", engine.chain(10))  # three links a part, but one in the last
    index = next(k for k, stage in enumerate(made.trace.stages) if stage.name == "reduce")
    assert drawing.lights(made.trace, index, 10).tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 1, 0]
    assert drawing.lights(made.trace, index + 2, 10).tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    lit = [drawing.lights(made.trace, k, 10) for k, stage in enumerate(made.trace.stages) if stage.part == "beyond"]
    assert lit[-1].tolist() == [0, 0, 0, 3, 3, 3, 3, 3, 3, 3]


@pytest.mark.parametrize(("links", "chunk", "chunks"), [(4, 1, 4), (6, 2, 3), (10, 3, 4), (16, 4, 4)])
def test_a_chain_that_four_does_not_divide_has_the_parts_that_are_said(links: int, chunk: int, chunks: int) -> None:
    made = lesson("chunks", engine.chain(links))
    assert f"cut into {chunks} parts of at most {chunk} links" in " ".join(made.steps[0].words)
    parts = {run[0] for stage in made.trace.of("reduce") for run in stage.runs}
    assert len(parts) == chunks - 1  # that at the base needs no reduction


def test_curves_cross_once_where_it_is_said() -> None:
    """The ABA's time doubles with the links; that of the others grows by as much for each doubling."""
    made = lesson("crossing", engine.chain(5))
    aba, dca_, cfa_ = (subjects.times_over_links(name) for name in ("abia", "dca", "cfa"))
    assert (aba[2:] / aba[1:-1] > 1.7).all()
    for times in (dca_, cfa_):
        steps = np.diff(times[1:])
        assert steps.max() < 1.05 * steps.min()
    for name, times in (("dca", dca_), ("cfa", cfa_)):
        first = subjects.SIZES.index(int(made.facts[f"{name}_crossing"]))
        assert not (times[:first] < aba[:first]).any()
        assert (times[first:] < aba[first:]).all()
    guess = made.steps[0].question
    assert guess.is_right(made.facts["dca_crossing"])
    assert guess.dragged
    assert made.facts["dca_crossing"] in guess.choices
    assert len(set(guess.choices)) == len(subjects.SIZES) - 2
    model = engine.chain(16)
    own = trace(dca.forward_dynamics, Chain.of(model), *np.random.default_rng(1).normal(size=(3, 16)))
    assert own.time(16) == dca_[subjects.SIZES.index(16)], "the numbers make no difference"


def test_the_measured_crossing_is_where_the_engine_chooses_dca_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    made = lesson("crossing", engine.chain(5))
    (stage,) = made.trace.of("measured over links")
    aba, dca_, cfa_ = stage.values[0]
    table = shipped.table_in_use(capabilities.resolve_device("auto"))
    for name, times in (("abia", aba), ("dca", dca_), ("cfa", cfa_)):
        for n, time in zip(subjects.MEASURED, times, strict=True):
            expected = table.seconds(name, timings.Case("chain", n, 1, "float64"))
            assert time == expected or (expected is None and np.isnan(time))
    question = made.steps[-1].question
    assert question.is_right(made.facts["measured_crossing"])
    assert len(question.choices) == len(subjects.MEASURED) + 1
    found_before = ([3, 2, 3, 2, 1, 1, 1, 1, 1, 1], "32"), ([1] * 10, "2")
    for times, output in (*found_before, *(([time] * 10, subjects.NOWHERE) for time in (9, np.nan))):
        three = np.array([[2.0] * 10, times, [9] * 10])
        monkeypatch.setattr(subjects, "measured_over_links", lambda three=three: three)
        found = lesson("crossing", engine.chain(5))
        assert found.facts["measured_crossing"] == output
        assert found.steps[-1].question.answer == output
        drawn = {step.picture(pages.DARK) for step in found.steps if step.section.keys.get("picture") == "measured"}
        assert [each.count("<circle") for each in drawn] == [20 + int(np.isfinite(times).sum())]


@pytest.mark.parametrize("n", [3, 7])
def test_three_links_have_one_inertia_by_any_order(n: int) -> None:
    made = lesson("composition", engine.chain(n))
    found = [made.trace.of(name)[0].values[0][0] for name in ("then the last", "the other way", "recursion")]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-10, atol=1e-12)
    alone, pair = (made.trace.of(name)[0].values[0][0] for name in ("alone", "first two"))
    chain, state = Chain.of(made.model), np.random.default_rng(1)
    X = chain.X(made.model.random(state)[None])[0]
    zero = np.zeros(6)
    fixed = chain.J[n - 3] + X[n - 2].T @ chain.J[n - 2] @ X[n - 2]
    rigid, _ = abia.to_parent(abia.joint(chain.S[n - 3], fixed, zero, zero[0]), X[n - 3], fixed, zero, zero)
    assert np.linalg.eigvalsh(rigid - pair).min() > -1e-9
    larger = np.linalg.eigvalsh(pair - alone)
    assert larger.min() > -1e-9
    assert larger.max() > 1e-6


def test_joining_is_associative_and_not_commutative(rng: np.random.Generator) -> None:
    model = engine.chain(3)
    chain, (q, v, tau) = Chain.of(model), rng.normal(size=(3, 1, 3))
    X = chain.X(q)
    c = b = np.zeros((1, 3, 6))
    runs = dca.reduce(dca.Links(chain.S[None], chain.J[None], X, c, b + v[..., None], tau), 1)
    first, second, third = (tuple(x[:, k : k + 1] for x in runs) for k in range(3))
    left, right = dca.join(dca.join(first, second), third), dca.join(first, dca.join(second, third))
    for one, other in zip(left, right, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert not np.allclose(dca.join(first, second)[1], dca.join(second, first)[1])
    assert lesson("dca", model).steps[-1].question.is_right("joining is associative")


@pytest.mark.parametrize("name", ["dca", "elimination"])
def test_the_parallel_algorithms_do_more_work_in_fewer_steps(name: str) -> None:
    made = lesson(name, engine.chain(64))
    assert float(made.facts["more_work"]) > 1
    assert int(made.facts["depth"]) < int(made.facts["abia_depth"])


def test_a_number_is_near_enough_within_a_tenth_where_the_lesson_says_so() -> None:
    question = LessonQuestion("How high?", (), "294", "Think.", 0.1)
    assert all(question.is_right(output) for output in ("294", "300", "323", "265.0"))
    assert not any(question.is_right(output) for output in ("324", "264", "-294", "high"))


def test_a_number_is_an_answer_however_it_is_written() -> None:
    question = lesson("elimination", engine.chain(4)).steps[-1].question
    assert all(question.is_right(output) for output in ("10", " 10 ", "10.0", "1e1"))
    assert not any(question.is_right(output) for output in ("9", "", "ten", "1 0"))


# The text of the lessons.


def linked(name: str) -> set[str]:
    """The lessons that the words of one lead to."""
    return set(re.findall(r"\[[^\]]+\]\((\w+)\)", (text.FOLDER / f"{name}.md").read_text("utf-8")))


def test_at_rest_the_error_of_torques_is_given_beside_the_forces() -> None:
    """Which gravity makes, while all torques are zero."""
    model = engine.load(engine.ROBOTS / "arm7.urdf")
    zero = np.zeros(7)
    made = Lesson("inverse", model, model.neutral(), zero, zero)
    assert np.abs(made.trace.result).max() < 1e-9
    assert made.error < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_lines_that_are_carried_out_are_below_the_docstring(name: str) -> None:
    for step in lesson(name, engine.chain(5)).steps:
        _, lines, here = step.code
        if here:
            assert "\n".join(lines).count('"""', 0, len("\n".join(lines[: here.start]))) in (0, 2)
            assert not any('"""' in lines[k] for k in here)


def test_names_of_the_program_are_set_as_such() -> None:
    words = "".join(step.html(pages.DARK) for step in lesson("dca", engine.chain(4)).steps)
    assert "<code>chunk</code>" in words
    assert "`" not in words


def test_links_lead_to_lessons() -> None:
    led_to = set().union(*map(linked, NAMES))
    assert len(led_to) >= 5
    assert led_to <= set(NAMES)
    words = "".join(step.html(pages.DARK) for step in lesson("dca", engine.chain(4)).steps)
    assert {each.get("href") for each in html.fromstring(words).iter("a")} == {
        f"lesson:{each}" for each in linked("dca")
    }


# The pages.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages")
    assert cli.main(["lessons", "--out", str(place / "of_arm7")]) == 0
    return place / "of_arm7"


def test_every_lesson_is_a_page_and_listed(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {pages.INDEX, *(f"{name}.html" for name in NAMES)}
    index = html.fromstring((folder / pages.INDEX).read_text("utf-8"))
    assert [link.get("href") for link in index.iter("a")] == [f"{name}.html" for name in NAMES]
    assert [link.text for link in index.iter("a")] == [Lesson.title_of(name) for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_needs_nothing_from_elsewhere(folder: Path, name: str) -> None:
    source = (folder / f"{name}.html").read_text("utf-8")
    page = html.fromstring(source)
    assert not [each for each in page.iter() if each.get("src")]
    first, *links = [each.get("href") for each in page.iter() if each.get("href")]
    assert first == pages.INDEX
    assert {link.removesuffix(".html") for link in links} == linked(name)
    assert re.findall(r"(?:https?:)?//[\w.]+", source.replace("http://www.w3.org/2000/svg", "")) == []
    made = lesson(name, engine.load(engine.ROBOTS / "arm7.urdf"))
    sections, reported = list(page.iter("section")), [step for step in made.steps if not step.is_continuation]
    assert len(sections) == len(reported)
    for section, step in zip(sections, reported, strict=True):
        robot, cost = bool(step.lit.any()) or step is made.steps[0], step.index < 0 and step.has_clock
        assert len(section.findall(".//svg")) == step.has_picture + (robot or cost)
        text = section.findall(".//pre")
        assert [each.text_content() for each in text] == ["\n".join([*step.code[1], ""])] * len(text)
        assert len(section.findall(".//pre/b")) == len(step.code[2])
        lines = [words.strip() for words in step.all_words if words.startswith("    ")]
        assert len(section.xpath(".//math[@display='block']")) == sum(len(re.split(" {2,}", line)) for line in lines)
    assert "{" not in "".join(section.text_content() for section in sections if not section.findall(".//pre"))
    forms, requested = list(page.iter("form")), [step.question for step in made.steps if step.question]
    assert [form.get("data-answer") for form in forms] == [question.answer for question in requested]
    for form, question in zip(forms, requested, strict=True):
        kinds = [field.get("type") for field in form.iter("input")]
        radios = [] if question.dragged else ["radio"] * len(question.choices)
        assert kinds == (["range", "hidden"] if question.dragged else radios or [None])


@pytest.mark.parametrize("name", NAMES)
def test_steps_of_the_first_stage_have_all_words_of_a_section_and_later_ones_the_last(name: str) -> None:
    made = lesson(name, engine.chain(16))
    stages: dict[tuple[str, int], list[LessonStep]] = {}
    for step in made.steps:
        stages.setdefault((step.section.title, step.index), []).append(step)
    seen = set()
    for (title, _), steps in stages.items():
        words = [each for step in steps for each in step.words]
        whole = list(steps[0].all_words)
        assert words == (whole if title not in seen else whole[len(whole) - len(words) :])
        assert all(step.words for step in steps)
        assert len(steps) == 1 or title not in seen
        assert [step.title.endswith(", continued") for step in steps] == [k > 0 for k in range(len(steps))]
        assert all(step.question is None for step in steps[:-1])
        seen.add(title)
    assert (len(stages) < len(made.steps)) == (
        name in ("contact", "crossing", "dca", "elimination", "inverse", "precision")
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_printed_page_has_all_steps_and_each_program_text_once(folder: Path, name: str) -> None:
    source = (folder / f"{name}.html").read_text("utf-8")
    printed = re.search(r"@media print \{(.*?)\n\}", source, re.DOTALL)[1]
    rules = dict(re.findall(r"([^{}]+?) \{ ([^{}]+?) \}", printed.replace("\n", " ")))
    shown = {name.strip(): rule for names, rule in rules.items() for name in names.split(",")}
    assert "display: none" in shown[".live nav"]
    assert "display: grid" in shown[".live section.shown"] == shown[".live section"]
    assert "display: none" in shown[".again .rest"]
    texts = html.fromstring(source).findall(".//details")
    named = [each.find("summary").text for each in texts]
    for k, each in enumerate(texts):
        assert (each.get("class") == "again") == (named[k] in named[:k])
        assert {line.get("class") for line in each.findall("pre/*")} <= {"rest", None}


def test_colours_are_those_of_both_themes(folder: Path) -> None:
    source = (folder / f"{NAMES[0]}.html").read_text("utf-8")
    for name in pages.NAMES:
        assert f"--{name}: {pages.LIGHT[name]};" in source
        assert f"--{name}: {pages.DARK[name]};" in source
    assert set(re.findall(r"var\(--(\w+)\)", source)) <= set(pages.NAMES)


def test_pages_of_a_robot_that_no_lesson_is_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lessons", "--robot", "humanoid", "--out", str(tmp_path / "pages"), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["lessons"] == ["dca", "contact"]
    assert all("open arm7" in reason for reason in output["refused"].values())
    assert "open arm7" in (tmp_path / "pages" / pages.INDEX).read_text("utf-8")


def test_another_seed_is_another_state(folder: Path, tmp_path: Path) -> None:
    for seed in ("0", "5"):
        assert cli.main(["lessons", "--out", str(tmp_path / seed), "--seed", seed]) == 0
    same, other = ((tmp_path / seed / f"{NAMES[0]}.html").read_text("utf-8") for seed in ("0", "5"))
    assert same == (folder / f"{NAMES[0]}.html").read_text("utf-8")
    assert same != other


@pytest.mark.parametrize("robot", ["arm7", "snake50", "scara"])
def test_joints_stand_where_the_engine_has_them(robot: str, rng: np.random.Generator) -> None:
    """Between joints on one link the distance is fixed, but for one that slides; and centres of mass stay in links."""
    model = engine.load(engine.ROBOTS / f"{robot}.urdf")
    n = len(model.parent)
    found, again = (pages.joints(model, model.random(rng)) for _ in range(2))
    assert [points.shape for points in found] == [(n, 3)] * 2
    length, other = (np.linalg.norm(np.diff(at, axis=0), axis=1) for at, _ in (found, again))
    sliding = [model.joint(name).kind == "prismatic" for name in model.joint_names]
    assert not all(sliding)
    same = np.isclose(length, other, atol=1e-12)
    assert all(same[k] for k in range(n - 1) if not sliding[k + 1])
    reach = [np.linalg.norm(centers - at, axis=1) for at, centers in (found, again)]
    np.testing.assert_allclose(reach[0], reach[1], atol=1e-12)
    assert max(reach[0]) > 0
