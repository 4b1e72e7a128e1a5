// What kernels without shuffles need in order to be compiled for the host: the threads of a block take turns, each until it
// waits for the others or ends.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
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
static thread_local Index threadIdx, blockIdx;
static thread_local Index blockDim, gridDim;
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
inline long long clock64() { return 0; }
// The instructions of the GPU's that kernels spell out: a first guess of 1/x, into r; and the clock, of which there is none.
#define asm(...) (r = 1 / x)
#define volatile(...) ("")

template <class... A, size_t... I>
void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_const_t<A>*>(arguments[I])...);
}

namespace on_host {
// One of a block's threads.
struct Thread {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(1 << 20);
    bool ended;
};
static ucontext_t scheduler;
static Thread* running;
static std::function<void()> body;
inline void enter() { body(), running->ended = true; }
}  // namespace on_host
inline void __syncthreads() { swapcontext(&on_host::running->context, &on_host::scheduler); }

template <class... A> void launch(void (*kernel)(A...), int grid, int block, void** arguments) {
    using namespace on_host;
    static std::vector<Thread> threads;
    threads.resize(block);
    gridDim.x = grid, blockDim.x = block;
    body = [&] { call(kernel, arguments, std::index_sequence_for<A...>()); };
    for (blockIdx.x = 0; blockIdx.x < unsigned(grid); ++blockIdx.x) {
        for (Thread& thread : threads) {
            getcontext(&thread.context);
            thread.context.uc_stack.ss_sp = thread.stack.data(), thread.context.uc_stack.ss_size = thread.stack.size();
            thread.context.uc_link = &scheduler, thread.ended = false;
            makecontext(&thread.context, enter, 0);
        }
        for (bool any = true; any;) {
            any = false;
            for (threadIdx.x = 0; threadIdx.x < unsigned(block); ++threadIdx.x) {
                running = &threads[threadIdx.x];
                if (running->ended) continue;
                swapcontext(&scheduler, &running->context);
                any = true;
            }
        }
    }
}
