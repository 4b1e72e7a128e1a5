// External wrenches for the tree passes: those on a robot's links as one wrench on each of its bodies.
#include "rigid_body/spatial.cuh"

// For every body of every robot the sum of the wrenches on its links, in the body's frame, times `sign`: `on_bodies`
// (bodies, 6, batch) from `on_links` (rows, links, 6), one row for all robots or one for each. `frames` (links, 12) are
// the links' poses in their bodies, rotation by rows and position. The links of body i are link[e] for e from
// first_link[i] to first_link[i + 1].
template <typename Real>
__global__ void __launch_bounds__(THREADS)
body_wrenches(const Real* __restrict__ on_links, Real* __restrict__ on_bodies, int rows, int batch, int bodies,
              int links, Real sign, const Real* __restrict__ frames, const int* __restrict__ first_link,
              const int* __restrict__ link) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (long long)bodies * batch) return;
    const int robot = at % batch, body = at / batch;
    const auto vector = [](const Real* x) { return Vector<Real>{x[0], x[1], x[2]}; };
    Force<Real> sum = {};
    for (int e = first_link[body]; e < first_link[body + 1]; ++e) {
        const Real *frame = frames + link[e] * 12, *w = on_links + (size_t(rows > 1 ? robot : 0) * links + link[e]) * 6;
        const Pose<Real> T = {{vector(frame), vector(frame + 3), vector(frame + 6)}, vector(frame + 9)};
        sum = sum + force_to_parent(T, Force<Real>{vector(w), vector(w + 3)});
    }
    const Real six[] = {sum.n.x, sum.n.y, sum.n.z, sum.f.x, sum.f.y, sum.f.z};
    for (int k = 0; k < 6; ++k) on_bodies[((size_t)body * 6 + k) * batch + robot] = sign * six[k];
}
