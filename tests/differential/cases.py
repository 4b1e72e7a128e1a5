"""Random cases for comparing one step of the kernels with the reference text: a robot, a scene, settings, a state.

    from tests.differential.cases import case
    from tests.differential.families import FAMILIES

    found = case(7)                   # of any family, see `families`
    found = case(7, FAMILIES[2])      # the same machine code for every seed
    found.simulation().step()
    found.save("found.json"), Case.load("found.json"), shrink(found, fails)

What the dicts hold: `urdf_text` says it of robots, `scenes` of scenes, `inputs.settings` of settings. How often what
occurs: `python -m tests.differential.cases --count 500`.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.cpu.stepping.code import Code
from engine.model import WORLD
from tests.differential import families, inputs, robots, scenes
from tests.differential.chances import Rng, chance, pick
from tests.differential.families import Family
from tests.differential.placing import Placing
from tests.differential.urdf_text import load

ATTEMPTS = 50
retried: Counter[str] = Counter()
"""Why draws were given up for the next one, in this process."""


@dataclass(frozen=True)
class Case:
    """A robot, a scene, settings, a state and what acts on it: plain JSON data, so that a disagreement is a file."""

    robot: dict
    scene: dict | None
    settings: dict
    state: dict

    @property
    def batch(self) -> int:
        return len(self.state["q"])

    def model(self) -> engine.Model:
        """The robot as `engine.load` reads it; the same object as long as it is remembered."""
        return load(self.robot)

    def scene_object(self) -> engine.Scene | None:
        """The scene; the same object as long as it is remembered."""
        return scenes.made(self.scene)

    def parameters(self) -> engine.Parameters | None:
        """The parameters that differ between robots."""
        given = self.settings["parameters"]
        if given is None:
            return None
        made = engine.Parameters(self.model(), self.batch)
        for name, value in given.items():
            if name == "effort_limit":
                value = [[np.inf if x is None else x for x in row] for row in value]
            getattr(made, name)[:] = value
        return made

    def simulation(self, device: str = "cpu", dtype: str = "float64", **changes: Any) -> engine.Simulation:
        """Return a simulation with the case's state, and with settings replaced by `changes`."""
        settings = {key: value for key, value in self.settings.items() if key != "parameters"}
        settings |= {"parameters": self.parameters(), "timed": False} | changes
        made = engine.Simulation(
            self.model(), self.batch, q=self.state["q"], v=self.state["v"], device=device, dtype=dtype,
            scene=self.scene_object(), **settings,
        )  # fmt: skip
        made.tau[:], made.target[:] = (made.array(self.state[name]) for name in ("tau", "target"))
        if self.state["wrench"] is not None:
            made.wrench[:] = made.array(self.state["wrench"])
        return made

    def code(self) -> Code:
        """The key of the machine code that a step takes on the CPU."""
        made = self.simulation()
        return Code.of(made.settings)._replace(wrenches=made.takes_wrenches)

    @property
    def family(self) -> Family:
        """Which cases share this one's machine code."""
        code, freezes = self.code(), self.simulation().settings.freezes
        ground = {"": "none", "plane": "plane", "height field": "field"}[code.contact]
        return Family(
            code.integrator, code.algorithm, ground, code.pairs, code.own, code.wrenches, freezes, code.lanes > 1
        )

    def save(self, path: str | Path) -> None:
        """Write the case as JSON."""
        with engine.replacing(path, "w") as file:
            file.write(_readable(dataclasses.asdict(self)) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Case:
        """The case of a file."""
        return cls(**json.loads(Path(path).read_text("utf-8")))


def _readable(value: Any, indent: str = "") -> str:
    """JSON with a line for each entry, and what fits into a line in one."""
    text = json.dumps(value)
    numbers = isinstance(value, list) and not any(isinstance(entry, dict | list) for entry in value)
    if len(text) + len(indent) <= 110 or numbers or not isinstance(value, dict | list):
        return text
    deeper = indent + " "
    if isinstance(value, dict):
        inside = [f"{json.dumps(key)}: {_readable(entry, deeper)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(deeper + line for line in inside) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + _readable(entry, deeper) for entry in value) + f"\n{indent}]"


def case(seed: int, family: Family | None = None) -> Case:
    """The case of a seed, of that family or of any."""
    for attempt in range(ATTEMPTS):
        rng = np.random.default_rng([seed, attempt])
        found = _drawn(rng, family or families.drawn(rng))
        if isinstance(found, Case):
            return found
        retried[found] += 1
    raise RuntimeError(f"seed {seed} gives no case of family {family} in {ATTEMPTS} attempts")


def _drawn(rng: Rng, family: Family) -> Case | str:
    """Draw a case of the family, or the reason why this draw has none."""
    follows = family.algorithm == "jsiia" and chance(rng, 0.5)
    apart = family.pairs and family.algorithm != "cfa" and chance(rng, 0.5)
    demands = robots.Demands(family.algorithm == "cfa", follows, family.ground != "none", apart)
    robot = robots.robot(rng, demands)
    model = load(robot)
    serving = engine.simulation_algorithms(model, "cpu")
    if family.algorithm not in serving:
        return f"{family.algorithm} does not support the robot"
    if demands.touches and all(model.link_body[shape.link] == WORLD for shape in model.collisions):
        return "no shape moves"
    algorithm = "dca" if family.algorithm == "abia" and "dca" in serving and chance(rng, 0.3) else family.algorithm
    placing = Placing(rng, robot, model, _batch(rng, family))
    apart = apart and sum(len(placing.points(int(root)).link) > 0 for root in placing.roots) > 1
    scene = scenes.scene(rng, family, placing, apart)
    settings = inputs.settings(rng, family, algorithm, placing)
    v = inputs.velocities(rng, placing, scene)
    return Case(placing.robot, scene, settings, inputs.state(rng, family, placing, v))


def _batch(rng: Rng, family: Family) -> int:
    """Draw 1 to 9 robots: more than three if blocks of eight are to be used, fewer if they must not."""
    if family.eight:
        return pick(rng, {4: 0.15, 5: 0.15, 7: 0.15, 8: 0.25, 9: 0.3})
    if family.algorithm == "abia" and family.ground == "none" and not family.own:
        return int(rng.integers(1, 4))
    return pick(rng, {1: 0.25, 2: 0.2, 3: 0.15, 4: 0.1, 5: 0.08, 6: 0.06, 7: 0.05, 8: 0.05, 9: 0.06})


def shrink(found: Case, fails: Callable[[Case], bool], seconds: float = 60) -> Case:
    """A simpler case that still fails, found greedily; `fails` is asked of those only that make a simulation."""
    from tests.differential.shrinking import shrunk

    return shrunk(found, fails, seconds)


if __name__ == "__main__":
    from tests.differential.frequencies import main

    main()
