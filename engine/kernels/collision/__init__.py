"""Contacts of a robot's shapes with the ground, obstacles and each other."""
