"""A lesson on a robot: its words, and at each step what the text of the algorithm has computed by then.

Everything is worked out when the lesson begins, once; a step is looked up. Facts that words name are in `facts`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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
from engine.model.features import SERIAL, Feature, found, serial
from engine.selection import capabilities

LINK = "lesson:"
"""What the address of a lesson begins with, in the window."""
LessonMarks = drawing.Marks
LessonPart = handles.Part
NEAR = {"": 0.0, "tenth": 0.1}
"""By what share an answer may be off, as lessons say it."""


@dataclass(frozen=True)
class LessonQuestion:
    """What is asked at a lesson's end, `text`, and a `hint`; without `choices` the `answer` is a number, as shown."""

    text: str
    choices: tuple[str, ...]
    answer: str
    hint: str
    near: float = 0.0
    """By what share a number may be off."""
    dragged: bool = False
    """Whether the choices are numbers in order, to be dragged to."""

    def is_right(self, said: str) -> bool:
        """Whether what a reader `said`, typed or chosen, is the answer; a number may be written in any way."""
        try:
            given, answer = (float(text.replace(",", "")) for text in (said, self.answer))
        except ValueError:
            return said.strip() == self.answer
        return abs(given - answer) <= self.near * abs(answer)


class Lesson:
    """A lesson on one state of a robot.

    >>> import engine
    >>> model = engine.load("robots/arm7.urdf")
    >>> lesson = engine.Lesson("elimination", model, model.neutral(), [0] * model.nv, [0] * model.nv)
    >>> [step.title for step in lesson.steps]
    """

    def __init__(self, name: str, model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike):
        """`name` is one of `names`; q (nq,), v (nv,) and tau (nv,) are the state and the joints' efforts, N m or N.

        Raises ValueError for a name that is none, with those that there are, and for a robot that the lesson is not
        about, with one that it is about.
        """
        self.text = text.read(name, not serial(model))
        _refuse(self.text, model)
        states, _ = validation.states(model, q=q, v=v, tau=tau)
        at, rates, efforts = (each[0] for each in states)
        self.name, self.title, self.model = name, self.text.title, model
        subject = SUBJECTS[self.text.keys["run"]]
        robot = subject.robot(model)
        given = accelerations(model, at, rates, efforts) if subject.of_accelerations else efforts
        self._run: Callable[[Array], Trace] = lambda given: trace(subject.run, robot, at, rates, given)
        self._has_peer = subject.engine is accelerations
        self._state, self._algorithm = (at, rates, efforts), subject.algorithm
        self._phases: Mapping[str, Mapping[str, float]] = {}
        self._given, self._changes = given, dict[int, pull.Changes]()
        self.trace: Trace = self._run(given)
        is_chain = isinstance(robot, Chain)
        self.serial: Trace | None = trace(abia.forward_dynamics, robot, at, rates, efforts) if is_chain else None
        expected = subject.engine(model, at, rates, given)
        beside = [stage.values[0] for stage in self.trace.stages if stage.name == subject.beside]
        largest = max(float(np.abs(x).max()) for x in (expected, *beside))
        self.error = float(np.abs(self.trace.answer - expected).max()) / max(largest, 1e-300)
        """How far the text's result is from the engine's, of the largest number in it, or of what stands beside it."""
        for stage in self.trace.stages:
            source(stage.code)  # read now, by whoever makes the lesson
        self._motion = handles.motion(robot, at, rates, self.trace.answer) if self.has_handles else None
        more = subject.more(robot, at, rates, efforts)
        self.facts = of_run(self.trace, self.serial, model, more) | {"error": scientific(self.error)}
        self.steps: tuple[LessonStep, ...] = tuple(
            LessonStep(self, *each, part) for each, parts in _places(self.text, self.trace) for part in parts
        )

    @property
    def has_handles(self) -> bool:
        """Whether its picture has parts with two handles, which can be picked."""
        return "handles" in self.text.keys

    @property
    def has_pull(self) -> bool:
        """Whether a joint can be pulled, to see what that changes."""
        return "pull" in self.text.keys

    def measure(self) -> None:
        """Run the engine's own program on the same state, so that `LessonStep.measured` has times to tell; where an
        algorithm is shown that the engine has for the robot. It may have to be compiled first."""
        if self._algorithm and not capabilities.reason(self._algorithm, self.model, "cpu"):
            names = sorted({self._algorithm, "abia"})
            self._phases = {name: measured.step(self.model, name, *self._state) for name in names}

    def pulled(self, joint: int) -> LessonMarks:
        """What `pull.PULL` N m or N more at a joint, from 0, changes; worked out when it is asked for."""
        if joint not in self._changes:
            more = self._given + pull.PULL * np.eye(len(self._given))[joint]
            self._changes[joint] = pull.changes(self.trace, self._run(more))
        return LessonMarks(self._changes[joint])

    def handles(self, part: LessonPart, palette: Palette) -> str:
        """A part's two equations, in numbers, in the palette and Qt's markup; "" in a lesson without handles."""
        return handles.part_text(part, handles.ends(part, *self._motion), palette) if self._motion else ""

    @staticmethod
    def names() -> tuple[str, ...]:
        """The lessons that there are, in the order in which they are taught."""
        return text.names()

    @staticmethod
    def title_of(name: str) -> str:
        """The title of the lesson `name`."""
        return text.read(name).title

    @staticmethod
    def refusal(name: str, model: Model) -> str:
        """Why the lesson `name` cannot be shown on a robot, and what serves; "" where it can."""
        try:
            _refuse(text.read(name, not serial(model)), model)
        except ValueError as reason:
            return str(reason)
        return ""


@dataclass(frozen=True, eq=False)
class LessonStep:
    """One step of a lesson: a section's words, and the stage that they are about, `index`, −1 where there is none.

    Of a section with breaks it has the `part` between two of them.
    """

    COLORS = LIT
    """The colours' names of what `lit` has of a link: nothing, in work, known before, known just now."""

    lesson: Lesson
    section: Section
    index: int
    part: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether the step before is about the same, and has the words before these."""
        at = self.lesson.steps.index(self)
        before = self.lesson.steps[at - 1]
        return at > 0 and (before.section, before.index) == (self.section, self.index)

    @property
    def title(self) -> str:
        """What heads it, with its number where a section is about several stages."""
        title = self.section.title.removeprefix("? ").format(**self.facts)
        if self.index >= 0 and (count := int(self.facts["count"])) > 1:
            title += f" ({self.facts['number']} of {count})"
        return f"{title}, continued" if self.goes_on else title

    @cached_property
    def facts(self) -> dict[str, str]:
        """What the words name, as it is written."""
        run = self.lesson.facts
        return run if self.index < 0 else run | of_stage(self.lesson.trace, self.index)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The paragraphs; those that begin with four spaces are equations."""
        ends = 0, *self.section.breaks, len(self.section.paragraphs)
        return self.all_words[ends[self.part] : ends[self.part + 1]]

    @property
    def all_words(self) -> tuple[str, ...]:
        """The paragraphs of all parts of the section."""
        return tuple(each.format(**self.facts) for each in self.section.paragraphs)

    def html(self, palette: Palette) -> str:
        """The words in the markup that Qt reads, equations in the palette's `accent`; other lessons are linked to as
        "lesson:NAME"."""
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
        """What is asked here, if anything."""
        keys = self.section.keys
        if "answer" not in keys or self.part < len(self.section.breaks):
            return None
        choices = tuple(each for each in keys.get("choices", "").format(**self.facts).split(" | ") if each)
        answer, hint = (keys[key].format(**self.facts) for key in ("answer", "hint"))
        return LessonQuestion(self.title, choices, answer, hint, NEAR[keys.get("near", "")], "drag" in keys)

    @cached_property
    def code(self) -> tuple[str, tuple[str, ...], range]:
        """Where the text is that is carried out, its lines, and which of them are this stage's; no lines for none."""
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
        """Of each link of the model (links,) what `drawing.LIT` has a colour for."""
        return self.lights(NO_MARKS)

    def lights(self, marks: LessonMarks) -> Array:
        """`lit` (links,), with a pull or a part marked."""
        model, lit = self.lesson.model, np.zeros(len(self.lesson.model.link_names), int)
        if self.index < 0 or self.section.keys.get("picture") in OF_NO_LINK:
            return lit
        bodies = drawing.lights(self.lesson.trace, self.index, len(model.parent), marks)
        moving = model.link_body >= 0
        lit[moving] = bodies[model.link_body[moving]]
        return lit

    @property
    def has_picture(self) -> bool:
        """Whether there is something to be seen."""
        return "picture" in self.section.keys

    @property
    def _seen(self) -> int:
        """The stage that the picture is of: this one, or the last that had such a picture."""
        kind = self.section.keys["picture"]
        alike = (step.index for step in self.lesson.steps if step.section.keys.get("picture") == kind)
        return self.index if self.index >= 0 else max(alike)

    @property
    def has_clock(self) -> bool:
        """Whether anything was computed."""
        return self.section is not self.lesson.text.sections[0] and "clock" not in self.lesson.text.keys

    @cached_property
    def parts(self) -> list[LessonPart]:
        """The parts with two handles that are known by now, those of few links first."""
        here = self.has_picture and self.index >= 0 and self.lesson.trace.stages[self.index].part == "beyond"
        return handles.parts(self.lesson.trace, self.index) if here and self.lesson.has_handles else []

    def part_at(self, x: float, y: float) -> LessonPart | None:
        """The part whose bar the picture has at x, y, px of the picture; None for none, or one not known yet."""
        parts = self.parts
        run = drawing.run_at(self.lesson.trace, self.index, x, y) if parts else None
        return next((part for part in parts if (part.first, part.last) == run), None)

    def part_of(self, link: int) -> LessonPart | None:
        """The part of most links that is known by now and has a link of the model."""
        body = self.lesson.model.link_body[link]
        return next((part for part in reversed(self.parts) if part.first <= body <= part.last), None)

    def picture(self, palette: Palette, marks: LessonMarks = NO_MARKS) -> str:
        """The block matrix or the tree by now, as SVG in the palette, a tree with what is marked; "" before that."""
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
        """What a step of the engine's program takes, and the phase that does this stage's work; "" before
        `Lesson.measure`."""
        lesson = self.lesson
        if not lesson._phases or not self.has_clock:
            return ""
        stage = lesson.trace.stages[self.index] if self.index >= 0 else None
        return measured.phase_text(lesson._algorithm, lesson._phases[lesson._algorithm], lesson._phases["abia"], stage)

    def clock(self, palette: Palette) -> str:
        """Time on processors by now, as SVG in the palette; "" before anything is computed."""
        if not self.has_clock:
            return ""
        last = self.index if self.index >= 0 else len(self.lesson.trace.stages)
        serial = self.lesson.serial.work if self.lesson.serial and self.lesson._has_peer else 0.0
        return drawing.clock(self.lesson.trace, last, serial, palette)


PICTURES: Mapping[str, Callable[[Trace, int, Palette], str]] = {
    "matrix": drawing.matrix,
    "errors": plots.errors,
    "growth": partial(plots.growth, sizes=SIZES),
    "measured": partial(plots.measured, sizes=MEASURED),
    "inertia": partial(
        plots.numbers,
        said="I, the inertia at the first handle",
        key="turning about x, y, z, then moving along x, y, z",
    ),
    "mobility": partial(plots.numbers, said="G, velocity by impulse, 1/kg", key="along n, along t₁, along t₂"),
    "cone": contact_drawing.cone,
    "heights": contact_drawing.heights,
}
"""The pictures by the names that lessons have for them."""
OF_NO_LINK = ("errors", "growth", "measured", "heights")
"""Those of stages that find nothing of single links of the robot."""


def _places(lesson: LessonText, trace: Trace) -> list[tuple[tuple[Section, int], range]]:
    """The steps: sections before the stages, each stage that a section is about, sections after them; and of each the
    parts of the section, of which later stages have the last only."""
    about = [k for k, section in enumerate(lesson.sections) if "stage" in section.keys]
    before, after = lesson.sections[: about[0]], [s for s in lesson.sections[about[0] :] if "stage" not in s.keys]
    told = [(section, -1) for section in before]
    for index, stage in enumerate(trace.stages):
        told += [(lesson.sections[k], index) for k in about if lesson.sections[k].serves(stage.name, stage.part)][:1]
    told += [(section, -1) for section in after]
    sections = [section for section, _ in told]
    return [
        ((section, index), range(len(section.breaks) if section in sections[:k] else 0, len(section.breaks) + 1))
        for k, (section, index) in enumerate(told)
    ]


ROBOTS: Mapping[str, tuple[tuple[Feature, ...], str]] = {
    "chains": (SERIAL, "serial chains of revolute and prismatic joints on a fixed base"),
    "branching": (("mimic", "still", "massless"), "robots whose bodies all have mass, and whose joints move freely"),
    "any": ((), "all robots"),
}
"""What a lesson's robots do not have, and what they are, by the lesson's key `robots`."""


def _refuse(lesson: LessonText, model: Model) -> None:
    features, about = ROBOTS[lesson.keys.get("robots", "chains")]
    for feature in features:
        if place := found(feature, model):
            raise ValueError(
                f"the lesson «{lesson.title}» is about {about}; in {model.name}, {place}; open arm7, or a chain by "
                "File › Generate"
            )
    least = int(lesson.keys.get("least", 2))
    if len(model.parent) < least:
        raise ValueError(
            f"the lesson «{lesson.title}» needs {least} links or more that move; {model.name} has {len(model.parent)}; "
            "open arm7, or a chain by File › Generate"
        )
