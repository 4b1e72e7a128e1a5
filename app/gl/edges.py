"""`Edges` smooths jagged edges in pictures with one sample per pixel."""

from __future__ import annotations

from OpenGL import GL

from app.gl import objects, shaders


class Edges:
    """The smoothing program and canvas, in the context in which it was first used."""

    def __init__(self) -> None:
        self._program = self._array = 0
        self._canvas: objects.Canvas | None = None

    def smooth(self, canvas: objects.Canvas, doors: bool) -> objects.Canvas:
        """Return a one-sample picture with its edges smoothed, valid until the next call.

        With `doors`, what is translucent covers every other pixel of it: those are mixed with the ones beside them.
        """
        if not self._program:
            self._program, self._array = shaders.load("edges", {}), int(GL.glGenVertexArrays(1))
        if self._canvas is None or self._canvas.size != canvas.size:
            if self._canvas is not None:
                self._canvas.release()
            self._canvas = objects.Canvas(*canvas.size, 0)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._canvas.framebuffer)
        GL.glViewport(0, 0, *canvas.size)
        GL.glDisable(GL.GL_DEPTH_TEST)
        GL.glColorMask(True, True, True, True)
        GL.glUseProgram(self._program)
        GL.glUniform1i(GL.glGetUniformLocation(self._program, "doors"), doors)
        GL.glActiveTexture(GL.GL_TEXTURE0)
        GL.glBindTexture(GL.GL_TEXTURE_2D, canvas.texture)
        GL.glBindVertexArray(self._array)
        GL.glDrawArrays(GL.GL_TRIANGLES, 0, 3)
        return self._canvas

    def release(self) -> None:
        """Free the OpenGL objects; their context must be current."""
        if self._program:
            GL.glDeleteProgram(self._program)
            GL.glDeleteVertexArrays(1, [self._array])
        if self._canvas is not None:
            self._canvas.release()
        self._program, self._canvas = 0, None
