"""Run files: an .npz that `Trajectory` and `Recording` both read, validated on reading.

In addition to time, q, v, tau, names and settings, which `save_trajectory` writes, the file of a recorded run
contains everything needed to continue it bit by bit: `setups`, JSON text on how its simulations were created, and
arrays named ``frame_…``, ``change_…`` and ``setup_…`` with inputs and contact warm starts. ``…_count`` is the number of
rows that belong to each frame.
"""

from __future__ import annotations

import json
import operator
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from engine import array_files, files, validation
from engine.logged import Logged, rows_of_logged, table_of_logged
from engine.model import Model
from engine.recording import setup_text
from engine.recording.frames import StoredFrame
from engine.recording.inputs import Inputs
from engine.recording.packing import Array, alike, shared
from engine.recording.recording import Recording
from engine.recording.run import Run
from engine.recording.run_format import (
    UNORDERED,
    arrays_of,
    logged_of,
    names_of,
    reading_settings,
    refuse_newer,
    require_logged,
    require_run,
    wrenches_of,
)
from engine.recording.setup import Setup
from engine.recording.trajectories import of_frames, of_one_batch
from engine.rollout import Trajectory
from engine.scene import Contacts
from engine.simulation import Simulation
from engine.stepper import UNKNOWN, fastest

MAX_BYTES = 4 * 2**30
"""Maximum bytes of a file's arrays, whatever its size."""
MAX_CONTACT_BYTES = 256 << 20
"""Maximum bytes of a frame's contact warm start."""
_NO_RUN = "{} contains no run: {}; write one with `main.py run … --out FILE.npz`, or export one from the window"


@dataclass(frozen=True, eq=False)
class SavedRun:
    """What the file `path` says: `settings`, the trajectory, and `arrays` by their names, shaped as in `Trajectory`."""

    path: str
    settings: dict[str, Any]
    trajectory: Trajectory
    arrays: dict[str, Array]


def save_run(
    path: str | Path,
    recording: Recording,
    run: Run,
    settings: dict[str, Any],
    describe: Callable[[Any], Any] = lambda about: about,
    effort: Array | None = None,
) -> Trajectory:
    """Write a recorded run to an .npz file, whole or not at all; returns the trajectory that is in it.

    It may continue meanwhile: the run is written as it was at the call, a branch with the frames before its own.
    `settings` are what `main.py run` writes, "robot" among them; how that was read, such as "floating", is added where
    they lack it. `describe` gives JSON's form of a setup's `about`. It begins as `recorded_trajectory` does, and takes
    `effort` as that does. Raises ValueError if the arrays would take more than `MAX_BYTES`, which `read_run` refuses.
    """
    settings = reading_settings(run.setups[-1].model) | settings
    return write_frames(path, of_one_batch(recording.stored(run)), run, settings, describe, effort=effort)


def write_frames(
    path: str | Path,
    frames: list[StoredFrame],
    run: Run,
    settings: dict[str, Any],
    describe: Callable[[Any], Any] = lambda about: about,
    packed: bool = True,
    effort: Array | None = None,
) -> Trajectory:
    """Write consecutive frames of a run, with a constant number of robots; arguments are as in `save_run`."""
    first, end = frames[0].setup, frames[-1].setup + 1
    frames = [frame._replace(setup=frame.setup - first) for frame in frames]
    setups, shapes_of, used = run.setups[first:end], run.shapes[first:end], end - first
    model = setups[-1].model
    arrays: dict[str, Any] = {f"frame_{name}": np.array([getattr(f, name) for f in frames])
                              for name in ("steps", "setup", "begins")}  # fmt: skip
    batch = frames[0].q.shape[0]
    _require_size(_least_size(frames, batch, model.nv))
    changes = [(steps, inputs) for frame in frames for steps, inputs in frame.changes]
    arrays["change_count"] = np.array([len(frame.changes) for frame in frames])
    arrays["change_steps"] = np.array([steps for steps, _ in changes], np.int64)
    for name, inputs in (("frame", [f.inputs for f in frames]), ("change", [inputs for _, inputs in changes])):
        for k, what in enumerate(("tau", "target")):
            rows = _rows(inputs, k)
            dense = [np.broadcast_to(np.asarray(each[k]), (rows, model.nv)) for each in inputs]
            arrays[f"{name}_{what}"] = np.array(dense).reshape(len(dense), rows, model.nv)
        wrenches = [each[2] for each in inputs]
        arrays[f"{name}_wrench"] = np.array([each is not None for each in wrenches], bool)
        _put_packed(arrays, f"{name}_wrench", [each for each in wrenches if each is not None])
    none = np.zeros((2, batch), np.int64)
    diverged = np.array([none if f.divergences is None else f.divergences for f in frames])
    freezes = np.array([setups[frame.setup].settings.freezes for frame in frames])
    arrays |= {"frame_frozen": (diverged[:, 0] != 0) & freezes[:, None], "frame_diverged": diverged}
    for setup in range(used):
        mine = [frame.contact for frame in frames if frame.setup == setup]
        example = next(filter(None, mine), ())  # frames of `main.py run` have none; frames of their branches do
        none_yet = tuple((rows[:0], numbers[:0]) for rows, numbers in example)
        mine = [contact or none_yet for contact in mine]
        for k in range(len(shapes_of[setup])):  # by setup, since number types depend on the device
            _put_packed(arrays, f"frame_contact{setup}_{k}", [contact[k] for contact in mine])
    touched = [frame.contacts for frame in frames if frame.contacts is not None]
    arrays["frame_touched"] = np.array([frame.contacts is not None for frame in frames])
    for k, name in enumerate(Contacts._fields if touched else ()):
        arrays[f"frame_touch_{name}"] = np.concatenate([each[k] for each in touched])
    texts = [setup_text.write(setup, f"setup_{k}_", arrays, describe) for k, setup in enumerate(setups)]
    for text, shapes in zip(texts, shapes_of, strict=True):
        text["contact_shapes"] = shapes
    written = of_frames(frames, setups, effort)
    if written.logged_names:
        arrays["change_logged"] = table_of_logged([inputs[3] for _, inputs in changes], written.logged_names)
    arrays |= arrays_of(model, written, settings) | {"setups": np.array(json.dumps(texts))}
    _require_size(sum(np.asarray(x).nbytes for x in arrays.values()))
    with files.replacing(path) as file:
        if packed:
            array_files.write_archive(file, arrays, require_run)
        else:
            np.savez(file, **arrays)
    return written


def _rows(inputs: Sequence[Inputs], k: int) -> int:
    """Return tau (k = 0) or target (1) by robots, or once if all are the same for all robots."""
    return max((len(each[:2][k]) for each in inputs), default=1)


def _least_size(frames: list[StoredFrame], batch: int, nv: int) -> int:
    """Return a lower bound of a file's array bytes, before the arrays exist."""
    changes = [inputs for frame in frames for _, inputs in frame.changes]
    rows = len(frames) * batch  # of tau in the trajectory
    for inputs in ([frame.inputs for frame in frames], changes):
        rows += len(inputs) * (_rows(inputs, 0) + _rows(inputs, 1))
    total = rows * nv * frames[0].inputs[0].itemsize
    for frame in frames:
        packed = (*frame.contact, frame.contacts or (), frame.inputs[2] or (), (frame.inputs[3] or ())[1:])
        total += frame.q.nbytes + frame.v.nbytes + sum(x.nbytes for each in packed for x in each)
    return total


def _require_size(size: int) -> None:
    if size > MAX_BYTES:
        raise ValueError(
            f"the run's arrays take {size / 2**30:.1f} GB, and at most {MAX_BYTES / 2**30:.0f} are read again; "
            "export a shorter run, or one of fewer robots"
        )


def how_made(simulation: Simulation) -> dict[str, Any]:
    """Return arrays that describe, beside a trajectory, how its simulation was created."""
    arrays: dict[str, Any] = {}
    text = setup_text.write(Setup.of(simulation), "setup_0_", arrays, lambda about: about)
    return {"setup": np.array(json.dumps(text)), **arrays}


def _put_packed(arrays: dict[str, Any], name: str, packed: list[tuple[Array, Array]]) -> None:
    """Store packed rows: concatenated values, concatenated positions, and the count of each frame."""
    rows = [rows.ravel() for rows, _ in packed] or [np.zeros(0)]
    arrays[f"{name}_rows"] = np.concatenate(rows)
    arrays[f"{name}_numbers"] = np.concatenate([np.zeros(0, np.int32), *(numbers for _, numbers in packed)])
    arrays[f"{name}_count"] = np.array([len(numbers) for _, numbers in packed], np.int64)


def read_run(path: str | Path) -> SavedRun:
    """Read a run from a file of `main.py run` or of the window. Nothing in it is executed.

    Raises OSError if the file cannot be read, and ValueError with one sentence if it contains no run.
    """
    name = Path(path).name
    try:
        arrays = _arrays(path)
        settings = json.loads(str(arrays["settings"]))
        time, q, v, tau = (arrays[name] for name in ("time", "q", "v", "tau"))
        run = Trajectory(time, q, v, tau, *wrenches_of(arrays), *logged_of(arrays))
    except zipfile.BadZipFile:
        raise ValueError(_NO_RUN.format(name, "it is not an .npz file, or is cut short")) from None
    except KeyError as missing:
        raise ValueError(_NO_RUN.format(name, f"it lacks the array {missing}")) from None
    except array_files.TooTight as problem:
        fix = f"if you trust its source, `main.py unpack {name} NEW.npz` writes a larger file that can be read"
        raise ValueError(f"{name} is compressed more than is safe to read: {problem}; {fix}") from None
    except (EOFError, ValueError, zlib.error, RuntimeError) as problem:  # such as NotImplementedError, RecursionError
        raise ValueError(_NO_RUN.format(name, problem)) from None
    if not isinstance(settings, dict):
        raise ValueError(_NO_RUN.format(name, "its settings are not a JSON object"))
    if not isinstance(version := settings.get("format", 0), int):
        raise ValueError(_NO_RUN.format(name, f"its format is {version!r:.80}, and no whole number"))
    refuse_newer(name, version)
    _require_numbers(name, run)
    return SavedRun(str(path), settings, run, arrays)


_KNOWN = re.compile(
    "time|q|v|tau|wrench(_links)?|logged(_names)?|joint_names|coordinate_names|settings|controls|setups?|(frame|change|setup)_.+"
)
"""Names of the arrays that are read."""


def _arrays(path: str | Path) -> dict[str, Array]:
    """Read all arrays of a run, after checking their sizes."""
    if Path(path).is_fifo():
        raise ValueError("it is a pipe, which cannot be read twice")
    return array_files.read_archive(path, lambda name: _KNOWN.fullmatch(name) is not None, _require_run)


def _require_run(headers: Mapping[str, array_files.Header], size: int) -> None:
    require_run(headers, size)
    if (total := array_files.total(headers)) > MAX_BYTES:
        raise ValueError(f"its arrays take {total / 2**30:.1f} GB, and at most {MAX_BYTES / 2**30:.0f} are read")


def _require_numbers(name: str, run: Trajectory) -> None:
    """Raise ValueError unless all values are finite and times increase."""
    for what, x in (("time", run.time), ("q", run.q), ("v", run.v), ("tau", run.tau)):
        if not np.all(np.isfinite(x)):
            raise ValueError(_NO_RUN.format(name, f"its {what} has numbers that are not finite"))
    if np.any(np.diff(run.time) < 0):
        raise ValueError(_NO_RUN.format(name, UNORDERED))


def recording_of(saved: SavedRun, model: Model, understand: Callable[[Any], Any] = lambda text: text) -> Recording:
    """Convert a file's run of this robot to a recording; `understand` is the inverse of `save_run`'s `describe`.

    The frames of a run written by `main.py run`, which was not recorded, are samples: `resimulate` takes each as it is.
    Raises ValueError with one sentence for another robot's run.
    """
    recording = Recording()
    recording.adopt(*frames_of(saved, model, understand))
    return recording


def frames_of(
    saved: SavedRun, model: Model, understand: Callable[[Any], Any] = lambda text: text
) -> tuple[list[Setup], list[tuple[tuple[int, ...], ...]], list[StoredFrame]]:
    """Return a file's setups, the shapes of their contact warm starts, and frames, as `Recording.adopt` takes them."""
    name, run = Path(saved.path).name, saved.trajectory
    q, v, tau = (np.array(x if x.ndim == 3 else x[None], float) for x in (run.q, run.v, run.tau))
    if q.shape[2] != model.nq or v.shape[2] != model.nv or tau.shape != v.shape or len(q) != len(v):
        base = {(7, 6): "floating", (-7, -6): "fixed"}.get((q.shape[2] - model.nq, v.shape[2] - model.nv))
        raise ValueError(
            f"{name} is of a robot with {q.shape[2]} coordinates and {v.shape[2]} velocities, and {model.name} has "
            f"{model.nq} and {model.nv}; name the robot that it was recorded with"
            + (f", or load this one with a {base} base" if base else "")
        )
    rows = q.shape[0] * q.shape[1]  # -1 is ambiguous for nv = 0
    validation.states(model, q=q.reshape(rows, model.nq), v=v.reshape(rows, model.nv))
    try:
        if "setups" not in saved.arrays:
            return _plain(saved, model, q, v, tau)
        setups, shapes, frames = _recorded(saved.arrays, model, q, v, understand)
        for k, frame in enumerate(frames):
            if not 0 <= frame.setup < len(setups):
                raise IndexError(f"frame {k} is of setup {frame.setup}, of which there are {len(setups)}")
        return setups, shapes, frames
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as problem:
        raise ValueError(_NO_RUN.format(name, f"its simulation settings are invalid ({problem})")) from None


def _plain(
    saved: SavedRun, model: Model, q: Array, v: Array, tau: Array
) -> tuple[list[Setup], list[Any], list[StoredFrame]]:
    """Return setups, shapes and frames of a run that was not recorded: its setpoints are the positions at its start."""
    if "setup" in saved.arrays:
        text = json.loads(str(saved.arrays["setup"]))
        setup = setup_text.read(text, "setup_0_", saved.arrays, model, len(q), lambda about: about)
    else:
        setup = setup_text.of_command(saved.settings, model, len(q))
    target, scalar = np.zeros((len(q), model.nv)), model.q_of_v >= 0
    target[:, scalar] = q[:, 0][:, model.q_of_v[scalar]]
    target, logged = alike(target), _logged_rows(saved.arrays, "logged", len(saved.trajectory.time))
    frames = [
        StoredFrame(
            float(time), round(float(time) / setup.settings.dt), 0, True,
            np.ascontiguousarray(q[:, k]), np.ascontiguousarray(v[:, k]),
            (alike(tau[:, k]), target, None, logged[k]),
        )
        for k, time in enumerate(saved.trajectory.time)
    ]  # fmt: skip
    return [setup], [()], frames


def _recorded(
    arrays: dict[str, Array], model: Model, q: Array, v: Array, understand: Callable[[Any], Any]
) -> tuple[list[Setup], list[Any], list[StoredFrame]]:
    texts = json.loads(str(arrays["setups"]))
    setups = [setup_text.read(text, f"setup_{k}_", arrays, model, len(q), understand) for k, text in enumerate(texts)]
    shapes = [_contact_shapes(text["contact_shapes"]) for text in texts]
    of_frame, number = arrays["frame_setup"], len(arrays["time"])
    inputs = _inputs(arrays, "frame", number, len(q), model)
    ends = np.concatenate([[0], np.cumsum(arrays["change_count"])])
    changed = list(
        zip(arrays["change_steps"].tolist(), _inputs(arrays, "change", int(ends[-1]), len(q), model), strict=True)
    )
    contact: dict[int, tuple[Any, ...]] = {}
    for setup, of_setup in enumerate(shapes):
        mine = np.flatnonzero(of_frame == setup).tolist()
        columns = [_packed(arrays, f"frame_contact{setup}_{j}", [x] * len(mine)) for j, x in enumerate(of_setup)]
        contact |= zip(mine, zip(*columns, strict=True), strict=False)
    touching = _touches(arrays, [setups[k] for k in of_frame[arrays["frame_touched"]]])
    touches = iter(touching)
    divergences = _divergences(arrays, v)
    frames = [
        StoredFrame(
            float(arrays["time"][k]), int(arrays["frame_steps"][k]), int(of_frame[k]), bool(arrays["frame_begins"][k]),
            _typed(q[:, k], setups[of_frame[k]]), _typed(v[:, k], setups[of_frame[k]]), inputs[k],
            tuple(changed[ends[k] : ends[k + 1]]), divergences[k] if divergences[k, 0].any() else None,
            contact=contact.get(k, ()), contacts=next(touches) if arrays["frame_touched"][k] else None,
        )
        for k in range(number)
    ]  # fmt: skip
    _require_order(frames, [setup.settings.dt for setup in setups])
    return setups, shapes, frames


def _divergences(arrays: dict[str, Array], v: Array) -> Array:
    """(number, 2, batch), see `Checkpoint`; older files list only frozen robots, without times."""
    batch, number, nv = v.shape
    frozen = arrays["frame_frozen"].reshape(number, batch).astype(bool)
    stored = arrays.get("frame_diverged")
    if stored is None:
        return np.stack([[np.where(frozen[k], UNKNOWN, 0), fastest(v[:, k])] for k in range(number)])
    if stored.shape != (number, 2, batch) or stored.dtype.kind != "i":
        raise ValueError(f"frame_diverged has shape {stored.shape} and type {stored.dtype}")
    if stored.min(initial=0) < UNKNOWN or np.any(stored[:, 1] < 0) or np.any(stored[:, 1] >= max(nv, 1)):
        raise IndexError("frame_diverged refers to missing data")
    return stored


def _require_order(frames: Sequence[StoredFrame], dt: Sequence[float]) -> None:
    """Raise ValueError unless steps of dt, by setup, lead from each frame to the next, except where one begins."""
    for before, frame in pairwise(frames):
        counts = (before.steps, *(steps for steps, _ in frame.changes), frame.steps)
        if not frame.begins and (frame.setup != before.setup or any(b < a for a, b in pairwise(counts))):
            raise ValueError(f"no steps lead from its frame at {before.time:g} s to that at {frame.time:g} s")
        lasts, gap = (frame.steps - before.steps) * dt[frame.setup], frame.time - before.time
        if not frame.begins and abs(lasts - gap) > 1e-6 * abs(frame.time) + 0.5 * dt[frame.setup]:
            raise ValueError(f"its steps from {before.time:g} to {frame.time:g} s would take {lasts:g} s")
    if min(frame.steps for frame in frames) < 0:
        raise ValueError("frame_steps has numbers that are negative")


def _typed(x: Array, setup: Setup) -> Array:
    return np.ascontiguousarray(x, setup.settings.dtype)


def _packed(arrays: dict[str, Array], name: str, shapes: Sequence[tuple[int, ...]]) -> list[tuple[Array, Array]]:
    """Return what `_put_packed` stored for arrays of these shapes."""
    counts, rows, numbers = (arrays[f"{name}_{part}"] for part in ("count", "rows", "numbers"))
    packed, row, offset = [], 0, 0
    for count, shape in zip(counts.tolist(), shapes, strict=True):
        width = shape[-1]
        mine, places = rows[row : row + count * width].reshape(count, width), numbers[offset : offset + count]
        if places.dtype.kind not in "iu":
            raise ValueError(f"{name}_numbers has numbers of type {places.dtype}, which are not whole")
        if not np.all(np.isfinite(mine)):
            raise ValueError(f"{name}_rows has numbers that are not finite")
        if count < 0 or (count and not 0 <= places.min() <= places.max() < prod(shape[:-1])):
            raise IndexError(f"{name} has rows beyond its shape {shape}")
        packed.append((mine, places))
        row, offset = row + count * width, offset + count
    return packed


def _inputs(arrays: dict[str, Array], name: str, number: int, batch: int, model: Model) -> list[Inputs]:
    """Return the inputs of all frames, or of all changes."""
    acts, tau, target = (arrays[f"{name}_{what}"] for what in ("wrench", "tau", "target"))
    for what, x in (("tau", tau), ("target", target)):
        if x.shape not in ((number, 1, model.nv), (number, batch, model.nv)) or x.dtype.kind != "f":
            raise ValueError(f"{name}_{what} has shape {x.shape} and type {x.dtype}")
        if not np.all(np.isfinite(x)):
            raise ValueError(f"{name}_{what} has numbers that are not finite")
    shape = batch, len(model.link_names), 6
    wrenches = iter(_packed(arrays, f"{name}_wrench", [shape] * int(np.count_nonzero(acts))))
    logged = _logged_rows(arrays, "logged" if name == "frame" else f"{name}_logged", number)
    drives = zip(shared(tau), shared(target), acts, logged, strict=True)
    return [(tau, target, next(wrenches) if act else None, numbers) for tau, target, act, numbers in drives]


def _logged_rows(arrays: dict[str, Array], name: str, number: int) -> list[Logged | None]:
    """Return what is logged with frames or changes, `number` of them."""
    if "logged_names" not in arrays:
        return [None] * number
    return rows_of_logged(require_logged(name, arrays[name], number, names := names_of(arrays)), names)


def _contact_shapes(text: Any) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of a setup's contact warm starts, checked to fit into memory."""
    shapes = tuple(tuple(operator.index(n) for n in shape) for shape in text)
    if any(not shape or min(shape) < 0 for shape in shapes) or 8 * sum(map(prod, shapes)) > MAX_CONTACT_BYTES:
        raise ValueError(f"contact_shapes is {text!r:.80}")
    return shapes


def _touches(arrays: dict[str, Array], setups: Sequence[Setup]) -> list[tuple[Array, ...]]:
    """Return the packed contacts of all frames with contacts, for these setups."""
    if not setups:
        return []
    number, batch, links = len(setups), setups[0].settings.batch, len(setups[0].model.link_names)
    counts = arrays["frame_touch_number"].reshape(number, batch)
    if counts.dtype.kind != "i" or counts.min() < 0:
        raise ValueError("frame_touch_number has numbers that are not whole, or negative")
    ends = np.concatenate([[0], np.cumsum(counts.sum(1))]).tolist()
    columns: list[Any] = []
    for field in Contacts._fields:
        x = arrays[f"frame_touch_{field}"]
        if field in ("number", "residual", "worst"):
            columns.append(x.reshape(number, batch))
            continue
        x = x.reshape(ends[-1], *_WIDTHS.get(field, ()))
        columns.append([x[a:b] for a, b in pairwise(ends)])
    contacts = [tuple(column[k] for column in columns) for k in range(number)]
    for setup, fields in zip(setups, contacts, strict=True):
        scene, touched = setup.settings.scene, Contacts(*fields)
        lowest = -1 - (len(scene.obstacles) if scene else 0)
        for field, x, low in (("link", touched.link, 0), ("other", touched.other, lowest)):
            if x.dtype.kind != "i" or np.any((x < low) | (x >= links)):
                raise IndexError(f"frame_touch_{field} refers to missing data")
    return contacts


_WIDTHS = {"point": (3,), "normal": (3,), "impulse": (3,), "wrench": (6,), "other_wrench": (6,)}
