"""Live links: what the simulation of a script does, shown in a window of another process while it runs.

A link is a folder that only this user can read, in the user's runtime folder, which most systems keep in memory. The
script writes and the window reads; neither knows whether the other is there, so that none waits and none can break
the other. In the folder lie a lock, which the script holds until it ends; the file of a run with the first frame, as
`save_run` writes it, with which the robot and its scene come; and frames one after another in files of `records`, the
oldest of which go where there are too many.
"""
