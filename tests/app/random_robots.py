"""Random robots: every joint type, rotated frames, shapes and masses off their links' origins."""

from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

import engine
from engine import lie

KINDS = ("revolute", "prismatic", "continuous", "spherical", "planar", "fixed")
WORDS = ("Gelenk", "关节", "joint", "hip & knee", "a/b", "x.y", "‖·‖")


def robot(
    folder: Path, rng: np.random.Generator, links: int = 9, *, free: bool = False, turned: bool = False,
    shapes: tuple[str, ...] = ("box", "sphere", "cylinder", "capsule"), kinds: tuple[str, ...] = KINDS,
    plain: bool = False,
) -> engine.Model:  # fmt: skip
    """Load a robot from a file written to `folder`: `free`, with a `turned` free joint, or on a fixed base.

    The last joint mimics an earlier one if possible. `plain`: without limits, damping and friction.
    """
    used = [*kinds, *rng.choice(kinds, max(0, links - len(kinds)))][:links]
    order = [used[k] for k in rng.permutation(len(used))]
    text = ['<link name="world"/>'] if turned else []
    text.append(_link("base", rng, shapes if free or turned else ()))
    if turned:
        text.append(_joint("root", "floating", "world", "base", rng, ""))
    leaders: list[str] = []
    for k, kind in enumerate(order):
        name, above = _name("joint", k, rng), "base" if rng.random() < 0.2 or not k else f"link {k - 1}"
        text.append(_link(f"link {k}", rng, shapes))
        text.append(_joint(name, kind, above, f"link {k}", rng, "" if plain else _dynamics(kind, rng)))
        if kind in ("revolute", "prismatic", "continuous"):
            leaders.append(name)
    if leaders:
        mimic = f"<mimic joint={quoteattr(leaders[0])} multiplier={_q(rng.uniform(-2, 2))} offset={_q(rng.normal())}/>"
        follower = "revolute" if rng.random() < 0.5 else "prismatic"
        limit = '<limit lower="-9" upper="9" effort="99" velocity="9"/>'
        text += [_link("hand", rng, shapes), _joint("follower", follower, "base", "hand", rng, limit + mimic)]
    path = folder / f"robot {rng.integers(1 << 60)}.urdf"
    path.write_text('<robot name="any &lt;robot&gt;">' + "\n".join(text) + "</robot>", encoding="utf-8")
    return engine.load(path, floating=free)


def _name(what: str, number: int, rng: np.random.Generator) -> str:
    return f"{WORDS[rng.integers(len(WORDS))]} {what} {number}"


def _q(value: float) -> str:
    return f'"{value:.6f}"'


def _three(rng: np.random.Generator, size: float) -> str:
    return " ".join(f"{x:.6f}" for x in rng.uniform(-size, size, 3))


def _origin(rng: np.random.Generator, size: float) -> str:
    return f'<origin xyz="{_three(rng, size)}" rpy="{_three(rng, 3)}"/>'


def _link(name: str, rng: np.random.Generator, shapes: tuple[str, ...]) -> str:
    """A body as a few point masses make it, and two shapes of its own."""
    points, masses = rng.normal(0, 0.06, (6, 3)), rng.uniform(0.05, 0.3, 6)
    points -= masses @ points / masses.sum()
    I = np.einsum("k,kij->ij", masses, [(p @ p) * np.eye(3) - np.outer(p, p) for p in points])
    names = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), I[np.triu_indices(3)], strict=True)
    inertia = " ".join(f'{key}="{float(value)!r}"' for key, value in names)
    drawn = "".join(
        f"<{use}>{_origin(rng, 0.05)}<geometry>{_shape(str(rng.choice(shapes)), rng)}</geometry></{use}>"
        for use in ("visual", "collision", "visual") if shapes
    )  # fmt: skip
    mass = f"<inertial>{_origin(rng, 0.08)}<mass value={_q(masses.sum())}/><inertia {inertia}/></inertial>"
    return f"<link name={quoteattr(name)}>{mass}{drawn}</link>"


def _shape(kind: str, rng: np.random.Generator) -> str:
    a, b, c = rng.uniform(0.03, 0.12, 3)
    if kind == "box":
        return f'<box size="{a:.4f} {b:.4f} {c:.4f}"/>'
    return f"<sphere radius={_q(a)}/>" if kind == "sphere" else f"<{kind} radius={_q(a)} length={_q(b)}/>"


def _joint(name: str, kind: str, parent: str, child: str, rng: np.random.Generator, inner: str) -> str:
    axis = f'<axis xyz="{_three(rng, 1)}"/>' if kind not in ("fixed", "floating", "spherical") else ""
    if kind in ("revolute", "prismatic") and "<limit" not in inner:
        inner += '<limit lower="-1e10" upper="1e10" effort="1e10" velocity="1e10"/>'
    return (
        f'<joint name={quoteattr(name)} type="{kind}"><parent link={quoteattr(parent)}/>'
        f"<child link={quoteattr(child)}/>{_origin(rng, 0.3)}{axis}{inner}</joint>"
    )


def _dynamics(kind: str, rng: np.random.Generator) -> str:
    if kind not in ("revolute", "prismatic", "continuous"):
        return ""
    lower, upper = sorted(rng.uniform(-2, 2, 2))
    ends = "" if kind == "continuous" else f"lower={_q(lower)} upper={_q(upper)}"
    damping, friction = rng.uniform(0, 0.2, 2)
    limit = f"<limit {ends} effort={_q(rng.uniform(5, 60))} velocity={_q(rng.uniform(1, 9))}/>"
    return f"{limit}<dynamics damping={_q(damping)} friction={_q(friction)}/>"


def robots(folder: Path, rng: np.random.Generator, **how: bool) -> list[engine.Model]:
    """Return a fixed robot, a free one, and one whose free joint is rotated in the world."""
    return [robot(folder, rng, **how, **base) for base in ({}, {"free": True}, {"turned": True})]


def moved(model: engine.Model, q: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
    """q (nq,) after h s at v (nv,)."""
    there = np.array(q, float)
    for joint in model.joints:
        if joint.leader is not None:
            continue
        rate, place = v[joint.v], joint.q.start
        if joint.kind in ("floating", "spherical"):
            start = joint.q.stop - 4
            R = lie.rotation_from_quaternion(q[start : joint.q.stop])
            if joint.kind == "floating":
                there[place : place + 3] += h * R @ rate[3:]
            there[start : joint.q.stop] = _turned(q[start : joint.q.stop], h * rate[:3])
        else:
            there[joint.q] += h * rate
    return there


def _turned(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """A quaternion x, y, z, w after a turn about its own axes."""
    half = np.linalg.norm(vector) / 2
    x, w = np.sinc(half / np.pi) / 2 * vector, np.cos(half)
    a, b = quaternion[:3], quaternion[3]
    return np.append(b * x + w * a + np.cross(a, x), b * w - a @ x)


def bodies(model: engine.Model, poses: np.ndarray) -> dict[int, np.ndarray]:
    """The frames (4, 4) of bodies that carry links, by number, for links at (links, 4, 4)."""
    found = {}
    for link, body in enumerate(model.link_body.tolist()):
        if body >= 0:
            own = np.eye(4)
            own[:3, :3], own[:3, 3] = model.link_rotation[link], model.link_position[link]
            found[body] = poses[link] @ np.linalg.inv(own)
    return found


def center_of(model: engine.Model, body: int) -> np.ndarray:
    """A body's centre of mass in its own frame, m."""
    return model.first_moment[body] / model.mass[body]


def about_center(model: engine.Model, body: int) -> np.ndarray:
    """Return the body's inertia (3, 3) about its centre of mass, in its own axes, kg m²."""
    c = center_of(model, body)
    return model.inertia[body] - model.mass[body] * (c @ c * np.eye(3) - np.outer(c, c))


def jacobians(model: engine.Model, q: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """(links, 6, nv): how fast links turn and their origins move for each of v, by differences of poses."""
    found = np.zeros((len(model.link_names), 6, model.nv))
    for k, unit in enumerate(np.eye(model.nv)):
        behind, ahead = (np.asarray(engine.link_poses(model, moved(model, q, unit, s * h))) for s in (-1, 1))
        turn = (ahead[:, :3, :3] - behind[:, :3, :3]) / (2 * h) @ ((ahead + behind)[:, :3, :3] / 2).transpose(0, 2, 1)
        found[:, :3, k] = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], 1)
        found[:, 3:, k] = (ahead[:, :3, 3] - behind[:, :3, 3]) / (2 * h)
    return found


def base_pose(model: engine.Model, joint: engine.Joint, q: np.ndarray) -> np.ndarray:
    """Return the pose (4, 4) that a free joint gives its body at q (nq,): in the world, or else on its parent."""
    body, home, moved = joint.bodies.start, np.eye(4), np.eye(4)
    moved[:3, :3], moved[:3, 3] = engine.lie.rotation_from_quaternion(q[joint.q][3:]), q[joint.q][:3]
    if model.parent[body] < 0:
        home[:3, :3], home[:3, 3] = model.home_rotation[body], model.home_position[body]
    return np.asarray(home @ moved)
