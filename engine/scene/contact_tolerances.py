"""The tolerances of contact: of detection, restitution, overlap correction and residuals, common to all devices."""

from __future__ import annotations

CONTACT_MARGIN = 1e-3
"""m: gaps below this are active contacts; so are gaps that close within two steps."""
TILT_RATE = 0.1
"""rad/s: the additional rate at which a hull with many corners is assumed to tilt within a step, where the ground does
not stop a fall. With 0.5 a trunk lying on eight corners rocked forever, each step using the corners that the previous
one had omitted.
"""
RESTITUTION_SPEED = 0.015
"""m/s: slower impacts have no restitution."""
GAP_TOLERANCE = 1e-8
"""m, and rad or m of a joint: tolerance of gaps, overlaps and distances to a limit. The corners of a flat foot differ
by less, from rounding; the gaps of non-coplanar corners cannot all be closed by a rigid foot's velocity.
"""
GAP_TOLERANCE_SINGLE, OVERLAP_TOLERANCE_SINGLE = 5e-7, 2e-6
"""That tolerance in single precision: of gaps and distances per metre of the coordinates, and of overlaps."""
IMMOBILE = 1e-5
"""m/rad, or per displacement of a slide: contacts with a smaller normal motion are held."""
LIMIT_MARGIN = 10.0
"""rad/s or m/s around the contact-free velocity, within which a joint's limit is active."""
ERP = 0.5
"""β: the share of an overlap corrected per step."""
RESTITUTION_ATTEMPTS = 4
"""How often restitution that would add energy is reduced before it is set to zero."""
RESTITUTION_MARGIN = 1.25
"""The factor by which restitution is reduced more than would suffice at constant impulses."""
MAX_CONTACTS = 4000
"""The number of contacts that a robot may have at a time however many pairs of its bodies may touch."""
STICKING_SPEED = 1e-6
"""m/s: a smaller tangential speed counts as sticking."""
STICKING_SPEED_SINGLE = 1e-4
"""That speed in single precision."""
RESIDUAL_TOLERANCE = 1e-9
"""The residual required of a step's impulses."""
RESIDUAL_TOLERANCE_SINGLE, ACCEPTED_RESIDUAL_SINGLE = 2e-5, 1e-4
"""That residual in single precision, and the one accepted if the solver's iterations end above it."""
MIN_EPSILON, MIN_EPSILON_SINGLE = 1e-6, 1e-3
"""The least ε, the weight of the proximal term of Newton's steps: smaller ones lose digits."""
VELOCITY_FLOOR, VELOCITY_FLOOR_SINGLE = 1e-9, 1e-6
"""m/s or rad/s: residuals are relative to the largest velocity of their rows, but at least to these. Where robots fall
and no contact closes, velocities of rows are rounding alone.
"""
