"""Many arms for a second: steps per second of a simulation on the GPU, and the drift of energy."""

from __future__ import annotations

import dataclasses
from time import perf_counter
from typing import Any

import numpy as np

from engine import files
from engine.bench.peers import mujoco
from engine.bench.peers.peer import Missing
from engine.bench.states import State
from engine.cuda.runtime import clock
from engine.device_arrays import to_host
from engine.dynamics import energy
from engine.model import Model
from engine.simulation import Simulation
from engine.urdf.load import load
from engine.validation import Array

ROBOTS, STEPS, DT = 100_000, 1000, 1e-3
CHECKED = 256
"""Number of robots that the CPU simulates as well, in double precision."""
SAME_WAY = 1e-2
"""rad: tolerance between the robots of two engines after `TOGETHER` steps of the same motion."""
TOGETHER = 100


def arm() -> Model:
    """Return the seven-joint arm that ships, without damping and friction, which would hide a drift of energy."""
    model = load(files.find_robot("arm7"))
    still = np.zeros(model.nv)
    return dataclasses.replace(model, damping=still, friction=still)


def run(_seconds: float, robots: int = ROBOTS, steps: int = STEPS) -> dict[str, Any]:
    """Let the arms fall freely from random positions, in single precision, without limits."""
    model = arm()
    q = model.random(np.random.default_rng(), robots)
    checked = q[:CHECKED]
    start = perf_counter()
    simulation = Simulation(
        model, robots, DT, algorithm="abia", limits=False, q=q, device="cuda", dtype="float32", timed=False
    )
    simulation.step(TOGETHER)
    clock.synchronize()
    first = perf_counter() - start
    halfway = to_host(simulation.q)[:CHECKED].astype(float)
    simulation.reset(q)
    call = perf_counter()
    on_device = clock.device_seconds(lambda: simulation.step(steps))
    call = perf_counter() - call
    simulation.check()
    end = (to_host(x)[:CHECKED].astype(float) for x in (simulation.q, simulation.v))
    reference = Simulation(model, len(checked), DT, algorithm="abia", limits=False, q=checked, device="cpu")
    reference.step(TOGETHER)
    deviation = float(np.max(np.abs(reference.q - halfway)))
    meanwhile = reference.q.copy()
    reference.step(steps - TOGETHER)
    drift, expected = (_drift(model, checked, *state) for state in (tuple(end), (reference.q, reference.v)))
    return {
        "robots": robots,
        "steps": steps,
        "dtype": "float32",
        "device_s": on_device,
        "call_s": call,
        "first_s": first,
        "steps_per_second": robots * steps / on_device,
        "apart_from_cpu_rad": deviation,
        "energy_drift_J": float(np.median(np.abs(drift))),
        "energy_drift_cpu_J": float(np.median(np.abs(expected))),
        "energy_drift_difference_J": float(np.median(np.abs(drift - expected))),
        "peers": {"mujoco-warp": _time_warp(model, q, steps, meanwhile, on_device)},
    }


def _drift(model: Model, start: Array, q: Array, v: Array) -> Array:
    """(batch,): the energy gained since rest at `start`, J."""
    kinetic, potential = energy(model, q, v)
    gained: Array = kinetic + potential - energy(model, start, np.zeros_like(v))[1]
    return gained


def _time_warp(model: Model, q: Array, steps: int, meanwhile: Array, ours: float) -> dict[str, Any]:
    """Time MuJoCo Warp's steps for the same arms, as captured graphs of ten."""
    still = np.zeros((len(q), model.nv))
    start = perf_counter()
    try:
        peer = mujoco.OnWarp(model, State(q, still, still), DT)
    except Missing as reason:
        return {"missing": str(reason)}
    for _ in range(TOGETHER):
        peer.step()
    deviation = float(np.max(np.abs(peer.output("qpos", len(meanwhile)) - meanwhile)))
    first = perf_counter() - start
    inner = 10
    seconds = mujoco.warp_seconds(peer.captured(peer.step, inner), steps // inner)
    row = {"device_s": seconds * steps / inner, "first_s": first, "apart_from_cpu_rad": deviation}
    if not deviation < SAME_WAY:
        return {**row, "missing": "it moves the arms otherwise"}
    return {**row, "steps_per_second": len(q) * inner / seconds, "ratio": seconds * steps / inner / ours}
