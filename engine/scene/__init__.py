"""Scenes: the ground, and what of a robot can touch it."""

from engine.scene.height_field import HeightField
from engine.scene.placing import lowest, put_down
from engine.scene.points import Points, points
from engine.scene.scene import Plane, Scene, slope
from engine.scene.touches import Touches

__all__ = ["HeightField", "Plane", "Points", "Scene", "Touches", "lowest", "points", "put_down", "slope"]
