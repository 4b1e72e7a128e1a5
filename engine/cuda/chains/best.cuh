// The best of some numbers and the link that it is of, for searches over the links of a chain.
#pragma once

template <typename Real> struct Best { Real value, link; };

// What any other is better than.
template <typename Real> __device__ __forceinline__ Best<Real> no_link() { return {Real(-1e30), Real(1e9)}; }

// What is no number would part the threads.
template <typename Real> __device__ __forceinline__ Best<Real> candidate(Real value, int link) {
    return {value == value ? value : Real(-1e30), Real(link)};
}
// The greater one; of equal numbers that of the lesser link.
template <typename Real> __device__ __forceinline__ Best<Real> better(const Best<Real>& a, const Best<Real>& b) {
    return a.value > b.value || (a.value == b.value && a.link <= b.link) ? a : b;
}
