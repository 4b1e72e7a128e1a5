"""Lessons as HTML: a page for each, and an index, all without external resources.

A page has all steps in order. With scripts it shows one at a time, with buttons and keys. Printed, it shows all of
them; of source code that was shown before, only the lines of the stage. Style and script: ``resources/lessons``.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from engine import dynamics, files
from engine.lessons import drawing
from engine.lessons.equations import as_mathml
from engine.lessons.lesson import Lesson, LessonStep
from engine.lessons.text import FOLDER, marked_up
from engine.lie import Array
from engine.model import Model

NAMES = ("ground", "panel", "edge", "text", "faint", "accent", "good", "warning")
PALETTE = {name: f"var(--{name})" for name in NAMES}
DARK = dict(zip(NAMES, ("#171a20", "#1d2129", "#343a46", "#d5dbe6", "#8b95a7", "#5aa2f5", "#7fb86a", "#e8b45a"),
                strict=True))  # fmt: skip
LIGHT = dict(zip(NAMES, ("#ffffff", "#f3f5f8", "#c2cad6", "#1b2028", "#566070", "#0a5fbf", "#2a661c", "#b06d00"),
                 strict=True))  # fmt: skip
INDEX = "index.html"


def write(folder: Path, model: Model, state: tuple[Array, Array, Array]) -> dict[str, str]:
    """Write all lessons that support the robot into a folder, which is created; return why others are missing, by name.

    `state` is q (nq,), v (nv,) and tau (nv,).
    """
    files.make_folder(folder, parents=True)
    refusals, made, script = {}, [], (FOLDER / "page.js").read_text("utf-8")
    for name in Lesson.names():
        try:
            lesson = Lesson(name, model, *state)
        except ValueError as reason:
            refusals[name] = str(reason)
            continue
        _write(folder / f"{name}.html", lesson.title, _body(lesson, state[0]), script)
        made.append(lesson)
    _write(folder / INDEX, "Lessons", _index(made, model, refusals), "")
    return refusals


def _write(path: Path, title: str, body: str, script: str) -> None:
    light, dark = (":root {" + "".join(f" --{name}: {of[name]};" for name in NAMES) + " }" for of in (LIGHT, DARK))
    style = f"{light}\n@media screen and (prefers-color-scheme: dark) {{ {dark} }}\n"
    style += (FOLDER / "page.css").read_text("utf-8")
    text = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n'
        + (f"<script>\n{script}</script>\n" if script else "")
        + "</body>\n</html>\n"
    )
    with files.replacing(path, "w") as file:
        file.write(text)


def _index(lessons: Sequence[Lesson], model: Model, refusals: dict[str, str]) -> str:
    rows = "".join(
        f'<li><p><a href="{lesson.name}.html">{html.escape(lesson.title)}</a> '
        f'<span class="faint">{lesson.text.keys["minutes"]} minutes</span></p></li>'
        for lesson in lessons
    )
    missing = "".join(f'<p class="faint">{html.escape(reason)}.</p>' for reason in refusals.values())
    about = f"Forward dynamics in parallel, at work on {html.escape(model.name)}."
    return f"<h1>Lessons</h1>\n<p>{about}</p>\n<ol>{rows}</ol>\n{missing}"


def _body(lesson: Lesson, q: Array) -> str:
    points = joints(lesson.model, q)
    about = f"On {html.escape(lesson.model.name)}; {lesson.text.keys['minutes']} minutes."
    head = (
        f'<p class="home"><a href="{INDEX}">All lessons</a></p>\n<h1>{html.escape(lesson.title)}</h1>\n'
        f'<p class="faint">{about}</p>'
    )
    reported = [step for step in lesson.steps if not step.is_continuation]
    named = [step.code[0] for step in reported]
    steps = "\n".join(_section(step, points, named[k] in named[:k]) for k, step in enumerate(reported))
    buttons = "".join(f'<button id="{name}">{words}</button>' for name, words in
                      (("back", "Back"), ("play", "Play"), ("next", "Next")))  # fmt: skip
    return f'{head}\n{steps}\n<nav>{buttons}<span id="where" class="faint"></span></nav>'


def _section(step: LessonStep, points: tuple[Array, Array], again: bool) -> str:
    words = "\n".join(map(_paragraph, step.all_words))
    pictures = step.picture(PALETTE)
    lit = step.lit[_first_links(step.lesson.model)]
    if lit.any() or step is step.lesson.steps[0]:
        reported = step.section.keys.get("picture") == "tree"  # what the colours mean
        parent = step.lesson.model.parent.tolist()
        pictures += drawing.skeleton(*points, parent, lit, PALETTE, bool(lit.any()) and not reported)
    elif step.index < 0:
        pictures += step.clock(PALETTE)
    title = html.escape(step.title) if step is not step.lesson.steps[0] else "What it is about"
    return (
        f"<section>\n<div>\n<h2>{title}</h2>\n{words}\n{_question(step)}</div>\n"
        f'<div class="pictures">{pictures}</div>\n{_code(step, again)}</section>'
    )


def _paragraph(text: str) -> str:
    if text.startswith("    "):
        return f'<div class="equations">{as_mathml(text.strip())}</div>'
    words = marked_up(text, partial(as_mathml, display=False), lambda lesson: f"{lesson}.html")
    return f"<p>{words}</p>"


def _code(step: LessonStep, again: bool) -> str:
    """Return the source code of a step; `again` if an earlier step has the same."""
    name, lines, here = step.code
    if not lines:
        return ""
    shown = "".join(
        f"<b>{html.escape(line)}\n</b>" if k in here else f'<span class="rest">{html.escape(line)}\n</span>'
        for k, line in enumerate(lines)
    )
    kind = ' class="again"' if again else ""
    return f"<details open{kind}><summary>{name}</summary><pre>{shown}</pre></details>\n"


def _question(step: LessonStep) -> str:
    requested = step.question
    if requested is None:
        return ""
    answer, hint = html.escape(requested.answer), html.escape(requested.hint)
    data = f'data-answer="{answer}" data-hint="{hint}" data-near="{requested.near}"'
    if requested.dragged:
        first, choices = html.escape(requested.choices[0]), html.escape("|".join(requested.choices))
        fields = (
            f'<input type="range" min="0" max="{len(requested.choices) - 1}" value="0" data-choices="{choices}" '
            f'aria-label="your answer"> <b>{first}</b> <input type="hidden" name="answer" value="{first}"> '
            f'<span class="printed">{html.escape(", ".join(requested.choices))}</span>'
        )
    elif requested.choices:
        fields = "".join(
            f'<p><label><input type="radio" name="answer" value="{html.escape(each)}"> {html.escape(each)}</label></p>'
            for each in requested.choices
        )
    else:
        fields = '<input name="answer" size="12" autocomplete="off" aria-label="your answer"> '
    return f"<form {data}>{fields}<button>Check</button> <output></output></form>\n"


def _first_links(model: Model) -> list[int]:
    """Return the first link of each body."""
    bodies = model.link_body.tolist()
    return [bodies.index(body) for body in range(len(model.parent))]


def joints(model: Model, q: Array) -> tuple[Array, Array]:
    """Return the positions of the bodies' joints and of their centres of mass, (links, 3) each, m, in the world."""
    poses = dynamics.link_poses(model, q)
    first = _first_links(model)
    R, p = model.link_rotation[first], model.link_position[first]
    turn = poses[first, :3, :3] @ np.swapaxes(R, 1, 2)
    at = poses[first, :3, 3] - (turn @ p[..., None])[..., 0]
    J = model.J  # m [c] stands beside the moments of inertia
    center = np.stack([J[:, 2, 4], J[:, 0, 5], J[:, 1, 3]], 1) / np.maximum(J[:, 3, 3:4], np.finfo(float).tiny)
    return at, at + (turn @ center[..., None])[..., 0]
