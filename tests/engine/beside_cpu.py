"""Robots in contact on device "cuda" compared with the CPU: helpers of the tests of both."""

from functools import cache

import numpy as np
import pytest
from cuda_on_host import needs_compiler

import engine
from engine.device_arrays import to_host
from engine.model import Model

BODY = """<robot name="body"><link name="body">
<inertial><mass value="2"/><inertia ixx="0.0134" iyy="0.0134" izz="0.0134" ixy="0" ixz="0" iyz="0"/></inertial>
{}</link></robot>"""
SHAPES = {
    "box": '<collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision>',
    "ball": '<collision><geometry><sphere radius="0.1"/></geometry></collision>',
    "dumbbell": """<collision><geometry><capsule radius="0.1" length="0.3"/></geometry></collision>
<collision><origin xyz="0 0.1 0" rpy="1 0 0"/><geometry><cylinder radius="0.05" length="0.2"/></geometry>
</collision>""",
}
TRIPOD = "".join(
    f'<collision><origin xyz="{place} -0.05"/><geometry><sphere radius="0.02"/></geometry></collision>'
    for place in ("0.15 0.02", "-0.12 0.1", "-0.1 -0.11")
)
"""Three feet: a box that lies and slides has more corners than its law needs. Several velocities obey it, and rounding
decides which is found."""


SAME, NEAR = 1e-7, 1e-5
"""Tolerances after one step and after ten: both solve impulses to a residual of 1e-9, and velocities may differ a
hundred times as much. With much slip the law has several solutions, and each may find another.
"""
NO_GAP = 5e-7
"""m: in single precision a contact that is no more open than this is shut, which costs a velocity of as much a step."""


@pytest.fixture(
    params=[
        pytest.param("host", marks=needs_compiler, id="compiled for the host"),
        pytest.param("gpu", marks=pytest.mark.gpu, id="on a GPU"),
    ]
)
def cuda(request) -> None:
    """Device "cuda" is there: a GPU, or kernels that are compiled for the host."""
    if request.param == "host":
        request.getfixturevalue("cuda_on_host")


@cache
def robot(name: str) -> Model:
    return engine.load(engine.find_robot(name))


def beside(model: Model, batch: int, dtype: str = "float64", **options) -> tuple[engine.Simulation, engine.Simulation]:
    """Return the robots on the CPU and on "cuda"."""
    options = {"algorithm": "abia", "scene": engine.Scene(), "timed": False} | options
    ours = engine.Simulation(model, batch, device="cuda", dtype=dtype, **options)
    return engine.Simulation(model, batch, device="cpu", **options), ours


def give(simulations, **states) -> None:
    for simulation in simulations:
        for name, values in states.items():
            getattr(simulation, name)[:] = simulation.array(values)


def tumbled(model: Model, batch: int, rng, height: float = 0.02) -> tuple[np.ndarray, np.ndarray]:
    """States turned at random, a little above the ground."""
    q = np.array([model.random(rng) for _ in range(batch)])
    scene = engine.Scene()
    q = np.array([engine.put_down(model, scene, row) for row in q])
    q[:, 2] += height
    return q, rng.standard_normal((batch, model.nv))


def apart(ours, theirs) -> float:
    """Return the distance of two arrays, relative to 1 and to the largest number."""
    ours, theirs = np.asarray(to_host(ours), float), np.asarray(theirs)
    return float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))


def contacts_of(simulation: engine.Simulation, robot: int) -> dict[str, np.ndarray]:
    """A robot's contacts of the last step."""
    found = simulation.contacts
    number = int(found.number[robot])
    fields = {name: to_host(getattr(found, name))[robot] for name in found._fields}
    point = fields["point"][:number].round(6)
    order = np.lexsort((*point.T, fields["other"][:number], fields["link"][:number]))  # of equal places any comes first
    return {name: x if np.ndim(x) == 0 else x[:number][order] for name, x in fields.items()}


def alike(cpu: engine.Simulation, ours: engine.Simulation, within: float) -> None:
    """Compare the states, and the contacts by place."""
    off = apart(ours.q, cpu.q), apart(ours.v, cpu.v)
    assert max(off) <= within, f"q and v are off by {off}, not by {within} at most"
    number = to_host(ours.contacts.number)
    np.testing.assert_array_equal(number, cpu.contacts.number)
    for k in range(cpu.batch):
        mine, theirs = contacts_of(ours, k), contacts_of(cpu, k)
        for name in ("link", "other"):
            np.testing.assert_array_equal(mine[name], theirs[name])
        for name in ("point", "normal", "gap"):
            np.testing.assert_allclose(mine[name], theirs[name], atol=within)


def run(cpu: engine.Simulation, ours: engine.Simulation, steps: int, same: float = SAME) -> None:
    """Single steps from the same state are the same steps, and whole runs of them stay together."""
    contacts = 0
    for part in [1] * 10 + [10] * ((steps - 10) // 10):
        if part > 1:
            give((ours,), q=cpu.q, v=cpu.v)
            cpu.step()
            ours.step()
            alike(cpu, ours, same)
        cpu.step(part)
        ours.step(part)
        alike(cpu, ours, same if part == 1 else NEAR)
        contacts += int(cpu.contacts.number.sum())
        assert float(ours.contacts.worst.max()) <= max(1e-9, 1.01 * float(cpu.contacts.worst.max()))
    ours.check()
    assert contacts > 10 * cpu.batch


def assert_checkpoints_lead_on(ours: engine.Simulation, *parts: int) -> None:
    """From a checkpoint taken here 40 steps more end with the same bits, also in `parts`, whatever came between."""
    kept = ours.checkpoint()
    ours.step(40)
    end = to_host(ours.q).copy()
    ours.reset()
    ours.step(3)
    ours.restore(kept)
    for part in parts:
        ours.step(part)
    np.testing.assert_array_equal(to_host(ours.q), end)
