"""Compilation of missing machine code in a process of its own, with an estimate of its time.

A simulation compiles missing code at its first step, in the process that steps it. A window compiles elsewhere, since
compiling is mostly Python that holds the interpreter lock:


>>> compilation = engine.Compilation(engine.Simulation(model))
>>> if compilation.needed:
...     print(f"compiling once for this machine, about {compilation.seconds:.0f} s")
...     compilation.start()
...     compilation.wait()
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np

from engine import files
from engine.child_process import end_process
from engine.compile import cache
from engine.cpu.stepping.code import Code
from engine.per_process import OnePerProcess
from engine.scene import HeightField, Obstacle, Plane, Scene
from engine.selection import choice
from engine.selection.steppers import ALGORITHMS, advancing
from engine.simulation import Simulation
from engine.step_settings import INTEGRATORS
from engine.uncopyable import NotCopied

_REFERENCE = 0.0011
"""Seconds of `_pace` on the machine where `Code.seconds` was measured."""
_CHILD = """
import json, os, sys, threading, types
def end_with_parent():
    os.read(0, 1)
    os._exit(1)
path, nice = json.loads(sys.argv[1])
sys.path[:] = path
if nice and hasattr(os, "nice"):
    os.nice(nice)
sys.modules["engine"] = package = types.ModuleType("engine")
package.__path__ = [os.path.join(path[0], "engine")]
from engine.cpu.stepping.code import Code
line = sys.stdin.readline()
if not line:
    os._exit(1)
threading.Thread(target=end_with_parent, daemon=True).start()
code = Code(*json.loads(line))
code.compile()
if code.wrenches:
    from engine.compile.parts import make_rare
    from engine.dynamics import point_mobility
    from engine.model.generate import chain
    point_mobility(chain(1), [0.0], 1, (0.0, 0.0, 0.0))
    make_rare()
if nice:
    from engine.compile import finish_compiling
    finish_compiling()
os._exit(0)
"""
"""The program of the other process; the parent's end closes its standard input.

The package's own module is left out, since it imports all of the engine and takes half as long as compiling.

A simulation that waits starts with quickly compiled code, and has it optimised; code compiled ahead is optimised.
"""


class Compilation(NotCopied):
    """The machine code that a simulation's steps need, compiled in a process of its own.

    Later steps read the code from disk. An object has one process at a time; only `wait` blocks. With `wrenches` it
    includes the code of steps with wrenches, of `engine.point_mobility`, for pulling at a robot, and of rare branches.
    """

    instead = "it is a process: make another of the same simulation, Compilation(simulation)"

    def __init__(self, simulation: Simulation, wrenches: bool = False):
        wrenches = wrenches or simulation.takes_wrenches
        self._code = None if simulation.device == "cuda" else Code.of(simulation.settings)._replace(wrenches=wrenches)
        self._simulation = simulation
        self._process: subprocess.Popen[bytes] | None = None
        self._began, self._nice = 0.0, 0

    @property
    def name(self) -> str:
        """A short description of the code."""
        return "" if self._code is None else f"{self._code.integrator} steps by {self._code.algorithm}"

    def makes_the_same_as(self, other: Compilation) -> bool:
        """Return whether both need the same code."""
        return self._code == other._code

    @property
    def needed(self) -> bool:
        """Whether the first step would have to compile; false on a GPU, which compiles when a simulation is made."""
        return self._code is not None and not self._code.kept()

    @property
    def seconds(self) -> float:
        """The estimated seconds to compile: as long as the last time, or reference times scaled to this machine."""
        if self._code is None:
            return 0.0
        return remembered().get(repr(tuple(self._code))) or self._code.seconds * _pace() / _REFERENCE

    def start(self, nice: int = 0) -> None:
        """Start to compile, if needed and not running; `nice` lowers the process's priority."""
        if self._process is not None or self._code is None or not self.needed or not sys.executable:
            return
        self._began, self._nice = perf_counter(), nice
        with suppress(OSError):  # no process can be started: the first step compiles
            process = None if nice else _waiting_process().take()
            self._process = process or _process(nice)
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(list(self._code)).encode() + b"\n")
            self._process.stdin.flush()

    @staticmethod
    def stand_by(always: bool = False) -> None:
        """Have a process import the compiler's modules for the next `start`; if not `always`, without code on disk."""
        if sys.executable and (always or cache.is_empty()):
            with suppress(OSError):
                _waiting_process().begin()

    def here(self) -> None:
        """Compile in this process, waiting for it."""
        began = perf_counter()
        if self._code is not None and self.needed:
            self._code.compile()
            remember(repr(tuple(self._code)), perf_counter() - began)

    @property
    def running(self) -> bool:
        """Whether the process is running."""
        return self._process is not None and not self.wait(0)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is done, at most `timeout` seconds. Returns whether nothing is running (any more)."""
        if self._process is None:
            return True
        try:
            failed = self._process.wait(timeout) != 0
        except subprocess.TimeoutExpired:
            return False
        self.cancel()
        if not failed and self._code is not None and not self._nice:  # times at low priority predict little
            remember(repr(tuple(self._code)), perf_counter() - self._began)
        return True

    def cancel(self) -> None:
        """End the process, if there is one; code that it has not written is lost."""
        if self._process is not None:
            end_process(self._process, self._process.stdin)
            self._process = None

    def others(self) -> list[Compilation]:
        """Return code that is not on disk for the same robots on other grounds, with other integrators and algorithms.

        First come steps with wrenches, then uneven ground and obstacles for robots in a scene, then the candidates of
        the automatic choice.
        """
        simulation = self._simulation
        compilations: list[Compilation] = []
        if self._code is None:
            return compilations
        model, able = simulation.model, advancing(simulation.model)["cpu"]
        fastest = choice.choose(model, "auto", simulation.batch, "float64", "cpu", able, "step").algorithm
        if not self._code.wrenches and (pushed := Compilation(simulation, wrenches=True)).needed:
            compilations.append(pushed)
        names, scene = dict.fromkeys((fastest, simulation.algorithm, *ALGORITHMS["cpu"])), simulation.settings.scene
        wanted = [(scene, *each) for each in product(names, INTEGRATORS)]
        there = () if scene is None or scene.ground is None else _other_scenes(scene)
        for where, algorithm, integrator in (
            *((each, simulation.algorithm, simulation.settings.integrator) for each in there), *wanted,
        ):  # fmt: skip
            with suppress(ValueError):  # an algorithm that does not support the model, or is not available
                other = Compilation(
                    Simulation(
                        model, simulation.batch, simulation.dt, integrator, algorithm, device="cpu", scene=where,
                        parameters=simulation.parameters, on_divergence=simulation.on_divergence,
                    )
                )  # fmt: skip
                if other.needed and other._code not in [one._code for one in (self, *compilations)]:
                    compilations.append(other)
        return compilations


def _process(nice: int) -> subprocess.Popen[bytes]:
    """A process that compiles the code named in its input line."""
    path = [str(Path(__file__).parents[1]), *filter(None, sys.path)]  # without the current folder
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _CHILD, json.dumps([path, nice])],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=files.environment(),
    )  # fmt: skip


class _WaitingProcess:
    """A waiting process for later compilation, if there is one; it ends with this one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start the process."""
        if self._process is None:
            self._process = _process(0)
            atexit.register(self._end, os.getpid())

    def take(self) -> subprocess.Popen[bytes] | None:
        """Return the process if it is running."""
        process, self._process = self._process, None
        return process if process is not None and process.poll() is None else None

    def _end(self, owner: int) -> None:
        if os.getpid() == owner and (process := self.take()) is not None:
            end_process(process, process.stdin)


_waiting_process = OnePerProcess(_WaitingProcess)


def _other_scenes(scene: Scene) -> tuple[Scene, ...]:
    """Return scenes that may need other code than this one: on uneven ground, and with an obstacle."""
    obstacle = Obstacle("box", (0.1, 0.1, 0.1))
    return (
        replace(scene, ground=HeightField(np.zeros((2, 2)), 1.0)),
        replace(scene, ground=Plane(), obstacles=(obstacle, *scene.obstacles)),
    )


def _pace() -> float:
    """Return the seconds of a fixed piece of Python on this machine, the best of some.

    It is short: to make and to collect many objects stops other threads, such as a window's.
    """
    times = []
    for _ in range(10):
        began = perf_counter()
        {str(k): [k] * 3 for k in range(6_000)}
        times.append(perf_counter() - began)
    return min(times)


def times_file() -> Path:
    """Return the file that keeps them."""
    return files.cache_folder() / "compile-seconds.json"


def remembered() -> dict[str, float]:
    """Return the last compile time of each kind of code on this machine."""
    try:
        content = json.loads(files.cached_content(times_file()))
        return {name: float(seconds) for name, seconds in content.items() if 0 < float(seconds) < 3600}
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}


def remember(name: str, seconds: float) -> None:
    """Keep the compile time of a kind of code, if a file can be written."""
    times = {**remembered(), name: round(seconds, 2)}
    with suppress(OSError), files.keeping(times_file(), "w") as file:
        json.dump(times, file)
