"""Algorithms set beside each other, one comparison at a time or over sizes."""

from engine.bench.compare.comparison import Comparison
from engine.bench.compare.scaling import Crossing, Growth, Point, Scaling
from engine.bench.compare.standing import Standing, Standings

__all__ = ["Comparison", "Crossing", "Growth", "Point", "Scaling", "Standing", "Standings"]
