"""Identify a file that is not XML from its bytes, and suggest what to do."""

from __future__ import annotations

import struct

SHOWN = 24
"""Number of characters of a text that are quoted."""
_BEGINS = (
    (b"version https://git-lfs", "a pointer of Git LFS to the one that is meant", "fetch that one: git lfs pull"),
    (b"PK\x03\x04", "a ZIP archive", "unpack it, and give the URDF in it; a run of Catena ends in .npz"),
    (b"PK\x05\x06", "a ZIP archive with nothing in it", "give the path of a URDF file"),
    (b"\x1f\x8b", "a gzip archive", "unpack it, and give the URDF in it"),
    (b"\x93NUMPY", "an array of NumPy", "give the path of a URDF file; a run of Catena ends in .npz"),
    (b"time [s],", "the table of a run", "write the run as a trajectory, .npz, which opens; a table has no robot"),
    (b"#usda", "a scene in USD", "give the URDF that it was made from"),
    (b"PXR-USDC", "a scene in USD", "give the URDF that it was made from"),
    (b"\x89PNG", "a picture", "give the path of a URDF file"),
    (b"\xff\xd8\xff", "a picture", "give the path of a URDF file"),
    (b"GIF8", "a picture", "give the path of a URDF file"),
    (b"RIFF", "a picture, a film or a sound", "give the path of a URDF file"),
    (b"%PDF", "a PDF", "give the path of a URDF file"),
    (b"glTF", "a mesh", "give the URDF that names it"),
    (b"ply\n", "a mesh", "give the URDF that names it"),
    (b"ply\r", "a mesh", "give the URDF that names it"),
    (b"solid ", "a mesh", "give the URDF that names it"),
    (b"OFF\n", "a mesh", "give the URDF that names it"),
)
_OF_OBJ = (b"v", b"vn", b"vt", b"f", b"o", b"g", b"mtllib", b"usemtl", b"s")
_STL_HEAD, _STL_FACE = 84, 50  # bytes


def explain_non_xml(raw: bytes, utf8: bytes, reason: str) -> tuple[str, str]:
    """Return the problem with a file that contains no XML, and how to fix it.

    `raw` is the file's content, `utf8` its decoded text, `reason` the parser's message.
    """
    text = utf8.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not text:
        return "the file is empty", "give the path of a URDF file"
    for begin, what, fix in _BEGINS:
        if raw.startswith(begin):
            return f"the file is {what}", fix
    if _is_stl(raw) or _is_obj(text):
        return "the file is a mesh", "give the URDF that names it"
    if text.startswith(b"<"):
        return f"the file is not XML: {reason}", "give the path of a URDF file"
    words = " ".join(text[: 4 * SHOWN].decode("utf-8", "ignore").split())
    guessed = b"\0" not in raw and raw != utf8  # not UTF, hence decoded as Windows-1252, which accepts any bytes
    if guessed or not words.isprintable():
        return "the file is binary data, not XML", "give the path of a URDF file"
    quoted = f"{words[:SHOWN]}…" if len(words) > SHOWN else words
    what = "JSON" if text.startswith((b"{", b"[")) else "text"
    return f"the file is {what}, not XML: it begins with {quoted!r}", "give the path of a URDF file"


def _is_stl(data: bytes) -> bool:
    """Whether the data have exactly as many triangles as the header of a binary STL declares."""
    if len(data) < _STL_HEAD:
        return False
    (faces,) = struct.unpack_from("<I", data, _STL_HEAD - 4)
    return bool(faces) and len(data) == _STL_HEAD + _STL_FACE * faces


def _is_obj(text: bytes) -> bool:
    """Whether the first lines, without comments, are all statements of Wavefront's format, including a vertex."""
    lines = [line.split() for line in text[:4096].splitlines()[:20] if line.strip() and not line.startswith(b"#")]
    return any(line[0] == b"v" and len(line) >= 4 for line in lines) and all(
        line[0] in _OF_OBJ for line in lines[:-1] or lines
    )
