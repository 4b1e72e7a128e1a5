"""Catena's one entry point: no words, or a robot's file, open the window; a command runs headless."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

RENDER = {"render": ("write an image of a robot at a configuration", "app.picture.render")}
"""The headless command that draws, as an entry of `engine.cli`'s table."""
WINDOWED = ("view", "connect", "lesson")
"""Commands that open the window."""
NO, INTERRUPTED = 1, 130
"""Exit codes: that it could not be done, and that Ctrl-C ended it, as shells have it."""


def main(argv: list[str] | None = None) -> int:
    """Carry out the command line; returns the exit code."""
    _have_standard_streams()
    try:
        status = _carry_out(sys.argv[1:] if argv is None else argv)
        if argv is None:  # all is done and shown, and Python's own end leaves Ctrl-C to the system, which kills
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            if "PyQt6.QtWidgets" in sys.modules:
                end_process(status)
        return status
    except KeyboardInterrupt:  # before a command, which hears it itself
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads the output any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        return NO


def end_process(status: int) -> NoReturn:
    """End this process after its exit functions, without the end of the interpreter and of the libraries.

    There a thread that cannot be interrupted, of a compiler or of OpenGL, would use memory that is freed, and crash.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # as `multiprocessing` ends its processes
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def _carry_out(words: list[str]) -> int:
    if words and not _is_for_the_window(words[0]):
        from engine import cli

        return cli.main(words, {**cli.COMMANDS, **RENDER}, WINDOWED)
    from app import connect, lesson, run_app, view

    if words and words[0] in WINDOWED:
        return {"view": view, "connect": connect, "lesson": lesson}[words[0]](words[1:])
    return run_app(words)


@contextmanager
def _ctrl_c_ends_at_once() -> Iterator[None]:
    """While libraries are loaded. An exception would get lost in what Python calls back as it gives a lock free."""

    def end(*_: object) -> None:
        with suppress(OSError):
            os.write(2, b"interrupted\n")
        os._exit(INTERRUPTED)

    by_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not by_default or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _have_standard_streams() -> None:
    """Give a program that was started without standard streams empty ones, and have those that there are take any text.

    Else files would be opened in their place, and what is printed would end in them.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w" if number else "r", encoding="utf-8"))  # noqa: SIM115
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")  # a terminal without µ, a file whose name is no text


def _is_for_the_window(word: str) -> bool:
    """Whether a first word is the window's command or option, or a robot's file, there or not, or name."""
    if word in WINDOWED or word.startswith(("--package-dir", "--trust-xacro")) or Path(word).suffix:
        return True
    with _ctrl_c_ends_at_once():
        from engine.cli import COMMANDS
        from engine.files import ROBOTS
    is_command = word in COMMANDS or word in RENDER
    return not is_command and (Path(word).is_file() or (ROBOTS / f"{word}.urdf").is_file())


if __name__ == "__main__":
    sys.exit(main())
