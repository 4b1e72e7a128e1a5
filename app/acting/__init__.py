"""What acts on the robot: drives, forces from outside, controllers; each in the simulation's thread. Free of Qt."""
