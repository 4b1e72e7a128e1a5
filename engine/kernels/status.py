"""The status that a call of a model's kernels returns."""

FITS, WRONG_SHAPE, NOT_FINITE = 0, 1, 2
