"""How a call of a model's kernels went, as the number that it answers."""

FITS, WRONG_SHAPE, NOT_FINITE = 0, 1, 2
