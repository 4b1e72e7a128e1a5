"""Computations of the lesson on contact: an impact at a robot's last link, and a sliding box, by two laws.

An impulse λ at a contact gives its point the velocity u = G λ + b. The exact law is Coulomb's with Signorini's,
docs/contact.md (C2), as in `engine.algorithms.contact_law`; the *relaxed* law omits μ |u_t|, which makes it convex
(Anitescu 2006).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from engine.algorithms import contact_law
from engine.algorithms.motion import equations_of_motion, motion, point_jacobian
from engine.blocks.stages import stage
from engine.lessons.counting import plain
from engine.lie import Array
from engine.model import Model
from engine.model.generate import free_body
from engine.scene import Plane, Scene
from engine.simulation import Simulation

APPROACH = 1.0  # m/s, downward velocity of the last link
SIDEWAYS = 0.6  # tangential share of the impulse that stops it, relative to the normal
STICKS, SLIPS = 0.8, 0.3  # coefficients of friction above and below that share
SPEED, FRICTION, DT = 3.0, 0.5, 1e-3  # of the box: m/s, coefficient of friction, and step, s
GRAVITY = 9.81  # m/s²
SIZE, MASS = (0.4, 0.4, 0.1), 2.0  # of the engine's box, m and kg
SINGULAR = 1e-6  # of the larger eigenvalue of G for n and t₁: below that the two are one motion
TAKES = 5000  # maximum number of iterations of `touch`


class Touch(NamedTuple):
    """A contact: its coefficient of friction, the impulse, N s, and the velocity after it, m/s, as (n, t₁, t₂)."""

    mu: float
    impulse: Array
    u: Array


def mobility(model: Model, q: Array) -> Array:
    """Return G (3, 3), 1/kg, the inverse operational-space inertia of the last body's centre of mass.

    Rows and columns are (n, t₁, t₂): n points up, t₁ in the direction in which an impulse along n also moves the point.
    Raises ValueError if the point cannot move vertically, or sideways only in proportion to that.
    """
    at = motion(model, q, np.zeros(model.nv))
    M, _ = equations_of_motion(model, at)
    J = model.J[-1]  # m [c] is beside the moments of inertia
    center = np.array([J[2, 4], J[0, 5], J[1, 3]]) / max(J[3, 3], np.finfo(float).tiny)
    rows = point_jacobian(model, at, len(model.parent) - 1, at.p[-1] + at.R[-1] @ center)
    G = rows @ np.linalg.solve(M, rows.T)
    if G[2, 2] <= 1e-9 * np.trace(G) or G[2, 2] == 0:
        raise ValueError(
            f"the lesson on contact has the last link of {model.name} come down, which no joint lets it do as it "
            "stands; move it, or open arm7"
        )
    aside = G[2, :2] if np.hypot(*G[2, :2]) > 1e-9 * G[2, 2] else np.array([1.0, 0.0])
    x, y = aside / np.hypot(*aside)
    frame = np.array([[0.0, 0.0, 1.0], [x, y, 0.0], [-y, x, 0.0]])
    G = frame @ G @ frame.T
    smallest, largest = np.linalg.eigvalsh(G[:2, :2])
    if smallest <= SINGULAR * largest:
        raise ValueError(
            f"the lesson on contact has the last link of {model.name} pushed up and aside, which as it stands are one "
            "motion; bend its limb, or open arm7"
        )
    return np.asarray(G)


def impact(G: Array) -> tuple[Array, Array]:
    """b (3,), a velocity before contact, and the impulse (3,) that stops it, with the share `SIDEWAYS` tangential."""
    back = np.array([1.0, SIDEWAYS, 0.0])
    stopping = back * (APPROACH / (G @ back)[0])
    return -G @ stopping, stopping


def touch(law: str, G: Array, b: Array, mu: float, impulse: Array | None = None) -> Touch:
    """Solve the contact by a law, "exact" or "relaxed", by fixed-point iteration from a nearby impulse.

    Both are λ = P_K(λ − r (u + s)) for any r > 0, with s = μ |u_t| n for the exact law and s = 0 for the relaxed one.
    """
    r, slips = 1 / float(np.linalg.eigvalsh(G)[-1]), mu * (law == "exact")
    if impulse is None:
        impulse = np.zeros(3)
    for _ in range(TAKES):
        u = G @ impulse + b
        aside = np.array([slips * np.hypot(u[1], u[2]), 0.0, 0.0])
        before, impulse = impulse, contact_law.project(impulse - r * (u + aside), mu)
        if np.linalg.norm(impulse - before) <= 1e-15 * np.linalg.norm(impulse):
            break
    return Touch(mu, impulse, G @ impulse + b)


@cache
def slide(law: str, speed: float = SPEED) -> Array:
    """(steps, 2): distance and height, m, after each step, of a sliding box without rotation, until it rests.

    `law` is "exact" or "relaxed".
    """
    x, v, G = np.zeros(3), np.array([0.0, speed, 0.0]), np.eye(3) / MASS
    impulse: Array = np.zeros(3)
    path = [x[[1, 0]]]
    while v[1] > 1e-9 or x[0] > 1e-6:
        b = v - [GRAVITY * DT - x[0] / DT, 0.0, 0.0]
        _, impulse, u = touch(law, G, b, FRICTION, impulse)
        v = u - [x[0] / DT, 0.0, 0.0]
        x = x + DT * v
        path.append(x[[1, 0]])
    return np.array(path)


def run(model: Model, q: Array, _v: Array, _tau: Array) -> Array:
    """Return the box's sliding distance by the law, m, (1, 1), after the stages on the robot's last link."""
    last = range(len(model.parent) - 1, len(model.parent))
    G = mobility(model, plain(q)[0])
    b, stopping = impact(G)
    stage("mobility", last, G[None])
    for name, law, mu in (("stick", "exact", STICKS), ("slip", "exact", SLIPS), ("relaxed", "relaxed", SLIPS)):
        _, impulse, u = touch(law, G, b, mu)
        stage(name, last, impulse[None], u[None], stopping[None], np.array([mu]))
    for law in ("exact", "relaxed"):
        stage(f"{law} box", last, slide(law)[None])
    return slide("exact")[-1:, :1]


def of_engine(*_: object) -> Array:
    """(1,): the sliding distance of a box that may rotate, by the engine's own steps."""
    box = free_body("box", SIZE, MASS)
    steps = len(slide("exact")) - 1
    q, v = box.neutral(), np.array([0.0, 0.0, 0.0, SPEED, 0.0, 0.0])
    q[2] = SIZE[2] / 2
    simulation = Simulation(
        box, dt=DT, q=q, v=v, scene=Scene(ground=Plane(), friction=FRICTION), device="cpu", integrator="semi-implicit"
    )
    simulation.step(steps)
    return np.array([float(np.ravel(simulation.q)[0])])


def facts(model: Model, q: Array, *_: Array) -> dict[str, float | str]:
    """Return the facts used in the lesson's text."""
    G = mobility(model, plain(q))
    b = impact(G)[0]
    slips, rises = (touch(law, G, b, SLIPS) for law in ("exact", "relaxed"))
    true, lifted, twice = slide("exact"), slide("relaxed"), slide("relaxed", 2 * SPEED)
    push = np.diff(lifted[:, 1], 2) + GRAVITY * DT**2  # of the ground, in each step, m
    flight = int(np.argmax(push > GRAVITY * DT**2 / 2)) + 2
    height = 1000 * float(lifted[:, 1].max())
    return {
        "last_link": model.link_names[int(np.flatnonzero(model.link_body == len(model.parent) - 1)[0])],
        "pushed_aside": f"{float(G[1, 0] / G[0, 0]):.2f}",
        "approach": f"{APPROACH:g}",
        "needed": f"{SIDEWAYS:g}",
        "high_friction": f"{STICKS:g}",
        "low_friction": f"{SLIPS:g}",
        "slip_speed": f"{float(np.hypot(*slips.u[1:])):.2f}",
        "relaxed_slip": f"{float(np.hypot(*rises.u[1:])):.2f}",
        "relaxed_rise": f"{float(rises.u[0]):.2f}",
        "box_speed": f"{SPEED:g}",
        "box_friction": f"{FRICTION:g}",
        "box_way": f"{float(true[-1, 0]):.3f}",
        "first_rise": f"{float(lifted[1, 1] / DT):.2f}",
        "lift": f"{height:.0f}",
        "flight": f"{float(lifted[flight, 0]):.2f}",
        "relaxed_way": f"{float(lifted[-1, 0]):.2f}",
        "twice_speed": f"{2 * SPEED:g}",
        "lift_of_twice": f"{1000 * float(twice[:, 1].max()):.0f}",
    }
