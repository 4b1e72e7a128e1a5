"""Tree passes, a thread a robot: forward dynamics (ABA), inverse dynamics (RNEA), mass matrices (CRBA)."""
