#include "linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "parallel.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

constexpr double kCostWorthThreads = 3e4;
constexpr int kChunksPerThread = 3;
constexpr int kPanelGroup = 4;  // as many as a kernel takes at once

#if defined(__x86_64__)
// What __builtin_cpu_supports says of "avxvnni" and "amx-int8", which not every compiler knows.
unsigned features(unsigned leaf, unsigned subleaf, bool is_edx) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(leaf, subleaf, &a, &b, &c, &d) ? (is_edx ? d : a) : 0;
}

bool has_avx_vnni() { return features(7, 1, false) & 1u << 4; }

// Tile registers must be asked for: Linux keeps their state only for processes that use them.
bool may_use_tiles() {
#if defined(__linux__)
    constexpr unsigned kTiles = 3u << 24;
    constexpr int kRequestPermission = 0x1023, kTileData = 18;
    return (features(7, 0, true) & kTiles) == kTiles &&
           syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}
#endif

std::vector<const Kernels *> find_kernels() {
    std::vector<const Kernels *> found;
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    bool has_vnni = has_avx512 && __builtin_cpu_supports("avx512vnni");
    if (has_vnni && may_use_tiles()) found.push_back(&kernels_amx);
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_vnni) found.push_back(&kernels_vnni);
    if (has_avx2 && has_avx_vnni()) found.push_back(&kernels_avxvnni);
    if (has_avx512) found.push_back(&kernels_avx512);
    if (has_avx2) found.push_back(&kernels_avx2);
    if (__builtin_cpu_supports("sse4.2")) found.push_back(&kernels_sse4);
#endif
#if defined(__aarch64__)
#if defined(__linux__)
    constexpr unsigned long kDotProducts = 1ul << 20, kInt8Matrices = 1ul << 13;
    bool has_dots = getauxval(AT_HWCAP) & kDotProducts;
    if (has_dots && (getauxval(AT_HWCAP2) & kInt8Matrices)) found.push_back(&kernels_i8mm);
    if (has_dots) found.push_back(&kernels_dotprod);
#endif
    found.push_back(&kernels_neon);
#else
    found.push_back(&kernels_baseline);
#endif
    return found;
}

void pack_floats(const Linear &linear, const float *weight) {
    for (int n = 0; n < linear.outputs; n++)
        for (int k = 0; k < linear.inputs; k++) {
            size_t place = static_cast<size_t>(n / kLanes) * linear.depth + k;
            linear.values[place * kLanes + n % kLanes] =
                weight[static_cast<size_t>(n) * linear.inputs + k];
        }
}

// The largest absolute value of finite numbers, whose bits without the sign are in the same order.
float largest(const float *numbers, int count) {
    int32_t most = 0;
    for (int i = 0; i < count; i++) {
        int32_t bits;
        std::memcpy(&bits, numbers + i, sizeof bits);
        most = std::max(most, bits & 0x7fffffff);
    }
    float number;
    std::memcpy(&number, &most, sizeof number);
    return number;
}

// Writes the codes of an output's weights; returns their sum. Rounds as std::lround does, which the
// compiler does not turn into vectors.
int32_t quantise_weights(const float *weights, int count, float most, int8_t *codes) {
    constexpr float kAlmostHalf = 0.49999997f;
    int32_t sum = 0;
    for (int k = 0; k < count; k++) {
        float exact = weights[k] / most * 127.0f;
        int32_t code = static_cast<int32_t>(exact + std::copysign(kAlmostHalf, exact));
        codes[k] = static_cast<int8_t>(code);
        sum += code;
    }
    return sum;
}

void pack_codes(const Linear &linear, const float *weight) {
    std::vector<int8_t> codes(linear.depth, 0);
    for (int n = 0; n < linear.outputs; n++) {
        const float *row = weight + static_cast<size_t>(n) * linear.inputs;
        float most = largest(row, linear.inputs);
        if (most == 0) continue;
        linear.scale[n] = most / 127.0f;
        linear.offset[n] = 128 * quantise_weights(row, linear.inputs, most, codes.data());
        size_t panel = static_cast<size_t>(n / kLanes) * linear.depth * kLanes;
        int8_t *packed = linear.codes + panel + n % kLanes * 4;
        for (int k = 0; k < linear.depth; k += 4)
            std::memcpy(packed + static_cast<size_t>(k) * kLanes, codes.data() + k, 4);
    }
}

// Copy `count` times four bytes, which lie so many bytes apart.
void copy_fours(const void *from, size_t apart, void *to, size_t apart_there, int count) {
    const char *in = static_cast<const char *>(from);
    char *out = static_cast<char *>(to);
    for (int k = 0; k < count; k++, in += apart, out += apart_there) std::memcpy(out, in, 4);
}

constexpr size_t kLaneBytes = 4 * kLanes;

// Where an output's weights begin among packed ones: the first of `fours` times four bytes.
size_t lane_of(int output, int fours) {
    return (static_cast<size_t>(output / kLanes) * fours * kLanes + output % kLanes) * 4;
}

void keep_by_output(const Linear &linear) {
    int fours = linear.depth / 4;
    for (int n = 0; n < linear.outputs; n++)
        copy_fours(&linear.codes[lane_of(n, fours)], kLaneBytes,
                   &linear.by_output[static_cast<size_t>(n) * linear.depth], 4, fours);
}

void select_codes(const Linear &from, const int32_t *outputs, const Linear &to) {
    int fours = from.depth / 4;
    for (int n = 0; n < to.outputs; n++) {
        size_t source = outputs[n];
        copy_fours(&from.by_output[source * from.depth], 4, &to.codes[lane_of(n, fours)],
                   kLaneBytes, fours);
        to.scale[n] = from.scale[source];
        to.offset[n] = from.offset[source];
    }
}

void select_floats(const Linear &from, const int32_t *outputs, const Linear &to) {
    auto lane = [&](int output) { return lane_of(output, to.depth) / sizeof(float); };
    for (int n = 0; n < to.outputs; n++)
        copy_fours(&from.values[lane(outputs[n])], kLaneBytes, &to.values[lane(n)], kLaneBytes,
                   to.depth);
}

}  // namespace

const std::vector<const Kernels *> &usable_kernels() {
    static const std::vector<const Kernels *> usable = find_kernels();
    return usable;
}

Linear lay_out(Arena &arena, int outputs, int inputs, bool is_quantised, bool is_selectable) {
    Linear linear;
    linear.inputs = inputs;
    linear.outputs = outputs;
    linear.panels = rounded_up(outputs, kLanes) / kLanes;
    linear.depth = is_quantised ? rounded_up(inputs, kDepthStep) : inputs;
    linear.is_quantised = is_quantised;
    size_t lanes = static_cast<size_t>(linear.panels) * kLanes;
    linear.bias = arena.take<float>(lanes);
    if (!is_quantised) {
        linear.values = arena.take<float>(lanes * linear.depth);
        return linear;
    }
    linear.codes = arena.take<int8_t>(lanes * linear.depth);
    linear.scale = arena.take<float>(lanes);
    linear.offset = arena.take<int32_t>(lanes);
    if (is_selectable)
        linear.by_output = arena.take<int8_t>(static_cast<size_t>(outputs) * linear.depth);
    return linear;
}

Linear lay_out(Lines<char> &memory, int outputs, int inputs, bool is_quantised) {
    Arena counted;
    lay_out(counted, outputs, inputs, is_quantised);
    memory.resize(std::max(memory.size(), counted.used()));
    Arena arena(memory.data());
    return lay_out(arena, outputs, inputs, is_quantised);
}

void pack(const float *weight, const float *bias, const Linear &linear) {
    std::copy(bias, bias + linear.outputs, linear.bias);
    linear.is_quantised ? pack_codes(linear, weight) : pack_floats(linear, weight);
    if (linear.by_output) keep_by_output(linear);
}

Linear select_outputs(const Linear &from, const int32_t *outputs, int count, Lines<char> &memory) {
    Linear to = lay_out(memory, count, from.inputs, from.is_quantised);
    for (int n = 0; n < count; n++) to.bias[n] = from.bias[outputs[n]];
    from.is_quantised ? select_codes(from, outputs, to) : select_floats(from, outputs, to);
    return to;
}

void Scratch::make_room(int rows, int bytes) {
    size_t room = rounded_up(rows, kRowStep);
    codes.resize(std::max(codes.size(), room * bytes));
    scales.resize(std::max(scales.size(), room));
}

void spread_over_threads(int count, double cost, const std::function<void(int, int, int)> &body) {
    if (int place = parallel_place(); place >= 0) return body(0, count, place);
    int threads = parallel_threads();
    if (threads == 1 || cost * count < kCostWorthThreads) return body(0, count, 0);
    int chunks = std::min(count, threads * kChunksPerThread);
    parallel_for(chunks, [&](int chunk, int thread) {
        int64_t first = static_cast<int64_t>(count) * chunk / chunks;
        int64_t last = static_cast<int64_t>(count) * (chunk + 1) / chunks;
        body(static_cast<int>(first), static_cast<int>(last), thread);
    });
}

Inputs prepare(const Kernels &kernels, const Linear &linear, const float *x, int rows,
               Scratch &scratch) {
    Inputs inputs{x, static_cast<size_t>(linear.inputs), nullptr, nullptr};
    if (!linear.is_quantised) return inputs;
    scratch.make_room(rows, linear.depth * kernels.bytes_an_input);
    spread_over_threads(rows, 8.0 * linear.inputs, [&](int first, int last, int) {
        kernels.quantise(x, linear.inputs, linear.depth, first, last, scratch.codes.data(),
                         scratch.scales.data());
    });
    inputs.codes = scratch.codes.data();
    inputs.scales = scratch.scales.data();
    return inputs;
}

void apply(const Kernels &kernels, const Linear &linear, const float *x, int rows, Scratch &scratch,
           float *y, Activation activation, Into into) {
    Inputs inputs = prepare(kernels, linear, x, rows, scratch);
    Output output{y, static_cast<size_t>(linear.outputs), 0, activation, into};
    double cost = static_cast<double>(rows) * linear.depth * kLanes / (linear.is_quantised ? 4 : 1);
    int groups = (linear.panels + kPanelGroup - 1) / kPanelGroup;
    spread_over_threads(groups, kPanelGroup * cost, [&](int first, int last, int) {
        kernels.multiply(linear, inputs, rows, kPanelGroup * first,
                         std::min(kPanelGroup * last, linear.panels), output);
    });
}
