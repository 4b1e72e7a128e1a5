"""Frequencies of features of random cases, alone and in pairs.

`python -m tests.differential.cases --count 500` draws any families; with `--step` it draws those of `FAMILIES` in turn,
takes the step and also reports contacts.
"""

import argparse
import time
import warnings
from collections import Counter
from itertools import combinations

import numpy as np

import engine
from engine.model import FREE, WORLD, features
from tests.differential import cases
from tests.differential.cases import Case
from tests.differential.families import FAMILIES
from tests.differential.placing import Gaps
from tests.differential.scenes import ground
from tests.differential.solids import cloud

RARE = 4
"""Pairs of common features that occur less often are listed."""
COMMON = 0.12


def of(case: Case) -> set[str]:
    """Return the features of a case."""
    model = case.model()
    return _robot(case.robot, model) | _scene(case, model) | _settings(case) | _state(case, model)


def _where(**shown: bool) -> set[str]:
    return {name.replace("_", " ") for name, there in shown.items() if there}


def _robot(robot: dict, model: engine.Model) -> set[str]:
    kinds = {joint.kind for joint in model.joints}
    shapes = [shape for link in robot["links"] for shape in link["shapes"]]
    roots = np.sum((model.kind == FREE) & (model.parent == WORLD))
    heavy = model.mass[model.mass > 0]
    followers = Counter(joint.leader for joint in model.joints if joint.leader)
    moved = [j for j in robot["joints"] if j["kind"] != "fixed"]
    inner = {j["parent"] for j in moved} & {j["child"] for j in robot["joints"] if j["kind"] == "fixed"}
    one_side = np.isfinite(model.lower) != np.isfinite(model.upper)
    shown = _where(
        base_fixed=roots == 0, base_free=roots == 1, several_free=roots > 1,
        one_body=len(model.parent) == 1, many_bodies=len(model.parent) > 6,
        branches=features.first_occurrence("trees", model) is not None, free_inside=roots < np.sum(model.kind == FREE),
        mimic=model.has_mimic, several_followers=max(followers.values(), default=0) > 1,
        mimic_prismatic=any(j.leader and j.kind == "prismatic" for j in model.joints), fixed_between=bool(inner),
        massless_body=bool(np.any(model.mass == 0)) and "planar" not in kinds,
        mass_ratio_100=heavy.max() > 100 * heavy.min(), mass_ratio_1000=heavy.max() > 1000 * heavy.min(),
        damping=bool(np.any(model.damping > 0)), friction=bool(np.any(model.friction > 0)),
        limits_both=bool(np.any(model.bounded & ~one_side)), limits_one_side=bool(np.any(one_side)),
        velocity_limit=bool(np.any(np.isfinite(model.velocity_limit))),
        effort_limit=bool(np.any(np.isfinite(model.effort_limit))), gravity=robot["gravity"] is not None,
        several_shapes=any(len(link["shapes"]) > 1 for link in robot["links"]), srdf=bool(robot["disabled"]),
        link_friction=any(link["friction"] is not None and link["shapes"] for link in robot["links"]),
        link_restitution=any(link["restitution"] is not None and link["shapes"] for link in robot["links"]),
        mesh_of_parts=any(len(shape.get("parts", ())) > 1 for shape in shapes),
    )  # fmt: skip
    return shown | {f"joint {kind}" for kind in kinds} | {f"shape {shape['kind']}" for shape in shapes}


def _scene(case: Case, model: engine.Model) -> set[str]:
    scene = case.scene
    if scene is None:
        return {"scene none"}
    below = scene["ground"]
    shown = {f"ground {below['kind'] if below else 'none'}", f"mu {scene['friction']:g}", f"e {scene['restitution']:g}"}
    shown |= {f"obstacle {entry['kind']}" for entry in scene["obstacles"]}
    shown |= _where(self_collision=scene["self_collision"], obstacle=bool(scene["obstacles"]))
    found = cloud(case.robot, model)
    found = found.of(model.link_body[found.link] != WORLD)
    if below is None or not len(found.link):
        return shown
    if below["kind"] == "plane" and below["normal"] != [0.0, 0.0, 1.0]:
        shown.add("ground plane, tilted")
    x = found.world(engine.link_poses(model, np.array(case.state["q"])))
    gap = Gaps(below, ground(below))(x.reshape(-1, 3), np.tile(found.radius, case.batch)).min()
    return shown | _where(over_ground=gap > 1e-3, at_ground=-1e-8 <= gap <= 1e-3, in_ground=gap < -1e-8,
                         deep_in_ground=gap < -6e-3)  # fmt: skip


def _settings(case: Case) -> set[str]:
    settings = case.settings
    shown = {settings["integrator"], f"by {settings['algorithm']}", settings["on_divergence"]}
    shown |= _where(limits_on=settings["limits"], kp=settings["kp"] is not None, kd=settings["kd"] is not None,
                   gains_by_robot=isinstance(settings["kd"], list) and isinstance(settings["kd"][0], list),
                   short_dt=settings["dt"] < 3e-4, long_dt=settings["dt"] > 2e-3)  # fmt: skip
    return shown | {f"own {name}" for name in settings["parameters"] or ()}


def _state(case: Case, model: engine.Model) -> set[str]:
    q, v, tau = (np.array(case.state[name]) for name in ("q", "v", "tau"))
    batch, scalar = case.batch, model.q_of_v >= 0
    here = np.where(scalar, q[:, np.maximum(model.q_of_v, 0)], 0.0)
    lower, upper = (np.where(scalar, x, np.nan) for x in (model.lower, model.upper))
    beyond, inside = np.maximum(lower - here, here - upper), np.minimum(here - lower, upper - here)
    effort = case.simulation().effort
    wrench, still = np.array(case.state["wrench"] or np.zeros((1, 1, 6))), (v == 0) & (model.friction > 0)
    world = np.flatnonzero(model.link_body == WORLD)
    return _where(
        batch_1=batch == 1, batch_2_to_7=1 < batch < 8, batch_8=batch == 8, batch_9=batch == 9,
        at_limit=bool(np.any((here == lower) | (here == upper))), beyond_limit=bool(np.any(beyond > 0)),
        next_to_limit=bool(np.any((inside > 0) & (inside < 1e-2))), at_rest=not np.any(v, 1).all(),
        joint_at_rest=bool(np.any(v[:, model.constrained] == 0)) and bool(np.any(v)),
        within_friction=bool(np.any(still & (np.abs(tau) < model.friction))),
        at_effort_limit=bool(np.any(np.abs(effort) >= model.effort_limit)),
        beyond_velocity_limit=bool(np.any(np.abs(v) > model.velocity_limit)),
        wrench=bool(np.any(wrench)), wrench_on_world=len(wrench[0]) > 1 and bool(np.any(wrench[:, world])),
    )  # fmt: skip


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.cases", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="so many cases")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--step", action="store_true", help="make a step of each, by the families of FAMILIES")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, pairs, spent, worst = Counter[str](), Counter[tuple[str, str]](), 0.0, (0.0, -1)
    for seed in range(given.first, given.first + given.count):
        start = time.process_time()
        found = cases.case(seed, FAMILIES[seed % len(FAMILIES)] if given.step else None)
        seconds = time.process_time() - start
        spent, worst = spent + seconds, max(worst, (seconds, seed))
        shown = of(found) | (_stepped(found, seed) if given.step else set())
        counts.update(shown)
        pairs.update(combinations(sorted(shown), 2))
    _tell(counts, pairs, given.count)
    each = spent / given.count * 1e3
    print(f"\n{each:.1f} ms of processor a case, {worst[0] * 1e3:.0f} ms at most (seed {worst[1]}); given up: "
          f"{dict(cases.retried) or 'none'}")  # fmt: skip


def _stepped(found: Case, seed: int) -> set[str]:
    """Return the features of a step's result."""
    made = found.simulation()
    try:
        made.step()
    except engine.Diverged as fault:
        print(f"seed {seed}: {fault}")
        return {"STEP diverged"}
    shown = _where(STEP_froze=bool(np.any(made.diverged)))
    if (touches := made.contacts) is None:
        return shown
    slack = float(np.max(touches.residual)) > engine.CONTACT_TOLERANCE
    if slack:
        print(f"seed {seed}: residual {np.max(touches.residual):.2g}")
    other = touches.other[np.arange(touches.other.shape[1]) < touches.number[:, None]]
    return shown | _where(
        STEP_touches=bool(np.any(touches.number)), STEP_touches_ground=bool(np.any(other == -1)), STEP_slack=slack,
        STEP_touches_link=bool(np.any(other >= 0)), STEP_touches_obstacle=bool(np.any(other < -1)),
        STEP_touches_often=bool(np.any(touches.number > 4)),
    )  # fmt: skip


def _tell(counts: Counter[str], pairs: Counter[tuple[str, str]], count: int) -> None:
    for name, often in sorted(counts.items()):
        print(f"{100 * often / count:5.1f} %  {name}")
    common = [name for name, often in counts.items() if often >= COMMON * count]
    met = [(pairs[pair], pair) for pair in combinations(sorted(common), 2)]
    few = [(often, pair) for often, pair in met if often < RARE and not _exclude(*pair)]
    print(f"\n{len(met)} pairs of features of {COMMON:.0%} and more; met fewer than {RARE} times:")
    for often, (one, other) in sorted(few):
        print(f"  {often}  {one} + {other}")


def _exclude(one: str, other: str) -> bool:
    """Whether two are values of the same thing."""
    return one.split()[0] == other.split()[0]
