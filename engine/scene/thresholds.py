"""The thresholds of contact detection, restitution and overlap correction, common to all devices."""

from __future__ import annotations

NEAR = 1e-3
"""m: gaps below this are active contacts; so are gaps that close within two steps."""
LEAN = 0.1
"""rad/s: the additional rate at which a hull with many corners is assumed to tilt within a step, where the ground does
not stop a fall. With 0.5 a trunk lying on eight corners rocked forever, each step using the corners that the previous
one had omitted.
"""
IMPACT = 0.015
"""m/s: slower impacts have no restitution."""
SHUT = 1e-8
"""m, and rad or m of a joint: tolerance of gaps, overlaps and distances to a limit. The corners of a flat foot differ
by less, from rounding; the gaps of non-coplanar corners cannot all be closed by a rigid foot's velocity.
"""
SHUT_SINGLE, OVERLAP_SINGLE = 5e-7, 2e-6
"""That tolerance in single precision: of gaps and distances per metre of the coordinates, and of overlaps."""
IMMOBILE = 1e-5
"""m/rad, or per displacement of a slide: contacts with a smaller normal motion are held."""
REACH = 10.0
"""rad/s or m/s around the contact-free velocity, within which a joint's limit is active."""
BACK = 0.5
"""β: the share of an overlap corrected per step."""
HALVINGS = 4
"""How often restitution that would add energy is halved before it is set to zero."""
MOST = 4000
"""The number of contacts that a robot may have at a time however many pairs of its bodies may touch."""
