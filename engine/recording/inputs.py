"""The inputs of a simulation in the form that recordings store."""

from __future__ import annotations

import numpy as np

from engine.device_arrays import to_host
from engine.logged import Logged, logged_of, numbers_of, same_logged
from engine.recording.packing import Array, Packed, alike, pack, same_bits, unpack
from engine.recording.setup import Setup
from engine.simulation import Simulation

Inputs = tuple[Array, Array, Packed | None, Logged | None]
"""tau, target (1 or batch, nv), wrench, and what is logged with them; None where there is none."""
Change = tuple[int, Inputs]
"""The number of steps after which these inputs took effect."""


def acting(simulation: Simulation) -> Inputs:
    """Return a simulation's current inputs."""
    tau, target = (alike(np.asarray(to_host(x))) for x in (simulation.tau, simulation.target))
    wrench = pack(to_host(simulation.wrench)) if simulation.takes_wrenches else None
    return tau, target, wrench, logged_of(simulation.logged)


def shared_with(before: Inputs, inputs: Inputs) -> Inputs:
    """Return inputs with the parts of those `before` that are equal, so that they are stored once."""
    tau, target, wrench, logged = inputs
    return (
        before[0] if same_bits(tau, before[0]) else tau,
        before[1] if same_bits(target, before[1]) else target,
        before[2] if same(wrench, before[2]) else wrench,
        before[3] if same_logged(logged, before[3]) else logged,
    )


def same(a: Packed | None, b: Packed | None) -> bool:
    if a is None or b is None:
        return a is b
    return same_bits(a[0], b[0]) and same_bits(a[1], b[1])


def dense(inputs: Inputs, setup: Setup) -> tuple[Array, Array, Array | None]:
    """Return tau and target (batch, nv), and wrench (batch, links, 6)."""
    batch, model = setup.settings.batch, setup.model
    tau, target = (np.array(np.broadcast_to(x, (batch, model.nv))) for x in inputs[:2])
    wrench = None if inputs[2] is None else unpack(inputs[2], (batch, len(model.link_names), 6))
    return tau, target, wrench


def act(simulation: Simulation, inputs: Inputs) -> None:
    """Apply these inputs to the simulation from now on."""
    tau, target, wrench, logged = inputs
    simulation.logged = numbers_of(logged)
    simulation.tau[:], simulation.target[:] = simulation.array(tau), simulation.array(target)
    if wrench is not None:
        simulation.wrench[:] = simulation.array(unpack(wrench, simulation.wrench.shape))
