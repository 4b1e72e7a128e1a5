"""Options that pages name exist; test_commands.py has what those of `run` do, test_words.py signs and units."""

import argparse
import json
import re
import shlex
from pathlib import Path

import numpy as np
import page_text
import pytest
from page_text import ROOT
from statuses import called

PLACES = {
    "ROBOT": "arm7", "RUN.npz": "run.npz", "FILE.npz": "run.npz", "FILE.svg": "x.svg", "FOLDER": "papers", "…": "",
    "ROBOT.urdf": "arm7", "FILE": "x.json", "FILE.toml": "x.toml",
}  # fmt: skip


def test_an_srdf_by_a_relative_name_is_found_from_another_folder(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "own.srdf").write_text('<robot name="humanoid"/>')
    monkeypatch.chdir(here)
    words = ("--self-collision", "--srdf", "own.srdf", "--seconds", 0.01, "--out", there / "run.npz")
    status, _, reported = called("run", "humanoid", *words)
    assert status == 0, reported
    monkeypatch.chdir(there)
    with np.load(there / "run.npz") as arrays:
        kept = next(json.loads(str(arrays[name])) for name in ("settings", "settings.json") if name in arrays)
    assert Path(kept["srdf"]) == here / "own.srdf"
    assert called("repeat", "run.npz")[0] == 0


def test_azimuth_and_elevation_turn_the_camera_as_help_says():
    from app.gl.camera import Camera

    places = {}
    for name, azimuth, elevation in (("x", 0.0, 0.0), ("y", np.pi / 2, 0.0), ("up", 0.0, 1.2)):
        camera = Camera()
        camera.azimuth, camera.elevation = azimuth, elevation
        places[name] = np.asarray(camera.eye) - np.asarray(camera.target)
    assert places["x"][0] > 0.99 * np.linalg.norm(places["x"])
    assert places["y"][1] > 0.99 * np.linalg.norm(places["y"])
    assert places["up"][2] > 0.9 * np.linalg.norm(places["up"])


def calls() -> list[tuple[str, str]]:
    """Every call of `main.py` in the pages' examples and sentences."""
    found = []
    for page in page_text.PAGES:
        lines = [line for block in page_text.blocks(page, "sh") for line in block.splitlines()]
        spans = re.findall(r"`([^`]+)`", page_text.prose(page))
        for words in (*lines, *map(page_text.flat, spans)):
            call = re.search(r"(?:^|uv run )main\.py ([^#]*)", words)
            if call:
                found.append((page, call[1].strip()))
    return list(dict.fromkeys(found))


@pytest.mark.parametrize(("page", "words"), calls(), ids=str)
def test_every_call_that_a_page_shows_is_one(page: str, words: str):
    """The parser of that command takes it, but for what stands in capitals for something else."""
    name, *rest = shlex.split(words)
    rest = [PLACES.get(word, word) for word in rest]
    if name in ("view", "connect", "lesson", "ROBOT.urdf", "SESSION.catena", "RUN.npz") or "/" in name:
        return
    parser = page_text.commands()[name]
    known = {option: action for action in page_text.actions(parser) for option in action.option_strings}
    for word in rest:
        if word.startswith("-"):
            assert word in known, f"{page}: {name} has no {word}"
    options = argparse.Namespace()
    short = [f"--{word[2:]}" for word in rest if word.startswith("--")]
    if any(known[each].nargs != 0 and rest[-1] == each for each in short):
        return  # the option alone is named
    if "|" in rest or "COMMAND" in name:
        return
    needed = [action.dest for action in page_text.actions(parser) if not action.option_strings and action.nargs != "*"]
    filled = rest if not needed or _places(rest, known) else [*rest, *{"generate": ["chain", "3"]}.get(name, ["arm7"])]
    if name == "render" and "--out" not in filled:
        filled += ["--out", "x.png"]
    parser.parse_args([word for word in filled if word], options)


def _places(words: list[str], known: dict[str, argparse.Action]) -> list[str]:
    """The words that are no option and no option's value."""
    return [
        word
        for before, word in zip(["", *words], words, strict=False)
        if not word.startswith("-") and not (before in known and known[before].nargs != 0)
    ]


def test_every_option_that_pages_name_exists():
    """Options belong to a command of `main.py`, the window, a script here, or another program in an example."""
    own = {
        option
        for parser in page_text.commands().values()
        for action in page_text.actions(parser)
        for option in action.option_strings
    }
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "app").rglob("*.py")]
    scripts = set(re.findall(r'"(--[a-z-]+)"', "\n".join(path.read_text("utf-8") for path in files)))
    others = {"--extra", "--auto-servernum", "--collect-only"}
    for page in page_text.PAGES:
        spans = [span for span in re.findall(r"`([^`]+)`", page_text.prose(page)) if "xvfb-run" not in span]
        named = {option for span in spans for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", span)}
        assert named <= own | scripts | others, page


def test_options_in_a_row_of_the_page_of_the_shell_are_that_commands():
    rows = re.findall(r"^\| `main\.py (\w+)[^|]*\|(.*)\|$", page_text.source("docs/shell.md"), re.MULTILINE)
    assert len(rows) == len(page_text.commands()) + 3
    for name, reported in rows:
        if name in ("view", "connect", "lesson"):
            continue
        known = {option for action in page_text.actions(page_text.commands()[name]) for option in action.option_strings}
        named = set(re.findall(r"`(--[a-z-]+)", reported))
        named |= set(re.findall(rf"^\| `{name} (--[a-z-]+)", page_text.source("docs/shell.md"), re.MULTILINE))
        assert named <= known, name


def test_every_suite_that_pages_name_is_one():
    from engine.bench.suites.command import SUITES
    from tests.bench import command

    for page in page_text.PAGES:
        text = page_text.page_text(page)
        assert set(re.findall(r"main\.py bench --suite ([a-z-]+)", text)) <= set(SUITES)
        assert set(re.findall(r"tests\.bench --suite ([a-z-]+)", text)) <= set(command.SUITES)
