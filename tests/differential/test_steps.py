"""One step of every kind of robot, scene and setting is that of the reference text, `engine.algorithms.step`.

Each run takes some cases of a seed that never changes and as many of `CATENA_SEED`. A disagreement is shrunk to a small
case, which is written to a file that the failure names: `Case.load(FILE)` gives it back.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import engine
from tests.differential import differences
from tests.differential.cases import Case, case, shrink
from tests.differential.families import FAMILIES, Family
from tests.engine.cuda_on_host import compiled_for_host, cuda_on_host, needs_compiler  # noqa: F401 - fixtures
from tests.seeds import OTHER

MANY = 5  # cases of a family for each of the two seeds
OTHERS = 1000 * OTHER
NAMES = [str(family) for family in FAMILIES]
LONG_TO_COMPILE = ("implicit jsiia field pairs",)
"""Families with machine code of their own, three times 10 s of it, which no law takes."""
ON_HOST = [family for family in FAMILIES if family.algorithm == "abia"]
"""Families whose GPU kernels, with a thread per robot, are also compiled for the host."""


UNSOLVED = (
    "impulses do not obey the law", "impulse that nothing gives", "the impulses add", "restitution is taken",
    "the slip of link", "what takes overlaps back", "are not taken back",
)  # fmt: skip
"""The message for a step whose contacts the kernels' solver leaves unsolved, in some two of a hundred."""


def hold(found: Case, folder: Path, device: str = "cpu", dtype: str = "float64", new: bool = False) -> None:
    """Fail with the sentences, and with a file of the smallest case that is found, where a step is not the text's.

    Of a `new` case, which nobody has looked at yet, steps that are known to be left unsolved are only counted.
    """
    text = differences.differences(found, device, dtype)
    if new and text and all(any(known in sentence for known in UNSOLVED) for sentence in text):
        differences.seen["left unsolved"] += 1
        return
    if not text:
        return

    def fails(smaller: Case) -> bool:
        try:
            return bool(differences.differences(smaller, device, dtype))
        except RuntimeWarning:  # of a robot that no step can be computed for, such as one without mass
            return False

    path = folder / "case.json"
    smallest = shrink(found, fails, seconds=20)
    smallest.save(path)
    text = differences.differences(smallest, device, dtype) or text
    pytest.fail("\n".join([f"the smallest case is in {path}:", *text[:6]]), pytrace=False)


def seeds(first: int, many: int) -> list[int]:
    """As many of `CATENA_SEED` after them."""
    return [first + k for k in range(many)] + [OTHERS + first + k for k in range(many)]


@pytest.mark.parametrize(
    "family", [pytest.param(x, marks=[pytest.mark.slow] * (str(x) in LONG_TO_COMPILE), id=str(x)) for x in FAMILIES]
)
def test_a_cpu_step_of_a_random_case_is_the_reference_texts(family: Family, tmp_path: Path):
    before = differences.seen.copy()
    for seed in seeds(0, MANY):
        hold(case(seed, family), tmp_path, new=seed >= OTHERS)
    looked_at = differences.seen - before
    assert looked_at["steps with contact"] + looked_at["steps without"] >= MANY
    assert looked_at["not solved by the text"] <= 1
    assert looked_at["left unsolved"] <= 1
    assert looked_at["contacts"] or family.ground == "none"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_on_the_cpu_by_the_thousand(part: int, tmp_path: Path):
    for seed in seeds(100 + 100 * part, 50):
        hold(case(seed), tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_a_gpu_step_of_a_random_case_is_the_reference_texts(family: Family, dtype: str, tmp_path: Path):
    for seed in seeds(50, MANY):
        found = case(seed, family)
        if differences.served(found, "cuda", dtype):
            hold(found, tmp_path, "cuda", dtype, new=seed >= OTHERS)


@pytest.mark.sample(3)
@needs_compiler
@pytest.mark.parametrize("family", ON_HOST, ids=map(str, ON_HOST))
@pytest.mark.usefixtures("cuda_on_host")
def test_the_gpus_text_on_the_host(family: Family, tmp_path: Path):
    kept = [] if family.ground != "none" else range(71, 74)  # where nothing touches a case takes less time
    for seed in [*seeds(70, 1), *kept]:
        found = case(seed, family)
        found = dataclasses.replace(found, settings=found.settings | {"algorithm": "abia"})
        if differences.served(found, "cuda", "float64"):
            hold(found, tmp_path, "cuda", new=seed >= OTHERS)


@needs_compiler
@pytest.mark.usefixtures("cuda_on_host")
def test_the_gpus_text_solves_joint_friction_alone_to_rounding():
    """Its steps in a scene solve friction by the search for contacts' impulses, the CPU's by an active set."""
    arm, low = engine.load(engine.find_robot("arm7")), engine.Scene(ground=engine.Plane(offset=-9.0))
    model = dataclasses.replace(arm, friction=np.geomspace(0.01, 5.0, arm.nv), damping=np.zeros(arm.nv))
    v = np.random.default_rng(3).uniform(-100, 100, (30, arm.nv))
    ends = [
        engine.Simulation(model, 30, 1e-4, v=v, device=device, scene=low, limits=False) for device in ("cuda", "cpu")
    ]
    for simulation in ends:
        simulation.step(5)
    np.testing.assert_allclose(ends[0].v, ends[1].v, rtol=0, atol=1e-13 * np.abs(v).max())


def test_a_wrong_step_is_found(monkeypatch, tmp_path: Path):
    """The comparison detects an error: here forces that are a millionth too large. It ends with a case in a file."""
    family = next(x for x in FAMILIES if x.ground == "none")
    right = differences.step.equations_of_motion

    def wrong(model, at, wrench=None):
        M, h = right(model, at, wrench)
        return M, h * (1 + 1e-6)

    monkeypatch.setattr(differences.step, "equations_of_motion", wrong)
    found = next(x for x in (case(seed, family) for seed in range(20)) if differences.differences(x))
    with pytest.raises(pytest.fail.Exception, match="the smallest case is in"):
        hold(found, tmp_path)
    assert isinstance(Case.load(tmp_path / "case.json").model().nv, int)
    assert np.isfinite(Case.load(tmp_path / "case.json").state["q"]).all()
