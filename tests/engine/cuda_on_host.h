// What kernels without shuffles need in order to be compiled for the host: the threads of a block take turns, each until it
// waits for the others or ends.
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <csetjmp>
#include <ucontext.h>
#include <utility>
#include <vector>

using std::fabs, std::floor, std::fma, std::fmax, std::fmin, std::max, std::min, std::nan, std::size_t, std::sqrt;
#define __device__
#define __host__
#define __global__
#define __constant__
#define __shared__
#define __restrict__ __restrict
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct Index {
    unsigned x, y, z;
};
static Index threadIdx, blockIdx, blockDim, gridDim;
alignas(16) unsigned char shared[1 << 20];

inline int __float_as_int(float x) { int n; std::memcpy(&n, &x, 4); return n; }
inline float __int_as_float(int n) { float x; std::memcpy(&x, &n, 4); return x; }
inline int __double2loint(double x) { long long n; std::memcpy(&n, &x, 8); return int(n); }
inline double __hiloint2double(int high, int low) {
    const long long n = ((long long)high << 32) | (unsigned)low;
    double x;
    std::memcpy(&x, &n, 8);
    return x;
}
inline unsigned long long atomicMin(unsigned long long* where, unsigned long long x) {
    const unsigned long long before = *where;
    if (x < before) *where = x;
    return before;
}
inline int atomicCAS(int* where, int expected, int x) {
    const int before = *where;
    if (before == expected) *where = x;
    return before;
}
inline int atomicExch(int* where, int x) { return std::exchange(*where, x); }
inline void __threadfence_block() {}
inline long long clock64() { return 0; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs(int(x)); }
// The instructions of the GPU's that kernels spell out: a first guess of 1/x, into r; and the clock, of which there is none.
#define asm(...) (r = 1 / x)
#define volatile(...) ("")

template <class... A, size_t... I>
void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_const_t<A>*>(arguments[I])...);
}

namespace on_host {
constexpr size_t STACK = 1 << 20, APART = 4096 + 256;  // stacks that begin alike in their pages share few lines of a cache
// One of a block's threads.
struct Thread {
    ucontext_t context;  // to begin with; from then on a jump, which asks nothing of the system
    jmp_buf place;
    char* stack = new char[STACK];  // of which only what is used becomes memory; kept as long as the library
    bool begun, ended;
    int rests;  // so many of its turns
};
static jmp_buf scheduler;
static Thread* running;
static void (*body)();
inline void enter() {
    body(), running->ended = true;
    _longjmp(scheduler, 1);
}
inline void take_turn(Thread& thread) {
    running = &thread;
    if (_setjmp(scheduler)) return;
    if (thread.begun) _longjmp(thread.place, 1);
    thread.begun = true;
    setcontext(&thread.context);
}
}  // namespace on_host
#define WAITS_ON_HOST
inline void __nanosleep(unsigned turns) { on_host::running->rests = turns; }
inline void __syncthreads() {
    if (!_setjmp(on_host::running->place)) _longjmp(on_host::scheduler, 1);
}

// Threads that have one robot together, LANES of them, as if there were no others in their warp.
namespace on_host {
static unsigned lanes = 1;
static long long given[2][1024];  // in turn, so that nobody writes where another still reads
static int asked[2][1024];
static unsigned char turns[1024];
inline unsigned first_lane() { return threadIdx.x / lanes * lanes; }
// x for all lanes; once they are all here with the same question, where those of this robot's stand.
template <class T> const long long* shared_by_all(T x, int question) {
    const unsigned turn = turns[threadIdx.x]++ % 2, first = first_lane();
    std::memcpy(&given[turn][threadIdx.x], &x, sizeof x), asked[turn][threadIdx.x] = question;
    if (lanes > 1) __syncthreads();
    if (asked[turn][first + (threadIdx.x + 1) % lanes] != question) std::abort();
    return &given[turn][first];
}
template <class T> T of_lane_there(const long long* all, unsigned lane) {
    T x;
    std::memcpy(&x, &all[lane], sizeof x);
    return x;
}
}  // namespace on_host
inline unsigned __activemask() { return (on_host::lanes < 32 ? (1u << on_host::lanes) - 1 : ~0u) << on_host::first_lane() % 32; }
inline unsigned __ballot_sync(unsigned, bool x) {
    const auto* const all = on_host::shared_by_all(x, 1);
    unsigned found = 0;
    for (unsigned k = 0; k < on_host::lanes; ++k)
        found |= unsigned(on_host::of_lane_there<bool>(all, k)) << (on_host::first_lane() + k) % 32;
    return found;
}
template <class T> T __shfl_sync(unsigned, T x, int lane) {
    return on_host::of_lane_there<T>(on_host::shared_by_all(x, 2), lane % on_host::lanes);
}
template <class T> T __shfl_xor_sync(unsigned, T x, int d) {
    return on_host::of_lane_there<T>(on_host::shared_by_all(x, 3), threadIdx.x % on_host::lanes ^ d);
}
inline void __syncwarp(unsigned) { on_host::shared_by_all(0, 4); }

// A kernel with its arguments. (std::function would be a third of the time that a source takes to compile.)
template <class... A> struct Call {
    static inline void (*kernel)(A...);
    static inline void** arguments;
    static void run() { call(kernel, arguments, std::index_sequence_for<A...>()); }
};

template <class... A> void launch(void (*kernel)(A...), int grid, int block, void** arguments, int lanes) {
    using namespace on_host;
    on_host::lanes = lanes;
    static std::vector<Thread> threads;
    threads.resize(block);
    gridDim.x = grid, blockDim.x = block;
    Call<A...>::kernel = kernel, Call<A...>::arguments = arguments, body = &Call<A...>::run;
    for (blockIdx.x = 0; blockIdx.x < unsigned(grid); ++blockIdx.x) {
        for (Thread& thread : threads) {
            getcontext(&thread.context);
            thread.context.uc_stack.ss_sp = thread.stack;
            thread.context.uc_stack.ss_size = STACK - (&thread - threads.data()) % 64 * APART;
            thread.context.uc_link = nullptr, thread.begun = thread.ended = false, thread.rests = 0;
            makecontext(&thread.context, enter, 0);
        }
        std::memset(turns, 0, sizeof turns);
        Thread* const all = threads.data();
        for (bool any = true; any;) {
            any = false;
            for (threadIdx.x = 0; threadIdx.x < unsigned(block); ++threadIdx.x) {
                Thread& thread = all[threadIdx.x];
                if (thread.ended) continue;
                any = true;
                if (thread.rests > 0) --thread.rests;
                else take_turn(thread);
            }
        }
    }
}
