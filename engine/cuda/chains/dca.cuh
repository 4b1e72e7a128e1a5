// DCA-ABA: forward dynamics of one long serial chain by a group of blocks, a warp for each chunk, after [B] and
// engine/algorithms/dca.py. Equations and symbols as in engine/cpu/trees/dca.py.
//
// All of a chunk is expressed in one frame, that of the link before it, so that the recursion over its links has no
// transform: S, J, c of every link are transformed at once, a lane each, and the recursion is
//
//     I += J,  U = I S,  D = SᵀU,  u = τ − Sᵀp,  I −= U Uᵀ/D,  p += U u/D,  Φ −= (Φ S) Uᵀ/D,  b += Φ S u/D
//
// where a lane holds a row. p is a seventh row and −u the seventh of U's numbers, since Sᵀp and U u/D have the same
// form. Y = Σ (Φ S)(Φ S)ᵀ/D is a sum, not a recursion. Accelerations are relative to those caused by the velocities
// within the chunk, a' with a' = 0 before it, so that p needs no I c.
//
//     1  poses and twists: a scan within the chunk, over the block's chunks, over the cluster's blocks
//     2  every chunk as one element (I, Φ, Y, p, b), by the recursion
//     3  elements joined from the tip: the links beyond each chunk as (I, p)
//     4  the recursion again, from (I, p): U, D and u of every joint as in the ABA
//     5  the affine map of accelerations through each chunk; scanned over chunks and blocks
//     6  q̈ = α a + β, with α and β from 5
//
// ADDITIONS, for simulation: a link's `added_inertia` is added to its D, and a held joint has the acceleration
// `target`. For it d = 0 and g = target replace d = 1/D and g = u/D, and 5 yields the reaction less D target in place
// of the acceleration.
#pragma once

#include "chains/dca_memory.cuh"

// The recursion over a chunk's links, from the far end. x is the lane's row of I (lanes 0–5), p (6) and, if it CARRIES
// them, of [Φ | b] (8–13); lanes from 16 on duplicate others. With ′ for the next link, and the row y of I S,
//
//     U' = (I + J') S' − d w U,   D' = S'ᵀ (I + J') S' − d w²,   w = UᵀS',   d = 1/D
//
// whose first terms do not depend on d: only a division is on the critical path from one joint to the next. All reads
// of links precede the writes, which would otherwise delay them.
template <bool CARRIES, typename Real>
__device__ __forceinline__ void recursion(Link<Real>* link, int length, Six<Real>& x, Real& x6, int lane) {
    const int row = lane & 7;
    const bool carry = CARRIES && (lane & 8), holds = !carry && row < 7, is_p = ADDITIONS && !carry && row == 6;
    if (length == 0) return;
    Six<Real> S = link[length - 1].S, J = {};
    Real JS = holds ? link[length - 1].JS[row] : Real(0), U[7];
    if (holds) J = link[length - 1].J[row];
    Real y = times(x, S, JS);
#pragma unroll
    for (int j = 0; j < 7; ++j) U[j] = __shfl_sync(ALL, y, j);
#pragma unroll
    for (int j = 0; j < 6; ++j) x[j] += J[j];
    Real D = times(Six<Real>{U[0], U[1], U[2], U[3], U[4], U[5]}, S);
    if constexpr (ADDITIONS) D += link[length - 1].added_inertia;
    S = link[length > 1 ? length - 2 : 0].S;
    JS = holds && length > 1 ? link[length - 2].JS[row] : Real(0);
#pragma unroll 1
    for (int l = length - 1; l >= 0; --l) {
        const Link<Real>&one = link[l > 0 ? l - 1 : 0], &two = link[l > 1 ? l - 2 : 0];
        Six<Real> J1 = {};
        if (holds && l > 0) J1 = one.J[row];
        const Six<Real> S1 = two.S;
        const Real JS1 = holds ? two.JS[row] : Real(0);
        bool held = false;
        Real target = 0, added_inertia = 0;
        if constexpr (ADDITIONS)
            held = link[l].held != 0, target = link[l].target, added_inertia = one.added_inertia;
        const Real at_D = D, d = held ? Real(0) : reciprocal(D), g = held ? target : -d * U[6];
        const Real y1 = times(x, S, JS), w = times(Six<Real>{U[0], U[1], U[2], U[3], U[4], U[5]}, S);
        Real U1[7];
#pragma unroll
        for (int j = 0; j < 7; ++j) U1[j] = __shfl_sync(ALL, y1, j);
        const Real D1 = times(Six<Real>{U1[0], U1[1], U1[2], U1[3], U1[4], U1[5]}, S), e = d * w;
        const Real c = is_p ? -g : d * y;  // p has g where the rows of I have y/D
        if (ADDITIONS) x6 += carry ? y * g : Real(0);
        else x6 -= c * U[6];
#pragma unroll
        for (int j = 0; j < 6; ++j) x[j] = (x[j] + J1[j]) - c * U[j];
        if (lane < 8) link[l].U[lane] = lane == 7 ? d : y;
        if (CARRIES && lane >= 8 && lane < 14) link[l].G[row] = y;
        if constexpr (ADDITIONS) {
            if (lane == 0) link[l].D = at_D;
        }
        y = is_p ? y1 + g * w : y1 - e * y, D = ADDITIONS ? (D1 - e * w) + added_inertia : D1 - e * w;
#pragma unroll
        for (int j = 0; j < 6; ++j) U[j] = U1[j] - e * U[j];
        U[6] = ADDITIONS ? U1[6] + g * w : U1[6] - e * U[6];
        S = S1, JS = JS1;
    }
    __syncwarp();
}

// A chunk as an element: T and a' are of its last link.
template <typename Real>
__device__ __forceinline__ void reduce(Link<Real>* link, int length, const Pose<Real>& T, const Motion<Real>& a,
                                       Element<Real>& out, int lane) {
    const int row = lane & 7, axis = row % 3;
    // a row of X = Ad(T⁻¹): (c, 0), or (p × c, c), with c a column of R
    const Vector<Real> x = {T.R.x.x, T.R.y.x, T.R.z.x},
        y = {T.R.x.y, T.R.y.y, T.R.z.y}, z = {T.R.x.z, T.R.y.z, T.R.z.z};
    const Vector<Real> c = axis == 0 ? x : axis == 1 ? y : z, r = cross(T.p, c);
    const bool carry = lane & 8;
    Six<Real> held = {};
    if (carry && row < 3) held = {c.x, c.y, c.z, 0, 0, 0};
    if (carry && row >= 3 && row < 6) held = {r.x, r.y, r.z, c.x, c.y, c.z};
    Real b = times(held, six(a));
    recursion<true>(link, length, held, b, lane);
    if (lane < 6) out.I[row] = held;
    if (lane == 6) out.p = held;
    if (carry && lane < 14) out.Phi[row] = held, out.b[row] = b;
    for (int e = lane; e < 36; e += LANES) {
        Real sum = 0;
        for (int l = 0; l < length; ++l) sum += link[l].G[e / 6] * link[l].G[e % 6] * link[l].U[7];
        out.Y[e / 6][e % 6] = sum;
    }
}

// U, −u and 1/D of a chunk's joints from (I, p) of the links beyond, which is zero at the tip. Returns the lane's row
// of (I, p) for the link before the chunk.
template <typename Real>
__device__ __forceinline__ Six<Real> articulate(Link<Real>* link, int length, const Pose<Real>& T,
                                                const Motion<Real>& a, const Element<Real>* beyond, int lane) {
    const int row = lane & 7;
    const auto one = [&](int k) { return Real(row == k); };
    Six<Real> held = {};
    Real none = 0;
    if (beyond != nullptr) {
        // a column of Xᵀ I X, and Xᵀ (p + I X a')
        const Motion<Real> e = {{one(0), one(1), one(2)}, {one(3), one(4), one(5)}};
        const Six<Real> f = times(beyond->I, six(motion_to_child(T, row == 6 ? a : e)));
        Force<Real> F = {{f[0], f[1], f[2]}, {f[3], f[4], f[5]}};
        const Six<Real>& p = beyond->p;
        if (row == 6) F = F + Force<Real>{{p[0], p[1], p[2]}, {p[3], p[4], p[5]}};
        held = six(force_to_parent(T, F));
    }
    recursion<false>(link, length, held, none, lane);
    return held;
}

// The map of accelerations through a chunk, and α and β of q̈ = α a + β; lanes hold the columns of [A | b].
template <typename Real>
__device__ __forceinline__ void pass(Link<Real>* link, int length, const Pose<Real>& T, const Motion<Real>& a,
                                     Map<Real>& out, int lane) {
    Six<Real> x;
#pragma unroll
    for (int r = 0; r < 6; ++r) x[r] = Real(r == lane);
    Six<Real> U, S;
    Real u, d, target = 0;
    bool held = false;
    const auto read = [&](int l) {
        const Real* at = link[l].U;
        U = {at[0], at[1], at[2], at[3], at[4], at[5]}, u = lane == 6 ? at[6] : Real(0), d = at[7], S = link[l].S;
        if constexpr (ADDITIONS) held = link[l].held != 0, target = lane == 6 && held ? link[l].target : Real(0);
    };
    if (length > 0) read(0);
#pragma unroll 1
    for (int l = 0; l < length; ++l) {
        const Six<Real> U0 = U, S0 = S;
        const Real u0 = u, d0 = -d, target0 = target;
        const bool held0 = held;
        read(l + 1 < length ? l + 1 : l);
        const Real z = times(U0, x, u0);
        const Real y = ADDITIONS ? d0 * z + target0 : d0 * z;
        if (lane < 7) link[l].G[lane] = held0 ? z : y;
#pragma unroll
        for (int r = 0; r < 6; ++r) x[r] += S0[r] * y;
    }
    Motion<Real> m = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
    if (lane == 6) m = m + a;
    x = six(motion_to_child(T, m));
#pragma unroll
    for (int r = 0; r < 6; ++r) {
        if (lane < 6) out.A[r][lane] = x[r];
    }
    if (lane == 6) out.b = x;
    __syncwarp();
}

// a ← A a + b, equal in every lane.
template <typename Real> __device__ __forceinline__ void apply(const Map<Real>& map, Six<Real>& a, int lane) {
    const int row = lane % 6;
    const Real y = times(map.A[row], a) + map.b[row];
#pragma unroll
    for (int j = 0; j < 6; ++j) a[j] = __shfl_sync(ALL, y, j);
}

// Stage 1's results in registers: the pose and a' of the chunk's last link, and Sᵀp of the lane's own.
template <typename Real> struct Motions {
    Pose<Real> end;
    Motion<Real> last;
    Real Sp;
};

// Stage 1, a link per lane, at coordinate `angle` and velocity `rate`. `constants` (CONSTANTS + 2, n): the rows of
// engine.model.layout, interleaved, then 1 and 0 for a revolute joint, 0 and 1 for a prismatic one. The wrench
// `external`, if compiled in, acts on the lane's link in its own frame.
template <bool EXTERNAL = false, typename Real>
__device__ __forceinline__ Motions<Real> motions(const Chunk<Real>& chunk, const Real* constants, int n, Real angle,
                                                 Real rate, const Force<Real>& external = {}) {
    Shared<Real>& shared = chunk.shared;
    Sent<Real>& sent = chunk.sent;
    const int lane = chunk.lane, warp = chunk.warp, rank = chunk.rank, longest = chunk.longest;
    const bool here = chunk.here();
    Pose<Real> T = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0, 0, 0}};
    Body<Real> J = {};
    Real turns = 0, slides = 0;
    if (here) {
        const auto constant = [&](int k) { return constants[k * n + chunk.own()]; };
        turns = constant(packed::CONSTANTS), slides = constant(packed::CONSTANTS + 1);
        Real s, c;
        sincos_of(angle * turns, s, c);
        const auto turned = [&](int k) -> Vector<Real> {
            const Real x = constant(k), y = constant(k + 1);
            return {c * x + s * y, c * y - s * x, constant(k + 2)};
        };
        T.R = {turned(packed::HOME_ROTATION), turned(packed::HOME_ROTATION + 3), turned(packed::HOME_ROTATION + 6)};
        const Real shift = angle * slides;
        const auto three = [&](int k) -> Vector<Real> { return {constant(k), constant(k + 1), constant(k + 2)}; };
        T.p = three(packed::HOME_POSITION) + shift * Vector<Real>{T.R.x.z, T.R.y.z, T.R.z.z};
        J = packed_body<Real>(constant);
    }
    T = scanned<Real>(T, lane, longest, [](const Pose<Real>& a, const Pose<Real>& b) { return then(a, b); });
    const Vector<Real> axis = {T.R.x.z, T.R.y.z, T.R.z.z};
    const Motion<Real> S = {turns * axis, turns * cross(T.p, axis) + slides * axis};
    const Motion<Real> joint = {rate * S.o, rate * S.v};
    const auto sum = [](const Motion<Real>& a, const Motion<Real>& b) { return a + b; };
    Motion<Real> V = scanned<Real>(joint, lane, longest, sum);
    const Pose<Real> end = from_lane<Real>(T, longest - 1);
    if (lane == longest - 1) shared.travel[warp] = {end, motion_to_child(end, V)};
    everyone(chunk.meeting);
    if (warp == 0) {
        Travel<Real> run = shared.travel[lane < CHUNKS ? lane : CHUNKS - 1];
        run = scanned<Real>(run, lane, CHUNKS, [](const Travel<Real>& a, const Travel<Real>& b) { return then(a, b); });
        __syncwarp();
        if (lane < CHUNKS) shared.travel[lane] = run;
    }
    if (BLOCKS > 1) {
        __syncthreads();
        send<Real>(shared.travel[CHUNKS - 1], &sent.travel[rank], rank + 1, BLOCKS);
    }
    everyone(chunk.meeting);
    Motion<Real> before = {};
    for (int k = 0; k < rank; ++k) before = motion_to_child(sent.travel[k].T, before) + sent.travel[k].V;
    if (warp > 0) before = motion_to_child(shared.travel[warp - 1].T, before) + shared.travel[warp - 1].V;
    V = V + before;
    // c = ad_V S q̇, a' its sum along the chunk, p = J a' − ad_Vᵀ J V
    const Motion<Real> c = {cross(V.o, joint.o), cross(V.v, joint.o) + cross(V.o, joint.v)};
    const Motion<Real> a = scanned<Real>(c, lane, longest, sum), last = from_lane<Real>(a, longest - 1);
    Real Sp = 0;
    if (here) {
        J = body_to_parent(T, J);
        Force<Real> p = wrench(J, V, a);
        if constexpr (EXTERNAL) p = p - force_to_parent(T, external);
        const Vector<Real> h = J.h;
        const Symmetric<Real> A = J.I;
        Link<Real>& at = chunk.link[lane];
        at.J[0] = {A.xx, A.xy, A.xz, 0, -h.z, h.y};
        at.J[1] = {A.xy, A.yy, A.yz, h.z, 0, -h.x};
        at.J[2] = {A.xz, A.yz, A.zz, -h.y, h.x, 0};
        at.J[3] = {0, h.z, -h.y, J.m, 0, 0};
        at.J[4] = {-h.z, 0, h.x, 0, J.m, 0};
        at.J[5] = {h.y, -h.x, 0, 0, 0, J.m};
        at.J[6] = six(p);
        at.S = six(S);
        const Six<Real> JS = six(momentum(J, S));
#pragma unroll
        for (int k = 0; k < 6; ++k) at.JS[k] = JS[k];
        Sp = times(six(S), six(p));
    }
    return {end, last, Sp};
}

// Stages 2 to 6: q̈ of the lane's link under its joint's force `effort`, or the reaction of a held joint. lap(phase)
// is called at the end of each stage that is timed.
template <typename Real, class Lap>
__device__ __forceinline__ Real accelerations(const Chunk<Real>& chunk, const Motions<Real>& moving, Real effort,
                                              Vector<Real> gravity, const Lap& lap) {
    Shared<Real>& shared = chunk.shared;
    Sent<Real>& sent = chunk.sent;
    Link<Real>* const link = chunk.link;
    const int lane = chunk.lane, warp = chunk.warp, rank = chunk.rank, length = chunk.length;
    const Pose<Real> end = moving.end;
    const Motion<Real> last = moving.last;
    Six<Real>* M = shared.scratch[warp];
    if (chunk.here()) link[lane].JS[6] = moving.Sp - effort;
    __syncwarp();
    // 2, 3: suffixes of the block's elements, double-buffered; then those of the blocks beyond
    reduce(link, length, end, last, shared.element[0][warp], lane);
    lap(phase::CHUNKS);
    const Element<Real>* suffix = join_within<true, Real>(shared.element, M, warp, lane);
    Element<Real>* total = shared.element[suffix == shared.element[0]];
    const bool tip = rank == BLOCKS - 1, at_end = warp == CHUNKS - 1;
    if (BLOCKS > 1) {
        send<Real>(suffix[0], &sent.element[rank], 0, rank);
        everyone(chunk.meeting);
        if (!tip) join_all(sent.element + rank + 1, BLOCKS - 1 - rank, total, M, warp, lane);
    }
    const Element<Real>* following = at_end ? total : &suffix[warp + 1];
    if (!tip && !at_end) {
        join(*following, *total, shared.beyond[warp], M, lane);
        following = &shared.beyond[warp];
    }

    lap(phase::JOINS);

    // 4, 5, 6
    const bool nothing = tip && at_end;
    articulate(link, length, end, last, nothing ? nullptr : following, lane);
    lap(phase::INERTIA_RECURSION);
    pass(link, length, end, last, shared.map[0][warp], lane);
    const Map<Real>* prefix = join_within<false, Real>(shared.map, M, warp, lane);
    Map<Real>* before_block = shared.map[prefix == shared.map[0]];
    if (BLOCKS > 1) {
        send<Real>(prefix[CHUNKS - 1], &sent.map[rank], rank + 1, BLOCKS);
        everyone(chunk.meeting);
        if (rank > 0) join_all(sent.map, rank, before_block, M, warp, lane);
    }
    Six<Real> base = {0, 0, 0, -gravity.x, -gravity.y, -gravity.z};
    if (rank > 0) apply(before_block[0], base, lane);
    if (warp > 0) apply(prefix[warp - 1], base, lane);
    lap(phase::ACCELERATION);
    if (!chunk.here()) return 0;
    const Real* G = link[lane].G;
    const Real answer = times(Six<Real>{G[0], G[1], G[2], G[3], G[4], G[5]}, base) + G[6];
    if constexpr (ADDITIONS) {
        if (link[lane].held != 0) return answer + link[lane].D * link[lane].target;
    }
    return answer;
}
