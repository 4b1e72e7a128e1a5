"""The simulation thread, and the messages it exchanges with the window. Free of Qt."""
