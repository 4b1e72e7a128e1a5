"""Where robots touch the ground, obstacles and themselves."""
