"""Claims of the pages on contact about a GPU: the kernels' numbers."""

from collections.abc import Iterable

import page_text
from page_text import e, exempt, word

from engine.cuda.rigid_body import lane_bodies
from engine.cuda.rigid_body import limbs as limbs_of
from engine.scene import tolerances
from engine.selection import steppers

SOLVER, MEASURED = "docs/contact_solver_gpu.md", "docs/measured_contact.md"


@page_text.of(SOLVER)
def kernels() -> Iterable[str]:
    """Which robots have kernels of their own, and what single precision is held to."""
    yield f"| {word(limbs_of.LANES)} limbs of as many revolute joints on a free body"
    yield f"| {lane_bodies._LEAST} to {lane_bodies.WARP} bodies on a free first one, all other joints of one coordinate"
    trunk = page_text.constants("rigid_body/limbs.cuh")["TRUNK_NV"]
    yield f"all lanes alike the trunk's {word(int(trunk))}"
    limb = page_text.constants("constraints/limb_newton.cuh")
    yield f"damped by {limb['DAMPING_OF_LIMBS']} times the residual. Most robots obey the law within {limb['QUICK']} of"
    yield f"After {limb['PATIENCE']}, robots that do not begin again at the best impulses"
    assert (limb["LESS_DAMPED:single"], limb["LESS_DAMPED:double"]) == ("0.3", "0.1")
    yield f"{limb['DAMPED_IN_ROUND']} steps with much damping, {limb['MUCH_DAMPED']} and then a third of it"
    yield f"{limb['LEADING_IN_ROUND']} steps with hardly any, each at most up to the next active set"
    share = {name: f"{float(limb[name]):.2g}" for name in ("PAST", "LEAST_PART", "STALLED")}
    assert share == {"PAST": "0.001", "LEAST_PART": "0.05", "STALLED": "0.2"}
    yield "A step goes 0.1 % past it, so that the set changes, but at least 5 % of its length"
    yield "changed by less than 20 %, a step whose nearest set lies beyond its end goes on"
    yield f"At step {limb['LIMB_STEPS']} the interior point follows"
    yield (
        f"In single precision the tolerance on the residual is {e(tolerances.RESIDUAL_TOLERANCE_SINGLE)}; after two "
        f"rounds {e(tolerances.ACCEPTED_RESIDUAL_SINGLE)} is let pass"
    )
    yield f"A gap of less than {e(tolerances.GAP_TOLERANCE_SINGLE)} m for each metre of the coordinates counts as shut"
    yield f"an overlap of less than {e(tolerances.OVERLAP_TOLERANCE_SINGLE)} m counts as none"


@page_text.of("docs/contact.md")
def served() -> Iterable[str]:
    """The algorithms that step robots in a scene."""
    on = " or ".join(name.upper() for name in steppers.IN_SCENE["cuda"])
    yield f"Robots in a scene step there by {on}."


MADE_ONCE = "measured on an H200, or by kernels compiled for the host, by scripts around the kernels"
exempt("docs/contact.md", MADE_ONCE, "in single precision 0.3 MB for our quadruped … This limits the batch.")
exempt(SOLVER, MADE_ONCE, "To hold (13) to 1e-4 … which takes double precision.")
exempt(
    MEASURED,
    MADE_ONCE,
    "8192 and 65536 at once … MuJoCo Warp 4.0",
    "by `implicit` with steps of 2 ms and humanoids of 1 ms; … over the first 400 steps",
)
