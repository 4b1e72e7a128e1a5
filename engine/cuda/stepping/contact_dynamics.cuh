// One step's velocity under contacts: the text of engine/cpu/constraints/contact_dynamics.py, see there for the equations.
//
// The impulses of the step before are tried first, and then some sweeps from them, by W alone: of a robot that stands these obey
// the law, and then neither G nor a factor of it is made. What comes after that stands in functions of its own.
#pragma once

#include "collision/ground.cuh"
#include "constraints/contact_rows.cuh"
#include "stepping/joint_motion.cuh"

// Where the contacts of the last step are told: how many (batch,), the links and, with pairs, what they touch (batch, CONTACTS), the
// numbers of each as contacts.py has them, the residual and the greatest one (batch,).
template <typename Real> struct Told {
    int *number, *link, *other;
    Real *seen, *residual, *worst;
};
namespace seen {
constexpr int PLACE = 0, NORMAL = 3, GAP = 6, IMPULSE = 7, SLIP = 10, WRENCH = 11, OTHER = 17, NUMBERS = OTHER + 6 * TELLS_OTHER;
}

// Takes joint forces from the right-hand side of M's rows.
template <class Room> struct LessForces {
    Room room;

    template <typename Real> __device__ __forceinline__ void acceleration(int i, int k, Real force) const {
        room(room_at::FACTOR + ROW_START[k]) -= own_rate(i, force);
    }
};

// x turned by ω for dt.
template <typename Real> __device__ __forceinline__ Vector<Real> turned(Vector<Real> omega, Real dt, Vector<Real> x) {
    return mul(rotation_from_quaternion(quaternion_step(Quaternion<Real>{0, 0, 0, 1}, omega, dt)), x);
}

// The factors of M̃, and v_f in FREE_V, unless it is `given` there, without the turning of the frames of free joints.
template <typename Real, class Joints, class Robot, class Room>
__device__ __forceinline__ void begin_contacts(const Joints& joints, const Robot& robot, const Room& room, bool given) {
    const auto& at = joints.at;
    const Real dt = joints.dt;
    if constexpr (FILLS) clear(room, room_at::FACTOR);
    for (int k = 0; k < NV; ++k) room(room_at::FACTOR + ROW_START[k]) = 0;
    if (!given) {
        bias<Real>(at, joints, robot);
        forces<Real>(at, LessForces<Room>{room}, robot);
    }
    composite_bodies<Real>(at, robot, [&](int i, int c, int j, const Force<Real>& F) {
        enter(room, room_at::FACTOR, i, c, j, F);
    });
    EACH_BODY
    for (int i = 0; i < BODIES; ++i) {
        if (follows(i)) continue;
        for (int k = v_start(i); k < v_start(i) + (kind(i) == FREE ? 6 : is_ball(i) ? 3 : 1); ++k) {
            if (kind(i) != FREE) room(room_at::FACTOR + diagonal(k)) += joints.extra(i, k);
            if (!given) room(room_at::FACTOR + ROW_START[k]) += joints.smooth(i, k);
        }
    }
    factor_and_solve<Real>(room, room_at::FACTOR);
    if (!given) {
        for (int k = 0; k < NV; ++k) room(room_at::FREE_V + k) = at(V + k) + dt * room(room_at::FACTOR + ROW_START[k]);
    }
    EACH_BODY
    for (int i = 0; i < BODIES; ++i) {
        if (kind(i) != FREE) continue;
        const int k = v_start(i), f = room_at::FREE_V + k;
        if (given) room.store(f + 3, turned(room.vector(f), dt, room.vector(f + 3)));
        else room.store(f + 3, room.vector(f + 3) + dt * cross(at.vector(V + k), at.vector(V + k + 3)));
    }
}

// The impulse of contact i, where one was remembered of its point, in the world; `memories` there are.
template <typename Real, class Room>
__device__ __forceinline__ Vector<Real> remembered(const Room& room, int i, int memories) {
    const int c = contact_slot(i);
    const Real point = room(c + contact::POINT);
    int m = i < memories ? i : 0;  // most often it is that one
#pragma unroll 1
    for (int tried = 0; tried < memories; ++tried) {
        const int slot = room_at::MEMORY + memory::NUMBERS * m;
        bool same = room(slot) == point;
        if constexpr (ANY_PAIRS) {
            for (int k = 0; k < 2; ++k) same &= room(slot + memory::FEATURE + k) == room(c + contact::FEATURE + k);
        }
        if (same) return room.vector(slot + memory::IMPULSE);
        m = m + 1 < memories ? m + 1 : 0;
    }
    return {0, 0, 0};
}

// The impulse of contact i in the world, from those of its rows.
template <typename Real, class Room> __device__ __forceinline__ Vector<Real> in_world(const Room& room, const RowsOf& rows, int i) {
    const Vector<Real> n = room.vector(contact_slot(i) + contact::NORMAL);
    const int k = room_at::IMPULSE + rows.first(i);
    if (!rows.rubs(i)) return room(k) * n;
    const Tangents<Real> t = tangents(n);
    return room(k) * n + room(k + 1) * t.first + room(k + 2) * t.second;
}

// Leave contact i out.
template <class Room> __device__ __noinline__ void drop(Room room, RowsOf& rows, int i) {
    if (rows.rubs(i)) --rows.rubbing;
    --rows.count;
    for (int k = contact_slot(i); k < contact_slot(rows.count); ++k) room(k) = room(k + contact::NUMBERS);
}

// Rows of contacts, with the impulses of the step before: J, W and G's diagonal. A contact that no joint moves along its normal is
// left out, since no impulse of it is known.
template <typename Real, class Joints, class Robot, class Room>
__device__ __forceinline__ void contact_rows(const Joints& joints, const Robot& robot, const Surroundings<Real>& scene,
                                             const Room& room, RowsOf& rows, int memories) {
#pragma unroll 1
    for (int i = 0; i < rows.count;) {
        const int k = rows.first(i), s = shape_of(room, i), law = room_at::LAW + 3 * (i - rows.frictional());
        const Vector<Real> n = room.vector(contact_slot(i) + contact::NORMAL), before = remembered<Real>(room, i, memories);
        room(room_at::IMPULSE + k) = dot(n, before);
        if constexpr (SOME_RUB) {
            if (rows.rubs(i)) {
                const Tangents<Real> t = tangents(n);
                room(room_at::IMPULSE + k + 1) = dot(t.first, before), room(room_at::IMPULSE + k + 2) = dot(t.second, before);
                room(room_at::MU + i) = scene.of_shape(s, shape::FRICTION);
                if (!jacobian<Real, 3>(joints.at, robot, room, i, k)) {
                    drop(room, rows, i);
                    continue;
                }
                half_rows<Real, 3>(room, k, SHAPE_TIP[s]);
            }
        }
        if constexpr (!ALL_RUB) {
            if (!rows.rubs(i)) {
                room(law) = 0, room(law + 1) = 0, room(law + 2) = Real(INFINITE);
                if (!jacobian<Real, 1>(joints.at, robot, room, i, k)) {
                    drop(room, rows, i);
                    continue;
                }
                half_rows<Real, 1>(room, k, SHAPE_TIP[s]);
            }
        }
        ++i;
    }
}

// Twice the kinetic energy that the impulses add.
template <typename Real, class Room> __device__ __forceinline__ Real work(const Room& room, int n) {
    Real total = 0;
    for (int k = 0; k < n; ++k)
        total += room(room_at::IMPULSE + k) * (room(room_at::U + k) + room(room_at::B + k) - 2 * room(room_at::OFFSET + k));
    return total;
}

// Where sweeps from the impulses of the step before do not do: the law solved, with less restitution where that would gain
// energy, and HALF anew. `solved`: at full restitution they do. Answers the residual.
template <typename Real, class Room>
__device__ __noinline__ Real solve_anew(Surroundings<Real> scene, Room room, RowsOf rows, Real dt, bool springs, bool solved) {
    const int n = rows.all();
    delassus<Real>(room, rows);
    Real share = 1, left = 0;
#pragma unroll 1
    for (int attempt = 0; attempt < HALVINGS + 2; ++attempt) {
        if (attempt > 0 || !solved) left = solve_contacts(rows.system<Real>(room), rows, attempt == 0);
        if (!springs || work<Real>(room, n) <= 0) break;
        share = attempt < HALVINGS ? share / 2 : Real(0);
        springs = right_side(scene, room, rows, share, dt);
    }
    half_impulses<Real>(room, rows, n, room_at::IMPULSE);
    return left;
}

// What is displaced so that overlaps are taken back, into WAY: M̃⁻¹ Jᵀ π for 0 ≤ π ⟂ G_nn π + β gap ≥ 0. `formed`: G stands there.
template <typename Real, class Room>
__device__ __noinline__ void take_back(Room room, RowsOf rows, bool formed) {
    if (!formed) delassus<Real>(room, rows);
    const int last = rows.first_joint();
    for (int k = 0; k < last; ++k) room(room_at::OFFSET + k) = 0;
#pragma unroll 1
    for (int i = 0; i < rows.count; ++i) {
        const Real gap = room(contact_slot(i) + contact::GAP);
        const int law = room_at::LAW + 3 * i, k = rows.first(i);
        room(room_at::B + i) = gap < 0 ? Real(BACK) * gap : gap, room(room_at::TRIED + i) = 0;
        room(law) = 0, room(law + 1) = 0, room(law + 2) = Real(INFINITE);
        room(room_at::OWN + i) = room(room_at::OWN + k);
        for (int j = 0; j <= i; ++j)  // each is read from where it stands or from behind
            room(room_at::G + i * (i + 1) / 2 + j) = room(room_at::G + k * (k + 1) / 2 + rows.first(j));
    }
    rounds(System<Real, Room>{room, 0, rows.count}, 2 * SOLVER_ROUNDS, Real(DAMPING_OF_ROUNDS), false);
    for (int i = 0; i < rows.count; ++i) room(room_at::OFFSET + rows.first(i)) = room(room_at::BEST + i);
    half_impulses<Real>(room, rows, last, room_at::OFFSET);
    to_velocities<Real>(room);
}

// What robots touch, and what one of them keeps of it.
template <typename Real, int PITCH> struct Touching {
    static constexpr bool ANY = true;
    using Room = Slots<Real, PITCH>;

    Surroundings<Real> scene;
    Room room;
    Told<Real> told;
    size_t robot;
    int number;       // contacts in the last step, whose impulses are remembered
    Real left, worst;  // the residual of the last step, and the greatest of this launch

    __device__ __forceinline__ Real& free_velocity(int k) const { return room(room_at::FREE_V + k); }
    // How many contacts may act within the step.
    template <class Joints, class Robot>
    __device__ __forceinline__ int find(const Joints& joints, const Robot& own_robot) const {
        return touches(joints, own_robot, scene, room);
    }
    // Nothing touches: the impulses of the step before are forgotten.
    __device__ __forceinline__ void part() { number = 0, left = 0; }

    // A step under `count` contacts; v_f is `given` in FREE_V, or computed. Answers whether v⁺ is sound; with FREEZES the state
    // stays as it was where it is not. `tells`: who asks for the contacts will find these.
    template <class Joints, class Robot>
    __device__ __forceinline__ bool step(const Joints& joints, const Robot& own_robot, int count, bool given, bool tells) {
        const auto& at = joints.at;
        const Real dt = joints.dt;
        begin_contacts<Real>(joints, own_robot, room, given);
        for (int v = 0; v < NV; ++v) room(room_at::HALF + v) = 0;
        RowsOf rows = {count, frictional_first(scene, room, count), 0};
        contact_rows(joints, own_robot, scene, room, rows, number);
        rows.joints = joint_rows<Real>(joints, room, rows, number > 0);
        const int n = rows.all();
        const bool springs = right_side(scene, room, rows, Real(1), dt);
        for (int v = 0; v < NV; ++v) room(room_at::HALF + v) *= room(room_at::FACTOR + diagonal(v));
        for (int k = 0; k < n; ++k) room(room_at::TRIED + k) = room(room_at::IMPULSE + k);
        left = residual_by_paths<Real>(room, rows);
        for (int turn = 0; turn < SWEEPS_BY_PATHS<Real> && !(left <= CONTACT_TOLERANCE<Real>); ++turn) {
            sweep_by_paths<Real>(room, rows);
            left = residual_by_paths<Real>(room, rows);
        }
        for (int k = 0; k < n; ++k) room(room_at::IMPULSE + k) = room(room_at::TRIED + k);
        const bool solved = left <= CONTACT_TOLERANCE<Real>;
        const bool anew = !solved || (springs && work<Real>(room, n) > 0);
        if (anew) left = solve_anew(scene, room, rows, dt, springs, solved);
        remember(rows, tells);
        worst = left > worst ? left : worst;
        to_velocities<Real>(room);
        for (int v = 0; v < NV; ++v) room(room_at::FREE_V + v) += room(room_at::WAY + v);
        Real deepest = 0;
        for (int i = 0; i < rows.count; ++i) deepest = fmin(deepest, room(contact_slot(i) + contact::GAP));
        const bool overlaps = deepest < -OVERLAP<Real>;
        if (overlaps) take_back<Real>(room, rows, anew);
        return arrive(at, dt, overlaps);
    }

    // The impulses of this step, for the next one and, where it `tells`, for who asks.
    __device__ __forceinline__ void remember(const RowsOf& rows, bool tells) {
        number = rows.count;
#pragma unroll 1
        for (int i = 0; i < rows.count; ++i) {
            const int c = contact_slot(i), slot = room_at::MEMORY + memory::NUMBERS * i;
            const Vector<Real> world = in_world<Real>(room, rows, i);
            room(slot) = room(c + contact::POINT);
            for (int k = 0; k < 2 * ANY_PAIRS; ++k) room(slot + memory::FEATURE + k) = room(c + contact::FEATURE + k);
            room.store(slot + memory::IMPULSE, world);
            if (tells) tell(rows, i, world);
        }
        for (int j = 0; j < rows.joints; ++j)
            room(room_at::JOINT_MEMORY + int(room(room_at::JOINT_OF + j))) = room(room_at::IMPULSE + rows.first_joint() + j);
    }
    __device__ __forceinline__ void tell(const RowsOf& rows, int i, Vector<Real> world) const {
        const int c = contact_slot(i), s = shape_of(room, i), k = rows.first(i);
        const size_t place = robot * CONTACTS + i;
        Real* const row = told.seen + place * seen::NUMBERS;
        const auto store = [&](int first, Vector<Real> x) { row[first] = x.x, row[first + 1] = x.y, row[first + 2] = x.z; };
        told.link[place] = int(scene.of_shape(s, shape::LINK));
        store(seen::PLACE, room.vector(c + contact::PLACE)), store(seen::NORMAL, room.vector(c + contact::NORMAL));
        store(seen::IMPULSE, world);
        row[seen::GAP] = room(c + contact::GAP), row[seen::SLIP] = 0;
        Vector<Real> force = room(room_at::IMPULSE + k) * room.vector(c + contact::FRAME);  // in the body's frame
        if (rows.rubs(i)) {
            const Real x = room(room_at::U + k + 1), y = room(room_at::U + k + 2);
            row[seen::SLIP] = sqrt(x * x + y * y);
            force = force + room(room_at::IMPULSE + k + 1) * room.vector(c + contact::FRAME + 3) +
                    room(room_at::IMPULSE + k + 2) * room.vector(c + contact::FRAME + 6);
        }
        const auto of_shape = [&](int first) {
            return Vector<Real>{scene.of_shape(s, first), scene.of_shape(s, first + 1), scene.of_shape(s, first + 2)};
        };
        const Matrix<Real> R = {of_shape(shape::ROTATION), of_shape(shape::ROTATION + 3), of_shape(shape::ROTATION + 6)};
        const Vector<Real> arm = room.vector(c + contact::INSIDE) - of_shape(shape::POSITION);
        store(seen::WRENCH, mul_t(R, cross(arm, force))), store(seen::WRENCH + 3, mul_t(R, force));
#if ANY_PAIRS
        tell_other(rows, i, world);
#endif
    }
#if ANY_PAIRS
    // What contact i touches, and the wrench on that, if it is a link of the robot.
    __device__ __forceinline__ void tell_other(const RowsOf& rows, int i, Vector<Real> world) const {
        const int c = contact_slot(i), k = shape_of(room, i) - SHAPES;
        const size_t place = robot * CONTACTS + i;
        const int other = k < 0 ? -1 : scene.solids.whole(solid_at::OTHER_LINK, k);
        told.other[place] = other;
        if constexpr (TELLS_OTHER) {
            Real* const row = told.seen + place * seen::NUMBERS + seen::OTHER;
            const auto store = [&](int first, Vector<Real> x) { row[first] = x.x, row[first + 1] = x.y, row[first + 2] = x.z; };
            store(0, {}), store(3, {});
            if (other < 0) return;
            Vector<Real> force = -world, x = room.vector(c + contact::PLACE);  // of a link that stands still
            if (OWN_PAIRS && SHAPE_OTHER[k + SHAPES] >= 0) {
                const int frame = c + contact::OTHER_FRAME, first = room_at::IMPULSE + rows.first(i);
                x = room.vector(c + contact::OTHER_INSIDE), force = -(room(first) * room.vector(frame));
                if (rows.rubs(i)) force = force - room(first + 1) * room.vector(frame + 3) - room(first + 2) * room.vector(frame + 6);
            }
            const int at = solid_at::OTHER_FRAME + 12 * k;
            const auto of_link = [&](int first) { return rounded<Real>(scene.solids.vector(at + first)); };
            const Matrix<Real> R = {of_link(0), of_link(3), of_link(6)};
            store(0, mul_t(R, cross(x - of_link(9), force))), store(3, mul_t(R, force));
        }
    }
#endif

    // v⁺ into the state, and q⁺ = q ⊕ dt v⁺, less what overlaps, which stands in WAY: velocities of free joints in the frame in
    // which the step ends, also by what overlapped, for the way in that of its middle.
    template <class Memory> __device__ __forceinline__ bool arrive(const Memory& at, Real dt, bool overlaps) const {
        bool sound = true;
        for (int v = 0; v < NV; ++v) {
            const Real next = room(room_at::FREE_V + v);
            room(room_at::WAY + v) = overlaps ? next + room(room_at::WAY + v) / dt : next;
            sound &= fabs(next) < Real(DIVERGED);
        }
        if (FREEZES && !sound) return false;
        EACH_BODY
        for (int i = 0; i < BODIES; ++i) {
            if (follows(i)) continue;
            const int k = v_start(i), way = room_at::WAY + k, next = room_at::FREE_V + k;
            if (kind(i) == FREE) {
                room.store(way + 3, turned(room.vector(way), -dt / 2, room.vector(way + 3)));
                room.store(next + 3, turned(room.vector(way), -dt, room.vector(next + 3)));
            }
            for (int j = 0; j < (kind(i) == FREE ? 6 : is_ball(i) ? 3 : 1); ++j) at(V + k + j) = room(next + j);
            advance_joint<Real, HAS_BALLS>(kind(i), numbers(at, Q + q_start(i)), numbers(room, way), dt);
        }
        return sound;
    }

    // What the last step of a launch leaves.
    __device__ __forceinline__ void end() const {
        told.number[robot] = number, told.residual[robot] = left, told.worst[robot] = worst;
    }
};
