"""Joint limits, joint friction and contacts as rows, and their solvers."""
