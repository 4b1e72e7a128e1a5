"""Measurements of the engine, and the engines it is set beside: a room for each, and on this floor what they share."""
