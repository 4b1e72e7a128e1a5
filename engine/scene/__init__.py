"""Scenes: the ground, the obstacles, and the candidate contacts of a robot with them and with itself."""

from engine.scene.contacts import Contacts
from engine.scene.height_field import HeightField
from engine.scene.obstacle import Obstacle
from engine.scene.pairs import Pairs, pairs
from engine.scene.placing import lowest, put_down, stands
from engine.scene.points import Points, points
from engine.scene.scene import Plane, Scene
from engine.scene.terrain import rough_ground, slope, stairs, stairs_among

__all__ = [
    "Contacts", "HeightField", "Obstacle", "Pairs", "Plane", "Points", "Scene", "lowest", "pairs", "points",
    "put_down", "rough_ground", "slope", "stairs", "stairs_among", "stands",
]  # fmt: skip
