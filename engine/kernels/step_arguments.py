"""What a robot's steps on a GPU are given: which steps, the state, and the arrays that they read and write."""

from __future__ import annotations

from typing import Any, NamedTuple

from engine.compile import inline
from engine.compile.operations import address, atomic_min, parallel_range


class StepRange(NamedTuple):
    """The steps after `first` up to `last` of `total`; `done` steps were taken before."""

    total: Any
    first: Any
    last: Any
    done: Any


class State(NamedTuple):
    """A robot's q, and its v, tau and the gains' targets."""

    q: Any
    v: Any
    tau: Any
    target: Any


class Controls(NamedTuple):
    """The controls tau (rows, total, nv), of one robot or of all; without them the controls of the state are held."""

    tau: Any
    rows: Any


class Record(NamedTuple):
    """The present state and every `every`-th: q (batch, …, nq) and v (batch, …, nv)."""

    q: Any
    v: Any
    every: Any


class Report(NamedTuple):
    """`first_diverged`: the least number of steps after which a robot's velocity was not bounded; `alarm`, which the
    host reads, is then 1. `phases` (COUNT + 2,): the cycles of the first robot's last step, their sum in ns, and when a
    phase began."""

    first_diverged: Any
    alarm: Any
    phases: Any


class StepArguments(NamedTuple):
    """The arguments, or their layouts. Arrays that are not given have no address.

    `wrenches` (bodies, 6, batch) act on the bodies, each in its body's frame. A frozen robot keeps its state before
    that step, and `frozen` (batch,) the number of steps.
    """

    steps: StepRange
    state: State
    controls: Controls
    record: Record
    report: Report
    wrenches: Any
    frozen: Any


def step_arguments(state: State, count: Any, done: Any, reals: Any, integers: Any) -> StepArguments:
    """Return the arguments' layouts, from the layouts of a count, of the steps done, and of arrays of any size."""
    return StepArguments(
        steps=StepRange(total=count, first=count, last=count, done=done),
        state=state,
        controls=Controls(tau=reals, rows=count),
        record=Record(q=reals, v=reals, every=count),
        report=Report(first_diverged=integers, alarm=integers, phases=integers),
        wrenches=reals,
        frozen=integers,
    )


@inline
def set_controls(controls, row, tau):
    """Set a step's controls tau (nv,), if it has any of its own."""
    if address(controls.tau) != 0:
        for k in parallel_range(tau.shape[0]):
            tau[k] = controls.tau[row * tau.shape[0] + k]


@inline
def record_state(q, v, record, sample):
    """Record q (nq,) and v (nv,) as sample number `sample`, counted over all robots, if there is a record."""
    if address(record.q) != 0:
        for k in parallel_range(q.shape[0]):
            record.q[sample * q.shape[0] + k] = q[k]
    if address(record.v) != 0:
        for k in parallel_range(v.shape[0]):
            record.v[sample * v.shape[0] + k] = v[k]


@inline
def report_divergence(report, step):
    """Report that a robot diverged in this step."""
    atomic_min(report.first_diverged, 0, step)
    report.alarm[0] = 1
