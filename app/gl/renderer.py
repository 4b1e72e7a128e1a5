"""`Renderer`: one frame of a scene, into whatever framebuffer is bound. OpenGL 3.3 core.

A frame is a shadow map seen from the key light; then backdrop, robot and ground in a multisampled
canvas; then that canvas resolved. Each mesh is one instanced call, and all copies lie in one buffer
that is sent once a frame.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import ArrayLike
from OpenGL import GL

from app.gl import frame, objects, shaders
from app.gl.camera import Camera
from app.gl.scene import Scene

SAMPLES = 4
DETAILS = ((1, SAMPLES, True), (2, 0, True), (2, 0, False), (3, 0, False), (4, 0, False), (6, 0, False))
"""From the finest picture to the fastest: the divisor of its resolution, samples a pixel, whether there are shadows."""
SOFTWARE = ("llvmpipe", "softpipe", "swiftshader")
"""Renderers that run on the processor, as their names say: shadows are plainer where they have to be fast."""


class Renderer:
    """Draws a scene. Its OpenGL objects live in the context current at `initialize`.

    `ground` is the height of the ground, m; `software` says that the processor draws. `draw_seconds` is the wall time
    of the last `draw` on the processor, `upload_seconds` the part of it that sent poses, and meshes when they are new.
    """

    def __init__(self, fine: bool = False) -> None:
        """`fine` asks for the best shadows also where the processor draws, for pictures that may take their time."""
        self._fine = fine
        self.ground = 0.0
        self.software = False
        self.draw_seconds = 0.0
        self.upload_seconds = 0.0
        self._scene: Scene | None = None
        self._meshes: list[objects.GpuMesh] = []
        self._canvas: objects.Canvas | None = None
        self._programs: dict[str, int] = {}

    def initialize(self) -> None:
        """Make all OpenGL objects in the current context; again after the context was lost."""
        self._meshes, self._canvas = [], None
        self.software = any(name in _string(GL.GL_RENDERER).lower() for name in SOFTWARE)
        slow = self.software and not self._fine
        bound = GL.glGetIntegerv(GL.GL_DRAW_FRAMEBUFFER_BINDING)
        self._shadow = objects.ShadowMap(1024 if slow else 2048)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, bound)
        constants = {"SHADOW_TAPS": 2 if slow else 4}
        self._programs = {
            name: shaders.program(shaders.FOLDER / f"{name}.vert", shaders.FOLDER / f"{name}.frag", constants)
            for name in ("backdrop", "ground", "robot", "shadow")
        }
        for program in self._programs.values():
            block = GL.glGetUniformBlockIndex(program, "Frame")
            if block != GL.GL_INVALID_INDEX:
                GL.glUniformBlockBinding(program, block, 0)
            GL.glUseProgram(program)
            GL.glUniform1i(GL.glGetUniformLocation(program, "shadow_map"), 0)
        GL.glUseProgram(0)
        self._light_clip = GL.glGetUniformLocation(self._programs["shadow"], "light_clip")
        self._frame, self._copies = (int(name) for name in GL.glGenBuffers(2))
        self._empty = int(GL.glGenVertexArrays(1))

    def set_scene(self, scene: Scene | None) -> None:
        """What to draw from now on; None for the empty ground."""
        self._scene = scene

    def release(self) -> None:
        """Free all OpenGL objects; the context that made them must be current. The next `draw` makes them anew."""
        if not self._programs:
            return
        for program in self._programs.values():
            GL.glDeleteProgram(program)
        GL.glDeleteBuffers(2, [self._frame, self._copies])
        GL.glDeleteVertexArrays(1, [self._empty])
        self._forget_meshes(0)
        self._shadow.release()
        if self._canvas is not None:
            self._canvas.release()
        self._canvas, self._programs = None, {}

    def draw(self, camera: Camera, link_poses: ArrayLike | None, width: int, height: int, detail: int = 0) -> None:
        """Draw the scene with its links at (links, 4, 4) into the framebuffer that is bound, of that many pixels.

        `detail` counts in `DETAILS`: beyond 0 it is a draft, for a fraction of the time where the processor draws.
        """
        began = time.perf_counter()
        if not self._programs:
            self.initialize()
        bound = int(GL.glGetIntegerv(GL.GL_DRAW_FRAMEBUFFER_BINDING))
        divisor, samples, shadows = DETAILS[detail]
        canvas = self._fit_canvas(-(-width // divisor), -(-height // divisor), samples)
        self._upload(camera, link_poses, width / height, shadows)
        self.upload_seconds = time.perf_counter() - began
        GL.glDisable(GL.GL_BLEND)
        GL.glDisable(GL.GL_CULL_FACE)
        GL.glDisable(GL.GL_SCISSOR_TEST)
        GL.glDisable(GL.GL_STENCIL_TEST)
        if shadows:
            self._draw_shadow()
        self._draw_picture(canvas)
        canvas.resolve(bound, width, height)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, bound)
        GL.glViewport(0, 0, width, height)
        self.draw_seconds = time.perf_counter() - began

    def _fit_canvas(self, width: int, height: int, samples: int) -> objects.Canvas:
        known = self._canvas
        if known is not None and (*known.size, known.samples) == (width, height, samples):
            return known
        if known is not None:
            known.release()
        self._canvas = objects.Canvas(width, height, samples)
        return self._canvas

    def _upload(self, camera: Camera, link_poses: ArrayLike | None, aspect: float, shadows: bool) -> None:
        lower, upper = np.full(3, -0.5), np.full(3, 0.5)
        if self._scene is None or link_poses is None:
            self._forget_meshes(0)
        else:
            self._scene.update()
            self._upload_meshes(self._scene)
            if shadows:
                lower, upper = self._scene.bounds(link_poses)
            records = objects.copies(self._scene.matrices(link_poses), self._scene.instances.color)
            GL.glBindBuffer(GL.GL_ARRAY_BUFFER, self._copies)
            GL.glBufferData(GL.GL_ARRAY_BUFFER, records.nbytes, records, GL.GL_STREAM_DRAW)
            GL.glBindBuffer(GL.GL_ARRAY_BUFFER, 0)
        size = self._shadow.size
        self._light, texel = frame.light_view(lower, upper, size) if shadows else (frame.SHADOWLESS, 0.0)
        record = frame.pack(camera, aspect, self._light, texel, size, self.ground)
        GL.glBindBuffer(GL.GL_UNIFORM_BUFFER, self._frame)
        GL.glBufferData(GL.GL_UNIFORM_BUFFER, record.nbytes, record, GL.GL_STREAM_DRAW)
        GL.glBindBuffer(GL.GL_UNIFORM_BUFFER, 0)

    def _upload_meshes(self, scene: Scene) -> None:
        """Send the meshes that the GPU does not have yet."""
        self._forget_meshes(len(scene.meshes))
        for index, mesh in enumerate(scene.meshes):
            start, stop = (int(place) for place in scene.instances.start[index : index + 2])
            if index < len(self._meshes):
                known = self._meshes[index]
                if known.mesh is mesh and (known.start, known.count) == (start, stop - start):
                    continue
                known.release()
            made = objects.GpuMesh(mesh, self._copies, start, stop - start)
            self._meshes[index : index + 1] = [made]

    def _forget_meshes(self, count: int) -> None:
        for mesh in self._meshes[count:]:
            mesh.release()
        del self._meshes[count:]

    def _draw_shadow(self) -> None:
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._shadow.framebuffer)
        GL.glViewport(0, 0, self._shadow.size, self._shadow.size)
        GL.glDepthMask(True)
        GL.glEnable(GL.GL_DEPTH_TEST)
        GL.glDepthFunc(GL.GL_LESS)
        GL.glClear(GL.GL_DEPTH_BUFFER_BIT)
        GL.glUseProgram(self._programs["shadow"])
        GL.glUniformMatrix4fv(self._light_clip, 1, True, self._light.astype(np.float32))
        GL.glEnable(GL.GL_POLYGON_OFFSET_FILL)
        GL.glPolygonOffset(1.5, 2.0)
        for mesh in self._meshes:
            mesh.draw()
        GL.glDisable(GL.GL_POLYGON_OFFSET_FILL)

    def _draw_picture(self, canvas: objects.Canvas) -> None:
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, canvas.framebuffer)
        GL.glViewport(0, 0, *canvas.size)
        GL.glBindBufferBase(GL.GL_UNIFORM_BUFFER, 0, self._frame)
        GL.glActiveTexture(GL.GL_TEXTURE0)
        GL.glBindTexture(GL.GL_TEXTURE_2D, self._shadow.texture)
        GL.glClear(GL.GL_DEPTH_BUFFER_BIT)
        GL.glBindVertexArray(self._empty)
        self._draw_backdrop()
        self._draw_robot()
        GL.glBindVertexArray(self._empty)
        self._draw_ground()
        GL.glBindVertexArray(0)
        GL.glUseProgram(0)
        GL.glBindTexture(GL.GL_TEXTURE_2D, 0)
        GL.glBindBufferBase(GL.GL_UNIFORM_BUFFER, 0, 0)

    def _draw_backdrop(self) -> None:
        GL.glDisable(GL.GL_DEPTH_TEST)
        GL.glUseProgram(self._programs["backdrop"])
        GL.glDrawArrays(GL.GL_TRIANGLES, 0, 3)
        GL.glEnable(GL.GL_DEPTH_TEST)

    def _draw_robot(self) -> None:
        # A translucent surface covers a part of each pixel's samples, so that nothing has to be sorted.
        GL.glEnable(GL.GL_SAMPLE_ALPHA_TO_COVERAGE)
        GL.glColorMask(True, True, True, False)
        GL.glUseProgram(self._programs["robot"])
        for mesh in self._meshes:
            mesh.draw()
        GL.glDisable(GL.GL_SAMPLE_ALPHA_TO_COVERAGE)

    def _draw_ground(self) -> None:
        GL.glEnable(GL.GL_BLEND)
        GL.glBlendFunc(GL.GL_ONE, GL.GL_ONE_MINUS_SRC_ALPHA)
        GL.glEnable(GL.GL_POLYGON_OFFSET_FILL)
        GL.glPolygonOffset(0.0, 4.0)
        GL.glDepthMask(False)
        GL.glUseProgram(self._programs["ground"])
        GL.glDrawArrays(GL.GL_TRIANGLE_STRIP, 0, 4)
        GL.glDepthMask(True)
        GL.glDisable(GL.GL_POLYGON_OFFSET_FILL)
        GL.glDisable(GL.GL_DEPTH_TEST)
        GL.glDisable(GL.GL_BLEND)
        GL.glColorMask(True, True, True, True)


def _string(name: int) -> str:
    value = GL.glGetString(name)
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
