"""Robots that branch, one each: DCA-ABA by a group of blocks, the ABA by one thread of the GPU and by one core."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from engine.bench import gpu_timing
from engine.bench.gpu_timing import OnDevice
from engine.bench.results import NONE, Rows, measured_rows
from engine.bench.states import state
from engine.bench.timer import alternate, repeater
from engine.cuda.runtime import device
from engine.dynamics import ForwardDynamics
from engine.model import Model, generate
from tests.shaped_trees import SHAPES, shaped


class Case(NamedTuple):
    """A robot's shape, one of `SHAPES`, "random", "snake" or a robot's file; its bodies; how many of it."""

    shape: str
    bodies: int
    dtype: str = "float64"
    batch: int = 1

    @property
    def key(self) -> str:
        """The row's name, the same in every run."""
        return f"{self.shape}-{self.bodies}x{self.batch}-{self.dtype}"

    def model(self) -> Model:
        """The robot."""
        if self.shape == "random":
            return generate.tree(self.bodies)
        if self.shape == "snake":
            return generate.tree(self.bodies, branching=0, floating=True)
        return shaped(self.shape, self.bodies)


CASES = (
    *(Case("binary", n) for n in (63, 255, 1023, 4095, 4096)),
    *(Case("random", n) for n in (16, 64, 256, 1024, 4096, 10000)),
    *(Case("snake", n) for n in (50, 200, 1000, 4096)),
    *(Case(shape, 4096) for shape in SHAPES[1:]),
    *(Case(shape, n, "float32") for shape, n in (("binary", 4096), ("random", 4096))),
    *(Case(shape, n, "float64", 8) for shape, n in (("binary", 4096), ("random", 256))),
)
MUST = {"binary-4096x1-float64": 150.0}
"""µs a call."""
MAX_WALKED = 4096
"""Bodies beyond which a thread is not asked: it takes milliseconds, and its kernel long to compile."""


def run(seconds: float, finished: Rows = NONE) -> Iterator[dict[str, Any]]:
    """A row for each case not finished: µs a call of "dca" and "abia" on the GPU, and of the ABA on one core.

    Raises `device.NoGpu` where there is none. A row that fails holds `failure` in words.
    """
    device.require()
    yield from measured_rows(((case.key, partial(_measure, case, seconds)) for case in CASES), finished)


def _measure(case: Case, seconds: float) -> dict[str, Any]:
    model = case.model()
    at = state(model, np.random.default_rng(case.bodies), case.batch)
    robots = OnDevice.of(model, at, case.dtype)
    names = ("dca", "abia") if case.bodies <= MAX_WALKED else ("dca",)
    row: dict[str, Any] = {name: gpu_timing.time_algorithm(robots, name, seconds).row() for name in names}
    fd = ForwardDynamics(model, case.batch, "abia", "cpu", threads=1)
    call = partial(fd, *at, out=np.empty_like(at.v)) if case.batch > 1 else partial(fd, *(x[0] for x in at))
    cpu = float(np.median(alternate([(repeater(call), 1)], seconds / 4)))
    return {**case._asdict(), **row, "cpu_us": cpu * 1e6, **({"must": MUST[case.key]} if case.key in MUST else {})}


def line(row: dict[str, Any]) -> str:
    """A row in words, as it is said once it is there."""
    if "failure" in row:
        return f"{row['key']}: failed: {row['failure']}"
    walked = f"abia {row['abia']['device_us']:,.4g}, " if "abia" in row else ""
    must = f"; must {row['must']:g}" if "must" in row else ""
    dca = row["dca"]
    times = f"dca {dca['device_us']:,.4g} µs ({dca['call_us']:,.4g} a call), {walked}one core {row['cpu_us']:,.4g}"
    return f"{row['key']}: {times}; residual {dca['residual']:.1e}; first answer after {dca['first_s']:.1f} s{must}"
