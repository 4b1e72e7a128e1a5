"""Catena's one entry point: no words, or a robot's file, open the window; a command runs headless."""

from __future__ import annotations

import sys
from pathlib import Path

HEADLESS = ("run", "repeat", "info", "check", "bench", "compare", "paper", "generate", "render", "-h", "--help")


def main(argv: list[str] | None = None) -> int:
    """Carry out the command line; answers the exit code."""
    words = sys.argv[1:] if argv is None else argv
    if words and (words[0] in HEADLESS or not _is_for_the_window(words[0])):
        from app.picture import render
        from engine import cli

        return cli.main(words, extend=render.add_parser)
    from app import run_app, view

    if words and words[0] == "view":
        return view(words[1:])
    return run_app(words)


def _is_for_the_window(word: str) -> bool:
    """Whether a first word that is no command is the window's option, or a robot's file, there or not, or name."""
    if word == "view" or word.startswith(("--package-dir", "--trust-xacro")):
        return True
    if Path(word).suffix or Path(word).is_file():
        return True
    from engine.files import ROBOTS

    return (ROBOTS / f"{word}.urdf").is_file()


if __name__ == "__main__":
    sys.exit(main())
