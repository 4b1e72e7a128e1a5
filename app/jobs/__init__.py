"""Background work that the window starts and stops: comparing, measuring, repairing. Free of Qt."""
