"""Sine and cosine: `sine_and_cosine` of one robot, with the same bits on CPUs and GPUs; `sincos` for vector code."""

from __future__ import annotations

from engine.compile import inline
from engine.compile.operations import fma, is_single, low_bits

_ROUND, _ROUND_SINGLE = 6755399441055744.0, 12582912.0
"""1.5 · 2⁵² and 1.5 · 2²³: adding one and subtracting it rounds to an integer, in double and in single precision."""
_TWO_OVER_PI = 0.6366197723675814
# π/2 in three parts, the first two of 33 bits (Cody and Waite 1980; the split of fdlibm)
_HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
MAX_ANGLE = 1e6


@inline
def _polynomials(z):
    """(sin r − r)/r³ and (cos r − 1 + r²/2)/r⁴ for z = r², |r| ≤ π/4, with fdlibm's coefficients of k_sin and k_cos."""
    s = -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
    s = -1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 + z * s)
    s = -1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * s)
    c = 2.08757232129817482790e-09 + z * -1.13596475577881948265e-11
    c = 2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * c)
    return s, 4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * c)


@inline
def sine_and_cosine(x):
    """sin x and cos x to about an ulp, for |x| ≤ 1e6 in single and 1e15 in double precision.

    The remainder of x after the nearest k quarter turns is exact but for the last bit: k π/2, in two parts, is
    subtracted by fused multiplication; k is in the last bits of x · 2/π + 1.5 · 2ᵐ. The polynomials are minimax ones.
    """
    if is_single(1.0 * x):  # literals have the kernel's number type
        t = fma(x, _TWO_OVER_PI, _ROUND_SINGLE)
        k = t - _ROUND_SINGLE
        r = fma(-k, -4.3711388286737929e-08, fma(-k, 1.5707963705062866, x))
        z = r * r
        s = fma(r * z, fma(z, fma(z, -1.9511e-4, 8.33213e-3), -0.16666654), r)
        c = fma(z * z, fma(z, fma(z, 2.44312e-5, -1.3887306e-3), 4.16664570e-2), fma(z, -0.5, 1.0))
    else:
        t = fma(x, _TWO_OVER_PI, _ROUND)
        k = t - _ROUND
        r = fma(-k, 6.123233995736766e-17, fma(-k, 1.5707963267948966, x))
        z = r * r
        s, c = _polynomials(z)
        s, c = fma(r * z, s, r), fma(z * z, c, fma(z, -0.5, 1.0))
    turns = low_bits(t)
    odd = turns & 1 != 0
    a, b = (c, s) if odd else (s, c)
    return -a if turns & 2 != 0 else a, -b if (turns + 1) & 2 != 0 else b


@inline
def nearest(x):
    """x rounded to an integer, for |x| < 2⁵¹."""
    return (x + _ROUND) - _ROUND


@inline
def quarter_turns(x):
    """The number of quarter turns nearest to the angle x, |x| ≤ MAX_ANGLE, and sine and cosine of the remainder."""
    k = nearest(x * _TWO_OVER_PI)
    r = ((x - k * _HALF_PI[0]) - k * _HALF_PI[1]) - k * _HALF_PI[2]
    z = r * r
    s, c = _polynomials(z)
    return k, r + r * z * s, 1.0 - (0.5 * z - z * z * c)


@inline
def sincos(x):
    """sin x and cos x for |x| ≤ MAX_ANGLE, to about an ulp; compiles to vector code."""
    k, s, c = quarter_turns(x)
    quadrant = k - 4.0 * nearest(k * 0.25)
    odd = abs(quadrant) == 1.0
    sine, cosine = (c, s) if odd else (s, c)
    sine = -sine if quadrant == -1.0 or abs(quadrant) == 2.0 else sine
    cosine = -cosine if quadrant == 1.0 or abs(quadrant) == 2.0 else cosine
    return sine, cosine
