"""The scheme's two building blocks: bi-diagonal systems by scan, tri-diagonal systems by odd-even elimination.

[Y] is Y. Yang, Y. Wu, J. Pan, "A Novel GPU-based Parallel Implementation Scheme and Performance Analysis of Robot
Forward Dynamics Algorithms" (2016). Arrays are (batch, n, …): robots first, then the links of a chain, base to tip.

The code runs on NumPy and on CuPy arrays alike. It calls only NumPy functions, which dispatch to the library of their
arguments (protocols ``__array_ufunc__`` and ``__array_function__``); no data are copied to the host.
"""
