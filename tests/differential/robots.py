"""Random robots of cases, as the plain data that `urdf_text` describes: each one loads, with warnings at most."""

from typing import NamedTuple

import numpy as np

from tests.differential.chances import Rng, chance, log_uniform, one_of, pick, rounded, unit
from tests.differential.solids import shape

SCALAR = ("revolute", "continuous", "prismatic")
_KINDS = {
    "revolute": 0.36, "continuous": 0.16, "prismatic": 0.18, "planar": 0.1, "spherical": 0.17, "floating": 0.03,
}  # fmt: skip
_SIZES = {1: 1.5, 2: 2, 3: 2.5, 4: 2, 5: 1.5, 6: 1.2, 7: 1, 8: 0.8, 9: 0.6, 10: 0.6}
_UNLIMITED = 1e10
G = 9.81


class Demands(NamedTuple):
    """An algorithm's requirements on a robot."""

    serial: bool
    """A chain of joints of one coordinate on a fixed base, every body with mass."""
    follows: bool
    """Joints may mimic others."""
    touches: bool
    """There must be a shape that moves."""
    apart: bool
    """Two trees at least, so that shapes of the robot may meet."""


def robot(rng: Rng, demands: Demands) -> dict:
    """A robot of 1 to 10 moving bodies."""
    sizes = {n: weight for n, weight in _SIZES.items() if n > 1 or not (demands.apart or demands.follows)}
    return _Maker(rng, demands, pick(rng, sizes)).robot()


def angles(rng: Rng, turned: float = 0.7) -> list:
    """Draw rpy: zero, a multiple of a right angle, or any."""
    if not chance(rng, turned):
        return [0.0, 0.0, 0.0]
    if chance(rng, 0.2):
        return [one_of(rng, (-np.pi / 2, 0.0, np.pi / 2, np.pi)) for _ in range(3)]
    return rounded(rng.uniform(-3, 3, 3))


def _axis(rng: Rng) -> list:
    if chance(rng, 0.3):
        axis = [0.0, 0.0, 0.0]
        axis[int(rng.integers(3))] = one_of(rng, (-1.0, 1.0))
        return axis
    return rounded(unit(rng))


def _inertial(rng: Rng, mass: float, size: float) -> dict:
    """A body of that mass within about that size: its centre and axes anywhere."""
    second = mass * size**2 * np.diag(rng.uniform(0.02, 0.12, 3))
    if chance(rng, 0.5):
        root = rng.standard_normal((3, 3)) * size * 0.15
        second += mass * root @ root.T
    I = np.trace(second) * np.eye(3) - second
    centre = [0.0, 0.0, 0.0] if chance(rng, 0.2) else rounded(rng.uniform(-0.5, 0.5, 3) * size)
    return {"mass": rounded(mass), "xyz": centre, "rpy": angles(rng, 0.5), "moments": rounded(I[np.triu_indices(3)], 6)}


class _Maker:
    """A robot on its way: links and joints, each link with the joint that carries it."""

    def __init__(self, rng: Rng, demands: Demands, count: int):
        self.rng, self.demands, self.count = rng, demands, count
        self.links: list[dict] = []
        self.joints: list[dict] = []
        self.fixed = 0
        self.touching = demands.touches or chance(rng, 0.3)
        self.shape_share = one_of(rng, (0.3, 0.6, 0.9))
        self.surface_share = one_of(rng, (0.0, 0.3, 0.8))
        self.branching = one_of(rng, (0.0, 0.3, 0.7))

    def robot(self) -> dict:
        rng, masses = self.rng, self._masses()
        base, roots = self._base()
        self._link("base", masses[0] if base == "loaded free" or chance(rng, 0.4) else None)
        start = 1 if base == "loaded free" else 0
        for k in range(start, self.count):
            parent = "base" if k in roots or k == start else self._parent()
            kind = "floating" if k in roots else self._kind(base)
            self._between(parent, kind, f"link{k + 1}", masses[k])
        self._leaves()
        if self.demands.follows:
            self._mimics()
        self._resistance()
        self._require_shapes()
        names = [link["name"] for link in self.links]
        pairs = min(int(rng.integers(0, 4)) if chance(rng, 0.35) else 0, len(names) * (len(names) - 1) // 2)
        return {
            "name": "case",
            "floating": base == "loaded free",
            "gravity": self._gravity(),
            "links": self.links,
            "joints": self.joints,
            "disabled": [[str(x) for x in rng.choice(names, 2, replace=False)] for _ in range(pairs)],
        }

    def _gravity(self) -> list | None:
        rng = self.rng
        if not chance(rng, 0.12):
            return None
        return [0.0, 0.0, 0.0] if chance(rng, 0.3) else rounded(rng.uniform(-10, 10, 3))

    def _base(self) -> tuple[str, set[int]]:
        """Draw the robot's base, and the bodies on free joints."""
        rng = self.rng
        if self.demands.serial:
            return "fixed", set()
        kind = pick(rng, {"fixed": 0.42, "free": 0.18, "loaded free": 0.15, "several": 0.25})
        if self.demands.apart and not chance(rng, 0.4):
            kind = "several"
        if kind == "free":
            return kind, {0}
        if kind == "several" and self.count > 1:
            count = int(rng.integers(2, min(self.count, 5) + 1))
            return kind, {0, *(int(k) for k in rng.choice(np.arange(1, self.count), count - 1, replace=False))}
        return ("fixed" if kind == "several" else kind), set()

    def _masses(self) -> list[float]:
        rng, n = self.rng, self.count
        way = pick(rng, {"alike": 0.45, "any": 0.3, "falling": 0.15, "rising": 0.1})
        if way == "alike":
            return [log_uniform(rng, 0.4, 2) for _ in range(n)]
        if way == "any":
            return [log_uniform(rng, 0.01, 100) for _ in range(n)]
        heavy, ratio = log_uniform(rng, 0.5, 30), log_uniform(rng, 5, 1e4)
        masses = [heavy * ratio ** (-k / max(n - 1, 1)) for k in range(n)]
        return masses if way == "falling" else masses[::-1]

    def _parent(self) -> str:
        moving = [joint["child"] for joint in self.joints if joint["kind"] != "fixed"] or ["base"]
        if self.demands.serial or not chance(self.rng, self.branching):
            return moving[-1]
        return one_of(self.rng, ["base", *moving])

    def _kind(self, base: str) -> str:
        kinds = {key: p for key, p in _KINDS.items() if key in SCALAR or not self.demands.serial}
        if base == "loaded free":
            kinds.pop("floating", None)
        return pick(self.rng, kinds)

    def _between(self, parent: str, kind: str, name: str, mass: float) -> None:
        """A moving link, now and then with one between that is fixed to the parent."""
        rng = self.rng
        if chance(rng, 0.12):
            parent = self._fixed(parent)
        if chance(rng, 0.04) and kind in SCALAR and not self.demands.serial:
            self._link(f"{name}_light", None)
            self._join(name + "_light", one_of(rng, ("revolute", "prismatic")), parent)
            parent = f"{name}_light"
        self._link(name, mass)
        self._join(name, kind, parent)

    def _fixed(self, parent: str) -> str:
        self.fixed += 1
        name = f"fixed{self.fixed}"
        self._link(name, log_uniform(self.rng, 0.05, 1) if chance(self.rng, 0.6) else None)
        self._join(name, "fixed", parent)
        return name

    def _leaves(self) -> None:
        for _ in range(pick(self.rng, {0: 0.75, 1: 0.15, 2: 0.1})):
            self._fixed(one_of(self.rng, self.links)["name"])

    def _link(self, name: str, mass: float | None) -> None:
        rng, size = self.rng, log_uniform(self.rng, 0.05, 0.3)
        shapes: list[dict] = []
        if self.touching and chance(rng, self.shape_share):
            shapes = [shape(rng, size) for _ in range(pick(rng, {1: 0.7, 2: 0.2, 3: 0.1}))]
        text = chance(rng, self.surface_share)
        friction = one_of(rng, (0.0, 0.1, 0.5, 1.5)) if text and chance(rng, 0.8) else None
        restitution = one_of(rng, (0.0, 0.2, 0.7, 1.0)) if text and chance(rng, 0.5) else None
        way = one_of(rng, ("gazebo", "bullet")) if friction is not None or restitution is not None else None
        inertial = None if mass is None else _inertial(rng, mass, size)
        self.links.append(
            {
                "name": name,
                "inertial": inertial,
                "shapes": shapes,
                "friction": friction,
                "restitution": restitution,
                "surface": way,
            }
        )

    def _join(self, child: str, kind: str, parent: str) -> None:
        rng = self.rng
        reach = log_uniform(rng, 0.05, 0.5)
        xyz = [0.0, 0.0, 0.0] if chance(rng, 0.1) else rounded(rng.uniform(-1, 1, 3) * reach)
        self.joints.append(
            {
                "name": f"to_{child}",
                "kind": kind,
                "parent": parent,
                "child": child,
                "xyz": xyz,
                "rpy": angles(rng),
                "axis": _axis(rng),
                "limit": None,
                "dynamics": None,
                "mimic": None,
            }
        )

    def _require_shapes(self) -> None:
        """Ensure at least one moving shape, or one on each free body if these must collide."""
        if not self.demands.touches:
            return
        movers = [joint["child"] for joint in self.joints if joint["kind"] != "fixed"] or ["base"]
        if self.demands.apart:
            roots = [joint["child"] for joint in self.joints if joint["kind"] == "floating"]
            movers = roots or movers
        for link in self.links:
            few = self.demands.apart and len(movers) > 1
            if link["name"] in (movers if few else movers[-1:]) and not link["shapes"]:
                link["shapes"] = [shape(self.rng, log_uniform(self.rng, 0.05, 0.3))]

    def _mimics(self) -> None:
        """Followers of one or two leaders, some of them by way of other followers."""
        rng = self.rng
        scalar = [joint for joint in self.joints if joint["kind"] in SCALAR]
        while len(scalar) < 2:
            joint = next((j for j in self.joints if j["kind"] not in SCALAR and j["kind"] != "fixed"), None)
            candidates = [j for j in self.joints if j["kind"] in ("planar", "spherical")]
            joint = candidates[0] if candidates else joint
            if joint is None or not candidates:
                return
            joint["kind"] = "revolute"
            scalar = [joint for joint in self.joints if joint["kind"] in SCALAR]
        order = [scalar[int(k)] for k in rng.permutation(len(scalar))]
        leaders = 1 if len(order) < 4 or chance(rng, 0.6) else 2
        for k in range(leaders, min(len(order), leaders + int(rng.integers(1, 4)))):
            before = order[: k if chance(rng, 0.25) else leaders]
            leader = before[int(rng.integers(len(before)))]
            multiplier = one_of(rng, (1.0, -1.0, 0.5, -0.7, 2.0, rounded(rng.uniform(-2, 2))))
            offset = 0.0 if chance(rng, 0.4) else rounded(rng.uniform(-0.5, 0.5))
            order[k]["mimic"] = {"joint": leader["name"], "multiplier": multiplier, "offset": offset}

    def _resistance(self) -> None:
        """Draw limits, damping and friction in proportion to each joint's load; for no, a few, or many joints."""
        rng = self.rng
        carried = {link["name"]: link["inertial"]["mass"] if link["inertial"] else 0.0 for link in self.links}
        for joint in reversed(self.joints):
            if joint["parent"] in carried and joint["kind"] != "floating":
                carried[joint["parent"]] += carried[joint["child"]]
        limited, resisted = (one_of(rng, (0.0, 0.4, 0.9)) for _ in range(2))
        for joint in self.joints:
            if joint["kind"] in ("fixed", "floating", "planar"):
                continue
            weight = max(carried[joint["child"]], 1e-3)
            if joint["kind"] in ("revolute", "prismatic") or chance(rng, 0.6):
                joint["limit"] = self._limit(joint["kind"], weight, limited)
            if chance(rng, resisted):
                damping = weight * log_uniform(rng, 1e-3, 1) * chance(rng, 0.7)
                friction = weight * G * 0.2 * log_uniform(rng, 1e-2, 2) * chance(rng, 0.7)
                joint["dynamics"] = {"damping": rounded(damping), "friction": rounded(friction)}

    def _limit(self, kind: str, weight: float, share: float) -> dict | None:
        rng = self.rng
        if kind in ("revolute", "prismatic") and chance(rng, 0.1):
            return None
        scale = 0.2 if kind == "prismatic" else 1.0
        ends: dict = {"lower": None, "upper": None}
        if kind in ("revolute", "prismatic"):
            lower, upper = rounded(-rng.uniform(0.1, 2) * scale), rounded(rng.uniform(0.1, 2) * scale)
            if not chance(rng, max(share, 0.1)):
                lower, upper = -_UNLIMITED, _UNLIMITED
            ways = {"both": 0.6, "lower": 0.1, "upper": 0.1, "no upper": 0.1, "no lower": 0.08, "shut": 0.02}
            ends = {
                "both": {"lower": lower, "upper": upper},
                "lower": {"lower": lower, "upper": _UNLIMITED},
                "upper": {"lower": -_UNLIMITED, "upper": upper},
                "no upper": {"lower": lower, "upper": None},
                "no lower": {"lower": None, "upper": upper},
                "shut": {"lower": 0.1 * scale, "upper": 0.1 * scale},
            }[pick(rng, ways)]
        effort = rounded(weight * G * 0.2 * log_uniform(rng, 0.05, 5)) if chance(rng, share) else _UNLIMITED
        velocity = rounded(log_uniform(rng, 0.1, 6) * scale) if chance(rng, share) else _UNLIMITED
        return ends | {"velocity": velocity, "effort": effort}
