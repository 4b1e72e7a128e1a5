"""Joint limits and joint friction, solved together with the accelerations."""
