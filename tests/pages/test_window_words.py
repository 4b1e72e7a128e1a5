"""Each word that the window takes on its command line reaches the window, and each headless command its own parser."""

import argparse
import re
from collections.abc import Callable

import page_text
import pytest

import app
import engine
import main
from engine import cli

Called = Callable[..., tuple[object, ...]]


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Called:
    """Return the calls of `main.main`: ("window", robot, package_dirs, trust_xacro, robot_of_run), or ("headless",
    words).
    """
    found: list[tuple[object, ...]] = []
    monkeypatch.setattr(app, "no_screen", lambda: False)
    monkeypatch.setattr(app, "show_window", lambda *given: found.append(("window", *given)) or 0)
    monkeypatch.setattr(cli, "main", lambda words, *_: found.append(("headless", *words)) or 0)

    def call(*words: object) -> tuple[object, ...]:
        found.clear()
        assert main.main([str(word) for word in words]) == 0
        (only,) = found
        return only

    return call


def parser_of(opens: Callable[[list[str]], int], monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser:
    """The parser by which `app.run_app` or `app.view` reads its words."""
    found: list[argparse.ArgumentParser] = []

    def parse(self: argparse.ArgumentParser, _: object) -> argparse.Namespace:
        found.append(self)
        return argparse.Namespace(robot="", package_dir=[], trust_xacro=False, of="", link="")

    with monkeypatch.context() as patched:
        patched.setattr(argparse.ArgumentParser, "parse_args", parse)
        patched.setattr(app, "_open", lambda *_: 0)
        patched.setattr(app.Path, "exists", lambda _: True)
        opens([])
    return found[0]


def options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Its options but for help, which the headless commands have."""
    return {name: each for each in page_text.actions(parser) for name in each.option_strings if each.dest != "help"}


def test_every_option_of_the_window_opens_it_wherever_it_stands(
    reached: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = options(parser_of(app.run_app, monkeypatch))
    assert set(known) == {"--package-dir", "--trust-xacro"}
    for robot in ("robot.xacro", "arm7", "robots/arm7.urdf", "RUN.npz", "SESSION.catena"):
        for name, action in known.items():
            plain = action.nargs == 0
            expected = ("window", robot, [] if plain else ["some/folder"], plain, "")
            assert action.dest == ("trust_xacro" if plain else "package_dir")
            for given in [(name,)] if plain else [(name, "some/folder"), (f"{name}=some/folder",)]:
                assert reached(*given, robot) == expected, (given, robot)
                assert reached(robot, *given) == expected, (robot, given)
    both = ("--trust-xacro", "--package-dir", "a", "--package-dir=b", "robot.xacro")
    assert reached(*both) == ("window", "robot.xacro", ["a", "b"], True, "")
    for name, action in known.items():
        words = (name,) if action.nargs == 0 else (name, "a")
        assert reached(*words)[:2] == ("window", None), "without a robot"


def test_files_and_names_of_robots_open_the_window(reached: Called) -> None:
    assert reached() == ("window", None, [], False, "")
    shipped = [path.stem for path in page_text.ROOT.glob("robots/*.urdf")]
    assert "arm7" in shipped
    for word in ("ROBOT.urdf", "robot.xacro", "none/of.these", "run.urdf", "x.npz", "y.catena", *shipped):
        assert reached(word) == ("window", word, [], False, "")


def test_view_takes_its_own_words(reached: Called, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    run = tmp_path / "RUN.npz"
    run.touch()
    known = options(parser_of(app.view, monkeypatch))
    assert set(known) == {"--robot", "--package-dir", "--trust-xacro"}
    assert reached("view", run) == ("window", str(run), [], False, "")
    words = ("view", "--robot", "FILE", "--trust-xacro", "--package-dir", "a", run)
    assert reached(*words) == ("window", str(run), ["a"], True, "FILE")
    assert reached(*words[:1], run, *words[1:-1]) == ("window", str(run), ["a"], True, "FILE")
    assert main.main(["view", str(tmp_path / "none.npz")]) == 2


def test_connect_takes_its_own_words(reached: Called, monkeypatch: pytest.MonkeyPatch, place) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    assert set(options(parser_of(app.connect, monkeypatch))) == {"--package-dir", "--trust-xacro"}
    assert main.main(["connect"]) == 1
    link = engine.show(engine.Simulation(engine.chain(2)), window=False)
    shown = str(link.folder / "robot.npz")
    assert reached("connect") == ("window", shown, [], False, "")
    assert reached("connect", link.folder, "--package-dir", "a") == ("window", shown, ["a"], False, "")
    link.close()
    assert main.main(["connect"]) == 1


def test_a_lesson_opens_the_window_at_a_step(reached: Called, capsys) -> None:
    assert reached("lesson", "dca") == ("window", "arm7", [], False, "", ("dca", 0))
    words = ("lesson", "abia", "--stage", "3", "--robot", "x.urdf", "--trust-xacro", "--package-dir", "a")
    for name in ("abia", "aba"):
        assert reached(words[0], name, *words[2:]) == ("window", "x.urdf", ["a"], True, "", ("abia", 2))
    for wrong, text in ((("none",), "invalid choice: 'none'"), (("dca", "--stage", "0"), "--stage is 0; expected")):
        with pytest.raises(SystemExit) as ended:
            main.main(["lesson", *wrong])
        assert ended.value.code == 2
        assert text in capsys.readouterr().err


def test_headless_commands_and_wrong_words_do_not(reached: Called) -> None:
    for word in (*page_text.commands(), "-h", "--help", "no-such-command", "--json", "--floating"):
        for more in ((), ("arm7", "--trust-xacro", "--package-dir", "a")):
            assert reached(word, *more) == ("headless", word, *more)


def test_pages_and_help_say_so() -> None:
    shell, window = (page_text.page_text(f"docs/{name}.md") for name in ("shell", "window"))
    assert "`main.py SESSION.catena` opens a session" in window
    assert re.search(r"\| `main\.py view RUN\.npz` \|[^|]*`--robot FILE` where that has moved \|", shell)
    assert "For a file that needs more, and that you trust, use `--trust-xacro`" in shell
    assert "folders of *File › Package folders* or `--package-dir DIR`" in window
