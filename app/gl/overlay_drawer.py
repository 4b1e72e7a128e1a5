"""`OverlayDrawer` draws contact marks and glyphs over a picture, with one instanced call per mesh."""

from __future__ import annotations

from collections.abc import Mapping

from OpenGL import GL

from app.gl import glyphs, objects
from app.gl.backdrop import Backdrop
from app.gl.contact_drawer import ContactDrawer
from app.gl.contact_marks import Marks
from app.gl.extras import Copies, Extras

HIDDEN = 0.35
"""The opacity of a glyph seen through the robot."""


class OverlayDrawer:
    """The overlays on robots, in the context in which they were first drawn."""

    def __init__(self) -> None:
        self._contacts: ContactDrawer | None = None
        self._glyphs: dict[str, tuple[int, objects.GpuMesh]] = {}  # each mesh with the buffer of its copies

    def draw(self, marks: Marks | None, extras: Extras, program: int) -> None:
        """Draw the overlays with the robot's program; hidden ones show through the robot."""
        if extras.glyphs:
            self._draw_glyphs(extras.glyphs, program, extras.backdrop)
        if marks is not None:
            if self._contacts is None:
                self._contacts = ContactDrawer()
            self._contacts.draw(marks, program, extras.backdrop)

    def _draw_glyphs(self, by_name: Mapping[str, Copies], program: int, backdrop: Backdrop) -> None:
        for name, copies in by_name.items():
            if name not in self._glyphs:
                buffer = int(GL.glGenBuffers(1))
                self._glyphs[name] = buffer, objects.GpuMesh(glyphs.MESHES[name](), buffer)
            records = objects.copies(copies.poses, backdrop.inked(copies.colors))
            GL.glBindBuffer(GL.GL_ARRAY_BUFFER, self._glyphs[name][0])
            GL.glBufferData(GL.GL_ARRAY_BUFFER, records.nbytes, records, GL.GL_STREAM_DRAW)
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, 0)
        GL.glUseProgram(program)
        GL.glEnable(GL.GL_CULL_FACE)
        GL.glEnable(GL.GL_BLEND)
        GL.glDepthMask(False)
        GL.glBlendFunc(GL.GL_CONSTANT_ALPHA, GL.GL_ONE_MINUS_CONSTANT_ALPHA)
        GL.glBlendColor(0.0, 0.0, 0.0, HIDDEN)
        GL.glDepthFunc(GL.GL_GREATER)
        self._draw_each(by_name)
        GL.glBlendFunc(GL.GL_SRC_ALPHA, GL.GL_ONE_MINUS_SRC_ALPHA)
        GL.glDepthFunc(GL.GL_LEQUAL)
        for name, copies in by_name.items():
            GL.glDepthMask(name not in glyphs.SEEN_THROUGH)
            self._draw_each({name: copies})
        GL.glDisable(GL.GL_BLEND)
        GL.glDisable(GL.GL_CULL_FACE)
        GL.glDepthMask(True)
        GL.glDepthFunc(GL.GL_LESS)

    def _draw_each(self, by_name: Mapping[str, Copies]) -> None:
        for name, copies in by_name.items():
            self._glyphs[name][1].draw(len(copies.poses))

    def release(self) -> None:
        if self._contacts is not None:
            self._contacts.release()
        for buffer, mesh in self._glyphs.values():
            mesh.release()
            GL.glDeleteBuffers(1, [buffer])
        self._contacts, self._glyphs = None, {}
