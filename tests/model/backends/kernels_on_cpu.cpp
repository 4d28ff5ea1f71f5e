// kernels.cu for a CPU: each block is run by threads of the CPU, one block after the other.
#include <barrier>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(most)

struct Dimensions {
    unsigned x, y;
};

namespace {
thread_local Dimensions threadIdx, blockIdx, blockDim;
std::barrier<> *barrier;
void __syncthreads() { barrier->arrive_and_wait(); }
}  // namespace

#include "../../../model/backends/pytorch/kernels.cu"

namespace {

template <typename Value>
Value as(int64_t argument) {
    if constexpr (std::is_pointer_v<Value>)
        return reinterpret_cast<Value>(argument);
    else
        return argument;
}

template <typename... Values, size_t... Places>
void call(void (*kernel)(Values...), const int64_t *arguments, std::index_sequence<Places...>) {
    kernel(as<Values>(arguments[Places])...);
}

template <typename... Values>
void run(void (*kernel)(Values...), unsigned blocks, unsigned parts, unsigned threads,
         const int64_t *arguments) {
    std::barrier own(threads);
    barrier = &own;
    auto work = [&](unsigned thread) {
        threadIdx = {thread, 0}, blockDim = {threads, 1};
        for (unsigned x = 0; x < blocks; x++)
            for (unsigned y = 0; y < parts; y++) {
                blockIdx = {x, y};
                call(kernel, arguments, std::index_sequence_for<Values...>());
                own.arrive_and_wait();
            }
    };
    std::vector<std::thread> others;
    for (unsigned thread = 1; thread < threads; thread++) others.emplace_back(work, thread);
    work(0);
    for (std::thread &other : others) other.join();
}

}  // namespace

#define LAUNCHER(name)                                                                        \
    extern "C" void launch_##name(unsigned blocks, unsigned parts, unsigned threads,          \
                                  const int64_t *arguments) {                                 \
        run(name, blocks, parts, threads, arguments);                                         \
    }
LAUNCHER(rank)
LAUNCHER(join_parts)
LAUNCHER(advance)
LAUNCHER(reorder)
