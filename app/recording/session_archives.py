"""A session with its run and the files of its robots in one .zip, which opens on another machine. Free of Qt."""

from __future__ import annotations

import io
import json
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import IO, Any, NamedTuple

import numpy as np

import engine

SUFFIX, SESSION = ".zip", ".catena"
MAX_FILES, MAX_BYTES = 10_000, 4 * 2**30
"""The most files of an archive, and the most bytes that they take."""
FREE, RATIO = 64 << 20, 32
"""Bytes that the files may take in any case, and per byte of the archive: zeros compress 1000 to one."""
MAX_SESSION = 256 << 20  # bytes
_NAME = re.compile(r"[^\0-\x1f<>:\"|?*\\]{1,200}")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""Names that are devices on Windows."""
MAX_TRIES = 100  # folders of one name


class RobotFile(NamedTuple):
    """A robot's file, and how it is read, see `engine.load`; `srdf` is the path of the SRDF that is used with it."""

    path: str
    package_dirs: tuple[str, ...] = ()
    trust_xacro: bool = False
    xacro_args: Mapping[str, str] = {}
    srdf: str | None = None


Content = bytes | Path
"""What a file of an archive has: these bytes, or those of a file."""


def pack(path: str, session: Mapping[str, Any], robot: RobotFile, recording: str = "") -> str:
    """Write a session and all files that it names to `path`, whole or not at all; return what was left out.

    `session` is as `Sessions.session` returns it, and `recording` the file of its run, empty for none. Raises OSError,
    ModelError where a robot's file cannot be read, and ValueError for more than `unpack` accepts.
    """
    kept, left_out, stem = deepcopy(dict(session)), list[str](), Path(path).stem
    members = dict[str, Content]()

    def gather(which: RobotFile, name: str) -> str:
        gathered = engine.gather_robot(*which[:4], folder=f"{name}-meshes")
        members[f"{name}.urdf"] = gathered.text
        members.update(gathered.files)
        if which.srdf:
            members[f"{name}.srdf"] = Path(which.srdf)
        left_out.extend(f"the mesh {missing}, which {Path(which.path).name} names" for missing in gathered.missing)
        return f"{name}.urdf"

    own = gather(robot, "robot")
    kept["robot"] |= {"path": own, "relative": own, "xacro args": {}}
    for k, part in enumerate(kept["parts"]):
        if part.get("robot"):
            how = part["options"]
            given = RobotFile(
                part["robot"], tuple(how.get("package_dirs", ())), False, how.get("xacro_args") or {}, how.get("srdf")
            )
            part["robot"] = gather(given, f"part{k + 1}")
            srdf = f"part{k + 1}.srdf" if given.srdf else None
            part["options"] = {**how, "package_dirs": [], "xacro_args": {}, "srdf": srdf}
    if kept["beside"]:
        kept["beside"]["path"] = gather(RobotFile(kept["beside"]["path"], robot.package_dirs), "second")
    for k, obstacle in enumerate((kept["scene"] or {}).get("obstacles", ())):
        if obstacle["mesh"]:
            mesh = Path(obstacle["mesh"])
            obstacle["mesh"] = f"obstacle-meshes/{k + 1}/{mesh.name}"
            members[obstacle["mesh"]] = mesh
    if kept["scene"] is None:
        left_out.append("the ground, which is too large")
    for entry, what in (("ghost", "the recorded ghost"), ("study", "the study")):
        if kept.get(entry):
            kept[entry] = ""
            left_out.append(what)
    if kept["controller"]:
        kept["controller"] = name = Path(kept["controller"]).name
        members[name] = Path(session["controller"])
    if recording and (kept["parts"] or "obstacle-meshes" in {name.partition("/")[0] for name in members}):
        left_out.append("the run, whose scene has files of its own")
        recording, _ = "", kept.pop("moment", None)
    if recording:
        kept["recording"] = f"{stem}{SESSION}.npz"
        members[kept["recording"]] = _run_with(recording, own, "beside" if robot.srdf else None)
    members[f"{stem}{SESSION}"] = json.dumps(kept, indent=1).encode()
    _write(path, members)
    more = f" and {len(left_out) - 3} more" * (len(left_out) > 3)
    return f"; without {', '.join(left_out[:3])}{more}" if left_out else ""


def _run_with(recording: str, robot: str, srdf: str | None) -> bytes:
    """Return the file of a run whose settings name the robot's file in the archive."""
    changed = io.BytesIO()
    with zipfile.ZipFile(recording) as run, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as copy:
        for info in run.infolist():
            data = run.read(info)
            if info.filename == "settings.npy":
                settings = json.loads(str(np.load(io.BytesIO(data), allow_pickle=False)))
                settings |= {"robot": robot, "srdf": srdf, "package_dir": []}
                settings.pop("xacro_args", None)
                array = io.BytesIO()
                np.save(array, np.array(json.dumps(settings)))
                data = array.getvalue()
            copy.writestr(info.filename, data, info.compress_type)
    return changed.getvalue()


def _write(path: str, members: Mapping[str, Content]) -> None:
    with engine.replacing(path) as file:
        for kind in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):  # plain where they would compress too well
            file.seek(0)
            file.truncate()
            with zipfile.ZipFile(file, "w", kind) as archive:
                for name, content in members.items():
                    data = content if isinstance(content, bytes) else engine.file_content(content)
                    archive.writestr(name, data, zipfile.ZIP_STORED if name.endswith(".npz") else kind)
                infos = archive.infolist()
            if sum(info.file_size for info in infos) <= FREE + RATIO * file.tell():
                break
        _require_bounds(infos, file.tell(), Path(path).name)


def unpack(path: str) -> str:
    """Write the files of an archive into a folder beside it, named like it; return the path of the session there.

    The folder of an earlier call is used again if it still has the same files; otherwise a number is appended to the
    name. Nothing is executed. Raises OSError, and ValueError in one sentence for an archive that is none of `pack`, or
    whose files are too large, or would be written elsewhere.
    """
    name, parent = Path(path).name, Path(path).absolute().parent
    engine.refuse_endless(path)
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            session = _session_in(infos, name)
            _require_bounds(infos, Path(path).stat().st_size, name)
            for number in range(1, MAX_TRIES):
                folder = parent / (Path(path).stem + f"-{number}" * (number > 1))
                if not folder.exists():
                    _extract(archive, infos, session, folder)
                elif not _has(folder, archive, infos, session):
                    continue
                return str(folder / session)
            raise ValueError(f"{name} was unpacked {MAX_TRIES} times; remove folders beside it")
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as problem:
        raise ValueError(f"{name} cannot be read as an archive ({problem}); save or copy it again") from None


def _session_in(infos: list[zipfile.ZipInfo], name: str) -> str:
    """Return the name of the session in an archive. Raises ValueError without one, and for names that are unsafe."""
    known = set[str]()
    for info in infos:
        parts = PurePosixPath(info.filename).parts
        plain = all(_NAME.fullmatch(part) and part != ".." and not _RESERVED.fullmatch(part) for part in parts)
        kind = stat.S_IFMT(info.external_attr >> 16)
        if not plain or info.filename != "/".join(parts) or len(parts) > 20 or kind not in (0, stat.S_IFREG):
            raise ValueError(
                f"{name} holds {info.filename[:80]!r}, which is not a plain file below a folder; nothing was unpacked"
            )
        if (folded := info.filename.casefold()) in known:
            raise ValueError(f"{name} holds {info.filename[:80]!r} twice; nothing was unpacked")
        known.add(folded)
    sessions = [info.filename for info in infos if info.filename.endswith(SESSION) and "/" not in info.filename]
    if len(sessions) != 1:
        raise ValueError(
            f"{name} holds {len(sessions)} sessions; open one that File › Save session with its robot has written"
        )
    return sessions[0]


def _require_bounds(infos: list[zipfile.ZipInfo], size: int, name: str) -> None:
    total, most = sum(info.file_size for info in infos), min(FREE + RATIO * size, MAX_BYTES)
    if len(infos) > MAX_FILES:
        raise ValueError(f"{name} would hold {len(infos)} files; at most {MAX_FILES} are unpacked")
    if total > most:
        raise ValueError(
            f"the files of {name} would take {total / 1e6:.0f} MB; of an archive of {size / 1e6:.1f} MB at most "
            f"{most / 1e6:.0f} are unpacked"
        )


def _extract(archive: zipfile.ZipFile, infos: list[zipfile.ZipInfo], session: str, folder: Path) -> None:
    """Write all files beside their folder, which then gets its name."""
    temporary = folder.parent / f".{folder.name}-{token_hex(8)}"
    temporary.mkdir()
    try:
        for info in infos:
            target = temporary / info.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                _copy(archive, info, session, folder, file.write)
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _copy(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, session: str, folder: Path, write: Callable[[bytes], object]
) -> None:
    with archive.open(info) as packed:
        if info.filename == session:
            write(_placed(packed, folder))
            return
        while part := packed.read(1 << 20):
            write(part)


def _placed(packed: IO[bytes], folder: Path) -> bytes:
    """Return a session whose objects name their files in the folder where these are."""
    data = packed.read(MAX_SESSION)
    if len(data) == MAX_SESSION:
        raise ValueError(f"its session takes {MAX_SESSION >> 20} MB or more; expected less: save it again")
    try:
        session = json.loads(data)
        entries = [(part, "robot") for part in session.get("parts", ())]
        entries += [(part["options"], "srdf") for part in session.get("parts", ())]
        entries += [(each, "mesh") for each in (session.get("scene") or {}).get("obstacles", ())]
        entries += [(session["beside"], "path")] if session.get("beside") else []
        for entry, key in entries:
            if entry.get(key):
                entry[key] = str(folder / entry[key])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return data  # opening it says what is wrong
    return json.dumps(session, indent=1).encode()


def _has(folder: Path, archive: zipfile.ZipFile, infos: list[zipfile.ZipInfo], session: str) -> bool:
    """Whether a folder has all files of an archive, as they would be written."""
    for info in infos:
        try:
            with (folder / info.filename).open("rb") as file:
                same = True

                def compare(part: bytes, file: IO[bytes] = file) -> None:
                    nonlocal same
                    same = same and file.read(len(part)) == part

                _copy(archive, info, session, folder, compare)
                if not same or file.read(1):
                    return False
        except OSError:
            return False
    return True
