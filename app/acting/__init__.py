"""The robot's inputs: drives, external forces and controllers, in the simulation thread. Free of Qt."""
