"""The program of the background process: it takes LLVM IR, and returns optimised object files.

It runs as a script and imports nothing of the engine, so that it starts at once. Input: pickled triples of a name, text
and style. Output: triples of a name, an object file and an error message.
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
"""The process's niceness relative to the simulation."""
THREADS = 3


def _optimizing() -> Any:
    """Load the module `optimizing` without its package."""
    spec = importlib.util.spec_from_file_location("optimizing", Path(__file__).with_name("optimizing.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Compile requests until the input ends."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    optimizing, out, writing = _optimizing(), sys.stdout.buffer, threading.Lock()

    def make(name: str, text: str, style: str) -> None:
        content, problem = b"", ""
        try:
            content = optimizing.compiled(text, optimizing.Style[style])
        except Exception as error:
            problem = repr(error)
        with writing:
            pickle.dump((name, content, problem), out)
            out.flush()

    pool = ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1))
    with suppress(EOFError, pickle.UnpicklingError):  # the latter where the program ended within a request
        while True:
            pool.submit(make, *pickle.load(sys.stdin.buffer))
    os._exit(0)


if __name__ == "__main__":
    main()
