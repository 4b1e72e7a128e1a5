"""`GroundDrawer` draws the ground, as a grid on a plane or as the triangles of a height field."""

from __future__ import annotations

from OpenGL import GL

from app.gl import objects
from app.gl.mesh import Mesh
from app.gl.world import World


class GroundDrawer:
    """The ground, in the context in which it was first drawn."""

    def __init__(self) -> None:
        self._meshes: dict[int, objects.GpuMesh] = {}  # by the identity of their source
        self._empty = 0

    def draw(self, world: World | None, draft: bool, programs: dict[str, int]) -> None:
        """Draw the ground of `world`, or the plane; `draft` takes the coarser terrain."""
        if world is not None and world.terrain is not None:
            self._draw_terrain(world.terrain[draft], programs["terrain"])
        else:
            self._draw_plane(programs)

    def _draw_terrain(self, mesh: Mesh, program: int) -> None:
        gpu_mesh = self._meshes.get(id(mesh))
        if gpu_mesh is None or gpu_mesh.mesh is not mesh:
            for each in self._meshes.values() if len(self._meshes) > 1 else ():
                each.release()
            self._meshes = {} if len(self._meshes) > 1 else self._meshes
            gpu_mesh = self._meshes[id(mesh)] = objects.GpuMesh(mesh)
        GL.glUseProgram(program)
        gpu_mesh.draw()

    def _draw_plane(self, programs: dict[str, int]) -> None:
        if not self._empty:
            self._empty = int(GL.glGenVertexArrays(1))
        GL.glBindVertexArray(self._empty)
        GL.glEnable(GL.GL_BLEND)
        GL.glBlendFunc(GL.GL_ONE, GL.GL_ONE_MINUS_SRC_ALPHA)
        GL.glEnable(GL.GL_POLYGON_OFFSET_FILL)
        GL.glPolygonOffset(0.0, 4.0)
        GL.glDepthMask(False)
        # Of nine cells of six vertices, only the middle one reads the shadow map.
        GL.glUseProgram(programs["ground"])
        GL.glDrawArrays(GL.GL_TRIANGLES, 0, 24)
        GL.glDrawArrays(GL.GL_TRIANGLES, 30, 24)
        GL.glUseProgram(programs["shaded"])
        GL.glDrawArrays(GL.GL_TRIANGLES, 24, 6)

    def release(self) -> None:
        for mesh in self._meshes.values():
            mesh.release()
        if self._empty:
            GL.glDeleteVertexArrays(1, [self._empty])
        self._meshes, self._empty = {}, 0
