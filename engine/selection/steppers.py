"""The registry of steppers on both devices: the algorithms that step a robot in a scene, and their steppers.

Each device lists its steppers (`engine.stepper.Row`); all queries about a device before a simulation is created read
these rows.
"""

from __future__ import annotations

from engine import validation
from engine.cpu.stepping import stepper as on_cpu
from engine.cuda.stepping import choice as on_cuda
from engine.model import Model
from engine.scene import Scene
from engine.selection import capabilities, choice
from engine.step_settings import StepSettings
from engine.stepper import Row, Stepper

STEPPERS: dict[str, tuple[Row, ...]] = {"cpu": on_cpu.STEPPERS, "cuda": on_cuda.STEPPERS}
"""By device; of several rows that accept the settings, the first is used."""
ALGORITHMS = {device: tuple(dict.fromkeys(name for row in rows for name in row.algorithms))
              for device, rows in STEPPERS.items()}  # fmt: skip
"""The algorithms for which a step is compiled, by device."""
IN_SCENE = {device: tuple(dict.fromkeys(name for row in rows if row.in_scene for name in row.algorithms))
            for device, rows in STEPPERS.items()}  # fmt: skip
"""The algorithms that support contact with a scene, by device."""


def stepper(settings: StepSettings, device: str) -> Stepper:
    """Create the stepper of a batch. Raises the device's exceptions, such as MemoryError."""
    rows = (row for row in STEPPERS[device] if settings.algorithm in row.algorithms)
    return next(row for row in rows if (row.in_scene or settings.scene is None) and row.takes(settings)).make(settings)


def advancing(model: Model, scene: Scene | None = None) -> dict[str, tuple[str, ...]]:
    """Return, by device, the algorithms that can simulate this model, in the scene if there is one."""
    return {
        device: tuple(name for name in names if capabilities.reason(name, model, device) is None)
        for device, names in (ALGORITHMS if scene is None else IN_SCENE).items()
    }


def devices_serving(model: Model, scene: Scene | None, dtype: str, algorithm: str) -> dict[str, tuple[str, ...]]:
    """Return the algorithms for `choice.place`, by device; none on a device that lacks the number type.

    Contact on a GPU is not in the timings: in a scene, "auto" takes the first algorithm supported there.
    """
    by_device = advancing(model, scene)
    if scene is not None and algorithm == "auto":
        by_device["cuda"] = by_device["cuda"][:1]
    return {device: names if dtype in dtypes(device) else () for device, names in by_device.items()}


def dtypes(device: str) -> tuple[str, ...]:
    """Return the number types that a device supports for steps."""
    return tuple(dict.fromkeys(dtype for row in STEPPERS[device] for dtype in row.dtypes))


def choice_device(scene: Scene | None, device: str, dtype: str) -> str:
    """Return the device to choose from: in a scene "auto" is the CPU, unless it lacks the number type."""
    if scene is not None and not isinstance(scene, Scene):
        raise TypeError(f"scene is a {type(scene).__name__}; expected an engine.Scene, for example engine.Scene()")
    return "cpu" if scene is not None and device == "auto" and dtype in dtypes("cpu") else device


def require(model: Model, scene: Scene | None, device: str, dtype: str, algorithm: str) -> None:
    """Raise ValueError, with the reason and what to do, if a device cannot step such robots."""
    if dtype not in dtypes(device):
        raise ValueError(f"dtype is {dtype!r}; the CPU simulates in 'float64', device='cuda' in either")
    if scene is not None and algorithm in ALGORITHMS[device] and algorithm not in IN_SCENE[device]:
        raise ValueError(f"{algorithm} {_not_in_scene(device)}; use {' or '.join(advancing(model, scene)[device])}")


def choose(
    model: Model, batch: int, device: str, dtype: str, algorithm: str, scene: Scene | None
) -> tuple[str, str, str]:
    """Return the device and the algorithm that step such robots, and why, for names or "auto".

    Raises ValueError, with the reason and what to do, if a device cannot step them, and `NoGpu` without a GPU.
    """
    device, able = choice_device(scene, device, dtype), devices_serving(model, scene, dtype, algorithm)
    device, placed = choice.place(model, device, algorithm, batch, dtype, able, "step")
    require(model, scene, device, dtype, algorithm)
    algorithm, why = choice.choose(model, algorithm, batch, dtype, device, able[device], work="step")
    return device, algorithm, why + placed


def simulation_algorithms(model: Model, device: str = "auto", scene: Scene | None = None) -> tuple[str, ...]:
    """Return the algorithms with which a `Simulation` of a model can run on a device; "auto" means on any.

    With a `scene`, only those that support contact are returned. The device need not be present; see `why_no_gpu`.
    Raises ValueError for another device name.
    """
    validation.one_of("device", device, ("auto", *capabilities.DEVICES))
    names = capabilities.ALGORITHMS
    return tuple(name for name in names if simulation_refusal(name, model, device, scene) is None)


def simulation_refusal(algorithm: str, model: Model, device: str = "auto", scene: Scene | None = None) -> str | None:
    """Return why a `Simulation` of a model cannot use an algorithm on a device, in a few words; None if it can.

    For `device` "auto", if no device can, the reason is the CPU's. A `scene` is taken into account.
    """
    validation.one_of("algorithm", algorithm, tuple(capabilities.ALGORITHMS))
    reasons = {where: _refusal(algorithm, model, where, scene) for where in STEPPERS if device in ("auto", where)}
    return None if None in reasons.values() else next(iter(reasons.values()))


def _refusal(algorithm: str, model: Model, device: str, scene: Scene | None) -> str | None:
    if algorithm not in ALGORITHMS[device]:
        return f"it does not step on device {device!r}"
    if scene is not None and algorithm not in IN_SCENE[device]:
        return f"it {_not_in_scene(device)}"
    return capabilities.reason(algorithm, model, device)


def _not_in_scene(device: str) -> str:
    return f"does not step robots in a scene on device {device!r}"
