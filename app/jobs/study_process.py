"""A study that runs in a process of its own, as `main.py study` does; its results come part by part into its folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

CODE = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "  # else a parent's may be kept
    "from engine.cli import main; sys.exit(main(['study', sys.argv[1]]))"
)
PATIENCE = 10.0  # s that a cancelled study has for the end of its own processes
READ = 4000  # characters of its messages


class StudyProcess:
    """Runs one study at a time."""

    def __init__(self) -> None:
        self.path = ""
        """The file of the study that runs; empty if none does."""
        self.cancelled = False
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: IO[bytes] | None = None

    def start(self, path: str) -> None:
        """Begin or continue a study by its file; does nothing while one runs. Raises OSError."""
        if self._process is not None:
            return
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(Path(each).absolute()) for each in sys.path)}
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - `poll` closes it
        self._process = subprocess.Popen(
            [sys.executable, "-c", CODE, str(Path(path).absolute())], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self._messages, start_new_session=sys.platform != "win32",
        )  # fmt: skip
        self.path, self.cancelled = path, False

    def cancel(self) -> None:
        """Interrupt the study; the samples that are finished are kept, and `start` continues it."""
        if self._process is not None and not self.cancelled:
            self.cancelled = True
            if sys.platform == "win32":
                self._process.terminate()
            else:
                self._process.send_signal(signal.SIGINT)

    def poll(self) -> str | None:
        """Return how the study that ran has ended, in a sentence; None if none has since the last call."""
        if self._process is None or (code := self._process.poll()) is None:
            return None
        name, self.path, self._process = Path(self.path).name, "", None
        assert self._messages is not None
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace")[-READ:].split("\n")
        self._messages.close()
        if self.cancelled:
            return f"{name} was cancelled; the finished samples are kept, and it can be continued"
        last = next((line.strip() for line in reversed(lines) if line.strip()), f"exit code {code}")
        return f"{name} is done" if code == 0 else f"{name} ended early: {last}"

    def close(self) -> None:
        """Interrupt the study and wait for its end, at most `PATIENCE` s."""
        self.cancel()
        if self._process is not None:
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
