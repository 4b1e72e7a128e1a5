"""Families of cases with common machine code of a CPU step, see `engine.cpu.stepping.code.Code`.

Each family is compiled on its own: 1 to 4 s, with contact up to 10 s, the first time on a machine. There are some
hundreds, so a test takes its cases from a list of a few, `FAMILIES`, in which any two values of any two fields occur
together at least once:

    for family in FAMILIES:
        for seed in range(many):
            case(seed, family)

`case(seed)` alone draws from all of them. `Case.family` is a case's family, and `Case.code()` its key in the engine's
code cache, which a family shares.
"""

from functools import cache
from itertools import combinations, product
from typing import NamedTuple

from tests.differential.chances import Rng, chance, one_of, pick

INTEGRATORS = ("semi-implicit", "rk4", "implicit")
ALGORITHMS = ("abia", "jsiia", "cfa")
GROUNDS = ("none", "plane", "field")


class Family(NamedTuple):
    """Cases that share their machine code.

    `algorithm` is that of the code: "dca" steps robots of so few bodies by that of "abia". `ground`: "none" where
    nothing can touch anything, "field" a height field, "plane" what else. `pairs`: shapes may touch obstacles or each
    other. `own`: robots of the batch differ in parameters or gains. `eight`: blocks of eight robots go together.
    """

    integrator: str
    algorithm: str
    ground: str
    pairs: bool
    own: bool
    wrenches: bool
    freezes: bool
    eight: bool

    @property
    def possible(self) -> bool:
        """Whether there are such cases."""
        alike = self.algorithm == "abia" and self.ground == "none" and not self.own
        return (alike or not self.eight) and (self.ground != "none" or not self.pairs)

    def __str__(self) -> str:
        flags = ("pairs", "own", "wrenches", "freezes", "eight")
        return " ".join([*self[:3], *(flag for flag in flags if getattr(self, flag))])


@cache
def every() -> tuple[Family, ...]:
    """All families."""
    two = (False, True)
    found = (Family(*values) for values in product(INTEGRATORS, ALGORITHMS, GROUNDS, two, two, two, two, two))
    return tuple(family for family in found if family.possible)


def _together(family: Family) -> frozenset:
    return frozenset(combinations(enumerate(family), 2))


def covering() -> tuple[Family, ...]:
    """A few families in which any two values that can occur together do so, found greedily; always the same."""
    left = frozenset().union(*map(_together, every()))
    chosen: list[Family] = []
    while left:
        best = max(every(), key=lambda family: len(left & _together(family)))
        chosen.append(best)
        left -= _together(best)
    return tuple(chosen)


FAMILIES = covering()


def drawn(rng: Rng) -> Family:
    """A family at random: six of ten with something to touch, four of these with pairs."""
    ground = pick(rng, {"none": 0.3, "plane": 0.45, "field": 0.25})
    algorithm = pick(rng, {"abia": 0.45, "jsiia": 0.4, "cfa": 0.15})
    own, wrenches, freezes = (chance(rng, share) for share in (0.4, 0.45, 0.4))
    eight = algorithm == "abia" and ground == "none" and not own and chance(rng, 0.7)
    pairs = ground != "none" and chance(rng, 0.6)
    return Family(one_of(rng, INTEGRATORS), algorithm, ground, pairs, own, wrenches, freezes, eight)
