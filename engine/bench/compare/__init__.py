"""Compare algorithms: at one size or over several."""

from engine.bench.compare.comparison import Comparison
from engine.bench.compare.result import AlgorithmResult, ComparisonResult
from engine.bench.compare.scaling import Crossing, Growth, Point, Scaling

__all__ = ["AlgorithmResult", "Comparison", "ComparisonResult", "Crossing", "Growth", "Point", "Scaling"]
