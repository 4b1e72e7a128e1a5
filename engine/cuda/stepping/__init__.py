"""Whole simulation steps: forces, forward dynamics, joint constraints and integration in one launch."""
