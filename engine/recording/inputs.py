"""The inputs of a simulation in the form that recordings store."""

from __future__ import annotations

import numpy as np

from engine.device_arrays import to_host
from engine.recording.packing import Array, Packed, alike, pack, same_bits, unpack
from engine.recording.setup import Setup
from engine.simulation import Simulation

Inputs = tuple[Array, Array, Packed | None]
"""tau, target (1 or batch, nv) and wrench."""
Change = tuple[int, Inputs]
"""The number of steps after which these inputs took effect."""


def acting(simulation: Simulation) -> Inputs:
    """Return a simulation's current inputs."""
    tau, target = (alike(np.asarray(to_host(x))) for x in (simulation.tau, simulation.target))
    if not simulation.takes_wrenches:
        return tau, target, None
    return tau, target, pack(to_host(simulation.wrench))


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
    tau, target, wrench = inputs
    simulation.tau[:], simulation.target[:] = simulation.array(tau), simulation.array(target)
    if wrench is not None:
        simulation.wrench[:] = simulation.array(unpack(wrench, simulation.wrench.shape))
