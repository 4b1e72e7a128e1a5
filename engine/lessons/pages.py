"""Lessons as HTML: a page for each, and an index, all without external resources.

A page has all steps in order; with scripts it shows one at a time, with buttons and keys. Printed, it has all of them,
and where the same source code was shown before, only the lines of the stage.
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
from engine.lessons.text import marked_up
from engine.lie import Array
from engine.model import Model

NAMES = ("ground", "panel", "edge", "text", "faint", "accent", "good", "warning")
PALETTE = {name: f"var(--{name})" for name in NAMES}
DARK = dict(zip(NAMES, ("#171a20", "#1d2129", "#343a46", "#d5dbe6", "#8b95a7", "#5aa2f5", "#7fb86a", "#e8b45a"),
                strict=True))  # fmt: skip
LIGHT = dict(zip(NAMES, ("#ffffff", "#f3f5f8", "#c2cad6", "#1b2028", "#566070", "#0a5fbf", "#2a661c", "#b06d00"),
                 strict=True))  # fmt: skip
INDEX = "index.html"
STYLE = """
body { margin: 0 auto; max-width: 1080px; padding: 24px; background: var(--ground); color: var(--text);
  font: 17px/1.5 "Catena Sans", system-ui, sans-serif; }
h1 { font-size: 1.6em; line-height: 1.2; } h2 { font-size: 1.25em; margin: 0 0 8px; } a { color: var(--accent); }
section { display: grid; grid-template: auto 1fr / minmax(0, 1fr) 440px; gap: 0 32px; padding: 16px 0;
  border-top: 1px solid var(--edge); }
.pictures { grid-area: 1 / 2 / span 2; } section > * { min-width: 0; }
svg { display: block; width: 100%; margin-bottom: 14px; }
svg rect, svg circle, svg line { transition: fill .4s, stroke .4s, fill-opacity .4s; }
svg text { font-family: "Catena Sans", system-ui, sans-serif; }
math { font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math", "DejaVu Math TeX Gyre", math;
  font-size: 1.1em; } .equations { display: flex; flex-wrap: wrap; justify-content: safe center; align-items: baseline;
  gap: 8px 2.5em;
  margin: 14px 0; } pre { overflow-x: auto; background: var(--panel); padding: 10px;
  font-size: 13px; line-height: 1.45; border-radius: 6px; } pre b { color: var(--accent); font-weight: normal; }
nav { position: sticky; bottom: 0; display: none; gap: 8px; align-items: center; padding: 12px 0;
  background: var(--ground); border-top: 1px solid var(--edge); } .live nav { display: flex; }
button, input { font: inherit; color: var(--text); background: var(--panel); border: 1px solid var(--edge);
  border-radius: 5px; padding: 4px 14px; } button:hover, button:focus { border-color: var(--accent); }
.live section { display: none; } .live section.shown { display: grid; min-height: 620px; align-content: start; }
.faint { color: var(--faint); } details { margin: 10px 0; } .printed { display: none; }
@media screen and (max-width: 860px) { section { display: block; } .live section.shown { display: block; } }
@media print {
  @page { margin: 15mm; }
  body { max-width: none; padding: 0; font-size: 10pt; } math { font-size: 1em; }
  .live nav, .home, button, input[type=range], form b { display: none; }
  section, .live section, .live section.shown { display: grid; min-height: 0; gap: 0 7mm;
    grid-template: auto auto / minmax(0, 1fr) 80mm; }
  .pictures { grid-area: 1 / 2; } section > details { grid-column: 1 / -1; } summary { list-style: none; }
  pre { padding: 0; font-size: 7.5pt; white-space: pre-wrap; } pre b { font-weight: bold; }
  .pictures svg + svg { width: 60%; margin: 0 auto 8px; }
  .again:not(:has(b)), .again .rest { display: none; } .printed { display: inline; }
  section > * { break-inside: avoid; } details { break-before: avoid; }
}
@media (prefers-reduced-motion: reduce) { svg * { transition: none !important; } }
"""
SCRIPT = """
const steps = [...document.querySelectorAll("section")], where = document.getElementById("where");
let now = 0, timer = 0;
const named = () => (parseInt(location.hash.slice(1)) || 1) - 1;
const play = document.getElementById("play");
function show(k) {
  now = Math.min(Math.max(k, 0), steps.length - 1);
  steps.forEach((each, i) => each.classList.toggle("shown", i === now));
  if (steps[now].getBoundingClientRect().top < 0) steps[now].scrollIntoView();
  where.textContent = `${now + 1} of ${steps.length}`;
  history.replaceState(null, "", `#${now + 1}`);
  if (now === steps.length - 1) stop();
}
function stop() { clearInterval(timer); timer = 0; play.textContent = "Play"; }
function toggle() {
  if (timer) return stop();
  if (now === steps.length - 1) show(0);
  play.textContent = "Pause";
  timer = setInterval(() => show(now + 1), 2500);
}
document.getElementById("back").onclick = () => { stop(); show(now - 1); };
document.getElementById("next").onclick = () => { stop(); show(now + 1); };
play.onclick = toggle;
document.addEventListener("keydown", (key) => {
  if (key.target.tagName === "INPUT" || key.altKey || key.ctrlKey || key.metaKey) return;
  if (key.key === "ArrowRight") { stop(); show(now + 1); }
  if (key.key === "ArrowLeft") { stop(); show(now - 1); }
});
for (const drag of document.querySelectorAll("input[type=range]")) drag.oninput = () => {
  const chosen = drag.dataset.choices.split("|")[drag.value];
  drag.form.querySelector("[name=answer]").value = drag.form.querySelector("b").textContent = chosen;
};
for (const form of document.querySelectorAll("form")) form.oninput = () => form.querySelector("output").value = "";
for (const form of document.querySelectorAll("form")) form.onsubmit = () => {
  const given = (new FormData(form).get("answer") || "").toString().trim(), said = form.querySelector("output");
  const number = (text) => Number(text.replaceAll(",", "")), answer = number(form.dataset.answer);
  const off = Math.abs(number(given) - answer);
  const same = given !== "" && (given === form.dataset.answer || off <= form.dataset.near * Math.abs(answer));
  said.textContent = same ? "Right." : "Not yet. " + form.dataset.hint;
  return false;
};
addEventListener("hashchange", () => { stop(); show(named()); });
document.body.classList.add("live");
show(named());
"""


def write(folder: Path, model: Model, state: tuple[Array, Array, Array]) -> dict[str, str]:
    """Write all lessons that support the robot into a folder, which is created; return why others are missing, by name.

    `state` is q (nq,), v (nv,) and tau (nv,).
    """
    folder.mkdir(parents=True, exist_ok=True)
    refusals, made = {}, []
    for name in Lesson.names():
        try:
            lesson = Lesson(name, model, *state)
        except ValueError as reason:
            refusals[name] = str(reason)
            continue
        _write(folder / f"{name}.html", lesson.title, _body(lesson, state[0]), SCRIPT)
        made.append(lesson)
    _write(folder / INDEX, "Lessons", _index(made, model, refusals), "")
    return refusals


def _write(path: Path, title: str, body: str, script: str) -> None:
    light, dark = (":root {" + "".join(f" --{name}: {of[name]};" for name in NAMES) + " }" for of in (LIGHT, DARK))
    style = f"{light}\n@media screen and (prefers-color-scheme: dark) {{ {dark} }}\n{STYLE}"
    text = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n'
        + (f"<script>{script}</script>\n" if script else "")
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
    told = [step for step in lesson.steps if not step.goes_on]
    named = [step.code[0] for step in told]
    steps = "\n".join(_section(step, points, named[k] in named[:k]) for k, step in enumerate(told))
    buttons = "".join(f'<button id="{name}">{words}</button>' for name, words in
                      (("back", "Back"), ("play", "Play"), ("next", "Next")))  # fmt: skip
    return f'{head}\n{steps}\n<nav>{buttons}<span id="where" class="faint"></span></nav>'


def _section(step: LessonStep, points: tuple[Array, Array], again: bool) -> str:
    words = "\n".join(map(_paragraph, step.all_words))
    pictures = step.picture(PALETTE)
    lit = step.lit[_first_links(step.lesson.model)]
    if lit.any() or step is step.lesson.steps[0]:
        told = step.section.keys.get("picture") == "tree"  # what the colours mean
        parent = step.lesson.model.parent.tolist()
        pictures += drawing.skeleton(*points, parent, lit, PALETTE, bool(lit.any()) and not told)
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
    asked = step.question
    if asked is None:
        return ""
    data = f'data-answer="{html.escape(asked.answer)}" data-hint="{html.escape(asked.hint)}" data-near="{asked.near}"'
    if asked.dragged:
        first, choices = html.escape(asked.choices[0]), html.escape("|".join(asked.choices))
        fields = (
            f'<input type="range" min="0" max="{len(asked.choices) - 1}" value="0" data-choices="{choices}" '
            f'aria-label="your answer"> <b>{first}</b> <input type="hidden" name="answer" value="{first}"> '
            f'<span class="printed">{html.escape(", ".join(asked.choices))}</span>'
        )
    elif asked.choices:
        fields = "".join(
            f'<p><label><input type="radio" name="answer" value="{html.escape(each)}"> {html.escape(each)}</label></p>'
            for each in asked.choices
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
