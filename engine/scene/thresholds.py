"""The numbers by which every device tells what touches, what springs back and what is taken back."""

from __future__ import annotations

NEAR = 1e-3
"""m: what is this near the ground takes part in a step; with it what comes to the ground within two steps."""
LEAN = 0.1
"""rad/s: how much faster than it moves as a step begins a hull with many corners may lean over within it, where the
ground does not stop a fall. With 0.5 a trunk that lies on eight corners rocked for ever, each step on the corners that
the one before had left out."""
IMPACT = 0.015
"""m/s: what comes in slower rests, whatever its restitution."""
SHUT = 1e-8
"""m, and rad or m of a joint: what is no gap, no overlap and no way to a limit. The corners of a flat foot differ by
less, from rounding, and no velocity of a rigid foot would shut gaps that are no plane's."""
SHUT_SINGLE, OVERLAP_SINGLE = 5e-7, 2e-6
"""The same in single precision: of gaps and ways for each metre of the coordinates, and of overlaps."""
HELD = 1e-5
"""m/rad, or of a slide's way: what moves along a normal by less is held there."""
REACH = 10.0
"""rad/s or m/s around the velocity without contact, within which a joint's limit takes part."""
BACK = 0.5
"""β: the share of an overlap that a step takes back."""
HALVINGS = 4
"""How often restitution that would gain energy is halved, before there is none."""
MOST = 4000
"""Contacts of a robot at a time. On the CPU room for them all is 4 GB a thread, of which what is used takes memory."""
