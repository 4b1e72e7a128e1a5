"""The automatic choice of algorithm and device, from timings of this or a reference machine, with the reason.

Of the algorithms that support a model and are compiled for the device, the fastest is chosen by `selection.timings`, or
by `selection.shipped` if this machine was not measured. An algorithm earlier in `capabilities.ALGORITHMS` is kept
unless another is at least 5 % faster. Algorithms with a relative residual above `MAX_RESIDUAL` at that length, or
beyond their largest size, are excluded.

For identical bits on every machine, name the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from engine import validation
from engine.cpu.runtime.cores import cores
from engine.cuda.runtime import device as gpu
from engine.model import Model, features
from engine.selection import capabilities, shipped, timings
from engine.selection.timings import Case, Measurements, Work

MAX_RESIDUAL = {"float64": 1e-11, "float32": 1e-3}
MIN_GAIN = 1.05
MIN_GPU_BODIES = 256
"""Number of bodies in a batch below which one kernel launch takes longer than the whole batch on a CPU."""
MEASURE = "`main.py bench --measure-choice` or engine.measure_algorithms()"


class Choice(NamedTuple):
    """The name of an algorithm, and the reason for its choice in one sentence."""

    algorithm: str
    why: str


class DeviceChoice(NamedTuple):
    """The device, "cpu" or "cuda", and a remark on why it is not the other, or ""."""

    device: str
    why: str


class Change(NamedTuple):
    """The algorithm that is chosen from this number of links up to the next change, or None."""

    links: int
    algorithm: str | None


class _Verdict(NamedTuple):
    """The candidates' times in s, in the table's order, the chosen one, and the excluded ones.

    `inaccurate` has the residuals of those excluded for inaccuracy.
    """

    algorithm: str | None
    seconds: dict[str, float]
    inaccurate: dict[str, float]


def place(
    model: Model,
    device: str = "auto",
    algorithm: str = "auto",
    batch: int = 1,
    dtype: str = "float64",
    among: Mapping[str, tuple[str, ...]] | None = None,
    work: Work = "call",
) -> DeviceChoice:
    """Return the device: `device` itself, or for "auto" the faster one for a batch of such robots.

    `among` are the algorithms that the caller supports on each device, by default all.

    A GPU is queried only for a batch large enough to benefit. If "cuda" is requested but unavailable,
    `cuda.device.NoGpu`, a RuntimeError, is raised with the reason.
    """
    device = validation.one_of("device", device, ("auto", *capabilities.DEVICES))
    if device != "auto":
        if device == "cuda":
            gpu.require()
        return DeviceChoice(device, "")
    requested = among or dict.fromkeys(capabilities.DEVICES)
    served = {where: _serving(model, where, algorithm, requested[where]) for where in capabilities.DEVICES}
    small = batch * len(model.parent) < MIN_GPU_BODIES
    if not served["cuda"] or (small and served["cpu"]):
        return DeviceChoice("cpu", "")
    if reason := gpu.why_not():
        return DeviceChoice("cpu", f"; on the CPU, since {reason}")
    if not served["cpu"]:
        return DeviceChoice("cuda", "; on cuda, which alone does this")
    best = {}
    for where in capabilities.DEVICES:
        verdict = _decide(shipped.table_in_use(where), served[where], _case(model, batch, dtype, work))
        if verdict.seconds:
            best[where] = min(verdict.seconds.values())
    where = min(best, key=best.__getitem__, default="cpu")
    times = " and ".join(f"{in_words(seconds)} on {device}" for device, seconds in best.items())
    why = f"by {times}" if len(best) > 1 else "where alone it was measured"
    return DeviceChoice(where, f"; on {where}, {why}")


def _serving(model: Model, device: str, algorithm: str, among: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the requested algorithms that support the model on a device and are compiled for it."""
    if algorithm == "auto":
        return candidates(model, device, among)
    offered = algorithm in (capabilities.ALGORITHMS if among is None else among)
    return (algorithm,) if offered and not capabilities.reason(algorithm, model, device) else ()


def choose(
    model: Model,
    algorithm: str = "auto",
    batch: int = 1,
    dtype: str = "float64",
    device: str = "auto",
    among: tuple[str, ...] | None = None,
    work: Work = "call",
    tables: Callable[[str], Measurements] = shipped.table_in_use,
) -> Choice:
    """Return `algorithm` itself, or for "auto" the fastest for a batch of such robots.

    `among` are the algorithms that the caller supports, by default all. Raises ValueError for an unknown name or one
    that does not support the model, and for "auto" if no algorithm is accurate enough in `dtype`.
    """
    if algorithm != "auto":
        capabilities.require(algorithm, model, device)
        if among is not None and algorithm not in among:
            raise ValueError(
                f"{algorithm} does not step {model.name} on {capabilities.resolve_device(device)}, but gives its "
                f"accelerations (engine.ForwardDynamics); use {' or '.join(among)}"
            )
        return Choice(algorithm, f"{algorithm}: chosen by you")
    names = candidates(model, device, among)
    if not names:
        why = next(
            reason for name in among or capabilities.ALGORITHMS if (reason := capabilities.reason(name, model, device))
        )
        raise ValueError(f"no algorithm on {device!r} serves {model.name}: {why}; use device='cpu'")
    if len(names) == 1:
        return Choice(names[0], _the_only_one(names[0], model, device))
    table, case = tables(capabilities.resolve_device(device)), _case(model, batch, dtype, work)
    verdict = _decide(table, names, case)
    if not verdict.seconds and not verdict.inaccurate:
        return Choice(names[0], _unmeasured(names[0], table.device))
    if verdict.algorithm is None:
        raise ValueError(_too_inaccurate(model, verdict, dtype))
    return Choice(verdict.algorithm, _because(table, verdict, case))


def candidates(model: Model, device: str = "auto", among: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Return the algorithms among which the automatic choice selects: compiled, and supporting the model."""
    where = capabilities.resolve_device(device)
    return tuple(
        name
        for name, row in capabilities.ALGORITHMS.items()
        if row.devices.get(where) == "compiled" and (among is None or name in among)
        if capabilities.reason(name, model, where) is None
    )


def changes(model: Model, batch: int = 1, dtype: str = "float64", device: str = "auto") -> tuple[Change, ...]:
    """Return the automatic choices for robots like this one with 1, 2, … links, within the measured range.

    There is one entry for each number of links at which the choice changes, starting with 1; none without timings or
    with a single candidate.
    """
    table, names = shipped.table_in_use(capabilities.resolve_device(device)), candidates(model, device)
    shape = _case(model, batch, dtype).shape
    longest = table.longest(shape, dtype)
    if len(names) == 1 or longest == 0:
        return ()

    def chosen(links: int) -> str | None:
        return _decide(table, names, Case(shape, links, batch, dtype)).algorithm

    entries, before = [Change(1, chosen(1))], 1
    for links in np.unique(np.geomspace(1, longest, 200).round().astype(int)).tolist():
        if chosen(links) != entries[-1].algorithm:
            low, high = before, links  # low keeps the choice, high does not
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if chosen(middle) == entries[-1].algorithm else (low, middle)
            entries.append(Change(high, chosen(high)))
        before = links
    return tuple(entries)


def describe(entries: tuple[Change, ...]) -> str:
    """Format `changes` in words: "abia below 744 links, dca from 744 on"."""
    parts = [f"{change.algorithm or 'none'} below {after.links} links" for change, after in pairwise(entries)]
    last = f"from {entries[-1].links} on" if len(entries) > 1 else "at every size"
    return ", ".join([*parts, f"{entries[-1].algorithm or 'none'} {last}"])


def _case(model: Model, batch: int, dtype: str, work: Work = "call") -> Case:
    return Case("chain" if features.serial(model) else "tree", max(1, len(model.parent)), batch, dtype, work)


def _decide(table: Measurements, names: tuple[str, ...], case: Case) -> _Verdict:
    seconds: dict[str, float] = {}
    inaccurate: dict[str, float] = {}
    for name in names:
        largest = capabilities.ALGORITHMS[name].largest
        time, residual = table.seconds(name, case), table.residual(name, case)
        if time is None or residual is None or (largest is not None and case.links > largest):
            continue
        if residual > MAX_RESIDUAL[case.dtype]:
            inaccurate[name] = residual
        else:
            seconds[name] = time
    if not seconds:
        return _Verdict(None, seconds, inaccurate)
    enough = MIN_GAIN * min(seconds.values())
    return _Verdict(next(name for name, time in seconds.items() if time <= enough), seconds, inaccurate)


def _the_only_one(name: str, model: Model, device: str) -> str:
    refusals = (capabilities.reason(other, model, device) for other in capabilities.ALGORITHMS)
    because = next((reason for reason in refusals if reason), None)
    return f"{name}: the only algorithm here that serves {model.name}" + (f", since {because}" if because else "")


def _too_inaccurate(model: Model, verdict: _Verdict, dtype: str) -> str:
    residuals = ", ".join(f"{name} {residual:.1g}" for name, residual in verdict.inaccurate.items())
    fix = 'take dtype="float64", or ' if dtype == "float32" else ""
    return (
        f"no algorithm is accurate enough in {dtype} for the {len(model.parent)} bodies of {model.name} (relative "
        f"residuals measured here: {residuals}; allowed: {MAX_RESIDUAL[dtype]:g}); {fix}name one"
    )


def _unmeasured(name: str, device: str) -> str:
    row = capabilities.ALGORITHMS[name]
    return f"{name}: the default, O({row.work}) for n links, where nothing was measured{_fix(device)}"


def _fix(device: str) -> str:
    """Return how to measure this machine if it was not measured, else ""."""
    here = timings.load(device)
    damage = f"; {here.path} is damaged ({here.damage})" if here.damage else ""
    return "" if here.rows else f"{damage}; {MEASURE} measures here in a minute or two"


def _because(table: Measurements, verdict: _Verdict, case: Case) -> str:
    name = verdict.algorithm
    assert name is not None
    others = sorted((time, other) for other, time in verdict.seconds.items() if other != name)
    figures, near = in_words(verdict.seconds[name]) + (" a step" if case.work == "step" else ""), ""
    if others:
        figures += f" beside {in_words(others[0][0])} for {_named(others[0][1])}"
        near = ", too small a gain to prefer the latter" if others[0][0] < verdict.seconds[name] else ""
    for other, residual in verdict.inaccurate.items():
        figures += f" ({_named(other)} would leave a relative residual of {residual:.1g})"
    robots = f" for a batch of {case.batch}" if case.batch > 1 else ""
    return f"{_named(name)}: {figures}{robots}{near}, {table.basis(name, case)}{_fix(table.device)}"


def _named(name: str) -> str:
    return f"{name} on up to {cores()} threads" if capabilities.ALGORITHMS[name].threads else name


def in_words(seconds: float) -> str:
    """Format a time with three digits and its unit."""
    unit, scale = next((u, s) for u, s in (("µs", 1e6), ("ms", 1e3), ("s", 1.0)) if seconds * s < 999.5 or u == "s")
    return f"{seconds * scale:.3g} {unit}"


def why_no_gpu(load: bool = True) -> str | None:
    """Why device "cuda" cannot be used here, in a sentence; None where it can. The first call may take a second.

    With `load` false nothing is loaded to find out, and None may also mean that it is not known.
    """
    return gpu.why_not() if load or not gpu.installed() else None
