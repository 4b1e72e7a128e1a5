"""What the process does that makes fast code: it takes intermediate code, and returns object files.

It is run as a file, by itself, and imports nothing of the engine, so that it starts at once. What comes in is a
pickled name, text and style after the other; what goes out a name, an object file and what was wrong.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

NICE = 10
"""How far the process stands back behind what simulates."""
THREADS = 3


def _optimizing() -> Any:
    """The module of that name, without the engine that it is part of."""
    spec = importlib.util.spec_from_file_location("optimizing", Path(__file__).with_name("optimizing.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Make what is asked for until nobody asks any more."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    optimizing, out, writing = _optimizing(), sys.stdout.buffer, threading.Lock()

    def make(name: str, text: str, style: str) -> None:
        content, fault = b"", ""
        try:
            content = optimizing.compiled(text, optimizing.Style[style])
        except Exception as error:
            fault = repr(error)
        with writing:
            pickle.dump((name, content, fault), out)
            out.flush()

    pool = ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1))
    with suppress(EOFError):
        while True:
            pool.submit(make, *pickle.load(sys.stdin.buffer))
    os._exit(0)


if __name__ == "__main__":
    main()
