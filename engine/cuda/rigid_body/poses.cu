// The poses of robots' links for rendering: those of all bodies in the world by pointer doubling, any tree.
#include "rigid_body/spatial.cuh"

// The robot as packed by poses.py: `n` bodies; body i has the kind `kind[i]` and its coordinates from `q_start[i]` on;
// coordinate k of the tree is scale[k] · q[index[k]] + offset[k]. `home` (n, 12) is a body's frame in its parent's at
// zero coordinates, rotation by rows and position; in round r body i is joined to body above[r · n + i], unless
// negative. Link l is on body `link_body[l]`, −1 for the world, at `link_frame` (links, 12).
template <typename Real> struct Tree {
    int nq, n, links, rounds;
    const int *kind, *q_start, *index;
    const Real *scale, *offset, *home;
    const int *above, *link_body;
    const Real* link_frame;

    __device__ __forceinline__ Real coordinate(const Real* q, int k) const {
        return scale[k] * q[index[k]] + offset[k];
    }
};

template <typename Real> __device__ __forceinline__ Vector<Real> three(const Real* x) { return {x[0], x[1], x[2]}; }
template <typename Real> __device__ __forceinline__ Pose<Real> frame(const Real* x) {
    return {{three(x), three(x + 3), three(x + 6)}, three(x + 9)};
}
template <typename Real> __device__ __forceinline__ Pose<Real> after(const Pose<Real>& a, const Pose<Real>& b) {
    return {matmul(a.R, b.R), a.p + mul(a.R, b.p)};
}

// T_i: a body's frame in its parent's, at the robot's q (nq,).
template <typename Real>
__device__ __forceinline__ Pose<Real> in_parent(const Tree<Real>& tree, const Real* q, int i) {
    const int k = tree.q_start[i];
    return joint_pose(tree.kind[i], frame(tree.home + 12 * i), [&](int j) { return tree.coordinate(q, k + j); });
}

// Poses, interleaved over items.
template <typename Real> struct Poses {
    Real* first;
    int items;

    __device__ __forceinline__ Pose<Real> operator[](int item) const {
        const auto at = [&](int k) { return first[k * items + item]; };
        return {{{at(0), at(1), at(2)}, {at(3), at(4), at(5)}, {at(6), at(7), at(8)}}, {at(9), at(10), at(11)}};
    }
    __device__ __forceinline__ void store(int item, const Pose<Real>& T) const {
        const Matrix<Real> R = T.R;
        const Real numbers[12] = {R.x.x, R.x.y, R.x.z, R.y.x, R.y.y, R.y.z, R.z.x, R.z.y, R.z.z, T.p.x, T.p.y, T.p.z};
        for (int k = 0; k < 12; ++k) first[k * items + item] = numbers[k];
    }
};

// The frames of the links in the world, `out` (robots, links, 4, 4), at q (robots, nq). A block takes `width` robots at
// a time, whose bodies are in shared memory, or in `workspace` if given, twice 12 numbers each.
template <typename Real, typename Out>
__global__ void __launch_bounds__(THREADS)
link_poses(const Real* __restrict__ q, Out* __restrict__ out, int robots, int width, int nq, int n, int links,
           int rounds, const int* __restrict__ kind, const int* __restrict__ q_start, const int* __restrict__ index,
           const Real* __restrict__ scale, const Real* __restrict__ offset, const Real* __restrict__ home,
           const int* __restrict__ above, const int* __restrict__ link_body, const Real* __restrict__ link_frame,
           Real* workspace) {
    extern __shared__ __align__(16) unsigned char shared[];
    const Tree<Real> tree = {nq, n, links, rounds, kind, q_start, index, scale, offset, home, above, link_body,
                             link_frame};
    const int items = width * n;
    Real* ws = workspace ? workspace + size_t(blockIdx.x) * 24 * items : reinterpret_cast<Real*>(shared);
    for (int first = blockIdx.x * width; first < robots; first += gridDim.x * width) {
        const int here = min(width, robots - first);
        Poses<Real> now = {ws, items}, next = {ws + 12 * items, items};
        for (int item = threadIdx.x; item < here * n; item += THREADS) {
            now.store(item, in_parent(tree, q + size_t(first + item / n) * nq, item % n));
        }
        __syncthreads();
        for (int round = 0; round < rounds; ++round) {
            for (int item = threadIdx.x; item < here * n; item += THREADS) {
                const int body = item % n, up = above[round * n + body];
                const Pose<Real> T = now[item];
                next.store(item, up < 0 ? T : after(now[item - body + up], T));
            }
            __syncthreads();
            const Poses<Real> old = now;
            now = next, next = old;
        }
        for (int item = threadIdx.x; item < here * links; item += THREADS) {
            const int robot = item / links, link = item % links, body = link_body[link];
            Pose<Real> T = frame(link_frame + 12 * link);
            if (body >= 0) T = after(now[robot * n + body], T);
            const Matrix<Real> R = T.R;
            Out* const to = out + (size_t(first + robot) * links + link) * 16;
            const Real rows[16] = {R.x.x, R.x.y, R.x.z, T.p.x, R.y.x, R.y.y, R.y.z, T.p.y,
                                   R.z.x, R.z.y, R.z.z, T.p.z, 0,     0,     0,     1};
            for (int k = 0; k < 16; ++k) to[k] = Out(rows[k]);
        }
        __syncthreads();
    }
}

// q, v and the phase counters into contiguous memory, for one copy to the host.
template <typename Real>
__global__ void __launch_bounds__(THREADS)
gather_state(const Real* __restrict__ q, const Real* __restrict__ v, const long long* __restrict__ counters,
             Real* q_out, Real* v_out, long long* counters_out, int q_size, int v_size, int count) {
    const int first = blockIdx.x * THREADS + threadIdx.x, stride = gridDim.x * THREADS;
    for (int k = first; k < q_size; k += stride) q_out[k] = q[k];
    for (int k = first; k < v_size; k += stride) v_out[k] = v[k];
    for (int k = first; k < count; k += stride) counters_out[k] = counters[k];
}
