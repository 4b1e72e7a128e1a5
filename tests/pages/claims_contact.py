"""Claims of the pages on contact: the law, the solvers, contact detection, and measurements on two cores."""

import re
from collections.abc import Iterable

import claims_measured as measured
import numpy as np
import page_text
from behaviour import body, decided, file_holds, heights_seen, restitution_shares, steps_alike, worst_of_a_call
from page_text import e, exempt, g, word

import engine
from engine.cuda.constraints import contacts
from engine.cuda.rigid_body import lane_bodies
from engine.cuda.rigid_body import limbs as limbs_of
from engine.kernels.collision import convex, manifold, pair_workspace
from engine.kernels.contact import interior, rounding, search
from engine.kernels.contact.body_pairs import ALL_PAIRS, MAX_PAIRS
from engine.kernels.contact.contact_step import WARM_START_RESIDUAL
from engine.lessons import contact as lesson_contact
from engine.scene import Scene, contact_tolerances, pairs, points
from engine.scene.obstacle import Obstacle
from engine.scene.points import KEPT, WALKED
from engine.selection import steppers
from tests.bench import contact, mujoco_contact, real_robots

PAGE, COLLISION = "docs/contact.md", "docs/collision.md"
SOLVER, DENSE = "docs/contact_solver.md", "docs/contact_solver_gpu.md"
MEASURED = "docs/measured_contact.md"
claims = page_text.of(PAGE)
LARGEST_FRICTION = 1e6  # of the files that the page speaks of


@claims
def relaxed_law() -> Iterable[str]:
    """Compute the lift of a box by the law without the slip term, in the lesson's steps of a millisecond."""
    lift = 1000 * lesson_contact.slide("relaxed")[:, 1].max()
    yield (
        f"A box that slides at {g(lesson_contact.SPEED)} m/s with a coefficient of friction of "
        f"{g(lesson_contact.FRICTION)} is lifted by {lift:.0f} mm"
    )


@claims
def restitution_and_gaps() -> Iterable[str]:
    """Rebounds, active contacts, and corrected overlaps."""
    yield f"that approaches faster than {g(contact_tolerances.RESTITUTION_SPEED)} m/s and closes within"
    *reduced, last = restitution_shares()
    margin = (1 - reduced[0]) / 0.1
    assert last == 0.0
    np.testing.assert_allclose(reduced, [(1 - 0.1 * margin) ** (1 + k) for k in range(len(reduced))])
    yield f"$e$ is multiplied by $1 - {margin:.4g} \\Delta T / \\Delta T_r$"
    yield f"and the system is solved again, up to {word(len(reduced))} times; then $e = 0$"
    yield f"the factor {margin:.4g} anticipates"
    yield f"zero for joints and for closed contacts, to {contact_tolerances.GAP_TOLERANCE * 1e9:g} nm"
    yield (
        f"An open contact with gap $\\phi$ is active when it is within {contact_tolerances.CONTACT_MARGIN * 1e3:g} mm, "
        "or comes that near within two steps, with $c_n = \\phi / h$"
    )
    yield f"with $\\beta = {g(contact_tolerances.ERP)}$ for overlapping contacts, and 1"
    yield f"no joint moves by more than {contact_tolerances.IMMOBILE * 1e3:g} mm per rad along its normal"
    assert steps_alike("rk4", "semi-implicit", height=0.1)
    assert not steps_alike("rk4", "semi-implicit", height=1.0)
    yield "With `rk4`, a step with contact is the semi-implicit one, and so of first order."


@claims
def large_systems() -> Iterable[str]:
    """Limits of the pairs of bodies."""
    yield f"On a GPU at most {MAX_PAIRS} pairs touch at a time; a step with more is computed without contacts"


@claims
def residual() -> Iterable[str]:
    """The residual in units of velocity."""
    yield (
        f"so that {g(engine.CONTACT_TOLERANCE)} there is 1e-11 m/s, or 1e-14 m of error in a millisecond; in a fall at "
        f"3 m/s it is {g(3 * engine.CONTACT_TOLERANCE)} m/s"
    )
    assert round(np.log10(engine.CONTACT_TOLERANCE * 9.81e-3)) == -11
    assert (contact_tolerances.VELOCITY_FLOOR, contact_tolerances.VELOCITY_FLOOR_SINGLE) == (1e-9, 1e-6)
    yield "Below 1 nm/s (1 µm/s in single precision)"


@page_text.of(DENSE)
def solver() -> Iterable[str]:
    """The tolerance, the stages of the solver and their numbers."""
    yield f"at most {contacts._FEW} contacts, on a plane, with friction and without restitution"
    rounds, dense = (page_text.constants(f"constraints/{name}.cuh") for name in ("contact_rounds", "interior_point"))
    first, nothing = int(dense["SOLVER_ROUNDS"]), int(dense["ROUNDS_FROM_NOTHING"])
    steps = page_text.constants("constraints/interior_rows.cuh")["INTERIOR_STEPS:double"]
    yield f"with a tolerance of {g(engine.CONTACT_TOLERANCE)} on the residual (C8) in double precision."
    yield f"1. {word(first)} **rounds** from the impulses of the step before, each of sweeps and Newton steps;"
    damping, strong = (float(dense[name]) for name in ("DAMPING_OF_ROUNDS", "STRONG_DAMPING"))
    stronger = "stronger" if strong > damping else "weaker"
    yield f"2. {word(nothing)} rounds from no impulses, with {stronger} damping"
    yield (
        f"3. the **interior point** from cold, at most {steps} iterations, and {word(first)} rounds from where it ends;"
    )
    more, shorter, smoother = (
        float(dense[name]) for name in ("STRONG_CENTRING", "STRONG_MAX_FRACTION", "STRONG_SMOOTHING")
    )
    yield (rf"4. the same with stronger centring ($\sigma \ge {g(more)}$), shorter steps and along a smoother path.")
    least = page_text.constants("constraints/interior_rows.cuh")["MIN_CENTRING"]
    assert shorter < interior.MAX_FRACTION and float(least) < more  # noqa: PT018
    yield f"The first round has one, the others {word(int(rounds['SWEEPS']))}."
    assert damping == 1
    ten = {10: "ten"}[strong]
    assert abs(float(rounds["MIN_EPSILON_OF_ROUNDS:double"]) / np.finfo(float).eps ** 0.6 - 1) < 0.05
    yield rf"namely the residual itself ({ten} times that in rounds from nothing), and $\epsilon^{{0.6}}$ at least"
    yield f"A round takes up to {word(int(rounds['NEWTON_STEPS']))} Newton steps, as long as each leaves less than the"
    yield rf"with $\delta = \nu$, in the second trial ${smoother:g} \nu$"
    yield f"a box has {word(3 * KEPT)} rows on {word(KEPT)} corners"
    many = engine.load(engine.find_robot("quadruped")).nv
    yield f"the factor of a quadruped's {many} × {many} matrix"


PLANS = (
    "WARM_START", "OVERLAP_START", "COLD_START", "POLISH_FIRST", "INTERIOR", "POLISH", "HELD_SLIP_INTERIOR",
    "POLISH_AGAIN", "DETACH", "COLD_SMALL_R", "COLD_LARGE_R", "POLISH_LAST",
)  # fmt: skip


def plan_rows() -> Iterable[str]:
    """The rows of the table of plans."""
    near = f"where these leave less than {e(search._SWITCH_RESIDUAL)} ({e(search._SWITCH_RESIDUAL_SINGLE)})"
    begins = {
        "WARM_START": f"the impulses of the step before, where these leave less than {g(WARM_START_RESIDUAL)}",
        "COLD_START": "no impulses", "POLISH_FIRST": f"the best impulses, {near}",
        "INTERIOR": "no impulses, or near the best ones", "HELD_SLIP_INTERIOR": "as `INTERIOR`",
        "COLD_SMALL_R": "no impulses", "COLD_LARGE_R": "no impulses",
        "DETACH": "the best impulses, without those of these contacts",
    }  # fmt: skip
    for k, name in enumerate(PLANS):
        if name == "OVERLAP_START":
            continue
        assert getattr(search, name) == k
        plan, single = (search._plan.function(k, x) for x in (False, True))
        most, interior = plan.max_steps, "the [interior point](#the-interior-point)"
        how = ("Newton's steps", "whole Newton steps", interior)[plan.method]
        if name == "HELD_SLIP_INTERIOR":
            how = "the interior point with the slip held within a step"
        bracket = f" ({single.max_steps})" if single.max_steps != most else ""
        times = "–" if plan.method == search._INTERIOR_POINT else g(plan.r_scale)
        times_tried = f"`, up to {search._MAX_DETACHED} times" if name == "DETACH" else "`"
        how = f"{how} with contacts held open" if name == "DETACH" else how
        yield f"| `{name}{times_tried} | {how} | {begins.get(name, 'the best impulses')} | {times} | {most}{bracket} |"


@page_text.of(SOLVER)
def by_bodies() -> Iterable[str]:
    """Where Newton's steps over the bodies begin, and their damping."""
    plans = range(search.COLD_START, search.POLISH_LAST + 1)
    follows = search._next_plan.function
    assert [follows(k, 1, 4, 0.0) for k in (search.WARM_START, *plans[:-1])] == list(plans)
    assert (follows(search.COLD_START, 1, 0, 1.0), follows(search.COLD_START, 0, 0, 1.0)) == (
        search.INTERIOR, search.COLD_SMALL_R
    )  # fmt: skip
    yield from plan_rows()
    most = search._plan.function(search.OVERLAP_START, False).max_steps
    yield f"Newton's steps from no impulses, at most {most}."
    yield (
        f"$\\epsilon$ follows the merit, down to {g(rounding.min_epsilon(1.0))}, and is "
        f"{e(search._FINAL_EPSILON)} in the last step: a smaller $\\epsilon$ makes a step more accurate, but "
        "rounding leaves 1e-16 over $\\epsilon$ of the"
    )
    yield f"down to a residual of {e(search._SWITCH_RESIDUAL)} ({e(search._SWITCH_RESIDUAL_SINGLE)})"
    products = f"{word(round(search._START_PRODUCTS))} times that residual and at least {e(search._MIN_START_PRODUCTS)}"
    yield f"leave less than {e(search._KINK)}, as beside a kink, it begins near their impulses, with $\\nu$ {products}"
    small = f"After a step of less than {g(interior.SHORT)} at $\\nu$ below {g(interior._SMALL)}, $\\nu$ is made"
    yield f"{small} {word(round(interior._RECENTRING))} times as large"
    assert interior._IDLE == 60
    yield "until sixty in a row gain nothing"
    assert search._STALLED == 0.5
    yield (
        f"gives up after {word(search._MAX_STALLED)} steps in a row that gain less than half of a merit below "
        f"{e(search._SMALL_MERIT)}, or, of whole steps, that change the merit by less than "
        f"{search._STALLED_WHOLE:.0%}".replace("%", " %")
    )
    yield f"all of a Newton step or one of {word(search._HALVINGS)} halvings of it"


@page_text.of(COLLISION)
def geometry() -> Iterable[str]:
    """The points by which shapes touch, and how many contacts there may be."""
    many = {kind: len(heights_seen(kind)) for kind in ("sphere", "capsule", "box", "cylinder")}
    assert many["sphere"] == 1
    yield "| sphere | its centre, with its radius |"
    yield f"| capsule | the {word(many['capsule'])} ends of its axis, with its radius |"
    yield f"| box | its {word(many['box'])} corners |"
    yield (
        f"| cylinder | {word(many['cylinder'] // 2)} of each rim: the lowest, and a third of the way round to each "
        "side; a rim that lies flat keeps its three |"
    )
    kept = word(KEPT)
    yield f"At most {kept} points of a shape are contacts at a time: the deepest, the one farthest from it, and two"
    yield f"Of a hull with {WALKED} corners or more, height counts too"
    yield f"at {g(contact_tolerances.TILT_RATE)} rad/s, or at the speed of the deepest corner"
    yield f"touch in up to {kept} places, on triangles, edges and corners"
    yield f"Of more than {kept} the deepest, the farthest and the two that widen the area most are kept."
    shape, pair, ball = room()
    yield (
        f"{word(shape).capitalize()} for a shape on the ground, {word(pair)} for a pair and {word(ball)} for a "
        "pair with"
    )
    yield f"A robot that may have more than {contact_tolerances.MAX_CONTACTS} contacts"
    yield f"is refused if more than {ALL_PAIRS} pairs of its bodies may touch"
    assert manifold._COINCIDENT == 1e-5
    yield "Corners within a hundred-thousandth of the smaller shape of each other are one place"
    yield "then the shapes are moved apart along it by a hundredth of their size"
    assert convex._SHIFT == 1e-2
    yield f"boxes and capsules' axes are compared along {word(2 * 3 + 3 * 3)} axes, the normals of faces"
    yield f"A cylinder's end has {word(pair_workspace.RIM)} corners, and its lowest point where it is tilted."


@claims
def surfaces_and_pairs() -> Iterable[str]:
    """Whose coefficients hold, and which shapes are pairs."""
    yield f"finds up to {word(KEPT)} contacts, one if a shape is a sphere"
    yield f"**Of the two values the {decided()} applies**, for both coefficients."
    yield f"a foot of $\\mu = 10^{round(np.log10(LARGEST_FRICTION))}$, as found in files, then has the friction of"
    both, several = file_holds()
    assert both == "Bullet"
    yield f"or {both}'s `contact` with `lateral_friction` and `restitution`, which takes precedence."
    yield f"of `mu1` and `mu2` the {several} is used in all directions, with a warning"
    yield f"the {worst_of_a_call()} residual of all steps of a call is `contacts.worst`"
    assert Obstacle("sphere", (1.0,)).friction is None
    yield "An obstacle may have its own `friction`."


def room() -> tuple[int, int, int]:
    """The contacts that there is room for: of a box on the ground, of one with an obstacle, and of a ball with one."""
    obstacle = engine.Obstacle("box", (1.0, 1.0, 1.0), pose=(3.0, 0.0, 0.0))
    alone = Scene(ground=None, obstacles=(obstacle,))
    box, ball = (pairs(body(kind), alone).capacity for kind in ("box", "sphere"))
    return points(body(), Scene()).capacity, box, ball


@page_text.of(MEASURED)
def measured_on_two_cores() -> Iterable[str]:
    """The tables of the stored run, and the sentences derived from them."""
    run = real_robots
    yield (
        f"{word(len(run.ROBOTS)).capitalize()} robots of `example-robot-data` stand, walk (random setpoints, new ones "
        f"every {run.TOGETHER} steps) and fall without drives, by `implicit` with steps of {run.DT * 1e3:g} ms and "
        f"friction {g(run.FRICTION)}"
    )
    rows = measured.listed("contact-2-cores")
    assert [row["key"] for row in rows] == list(contact.TITLES)
    yield contact.markdown(rows)
    (ratio,) = re.findall(r'impratio="(\d+)"', mujoco_contact.FREE)
    yield f"MuJoCo 4.0 has elliptic cones and `impratio` {ratio}"
    sinks = next(row for row in rows if row["key"] == "scenes")["peers"]["mujoco"]["box at rest, its depth, m"]
    yield f"a box sinks by {float(f'{sinks * 1e3:.0e}'):g} mm"


@page_text.of(DENSE)
def hand_written_kernels() -> Iterable[str]:
    """Which robots have kernels of their own, and what single precision is held to."""
    yield f"| {word(limbs_of.LANES)} limbs of as many revolute joints on a free body"
    yield f"| {lane_bodies._LEAST} to {lane_bodies.WARP} bodies on a free first one, all other joints of one coordinate"
    trunk = page_text.constants("rigid_body/limbs.cuh")["TRUNK_NV"]
    yield f"all lanes alike the trunk's {word(int(trunk))}"
    limb = page_text.constants("constraints/contact_law.cuh") | page_text.constants("constraints/limb_newton.cuh")
    yield f"damped by {limb['EPSILON_PER_RESIDUAL']} times the residual."
    yield f"Most robots obey the law within {limb['TYPICAL_STEPS']} of"
    yield f"After {limb['ROUNDS_FROM']}, robots that do not begin again at the best impulses"
    assert (limb["EPSILON_FACTOR:single"], limb["EPSILON_FACTOR:double"]) == ("0.3", "0.1")
    yield f"{limb['DAMPED_IN_ROUND']} steps with much damping, {limb['FIRST_EPSILON']} and then a third of it"
    yield f"{limb['LEADING_IN_ROUND']} steps with hardly any, each at most up to the next active set"
    share = {name: f"{float(limb[name]):.2g}" for name in ("OVERSHOOT", "MIN_LEADING_LENGTH", "STALLED")}
    assert share == {"OVERSHOOT": "0.001", "MIN_LEADING_LENGTH": "0.05", "STALLED": "0.2"}
    yield "A step goes 0.1 % past it, so that the set changes, but at least 5 % of its length"
    yield "changed by less than 20 %, a step whose nearest set lies beyond its end goes on"
    yield f"At step {limb['INTERIOR_FROM']} the interior point follows"
    yield (
        f"In single precision the tolerance on the residual is {e(contact_tolerances.RESIDUAL_TOLERANCE_SINGLE)}; "
        f"after two rounds {e(contact_tolerances.ACCEPTED_RESIDUAL_SINGLE)} is let pass"
    )
    gap = contact_tolerances.GAP_TOLERANCE_SINGLE
    yield f"A gap of less than {e(gap)} m for each metre of the coordinates counts as shut"
    yield f"an overlap of less than {e(contact_tolerances.OVERLAP_TOLERANCE_SINGLE)} m counts as none"


@claims
def served() -> Iterable[str]:
    """The algorithms that step robots in a scene."""
    on = " or ".join(name.upper() for name in steppers.IN_SCENE["cuda"])
    yield f"Robots in a scene step there by {on}."


TRIALS = "trials made once by hand, which no file keeps"
HELD = "tests hold it, with bounds of their own, or it is arithmetic"
exempt(
    PAGE,
    TRIALS,
    "A chain of 1000 links that moves on the ground leaves a residual above 1e-8 in some steps, up to 1e-3.",
    "at $e = 1$ it did in 166 of 200 random impacts of a humanoid",
    "one that began 5 mm deep flew 46 mm high",
)
exempt(DENSE, TRIALS, "alone they leave 41 % of a humanoid's standing states above 1e-6 after five hundred")
exempt(
    COLLISION,
    TRIALS,
    "Compared with coal 3.0.3 … the depth is within 1 % of the least.",
    "With its SRDF Talos, 52 meshes, has room for 3700, ANYmal for 1700.",
)
exempt(PAGE, HELD, "A ball of radius 0.1 m … with 10 mm/s")
exempt(PAGE, HELD, "to 1e-6, and its slip is zero to as much", "normal and tangential impulses of a contact | 1, 2 |")
exempt(DENSE, HELD, "a sweep takes $2 n^2$ and 250 for each contact")
MADE_ONCE = "measured on an H200, or by kernels compiled for the host, by scripts around the kernels"
exempt(
    MEASURED,
    MADE_ONCE,
    "On 2026-11-29 the same rows … 18.1 and 23.0 M steps/s.",
    "slower than on the 23rd",
    "standing quadrupeds make 136 … 8192 standing humanoids 1.3 M.",
)
exempt(PAGE, MADE_ONCE, "in single precision 0.3 MB for our quadruped … This limits the batch.")
exempt(DENSE, MADE_ONCE, "To hold (C8) to 1e-4 … which takes double precision.")
exempt(
    MEASURED,
    MADE_ONCE,
    "8192 and 65536 at once … MuJoCo Warp 4.0",
    "by `implicit` with steps of 2 ms and humanoids of 1 ms … over the first 400 steps",
)
