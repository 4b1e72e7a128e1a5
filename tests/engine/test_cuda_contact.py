"""Contact by the GPU's kernels compared with the CPU's: on a GPU, and compiled for the host without one."""

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from beside_cpu import (
    BODY,
    NEAR,
    NO_GAP,
    SAME,
    SHAPES,
    TRIPOD,
    alike,
    apart,
    assert_checkpoints_lead_on,
    beside,
    contacts_of,
    cuda,  # noqa: F401 - a fixture
    give,
    robot,
    run,
    tumbled,
)
from cuda_on_host import CHIP, compiled_for_host, cuda_on_host, needs_compiler  # noqa: F401 - fixtures
from mimics import mimics

import engine
from engine.cuda.runtime import device
from engine.device_arrays import to_host
from engine.model import Model

WIDE = pytest.mark.slow_on_host
"""Single steps covered by `tests/differential/test_steps.py`: each integrator, ground, wrench and parameter."""


@pytest.fixture(scope="module")
def body(tmp_path_factory) -> Callable[[str], Model]:
    """A free body of 2 kg that touches by such shapes."""

    @cache
    def load(shape: str) -> Model:
        path = tmp_path_factory.mktemp("bodies") / f"{shape}.urdf"
        path.write_text(BODY.format((SHAPES | {"tripod": TRIPOD})[shape]))
        return engine.load(path, floating=True)

    return load


def standing(name: str, batch: int, dtype: str = "float64", **options):
    """Robots on their feet, held by gains."""
    model, scene = robot(name), engine.Scene()
    kp, kd = engine.holding_gains(model)
    q = engine.put_down(model, scene, model.neutral())
    options = {
        "dt": 2e-3 if name == "quadruped" else 1e-3,
        "integrator": "implicit",
        "q": q,
        "kp": kp,
        "kd": kd,
    } | options
    return beside(model, batch, dtype, **options)


def thrown(body: Model, scene: engine.Scene, rng, **options):
    """Bodies turned at random that fall on a scene."""
    batch = 6
    pair = beside(body, batch, scene=scene, **options)
    q, v = tumbled(body, batch, rng)
    give(pair, q=q, v=v)
    return pair


@WIDE
@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(("name", "push"), [("quadruped", 0.2), ("humanoid", 0.005)])
def test_a_robot_that_stands_and_is_pushed_moves_as_on_the_cpu(name, push, rng):
    pair = standing(name, 3)
    give(pair, v=push * rng.standard_normal(pair[0].v.shape))
    run(*pair, 200, SAME if name == "quadruped" else NEAR)  # where eight redundant overlaps are taken back in part
    for k in range(3):
        np.testing.assert_allclose(
            contacts_of(pair[1], k)["wrench"].sum(0)[3:], contacts_of(pair[0], k)["wrench"].sum(0)[3:], atol=1e-4
        )


@pytest.mark.usefixtures("cuda")
def test_the_impulses_of_a_robot_that_moves_are_those_of_the_cpu(rng):
    cpu, ours = standing("quadruped", 4)
    give((cpu, ours), v=0.3 * rng.standard_normal(cpu.v.shape))
    for _ in range(20):
        cpu.step()
        ours.step()
        for k in range(4):
            mine, theirs = contacts_of(ours, k), contacts_of(cpu, k)
            for field in ("impulse", "wrench", "slip"):
                np.testing.assert_allclose(mine[field], theirs[field], atol=1e-8)
        assert apart(ours.v, cpu.v) <= 3e-9  # what the CPU's own residual of 1e-9 leaves open
        np.testing.assert_allclose(to_host(ours.contact_wrench), cpu.contact_wrench, atol=1e-5)


@pytest.mark.usefixtures("cuda")
def test_robots_that_fall_and_tumble_move_as_on_the_cpu(rng):
    pair = standing("quadruped", 6)
    q, v = tumbled(robot("quadruped"), 6, rng)
    give(pair, q=q, v=v)
    run(*pair, 160)


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    ("integrator", "seed"), [pytest.param("semi-implicit", 27, marks=WIDE), ("rk4", 93), ("implicit", 154)]
)
def test_joints_that_mimic_others_touch_as_on_the_cpu(integrator, seed, tmp_path, rng):
    model = mimics(tmp_path, seed, floating=True, shape=SHAPES["ball"])
    pair = beside(model, 3, algorithm="jsiia", integrator=integrator, dt=5e-4)
    q, v = tumbled(model, 3, rng, 2e-3)
    give(pair, q=q, v=0.3 * v)
    run(*pair, 300)


@pytest.mark.usefixtures("cuda")
def test_a_robot_that_falls_by_jsiia_touches_as_on_the_cpu(rng):
    pair = standing("quadruped", 3, algorithm="jsiia")
    q, v = tumbled(robot("quadruped"), 3, rng)
    give(pair, q=q, v=v)
    run(*pair, 160)


@WIDE
@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit"])
def test_every_integrator_touches_as_on_the_cpu(integrator, rng):
    pair = standing("quadruped", 2, integrator=integrator, dt=2e-4)
    give(pair, v=0.5 * rng.standard_normal(pair[0].v.shape))
    run(*pair, 200)


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    ("shape", "restitution", "friction"),
    [
        ("tripod", 0.5, 0.8),
        pytest.param("tripod", 1.0, 0.3, marks=WIDE),
        pytest.param("box", 0.5, 0.0, marks=WIDE),
        pytest.param("box", 0.0, 0.0, marks=WIDE),
    ],
)
def test_what_springs_back_and_slides_does_so_as_on_the_cpu(body, shape, restitution, friction, rng):
    scene = engine.Scene(ground=engine.slope(0.3), restitution=restitution, friction=friction)
    run(*thrown(body(shape), scene, rng), 300)


@WIDE
@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("shape", ["dumbbell", "box"])
def test_round_and_edged_bodies_touch_a_height_field_as_on_the_cpu(body, shape, rng):
    heights = 0.03 * rng.standard_normal((40, 40))
    pair = thrown(body(shape), engine.Scene(ground=engine.HeightField(heights, 0.1)), rng)
    q = pair[0].q.copy()
    q[:, 2] += 0.1
    give(pair, q=q)
    run(*pair, 400)


@WIDE
@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("shape", ["dumbbell", "ball"])
def test_rims_and_spheres_touch_a_plane_as_on_the_cpu(body, shape, rng):
    run(*thrown(body(shape), engine.Scene(), rng), 300)


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("axis", ["1 0 0", "0 0 1"])
def test_what_slides_along_and_onto_the_ground_does_so_as_on_the_cpu(axis, tmp_path):
    """Nothing moves it along the normal, or across it."""
    path = tmp_path / "slide.urdf"
    link = BODY.format(SHAPES["box"]).split(">", 1)[1].replace("</robot>", "")
    path.write_text(
        f'<robot name="slide"><link name="world"/>{link}<joint name="slide" type="prismatic"><parent link="world"/>'
        f'<child link="body"/><origin xyz="0 0 0.05"/><axis xyz="{axis}"/><limit lower="-9" upper="9" effort="9"'
        ' velocity="9"/></joint></robot>'
    )
    cpu, ours = beside(engine.load(path), 2)
    give((cpu, ours), v=[[0.3], [-0.2]])
    for _ in range(100):
        cpu.step()
        ours.step()
        alike(cpu, ours, 1e-9)
    assert np.abs(cpu.v - [[0.3], [-0.2]]).max() > 0.1 or axis == "1 0 0"
    assert np.all(np.isfinite(cpu.v))


@pytest.mark.usefixtures("cuda")
def test_a_start_in_the_ground_is_taken_back_as_on_the_cpu(body):
    model = body("box")
    q = engine.put_down(model, engine.Scene(), model.neutral())
    q[2] -= 5e-3
    cpu, ours = beside(model, 1, q=q)
    run(cpu, ours, 100)
    assert np.abs(cpu.v).max() < 1e-6
    assert abs(cpu.q[0, 2] - 0.05) < 1e-6


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_what_is_taken_back_moves_joints_to_their_limits_as_on_the_cpu(end):
    cpu, ours = standing("quadruped", 2)
    model = cpu.model
    scalar = model.q_of_v >= 0
    where, q = model.q_of_v[scalar], model.neutral()
    q[where] = getattr(model, end)[scalar]
    q = np.array([engine.put_down(model, engine.Scene(), q)] * 2)
    q[:, 2] -= [2e-3, 2e-2]
    give((cpu, ours), q=q, v=np.zeros(cpu.v.shape))
    run(cpu, ours, 40)
    now = to_host(ours.q)[:, where]
    assert np.all((now <= model.upper[scalar] + 1e-9) & (now >= model.lower[scalar] - 1e-9))


@WIDE
@pytest.mark.usefixtures("cuda")
def test_a_box_sticks_on_a_ramp_in_single_precision(body):
    model, mu = body("box"), 0.8
    tilt = np.arctan(mu * (1 - 1e-2))
    scene = engine.Scene(ground=engine.slope(tilt), friction=mu)
    q = model.neutral()
    q[:3], q[4], q[6] = 0.05 * np.array([np.sin(tilt), 0, np.cos(tilt)]), np.sin(tilt / 2), np.cos(tilt / 2)
    _, ours = beside(model, 1, "float32", q=q, scene=scene)
    ours.step(500)
    start = to_host(ours.q).copy()
    ours.step(2000)
    assert np.abs(to_host(ours.q) - start).max() < 1e-5
    assert ours.contacts.states(0) == ("stick",) * 4


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("how", [pytest.param("standing", marks=WIDE), "falling"])
def test_single_precision_takes_the_steps_of_double_precision(how, rng):
    """Step by step from the CPU's states, so that no motion grows apart from another."""
    cpu, ours = standing("quadruped", 4, "float32")
    if how == "falling":
        q, v = tumbled(robot("quadruped"), 4, rng)
        give((cpu, ours), q=q, v=v)
    else:
        give((cpu, ours), v=0.2 * rng.standard_normal(cpu.v.shape))
    residuals, worst = [], []
    for _ in range(150):
        rounded = {"q": np.float32(cpu.q), "v": np.float32(cpu.v)}
        give((cpu, ours), **rounded)
        cpu.step()
        ours.step()
        residuals += to_host(ours.contacts.residual).tolist()
        worst.append(apart(ours.v, cpu.v))
    assert np.mean(np.array(residuals) <= 2e-5) > 0.98
    assert max(residuals) <= 1e-3
    assert np.mean(np.array(worst) <= 1e-4 + 8 * NO_GAP / cpu.dt) > 0.98  # where a leg's lever is an eighth of a metre


@pytest.mark.usefixtures("cuda")
def test_single_precision_knows_gaps_better_than_what_counts_as_shut(rng):
    cpu, ours = standing("quadruped", 4, "float32")
    give((cpu, ours), v=0.1 * rng.standard_normal(cpu.v.shape))
    off = []
    for _ in range(60):
        give((cpu, ours), q=np.float32(cpu.q), v=np.float32(cpu.v))
        cpu.step()
        ours.step()
        for k in range(4):
            mine, theirs = contacts_of(ours, k), contacts_of(cpu, k)
            np.testing.assert_array_equal(mine["link"], theirs["link"])
            off += np.abs(mine["gap"] - theirs["gap"]).tolist()
    assert len(off) > 500
    assert np.quantile(off, 0.99) < 1e-7
    assert max(off) < NO_GAP / 2


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("dtype", [pytest.param("float64", marks=WIDE), "float32"])
def test_a_robot_moves_alike_in_any_place_of_a_batch_and_twice(dtype, rng):
    push = 0.3 * rng.standard_normal((5, robot("quadruped").nv))
    _, together = standing("quadruped", 5, dtype)
    give((together,), v=push)
    together.step(120)
    ends = [to_host(x).copy() for x in (together.q, together.v, together.contacts.impulse)]
    for number in (0, 4):
        _, alone = standing("quadruped", 1, dtype)
        give((alone,), v=push[number])
        alone.step(70)
        alone.step(50)
        for end, mine in zip(ends, (alone.q, alone.v, alone.contacts.impulse), strict=True):
            np.testing.assert_array_equal(to_host(mine)[0], end[number])
    first = ends[0]
    start = alone.model.neutral()
    together.reset(engine.put_down(alone.model, engine.Scene(), start))
    assert not np.any(to_host(together.contacts.number))
    give((together,), v=push)
    together.step(120)
    np.testing.assert_array_equal(to_host(together.q), first)


@pytest.mark.usefixtures("cuda")
def test_a_checkpoint_leads_on_to_the_same_bits(rng):
    _, ours = standing("quadruped", 2)
    give((ours,), v=0.3 * rng.standard_normal(ours.v.shape))
    ours.step(40)
    assert_checkpoints_lead_on(ours, 40)


@needs_compiler
@pytest.mark.usefixtures("cuda_on_host")
def test_a_checkpoint_of_one_gpu_leads_on_on_another(body, rng, monkeypatch):
    model, batch, kept, ends = body("box"), 70, [], []
    q, v = tumbled(model, batch, rng)
    for processors in (1, 2):  # so many that a block has 64 robots, or 32
        monkeypatch.setattr(device, "properties", lambda count=processors: CHIP | {"multiProcessorCount": count})
        _, ours = beside(model, batch, q=q, v=v)
        assert not any(np.any(x) for x in ours.checkpoint().contact)
        ours.step(60)
        kept.append(ours.checkpoint())
        assert 0 < kept[-1].contact[1].sum() < batch * kept[-1].contact[2].shape[1]
        ours.restore(kept[0])
        ours.step(20)
        ends.append(to_host(ours.v).copy())
    for one, other in zip(kept[0].contact, kept[1].contact, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(*ends)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_thousands_of_robots_come_to_the_bits_of_one(dtype, rng):
    batch = 8192
    push = 0.3 * rng.standard_normal((batch, robot("quadruped").nv))
    _, together = standing("quadruped", batch, dtype)
    give((together,), v=push)
    together.step(300)
    end = to_host(together.q)
    for number in (0, 4097, batch - 1):
        _, alone = standing("quadruped", 1, dtype)
        give((alone,), v=push[number])
        alone.step(300)
        np.testing.assert_array_equal(to_host(alone.q)[0], end[number])


@WIDE
@pytest.mark.usefixtures("cuda")
def test_wrenches_and_parameters_act_on_robots_that_touch(body, rng):
    model, batch = body("tripod"), 3  # of three contacts the law has one answer
    parameters = engine.Parameters(model, batch)
    parameters.mass[:] *= 1 + rng.random(parameters.mass.shape)
    q = engine.put_down(model, engine.Scene(), model.neutral())
    pair = beside(model, batch, q=q, parameters=parameters)
    for simulation in pair:
        simulation.wrench[:] = simulation.array(np.tile([0, 0.1, 0, 20.0, 1.0, -3.0], (batch, 1, 1)))
    run(*pair, 200)
    assert np.ptp(pair[0].q[:, 0]) > 1e-3


@WIDE
@pytest.mark.usefixtures("cuda")
def test_a_robot_that_diverges_holds_up_no_other_that_touches(rng):
    push = 0.2 * rng.standard_normal((3, robot("quadruped").nv))
    ends = []
    for thrown_off in (False, True):
        _, ours = standing("quadruped", 3, on_divergence="freeze")
        give((ours,), v=push)
        if thrown_off:
            ours.v[1, 3] = 1e13
        ours.step(50)
        ends.append(to_host(ours.q).copy())
        np.testing.assert_array_equal(to_host(ours.diverged), [False, thrown_off, False])
    np.testing.assert_array_equal(ends[0][[0, 2]], ends[1][[0, 2]])


@pytest.mark.usefixtures("cuda")
def test_a_rollout_and_a_simulation_without_ground_agree_with_the_cpu(body):
    model = body("ball")
    q = engine.put_down(model, engine.Scene(), model.neutral())
    q[2] += 0.01
    given = {"dt": 1e-3, "steps": 100, "scene": engine.Scene(), "algorithm": "abia"}
    theirs = engine.rollout(model, q, device="cpu", **given)
    ours = engine.rollout(model, q, device="cuda", **given)
    np.testing.assert_allclose(to_host(ours.q), theirs.q, atol=1e-12)
    free = engine.Simulation(model, q=q, scene=engine.Scene(ground=None), device="cuda", timed=False)
    free.step(10)
    assert free.contacts is None
    assert not np.any(to_host(free.contact_wrench))


@pytest.mark.usefixtures("cuda")
def test_the_phases_of_a_step_tell_collision_and_contact(body):
    simulation = engine.Simulation(body("ball"), scene=engine.Scene(), device="cuda")
    simulation.step()
    assert list(simulation.phases)[-3:] == ["collision", "contact", "integration"]


@pytest.mark.usefixtures("cuda")
def test_what_does_not_touch_a_scene_on_a_gpu_is_refused_in_one_sentence():
    text = "dca does not step robots in a scene on device 'cuda'; use abia or jsiia"
    with pytest.raises(ValueError, match=re.escape(text)):
        engine.Simulation(robot("quadruped"), scene=engine.Scene(), device="cuda", algorithm="dca")


@pytest.mark.usefixtures("cuda")
def test_mimic_joints_whose_coordinates_pass_the_same_body_fall_as_on_a_cpu(tmp_path):
    model = mimics(tmp_path, 4, floating=True, shape=SHAPES["ball"])
    ends = []
    for name in ("cuda", "cpu"):
        simulation = engine.Simulation(model, scene=engine.Scene(), device=name, dt=1e-3)
        simulation.step(300)
        assert float(to_host(simulation.contacts.worst)[0]) <= 1e-8
        assert int(to_host(simulation.contacts.number)[0]) > 0
        ends.append(to_host(simulation.q)[0])
    np.testing.assert_allclose(*ends, atol=1e-7)
