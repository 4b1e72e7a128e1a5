"""The expanding polytope of overlapping shapes stays within its capacity, whatever the rounding."""

from types import SimpleNamespace

import numpy as np
import pytest

from engine.kernels.collision import epa
from engine.kernels.collision.pair_workspace import workspace
from engine.scene.shapes import Solid, shapes


def test_edges_beyond_the_rims_room_are_left_out():
    work = workspace(shapes((Solid("box", (1.0, 1.0, 1.0)),))).workspace
    most, edges = len(work.rim), 0
    for k in range(most + 5):  # of as many holes: none is another's edge the other way round
        edges = epa._toggle_rim_edge(work, edges, 3 * k, 3 * k + 1)
    assert edges == most
    np.testing.assert_array_equal(work.rim[:, 0], 3 * np.arange(most))
    # One that is there the other way round is removed all the same.
    assert epa._toggle_rim_edge(work, edges, 1, 0) == most - 1


def test_a_surface_with_more_edges_than_room_for_triangles_ends_the_search(monkeypatch):
    both = shapes((Solid("box", (1.0, 1.0, 1.0)), Solid("box", (0.8, 0.9, 0.7))))
    work = workspace(both).workspace

    def torn(work, triangles, *_):
        return triangles, len(work.rim)

    monkeypatch.setattr(epa, "_remove_visible", torn)
    d = 0.1, 0.2, 0.6
    work.simplex[0] = [*d, *d]
    rotation = np.tile(np.eye(3).ravel(), (2, 1))
    epa.penetration_direction.function(0, 1, both, rotation, d, 1, work)
    assert abs(np.linalg.norm(work.axis[:3]) - 1) < 1e-12


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (3, 1, 0, 2)])
def test_the_first_faces_look_outwards_and_share_each_edge(order):
    corners = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])[list(order)]
    vertex = np.hstack([corners, np.zeros((4, 3))])
    work = SimpleNamespace(vertex=vertex, triangle=np.zeros((4, 4)), triangle_vertices=np.zeros((4, 3), int))
    epa._first_triangles(work)
    assert work.triangle[:, 3] == pytest.approx([1 / np.sqrt(3)] * 4)
    assert np.all(corners @ work.triangle[:, :3].T <= work.triangle[:, 3] + 1e-12)
    edges = [(of[c], of[(c + 1) % 3]) for of in work.triangle_vertices.tolist() for c in range(3)]
    assert len(set(edges)) == 12
    assert {(j, i) for i, j in edges} == set(edges)
