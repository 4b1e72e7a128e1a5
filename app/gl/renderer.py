"""`Renderer` draws one frame of a scene into the bound framebuffer. OpenGL 3.3 core.

A frame has three passes: a shadow map from the key light; backdrop, robot and ground in a multisampled canvas; the
canvas's resolution to one sample per pixel. Each mesh is one instanced call; all copies are in one buffer, uploaded
once per frame. A software renderer is limited by the number of triangles: moving pictures are then drawn with fewer
(`levels`), and a full picture in pieces, so that it can be abandoned in between.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from OpenGL import GL

from app.gl import batch_drawer, frame, levels, objects, shaders
from app.gl.batch import SMALL, Batch, Box, Choice, DrawnMesh, choose
from app.gl.batch_drawer import BatchDrawer
from app.gl.camera import Camera
from app.gl.context import NoOpenGL, why_too_old
from app.gl.edges import Edges
from app.gl.extras import PLAIN, Appearance
from app.gl.ground_drawer import GroundDrawer
from app.gl.overlay_drawer import OverlayDrawer
from app.gl.scene import Content
from app.gl.view import View

MSAA_SAMPLES = 4
DETAILS = ((1.0, MSAA_SAMPLES), (1.0, 0), (1.5, 0), (2.0, 0))
"""From finest to fastest: the divisor of the resolution, and samples per pixel. All have shadows and smooth edges;
all but the first limit meshes to visible triangles."""
COSTS = (12.3, 2.7, 1.5, 1.0)
"""The approximate duration of each on a software renderer, relative to the fastest."""
SOFTWARE = ("llvmpipe", "softpipe", "swiftshader", "software")
"""Names of software renderers, which have simpler shadows if they have to be fast."""
PIECE = 25_000
"""Triangles after which a picture drawn in pieces can be abandoned."""
BUDGETS = ((4_000_000, 4_000_000), (400_000, 60_000))
"""Triangles of a batch in a full picture and in a draft: on a GPU, and on a software renderer."""
SLOW = 0.045
"""Seconds for a draft of a batch, above which later drafts have fewer triangles."""
SHADED = (20_000, 256)
"""The number of robots up to which they cast shadows: on a GPU, and on a software renderer."""


@dataclass
class Shadow:
    """A shadow map, the content it shows, and the key light's clip matrix that it was drawn with."""

    map: objects.ShadowMap
    content: Content | None = None
    poses: NDArray[np.float64] | None = None
    batch: Batch | None = None
    appearance: Appearance | None = None
    light: NDArray[np.float64] | None = None


Picked = Sequence[tuple[int, ...]]
"""The selection drawn: meshes and their levels, or the `DrawnMesh`es of a batch."""
_FOREIGN = (
    GL.GL_BLEND, GL.GL_CULL_FACE, GL.GL_SCISSOR_TEST, GL.GL_STENCIL_TEST, GL.GL_POLYGON_OFFSET_FILL,
    GL.GL_SAMPLE_ALPHA_TO_COVERAGE, GL.GL_DEPTH_CLAMP,
)  # fmt: skip


class Renderer:
    """Draws views. Its OpenGL objects belong to the context current at `initialize`.

    `software` is whether OpenGL runs on the CPU. `draw_seconds` is the CPU wall time of the last `draw`,
    `upload_seconds` the part for uploading poses.
    """

    def __init__(self, fine: bool = False) -> None:
        """`fine` selects the best shadows on a software renderer too, for pictures that may take long."""
        self._fine = fine
        self.transparent = False
        """Whether nothing is drawn behind the robot, neither ground nor shadow; `pixels` then has the opacity."""
        self.software = False
        self.draw_seconds = 0.0
        self.upload_seconds = 0.0
        self._content: Content | None = None
        self._sent: dict[tuple[int, int], objects.GpuMesh] = {}
        self._canvases: dict[str, objects.Canvas] = {}
        self._drawn: objects.Canvas | None = None
        self._programs: dict[str, int] = {}
        self._shadows: list[Shadow] = []
        self._shadow: Shadow | None = None
        self._batch: Batch | None = None
        self._drawer: BatchDrawer | None = None
        self._overlays = OverlayDrawer()
        self._ground_drawer, self._edges = GroundDrawer(), Edges()
        self._appearance, self._world, self._backdrop = PLAIN.appearance, PLAIN.world, PLAIN.backdrop
        self.triangles = 0
        """The triangles of the last picture's batch."""
        self._share = 1.0
        """The share of its budget that a draft of a batch may use."""

    def initialize(self) -> None:
        """Create all OpenGL objects in the current context; again after the context was lost.

        Raises NoOpenGL if it is too old.
        """
        try:
            self._initialize()
        except Exception as error:
            if reason := why_too_old(_string(GL.GL_VERSION)):
                raise NoOpenGL(reason) from error
            raise

    def _initialize(self) -> None:
        self._sent, self._canvases = {}, {}
        self._overlays, self._ground_drawer, self._edges = OverlayDrawer(), GroundDrawer(), Edges()
        self.software = any(name in _string(GL.GL_RENDERER).lower() for name in SOFTWARE)
        slow, bound = self.software and not self._fine, GL.glGetIntegerv(GL.GL_DRAW_FRAMEBUFFER_BINDING)
        self._shadows = [Shadow(objects.ShadowMap(size)) for size in ((1024, 512) if slow else (2048, 1024))]
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, bound)
        taps = {"SHADOW_TAPS": 2 if slow else 4}
        self._programs = {
            name: shaders.load(name, taps) for name in ("backdrop", "ground", "robot", "shadow", "terrain")
        }
        doors = {f"{name} door": shaders.load(name, {**taps, "SCREEN_DOOR": 1}) for name in ("robot", "shadow")}
        self._programs |= doors
        self._programs["shaded"] = shaders.load("ground", {**taps, "SHADED": 1})
        for program in self._programs.values():
            block = GL.glGetUniformBlockIndex(program, "Frame")
            if block != GL.GL_INVALID_INDEX:
                GL.glUniformBlockBinding(program, block, 0)
            GL.glUseProgram(program)
            GL.glUniform1i(GL.glGetUniformLocation(program, "shadow_map"), 0)
        GL.glUseProgram(0)
        self._frame, self._copies = (int(name) for name in GL.glGenBuffers(2))
        self._empty = int(GL.glGenVertexArrays(1))

    def release(self) -> None:
        """Free all OpenGL objects; their context must be current. The next `draw` creates them again."""
        if not self._programs:
            return
        for program in self._programs.values():
            GL.glDeleteProgram(program)
        GL.glDeleteBuffers(2, [self._frame, self._copies])
        GL.glDeleteVertexArrays(1, [self._empty])
        self._set_content(None)
        if self._drawer is not None:
            self._drawer.release()
            self._drawer = None
        self._overlays.release()
        self._ground_drawer.release()
        self._edges.release()
        for shadow in self._shadows:
            shadow.map.release()
        for canvas in self._canvases.values():
            canvas.release()
        self._canvases, self._programs = {}, {}

    def draw(self, view: View, detail: int = 0) -> None:
        """Draw a view into the bound framebuffer, of the view's size.

        `detail` is an index of `DETAILS`: above 0 it is a draft, which is faster on a software renderer.
        """
        began = time.perf_counter()
        bound = int(GL.glGetIntegerv(GL.GL_DRAW_FRAMEBUFFER_BINDING))
        try:
            for _ in self.pieces(view, detail):
                pass
            self._drawn.resolve(bound, *view.size)
        finally:
            self._leave(bound, *view.size)
        self.draw_seconds = time.perf_counter() - began

    def pieces(self, view: View, detail: int = 0) -> Iterator[None]:
        """Draw like `draw`, up to where `pixels` can read the picture, pausing after every piece of work."""
        began = time.perf_counter()
        if not self._programs:
            self.initialize()
        divisor, samples = DETAILS[detail]
        width, height = view.size
        camera, extras = view.camera, view.extras
        canvas = self._fit_canvas("draft" if detail else "full", width, height, divisor, samples)
        poses = None if view.poses is None else np.array(view.poses, float)
        self._shadow, self._backdrop = self._shadows[bool(detail)], extras.backdrop
        self._appearance, self._world = extras.appearance, extras.world
        self._ground = view.ground
        self._set_content(None if poses is None else view.content)
        self._batch = view.batch if self._content is not None and len(self._content.hulls) else None
        in_picture: Picked
        in_shadow: Picked
        if self._batch is not None:
            choice = self._choose(camera, canvas.size, detail)
            in_picture, in_shadow = choice.picture, choice.shadow
            bounds = self._batch.bounds(self._content.reach, choice.order)
        else:
            bounds = self._send_copies(poses, camera)
        self._send_frame(camera, bounds, width / height, divisor)
        if self._batch is None:
            in_picture, in_shadow = self._pick(camera, poses, canvas.size, detail)
        self.upload_seconds = time.perf_counter() - began
        yield
        for name in _FOREIGN:  # left by other code, or by an abandoned picture
            GL.glDisable(name)
        GL.glPolygonMode(GL.GL_FRONT_AND_BACK, GL.GL_FILL)
        GL.glDepthMask(True)
        GL.glColorMask(True, True, True, True)
        GL.glDepthFunc(GL.GL_LESS)
        yield from self._draw_shadow(poses, in_shadow, bool(detail))
        yield from self._draw_picture(canvas, in_picture, bool(detail))
        if view.marks is not None or extras.glyphs:
            self._overlays.draw(view.marks, extras, self._programs["robot"])
            yield
        self._drawn = self._edges.smooth(canvas, self._has_doors(canvas)) if detail else canvas

    def _has_doors(self, canvas: objects.Canvas) -> bool:
        """Whether what is translucent covers every other pixel: screen-door transparency."""
        return not canvas.samples and self._batch is None and self._appearance.seen_through(self._content)

    def pixels(self) -> NDArray[np.uint8]:
        """(height, width, 4): blue, green, red and, if `transparent`, opacity, of the picture of `pieces`,
        in its own resolution."""
        canvas = self._drawn
        width, height = canvas.size
        if canvas.samples:
            plain = self._fit_canvas("plain", width, height, 1.0, 0)
            canvas.resolve(plain.framebuffer, width, height)
            canvas = plain
        upturned = np.empty((height, width, 4), np.uint8)
        GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, canvas.framebuffer)
        GL.glReadPixels(0, 0, width, height, GL.GL_BGRA, GL.GL_UNSIGNED_BYTE, upturned)
        return np.ascontiguousarray(upturned[::-1])

    def _leave(self, bound: int, width: int, height: int) -> None:
        """Restore the OpenGL state that others expect."""
        for name in (GL.GL_DEPTH_TEST, GL.GL_BLEND, GL.GL_POLYGON_OFFSET_FILL, GL.GL_SAMPLE_ALPHA_TO_COVERAGE):
            GL.glDisable(name)
        GL.glDepthMask(True)
        GL.glColorMask(True, True, True, True)
        GL.glBindVertexArray(0)
        GL.glUseProgram(0)
        GL.glBindTexture(GL.GL_TEXTURE_2D, 0)
        GL.glBindBufferBase(GL.GL_UNIFORM_BUFFER, 0, 0)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, bound)
        GL.glViewport(0, 0, width, height)

    def _fit_canvas(self, name: str, width: int, height: int, divisor: float, samples: int) -> objects.Canvas:
        """Return the canvas of that name, for a picture of that size divided by `divisor`."""
        size = int(np.ceil(width / divisor)), int(np.ceil(height / divisor))
        known = self._canvases.get(name)
        if known is not None and (known.size, known.samples) == (size, samples):
            return known
        if known is not None:
            known.release()
        self._canvases[name] = objects.Canvas(*size, samples)
        return self._canvases[name]

    def adapt(self, seconds: float) -> None:
        """Adjust the triangles of batch drafts to the duration of the last, s."""
        if seconds > SLOW:
            self._share = max(0.05, 0.8 * self._share)
        elif seconds < SLOW / 2:
            self._share = min(1.0, 1.1 * self._share)

    def _choose(self, camera: Camera, size: tuple[int, int], detail: int) -> Choice:
        """Select the parts of the batch to draw, and upload it."""
        if self._drawer is None:
            self._drawer = BatchDrawer(batch_drawer.programs({"SHADOW_TAPS": 2 if self.software else 4}))
        tiers = self._drawer.take(self._content)
        budget, most = BUDGETS[self.software][bool(detail)], SHADED[self.software]
        budget = int(budget * self._share) if detail else budget
        small = SMALL if detail and self.software else SMALL / 3
        choice = choose(self._batch, tiers, camera, size, budget, most, small)
        self._drawer.send(self._batch, choice.order)
        self.triangles = choice.triangles
        return choice

    def _send_copies(self, poses: NDArray[np.float64] | None, camera: Camera) -> Box:
        """Upload the poses of all copies; return the corners of a box around them."""
        content = self._content
        if content is None:
            return np.full(3, -0.5), np.full(3, 0.5)
        records = objects.copies(frame.placed(content, poses, camera), *self._appearance.colors(content))
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, self._copies)
        GL.glBufferData(GL.GL_ARRAY_BUFFER, records.nbytes, records, GL.GL_STREAM_DRAW)
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, 0)
        return frame.casters(content, poses, camera)

    def _send_frame(self, camera: Camera, bounds: Box, aspect: float, divisor: float) -> None:
        """Upload the data shared by all shaders; `bounds` are the corners of the shadow casters."""
        (lower, upper), size = bounds, self._shadow.map.size
        self._light, self._texel = frame.light_view(lower, upper, size)
        plane = np.array([0.0, 0.0, 1.0, self._ground]) if self._world is None else self._world.plane
        shade = frame.shadow_region(lower, upper, plane, 8 * self._texel)
        record = frame.pack(camera, aspect, self._light, self._texel, size, plane, shade, self._backdrop, divisor)
        GL.glBindBuffer(GL.GL_UNIFORM_BUFFER, self._frame)
        GL.glBufferData(GL.GL_UNIFORM_BUFFER, record.nbytes, record, GL.GL_STREAM_DRAW)
        GL.glBindBuffer(GL.GL_UNIFORM_BUFFER, 0)

    def _set_content(self, content: Content | None) -> None:
        """Set the content, and free meshes that it does not contain."""
        before, self._content = self._content, content
        if content is before:
            return
        for (index, level), known in list(self._sent.items()):
            there = content is not None and index < len(content.meshes) and level <= len(content.levels[index])
            if not there or not known.matches(content.mesh(index, level), content.instances.start, index):
                known.release()
                del self._sent[index, level]

    def _pick(
        self, camera: Camera, poses: NDArray[np.float64] | None, size: tuple[int, int], detail: int
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return the meshes and levels drawn in the picture and in the shadow map."""
        content = self._content
        if content is None or not len(content.hulls):
            return [], []
        every = np.arange(len(content.meshes))
        seen, pixels = levels.visibility(content, poses, camera, size)
        near = far = np.zeros(len(every), np.int64)
        if detail:
            scale = levels.scales(content)
            near = levels.choose(content.levels, pixels * scale)
            # No finer than the picture's pixels show, and twice as coarse, since shadows are blurred.
            far = levels.choose(content.levels, 0.5 * scale * min(1 / self._texel, pixels.max(initial=0.0)))
        return (
            [(int(index), int(near[index])) for index in every[seen]],
            [(int(index), int(far[index])) for index in every],
        )

    def _draw(self, picked: Picked, draft: bool, program: str) -> Iterator[None]:
        """Draw all copies of some meshes, uploading missing ones.

        A draft culls the back faces of closed meshes.
        """
        if self._batch is not None:
            meshes = cast("Sequence[DrawnMesh]", picked)
            yield from self._drawer.draw(meshes, program, draft or not self.software, PIECE)
            yield
            return
        GL.glUseProgram(self._programs[program])
        content, triangles = self._content, 0
        for index, level in cast("Sequence[tuple[int, int]]", picked):
            known = self._sent.get((index, level))
            if known is None:
                start, stop = (int(place) for place in content.instances.start[index : index + 2])
                known = objects.GpuMesh(content.mesh(index, level), self._copies, start, stop - start)
                self._sent[index, level] = known
            if draft and self._appearance.solid and content.one_sided[index]:
                GL.glEnable(GL.GL_CULL_FACE)
                known.draw()
                GL.glDisable(GL.GL_CULL_FACE)
            else:
                known.draw()
            triangles += known.triangles
            if triangles > PIECE:
                triangles = 0
                yield
        yield

    def _draw_shadow(self, poses: NDArray[np.float64] | None, picked: Picked, draft: bool) -> Iterator[None]:
        """Draw the shadow map, unless it is up to date, since only the camera may have turned."""
        shadow = self._shadow
        drawn = shadow.poses is not None  # a new map has undefined content, even without a robot
        alone = self._batch is None and shadow.batch is None
        before = shadow.appearance
        alike = shadow.content is self._content and before is not None and before.like(self._appearance)
        still = np.array_equal(shadow.poses, poses) and np.array_equal(shadow.light, self._light)
        if drawn and alone and alike and still:
            return
        shadow.content = shadow.poses = shadow.batch = None
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, shadow.map.framebuffer)
        GL.glViewport(0, 0, shadow.map.size, shadow.map.size)
        GL.glEnable(GL.GL_DEPTH_TEST)
        GL.glClear(GL.GL_DEPTH_BUFFER_BIT)
        doors = self._batch is None and self._appearance.seen_through(self._content)
        light, name = self._light.astype(np.float32), "shadow door" if doors else "shadow"
        if self._batch is not None:
            self._drawer.set_light(light)
        else:
            GL.glUseProgram(program := self._programs[name])
            GL.glUniformMatrix4fv(GL.glGetUniformLocation(program, "light_clip"), 1, True, light)
        GL.glEnable(GL.GL_POLYGON_OFFSET_FILL)
        GL.glEnable(GL.GL_DEPTH_CLAMP)  # what is nearer to the light than the box casts its shadow into it
        GL.glPolygonOffset(1.5, 2.0)
        yield from self._draw(picked, draft, name)
        GL.glDisable(GL.GL_DEPTH_CLAMP)
        GL.glDisable(GL.GL_POLYGON_OFFSET_FILL)
        shadow.content, shadow.poses, shadow.batch = self._content, poses, self._batch
        shadow.appearance, shadow.light = self._appearance, self._light

    def _draw_picture(self, canvas: objects.Canvas, picked: Picked, draft: bool) -> Iterator[None]:
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, canvas.framebuffer)
        GL.glViewport(0, 0, *canvas.size)
        GL.glBindBufferBase(GL.GL_UNIFORM_BUFFER, 0, self._frame)
        GL.glActiveTexture(GL.GL_TEXTURE0)
        GL.glBindTexture(GL.GL_TEXTURE_2D, self._shadow.map.texture)
        GL.glClearColor(0.0, 0.0, 0.0, 0.0)
        GL.glClear(GL.GL_DEPTH_BUFFER_BIT | GL.GL_COLOR_BUFFER_BIT)
        GL.glBindVertexArray(self._empty)
        if not self.transparent:
            GL.glUseProgram(self._programs["backdrop"])
            GL.glDisable(GL.GL_DEPTH_TEST)
            GL.glDrawArrays(GL.GL_TRIANGLES, 0, 3)
        GL.glEnable(GL.GL_DEPTH_TEST)
        # A translucent surface covers some of each pixel's samples, so that no sorting is needed.
        GL.glEnable(GL.GL_SAMPLE_ALPHA_TO_COVERAGE)
        GL.glColorMask(True, True, True, self.transparent)
        GL.glPolygonMode(GL.GL_FRONT_AND_BACK, GL.GL_LINE if self._appearance.wireframe else GL.GL_FILL)
        GL.glDepthFunc(GL.GL_LEQUAL)  # a collision shape is seen on a visual that coincides, which is drawn before it
        yield from self._draw(picked, draft, "robot door" if self._has_doors(canvas) else "robot")
        GL.glDepthFunc(GL.GL_LESS)
        GL.glPolygonMode(GL.GL_FRONT_AND_BACK, GL.GL_FILL)
        GL.glDisable(GL.GL_SAMPLE_ALPHA_TO_COVERAGE)
        if not self.transparent:
            self._ground_drawer.draw(self._world, draft, self._programs)
        yield


def _string(name: int) -> str:
    value = GL.glGetString(name)
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
