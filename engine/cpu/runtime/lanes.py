"""Several numbers of a workspace's row at once, each as many lanes wide as `lanes`; see `compile.vectors`."""

from __future__ import annotations

from engine.compile import inline
from engine.compile.vectors import load, store


@inline
def load3(row, place, lanes):
    return load(row, place, lanes), load(row, place + 1, lanes), load(row, place + 2, lanes)


@inline
def load6(row, place, lanes):
    a, b = load3(row, place, lanes), load3(row, place + 3, lanes)
    return a[0], a[1], a[2], b[0], b[1], b[2]


@inline
def load9(row, place, lanes):
    a, b = load6(row, place, lanes), load3(row, place + 6, lanes)
    return a[0], a[1], a[2], a[3], a[4], a[5], b[0], b[1], b[2]


@inline
def put3(row, place, x):
    store(row, place, x[0])
    store(row, place + 1, x[1])
    store(row, place + 2, x[2])


@inline
def put6(row, place, x):
    put3(row, place, (x[0], x[1], x[2]))
    put3(row, place + 3, (x[3], x[4], x[5]))


@inline
def put9(row, place, x):
    put6(row, place, (x[0], x[1], x[2], x[3], x[4], x[5]))
    put3(row, place + 6, (x[6], x[7], x[8]))
