"""Constraints as rows, solved together with the accelerations: joint friction, joint limits and contacts."""
