"""What acts on the robot: drives, forces, controllers, poses, settings, surroundings; and undo. Free of Qt."""
