"""The drawing of a `Batch`: one instanced call per mesh of robots drawn alike.

An instance's number gives its robot and its copy of the mesh; their poses are read from buffers, so that a frame
uploads only the links' poses and two rows per robot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL

from app.gl import objects, shaders
from app.gl.batch import Batch, DrawnMesh, Tiers
from app.gl.scene import Content

UNITS = {"shadow_map": 0, "links": 1, "order": 2, "robots": 3, "pieces": 4}
"""The texture units that the shaders read."""
PIECE_ROWS = 5


class BatchDrawer:
    """The buffers and meshes of a batch, in the context in which it was made."""

    def __init__(self, programs: dict[str, int]):
        """`programs` are those compiled for batches."""
        self._programs = programs
        self._call = {name: GL.glGetUniformLocation(program, "call") for name, program in programs.items()}
        for program in programs.values():
            GL.glUseProgram(program)
            for name, unit in UNITS.items():
                GL.glUniform1i(GL.glGetUniformLocation(program, name), unit)
            if (block := GL.glGetUniformBlockIndex(program, "Frame")) != GL.GL_INVALID_INDEX:
                GL.glUniformBlockBinding(program, block, 0)
        GL.glUseProgram(0)
        self._light_clip = GL.glGetUniformLocation(programs["shadow"], "light_clip")
        self._buffers = [int(name) for name in GL.glGenBuffers(3)]
        self._textures = [int(name) for name in GL.glGenTextures(3)]
        self._pieces: list[tuple[int, int]] = []  # the buffer and the texture of each form's copies
        self._meshes: dict[tuple[int, int, int], objects.GpuMesh] = {}
        self.tiers: Tiers | None = None
        self._links = 0

    def take(self, content: Content) -> Tiers:
        """Prepare for robots with that content, and return its `Tiers`."""
        if self.tiers is None or self.tiers.content is not content:
            self._forget()
            self.tiers = Tiers(content)
            self._pieces = [_texture(_rows(each)) for each in self.tiers.contents]
        return self.tiers

    def send(self, batch: Batch, order: NDArray[np.int32]) -> None:
        """Upload the poses of all links, and the robots to draw, in order."""
        robots = np.zeros((len(batch), 2, 4), np.float32)
        robots[:, 0, :3], robots[:, 1] = batch.offsets, batch.tints
        self._links = batch.links.shape[1]
        forms = (GL.GL_RGBA32F, GL.GL_R32I, GL.GL_RGBA32F)
        for data, form, buffer, texture in zip(
            (batch.links, order if len(order) else np.zeros(1, np.int32), robots),
            forms,
            self._buffers,
            self._textures,
            strict=True,
        ):
            _fill(np.ascontiguousarray(data), form, buffer, texture, GL.GL_STREAM_DRAW)

    def set_light(self, clip: NDArray[np.float32]) -> None:
        """Set the clip matrix (4, 4) of the shadow map."""
        GL.glUseProgram(self._programs["shadow"])
        GL.glUniformMatrix4fv(self._light_clip, 1, True, clip)

    def draw(self, parts: Sequence[DrawnMesh], program: str, one_sided: bool, piece: int) -> Iterator[None]:
        """Draw the parts, pausing after about `piece` triangles; `one_sided` culls back faces of closed meshes."""
        if not parts:
            return
        tiers, triangles, tier = self.tiers, 0, -1
        location = self._call[program]
        GL.glUseProgram(self._programs[program])
        for name, texture in zip(("links", "order", "robots"), self._textures, strict=True):
            _bind(UNITS[name], texture)
        for part in parts:
            if part.tier != tier:
                tier = part.tier
                _bind(UNITS["pieces"], self._pieces[tier][1])
                starts, closed = tiers.contents[tier].instances.start.tolist(), tiers.contents[tier].one_sided.tolist()
            known = self._mesh(part)
            if one_sided and closed[part.mesh]:
                GL.glEnable(GL.GL_CULL_FACE)
            GL.glUniform4i(location, starts[part.mesh], part.first, part.robots, self._links)
            known.draw((starts[part.mesh + 1] - starts[part.mesh]) * part.robots)
            if one_sided and closed[part.mesh]:
                GL.glDisable(GL.GL_CULL_FACE)
            triangles += tiers.faces(part.tier, part.mesh, part.level) * part.robots
            if triangles > piece:
                triangles = 0
                yield
        GL.glActiveTexture(GL.GL_TEXTURE0)

    def _mesh(self, part: DrawnMesh) -> objects.GpuMesh:
        key = part.tier, part.mesh, part.level
        if key not in self._meshes:
            content = self.tiers.contents[part.tier]
            mesh = content.levels[part.mesh][part.level - 1].mesh if part.level else content.meshes[part.mesh]
            self._meshes[key] = objects.GpuMesh(mesh)
        return self._meshes[key]

    def _forget(self) -> None:
        for mesh in self._meshes.values():
            mesh.release()
        for buffer, texture in self._pieces:
            GL.glDeleteBuffers(1, [buffer])
            GL.glDeleteTextures(1, [texture])
        self._meshes, self._pieces, self.tiers = {}, [], None

    def release(self) -> None:
        self._forget()
        GL.glDeleteBuffers(3, self._buffers)
        GL.glDeleteTextures(3, self._textures)
        for program in self._programs.values():
            GL.glDeleteProgram(program)


def programs(constants: dict[str, int]) -> dict[str, int]:
    """Return the programs that draw batches, by name."""
    batch = {**constants, "BATCH": 1}
    return {"robot": shaders.load("robot", batch), "shadow": shaders.load("shadow", batch)}


def _rows(content: Content) -> NDArray[np.float32]:
    """(I, PIECE_ROWS, 4): for each copy the rows of its map to its link, its colour, and its link.

    A link has its number, and whether it is the robot's own, which a tint colours.
    """
    instances = content.instances
    rows = np.zeros((max(1, len(instances.link)), PIECE_ROWS, 4), np.float32)
    if len(instances.link):
        rows[:, :3], rows[:, 3], rows[:, 4, 0] = instances.local[:, :3], instances.color, instances.link
        rows[:, 4, 1] = instances.link < (content.parts or (np.inf, np.inf))[1]
    return rows


def _texture(rows: NDArray[np.float32]) -> tuple[int, int]:
    buffer, texture = int(GL.glGenBuffers(1)), int(GL.glGenTextures(1))
    _fill(rows, GL.GL_RGBA32F, buffer, texture, GL.GL_STATIC_DRAW)
    return buffer, texture


def _fill(data: NDArray[np.generic], form: int, buffer: int, texture: int, use: int) -> None:
    """Upload data to a buffer that shaders read through a texture."""
    GL.glBindBuffer(GL.GL_TEXTURE_BUFFER, buffer)
    GL.glBufferData(GL.GL_TEXTURE_BUFFER, data.nbytes, data, use)
    GL.glBindTexture(GL.GL_TEXTURE_BUFFER, texture)
    GL.glTexBuffer(GL.GL_TEXTURE_BUFFER, form, buffer)
    GL.glBindTexture(GL.GL_TEXTURE_BUFFER, 0)
    GL.glBindBuffer(GL.GL_TEXTURE_BUFFER, 0)


def _bind(unit: int, texture: int) -> None:
    GL.glActiveTexture(GL.GL_TEXTURE0 + unit)
    GL.glBindTexture(GL.GL_TEXTURE_BUFFER, texture)
