"""The worst files of 1 MB of each kind, except meshes: reported within limits of time and memory.

Each is read by a process of its own, beside a thread that runs every millisecond: the longest delay of that thread is
how long the reader holds Python's lock.
"""

import argparse
import io
import json
import os
import resource
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from lock_delay import afresh, allowed, watched
from test_growth import CASES, robot

import engine
from app.features import session_text
from app.simulation.messages import Settings
from engine import run_arguments
from engine.bench import results
from engine.model import Joint
from engine.recording.run_format import save_trajectory
from engine.robot_arguments import CallError
from engine.urdf import srdf

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems tell no thread's time")

SIZE = 1_000_000
SECONDS, MEGABYTES = 2.0, 300
NAMES = [f"l{k}" for k in range(3000)]
JOINTS = [Joint(name, "revolute", slice(k, k + 1), slice(k, k + 1), slice(k, k + 1)) for k, name in enumerate(NAMES)]


def read_urdf(path: Path) -> None:
    engine.check(path)


def read_srdf(path: Path) -> None:
    srdf.read(path, NAMES, JOINTS)


def read_heights(path: Path) -> None:
    engine.HeightField.of_file(path, 0.1)


def read_controls(path: Path) -> None:
    model = engine.load(engine.find_robot("pendulum"))
    try:
        run_arguments.controls_of(argparse.Namespace(controls=path), model, 125_000)
    except CallError as fault:
        raise ValueError(str(fault)) from None


def read_session(path: Path) -> None:
    model = engine.load(engine.find_robot("pendulum"))
    session = session_text.read(str(path))
    for part in (lambda: session_text.settings(session, Settings(), model), lambda: session_text.drives(session),
                 lambda: session_text.pose(session, model, model.neutral()), lambda: session_text.plots(session),
                 lambda: session_text.second_robot(session), lambda: session_text.layout(session)):  # fmt: skip
        try:
            part()
        except ValueError:
            continue


def read_run(path: Path) -> None:
    engine.recording_of(engine.read_run(path), engine.load(engine.find_robot("pendulum")))


def read_results(path: Path) -> None:
    results.read(path)


def pairs(line: Callable[[int], str]) -> bytes:
    text = "".join(line(k) for k in range(SIZE // len(line(10**5))))
    return f'<robot name="r">{text}</robot>'.encode()


SRDFS = {
    "one link's defaults again and again": lambda: pairs(lambda _: '<disable_default_collisions link="l1"/>'),
    "all links' defaults": lambda: pairs(lambda k: f'<disable_default_collisions link="l{k % 3000}"/>'),
    "pairs": lambda: pairs(lambda k: f'<disable_collisions link1="l{k % 3000}" link2="l{k // 7 % 3000}"/>'),
    "unknown links": lambda: pairs(lambda k: f'<disable_collisions link1="m{k}" link2="k{k}"/>'),
    "unknown links of long names": lambda: pairs(lambda k: f'<disable_collisions link1="{k:0900}" link2="l1"/>'),
    "links and themselves": lambda: pairs(lambda _: '<disable_collisions link1="l1" link2="l1"/>'),
    "enabled again": lambda: pairs(lambda k: f'<enable_collisions link1="l{k % 3000}" link2="l2"/>'),
    "poses": lambda: pairs(lambda k: f'<group_state name="p{k}"><joint name="l{k % 3000}" value="1"/></group_state>'),
    "poses of one name": lambda: pairs(lambda k: f'<group_state name="p" group="{k % 9}"><joint/></group_state>'),
    "unknown joints": lambda: pairs(lambda k: f'<group_state name="p"><joint name="{k:0900}"/></group_state>'),
    "depth": lambda: (robot("<a>" * (SIZE // 7) + "</a>" * (SIZE // 7))).encode(),
    "attributes": lambda: robot("<a " + " ".join(f'b{k}=""' for k in range(SIZE // 11)) + "/>").encode(),
}


def array(shape: str, dtype: str = "<f8", data: bytes = b"", version: int = 1) -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


HEIGHTS = {
    "bytes": lambda: array("(1000, 1000)", "|u1", bytes(SIZE)),
    "booleans": lambda: array("(2, 500000)", "|b1", bytes(SIZE)),
    "numbers": lambda: array("(250, 500)", "<f8", np.random.default_rng(0).normal(size=SIZE // 8).tobytes()),
    "no numbers, but rows": lambda: array("(1000000000000, 0)"),
    "a header of 1 MB": lambda: array("(1,)" + " " * SIZE, version=2),
    "parentheses": lambda: array("(" * 9000 + ")" * 900),
    "signs": lambda: array("-" * 9000 + "1"),
    "digits": lambda: array(f"({'9' * 9000}, 2)"),
    "types": lambda: array("(1,)", "f8" + ",f8" * 3000),
}


def session(**parts: object) -> bytes:
    known = {"catena session": 2, "robot": {"path": str(engine.find_robot("pendulum"))}}
    return json.dumps({**known, **parts}).encode()


SESSIONS = {
    "brackets": lambda: b"[" * SIZE,
    "lists": lambda: session(plots=[[] for _ in range(SIZE // 4)]),
    "lists in lists": lambda: session(plots=[[[[[[]]]]] for _ in range(SIZE // 12)]),
    "numbers": lambda: session(plots=[0] * (SIZE // 3)),
    "broken numbers": lambda: session(plots=[0.5] * (SIZE // 5)),
    "digits": lambda: b'{"robot": ' + b"9" * SIZE + b"}",
    "digits of fractions": lambda: b'{"robot": 0.' + b"9" * SIZE + b"}",
    "keys": lambda: session(pose={f"{k}": 0 for k in range(SIZE // 12)}),
    "drives": lambda: session(drives={f"{k}": {} for k in range(SIZE // 12)}),
    "gains": lambda: session(settings={"gains": {f"{k}": [0, 0] for k in range(SIZE // 18)}}),
    "texts": lambda: session(plots=[["a"] * (SIZE // 5)]),
    "escapes": lambda: session(layout="\u0001" * (SIZE // 6)),
    "a long robot": lambda: session(robot={"path": "x" * SIZE}),
    "a robot beside of many numbers": lambda: session(beside={"path": "x", "q": [0] * (SIZE // 3)}),
}


class Zeros(NamedTuple):
    """A beginning, and so many bytes of zeros."""

    head: bytes
    count: int

    def put_into(self, target: zipfile.ZipFile, name: str) -> None:
        """Compress a block of zeros once, and repeat it: to compress them all takes seconds."""
        block = bytes(1 << 24)
        full, rest = divmod(self.count, len(block))
        compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        begin, one = (compressor.compress(x) + compressor.flush(zlib.Z_FULL_FLUSH) for x in (self.head, block))
        info, crc = zipfile.ZipInfo(name), zlib.crc32(self.head)
        target.writestr(info, begin + one * full + compressor.compress(block[:rest]) + compressor.flush())
        for _ in range(full):
            crc = zlib.crc32(block, crc)
        info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, len(self.head) + self.count
        info.CRC = zlib.crc32(block[:rest], crc)


def packed(**changed: object) -> bytes:
    model, file = engine.load(engine.find_robot("pendulum")), Path(os.environ["WORST"]) / "whole.npz"
    rest = np.zeros((3, 1))
    save_trajectory(
        file, model, engine.Trajectory(np.arange(3) * 1e-3, rest, rest, rest), {"robot": "pendulum", "dt": 1e-3}
    )
    arrays = {**dict(np.load(file)), **changed}
    return archive({name: _npy(x) for name, x in arrays.items()})


def _npy(x: object) -> bytes | Zeros:
    if isinstance(x, Zeros):
        return x
    file = io.BytesIO()
    np.save(file, np.asarray(x))
    return file.getvalue()


def archive(files: dict[str, bytes | Zeros]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            if isinstance(content, Zeros):
                content.put_into(target, f"{name}.npy")
            else:
                target.writestr(f"{name}.npy", content)
    return made.getvalue()


def states(samples: int, filler: int = 0, like: Callable[[int], np.ndarray] = lambda n: np.zeros((n, 1))) -> bytes:
    """Return a run of `samples` states, in a file padded to 1 MB by incompressible bytes."""
    more = {"joint_names": np.frombuffer(np.random.default_rng(1).bytes(filler), "u1")} if filler else {}
    x = like(samples)
    return packed(time=np.arange(samples) * 1e-3, q=x, v=x, tau=x, **more)


RUNS = {
    "zeros of a name that is read": lambda: packed(frame_more=np.zeros(SIZE * 12)),
    "zeros of another name": lambda: packed(more=Zeros(array(f"({120 * SIZE},)"), 960 * SIZE)),
    "as many states as it may have": lambda: states(75_000, 800_000),
    "states that rest": lambda: states(400_000),
    "states that move": lambda: states(
        41_000, like=lambda n: np.random.default_rng(0).normal(size=(n, 1)).astype(np.float32).astype(float)
    ),
    "many robots": lambda: packed(**dict.fromkeys(("q", "v", "tau"), np.zeros((800_000, 3, 1)))),
    "settings": lambda: packed(settings=np.array('{"robot": "", "a": [' + "[]," * (SIZE // 3) + "0]}")),
    "nested settings": lambda: packed(settings=np.array("[" * SIZE)),
    "members": lambda: archive({f"frame_{k}": _npy([0]) for k in range(SIZE // 450)}),
    "members of a name": lambda: archive({f"{k}": b"" for k in range(SIZE // 110)}),
    "a header of zeros": lambda: archive({"time": Zeros(b"\x93NUMPY\x02\x00\xff\xff\xff\x3f", 600 * SIZE)}),
    "no numbers, but rows": lambda: archive({"settings": _npy(""), "time": array("(1000000000000, 0)")}),
}


def lines(row: Callable[[int], str]) -> bytes:
    head = '{"plan": {}, "machine": {}}\n'
    return (head + "".join(row(k) + "\n" for k in range(SIZE // (len(row(10**5)) + 1)))).encode()


RESULTS = {
    "rows": lambda: lines(lambda k: f'{{"key": "{k}"}}'),
    "empty lines": lambda: lines(lambda _: ""),
    "one row of lists": lambda: lines(lambda _: '{"key": "a", "b": [' + "[]," * (SIZE // 3 - 20) + "0]}"),
    "one row of objects": lambda: lines(lambda _: '{"key": "a", "b": [' + "{}," * (SIZE // 3 - 20) + "0]}"),
    "one row of keys": lambda: lines(lambda _: json.dumps({"key": "a", **{f"{n}": n for n in range(SIZE // 20)}})),
    "digits": lambda: lines(lambda _: '{"key": ' + "9" * (SIZE - 50) + "}"),
    "nested": lambda: lines(lambda _: '{"key": ' + "[" * (SIZE - 50)),
    "a last line that is cut short": lambda: lines(lambda k: f'{{"key": "{k}"}}') + b"[" * 1000,
    "no line": lambda: b" " * SIZE,
    "the same row": lambda: lines(lambda _: '{"key": "a"}'),
}


def sized(case: Callable[[int], str]) -> bytes:
    """Return the file of a case, which may exceed the requested size."""
    made = case(SIZE).encode()
    return made if len(made) < 1.1 * SIZE else case(SIZE * SIZE // len(made)).encode()


def controls(shape: str, dtype: str, item: bytes) -> bytes:
    return array(shape, dtype, item * (SIZE // len(item)))


CONTROLS = {
    "bytes": lambda: controls("(1000000, 1)", "|u1", b"\1"),
    "steps": lambda: controls("(125000, 1)", "<f8", bytes(8)),
    "swapped bytes of halves": lambda: controls("(500000, 1)", ">f2", b"\0\1"),
    "in the other order": lambda: controls("(1, 125000)", "<f8", bytes(8)).replace(b"False", b"True "),
    "not a number": lambda: controls("(125000, 1)", "<f8", np.float64(np.nan).tobytes()),
    "texts": lambda: controls("(1, 1)", f"<U{SIZE // 4}", b"9\0\0\0"),
    "records": lambda: controls("(2,)", "[" + "('a','u1')," * 900 + "]", b"\0"),
    "more than are there": lambda: controls("(100000, 100000)", "<f8", bytes(8)),
    "dimensions": lambda: controls("(" + "1, " * 60 + ")", "<f8", bytes(8)),
}


WORST_URDFS = ("joints of nothing", "links of nothing", "surplus elements on lines", "comments with hyphens", "zeros",
               "no end", "attributes", "attributes of one name", "faults under a long name")  # fmt: skip
URDFS = {name: (lambda case=case: sized(case)) for name, case in CASES.items()}
KINDS: dict[str, tuple[Callable[[Path], None], dict[str, Callable[[], bytes]], str]] = {
    "urdf": (read_urdf, {name: URDFS[name] for name in WORST_URDFS}, ".urdf"),
    "other urdf": (read_urdf, {name: case for name, case in URDFS.items() if name not in WORST_URDFS}, ".urdf"),
    "srdf": (read_srdf, SRDFS, ".srdf"),
    "heights": (read_heights, HEIGHTS, ".npy"),
    "controls": (read_controls, CONTROLS, ".npy"),
    "session": (read_session, SESSIONS, ".catena"),
    "run": (read_run, RUNS, ".npz"),
    "results": (read_results, RESULTS, ".jsonl"),
}


def measured(read: Callable[[Path], None], path: Path) -> tuple[float, float, float, str]:
    """Seconds of work, megabytes beside the process's own, the longest hold of the lock, and what was raised."""
    into, out = os.pipe()
    if not (child := os.fork()):
        reported: tuple[float, float, float, str] = (0, 0, 0, "ended early")
        try:
            reported = _measured(read, path)
        except BaseException as fault:
            reported = (0, 0, 0, repr(fault)[:500])
        finally:
            os.write(out, json.dumps(reported).encode())
            os._exit(0)
    os.close(out)
    with os.fdopen(into, "rb") as pipe:
        message = pipe.read()
    os.waitpid(child, 0)
    seconds, megabytes, held, fault = json.loads(message)
    return seconds, megabytes, held, fault


def _measured(read: Callable[[Path], None], path: Path) -> tuple[float, float, float, str]:
    fault = ""
    own, before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with watched() as longest:
        try:
            read(path)
        except (ValueError, OSError, engine.ModelError):
            pass  # said in a sentence
        except BaseException as raised:
            fault = repr(raised)[:500]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return time.process_time() - before, (most - own) / 1024, longest[0], fault


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind == "other urdf" else kind for kind in KINDS]
)
def test_the_worst_files_are_told_within_bounds(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORST", str(tmp_path))
    assert afresh(f"test_worst_files.beyond_bounds({kind!r}, {str(tmp_path)!r})") == {}


def beyond_bounds(kind: str, folder: str) -> dict[str, tuple[float, float, float, str]]:
    """Return the `measured` results of a kind's files that exceed the limits."""
    read, cases, suffix = KINDS[kind]
    beyond = {}
    for name, made in cases.items():
        path = Path(folder) / f"{name}{suffix}"
        path.write_bytes(made())
        assert path.stat().st_size < 1.1 * SIZE, name
        for _ in range(6):  # other programs take caches and cores
            seconds, megabytes, held, fault = measured(read, path)
            if not fault and seconds < SECONDS and megabytes < MEGABYTES and held < allowed(held):
                break
        else:
            beyond[name] = seconds, megabytes, held, fault
        if os.environ.get("WORST_TOLD"):
            print(f"{kind} {name}: {seconds:.2f} s, {megabytes:.0f} MB, {1000 * held:.0f} ms, {fault}")
        path.unlink()
    return beyond
