"""Tree passes on the CPU: poses and velocities, RNEA, CRBA, ABA."""
