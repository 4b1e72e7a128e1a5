"""Numbers shared by Python and CUDA as C++ text; each is defined once, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from types import ModuleType

from engine import divergence, phases, step_settings
from engine.kernels import joint_constraints
from engine.model import joints, layout

_CONSTANTS = ("HOME_ROTATION", "HOME_POSITION", "MASS", "FIRST_MOMENT", "INERTIA", "CONSTANTS")
_JOINT_ROWS = ("LOWER", "UPPER", "VELOCITY_LIMIT", "EFFORT_LIMIT", "DAMPING", "FRICTION", "KP", "KD")
_TOLERANCES = ("REST", "AT_LIMIT", "VELOCITY_SLACK", "REACTION_SLACK")


def text() -> str:
    """Return the text before every source: kinds of joints, rows of packed tables, integrators, phases, tolerances."""
    kinds = {name: getattr(joints, name) for name in ("REVOLUTE", "PRISMATIC", "FREE", "SPHERICAL")}
    packed = {name: getattr(layout, name) for name in _CONSTANTS}
    rows = {name: getattr(step_settings, name) for name in _JOINT_ROWS} | {"COUNT": len(_JOINT_ROWS)}
    return "\n".join(
        [
            *numbers(kinds),
            *scope("packed", packed),
            *scope("joint_row", rows),
            *scope("integrator", {_identifier(name): k for k, name in enumerate(step_settings.INTEGRATORS)}),
            *scope("phase", {_identifier(name): k for k, name in enumerate((*phases.NAMES, "count"))}),
            f"constexpr double DIVERGED = {divergence.DIVERGED:g};",
            *numbers({name: getattr(joint_constraints, name) for name in ("BLOCK_PIVOTS", "ACTIVE_SET_STEPS")}),
            *(by_type(joint_constraints, name) for name in _TOLERANCES),
        ]
    )


def numbers(values: dict[str, int]) -> list[str]:
    """Return a line of C++ for each integer constant."""
    return [f"constexpr int {name} = {int(value)};" for name, value in values.items()]


def flags(values: dict[str, bool]) -> list[str]:
    """Return a line of C++ for each boolean constant."""
    return [f"constexpr bool {name} = {str(bool(value)).lower()};" for name, value in values.items()]


def scope(name: str, values: dict[str, int]) -> list[str]:
    """Return C++ lines for integer constants in a namespace."""
    return [f"namespace {name} {{", *numbers(values), "}"]


def row(name: str, widths: Mapping[str, int]) -> list[str]:
    """Return C++ lines for the first number of each part of a row, in a namespace, and NUMBERS, that of all."""
    starts = dict(zip((*widths, "NUMBERS"), accumulate(widths.values(), initial=0), strict=True))
    return scope(name, starts)


def by_type(module: ModuleType, name: str) -> str:
    """Return the line of C++ for a module's tolerance in double and in single precision."""
    double, single = (getattr(module, f"{name}{of}") for of in ("", "_SINGLE"))
    return f"template <typename Real> constexpr Real {name} = sizeof(Real) == 8 ? {double!r} : {single!r};"


def _identifier(name: str) -> str:
    return name.upper().replace(" ", "_").replace("-", "_")
