// The report of contacts.
#pragma once

#include "collision/contact_workspace.cuh"

// The contacts of the last step: their number (batch,), their links (batch, CONTACTS), the numbers of each in the
// layout of contacts.py, the residual and its maximum (batch,).
template <typename Real> struct ContactReport {
    int *number, *link;
    Real *seen, *residual, *worst;
};
