"""The one text of what works on one robot, which `engine.compile` takes to machines, written out for the robot."""
