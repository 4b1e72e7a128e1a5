"""Algorithms for serial chains, the joint-space algorithm JSIIA, and the choice of a step's algorithm."""
