"""A model as the text of a URDF."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import numpy as np

from engine import lie
from engine.model import Collision, Model, Visual

_NO_LIMIT = 1e10
"""The value in a file for a limit that does not limit."""
COLORS = ((0.87, 0.88, 0.90, 1.0), (0.16, 0.47, 0.75, 1.0))


def _numbers(values: np.ndarray | tuple[float, ...]) -> str:
    return " ".join(repr(float(value) + 0.0) for value in np.ravel(values))


def origin_element(R: np.ndarray, p: np.ndarray) -> str:
    """Return the element of a pose: R (3, 3) and p (3,), m."""
    return f'<origin xyz="{_numbers(p)}" rpy="{_numbers(lie.rpy_from_rotation(R))}"/>'


def _inertial(model: Model, body: int) -> str:
    center = model.first_moment[body] / model.mass[body]
    c = lie.skew(center)
    inertia = (model.inertia[body] + model.mass[body] * c @ c)[np.triu_indices(3)]
    entries = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), inertia, strict=True)
    attributes = " ".join(f'{key}="{float(value)!r}"' for key, value in entries)
    mass = f'<mass value="{float(model.mass[body])!r}"/>'
    return f'    <inertial><origin xyz="{_numbers(center)}"/>{mass}<inertia {attributes}/></inertial>'


def _geometry(shape: Visual | Collision) -> str:
    origin = origin_element(shape.pose[:3, :3], shape.pose[:3, 3])
    if shape.shape == "mesh":
        attributes = f'filename={quoteattr(shape.mesh or "")} scale="{_numbers(shape.size)}"'
    elif shape.shape == "box":
        attributes = f'size="{_numbers(shape.size)}"'
    else:
        sizes = zip(("radius", "length"), shape.size, strict=False)
        attributes = " ".join(f'{key}="{size!r}"' for key, size in sizes)
    return f"{origin}<geometry><{shape.shape} {attributes}/></geometry>"


def _visual(visual: Visual) -> str:
    rgba = _numbers(visual.color or COLORS[0])
    material = f'<material name="color{visual.link % 2}"><color rgba="{rgba}"/></material>'
    return f"    <visual{_named(visual)}>{_geometry(visual)}\n      {material}</visual>"


def _collision(collision: Collision) -> str:
    return f"    <collision{_named(collision)}>{_geometry(collision)}</collision>"


def _named(shape: Visual | Collision) -> str:
    return f" name={quoteattr(shape.name)}" if shape.name else ""


def _limit(model: Model, v: int) -> str:
    """Return the limits of one velocity, which a prismatic joint must have."""
    ends = {"lower": model.lower, "upper": model.upper, "effort": model.effort_limit, "velocity": model.velocity_limit}
    return " ".join(f'{name}="{float(np.clip(x[v], -_NO_LIMIT, _NO_LIMIT))!r}"' for name, x in ends.items())


def _link(model: Model, index: int, shapes: list[str]) -> list[str]:
    body = int(model.link_body[index])
    inertial = [_inertial(model, body)] if body >= 0 else []
    return [f"  <link name={quoteattr(model.link_names[index])}>", *inertial, *shapes, "  </link>"]


def urdf(model: Model) -> str:
    """Return a generated chain, tree or free body as URDF, for `engine.load` with the model's `options`.

    Loading the text reproduces the model to full precision.
    """
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(model.name)}>"]
    shapes: list[list[str]] = [[] for _ in model.link_names]
    for visual in model.visuals:
        shapes[visual.link].append(_visual(visual))
    for collision in model.collisions:
        shapes[collision.link].append(_collision(collision))
    rough = {each.link: each.friction for each in model.collisions if each.friction is not None}
    for index, friction in rough.items():
        shapes[index].append(f'    <contact><lateral_friction value="{friction!r}"/></contact>')
    for index in range(len(model.link_names)):
        lines += _link(model, index, shapes[index])
    for i, joint in enumerate(() if model.options.get("floating") else model.joints):
        parent = model.link_names[int(model.parent[i]) + 1]
        lines += [
            f'  <joint name="{joint.name}" type="{joint.kind}">',
            f"    {origin_element(model.home_rotation[i], model.home_position[i])}",
            f"    <parent link={quoteattr(parent)}/><child link={quoteattr(model.link_names[i + 1])}/>",
            '    <axis xyz="0 0 1"/>',
        ]
        if joint.kind == "prismatic":
            lines.append(f"    <limit {_limit(model, joint.v.start)}/>")
        lines.append("  </joint>")
    return "\n".join([*lines, "</robot>", ""])
