"""Random cases: reproducible by seed, accepted by the engine, of their family, saved in files, simplified."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.differential import frequencies
from tests.differential.cases import Case, case, shrink
from tests.differential.families import FAMILIES, every
from tests.differential.scenes import ground
from tests.differential.shrinking import weight

EXPECTED = (
    "base fixed", "base free", "several free", "branches", "mimic", "fixed between", "limits one side", "at limit",
    "beyond limit", "within friction", "at effort limit", "beyond velocity limit", "mass ratio 1000", "wrench on world",
    "self collision", "srdf", "link friction", "link restitution", "ground field", "ground plane, tilted", "at ground",
    "in ground", "own mass", "gains by robot", "gravity", "by abia", "by cfa", "by jsiia", "by dca", "batch 9",
    *(f"joint {kind}" for kind in ("revolute", "continuous", "prismatic", "planar", "spherical", "floating")),
    *(f"{one} {kind}" for one in ("shape", "obstacle") for kind in ("sphere", "box", "cylinder", "capsule", "mesh")),
)  # fmt: skip


def test_families_are_few_and_hold_every_pair_of_values() -> None:
    assert len(FAMILIES) < 20
    pairs = {
        (i, a, j, b) for family in every() for i, a in enumerate(family) for j, b in enumerate(family) if i < j
    }  # fmt: skip
    met = {(i, a, j, b) for family in FAMILIES for i, a in enumerate(family) for j, b in enumerate(family) if i < j}
    assert met == pairs


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_cases_are_of_their_family_and_nothing_refuses_them(family) -> None:
    for seed in range(6):
        assert case(seed, family).family == family


def test_a_seed_gives_the_same_case_again_and_so_does_its_file(tmp_path: Path) -> None:
    for seed in range(20):
        found = case(seed)
        found.save(tmp_path / "case.json")
        assert Case.load(tmp_path / "case.json") == case(seed) == found


def test_a_simulation_holds_the_case() -> None:
    found = next(found for seed in range(99) if (found := case(seed)).state["wrench"] and found.settings["parameters"])
    made = found.simulation(integrator="rk4")
    assert made.integrator == "rk4"
    assert made.model is found.model()
    for name, value in found.state.items():
        assert np.array_equal(getattr(made, name), value), name


def test_what_matters_occurs_and_robots_are_put_on_the_ground() -> None:
    """Most scenes with a ground have a robot that touches it or stands a millimetre above, few one deep in it."""
    reported = [frequencies.of(case(seed)) for seed in range(150)]
    count = Counter(name for each in reported for name in each)
    assert {name: count[name] for name in EXPECTED if count[name] < 0.015 * len(reported)} == {}
    near = [
        bool({"at ground", "in ground"} & each) for each in reported if "ground plane" in each or "ground field" in each
    ]
    assert np.mean(near) > 0.6
    assert np.mean(["deep in ground" in each for each in reported]) < 0.25


def test_shrinking_leaves_what_fails() -> None:
    def fails(found: Case) -> bool:
        requested.append(found)
        kinds = [joint.kind for joint in found.model().joints]
        fast = np.abs(np.array(found.state["v"])).max(initial=0) > 0.1
        return "spherical" in kinds and found.scene is not None and len(found.scene["obstacles"]) > 0 and bool(fast)

    requested: list[Case] = []
    found = next(found for seed in range(400) if fails(found := case(seed)) and len(found.robot["links"]) > 5)
    simple = shrink(found, fails, 60)
    assert fails(simple)
    assert [len(simple.robot["links"]), simple.batch, len(simple.scene["obstacles"])] == [2, 1, 1]
    assert simple.scene["ground"] is None
    assert simple.settings["integrator"] == "semi-implicit"
    assert weight(simple) < 0.3 * weight(found)
    assert len(requested) < 2000


def test_an_invalid_robot_does_not_count_as_failing() -> None:
    """Everything fails here, and yet what is left is a robot in a scene that the engine takes."""
    simple = shrink(case(3, FAMILIES[1]), lambda _: True, 20)
    simple.simulation()
    assert len(simple.robot["links"]) == 1


def test_grounds_are_those_of_the_engine() -> None:
    field = {"kind": "field", "heights": [[0.0, 1.0], [2.0, 3.0]], "cell": 0.5, "origin": [1.0, 2.0, 0.0]}
    assert ground(field).corner.tolist() == [1.0, 2.0, 0.0]
    assert ground({"kind": "plane", "normal": [0.0, 0.0, 2.0], "offset": 0.5}).normal == (0.0, 0.0, 1.0)
    assert ground(None) is None
