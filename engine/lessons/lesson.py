"""A lesson on a robot: its text, and for each step the results of the algorithm up to this step.

Everything is computed once, when the lesson begins. The values that the text names are in `facts`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from inspect import unwrap

import numpy as np
from numpy.typing import ArrayLike

from engine import validation
from engine.algorithms import abia
from engine.algorithms.chain import Chain
from engine.lessons import contact_drawing, drawing, handles, measured, paths, plots, pull, text
from engine.lessons.drawing import NO_MARKS
from engine.lessons.equations import as_html
from engine.lessons.facts import of_run, of_stage
from engine.lessons.sheet import LIT, Palette, scientific
from engine.lessons.subjects import MEASURED, SIZES, SUBJECTS, accelerations
from engine.lessons.text import LessonText, Section
from engine.lessons.trace import Trace, marked, source, trace
from engine.lie import Array
from engine.model import Model
from engine.model.features import SERIAL, Feature, first_occurrence, serial
from engine.selection import capabilities

LINK = "lesson:"
"""What the address of a lesson begins with, in the window."""
LessonMarks = drawing.Marks
LessonPart = handles.Part
MOTION = (
    "The robot has no accelerations in its present state, and so no digits to lose: the lesson gives its joints "
    "velocities and efforts chosen at random. "
)
"""The value `motion` of a lesson that needs motion, for a robot without."""
TOLERANCES = {"": 0.0, "tenth": 0.1}
"""The relative tolerance of an answer, by the lesson's key `near`."""


@dataclass(frozen=True)
class LessonQuestion:
    """The `text` of the question at a lesson's end, and a `hint`; without `choices`, the `answer` is a number.

    Several choices that are right stand in `answer` with " | " between.
    """

    text: str
    choices: tuple[str, ...]
    answer: str
    hint: str
    near: float = 0.0
    """The relative tolerance of a number."""
    dragged: bool = False
    """Whether the choices are numbers in order, to be dragged to."""

    def is_possible(self, wording: str) -> bool:
        """Return whether `wording` is a number where the answer is one."""
        return bool(self.choices or numbers(wording))

    def is_right(self, wording: str) -> bool:
        """Return whether `wording`, typed or selected by a reader, is the answer; a number may have any notation."""
        answers = numbers(self.answer)[:1]
        if not answers:
            return wording.strip() in self.answer.split(" | ")
        return any(abs(given - answers[0]) <= self.near * abs(answers[0]) for given in numbers(wording))


def numbers(wording: str) -> list[float]:
    """Return the finite numbers that a text may mean, whose commas group digits or are a decimal mark."""
    readings = []
    for mark in ("", "."):
        with suppress(ValueError):
            readings.append(float(wording.replace(",", mark)))
    return [each for each in readings if math.isfinite(each)]


class Lesson:
    """A lesson on one state of a robot.

    >>> import engine
    >>> model = engine.load("robots/arm7.urdf")
    >>> lesson = engine.Lesson("elimination", model, model.neutral(), [0] * model.nv, [0] * model.nv)
    >>> [step.title for step in lesson.steps]
    """

    def __init__(self, name: str, model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike):
        """`name` is one of `names`; q (nq,), v (nv,) and tau (nv,) are the state and the joints' efforts, N m or N.

        Raises ValueError for an unknown name, with the existing ones, and for a robot that the lesson does not
        support, with one that it does.
        """
        self.text = text.read(name, not serial(model))
        _refuse(self.text, model)
        states, _ = validation.states(model, q=q, v=v, tau=tau)
        at, rates, efforts = (each[0] for each in states)
        self.name, self.title, self.model = name, self.text.title, model
        subject = SUBJECTS[self.text.keys["run"]]
        robot = subject.robot(model)
        motion = dict[str, str]()
        if subject.moving is not None:
            still, (at, rates, efforts) = rates, subject.moving(robot, at, rates, efforts)
            motion["motion"] = "" if rates is still else MOTION
        given = accelerations(model, at, rates, efforts) if subject.of_accelerations else efforts
        self._run: Callable[[Array], Trace] = lambda given: trace(subject.run, robot, at, rates, given)
        self._state, self._algorithm = (at, rates, efforts), subject.algorithm
        self._phases: Mapping[str, Mapping[str, float]] = {}
        self._given, self._changes = given, dict[int, pull.Changes]()
        self.trace: Trace = self._run(given)
        is_chain = isinstance(robot, Chain)
        self.serial: Trace | None = trace(abia.forward_dynamics, robot, at, rates, efforts) if is_chain else None
        self.serial_work = self.serial.work if self.serial and subject.engine is accelerations else 0.0
        """Operations of the recursion link by link, where that computes the same; otherwise 0."""
        expected = subject.engine(model, at, rates, given)
        beside = [stage.values[0] for stage in self.trace.stages if stage.name == subject.beside]
        largest = max(float(np.abs(x).max()) for x in (expected, *beside))
        self.error = float(np.abs(self.trace.result - expected).max()) / max(largest, 1e-300)
        """The largest difference of the text's result from the engine's, relative to the largest number in them."""
        for stage in self.trace.stages:
            source(stage.code)  # read now, not at the first picture
        self._motion = handles.motion(robot, at, rates, self.trace.result) if self.has_handles else None
        more = subject.more(robot, at, rates, efforts)
        self.facts = of_run(self.trace, self.serial, model, more) | motion
        self.facts["error"] = scientific(self.error)
        self.steps: tuple[LessonStep, ...] = tuple(
            LessonStep(self, *each, part) for each, parts in _places(self.text, self.trace) for part in parts
        )

    @property
    def has_handles(self) -> bool:
        """Whether the picture has parts with two handles, which can be selected."""
        return "handles" in self.text.keys

    @property
    def has_pull(self) -> bool:
        """Whether an additional effort at a joint can be shown, see `pulled`."""
        return "pull" in self.text.keys

    def measure(self) -> None:
        """Measure the engine's steps from the same state, for `LessonStep.measured`.

        This may compile a kernel. It does nothing if the engine does not run the lesson's algorithm on this robot.
        """
        if self._algorithm and not capabilities.reason(self._algorithm, self.model, "cpu"):
            names = sorted({self._algorithm, "abia"})
            self._phases = {name: measured.step(self.model, name, *self._state) for name in names}

    def measured(self, index: int) -> str:
        """Return the time of the engine's step, and of the phase with the stage `index`'s work; "" before `measure`."""
        if not self._phases:
            return ""
        stage = self.trace.stages[index] if index >= 0 else None
        return measured.phase_text(self._algorithm, self._phases[self._algorithm], self._phases["abia"], stage)

    def pulled(self, joint: int) -> LessonMarks:
        """Return marks of what `pull.PULL` N m or N more at a joint, counted from 0, changes; computed on first use."""
        if joint not in self._changes:
            more = self._given + pull.PULL * np.eye(len(self._given))[joint]
            self._changes[joint] = pull.changes(self.trace, self._run(more))
        return LessonMarks(self._changes[joint])

    def handles(self, part: LessonPart) -> handles.PartEquations | None:
        """Return a part's `links`, and `rows` of its two equations with numbers; None without handles."""
        return handles.part_equations(part, handles.ends(part, *self._motion)) if self._motion else None

    @staticmethod
    def equation_html(equation: str) -> str:
        """Return an equation, such as one of `handles`, as HTML."""
        return as_html(equation)

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of all lessons, in teaching order."""
        return text.names()

    @staticmethod
    def present_name(name: str) -> str:
        """Return the name of the lesson that once had this one; other names as they are."""
        return text.RENAMED.get(name, name)

    @staticmethod
    def title_of(name: str) -> str:
        """Return the title of the lesson `name`."""
        return text.read(name).title

    @staticmethod
    def refusal(name: str, model: Model) -> str:
        """Return why a robot does not support the lesson `name`, and which do; "" if it does."""
        try:
            _refuse(text.read(name, not serial(model)), model)
        except ValueError as reason:
            return str(reason)
        return ""


@dataclass(frozen=True, eq=False)
class LessonStep:
    """A step of a lesson: a section's text, or its `part` between two breaks, and its stage's `index`, −1 for none."""

    COLORS = LIT
    """The palette's names of the colours of `lit`: nothing known, in work, known before, known since this stage."""

    lesson: Lesson
    section: Section
    index: int
    part: int = 0

    @property
    def is_continuation(self) -> bool:
        """Whether the step before has an earlier part of the same section and stage."""
        place = self.lesson.steps.index(self)
        before = self.lesson.steps[place - 1]
        return place > 0 and (before.section, before.index) == (self.section, self.index)

    @property
    def title(self) -> str:
        """The heading, with the stage's number where a section is about several stages."""
        title = self.section.title.removeprefix("? ").format(**self.facts)
        if self.index >= 0 and (count := int(self.facts["count"])) > 1:
            title += f" ({self.facts['number']} of {count})"
        return f"{title}, continued" if self.is_continuation else title

    @cached_property
    def facts(self) -> dict[str, str]:
        """The values that the text names, formatted."""
        run = self.lesson.facts
        return run if self.index < 0 else run | of_stage(self.lesson.trace, self.index)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The paragraphs of this part; those that begin with four spaces are equations."""
        ends = 0, *self.section.breaks, len(self.section.paragraphs)
        return self.all_words[ends[self.part] : ends[self.part + 1]]

    @property
    def all_words(self) -> tuple[str, ...]:
        """The paragraphs of the whole section."""
        return tuple(each.format(**self.facts) for each in self.section.paragraphs)

    def html(self, palette: Palette) -> str:
        """Return the paragraphs in Qt's rich text, equations in the palette's accent, links as "lesson:NAME"."""
        made = []
        for words in self.words:
            if words.startswith("    "):
                style = f"color:{palette['accent']};margin-left:18px"
                made.append(f'<p style="{style}">{as_html(words.strip())}</p>')
            else:
                made.append(f"<p>{text.marked_up(words, as_html, LINK.__add__)}</p>")
        return "".join(made)

    @cached_property
    def question(self) -> LessonQuestion | None:
        """The question of this step, or None."""
        keys = self.section.keys
        if "answer" not in keys or self.part < len(self.section.breaks):
            return None
        choices = tuple(each for each in keys.get("choices", "").format(**self.facts).split(" | ") if each)
        answer, hint = (keys[key].format(**self.facts) for key in ("answer", "hint"))
        return LessonQuestion(self.title, choices, answer, hint, TOLERANCES[keys.get("near", "")], "drag" in keys)

    @cached_property
    def code(self) -> tuple[str, tuple[str, ...], range]:
        """The function that is shown, its source lines, and the range of this stage's; no lines if there is none."""
        if named := self.section.keys.get("source"):
            module, _, function = named.rpartition(".")
            lines, _ = source(unwrap(getattr(import_module(module), function)).__code__)
            return named, lines, range(0)
        if self.index < 0:
            return "", (), range(0)
        stage = self.lesson.trace.stages[self.index]
        lines, here = marked(stage)
        module = re.sub(r".*/engine/", "engine/", stage.code.co_filename.replace("\\", "/"))
        return f"{module.removesuffix('.py').replace('/', '.')}.{stage.code.co_qualname}", lines, here

    @property
    def lit(self) -> Array:
        """(links,): the state of each link of the model, an index of `COLORS`."""
        return self.lights(NO_MARKS)

    def lights(self, marks: LessonMarks) -> Array:
        """Return `lit` (links,), with a pull or a part marked."""
        model, lit = self.lesson.model, np.zeros(len(self.lesson.model.link_names), int)
        if self.index < 0 or self.section.keys.get("picture") in OF_NO_LINK:
            return lit
        bodies = drawing.lights(self.lesson.trace, self.index, len(model.parent), marks)
        moving = model.link_body >= 0
        lit[moving] = bodies[model.link_body[moving]]
        return lit

    @property
    def has_picture(self) -> bool:
        """Whether this step has a picture."""
        return "picture" in self.section.keys

    @property
    def _seen(self) -> int:
        """The stage of the picture: this one, or the last with such a picture."""
        kind = self.section.keys["picture"]
        alike = (step.index for step in self.lesson.steps if step.section.keys.get("picture") == kind)
        return self.index if self.index >= 0 else max(alike)

    @property
    def has_clock(self) -> bool:
        """Whether this step has the figure of `clock`; introductions, and some lessons, have none."""
        return self.section is not self.lesson.text.sections[0] and "clock" not in self.lesson.text.keys

    @cached_property
    def parts(self) -> list[LessonPart]:
        """The parts with two handles known after this stage, in order of size."""
        here = self.has_picture and self.index >= 0 and self.lesson.trace.stages[self.index].part == "beyond"
        return handles.parts(self.lesson.trace, self.index) if here and self.lesson.has_handles else []

    def part_at(self, x: float, y: float) -> LessonPart | None:
        """Return the known part whose bar is at x, y, px of the picture, or None."""
        parts = self.parts
        run = drawing.run_at(self.lesson.trace, self.index, x, y) if parts else None
        return next((part for part in parts if (part.first, part.last) == run), None)

    def part_of(self, link: int) -> LessonPart | None:
        """Return the largest known part that contains a link of the model, or None."""
        body = self.lesson.model.link_body[link]
        return next((part for part in reversed(self.parts) if part.first <= body <= part.last), None)

    def picture(self, palette: Palette, marks: LessonMarks = NO_MARKS) -> str:
        """Return the picture after this stage as SVG in the palette, a tree with `marks`; "" if there is none."""
        if not self.has_picture:
            return ""
        if self.section.keys["picture"] == "paths":
            parent = self.lesson.model.parent
            lit = drawing.lights(self.lesson.trace, self._seen, len(parent))
            return paths.picture(
                parent, lit, ((drawing.NOW, "known just now"), (drawing.KNOWN, "known before")), palette
            )
        if self.section.keys["picture"] == "tree":
            return drawing.tree(self.lesson.trace, self._seen, palette, marks)
        return PICTURES[self.section.keys["picture"]](self.lesson.trace, self._seen, palette)

    @property
    def measured(self) -> str:
        """The time of the engine's step and of the phase with this stage's work; "" before `Lesson.measure`."""
        return self.lesson.measured(self.index) if self.has_clock else ""

    def clock(self, palette: Palette) -> str:
        """Return the time up to this stage on 1 to 1024 processors, as SVG in the palette; "" without `has_clock`."""
        if not self.has_clock:
            return ""
        last = self.index if self.index >= 0 else len(self.lesson.trace.stages)
        return drawing.clock(self.lesson.trace, last, self.lesson.serial_work, palette)


PICTURES: Mapping[str, Callable[[Trace, int, Palette], str]] = {
    "matrix": drawing.matrix,
    "errors": plots.errors,
    "growth": partial(plots.growth, sizes=SIZES),
    "measured": partial(plots.measured, sizes=MEASURED),
    "inertia": partial(
        plots.numbers,
        wording="I, the inertia at the first handle",
        key="turning about x, y, z, then moving along x, y, z",
    ),
    "mobility": partial(plots.numbers, wording="G, velocity by impulse, 1/kg", key="along n, along t₁, along t₂"),
    "cone": contact_drawing.cone,
    "heights": contact_drawing.heights,
}
"""The function for each value of the lessons' key `picture`."""
OF_NO_LINK = ("errors", "growth", "measured", "heights")
"""The pictures of stages without results for single links."""


def _places(lesson: LessonText, trace: Trace) -> list[tuple[tuple[Section, int], range]]:
    """Return the section, the stage's index and the parts of each step, in order: before, in and after the stages.

    A section that is shown for several stages has all its parts at the first, and only the last part at the others.
    """
    about = [k for k, section in enumerate(lesson.sections) if "stage" in section.keys]
    before, after = lesson.sections[: about[0]], [s for s in lesson.sections[about[0] :] if "stage" not in s.keys]
    reported = [(section, -1) for section in before]
    for index, stage in enumerate(trace.stages):
        reported += [(lesson.sections[k], index) for k in about if lesson.sections[k].serves(stage.name, stage.part)][
            :1
        ]
    reported += [(section, -1) for section in after]
    sections = [section for section, _ in reported]
    return [
        ((section, index), range(len(section.breaks) if section in sections[:k] else 0, len(section.breaks) + 1))
        for k, (section, index) in enumerate(reported)
    ]


ROBOTS: Mapping[str, tuple[tuple[Feature, ...], str]] = {
    "chains": (SERIAL, "serial chains of revolute and prismatic joints on a fixed base"),
    "branching": (("mimic", "still", "massless"), "robots whose bodies all have mass, and whose joints move freely"),
    "any": ((), "all robots"),
}
"""The features that a lesson's robots may not have, and a description of them, by the lesson's key `robots`."""


def _refuse(lesson: LessonText, model: Model) -> None:
    features, about = ROBOTS[lesson.keys.get("robots", "chains")]
    for feature in features:
        if place := first_occurrence(feature, model):
            raise ValueError(
                f"the lesson «{lesson.title}» is about {about}; in {model.name}, {place}; open arm7, or a chain by "
                "File › Generate"
            )
    fewest = int(lesson.keys.get("least", 2))
    if len(model.parent) < fewest:
        raise ValueError(
            f"the lesson «{lesson.title}» needs {fewest} links or more that move; {model.name} has "
            f"{len(model.parent)}; open arm7, or a chain by File › Generate"
        )
