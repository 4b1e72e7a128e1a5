// The maximum of numbers over the links of a chain, with its link.
#pragma once

template <typename Real> struct Best { Real value, link; };

// Smaller than any other.
template <typename Real> __device__ __forceinline__ Best<Real> no_link() { return {Real(-1e30), Real(1e9)}; }

// NaN would make the threads disagree.
template <typename Real> __device__ __forceinline__ Best<Real> candidate(Real value, int link) {
    return {value == value ? value : Real(-1e30), Real(link)};
}
// The larger one; on ties that of the smaller link index.
template <typename Real> __device__ __forceinline__ Best<Real> better(const Best<Real>& a, const Best<Real>& b) {
    return a.value > b.value || (a.value == b.value && a.link <= b.link) ? a : b;
}
