"""The pictures of the robots that ship, as the empty window shows them: `python -m tests.app.shipped_pictures`.

Each is drawn in a pose that shows it, cut to what is drawn, and written to `resources/pictures/robots`.
"""

import math

from PIL import Image

import engine
from app.gl import offscreen
from app.gl.camera import Camera
from app.gl.scene import Scene
from app.panels.gallery import PICTURES

LOOKS = {
    "pendulum": ([0.5], 35, 12),
    "double_pendulum": ([2.4, 0.9], 35, 12),
    "arm6": ([0.4, 0.5, -0.9, 0.3, 0.6, 0.0], -35, 12),
    "arm7": ([0.3, -0.2, 0.1, -0.4, 0.0, 1.0, 0.7], -40, 15),
    "scara": ([0.5, 0.7, 0.0, 0.0], -40, 20),
    "quadruped": (None, -35, 15),
    "humanoid": (None, -30, 10),
    "snake50": (None, -40, 18),
}
"""For each robot q, None for neutral, and the camera's azimuth and elevation, degrees."""
DRAWN = 1120, 840
KEPT, MARGIN = (280, 210), 8  # pixels


def draw(name: str) -> Image.Image:
    """The robot alone, in the middle of a transparent picture."""
    q, azimuth, elevation = LOOKS[name]
    model = engine.load(engine.find_robot(name))
    poses = engine.link_poses(model, model.neutral() if q is None else q)
    scene = Scene(model).read()
    camera = Camera(azimuth=math.radians(azimuth), elevation=math.radians(elevation))
    camera.fit(*scene.bounds(poses))
    image = Image.fromarray(offscreen.draw(scene, poses, *DRAWN, camera, transparent=True))
    image = image.crop(image.getbbox())
    scale = min((side - 2 * MARGIN) / had for side, had in zip(KEPT, image.size, strict=True))
    image = image.resize([round(scale * side) for side in image.size], Image.Resampling.LANCZOS)
    whole = Image.new("RGBA", KEPT)
    whole.paste(image, [(side - had) // 2 for side, had in zip(KEPT, image.size, strict=True)])
    return whole


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    for name in LOOKS:
        draw(name).quantize(256, Image.Quantize.FASTOCTREE).save(PICTURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
