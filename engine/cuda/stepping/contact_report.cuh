// Where what robots touch is told.
#pragma once

#include "collision/contact_room.cuh"

// Where the contacts of the last step are told: how many (batch,), the links and, with pairs, what they touch (batch, CONTACTS), the
// numbers of each as contacts.py has them, the residual and the greatest one (batch,).
template <typename Real> struct Told {
    int *number, *link, *other;
    Real *seen, *residual, *worst;
};
namespace seen {
constexpr int PLACE = 0, NORMAL = 3, GAP = 6, IMPULSE = 7, SLIP = 10, WRENCH = 11, OTHER = 17, NUMBERS = OTHER + 6 * TELLS_OTHER;
}
