// Threads that work on serial chains together: sub-warps, warps, blocks or a cluster of blocks, by length.
//
// A chain's `threads` hold `links` neighbouring links each. Several short chains share a block; a long one has a
// cluster of `BLOCKS` blocks. Links' numbers are interleaved, one field after another: fields that others may read
// (`get`, `put`, `look`) are in shared memory where they fit, with each block's own links, else in the group's part of
// global memory; a link's own, rarely used fields (`keep`, `recall`) are always in global memory. A group takes robot
// after robot from the batch, so memory grows with the resident groups, not with the batch. The tree of a chain's scans
// and sums depends on its length only.
#pragma once

// thread_group.py defines WARP, MAX_THREADS of a block, and STATE_BYTES, the exchange buffer of a warp.
constexpr unsigned ALL = 0xffffffffu;

// The declaration of a kernel of groups; GPUs without clusters have groups of one block.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define THREAD_GROUP_KERNEL(blocks) __global__ void __launch_bounds__(MAX_THREADS)
#else
#define THREAD_GROUP_KERNEL(blocks) __global__ void __launch_bounds__(MAX_THREADS) __cluster_dims__(blocks, 1, 1)
#endif

template <typename State> __device__ __forceinline__ State shuffled(const State& x, int lane) {
    State y;
    const int* from = reinterpret_cast<const int*>(&x);
    int* to = reinterpret_cast<int*>(&y);
#pragma unroll
    for (int k = 0; k < int(sizeof(State) / sizeof(int)); ++k) to[k] = __shfl_sync(ALL, from[k], lane);
    return y;
}

template <typename State, typename Real> __device__ __forceinline__ State gather(const Real* from, size_t stride) {
    State x;
#pragma unroll
    for (int k = 0; k < int(sizeof(State) / sizeof(Real)); ++k) reinterpret_cast<Real*>(&x)[k] = from[k * stride];
    return x;
}
template <typename State, typename Real>
__device__ __forceinline__ void scatter(Real* to, size_t stride, const State& x) {
#pragma unroll
    for (int k = 0; k < int(sizeof(State) / sizeof(Real)); ++k) to[k * stride] = reinterpret_cast<const Real*>(&x)[k];
}

struct Shape {
    int batch, n;  // robots, and links of each
    int threads;  // of a chain, over all its blocks: a power of two up to a warp, or whole warps
    int links;  // of a thread
    int fields;  // shared fields of a link
    int kept;  // private fields of a link
    int shared;  // bytes of shared memory for the shared fields; 0 if in global memory
};

// LINKS is 1 where each thread has one link, else 0: then `shape.links` is the number.
template <typename Real, int BLOCKS, int LINKS> struct ThreadGroup {
    using Number = Real;
    static constexpr bool ONE_LINK = LINKS == 1;
    static constexpr int CLUSTER = BLOCKS;
    Shape shape;
    int chain, chains, place;  // the thread's chain in its block, and its rank among the chain's threads
    int here, rows;  // threads of a chain in this block; links of the group
    int stride, own;  // stride between a link's fields; offset of its own fields, if there is one link
    int pass, robot;
    int epoch = 0;
    Real* numbers;
    Real* kept;
    char* exchange;

    // `outside` is for clusters, whose blocks do not share `inside`: STATE_BYTES per warp, twice.
    __device__ ThreadGroup(const Shape& shape, Real* memory, char* shared, char* inside, char* outside) : shape(shape) {
        here = shape.threads / BLOCKS;  // a power of two where there are several blocks
        chains = blockDim.x / here;
        rows = blockDim.x * BLOCKS * links();
        chain = threadIdx.x / here;
        place = threadIdx.x % here + (blockIdx.x % BLOCKS) * here;
        pass = blockIdx.x / BLOCKS;
        const size_t elsewhere = shape.shared ? 0 : shape.fields;  // fields in global memory
        kept = memory + (size_t)pass * rows * (elsewhere + shape.kept) + elsewhere * rows;
        numbers = shape.shared ? reinterpret_cast<Real*>(shared) : kept - elsewhere * rows;
        const bool apart = BLOCKS > 1 && shape.shared;  // each block has its own links' fields
        stride = apart ? here : rows;
        own = BLOCKS == 1 || apart ? threadIdx.x : place;
        exchange = BLOCKS == 1 ? inside : outside + (size_t)pass * 2 * (shape.threads / WARP) * STATE_BYTES;
        robot = pass * chains + chain;
    }
    // Whether robots remain, equal for all threads.
    __device__ bool more() const { return pass * chains < shape.batch; }
    __device__ void next() {
        sync();
        pass += gridDim.x / BLOCKS;
        robot = pass * chains + chain;
    }
    __device__ __forceinline__ void sync() const {
        if constexpr (BLOCKS > 1) {
            asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
        } else if (shape.threads > WARP) {
            __syncthreads();
        } else {
            __syncwarp();
        }
    }
    // Whether `so` holds for any chain whose threads must stay together.
    __device__ __forceinline__ bool any(bool so) const {
        if constexpr (BLOCKS > 1) return so;
        return shape.threads > WARP ? __syncthreads_or(so) : __any_sync(ALL, so);
    }
    __device__ __forceinline__ bool works(int i) const { return i < shape.n && robot < shape.batch; }
    __device__ __forceinline__ size_t global(int i) const { return (size_t)robot * shape.n + i; }
    __device__ __forceinline__ int links() const { return LINKS == 1 ? 1 : shape.links; }
    __device__ __forceinline__ int slot(int i) const {
        const int in = LINKS == 1 ? i : i % shape.links * shape.threads + i / shape.links;
        return chain * shape.threads * links() + in;
    }
    // Fields of one of the thread's own links, from `field` on.
    template <typename State> __device__ __forceinline__ State get(int field, int i) const {
        return gather<State>(numbers + (size_t)field * stride + (LINKS == 1 ? own : slot(i)), stride);
    }
    template <typename State> __device__ __forceinline__ void put(int field, int i, const State& x) const {
        scatter<State>(numbers + (size_t)field * stride + (LINKS == 1 ? own : slot(i)), stride, x);
    }
    template <typename State> __device__ __forceinline__ State recall(int field, int i) const {
        return gather<State>(kept + (size_t)field * rows + slot(i), rows);
    }
    template <typename State> __device__ __forceinline__ void keep(int field, int i, const State& x) const {
        scatter<State>(kept + (size_t)field * rows + slot(i), rows, x);
    }
    // Fields of any link of the chain.
    __device__ __forceinline__ const Real* at(int field, int i) const {
        if constexpr (BLOCKS > 1) {
            if (shape.shared) {
                const Real* there = numbers + field * here + (i & (here - 1));
                unsigned long long mapped;
                asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(there), "r"(i >> __popc(here - 1)));
                return reinterpret_cast<const Real*>(mapped);
            }
        }
        return numbers + (size_t)field * rows + slot(i);
    }
    template <typename State> __device__ __forceinline__ State look(int field, int i) const {
        return gather<State>(at(field, i), stride);
    }
    template <typename State> __device__ __forceinline__ State* exchange_slot() {
        static_assert(sizeof(State) <= STATE_BYTES);
        epoch ^= 1;  // the buffer of the epoch before may still be read
        const int warps = shape.threads / WARP;
        const size_t place = (BLOCKS == 1 ? chain : 0) * 2 + epoch;
        return reinterpret_cast<State*>(exchange + place * warps * STATE_BYTES);
    }
};

// f(i) for each link.
template <typename Group, typename F> __device__ __forceinline__ void each(const Group& group, F f) {
    for (int k = 0; k < group.links(); ++k) {
        const int i = group.place * group.links() + k;
        if (group.works(i)) f(i);
    }
}

// The reduction by `join` over a warp's first `count` lanes, in all its lanes.
template <typename State, typename Join> __device__ __forceinline__ State joined(State x, int count, Join join) {
    const int lane = threadIdx.x % WARP;
    for (int d = 1; d < count; d *= 2) {
        const State y = shuffled(x, lane - d);
        if (lane >= d && lane < count) x = join(y, x);
    }
    return shuffled(x, count - 1);
}

// store(i, m₀ m₁ … mᵢ) for the maps mᵢ = load(i), [Y]'s all-prefix-sums; with REVERSE from the tip, mₙ₋₁ … mᵢ.
// join(first, second) takes neighbouring runs in that order.
template <bool REVERSE, typename Group, typename Join, typename Load, typename Store>
__device__ __forceinline__ void scan(Group& group, Join join, Load load, Store store) {
    using State = decltype(load(0));
    const Shape& shape = group.shape;
    const int lane = threadIdx.x % WARP, last = (shape.n - 1) / group.links();
    const int rank = REVERSE ? last - group.place : group.place;  // rank from the start of the scan
    const int begin = group.place * group.links(), end = min(begin + group.links(), shape.n);
    const int first = REVERSE ? end - 1 : begin, step = REVERSE ? -1 : 1;
    const bool works = group.works(begin);
    State x{};
    if (works) {
        x = load(first);
        for (int k = 1; group.links() > 1 && k < end - begin; ++k) x = join(x, load(first + k * step));
    }
    const int width = min(shape.threads, WARP), in = lane & (width - 1);
    for (int d = 1; d < width; d *= 2) {
        const State y = shuffled(x, REVERSE ? lane + d : lane - d);
        if ((REVERSE ? in + d < width : in >= d) && rank >= d) x = join(y, x);
    }
    State before{};
    bool preceded = false;
    if (shape.threads > WARP) {
        const int warp = REVERSE ? last / WARP - group.place / WARP : group.place / WARP;
        State* warps = group.template exchange_slot<State>();
        if (warp >= 0 && lane == (REVERSE ? 0 : WARP - 1)) warps[warp] = x;
        group.sync();
        for (int start = 0; start < warp; start += WARP) {
            State y{};
            if (start + lane < warp) y = warps[start + lane];
            y = joined(y, min(warp - start, WARP), join);
            before = preceded ? join(before, y) : y;
            preceded = true;
        }
        if (preceded) x = join(before, x);
    } else {
        __syncwarp();  // all reads of links' fields precede the writes
    }
    if constexpr (Group::ONE_LINK) {
        if (works) store(begin, x);
    } else {
        State here = shuffled(x, lane - step);
        bool follows = rank > 0;
        if (lane == (REVERSE ? WARP - 1 : 0)) here = before, follows = preceded;
        for (int k = 0; works && k < end - begin; ++k) {
            const State y = load(first + k * step);
            here = follows || k > 0 ? join(here, y) : y;
            store(first + k * step, here);
        }
    }
}

// The reduction by `join` of f(i) over the links of each chain, equal for all its threads; `none` is neutral.
template <typename State, typename Group, typename Join, typename F>
__device__ __forceinline__ State reduced(Group& group, const State& none, Join join, F f) {
    const int lane = threadIdx.x % WARP, width = min(group.shape.threads, WARP);
    State x = none;
    each(group, [&](int i) { x = join(x, f(i)); });
    for (int d = 1; d < width; d *= 2) x = join(x, shuffled(x, lane ^ d));
    if (group.shape.threads > WARP) {
        const int count = group.shape.threads / WARP;
        State* warps = group.template exchange_slot<State>();
        if (lane == 0) warps[group.place / WARP] = x;
        group.sync();
        x = none;
        for (int start = 0; start < count; start += WARP) {
            State y = none;
            if (start + lane < count) y = warps[start + lane];
            for (int d = 1; d < WARP; d *= 2) y = join(y, shuffled(y, lane ^ d));
            x = join(x, y);
        }
    }
    return x;
}

template <int M> struct Sums { double x[M]; };

// The sums of f(i), a Sums<M>, over the links of each chain.
template <int M, typename Group, typename F> __device__ __forceinline__ Sums<M> sums(Group& group, F f) {
    const auto add = [](Sums<M> a, const Sums<M>& b) {
#pragma unroll
        for (int m = 0; m < M; ++m) a.x[m] += b.x[m];
        return a;
    };
    return reduced(group, Sums<M>{}, add, f);
}
