"""The two building blocks of the scheme: bi-diagonal systems by scan, tri-diagonal ones by odd-even elimination.

[Y] is Y. Yang, Y. Wu, J. Pan, "A Novel GPU-based Parallel Implementation Scheme and Performance Analysis of Robot
Forward Dynamics Algorithms" (2016). Arrays are (batch, n, …): robots first, then the links of a chain, base to tip.

The text runs on NumPy and on CuPy arrays alike. It calls NumPy's functions only, and NumPy hands the call to the
library whose arrays it is given (its protocols ``__array_ufunc__`` and ``__array_function__``); nothing is copied to
the host on the way.
"""
