"""Shader programs from files, with `#include`, and errors that name the file and the line."""

from __future__ import annotations

import re
from pathlib import Path

from OpenGL import GL

FOLDER = Path(__file__).resolve().parents[2] / "resources" / "shaders"

_INCLUDE = re.compile(r'^\s*#include\s+"([^"]+)"\s*$')
# Mesa "0:12(5): error", NVIDIA "0(12) : error", Apple and AMD "ERROR: 0:12: ...".
_PLACE = re.compile(r"^(ERROR: |WARNING: )?(\d+)(?::(\d+)(?:\(\d+\))?|\((\d+)\)) ?:", re.MULTILINE)


class ShaderError(RuntimeError):
    """A shader that does not compile or link."""


def source(path: Path, constants: dict[str, int] | None = None) -> tuple[str, list[Path]]:
    """Return a shader's text with includes expanded, and the files by number in `#line` directives.

    `constants` become ``#define`` lines after the ``#version`` line.
    """
    files = [path]
    lines: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := _INCLUDE.match(line):
            included = path.parent / match[1]
            files.append(included)
            lines += [
                f"#line 1 {len(files) - 1}",
                included.read_text(encoding="utf-8").rstrip(),
                f"#line {number + 1} 0",
            ]
        elif line.startswith("#version"):
            lines += [
                line,
                *(f"#define {name} {value}" for name, value in (constants or {}).items()),
                f"#line {number + 1} 0",
            ]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n", files


def explain(log: str, files: list[Path]) -> str:
    """Return a compiler's log with file numbers replaced by names."""

    def place(match: re.Match[str]) -> str:
        index = int(match[2])
        name = files[index].name if index < len(files) else match[2]
        return f"{name}:{match[3] or match[4]}:"

    return _PLACE.sub(place, log.strip())


def _compile(path: Path, constants: dict[str, int] | None) -> int:
    text, files = source(path, constants)
    shader = GL.glCreateShader(GL.GL_VERTEX_SHADER if path.suffix == ".vert" else GL.GL_FRAGMENT_SHADER)
    GL.glShaderSource(shader, text)
    GL.glCompileShader(shader)
    if not GL.glGetShaderiv(shader, GL.GL_COMPILE_STATUS):
        log = _text(GL.glGetShaderInfoLog(shader))
        GL.glDeleteShader(shader)
        raise ShaderError(f"the shader {path.name} does not compile:\n{explain(log, files)}")
    return int(shader)


def _text(log: bytes | str) -> str:
    return log.decode(errors="replace") if isinstance(log, bytes) else log


def program(vertex: Path, fragment: Path, constants: dict[str, int] | None = None) -> int:
    """Return a linked program in the current context. Raises ShaderError with file and line."""
    shaders = [_compile(vertex, constants), _compile(fragment, constants)]
    name = int(GL.glCreateProgram())
    for shader in shaders:
        GL.glAttachShader(name, shader)
    GL.glLinkProgram(name)
    for shader in shaders:
        GL.glDeleteShader(shader)
    if not GL.glGetProgramiv(name, GL.GL_LINK_STATUS):
        log = _text(GL.glGetProgramInfoLog(name))
        GL.glDeleteProgram(name)
        raise ShaderError(f"{vertex.name} and {fragment.name} do not link:\n{log.strip()}")
    return name


def load(name: str, constants: dict[str, int]) -> int:
    """Return the program of the two files in `FOLDER` with that name."""
    return program(FOLDER / f"{name}.vert", FOLDER / f"{name}.frag", constants)
