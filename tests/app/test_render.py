"""`main.py render`."""

import json

import pytest
from PIL import Image

from app.picture import render


@pytest.fixture
def command():
    """Runs `render` with the words given."""
    import argparse

    parser = argparse.ArgumentParser()
    render.add_arguments(parser)

    def run(*words: object) -> int:
        args = parser.parse_args([*map(str, words)])
        return args.function(args)

    return run


@pytest.mark.usefixtures("gl")
def test_render_writes_a_picture(command, tmp_path, capsys):
    out = tmp_path / "arm.png"
    out.write_bytes(b"what was there")
    words = ("pendulum", "--out", out, "--q", "0.5", "--size", "200x100", "--azimuth", "30", "--json")
    assert command(*words) == 0
    with Image.open(out) as picture:
        assert picture.size == (200, 100)
    report = json.loads(capsys.readouterr().out)
    assert (report["robot"], report["width"], report["height"]) == ("pendulum", 200, 100)
    assert [path.name for path in tmp_path.iterdir()] == ["arm.png"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("nowhere.urdf", "--out", "a.png"), "there is no file"),
        (("pendulum", "--out", "a.jpg"), "end the name with .png"),
        (("pendulum", "--out", "no/such/folder/a.png"), "make it first"),
        (("pendulum", "--out", "a.png", "--q", "1,2"), "1 finite numbers"),
        (("pendulum", "--out", "a.png", "--q", "up"), "expected 1 numbers"),
        (("pendulum", "--out", "a.png", "--elevation", "90"), "--elevation is 90"),
    ],
)
def test_a_wrong_call_of_render_says_what_to_do(command, words, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, FileNotFoundError), match=text):
        command(*words)
    assert not list(tmp_path.iterdir())


def test_a_wrong_size_is_refused_by_the_parser(command, capsys):
    with pytest.raises(SystemExit, match="2"):
        command("pendulum", "--out", "a.png", "--size", "big")
    assert "expected WIDTHxHEIGHT" in capsys.readouterr().err
