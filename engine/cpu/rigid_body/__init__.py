"""Tree passes on the CPU: poses, velocities, RNEA, CRBA, ABA."""
