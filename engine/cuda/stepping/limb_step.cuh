// A step of a robot with EVEN_LIMBS that touches a plane by its limbs alone, by one point of each at most: most steps of
// what stands and walks, with every number in a register. A step that is not so, or whose impulses the sweeps do not find, is
// left to contact_dynamics.cuh, with the robot as it was.
#pragma once

#include "collision/ground.cuh"
#include "constraints/limb_impulses.cuh"
#include "stepping/joint_motion.cuh"
#include "stepping/told.cuh"

// What is remembered of a limb while its robot steps like this: the point that touched and its impulse in the world, and the
// impulses of the joints.
template <typename Real> struct LimbMemory {
    bool own;  // else the robot's room has it
    int point, place;  // −1 where none touched; which of the robot's contacts it was
    Vector<Real> impulse;
    Real joints[LIMB];
};

// The ground as the trunk sees it: the normal, and how high a place x of the trunk's frame is.
template <typename Real> struct Ground {
    Vector<Real> normal, n;  // in the world, and in the trunk's frame
    Real offset;
    const Posture<Real>& now;

    __device__ __forceinline__ Ground(const Surroundings<Real>& scene, const Posture<Real>& now)
        : normal{scene.ground[0], scene.ground[1], scene.ground[2]}, n(mul_t(now.trunk.R, normal)), offset(scene.ground[3]),
          now(now) {}
    __device__ __forceinline__ Vector<Real> in_world(Vector<Real> x) const { return now.trunk.p + mul(now.trunk.R, x); }
    // Whether what is there at gap and moves by V may act within a step.
    __device__ __forceinline__ bool comes_near(Real gap, Vector<Real> x, const Motion<Real>& V, Real dt) const {
        const Real closing = -dot(n, V.v + cross(V.o, x));
        return gap <= Real(NEAR) + 2 * dt * fmax(closing, Real(0));
    }
};

// Whether any point of the trunk comes near, of those that this lane looks at.
template <typename Real>
__device__ __forceinline__ bool trunk_comes_near(const Surroundings<Real>& scene, const Ground<Real>& ground, Real dt,
                                                 const Group& group) {
    bool comes = false;
#pragma unroll 1
    for (int s = 0; s < SHAPE_START[1]; ++s) {
        const int first = int(scene.of_shape(s, shape::FIRST)), many = int(scene.of_shape(s, shape::COUNT));
#pragma unroll 2
        for (int number = group.rank; number < many; number += LANES) {
            const int k = first + number;
            const Vector<Real> x = scene.vector_of_point(k, point::POSITION) - scene.of_point(k, point::RADIUS) * ground.n;
            const Real gap = dot(ground.normal, ground.in_world(x)) - ground.offset;
            comes |= ground.comes_near(gap, x, ground.now.V, dt);
        }
    }
    return comes;
}

// The one point of the limb that may act within the step; answers how many there are.
template <typename Real>
__device__ __forceinline__ int find_limb_contact(LimbContact<Real>& touch, const Surroundings<Real>& scene,
                                                 const Ground<Real>& ground, Real dt, const Group& group) {
    constexpr int TRUNK = SHAPE_START[1], SHAPES_OF_LIMB = SHAPE_START[1 + LIMB] - TRUNK;
    int found = 0;
    touch.any = false, touch.body = -1, touch.gap = 0, touch.open = 0, touch.point = -1, touch.shape = TRUNK;
    touch.x = touch.place = {0, 0, 0};
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
#pragma unroll
        for (int number = SHAPE_START[1 + k]; number < SHAPE_START[2 + k]; ++number) {
            const int s = number + SHAPES_OF_LIMB * group.rank, p = int(scene.of_shape(s, shape::FIRST));
            const Pose<Real>& T = ground.now.body[k];
            const Vector<Real> centre = T.p + mul(T.R, scene.vector_of_point(p, point::POSITION));
            const Vector<Real> x = centre - scene.of_point(p, point::RADIUS) * ground.n, place = ground.in_world(x);
            const Real gap = dot(ground.normal, place) - ground.offset;
            if (!ground.comes_near(gap, x, ground.now.V_of[k], dt)) continue;
            ++found;
            touch.any = true, touch.body = k, touch.point = p, touch.shape = s;
            touch.gap = gap, touch.x = x, touch.place = place;
        }
    }
    return found;
}

// What of a gap is open: `open_gap` of contact_rows.cuh.
template <typename Real> __device__ __forceinline__ Real open_part(Real gap, Vector<Real> n, Vector<Real> x) {
    if constexpr (sizeof(Real) == 8) return gap > SHUT<Real> ? gap : Real(0);
    return fmax(gap - SHUT<Real> * (1 + fabs(n.x * x.x) + fabs(n.y * x.y) + fabs(n.z * x.z)), Real(0));
}

// The impulses to begin with: those of the step before, of which `memories` contacts are remembered.
template <typename Real, class Kept>
__device__ __forceinline__ void warm_start(LimbImpulses<Real>& x, const LimbMemory<Real>& memory, const LimbContact<Real>& touch,
                                           const LimbRows<Real>& rows, const Tangents<Real>& t, Vector<Real> normal,
                                           const Kept& kept, int memories, const Group& group) {
    Vector<Real> before = {0, 0, 0};
    if (memory.own) {
        if (touch.any && memory.point == touch.point) before = memory.impulse;
    } else if (touch.any) {
#pragma unroll 1
        for (int m = 0; m < memories; ++m) {
            const int slot = kept::MEMORY + memory::NUMBERS * m;
            if (int(kept(slot)) == touch.point) before = kept.vector(slot + memory::IMPULSE);
        }
    }
    x.of[0] = dot(normal, before), x.of[1] = dot(t.first, before), x.of[2] = dot(t.second, before);
#pragma unroll
    for (int k = 0; k < LIMB; ++k) {
        x.of[3 + k] = 0;
        if (JOINT_ROWS > 0 && rows.acts[k] && memories > 0)
            x.of[3 + k] = memory.own ? memory.joints[k] : kept(kept::JOINT_MEMORY + limb_rate(group) + k);
    }
}

// Impulses that obey the law, with u of the limb and the residual; answers whether they were found.
template <typename Real>
__device__ __forceinline__ bool find_impulses(const LimbRows<Real>& rows, LimbImpulses<Real>& x, Real (&u)[LIMB_ROWS], Real& left,
                                              const Group& group) {
    set_share(rows, x);
    add_shares(x, group);
    left = limb_residual(rows, x, u, group);
    const Real enough = left <= BEARABLE<Real> / 2 ? SWEPT<Real> : CONTACT_TOLERANCE<Real>;
    bool goes = !(left <= CONTACT_TOLERANCE<Real>);
#pragma unroll 1
    for (int turn = 1; turn <= LIMB_SWEEPS && group.any_of_all(goes); ++turn) {
        sweep_limbs(rows, x, group, turn == 1 ? TIMES_AT_FIRST : TIMES, goes);
        const Real found = limb_residual(rows, x, u, group);
        if (goes) left = found;
        goes = goes && !(left <= (turn < SWEEPS_BY_PATHS<Real> ? CONTACT_TOLERANCE<Real> : enough));
    }
    return !goes;
}

// v⁺ into the state, and q⁺ = q ⊕ dt v⁺, as `arrive` of contact_dynamics.cuh has them. Answers whether v⁺ is sound.
template <typename Real, class Memory>
__device__ __forceinline__ bool limb_arrive(const Memory& at, Real (&trunk)[TRUNK_NV], const Real (&u)[LIMB_ROWS], Real dt,
                                            const Group& group) {
    bool sound = true;
#pragma unroll
    for (int e = 0; e < TRUNK_NV; ++e) sound &= fabs(trunk[e]) < Real(DIVERGED);
#pragma unroll
    for (int k = 0; k < LIMB; ++k) sound &= fabs(u[3 + k]) < Real(DIVERGED);
    sound = !group.any(!sound);
    group.sync();
    if (!FREEZES || sound) {
#pragma unroll
        for (int k = 0; k < LIMB; ++k) {
            at(V + limb_rate(group) + k) = u[3 + k];
            at(Q + limb_coordinate(group) + k) += dt * u[3 + k];
        }
        if (group.rank == 0) {
            const auto v = [&](int j) -> Real& { return trunk[j]; };
            advance_joint<Real, HAS_BALLS>(FREE, numbers(at, Q), v, v, dt);
#pragma unroll
            for (int e = 0; e < TRUNK_NV; ++e) at(V + e) = trunk[e];
        }
    }
    group.sync();
    return sound;
}

// A contact where it is told, as `tell` of contact_dynamics.cuh has it, with the impulses x and velocities u; `place`: which of
// all robots' contacts it is.
template <typename Real, class Told, class Joints, class Robot>
__device__ __noinline__ void tell_limb(Told told, Surroundings<Real> scene, Joints joints, Robot robot, Group group,
                                       LimbContact<Real> touch, Tangents<Real> t, Vector<Real> x, Vector<Real> u, size_t place) {
    const Vector<Real> n = {scene.ground[0], scene.ground[1], scene.ground[2]};
    const Vector<Real> world = x.x * n + x.y * t.first + x.z * t.second;
    const Posture<Real> now = posture<Real>(joints, robot, group);
    Pose<Real> T = now.body[0];
#pragma unroll
    for (int k = 1; k < LIMB; ++k)
        if (touch.body == k) T = now.body[k];
    const auto of_shape = [&](int k) {
        const int s = touch.shape;
        return Vector<Real>{scene.of_shape(s, k), scene.of_shape(s, k + 1), scene.of_shape(s, k + 2)};
    };
    const Matrix<Real> R = {of_shape(shape::ROTATION), of_shape(shape::ROTATION + 3), of_shape(shape::ROTATION + 6)};
    const Vector<Real> force = mul_t(T.R, mul_t(now.trunk.R, world));
    const Vector<Real> arm = mul_t(T.R, touch.x - T.p) - of_shape(shape::POSITION);
    Real* const row = told.seen + place * seen::NUMBERS;
    const auto store = [&](int k, Vector<Real> x) { row[k] = x.x, row[k + 1] = x.y, row[k + 2] = x.z; };
    told.link[place] = int(scene.of_shape(touch.shape, shape::LINK));
    store(seen::PLACE, touch.place), store(seen::NORMAL, n), store(seen::IMPULSE, world);
    row[seen::GAP] = touch.gap, row[seen::SLIP] = sqrt(u.y * u.y + u.z * u.z);
    store(seen::WRENCH, mul_t(R, cross(arm, force))), store(seen::WRENCH + 3, mul_t(R, force));
}

// What the impulses x of robot `touch` leave: what is remembered, and the state. Answers whether the velocity is sound.
template <typename Real, class Touch, class Joints>
__device__ __forceinline__ bool end_limb_step(Touch& touch, const Joints& joints, const Motions<Real>& to,
                                              const LimbImpulses<Real>& x, const Real (&u)[LIMB_ROWS], const Group& group) {
#pragma unroll
    for (int k = 0; k < LIMB; ++k) touch.memory.joints[k] = x.of[3 + k];
    Real trunk[TRUNK_NV];
#pragma unroll
    for (int e = 0; e < TRUNK_NV; ++e) trunk[e] = x.all[e];
    backward(to.a, trunk);
#pragma unroll
    for (int e = 0; e < TRUNK_NV; ++e) trunk[e] += to.trunk[e];
    return limb_arrive(joints.at, trunk, u, joints.dt, group);
}

// A step of robot `touch`, if it is one that can be taken like this; `any`: it was. `tells`: who asks for the contacts will
// find these.
template <class Touch, class Joints, class Robot>
__device__ __forceinline__ Touched step_by_limbs(Touch& touch, const Joints& joints, const Robot& robot, bool tells) {
    using Real = typename Touch::Number;
    Group group = touch.group;
    group.meet();
    group.sync();
    const auto& scene = touch.scene;
    const Real dt = joints.dt;
    const Posture<Real> now = posture<Real>(joints, robot, group);
    const Ground<Real> ground(scene, now);
    LimbContact<Real> there;
    const bool trunk = trunk_comes_near(scene, ground, dt, group);
    const int points = find_limb_contact(there, scene, ground, dt, group);
    int count = 0;
    const int place = group.before(there.any, count);
    if (group.any(trunk || points > 1 || there.gap < -OVERLAP<Real>) || count == 0) return {false, true};
    group.meet();
    there.open = open_part(there.gap, ground.normal, there.place);
    const Tangents<Real> t = tangents(ground.normal);
    there.row[0] = ground.n, there.row[1] = mul_t(now.trunk.R, t.first), there.row[2] = mul_t(now.trunk.R, t.second);
    const Motions<Real> to = free_motions(now, joints, robot, group);
    LimbRows<Real> rows;
    LimbImpulses<Real> x;
    rows.touches = there.any, rows.mu = scene.of_shape(there.shape, shape::FRICTION);
    limb_rows(rows, there, now, to, dt);
    joint_laws(rows, joints, group);
    warm_start(x, touch.memory, there, rows, t, ground.normal, touch.found.all.kept, touch.number, group);
    Real u[LIMB_ROWS], left;
    if (!find_impulses(rows, x, u, left, group)) return {false, true};
    group.meet();
    touch.left = left, touch.worst = left > touch.worst ? left : touch.worst, touch.number = count;
    touch.memory.own = true, touch.memory.point = there.point, touch.memory.place = place;
    touch.memory.impulse = x.of[0] * ground.normal + x.of[1] * t.first + x.of[2] * t.second;
    if (tells && there.any)
        tell_limb<Real>(touch.told, scene, joints, robot, group, there, t, Vector<Real>{x.of[0], x.of[1], x.of[2]},
                        Vector<Real>{u[0], u[1], u[2]}, touch.robot * CONTACTS + place);
    return {true, end_limb_step(touch, joints, to, x, u, group)};
}

// What is remembered goes where all other steps look for it.
template <class Touch> __device__ __forceinline__ void hand_over(Touch& touch) {
    auto& memory = touch.memory;
    const auto& kept = touch.found.all.kept;
    if (memory.own && touch.number > 0) {
        if (memory.point >= 0) {
            const int slot = kept::MEMORY + memory::NUMBERS * memory.place;
            kept(slot) = memory.point, kept.store(slot + memory::IMPULSE, memory.impulse);
        }
#pragma unroll
        for (int k = 0; k < LIMB; ++k) kept(kept::JOINT_MEMORY + limb_rate(touch.group) + k) = memory.joints[k];
    }
    memory.own = false;
    touch.group.sync();
}
