"""Whole simulation steps: integrators, and the arrays and threads of a simulation."""
