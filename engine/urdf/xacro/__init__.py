"""Expanding xacro files in a process of its own, within bounds."""
