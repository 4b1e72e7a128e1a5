"""Expand xacro files in a child process with limits on time, memory and access."""
