"""Live links: show a script's running simulation in a window of another process.

A link is a folder in the user's runtime folder, readable only by the user and usually in memory. The script writes and
the window reads, without waiting for each other, so that neither can disturb the other. The folder contains a lock
file, locked by the script until it ends; a run file with the first frame, written by `save_run`, which includes the
robot and its scene; and frames in files of `records`, the oldest of which are deleted when there are too many.
"""
