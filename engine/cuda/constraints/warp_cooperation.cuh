// The lanes of a warp, each with a robot of its own, solve together for those robots that need the solver.
#pragma once

#include "constraints/row_paths.cuh"
#include "rigid_body/lane_bodies.cuh"

// The pointer x of lane `lane`, since each robot has its own workspace.
template <typename Real> __device__ __forceinline__ Real* address_of_lane(Real* x, int lane, unsigned lanes) {
    return reinterpret_cast<Real*>(__shfl_sync(lanes, reinterpret_cast<unsigned long long>(x), lane));
}

// f(ws, rows, lane) by a team for each robot of its lanes that `needs` it, in a contiguous copy of its workspace,
// from which impulses and velocities are copied back.
template <class Workspace, class Team, class F>
__device__ __forceinline__ void together(const Workspace& ws, const Team& team, bool needs, const RowsOf& rows,
                                         const F& f) {
    if constexpr (LANE_A_BODY) {  // one robot, whose workspace is contiguous
        if (needs) f(ws, rows, 0);
        return;
    }
    const int lane = threadIdx.x % 32;
    auto* const scratch = address_of_lane(ws.far.first, __ffs(team.lanes) - 1, team.lanes);
    const typename Workspace::Together own(scratch, scratch + Workspace::SIZE, nullptr);
#pragma unroll 1
    for (unsigned left = __ballot_sync(team.lanes, needs && lane % LANES == 0); left; left &= left - 1) {
        const int r = __ffs(left) - 1;
        const RowsOf theirs = {__shfl_sync(team.lanes, rows.contacts, r), __shfl_sync(team.lanes, rows.joints, r)};
        const decltype(ws.here) there = {address_of_lane(ws.here.first, r, team.lanes)};
        for (int slot = team.rank; slot < Workspace::SIZE; slot += team.size) own(slot) = there(slot);
        team.sync();
        f(own, theirs, r);
        team.sync();
        for (int slot = Workspace::HALF + team.rank; slot < Workspace::W; slot += team.size) there(slot) = own(slot);
        for (int slot = Workspace::B + team.rank; slot < Workspace::LAW; slot += team.size) there(slot) = own(slot);
        team.sync();
    }
}
