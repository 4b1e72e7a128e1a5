"""Forward after inverse dynamics, with very uneven masses and inertias.

Each algorithm's relative residual, ‖ID(q̈) − τ‖ / ‖τ_δ‖, is within a bound independent of the condition number of M,
which a failure reports; q̈ itself agrees with Pinocchio's to κ(M)·ε.
"""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from masses import weighed

import engine
from engine.bench.states import residual, state
from engine.cpu.trees.dca import TreeDca
from engine.cpu.trees.plan import Costs
from engine.model import PRISMATIC, features

EPS = np.finfo(float).eps
LEFT = {"abia": 1e-12, "jsiia": 1e-12, "cfa": 1e-11, "dca": 2e-12}
"""Maximum relative residual of the torques, for any masses; measured 4e-14, 7e-14, 1e-12 and 6e-13."""
NEVER_THE_ABA = Costs(aba=1e9, port=0, node=0, chunk=0, block=0, handover=0)


def masses(kind: str, n: int, ratio: float, rng: np.random.Generator) -> np.ndarray:
    """Factors of the links' masses."""
    at = np.arange(n)
    return {
        "alternate": np.where(at % 2 == 0, 1.0, ratio),
        "at random": ratio ** rng.integers(0, 2, n),
        "grow": ratio ** (at / max(1, n - 1)),
        "one": np.where(at == n // 2, ratio, 1.0),
        "all": np.full(n, ratio),
    }[kind]


def left(model: engine.Model, at: object, algorithm: str) -> float:
    """Return the algorithm's residual; for DCA-ABA with four threads and in chunks, however short the chain."""
    if algorithm == "dca" and features.serial(model):
        dca, out = TreeDca(model, "float64", 4, NEVER_THE_ABA), np.empty_like(at.v)
        dca.many(*map(np.ascontiguousarray, at), out)
        dca.close()
    else:
        out = engine.ForwardDynamics(model, len(at.q), algorithm, "cpu")(*at)
    return float(np.max(residual(model, at, out)))


def condition(model: engine.Model, at: object) -> float:
    return max(float(np.linalg.cond(M)) for M in engine.mass_matrix(model, at.q))


def wrong(models: list[engine.Model], rng: np.random.Generator) -> list[str]:
    """The algorithms that leave more than they may, each with the model and the condition number."""
    return [
        f"{algorithm} leaves {rest:.1e} of {model.name}, κ = {condition(model, at):.0e}"
        for model in models
        for at in [state(model, rng, 3)]
        for algorithm in sorted(set(LEFT) & set(engine.algorithms(model, "cpu")))
        if not (rest := left(model, at, algorithm)) <= LEFT[algorithm]
    ]


@pytest.mark.sample(6)
@pytest.mark.parametrize("kind", ["alternate", "at random", "grow", "one", "all"])
@pytest.mark.parametrize("ratio", [1e-12, 1e-6, 1e-3, 1e3, 1e6, 1e12])
def test_every_algorithm_keeps_the_torques_or_refuses(kind, ratio, rng):
    sizes = (9, 14, 60)
    chains = [engine.chain(n, seed=n, prismatic=0.3) for n in sizes]
    trees = [engine.tree(n, seed=n, prismatic=0.2, spherical=0.2, floating=n == 14) for n in sizes]
    models = [weighed(base, masses(kind, len(base.parent), ratio, rng)) for base in (*chains, *trees)]
    if kind in ("alternate", "all"):
        served = kind == "all" or (ratio < 1 and ratio > 1e-3)
        assert all(served == ("dca" in engine.algorithms(model, "cpu")) for model in models[: len(chains)])
    assert wrong(models, rng) == []


def test_no_draw_of_masses_that_dca_serves_costs_it_digits(rng):
    """1000 kg behind 1 kg is refused: those it serves have left 6e-13 at most in 176 draws, those it refused 1e-8."""
    served = 0
    for trial in range(120):
        n, span = int(rng.integers(9, 65)), rng.uniform(0, 4)
        model = weighed(engine.chain(n, seed=trial, prismatic=1 / 3), 10 ** rng.uniform(-span, span, n))
        if "dca" in engine.algorithms(model, "cpu"):
            served += 1
            assert left(model, state(model, rng, 4), "dca") <= LEFT["dca"]
    assert served > 30


@pytest.mark.parametrize("scale", [1e-9, 1e-15, 1e9])
def test_the_unit_of_mass_changes_no_acceleration(scale, rng):
    """A robot of nanograms under torques as small accelerates like one of kilograms."""
    for base in (engine.chain(12, prismatic=0.3), engine.tree(12, floating=True, spherical=0.3)):
        q, v, tau = state(base, rng, 4)
        light = weighed(base, np.full(len(base.parent), scale))
        for algorithm in set(LEFT) & set(engine.algorithms(base, "cpu")):
            expected = engine.ForwardDynamics(base, 4, algorithm, "cpu")(q, v, tau)
            answer = engine.ForwardDynamics(light, 4, algorithm, "cpu")(q, v, tau * scale)
            np.testing.assert_allclose(answer, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("thin", [1e-6, 1e-10, 1e-13])
def test_bodies_that_are_needles_lose_nothing(thin, rng):
    """Rotational inertias whose least part is so small a share of the largest: rods without thickness, nearly."""
    models = []
    for base in (engine.chain(20, prismatic=0.3), engine.tree(20, floating=True, spherical=0.2)):
        inertia = base.inertia.copy()
        for i in range(len(base.parent)):
            center = base.first_moment[i] / base.mass[i]
            w, R = np.linalg.eigh(inertia[i] - base.mass[i] * (center @ center * np.eye(3) - np.outer(center, center)))
            needle = R @ np.diag([thin * w[2], w[2], w[2]]) @ R.T
            inertia[i] = needle + base.mass[i] * (center @ center * np.eye(3) - np.outer(center, center))
        models.append(dataclasses.replace(base, inertia=(inertia + np.swapaxes(inertia, 1, 2)) / 2))
    assert wrong(models, rng) == []


def pinocchios(model: engine.Model) -> pin.Model:
    """A serial chain as Pinocchio's model, joint for joint: from a URDF of as many links it takes long."""
    theirs = pin.Model()
    theirs.gravity.linear = model.gravity
    for i, parent in enumerate(model.parent.tolist()):
        kind = pin.JointModelPZ() if model.kind[i] == PRISMATIC else pin.JointModelRZ()
        joint = theirs.addJoint(parent + 1, kind, pin.SE3(model.home_rotation[i], model.home_position[i]), f"joint{i}")
        m, c = float(model.mass[i]), model.first_moment[i] / model.mass[i]
        central = model.inertia[i] - m * (c @ c * np.eye(3) - np.outer(c, c))
        theirs.appendBodyToJoint(joint, pin.Inertia(m, c, (central + central.T) / 2), pin.SE3.Identity())
    return theirs


@pytest.mark.parametrize(("n", "ratio"), [(6, 1e6), (30, 1e3), (120, 1.0), (300, 1.0), (300, 30.0)])
def test_accelerations_are_pinocchios_to_the_condition_number(n, ratio, rng):
    model = weighed(engine.chain(n, seed=n, prismatic=0.2), masses("at random", n, ratio, rng))
    theirs = pinocchios(model)
    q, v, tau = (x[0] for x in state(model, rng, 1))
    expected = pin.aba(theirs, theirs.createData(), q, v, tau)
    kappa = float(np.linalg.cond(engine.mass_matrix(model, q)))
    for algorithm in set(LEFT) & set(engine.algorithms(model, "cpu")):
        answer = engine.forward_dynamics(model, q, v, tau, algorithm, "cpu")
        apart = float(np.linalg.norm(answer - expected) / np.linalg.norm(expected))
        assert apart <= min(kappa * EPS, 1e-8), f"{algorithm}: {apart:.1e}, κ = {kappa:.0e}"
