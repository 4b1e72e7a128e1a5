"""Compiled loops: what a laptop runs.

One text serves one robot and many: every kernel works on a *block* of L robots at once, whose
workspace is laid out with the robots innermost, so that L = 1 compiles to scalar code and L = 8 to
vector instructions. `lanes`, a tuple of length L, carries that length as a compile-time constant.
"""
