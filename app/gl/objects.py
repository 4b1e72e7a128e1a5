"""The OpenGL objects of a renderer: meshes with their copies, and framebuffers."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL

# Plain functions: PyOpenGL's wrapper keeps each pointer under the context that it takes to be current.
from OpenGL.raw.GL.VERSION.GL_2_0 import glVertexAttribPointer
from OpenGL.raw.GL.VERSION.GL_3_1 import glDrawElementsInstanced

from app.gl.mesh import Mesh

VERTEX = np.dtype([("position", "3f4"), ("normal", "3f4"), ("color", "4u1")])
COPY = np.dtype([("pose", "(3,4)f4"), ("color", "4f4"), ("tint", "4f4")])
"""A copy of a mesh: the rows of its affine map to the world, its colour, and a tint with its strength."""


class GpuMesh:
    """A mesh in GPU memory, and the vertex array that draws its copies in one call."""

    def __init__(self, mesh: Mesh, copies: int | None = None, start: int = 0, count: int = 1):
        """`copies` is the buffer of `COPY` records; this mesh has `count` from `start` on.

        Without it the shaders compute the poses of the copies.
        """
        self.mesh, self.start, self.count = mesh, start, count
        self.triangles = count * len(mesh.faces)
        self._indices = mesh.faces.size
        self._array = int(GL.glGenVertexArrays(1))
        self._vertices, self._faces = (int(name) for name in GL.glGenBuffers(2))
        records = np.empty(len(mesh.vertices), VERTEX)
        records["position"], records["normal"], records["color"] = mesh.vertices, mesh.normals, mesh.colors
        GL.glBindVertexArray(self._array)
        GL.glBindBuffer(GL.GL_ELEMENT_ARRAY_BUFFER, self._faces)
        GL.glBufferData(GL.GL_ELEMENT_ARRAY_BUFFER, mesh.faces.nbytes, mesh.faces, GL.GL_STATIC_DRAW)
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, self._vertices)
        GL.glBufferData(GL.GL_ARRAY_BUFFER, records.nbytes, records, GL.GL_STATIC_DRAW)
        for location, (offset, width, kind) in enumerate(
            [(0, 3, GL.GL_FLOAT), (12, 3, GL.GL_FLOAT), (24, 4, GL.GL_UNSIGNED_BYTE)]
        ):
            _attribute(location, width, kind, VERTEX.itemsize, offset)
        if copies is not None:
            GL.glBindBuffer(GL.GL_ARRAY_BUFFER, copies)
        for row in range(5 if copies is not None else 0):
            _attribute(3 + row, 4, GL.GL_FLOAT, COPY.itemsize, start * COPY.itemsize + 16 * row)
            GL.glVertexAttribDivisor(3 + row, 1)
        GL.glBindVertexArray(0)

    def matches(self, mesh: Mesh, start: NDArray[np.int64], index: int) -> bool:
        """Whether it is `mesh`, the one at `index` of a scene, with its copies from start[index] to the next."""
        return self.mesh is mesh and (self.start, self.start + self.count) == (start[index], start[index + 1])

    def draw(self, count: int | None = None) -> None:
        """Draw all copies, or the first `count`."""
        GL.glBindVertexArray(self._array)
        count = self.count if count is None else count
        glDrawElementsInstanced(GL.GL_TRIANGLES, self._indices, GL.GL_UNSIGNED_INT, None, count)

    def release(self) -> None:
        GL.glDeleteVertexArrays(1, [self._array])
        GL.glDeleteBuffers(2, [self._vertices, self._faces])


def _attribute(location: int, width: int, kind: int, stride: int, offset: int) -> None:
    GL.glEnableVertexAttribArray(location)
    normalized = kind == GL.GL_UNSIGNED_BYTE
    glVertexAttribPointer(location, width, kind, normalized, stride, ctypes.c_void_p(offset))


def copies(
    matrices: NDArray[np.float32], color: NDArray[np.float32], tint: NDArray[np.float32] | float = 0.0
) -> NDArray[np.void]:
    """Return (I,) `COPY` records from (I, 4, 4), (I, 4) and (I, 4)."""
    records = np.empty(len(matrices), COPY)
    records["pose"], records["color"], records["tint"] = matrices[:, :3], color, tint
    return records


class Canvas:
    """A framebuffer with `samples` samples per pixel, or with 0, with its colour in a `texture`."""

    def __init__(self, width: int, height: int, samples: int):
        self.size, self.samples = (width, height), samples
        self.framebuffer = int(GL.glGenFramebuffers(1))
        self.texture = 0 if samples else int(GL.glGenTextures(1))
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self.framebuffer)
        parts = [(GL.GL_DEPTH_COMPONENT24, GL.GL_DEPTH_ATTACHMENT)]
        if samples:
            parts.append((GL.GL_RGBA8, GL.GL_COLOR_ATTACHMENT0))
        else:
            self._color_by_texture()
        self._buffers = [int(GL.glGenRenderbuffers(1)) for _ in parts]
        for name, (form, place) in zip(self._buffers, parts, strict=True):
            GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, name)
            GL.glRenderbufferStorageMultisample(GL.GL_RENDERBUFFER, samples, form, width, height)
            GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, place, GL.GL_RENDERBUFFER, name)
        GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, 0)
        complete(f"a framebuffer of {width}×{height} pixels with {samples} samples")

    def _color_by_texture(self) -> None:
        kind = GL.GL_TEXTURE_2D
        GL.glBindTexture(kind, self.texture)
        GL.glTexImage2D(kind, 0, GL.GL_RGBA8, *self.size, 0, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, None)
        for parameter in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
            GL.glTexParameteri(kind, parameter, GL.GL_LINEAR)
        for parameter in (GL.GL_TEXTURE_WRAP_S, GL.GL_TEXTURE_WRAP_T):
            GL.glTexParameteri(kind, parameter, GL.GL_CLAMP_TO_EDGE)
        GL.glBindTexture(kind, 0)
        GL.glFramebufferTexture2D(GL.GL_FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, kind, self.texture, 0)

    def resolve(self, framebuffer: int, width: int, height: int) -> None:
        """Copy the picture to another framebuffer: of equal size, or scaled if `samples` is 0."""
        GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, self.framebuffer)
        GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, framebuffer)
        stretch = GL.GL_NEAREST if self.size == (width, height) else GL.GL_LINEAR
        GL.glBlitFramebuffer(0, 0, *self.size, 0, 0, width, height, GL.GL_COLOR_BUFFER_BIT, stretch)

    def release(self) -> None:
        GL.glDeleteFramebuffers(1, [self.framebuffer])
        GL.glDeleteRenderbuffers(len(self._buffers), self._buffers)
        if self.texture:
            GL.glDeleteTextures(1, [self.texture])


class ShadowMap:
    """A square depth texture with comparison on reading, and its framebuffer."""

    def __init__(self, size: int):
        self.size = size
        self.texture = int(GL.glGenTextures(1))
        self.framebuffer = int(GL.glGenFramebuffers(1))
        GL.glBindTexture(GL.GL_TEXTURE_2D, self.texture)
        GL.glTexImage2D(
            GL.GL_TEXTURE_2D, 0, GL.GL_DEPTH_COMPONENT24, size, size, 0, GL.GL_DEPTH_COMPONENT, GL.GL_UNSIGNED_INT, None
        )
        for parameter, value in [
            (GL.GL_TEXTURE_MIN_FILTER, GL.GL_LINEAR),
            (GL.GL_TEXTURE_MAG_FILTER, GL.GL_LINEAR),
            (GL.GL_TEXTURE_WRAP_S, GL.GL_CLAMP_TO_EDGE),
            (GL.GL_TEXTURE_WRAP_T, GL.GL_CLAMP_TO_EDGE),
            (GL.GL_TEXTURE_COMPARE_MODE, GL.GL_COMPARE_REF_TO_TEXTURE),
            (GL.GL_TEXTURE_COMPARE_FUNC, GL.GL_LEQUAL),
        ]:
            GL.glTexParameteri(GL.GL_TEXTURE_2D, parameter, value)
        GL.glBindTexture(GL.GL_TEXTURE_2D, 0)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self.framebuffer)
        GL.glFramebufferTexture2D(GL.GL_FRAMEBUFFER, GL.GL_DEPTH_ATTACHMENT, GL.GL_TEXTURE_2D, self.texture, 0)
        GL.glDrawBuffer(GL.GL_NONE)
        GL.glReadBuffer(GL.GL_NONE)
        complete(f"a shadow map of {size}×{size}")

    def release(self) -> None:
        GL.glDeleteFramebuffers(1, [self.framebuffer])
        GL.glDeleteTextures(1, [self.texture])


def complete(what: str) -> None:
    """Raise RuntimeError if the bound framebuffer is incomplete."""
    status = GL.glCheckFramebufferStatus(GL.GL_FRAMEBUFFER)
    if status != GL.GL_FRAMEBUFFER_COMPLETE:
        raise RuntimeError(f"the OpenGL driver cannot make {what} (framebuffer status {int(status):#x})")
