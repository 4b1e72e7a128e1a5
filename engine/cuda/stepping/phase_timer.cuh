// Timing of the phases of a robot's last step.
#pragma once

// The first robot's phases in cycles, their sum in ns, and the start of the last one.
constexpr int NANOSECONDS = phase::COUNT, SINCE = phase::COUNT + 1, COUNTERS = phase::COUNT + 2;

// A stopwatch on the first robot's last step; empty without TIMED.
struct Watch {
    long long* phases;
    bool on;

    __device__ __forceinline__ void lap(int which) const {
        if constexpr (TIMED) {
            if (on) {
                const long long now = clock64();
                phases[which] += now - phases[SINCE];
                phases[SINCE] = now;
            }
        }
    }
    __device__ __forceinline__ void start() const {
        if constexpr (TIMED) {
            if (on) {
                for (int k = 0; k < COUNTERS; ++k) phases[k] = 0;
                phases[NANOSECONDS] = -nanoseconds();
                phases[SINCE] = clock64();
            }
        }
    }
    __device__ __forceinline__ void stop() const {
        if constexpr (TIMED) {
            lap(phase::INTEGRATION);
            if (on) phases[NANOSECONDS] += nanoseconds();
        }
    }
    static __device__ __forceinline__ long long nanoseconds() {
        long long time;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
        return time;
    }
};
