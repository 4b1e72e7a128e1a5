"""Constraints as rows, solved together with the accelerations: joint friction and joint limits."""
