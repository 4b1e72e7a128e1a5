"""Algorithms on the CPU, as compiled loops.

The passes in `rigid_body` work on a *block* of L robots at once, whose workspace is interleaved, robots innermost: L =
1 compiles to scalar code and L = 8 to vector instructions. `lanes`, a tuple of length L, carries L as a compile-time
constant. `chains` and contacts take one robot at a time; `trees` puts parts of one robot into the lanes.
"""
