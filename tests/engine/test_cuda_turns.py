"""Robots with even limbs that take turns in the seats of a block: neighbours have no influence.

Compiled for the host each robot is alone, and changes its seat; on a GPU eight share a block.
"""

import numpy as np
import pytest
from beside_cpu import cuda, give, robot, tumbled  # noqa: F401 - a fixture
from cuda_on_host import compiled_for_host, cuda_on_host  # noqa: F401 - fixtures

import engine
from engine.cuda.runtime import device
from engine.device_arrays import to_host
from tests.bench import contact_gpu

STEPS, LONG, EVERY = 60, 380, 6


def falling(batch: int, dtype: str) -> engine.Simulation:
    return engine.Simulation(
        robot("quadruped"), batch, 2e-3, "implicit", "abia", scene=engine.Scene(), device="cuda", dtype=dtype,
        timed=False, on_divergence="freeze",
    )  # fmt: skip


def spread_over(processors: int, monkeypatch) -> None:
    """Distribute robots over `processors` blocks."""
    facts = dict(device.properties()) | {"multiProcessorCount": processors}
    monkeypatch.setattr(device, "properties", lambda: facts)


def ends(simulation: engine.Simulation) -> list[np.ndarray]:
    found = simulation.contacts
    reported = simulation.q, simulation.v, found.number, found.impulse, found.worst, simulation.diverged
    return [np.array(to_host(x)) for x in reported]


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("dtype", [pytest.param("float64", marks=pytest.mark.slow_on_host), "float32"])
def test_robots_of_one_block_come_to_the_bits_of_robots_in_blocks_of_their_own(dtype, rng, monkeypatch):
    """All kinds of steps: some fly, some stand, one is all in the ground, and one diverges and freezes on its way."""
    batch = 21
    q, v = tumbled(robot("quadruped"), batch, rng)
    q[3, 2], q[4, 2], v[5, 2] = 1.0, -0.2, 1e13
    found = []
    for processors in (1, batch):
        spread_over(processors, monkeypatch)
        ours = falling(batch, dtype)
        give((ours,), q=q, v=v)
        ours.step(STEPS)
        first = ends(ours)
        ours.step(STEPS)  # where one rests from the beginning
        found.append(first + ends(ours))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert found[0][5].tolist() == [k == 5 for k in range(batch)]
    assert len(set(found[0][2].tolist())) > 3  # numbers of contacts


@pytest.mark.usefixtures("cuda")
def test_every_robot_records_its_own_steps(rng, monkeypatch):
    batch = 11
    q, v = tumbled(robot("quadruped"), batch, rng)
    found = []
    for processors in (1, batch):
        spread_over(processors, monkeypatch)
        motion = engine.rollout(
            robot("quadruped"), q, v, dt=2e-3, steps=STEPS, every=EVERY, integrator="implicit", algorithm="abia",
            scene=engine.Scene(), device="cuda", dtype="float32",
        )  # fmt: skip
        found.append([np.array(to_host(x)) for x in (motion.q, motion.v)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert found[0][0].shape[1] == STEPS // EVERY + 1
    for sample in range(STEPS // EVERY):
        assert not np.any(np.all(found[0][0][:, sample] == found[0][0][:, sample + 1], axis=1))


@pytest.mark.slow_on_host
@pytest.mark.usefixtures("cuda")
def test_steps_one_by_one_are_those_of_one_launch(monkeypatch):
    """They fall, tumble and lie still: a step of each kind comes after one of each other."""
    spread_over(1, monkeypatch)
    work, q = contact_gpu.ContactCase("quadruped", "falling", 6, "float32"), contact_gpu.fallen("quadruped", 96)[60:66]
    found = []
    for parts in ([LONG], [1] * LONG):
        ours = contact_gpu.simulation(work, q)
        for part in parts:
            ours.step(part)
        q_end, v_end, number, impulse = ends(ours)[:4]
        acting = np.arange(impulse.shape[1]) < number[:, None]  # later entries are of earlier steps
        found.append((q_end, v_end, number, np.where(acting[..., None], impulse, 0)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
