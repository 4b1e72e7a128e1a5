"""What docs/contact.md says of contact on a GPU: the numbers of the kernels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import page_text
from page_text import cuda, e, exempt, word

from engine.cuda.rigid_body import lane_bodies
from engine.cuda.rigid_body import limbs as limbs_of
from engine.cuda.stepping import robot_stepper
from engine.scene import thresholds, touches
from engine.selection import touching

PAGE = "docs/contact.md"
claims = page_text.of(PAGE)
NEWTON, LIMBS = "constraints/newton_by_paths.cuh", "constraints/limb_newton.cuh"
INTERIOR, WITHIN = "constraints/interior_by_paths.cuh", "constraints/limb_interior.cuh"
TURNS = "stepping/turns.cuh"
PARTS = {0.1: "a tenth", 0.2: "a fifth", 1e-3: "a thousandth"}


def _power(x: float) -> str:
    return f"10^{{{round(np.log10(x))}}}"


@claims
def by_paths() -> Iterable[str]:
    """Newton's steps and the interior point of robots that have a warp."""
    steps, damped = (word(cuda(NEWTON, name)) for name in ("STEPS_BY_PATHS", "DAMPED_BY_PATHS"))
    yield f"A robot of {lane_bodies._LEAST} to {lane_bodies.WARP} bodies on a free first one"
    yield (
        "In single precision what stands on the diagonal beside $G$ is "
        f"{PARTS[cuda(NEWTON, 'DAMPING_BY_PATHS')]} of the "
        f"residual, and ${_power(cuda(NEWTON, 'REGULAR_BY_PATHS:single'))}$ at least"
    )
    much, less = cuda(NEWTON, "MUCH_DAMPED_BY_PATHS"), cuda(NEWTON, "LESS_DAMPED_BY_PATHS:single")
    doubly = cuda(NEWTON, "LESS_DAMPED_BY_PATHS:double")
    yield (
        f"Where {steps} such steps do not reach the tolerance, up to {damped} go on from what left least, "
        f"with {much:g} "
        f"there and each time {less:g} ({doubly:g} in double precision) of that"
    )
    yield (
        f"It takes one direction a step, towards $\\sigma = {cuda(INTERIOR, 'CENTRING_BY_PATHS'):g}$, and ends at a "
        f"residual of {e(cuda(INTERIOR, 'INTERIOR_ENOUGH:single'))}:"
    )
    yield f"From there Newton's steps go on, again {steps} at most."
    yield (
        f"In double precision ${_power(cuda(NEWTON, 'REGULAR_BY_PATHS:double'))}$ stands on the diagonal at least, the "
        f"interior point goes on to {e(cuda(INTERIOR, 'INTERIOR_ENOUGH:double'))}, and a sweep comes first: "
        "what leaves "
        f"more than {e(cuda(NEWTON, 'FAR_OFF'))} after it goes to the solver at once"
    )
    sweeps = page_text.constants("constraints/contact_rows.cuh")
    one, many = sweeps["SWEEPS_BY_PATHS:double"], int(sweeps["SWEEPS_BY_PATHS:single"])
    assert one == "1"
    yield f"The first sweep, or in single precision up to {word(many)} of them, goes along the paths, by $W$"


@claims
def by_limbs() -> Iterable[str]:
    """Those of robots with limbs."""
    lanes = word(limbs_of.LANES)
    yield f"has {lanes} lanes: each has a limb in the passes over the tree"
    yield f"Robots of which all {lanes} limbs are chains of as many joints that turn, as a quadruped's"
    yield f"all in which a lane has at most {word(cuda('constraints/limb_impulses.cuh', 'LIMB_POINTS'))} contacts"
    trunk = word(cuda("rigid_body/limbs.cuh", "TRUNK_NV"))
    yield f"limbs know of each other by the trunk's {trunk} velocities alone"
    yield f"three columns of the limb's own and {trunk} of the trunk's"
    yield f"each lane eliminates its three columns and all lanes alike the trunk's {trunk}"
    single, double = (e(cuda(LIMBS, f"REGULAR_OF_LIMBS:{side}")) for side in ("single", "double"))
    share, late = PARTS[cuda(LIMBS, "DAMPING_OF_LIMBS")], word(cuda(LIMBS, "PATIENCE"))
    yield (
        f"what (10) has on the diagonal beside $G$ is {single} ({double} in double precision) or {share} of the "
        "residual."
    )
    damped, leading = (int(cuda(LIMBS, f"{name}_IN_ROUND")) for name in ("DAMPED", "LEADING"))
    less = [cuda(LIMBS, f"LESS_DAMPED:{side}") for side in ("single", "double")]
    yield (
        f"Steps that do not come to the law may go in circles; after {late} they go on from what left least "
        "in rounds of "
        f"{word(damped + leading)}: {word(damped)} that are damped, with {cuda(LIMBS, 'MUCH_DAMPED'):g} there and each "
        f"time {less[0]:g} ({less[1]:g} in double precision) of that, and {word(leading)} that *lead on*."
    )
    yield (
        f"So where the residual stays what it was, to {PARTS[cuda(LIMBS, 'STALLED')]}, a step is taken as far as the "
        "first joint or contact comes to the edge of its set, however far that is, and "
        f"{PARTS[cuda(LIMBS, 'PAST')]} more"
    )
    yield f"come to the law in {late} such steps"
    yield f"in none of {cuda(LIMBS, 'LIMB_STEPS'):g}"
    yield (
        f"which begins {cuda(WITHIN, 'INWARDS'):g} inwards of what left least, in double precision, since "
        "$\\Omega$ spans "
        f"more there than single precision has digits, and up to {cuda(WITHIN, 'STEPS_AFTER'):g} Newton steps after it."
    )
    short = PARTS[cuda(WITHIN, "SHORT")].removeprefix("a ")
    yield (f"It ends, too, where {word(cuda(WITHIN, 'SHORT_STEPS'))} of its steps in a row go no {short} of their way.")
    ways = page_text.constants(LIMBS)["ASKED_OF_WAYS:single"].removeprefix("Real(").removesuffix(")")
    yield f"in single precision to {ways} of the greatest overlap: one step as a rule"


@claims
def in_turns() -> Iterable[str]:
    """Who is seated when."""
    yield f"Steps are of {word(robot_stepper._KINDS)} kinds: light, with a contact a lane at most"
    yield f"slow, those of them that need more than {word(cuda(LIMBS, 'QUICK'))} of Newton's steps"
    yield f"hard, with up to {word(cuda('constraints/limb_impulses.cuh', 'LIMB_POINTS'))} contacts a lane"
    yield f"up to {robot_stepper._IN_TURNS}, and seats for {robot_stepper._SEATS[0]} (fewer where shared memory is too"
    eight = word(32 // limbs_of.LANES)
    yield f"a warp takes {eight} of one kind, in the order in which they came"
    behind = f"{cuda(TURNS, 'FAR_BEHIND'):g}"
    yield f"before all one who is {behind} steps behind."
    yield f"one of them whose step is hard waits until it is {behind} steps behind"
    yield f"a seat filled worth {cuda(TURNS, 'STEPS_FOR_A_SEAT'):g} steps by which a robot is behind"
    yield f"for its {robot_stepper._SEATS[0]} seats"


@claims
def tolerances() -> Iterable[str]:
    """What single precision is held to."""
    swept = 1.5 * touches.TOLERANCE_SINGLE
    assert page_text.constants("constraints/contact_rows.cuh")["SWEPT:single"] == "1.5 * TOLERANCE_SINGLE"
    yield (
        f"In single precision the tolerance on the residual is {e(touches.TOLERANCE_SINGLE)}; after two "
        "rounds, and from "
        f"there on, {e(touches.BEARABLE_SINGLE)} is let pass: what is gained below is rounding's (by limbs after "
        f"{word(cuda(LIMBS, 'PATIENCE'))} steps)."
    )
    yield f"and the impulses of the step before leave less than {e(touches.BEARABLE_SINGLE / 2)}, those that come to"
    yield f"those that come to {e(swept)} do"
    yield f"A gap of less than {e(thresholds.SHUT_SINGLE)} m for each metre of the coordinates counts as shut"
    yield f"an overlap of less than {e(thresholds.OVERLAP_SINGLE)} m counts as none"
    yield f"a gap of {e(thresholds.SHUT_SINGLE)} m in 2 ms is 2.5e-4 m/s, one hundredth of $g h$"
    assert np.isclose(thresholds.SHUT_SINGLE / 2e-3, 2.5e-4)
    assert 0.009 < 2.5e-4 / (9.81 * 2e-3) < 0.015
    on = " or ".join(name.upper() for name in touching.ALGORITHMS)
    yield f"Robots in a scene step there by {on}, by a thread, {word(limbs_of.LANES)} lanes or a warp a robot."


exempt(
    PAGE,
    "measured on an H200, or by kernels compiled for the host, by scripts around the kernels: no file has them by row",
    "Where the time went was seen on an H200 … Scenes with pairs",
    "Sixteen humanoids compiled for the host took … (19 before).",
    "from the impulses of the step before 98 % … These get the interior point",
    "Of 102,400 steps of 256 robots … 11 were not done.",
    "What that leaves was seen in runs of 600 steps … It takes double precision.",
    "of which 400 steps after the first 20 took 6.2 ms each and the 400 after those 15",
    "All musts are passed but one … was not looked into.",
    "**What bounds them is the text of the kernels.** … ## What it does not do yet",
    "single precision keeps half of the cases from coming to 1e-4",
    "Quadrupeds with the implicit integrator, 2 ms … ran beside in the same run",
    "| 8192 quadrupeds, standing | 3.1 | 324 | 259 | 271 |",
    "| 65536 quadrupeds, standing | 8.2 | 518 | 272 | 277 |",
    "| 8192 quadrupeds, falling | 0.7 | 2.1 | 6.7 | 12.9 |",
    "| 65536 quadrupeds, falling | 3.2 | 3.1 | 9.4 | 26.2 |",
    "| 8192 humanoids, standing | 0.5 | 6.0 | 9.9 | 16.3 |",
    "| 65536 humanoids, standing | | 7.6 | 13.3 | 19.7 |",
    "| 8192 quadrupeds, standing, double precision … | 1.3, 0.5 |",
    "in single precision 0.04 MB for our quadruped … That bounds the batch.",
)
