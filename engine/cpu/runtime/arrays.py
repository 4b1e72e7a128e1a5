"""Filling and copying arrays, inside kernels."""

from __future__ import annotations

from engine.cpu.runtime.native import inline


@inline
def fill(x, value):
    """Every number of a matrix to `value`."""
    for k in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[k, j] = value


@inline
def copy_row(x, out):
    """A vector into another."""
    for j in range(x.size):
        out[j] = x[j]


@inline
def copy(x, out):
    """A matrix into another."""
    for k in range(x.shape[0]):
        copy_row(x[k], out[k])
