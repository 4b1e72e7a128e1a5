"""Catena's one entry point: no words, or a robot's file, open the window; a command runs headless."""

from __future__ import annotations

import sys

HEADLESS = ("run", "info", "check", "bench", "generate", "render", "-h", "--help")


def main(argv: list[str] | None = None) -> int:
    """Carry out the command line; answers the exit code."""
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in HEADLESS:
        from app import render
        from engine import cli

        return cli.main(words, extend=render.add_parser)
    from app import run_app

    return run_app(words)


if __name__ == "__main__":
    sys.exit(main())
