"""Options that pages name exist, and do what help says of them: their signs, units and defaults, by running them."""

import argparse
import json
import re
import shlex
from pathlib import Path

import numpy as np
import page_text
import pytest
from behaviour import text_of
from page_text import ROOT
from statuses import called

import engine

BALL = text_of("sphere")
SWING = """<robot name="swing"><link name="base"/><link name="arm"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute">
<parent link="base"/><child link="arm"/><axis xyz="0 1 0"/><limit lower="-0.1" upper="0.1" effort="9" velocity="9"/>
</joint></robot>"""
GRAVITY = 9.81
PLACES = {
    "ROBOT": "arm7", "RUN.npz": "run.npz", "FILE.npz": "run.npz", "FILE.svg": "x.svg", "FOLDER": "papers", "…": "",
    "ROBOT.urdf": "arm7", "FILE": "x.json", "FILE.toml": "x.toml",
}  # fmt: skip


@pytest.fixture
def ran(tmp_path):
    """A run of a robot with options: what it said as JSON, and its states q and v."""

    def run(robot: str | Path, *words: object):
        file = tmp_path / "run.npz"
        if str(robot).startswith("<robot"):
            (tmp_path / "robot.urdf").write_text(str(robot), "utf-8")
            robot = tmp_path / "robot.urdf"
        status, said, told = called("run", robot, *words, "--out", file, "--json")
        assert status == 0, told
        with np.load(file) as arrays:
            return json.loads(said), arrays["q"], arrays["v"]

    return run


def _last(states: np.ndarray) -> np.ndarray:
    return states.reshape(-1, states.shape[-1])[-1]


def test_ground_on_a_slope_rises_to_the_side_that_help_says(ran):
    """A frictionless body slides to the other side, by the sine of the angle."""
    (told,) = (line for line in page_text.help_lines("run") if line.startswith("--slope"))
    side = {"−x": 1.0, "+x": -1.0}[re.findall(r"rising towards ([−+]x)", told)[0]]
    _, _, v = ran(text_of(), "--floating", "--slope", 10, "--friction", 0, "--seconds", 0.2, "--dt", 0.001)
    slid = v.reshape(-1, 6)[-1, 3:]
    assert np.sign(slid[0]) == side
    assert np.linalg.norm(slid) == pytest.approx(GRAVITY * np.sin(np.radians(10)) * 0.2, rel=1e-3)


def test_friction_is_none_where_it_is_zero_and_the_scenes_where_it_is_not_given(ran):
    speeds = {}
    for given in ((), ("--friction", 0), ("--friction", 0.3)):
        _, _, v = ran(text_of(), "--floating", "--v", "0,0,0,2,0,0", "--seconds", 0.1, "--dt", 0.001, *given)
        speeds[given[-1] if given else engine.Scene().friction] = _last(v)[3]
    for friction, speed in speeds.items():
        assert speed == pytest.approx(2 - friction * GRAVITY * 0.1, abs=0.02), friction
    assert speeds[0] == pytest.approx(2, abs=1e-12)


def test_an_srdf_by_a_relative_name_is_found_from_another_folder(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "own.srdf").write_text('<robot name="humanoid"/>')
    monkeypatch.chdir(here)
    words = ("--self-collision", "--srdf", "own.srdf", "--seconds", 0.01, "--out", there / "run.npz")
    status, _, told = called("run", "humanoid", *words)
    assert status == 0, told
    monkeypatch.chdir(there)
    with np.load(there / "run.npz") as arrays:
        kept = next(json.loads(str(arrays[name])) for name in ("settings", "settings.json") if name in arrays)
    assert Path(kept["srdf"]) == here / "own.srdf"
    assert called("repeat", "run.npz")[0] == 0


def test_defaults_are_those_of_help(ran):
    free = ("arm7", "--dt", 0.001)
    said, q, _ = ran(*free, "--seconds", 0.01)
    assert (said["batch"], said["device"], said["dtype"]) == (1, "cpu", "float64")
    assert q.reshape(-1, 7)[0] == pytest.approx(engine.load(engine.find_robot("arm7")).neutral())
    assert len(q.reshape(-1, 7)) == 11
    assert len(ran(*free, "--seconds", 0.01, "--every", 5)[1].reshape(-1, 7)) == 3
    drawn = [ran(*free, "--seconds", 0.002, "--q", "random", *seed)[1] for seed in ((), ("--seed", 0), ("--seed", 1))]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    assert ran(*free, "--seconds", 0.002, "--batch", 3, "--q", "random")[0]["batch"] == 3
    (given,) = {ran("pendulum", "--seconds", 0.01, *g)[1].tobytes() for g in ((), ("--gravity", 0, 0, -9.81))}
    assert given


def test_units_are_those_of_help(ran):
    """Seconds, metres a second squared, radians, and velocities: one for all or one for each."""
    said, q, v = ran(BALL, "--floating", "--no-ground", "--gravity", 1, 2, -3, "--seconds", 0.5, "--dt", 0.01)
    assert said["simulated_seconds"] == pytest.approx(0.5)
    assert said["steps"] == 50
    assert _last(v)[3:] == pytest.approx(0.5 * np.array([1, 2, -3]))
    _, q, v = ran("arm7", "--q", "0.1,0.2,0.3,0.4,0.5,0.6,0.7", "--v", 0.25, "--seconds", 0.001, "--dt", 0.001)
    assert q.reshape(-1, 7)[0] == pytest.approx(np.arange(1, 8) / 10)
    assert v.reshape(-1, 7)[0] == pytest.approx(np.full(7, 0.25))


@pytest.mark.parametrize("cell", [None, 0.3])
def test_the_rows_of_a_terrain_go_along_y_and_its_columns_along_x(ran, tmp_path, cell):
    """A ball rolls down where columns fall, along +x; and `--cell` says how steep that is."""
    columns = np.tile(-0.02 * np.arange(41.0), (21, 1))
    np.save(tmp_path / "ground.npy", columns)
    words = () if cell is None else ("--cell", cell)
    _, _, v = ran(BALL, "--floating", "--terrain", tmp_path / "ground.npy", *words, "--friction", 0, "--seconds", 0.2)
    assert _last(v)[3] > 0
    assert abs(_last(v)[4]) < 1e-9
    angle = np.arctan(0.02 / (page_text.defaults("run")["cell"] if cell is None else cell))
    assert np.linalg.norm(_last(v)[3:]) == pytest.approx(GRAVITY * np.sin(angle) * 0.2, rel=0.05)


def test_ground_limits_mimics_and_gains_are_what_help_says(ran):
    assert _last(ran(BALL, "--floating", "--seconds", 0.2)[1])[2] == pytest.approx(0.1, abs=1e-6)
    assert _last(ran(BALL, "--floating", "--no-ground", "--seconds", 0.2)[1])[2] < -0.1
    sunk = {words: abs(_last(ran("quadruped", *words, "--seconds", 0.3)[1])[2]) for words in (("--hold",), ())}
    assert sunk[("--hold",)] < 0.01 < 0.05 < sunk[()]
    held, loose = (
        _last(ran("arm7", *words, "--q", "0.3,0.3,0.3,0.3,0.3,0.3,0.3", "--seconds", 0.3)[1])
        for words in (("--hold",), ())
    )
    assert np.abs(held - 0.3).max() < 0.01 < np.abs(loose - 0.3).max()
    for words, within in (((), True), (("--no-limits",), False)):
        _, q, _ = ran(SWING, "--v", 1, "--seconds", 0.5, "--dt", 0.005, *words)
        assert (np.abs(q).max() <= 0.1 + 1e-9) == within
    follow, own = (json.loads(called("info", "scara", "--json", *words)[1])["nv"] for words in ((), ("--no-mimic",)))
    assert own >= follow


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
        text = page_text.source(page)
        blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        lines = [line for block in blocks for line in block.splitlines()]
        spans = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
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
    known = {option: action for action in parser._actions for option in action.option_strings}
    for word in rest:
        if word.startswith("-"):
            assert word in known, f"{page}: {name} has no {word}"
    options = argparse.Namespace()
    short = [f"--{word[2:]}" for word in rest if word.startswith("--")]
    if any(known[each].nargs != 0 and rest[-1] == each for each in short):
        return  # the option alone is named
    if "|" in rest or "COMMAND" in name:
        return
    needed = [action.dest for action in parser._actions if not action.option_strings and action.nargs != "*"]
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
        for action in parser._actions
        for option in action.option_strings
    }
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "app").rglob("*.py")]
    scripts = set(re.findall(r'"(--[a-z-]+)"', "\n".join(path.read_text("utf-8") for path in files)))
    others = {"--extra", "--auto-servernum", "--collect-only"}
    for page in page_text.PAGES:
        prose = re.sub(r"```.*?```", "", page_text.source(page), flags=re.DOTALL)
        spans = [span for span in re.findall(r"`([^`]+)`", prose) if "xvfb-run" not in span]
        named = {option for span in spans for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", span)}
        assert named <= own | scripts | others, page


def test_options_in_a_row_of_the_page_of_the_shell_are_that_commands():
    rows = re.findall(r"^\| `main\.py (\w+)[^|]*\|(.*)\|$", page_text.source("docs/shell.md"), re.MULTILINE)
    assert len(rows) == len(page_text.commands()) + 3
    for name, told in rows:
        if name in ("view", "connect", "lesson"):
            continue
        known = {option for action in page_text.commands()[name]._actions for option in action.option_strings}
        named = set(re.findall(r"`(--[a-z-]+)", told))
        assert named <= known, name


def test_every_suite_that_pages_name_is_one():
    from engine.bench.suites.command import SUITES
    from tests.bench import command

    for page in page_text.PAGES:
        text = page_text.page_text(page)
        assert set(re.findall(r"main\.py bench --suite ([a-z-]+)", text)) <= set(SUITES)
        assert set(re.findall(r"tests\.bench --suite ([a-z-]+)", text)) <= set(command.SUITES)
