"""The exit statuses of commands, found by calling them."""

import contextlib
import io
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from unittest.mock import patch

import main
from engine import cli

BROKEN = '<robot name="r"><link name="a"/><joint name="j" type="revolute"><parent link="a"/></joint></robot>'


def called(*words: object) -> tuple[int, str, str]:
    """The status of a headless command with what it said on both streams."""
    text, reported = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(reported):
        try:
            status = cli.main([str(each) for each in words], {**cli.COMMANDS, **main.RENDER})
        except SystemExit as ended:
            status = int(ended.code or 0)
    return status, text.getvalue(), reported.getvalue()


def agreed(calls: Sequence[tuple[object, ...]]) -> int:
    """The status that all these calls end with."""
    (status,) = {called(*words)[0] for words in calls}
    return status


@cache
def statuses() -> tuple[int, int, int, int]:
    """Return the exit statuses of success, of a negative result, of a wrong call, and after Ctrl-C."""
    with tempfile.TemporaryDirectory() as folder:
        broken = Path(folder) / "broken.urdf"
        broken.write_text(BROKEN)
        diverges = ("run", "double_pendulum", "--v", 1e9, "--dt", 0.1, "--integrator", "semi-implicit", "--no-limits")
        done = agreed(
            [("info", "arm7"), ("check", "robots/arm7.urdf"), ("--help",), ("run", "arm7", "--seconds", 0.01)]
        )
        no = agreed([("check", broken), ("info", broken), diverges])
        wrong = agreed(
            [("info", "no_such_robot"), ("run", "pendulum", "--slope", 5), ("run", "arm7", "--dt", -1), ("fly",)]
        )
        with patch("engine.run_command.load_robot", side_effect=KeyboardInterrupt):
            interrupted = agreed([("run", "arm7")])
    return done, no, wrong, interrupted
