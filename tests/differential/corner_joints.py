"""Corners of joints and of steps: limits, friction, efforts, circles of the active set, divergence, threads' trees."""

from collections.abc import Callable

import numpy as np

from tests.differential.cases import Case
from tests.differential.corner_parts import Rng, case_of, joint, link, one_of, robot, unit


def _arm(rng: Rng, kinds: list[str], masses: np.ndarray, **more: object) -> dict:
    """A chain of joints on a fixed base."""
    links, joints = [link("base", [], None)], []
    for k, (kind, mass) in enumerate(zip(kinds, masses, strict=True)):
        links.append(link(f"link{k}", [], float(mass)))
        axis = one_of(rng, ((0, 0, 1), (0, 1, 0), (1, 0, 0), tuple(unit(rng))))
        joints.append(joint(kind, links[k]["name"], links[-1]["name"], (0, 0, 0.2), axis, **more))
    return robot(links, joints)


def at_limits(rng: Rng) -> Case:
    """Joints exactly at limits, at rest or at maximum speed, with or without friction, pushed just hard enough.

    RK4 is excluded: its coordinates jump if a joint is held by exactly zero, which rounding decides.
    """
    n = int(rng.integers(1, 7))
    kinds = [one_of(rng, ("revolute", "prismatic")) for _ in range(n)]
    friction, velocity = one_of(rng, (0.0, 0.5)), one_of(rng, (1e10, 2.0))
    made = _arm(
        rng, kinds, rng.uniform(0.5, 2, n), lower=-1.0, upper=1.0, friction=friction, velocity=velocity, effort=3.0
    )
    q = rng.choice([-1.0, 1.0, 0.0, 1.0 + 1e-9, -1.0 - 1e-6, 1.0 - 1e-13], (4, n))
    v = rng.choice([0.0, 0.0, 2.0, -2.0, 1e-13, 0.5], (4, n))
    tau = rng.choice([0.0, 3.0, -3.0, friction, -friction, 100.0], (4, n))
    made["gravity"] = one_of(rng, (None, [0.0, 0.0, 0.0]))
    integrator = one_of(rng, ("semi-implicit", "implicit"))
    return case_of(made, None, q, v, tau=tau, integrator=integrator, **_step(rng))


def _step(rng: Rng) -> dict:
    return {"algorithm": one_of(rng, ("abia", "jsiia", "cfa")), "dt": one_of(rng, (1e-3, 5e-3))}


def clipped(rng: Rng) -> Case:
    """Efforts exactly at their limits by gains and controls, with what is implicit."""
    made = _arm(rng, ["revolute"] * 3, np.ones(3), effort=2.0, damping=0.1)
    q, v = np.zeros((4, 3)), rng.choice([0.0, 1.0], (4, 3))
    target = rng.choice([0.0, 0.2, 0.2 + 1e-3, -0.2], (4, 3))
    return case_of(
        made, None, q, v, target=target, kp=10.0, kd=one_of(rng, (None, 0.5)), integrator="implicit", **_step(rng)
    )


def thrown(rng: Rng) -> Case:
    """Long chains thrown against many limits at once, some with friction: block pivoting may cycle."""
    n = int(rng.integers(12, 30))
    friction = one_of(rng, (0.0, 0.05, 1.0))
    mass = 10.0 ** rng.uniform(-1.5, 0.5, n)
    made = _arm(
        rng, ["revolute"] * n, mass, lower=-2.0, upper=2.0, friction=friction, velocity=one_of(rng, (1e10, 4.0))
    )
    q = rng.uniform(-2, 2, (1, n))
    ends = rng.random((1, n)) < 0.7
    q = np.where(ends, np.sign(q) * (2 - one_of(rng, (0.0, 1e-5, 1e-3))), q)
    v = rng.standard_normal((1, n)) * one_of(rng, (0.0, 3.0))
    integrator = one_of(rng, ("semi-implicit", "rk4", "implicit"))
    tau = rng.standard_normal((1, n)) * one_of(rng, (0.0, 5.0, 50.0))
    return case_of(made, None, q, v, tau=tau, integrator=integrator, **_step(rng))


def diverging(rng: Rng) -> Case:
    """Some robots of a batch are too fast, at once or after a step; the others continue, or all end."""
    made = _arm(rng, ["revolute", "prismatic"], np.ones(2))
    batch = one_of(rng, (1, 3, 8, 9))
    v = rng.standard_normal((batch, 2))
    fast = rng.random(batch) < 0.5
    fast[0] |= batch == 1 or rng.random() < 0.5
    v[fast, int(rng.integers(2))] = one_of(rng, (1e200, 1e160))
    if rng.random() < 0.3:
        v[:, 0] = 1e200
    freezes = one_of(rng, ("freeze", "freeze", "raise"))
    return case_of(
        made, None, np.zeros((batch, 2)), v, on_divergence=freezes, integrator=one_of(rng, ("rk4", "semi-implicit"))
    )


def far_turned(rng: Rng) -> Case:
    """Joints that have turned a million times, one robot of eight or all."""
    made = _arm(rng, ["continuous", "continuous", "continuous"], np.ones(3))
    q = rng.uniform(-3, 3, (int(rng.integers(4, 10)), 3))
    q[int(rng.integers(len(q))), int(rng.integers(3))] = one_of(rng, (1.1e6, -3e7, 1e6))
    return case_of(made, None, q, rng.standard_normal(q.shape))


def tree_on_threads(rng: Rng) -> Case:
    """Return a tree large enough for DCA-ABA: limbs on a stem, with a free or fixed base, and all joint types."""
    links, joints = [link("base", [], None)], []
    limbs, long, stem = int(rng.integers(6, 12)), int(rng.integers(4, 10)), one_of(rng, (1, 2, 8, 20))
    floats = rng.random() < 0.5
    parent = "base"
    kinds = ("revolute", "revolute", "prismatic", "continuous", *(("spherical",) if rng.random() < 0.6 else ()))
    more = {"friction": one_of(rng, (0.0, 0.1)), "damping": one_of(rng, (0.0, 0.1))}
    more |= {"lower": -1.0, "upper": 1.0} if rng.random() < 0.7 else {}
    for k in range(stem):
        links.append(link(f"stem{k}", [], 1.0))
        kind = "floating" if floats and k == 0 else one_of(rng, kinds)
        joints.append(joint(kind, parent, f"stem{k}", (0, 0, 0.1), tuple(unit(rng)), **more))
        parent = f"stem{k}"
    for k in range(limbs):
        parent = f"stem{int(rng.integers(stem))}" if rng.random() < 0.8 or floats else "base"
        for j in range(long + int(rng.integers(0, 4))):
            name = f"limb{k}_{j}"
            links.append(link(name, [], rng.uniform(0.2, 1)))
            joints.append(joint(one_of(rng, kinds), parent, name, (0.05, 0, 0.1), tuple(unit(rng)), **more))
            parent = name
    made = robot(links, joints)
    from tests.differential.urdf_text import load

    model = load(made)
    q = model.random(rng, 1)
    if rng.random() < 0.3:  # what has turned ever so often
        q[:, [joint.q.start for joint in model.joints if joint.kind == "continuous"][:2]] += 2e6
    v = 0.5 * rng.standard_normal((1, model.nv))
    wrench = rng.standard_normal((1, len(model.link_names), 6)) if rng.random() < 0.5 else None
    return case_of(
        made, None, q, v, algorithm="dca", integrator=one_of(rng, ("semi-implicit", "rk4", "implicit")), wrench=wrench,
    )  # fmt: skip


CORNERS: tuple[Callable[[Rng], Case], ...] = (at_limits, clipped, thrown, diverging, far_turned, tree_on_threads)
