"""JaxSim, if installed, given the same model as SDF text, since its URDF import needs Gazebo."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from engine import lie
from engine.bench.peers.peer import Missing, Timing, central_inertia, of_a_call, require
from engine.bench.states import State, residual
from engine.model import EARTH, PRISMATIC, Model
from engine.model.joints import NV
from engine.validation import Array

CHECKED = 64
FREELY = "<limit><lower>-1e16</lower><upper>1e16</upper></limit>"
BASE = (
    "<link name='base'><inertial><pose>0 0 0 0 0 0</pose><mass>1</mass><inertia><ixx>1</ixx><ixy>0</ixy><ixz>0</ixz>"
    "<iyy>1</iyy><iyz>0</iyz><izz>1</izz></inertia></inertial></link><joint name='to_world' type='fixed'>"
    "<parent>world</parent><child>base</child></joint>"
)


def sdf(model: Model) -> str:
    """Write a fixed-base model as SDF, body by body. Raises Missing if JaxSim cannot represent it."""
    if model.has_mimic or np.any(NV[model.kind] > 1) or np.any(model.mass <= 0) or tuple(model.gravity) != EARTH:
        raise Missing(
            f"JaxSim is given robots on Earth without free joints, ball joints, mimic joints and massless bodies, "
            f"not {model.name}"
        )
    parts = ["<sdf version='1.10'><model name='robot'>", BASE]
    for i, above in enumerate(model.parent):
        parent, kind = (
            f"body{above}" if above >= 0 else "base",
            "prismatic" if model.kind[i] == PRISMATIC else "revolute",
        )
        center, inertia = central_inertia(model, i)
        pose = _numbers((*model.home_position[i], *lie.rpy_from_rotation(model.home_rotation[i])))
        entries = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), inertia[np.triu_indices(3)], strict=True)
        parts += [
            f"<joint name='joint{i}' type='{kind}'><pose relative_to='{parent}'>{pose}</pose>",
            f"<parent>{parent}</parent><child>body{i}</child><axis><xyz>0 0 1</xyz>{FREELY}</axis></joint>",
            f"<link name='body{i}'><pose relative_to='joint{i}'>0 0 0 0 0 0</pose><inertial>",
            f"<pose>{_numbers((*center, 0, 0, 0))}</pose><mass>{float(model.mass[i])!r}</mass><inertia>",
            *(f"<{name}>{float(value)!r}</{name}>" for name, value in entries),
            "</inertia></inertial></link>",
        ]
    return "".join([*parts, "</model></sdf>"])


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(repr(float(value)) for value in values)


def on_jaxsim(model: Model, at: State, seconds: float) -> Timing:
    """Time JaxSim's articulated-body algorithm, jitted and mapped over the batch. Raises Missing."""
    require("jaxsim", "JaxSim")
    text = sdf(model)
    import jax
    import jaxsim.api as library

    began = perf_counter()
    robot = library.model.JaxSimModel.build_from_model_description(text, is_urdf=False)
    order = np.array([int(name.removeprefix("joint")) for name in robot.joint_names()])

    def forward(q: Any, v: Any, tau: Any) -> Any:
        data = library.data.JaxSimModelData.build(model=robot, joint_positions=q, joint_velocities=v)
        return library.model.forward_dynamics_aba(robot, data, joint_forces=tau)[1]

    batched = jax.jit(jax.vmap(forward))
    states = [jax.device_put(x[:, order]) for x in at]
    theirs = batched(*states)
    result: Array = np.empty((min(len(at.q), CHECKED), model.nv))
    result[:, order] = np.asarray(theirs[:CHECKED], float)
    first = perf_counter() - began
    how = f"{jax.devices()[0].device_kind}, jitted, host clock, {theirs.dtype}"
    left = residual(model, State(*(x[: len(result)] for x in at)), result)
    return Timing(of_a_call(batched, states, seconds), how, first, float(np.max(left)))
