"""Pictures without a window or a display."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.gl import context
from app.gl.batch import Batch
from app.gl.camera import Camera
from app.gl.scene import Scene
from app.gl.view import View

Picture = NDArray[np.uint8]


def draw(
    scene: Scene,
    link_poses: ArrayLike,
    width: int,
    height: int,
    camera: Camera | None = None,
    batch: Batch | None = None,
    detail: int = 0,
    transparent: bool = False,
) -> Picture:
    """Return a picture of a loaded scene at link poses (links, 4, 4), or of a batch of its robots.

    It is (height, width, 3), RGB in 0…255. If `transparent`, nothing is drawn behind the robot, and pixels have a
    fourth value, the opacity. The default camera shows the whole robot; missing meshes are drawn as crosses. Raises
    NoOpenGL if the machine has no OpenGL 3.3.
    """
    if camera is None:
        camera = Camera()
        camera.fit(*scene.bounds(link_poses))
    view = View(scene.content, np.asarray(link_poses), camera, scene.ground(link_poses), (width, height), batch)
    if not sys.platform.startswith("linux"):
        return _draw(view, detail, transparent)
    # A new thread has no current context, so the caller's context is not disturbed.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_draw, view, detail, transparent).result()


def _draw(view: View, detail: int, transparent: bool) -> Picture:
    width, height = view.size
    with context.canvas(width, height):
        from OpenGL import GL

        from app.gl.renderer import Renderer

        renderer = Renderer(fine=True)
        renderer.initialize()
        renderer.transparent = transparent
        renderer.draw(view, detail)
        pixels = np.empty((height, width, 4 if transparent else 3), np.uint8)
        GL.glPixelStorei(GL.GL_PACK_ALIGNMENT, 1)
        kind = GL.GL_RGBA if transparent else GL.GL_RGB
        GL.glReadPixels(0, 0, width, height, kind, GL.GL_UNSIGNED_BYTE, pixels)
        renderer.release()
    upright = np.ascontiguousarray(pixels[::-1])
    if transparent:  # colours were drawn premultiplied by coverage
        cover = upright[..., 3:].astype(float) / 255
        upright[..., :3] = np.minimum(upright[..., :3] / np.maximum(cover, 1 / 255), 255)
    return upright
