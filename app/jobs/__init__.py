"""Work in the background that the window starts and ends: comparing, measuring, repairing. Free of Qt."""
