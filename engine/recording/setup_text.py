"""Convert a setup to JSON and arrays, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.model import EARTH, Model
from engine.parameters import Parameters
from engine.recording.packing import Array
from engine.recording.setup import Setup
from engine.scene.scene import DESCRIBED, Scene
from engine.selection.steppers import ALGORITHMS
from engine.step_settings import INTEGRATORS, StepSettings, gains
from engine.validation import one_of, time_step

_PLAIN = ("batch", "dt", "integrator", "algorithm", "limits", "dtype", "timed", "freezes")
_PARAMETERS = ("mass", "first_moment", "inertia", "gravity", "damping", "friction", "effort_limit")
_DTYPES = ("float64", "float32")
MAX_THREADS = 1024
"""Maximum number of threads in a file."""


def write(setup: Setup, prefix: str, arrays: dict[str, Any], describe: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a setup as JSON; its arrays go into `arrays`, under names with that prefix."""
    settings = setup.settings
    arrays[f"{prefix}kp"], arrays[f"{prefix}kd"] = settings.kp, settings.kd
    if settings.parameters is not None:
        for name in _PARAMETERS:
            arrays[f"{prefix}parameters_{name}"] = getattr(settings.parameters, name)
    return {name: getattr(settings, name) for name in _PLAIN} | {
        "gravity": setup.model.gravity.tolist(),
        "parameters": settings.parameters is not None,
        "scene": _encoded(settings.scene, f"{prefix}scene", arrays),
        "device": setup.device,
        "threads": setup.threads,
        "wrenches": setup.wrenches,
        "time_before": setup.time_before,
        "about": describe(setup.about),
        "watched": setup.watched,
    }


def read(
    text: dict[str, Any],
    prefix: str,
    arrays: dict[str, Array],
    model: Model,
    batch: int,
    understand: Callable[[Any], Any],
) -> Setup:
    """The inverse of `write`, for a run of `batch` robots. Raises like `json.loads` and indexing if invalid.

    Sizes in the text are checked before anything of that size is created.
    """
    if text["batch"] != batch:
        raise ValueError(f"its batch is {text['batch']!r:.80}, and it has states of {batch}")
    model, parameters = _under(model, text["gravity"]), None
    if text["parameters"]:
        parameters = Parameters(model, 1)  # its arrays are the file's, whose sizes are checked
        parameters.batch = batch
        for name in _PARAMETERS:
            setattr(parameters, name, np.array(arrays[f"{prefix}parameters_{name}"]))
        parameters.check()
    scene = _decoded(text["scene"], arrays)
    if not (scene is None or isinstance(scene, Scene)):
        raise TypeError(f"its scene is {text['scene']!r:.80}")
    device = one_of("device", text["device"], tuple(ALGORITHMS))
    kp, kd = (gains(model, batch, name, arrays[f"{prefix}{name}"]) for name in ("kp", "kd"))
    settings = StepSettings(
        model, batch, _step(text["dt"]), one_of("integrator", text["integrator"], INTEGRATORS),
        one_of("algorithm", text["algorithm"], ALGORITHMS[device]), limits=bool(text["limits"]),
        dtype=one_of("dtype", text["dtype"], _DTYPES), timed=bool(text["timed"]), kp=kp, kd=kd, parameters=parameters,
        freezes=bool(text["freezes"]), scene=scene,
    )  # fmt: skip
    time_before = float(text["time_before"])
    if not np.isfinite(time_before):
        raise ValueError(f"its time_before is {time_before}; expected seconds")
    threads = None if text["threads"] is None else int(text["threads"])
    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"its threads are {threads}; expected 1 to {MAX_THREADS}")
    return Setup(
        settings,
        device,
        threads,
        bool(text["wrenches"]),
        time_before,
        understand(text["about"]),
        bool(text.get("watched", False)),
    )


def of_command(settings: dict[str, Any], model: Model, batch: int) -> Setup:
    """Return the settings of `main.py run` that are needed to continue its run: step, gravity, limits."""
    integrator, dtype = settings.get("integrator", INTEGRATORS[0]), settings.get("dtype", "float64")
    zero = np.zeros((1, model.nv))
    return Setup(
        StepSettings(
            _under(model, settings.get("gravity", EARTH)), batch, _step(settings.get("dt", 1e-3)),
            one_of("integrator", integrator, INTEGRATORS),
            one_of("algorithm", settings.get("algorithm", "abia"), ALGORITHMS["cpu"]),
            limits=not settings.get("no_limits", False), dtype=one_of("dtype", dtype, _DTYPES), kp=zero, kd=zero,
        ),
        one_of("device", settings.get("device", "cpu"), ("auto", *ALGORITHMS)), None, False,
    )  # fmt: skip


def _step(dt: Any) -> float:
    """Return a time step in s, checked."""
    try:
        return time_step(dt)
    except ValueError:
        raise ValueError(f"its time step is {dt!r:.80}; expected seconds") from None


def _under(model: Model, gravity: Any) -> Model:
    """Return the robot with that gravity (3,)."""
    g = np.array(gravity, float)
    if g.shape != (3,) or not np.all(np.isfinite(g)):
        raise ValueError(f"its gravity is {gravity!r:.80}; expected three numbers in m/s²")
    return model if np.array_equal(g, model.gravity) else model.with_gravity(g)


def _encoded(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """Return a part of a scene as JSON; its arrays go into `arrays`."""
    if dataclasses.is_dataclass(value):
        parts = {
            f.name: _encoded(getattr(value, f.name), f"{name}_{f.name}", arrays) for f in dataclasses.fields(value)
        }
        return {"class": type(value).__name__, **parts}
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, tuple | list):
        return [_encoded(each, f"{name}_{k}", arrays) for k, each in enumerate(value)]
    return value


def _decoded(text: Any, arrays: dict[str, Array]) -> Any:
    if isinstance(text, list):
        return tuple(_decoded(each, arrays) for each in text)
    if not isinstance(text, dict):
        return text
    if "array" in text:
        return arrays[text["array"]]
    name = one_of("a part of the scene", text["class"], tuple(DESCRIBED))
    parts = {key: _decoded(value, arrays) for key, value in text.items() if key != "class"}
    made = DESCRIBED[name](**parts)
    if name == "Plane":
        if not np.allclose(made.normal, parts["normal"], rtol=0, atol=1e-12):
            raise ValueError(f"its plane's normal is {parts['normal']!r:.80}, and no unit vector")
        object.__setattr__(made, "normal", parts["normal"])  # normalizing a unit vector again would round it
    return made
