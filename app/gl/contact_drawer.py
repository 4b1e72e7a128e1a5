"""`ContactDrawer` draws contact marks over a picture, with one instanced call for each of two meshes."""

from __future__ import annotations

from OpenGL import GL

from app.gl import objects
from app.gl.backdrop import Backdrop
from app.gl.contact_marks import HEAD, ROD, Marks

HIDDEN = 0.65
"""The opacity of a mark seen through the robot."""


class ContactDrawer:
    """The meshes of marks in GPU memory, and the buffers of their copies."""

    def __init__(self) -> None:
        self._buffers = [int(name) for name in GL.glGenBuffers(2)]
        self._meshes = [objects.GpuMesh(mesh, copies) for mesh, copies in zip((ROD, HEAD), self._buffers, strict=True)]

    def draw(self, marks: Marks, program: int, backdrop: Backdrop) -> None:
        """Draw the marks with the robot's program; hidden ones show through the robot."""
        counts = []
        for buffer, poses, colors in zip(
            self._buffers, (marks.rods, marks.heads), (marks.rod_colors, marks.head_colors), strict=True
        ):
            records = objects.copies(poses, backdrop.inked(colors))
            GL.glBindBuffer(GL.GL_ARRAY_BUFFER, buffer)
            GL.glBufferData(GL.GL_ARRAY_BUFFER, records.nbytes, records, GL.GL_STREAM_DRAW)
            counts.append(len(records))
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, 0)
        GL.glUseProgram(program)
        GL.glEnable(GL.GL_CULL_FACE)
        GL.glEnable(GL.GL_BLEND)
        GL.glBlendFunc(GL.GL_CONSTANT_ALPHA, GL.GL_ONE_MINUS_CONSTANT_ALPHA)
        GL.glBlendColor(0.0, 0.0, 0.0, HIDDEN)
        GL.glDepthMask(False)
        GL.glDepthFunc(GL.GL_GREATER)
        self._draw(counts)
        GL.glDisable(GL.GL_BLEND)
        GL.glDepthMask(True)
        GL.glDepthFunc(GL.GL_LESS)
        self._draw(counts)
        GL.glDisable(GL.GL_CULL_FACE)

    def _draw(self, counts: list[int]) -> None:
        for mesh, count in zip(self._meshes, counts, strict=True):
            if count:
                mesh.draw(count)

    def release(self) -> None:
        for mesh in self._meshes:
            mesh.release()
        GL.glDeleteBuffers(2, self._buffers)
