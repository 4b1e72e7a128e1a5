"""Robots that step on the CPU and on the GPU, from equal states and under equal forces."""

import numpy as np

import engine
from engine.model import Model

State = tuple[np.ndarray, np.ndarray]


def pair(
    model: Model, state: State, rng: np.random.Generator, algorithm: str, dtype: str = "float64", host: str = "abia",
    pushed: float = 0.0, **settings: object,
) -> tuple[engine.Simulation, engine.Simulation]:  # fmt: skip
    """Return the robots on the CPU and on the GPU; wrenches of up to `pushed` act on their links."""
    (q, v), batch = state, len(state[0])
    tau, target = rng.uniform(-1, 1, (batch, model.nv)), rng.uniform(-0.2, 0.2, (batch, model.nv))
    there = {"algorithm": algorithm, "device": "cuda", "dtype": dtype}
    found = [
        engine.Simulation(model, batch, q=q, v=v, **settings, **on)
        for on in ({"algorithm": host, "device": "cpu"}, there)
    ]
    for simulation in found:
        simulation.tau[:], simulation.target[:] = simulation.array(tau), simulation.array(target)
    if pushed:
        wrench = rng.uniform(-pushed, pushed, (batch, len(model.link_names), 6))
        for simulation in found:
            simulation.wrench[:] = simulation.array(wrench)
    return found[0], found[1]


def assert_steps_alike(host: engine.Simulation, gpu: engine.Simulation, steps: int, tolerance: float) -> None:
    """Step both; each number of q and v is the CPU's to within `tolerance` of the largest, or of 1."""
    host.step(steps)
    gpu.step(steps)
    gpu.check()
    for mine, theirs in ((gpu.q.get(), host.q), (gpu.v.get(), host.v)):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance * (1 + np.abs(theirs).max()))


def assert_limits_hold(model: Model, state: State, algorithm: str, stretches: tuple[int, ...]) -> None:
    """The robots' first steps, of so many, are the CPU's, and after the others they are within their limits."""
    (q, v), scalar, (first, *others) = state, model.q_of_v >= 0, stretches
    host = engine.Simulation(model, len(q), q=q, v=v, algorithm="abia", device="cpu")
    gpu = engine.Simulation(model, len(q), q=q, v=v, algorithm=algorithm, device="cuda")
    assert_steps_alike(host, gpu, first, 1e-6)
    for steps in others:
        gpu.step(steps)
        here = gpu.q.get()[:, model.q_of_v[scalar]]
        assert np.all((here >= model.lower[scalar] - 1e-9) & (here <= model.upper[scalar] + 1e-9))
        assert np.all(np.abs(gpu.v.get()) <= model.velocity_limit + 1e-9)
